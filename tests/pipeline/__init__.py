"""`Pipeline`, batches of requests, checkpoints and records."""
