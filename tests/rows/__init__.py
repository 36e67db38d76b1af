"""Draws of a row that depend on its own state alone: proved, or refused."""
