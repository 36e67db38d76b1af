"""What a session is made of: a path, bytes or an `onnx.ModelProto`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import onnx
import onnx_ir as ir
from onnx_ir.passes.common import InlinePass
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox._contract import checks, inlined_size
from onnx_philox._contract.operators import DOMAIN

_OWNER = "onnx_philox.onnxruntime.InferenceSession"


@dataclass(frozen=True)
class Source:
    """A model as it was given."""

    untouched: str | bytes
    """For ONNX Runtime: the path or the bytes."""
    proto: onnx.ModelProto | None
    """The model without its external data; None where ONNX cannot read it."""

    @property
    def is_ours(self) -> bool:
        """Whether the model uses the domain."""
        return bool(self.opsets)

    @property
    def is_ours_in_functions(self) -> bool:
        """Whether functions of the model's own use the domain."""
        functions = [] if self.proto is None else self.proto.functions
        return any(node.domain == DOMAIN for f in functions for node in f.node)

    @property
    def opsets(self) -> list[int]:
        """The versions of the domain that the model and its functions import."""
        if self.proto is None:
            return []
        imports = [self.proto.opset_import, *(f.opset_import for f in self.proto.functions)]
        return [o.version for opsets in imports for o in opsets if o.domain == DOMAIN]


def load(source: Any) -> Source:
    """Reads a model, and refuses one that a newer version of the domain saved.

    A file that ONNX cannot read, of ONNX Runtime's own format for example, is left to ONNX
    Runtime, which says what it is.

    Raises:
        TypeError: The source is none of the three.
        InvalidArgument: The model's opset of the domain is newer than this package.
    """
    if isinstance(source, onnx.ModelProto):
        loaded = Source(source.SerializeToString(), source)
    elif isinstance(source, bytes):
        loaded = Source(source, _parse(source))
    elif isinstance(source, (str, os.PathLike)):
        loaded = Source(os.fspath(source), _parse_file(source))
    else:
        given, allowed = f"of type {type(source).__name__}", "a path, bytes, an onnx.ModelProto"
        checks.refuse(_OWNER, "model", given, allowed, "Pass one of these.", TypeError)
    for version in loaded.opsets:
        try:
            checks.check_opset(version, _OWNER)
        except ValueError as error:
            raise ort_state.InvalidArgument(str(error)) from error
    return loaded


def external_folder(source: Any) -> str | None:
    """Where a model's external data lies; None for a model that is no file."""
    if isinstance(source, (str, os.PathLike)):
        return os.path.dirname(os.path.abspath(source))
    return None


def read_ir(source: Any, proto: onnx.ModelProto) -> ir.Model:
    """The model for surgery, its functions inlined and its external data left where it is."""
    model = ir.from_proto(proto)
    folder = external_folder(source)
    if folder is not None:
        ir.external_data.set_base_dir(model.graph, folder)
    try:
        inlined_size.check(model, model.functions.keys())
    except ValueError as error:
        raise ValueError(f"the model's functions cannot be inlined: {error}") from error
    InlinePass()(model)
    return model


def _parse(source: bytes) -> onnx.ModelProto | None:
    try:
        return onnx.load_model_from_string(source)
    except Exception:
        return None


def _parse_file(path: str | os.PathLike[str]) -> onnx.ModelProto | None:
    try:
        return onnx.load_model(path, load_external_data=False)
    except Exception:
        return None
