"""The source of a session's model: a path, bytes or an `onnx.ModelProto`.

A session needs the graph to check the operators. It does not need the weights, which only ONNX
Runtime reads. So this module reads a model without its large tensors, and a model that need not
change reaches ONNX Runtime as it was given.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from typing import Any

import onnx
import onnx_ir as ir
from numpy.typing import NDArray
from onnx_ir.passes.common import InlinePass
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox._contract import checks, inlined_size
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._files import without_weights

_OWNER = "onnx_philox.onnxruntime.InferenceSession"


@dataclass(frozen=True)
class Source:
    """A model as it was given."""

    untouched: str | bytes
    """For ONNX Runtime: the path or the bytes."""
    proto: onnx.ModelProto | None
    """The model without its large tensors and its external data; None where ONNX cannot read it."""
    folder: str | None
    """Where the model's external data lies; None for a model that is no file."""

    @property
    def is_ours(self) -> bool:
        """Whether the model uses the domain."""
        return bool(self.opsets)

    @property
    def is_ours_in_functions(self) -> bool:
        """Whether the model's own functions use the domain."""
        functions = [] if self.proto is None else self.proto.functions
        return any(node.domain == DOMAIN for f in functions for node in f.node)

    @property
    def opsets(self) -> list[int]:
        """The versions of the domain that the model and its functions import."""
        if self.proto is None:
            return []
        imports = [self.proto.opset_import, *(f.opset_import for f in self.proto.functions)]
        return [o.version for opsets in imports for o in opsets if o.domain == DOMAIN]

    def array(self, tensor: ir.TensorProtocol) -> NDArray[Any]:
        """The content of a tensor of the model; a large one is read only now."""
        stretch = None
        if isinstance(tensor, ir.ExternalTensor):
            stretch = without_weights.stretch_at(os.fspath(tensor.location))
        if stretch is None:
            return tensor.numpy()
        proto = onnx.TensorProto.FromString(self._read(stretch))
        return ir.serde.deserialize_tensor(proto, self.folder or "").numpy()

    def whole(self, model: ir.Model) -> bytes:
        """The bytes of a model made from this one, with its large tensors put back."""
        pieces = without_weights.expand(ir.to_proto(model))
        return b"".join(p if isinstance(p, bytes) else self._read(p) for p in pieces)

    def _read(self, stretch: without_weights.Stretch) -> bytes:
        if isinstance(self.untouched, bytes):
            return self.untouched[stretch.start : stretch.end]
        with open(self.untouched, "rb") as file:
            file.seek(stretch.start)
            return file.read(stretch.end - stretch.start)


def load(source: Any) -> Source:
    """Reads a model without its weights, and refuses one that a newer version of the domain saved.

    It leaves a file that ONNX cannot read, such as one in ONNX Runtime's own format, to ONNX
    Runtime, which reports what it is.

    Raises:
        TypeError: The source is none of the three.
        InvalidArgument: The model's opset of the domain is newer than this package.
    """
    if isinstance(source, onnx.ModelProto):
        source = source.SerializeToString()
    if isinstance(source, bytes):
        loaded = Source(source, _parse(source), None)
    elif isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        loaded = Source(path, _parse_file(path), os.path.dirname(os.path.abspath(path)))
    else:
        given, allowed = f"of type {type(source).__name__}", "a path, bytes, an onnx.ModelProto"
        checks.refuse(_OWNER, "model", given, allowed, "Pass one of these.", TypeError)
    for version in loaded.opsets:
        try:
            checks.check_opset(version, _OWNER)
        except ValueError as error:
            raise ort_state.InvalidArgument(str(error)) from error
    return loaded


def read_ir(source: Source) -> ir.Model:
    """The model for surgery, with its functions inlined and its weights left in place."""
    assert source.proto is not None
    model = ir.from_proto(source.proto)
    if source.folder is not None:
        ir.external_data.set_base_dir(model.graph, source.folder)
    if model.functions:
        try:
            inlined_size.check(model, model.functions.keys())
        except ValueError as error:
            raise ValueError(f"the model's functions cannot be inlined: {error}") from error
        InlinePass()(model)
    return model


def _parse(source: bytes | mmap.mmap) -> onnx.ModelProto | None:
    try:
        return without_weights.thin(source)
    except ValueError:
        return None


def _parse_file(path: str) -> onnx.ModelProto | None:
    try:
        with (
            open(path, "rb") as file,
            # Nothing touches the pages of the weights, so mapping costs no memory.
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as buffer,
        ):
            return _parse(buffer)
    except (OSError, ValueError):
        # The file is missing or empty.
        return None
