"""Random numbers as a node of the model: Philox4x32-10 for ONNX Runtime and OpenVINO.

Two operators of the ONNX domain ``onnx_philox``: `RandomGenerator` draws bits from a state, as
DirectML's operator of that name; `RandomUniform` draws values, as OpenVINO's RandomUniform-8. The
same model gives the same bits in every runtime.

Importing this package loads no runtime and registers nothing. `onnx_philox.onnxruntime` and
`onnx_philox.openvino` load theirs when they are first used.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from types import ModuleType
from typing import TYPE_CHECKING

from onnx_philox import reference
from onnx_philox._generate import generate
from onnx_philox._schemas import register_schemas
from onnx_philox._state import PhiloxState

if TYPE_CHECKING:
    from onnx_philox import graphs, onnx_reference, onnxruntime, openvino

__version__ = importlib.metadata.version("onnx-philox")

__all__ = [
    "PhiloxState",
    "__version__",
    "generate",
    "graphs",
    "onnx_reference",
    "onnxruntime",
    "openvino",
    "reference",
    "register_schemas",
]

_LAZY = ("graphs", "onnx_reference", "onnxruntime", "openvino")


def __getattr__(name: str) -> ModuleType:
    if name in _LAZY:
        return importlib.import_module(f"onnx_philox.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
