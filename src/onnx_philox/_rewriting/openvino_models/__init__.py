"""Models of OpenVINO that never were ONNX; imported only where there is one."""
