"""Looks at OpenVINO models in memory, and runs them."""
