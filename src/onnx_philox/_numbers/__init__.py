"""What is drawn: the generator, the distributions, and calls of the operators in NumPy."""
