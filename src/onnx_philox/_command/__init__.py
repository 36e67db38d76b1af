"""The command `onnx-philox`, a module or package for each of its parts."""
