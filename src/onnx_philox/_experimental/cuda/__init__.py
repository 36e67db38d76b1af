"""Sessions of ONNX Runtime on NVIDIA's cards alone, which `onnx-philox verify` compares.

The operators for cards are in the native library (`custom_ops/experimental/`).
"""
