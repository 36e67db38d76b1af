"""`Pipeline` serves a model: each request has a seed, and carries its state from run to run."""
