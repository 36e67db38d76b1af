"""Draws on OpenVINO's GPU and on NVIDIA's cards; most of these tests need neither."""
