"""Models of OpenVINO that never were ONNX; imported only where there is one."""

# First, since it says what to install where OpenVINO is missing, or too old.
import onnx_philox.openvino  # noqa: F401
