"""The numbers: the generator, the distributions, and calls of the operators in NumPy."""
