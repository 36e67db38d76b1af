"""`Pipeline` serves a model: each request has a seed, and its state goes on from run to run."""
