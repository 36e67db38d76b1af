"""The operators as nodes of ONNX's own domain, for runtimes that know nothing of us."""
