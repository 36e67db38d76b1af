"""The wing of torch: its generator, its calls, and what its users export and check."""
