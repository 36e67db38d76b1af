"""Random numbers as a node of the model: Philox4x32-10 for ONNX Runtime and OpenVINO.

Five operators of the ONNX domain ``onnx_philox``: `RandomGenerator` draws bits from a state, as
DirectML's operator of that name; `RandomUniform` draws values, as OpenVINO's RandomUniform-8;
`RandomNormal`, `RandomBernoulli` and `RandomCategorical` draw normals, booleans and classes. The
same model gives the same bits in every runtime.

Importing this package loads no runtime and registers nothing. `onnx_philox.onnxruntime` and
`onnx_philox.openvino` load theirs when they are first used.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

from onnx_philox import reference
from onnx_philox._contract.schemas import register_schemas
from onnx_philox._contract.state import PhiloxState
from onnx_philox._numbers.generate import generate
from onnx_philox._numbers.states import row_states, split_states

if TYPE_CHECKING:
    from onnx_philox import (
        diffusers,
        graphs,
        onnx_reference,
        onnxruntime,
        openvino,
        rewriting,
        torch,
    )
    from onnx_philox._pipeline.api import Pipeline
    from onnx_philox.rewriting import make_reproducible, to_standard_nodes

__version__ = importlib.metadata.version("onnx-philox")

__all__ = [
    "PhiloxState",
    "Pipeline",
    "__version__",
    "diffusers",
    "generate",
    "graphs",
    "make_reproducible",
    "onnx_reference",
    "onnxruntime",
    "openvino",
    "reference",
    "register_schemas",
    "rewriting",
    "row_states",
    "split_states",
    "to_standard_nodes",
    "torch",
]

_LAZY = (
    "diffusers",
    "graphs",
    "onnx_reference",
    "onnxruntime",
    "openvino",
    "rewriting",
    "torch",
)
_PLACES = {
    "Pipeline": "onnx_philox._pipeline.api",
    "make_reproducible": "onnx_philox.rewriting",
    "to_standard_nodes": "onnx_philox.rewriting",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"onnx_philox.{name}")
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
