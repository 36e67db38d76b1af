"""What a rewritten model needs to draw torch's numbers."""
