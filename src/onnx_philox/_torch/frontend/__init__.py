"""Torch's random calls as nodes of ours in OpenVINO's PyTorch front end."""
