"""What torch draws: its generator on a CPU, its normals on a card, and their states."""
