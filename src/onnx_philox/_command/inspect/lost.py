"""What `inspect` says where draws may have been lost before there was a file."""

from __future__ import annotations

WHAT_MAY_HAVE_HAPPENED = (
    "Dropout inside attention (torch's scaled_dot_product_attention) is exported switched off.",
    "Noise that depends on no input, not even by its shape, is baked in as a constant.",
    "Draws that look equal, such as dropouts of one tensor, are merged into one, and a dropout "
    "is removed, by exporters and simplifiers.",
)
"""How an exporter may have lost what a model of ONNX should draw."""

WHAT_TO_DO = (
    "To find out, run it twice: equal outputs mean that nothing draws. From PyTorch, "
    "onnx_philox.torch.export keeps every draw."
)
"""How to find out."""


LOST_IN_CONVERSION = (
    "openvino.convert_model removes a dropout in training mode from a traced PyTorch module, and "
    "gives an exported one a wrong shape.",
    "Equal draws of one shape become one: several rand_like of PyTorch, and draws of TensorFlow "
    "without a seed of their own.",
    "Noise that depends on no input may be computed during the conversion.",
)
"""How a conversion to OpenVINO may have lost draws."""

EXPORT = "onnx_philox.torch.export keeps every draw of a PyTorch module, in an ONNX file."
"""What loses none."""
