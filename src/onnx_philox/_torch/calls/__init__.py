"""Torch's calls that draw: a table of them, and the meaning of each, over a small writer."""
