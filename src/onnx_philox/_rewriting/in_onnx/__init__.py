"""Rewrites ONNX models: finds random nodes, proves which draw rows, and replaces them."""
