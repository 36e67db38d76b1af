"""Finds the random nodes of an ONNX model, and says where each stands and what it has."""
