"""Looks at ONNX models in memory, finds the nodes of this package in them, and changes them."""
