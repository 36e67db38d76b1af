"""Follows the rows of the batch through an ONNX model, to prove which draws have a row for each."""
