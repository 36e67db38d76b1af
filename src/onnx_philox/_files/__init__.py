"""Reads model files without their weights, and writes files completely or not at all."""
