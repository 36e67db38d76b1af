"""Rewriting of models: the rooms behind `onnx_philox.rewriting`."""
