"""The operators in ONNX Runtime."""
