"""The numbers, in NumPy and in every backend: rules, vectors, distributions, states."""
