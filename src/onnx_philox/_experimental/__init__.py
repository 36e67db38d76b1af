"""Draws on cards and GPUs, of which each folder comes off alone, and all of them together.

Nothing is drawn there unless a user names the device. Nothing imports these: see `_parts`.
"""
