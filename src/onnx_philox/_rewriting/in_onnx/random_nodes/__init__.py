"""Which nodes of an ONNX model are random, and what each of them draws."""
