"""Draws on NVIDIA's cards and on OpenVINO's GPU: a build may leave out either folder, or both.

Nothing is drawn there unless a user names the device. The rest of the package does not import these
folders: it asks `_parts` for them.
"""
