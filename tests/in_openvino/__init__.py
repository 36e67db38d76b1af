"""The operators in OpenVINO's CPU plugin, and in IR."""
