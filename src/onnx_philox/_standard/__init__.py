"""Writes the operators as nodes of ONNX's own domain, for runtimes that take no plugin."""
