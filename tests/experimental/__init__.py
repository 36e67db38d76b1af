"""OpenVINO's device GPU and NVIDIA's cards, mostly without one."""
