"""Exports PyTorch modules to ONNX files whose random calls are nodes of this package."""
