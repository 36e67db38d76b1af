"""Models of ONNX: finds, proves, replaces and carries."""
