"""Which nodes are random, where each stands, and what it must have."""
