"""Rewrites OpenVINO models that were never ONNX; imported only when one is given."""

# First, since it says what to install where OpenVINO is missing, or too old.
import onnx_philox.openvino  # noqa: F401
