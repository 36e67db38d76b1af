"""Which draws are rows of the batch, and what depends on the batch."""
