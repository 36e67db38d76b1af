"""ONNX Runtime on an NVIDIA card, where nothing is left to the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import onnxruntime as ort

from onnx_philox import _backends
from onnx_philox.onnxruntime import InferenceSession, register

if TYPE_CHECKING:
    import onnx

PROVIDERS = _backends.CUDA_PROVIDERS
VERSION: str = ort.__version__

_LEFT_TO_THE_CPU = ("on a card: got", "fallback to CPU EP has been explicitly disabled")
"""What is said of a node that the card does not draw: by our kernels, and by ONNX Runtime."""


def providers() -> list[str]:
    """The providers that this ONNX Runtime has."""
    return list(ort.get_available_providers())


def is_left_to_the_cpu(error: Exception) -> bool:
    """Whether a session was not made because a node draws on the CPU."""
    return any(text in str(error) for text in _LEFT_TO_THE_CPU)


def load(
    model: onnx.ModelProto,
    on: Sequence[str] = PROVIDERS,
    *,
    is_strict: bool = True,
) -> InferenceSession:
    """A session of those providers that are here.

    Args:
        model: The model.
        on: The providers' names.
        is_strict: Whether ONNX Runtime refuses nodes that it would run on the CPU.
    """
    options = ort.SessionOptions()
    options.log_severity_level = 4  # errors are exceptions, too
    if is_strict:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    register(options, cuda=True)
    here = [name for name in on if name in providers()]
    return InferenceSession(model, options, providers=here, enable_fallback=0)
