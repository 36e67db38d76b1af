"""PyTorch modules as files of ONNX whose random calls are nodes of ours."""
