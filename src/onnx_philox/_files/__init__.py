"""Model files: read without their weights, and written whole or not at all."""
