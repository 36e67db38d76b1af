"""Converts torch's random calls to nodes of this package in OpenVINO's PyTorch front end."""
