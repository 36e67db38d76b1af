"""The command `onnx-philox`, and what it prints."""
