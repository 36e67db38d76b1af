"""Random numbers as a node of the model: Philox4x32-10 for ONNX Runtime and OpenVINO.

Operators of the ONNX domain ``onnx_philox``: `RandomGenerator` draws bits from a state, like
DirectML's operator of that name; `RandomUniform` draws values, like OpenVINO's RandomUniform-8;
`RandomNormal`, `RandomBernoulli`, `RandomCategorical` and `RandomExponential` draw normals,
booleans, classes and waiting times. The same model gives the same bits in every runtime.

Importing this package loads no runtime, not even NumPy, and registers nothing. Each name loads what
it needs when it is first used: `onnx_philox.onnxruntime` loads ONNX Runtime, `onnx_philox.openvino`
loads OpenVINO.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from onnx_philox import _parts

if TYPE_CHECKING:
    from onnx_philox import (
        diffusers,
        graphs,
        onnx_reference,
        onnxruntime,
        openvino,
        reference,
        rewriting,
        torch,
    )
    from onnx_philox._contract.refusal import RefusedInputError
    from onnx_philox._contract.schemas import register_schemas
    from onnx_philox._contract.state import PhiloxState
    from onnx_philox._numbers.generate import generate
    from onnx_philox._numbers.states import row_states, split_states
    from onnx_philox._pipeline.pipeline import Pipeline
    from onnx_philox._torch.numbers.cuda import torch_cuda_states
    from onnx_philox._torch.numbers.torch_noise import torch_noise
    from onnx_philox._torch.numbers.torch_state import TorchState
    from onnx_philox.rewriting import make_reproducible, to_standard_nodes

    __version__: str

if sys.byteorder != "little":
    # States, words and torch's records are read as they lie in memory.
    raise ImportError(
        "onnx_philox: the processor must be little-endian: got a big-endian one, on which other "
        "numbers would be drawn. Draw on x86-64, ARM or another little-endian processor."
    )

__all__ = [
    "PhiloxState",
    "Pipeline",
    "RefusedInputError",
    "TorchState",
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
    "torch_cuda_states",
    "torch_noise",
]

_PLACES = {
    "PhiloxState": "onnx_philox._contract.state",
    "Pipeline": "onnx_philox._pipeline.pipeline",
    "RefusedInputError": "onnx_philox._contract.refusal",
    "TorchState": "onnx_philox._torch.numbers.torch_state",
    "generate": "onnx_philox._numbers.generate",
    "make_reproducible": "onnx_philox.rewriting",
    "register_schemas": "onnx_philox._contract.schemas",
    "row_states": "onnx_philox._numbers.states",
    "split_states": "onnx_philox._numbers.states",
    "to_standard_nodes": "onnx_philox.rewriting",
    "torch_cuda_states": "onnx_philox._torch.numbers.cuda",
    "torch_noise": "onnx_philox._torch.numbers.torch_noise",
}
_MODULES = set(__all__) - {*_PLACES, "__version__"}


def _torch_generator() -> Any:
    from onnx_philox._torch.generator import GENERATOR

    return GENERATOR


def _pytorch_extensions() -> Any:
    from onnx_philox._torch.frontend.converters import pytorch_extensions

    return pytorch_extensions


def _compile_for_gpu() -> Any:
    from onnx_philox._experimental.openvino_gpu import compile_for_gpu

    return compile_for_gpu


def _cuda_sessions() -> Any:
    from onnx_philox._experimental.cuda import sessions

    return sessions


_parts.GENERATORS["pytorch"] = _parts.FromPart(_parts.TORCH_PART, _torch_generator)
_parts.OTHERS["pytorch_extensions"] = _parts.FromPart(_parts.TORCH_PART, _pytorch_extensions)
_parts.OTHERS["compile_for_gpu"] = _parts.FromPart(_parts.GPU_PART, _compile_for_gpu)
_parts.OTHERS["cuda_sessions"] = _parts.FromPart(_parts.CUDA_PART, _cuda_sessions)


def __getattr__(name: str) -> Any:
    """Loads a public name when it is first used: most programs need few of them."""
    if name in _MODULES:
        return importlib.import_module(f"onnx_philox.{name}")
    if name in _PLACES:
        try:
            with _parts.TORCH_PART.importing(f"onnx_philox.{name}"):
                found = getattr(importlib.import_module(_PLACES[name]), name)
        except _parts.PartNotInstalledError as error:
            if _is_asked_by_an_import():
                raise
            # For hasattr, and for tools that look at every name.
            raise AttributeError(str(error)) from error
    elif name == "__version__":
        found = importlib.import_module("importlib.metadata").version("onnx-philox")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def _is_asked_by_an_import() -> bool:
    """Whether `from onnx_philox import NAME` asks for a name, and not an expression.

    Such an import makes of an AttributeError one of its own, which does not say what is missing.
    """
    return sys._getframe(2).f_code.co_name == "_handle_fromlist"


def __dir__() -> list[str]:
    return sorted(__all__)
