"""Follows the rows of the batch through a model: where they are, what each operator does to them.

This is the part that models of ONNX and of OpenVINO share.
"""
