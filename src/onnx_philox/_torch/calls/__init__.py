"""Torch's calls that draw: a table of them, and the meaning of each, which a writer writes."""
