"""A session's model, read by onnx-ir: for what must change, and to word what is wrong.

The weights, which only ONNX Runtime reads, stay where they are until the model is whole again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import onnx
import onnx_ir as ir
from numpy.typing import NDArray
from onnx_ir.passes.common import InlinePass

from onnx_philox._contract.known_input import Known
from onnx_philox._contract.operators import DOMAIN, MAX_RANK
from onnx_philox._files import without_weights
from onnx_philox._models import inlining, ours
from onnx_philox._models.untouched import readable
from onnx_philox.onnxruntime._source import Source


class UnreadableError(ir.serde.SerdeError):
    """The model has types or sparse tensors that onnx-ir would not write again."""


@dataclass(frozen=True)
class Opened:
    """A model, its functions with nodes of ours inlined, and what it was read from."""

    model: ir.Model
    source: Source
    is_ours_in_functions: bool
    """Whether the model's own functions used the domain."""

    def known(self, _: str, value: ir.Value) -> Known:
        """What the model says of an input of a node."""
        # The default of a graph input is not a constant: a run may override it.
        tensor = None if value.is_graph_input() else ir.convenience.get_const_tensor(value)
        if tensor is None or len(tensor.shape) > MAX_RANK:
            return ours.known(None, value.dtype, value.shape)
        return ours.known(self._array(tensor), value.dtype, value.shape)

    def _array(self, tensor: ir.TensorProtocol) -> NDArray[Any]:
        """The content of a tensor of the model; a large one is read only now."""
        stretch = None
        if isinstance(tensor, ir.ExternalTensor):
            stretch = without_weights.stretch_at(os.fspath(tensor.location))
        if stretch is None:
            return tensor.numpy()
        proto = onnx.TensorProto.FromString(self._read(stretch))
        return ir.serde.deserialize_tensor(proto, self.source.folder or "").numpy()

    def whole(self) -> bytes:
        """The bytes of the model as it is now, with its large tensors put back."""
        pieces = without_weights.expand(ir.to_proto(self.model))
        return b"".join(p if isinstance(p, bytes) else self._read(p) for p in pieces)

    def _read(self, stretch: without_weights.Stretch) -> bytes:
        return self.source.read(lambda model: model[stretch.start : stretch.end])


def open_model(source: Source) -> Opened:
    """Reads a model, and inlines its functions with nodes of ours.

    Raises:
        UnreadableError: The model cannot be changed here.
        ir.serde.SerdeError: The model is invalid, as ONNX Runtime will report.
        ValueError: The functions cannot be inlined.
    """
    try:
        proto = source.read(without_weights.thin)
    except ValueError as error:
        raise ir.serde.SerdeError(str(error)) from error
    if readable(proto) is not proto:
        raise UnreadableError("maps, opaque types or sparse tensors")
    model = ir.from_proto(proto)
    if source.folder is not None:
        ir.external_data.set_base_dir(model.graph, source.folder)
    drawing = {
        identifier
        for identifier, function in model.functions.items()
        if any(node.domain == DOMAIN for node in function.all_nodes())
    }
    # What an operator of ours does, for others, stands in functions of its own name.
    of_ours = {identifier for identifier in model.functions if identifier[0] == DOMAIN}
    holding = inlining.with_callers(model, drawing | of_ours)
    if holding:
        try:
            inlining.check_size(model, holding)
            InlinePass(criteria=lambda f: f.identifier() in holding)(model)
        except ValueError as error:
            raise ValueError(f"the model's functions cannot be inlined: {error}") from error
    return Opened(model, source, bool(drawing))
