"""Models of ONNX in memory: their graphs, our nodes in them, and how to change them."""
