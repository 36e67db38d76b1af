"""OpenVINO models in memory: reads and runs them, and turns tensors into arrays and back."""
