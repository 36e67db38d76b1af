"""Pickles of `PhiloxState` from before it moved name this module; new ones name `onnx_philox`."""

from onnx_philox._contract.state import PhiloxState

__all__ = ["PhiloxState"]
