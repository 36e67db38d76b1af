"""ONNX models in memory: reads their graphs, finds the nodes of this package, and edits them."""
