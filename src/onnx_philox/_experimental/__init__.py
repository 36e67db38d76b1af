"""Draws on NVIDIA's cards and on OpenVINO's GPU: a build may leave out either folder, or both.

Nothing is drawn there unless a user names the device. Nothing imports these: see `_parts`.
"""
