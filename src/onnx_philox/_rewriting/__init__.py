"""Rewrites models so that their random nodes draw from a state.

`api` holds what users call, `order` the steps that both formats share, `in_onnx` and `in_openvino`
what each format needs, and `rows` what keeps the rows of a batch apart.
"""
