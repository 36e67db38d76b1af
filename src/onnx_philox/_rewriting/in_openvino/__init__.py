"""Rewrites OpenVINO models (IR). OpenVINO is imported only when such a model is given."""

# First, since it says what to install where OpenVINO is missing, or too old.
import onnx_philox.openvino  # noqa: F401
