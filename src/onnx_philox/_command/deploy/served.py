"""A model that is to be served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx_ir as ir

from onnx_philox._contract.streams import Streams
from onnx_philox._models.streams import streams_of


@dataclass(frozen=True)
class Tensor:
    """An input or an output."""

    name: str
    type: int
    """Of `onnx.TensorProto`."""
    shape: tuple[int | str | None, ...] | None
    """A dimension that is known when the model runs is its name, or None; None for any rank."""


@dataclass(frozen=True)
class Served:
    """A model, and where the server finds all things."""

    name: str
    model: onnx.ModelProto
    library: Path
    folder: Path
    sequences: Streams | None = None
    """The streams of a model whose state the server keeps, from request to request."""

    @property
    def inputs(self) -> list[Tensor]:
        """Those that have no default."""
        defaults = {tensor.name for tensor in self.model.graph.initializer}
        return [_tensor(i) for i in self.model.graph.input if i.name not in defaults]

    @property
    def outputs(self) -> list[Tensor]:
        """All of them."""
        return [_tensor(output) for output in self.model.graph.output]

    @property
    def is_batched(self) -> bool:
        """Whether requests may be merged: each row has a state, and the batch comes first.

        All inputs and outputs must say that their first dimension is the state's.
        """
        streams = streams_of(ir.from_proto(self.model))
        if streams is None or streams.batch is None:
            return False
        tensors = [*self.inputs, *self.outputs]
        firsts = {tensor.shape[0] if tensor.shape else None for tensor in tensors}
        return len(firsts) == 1 and all(isinstance(first, str) for first in firsts)


def _tensor(value: onnx.ValueInfoProto) -> Tensor:
    tensor = value.type.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = tuple(
            d.dim_value if d.HasField("dim_value") else d.dim_param or None
            for d in tensor.shape.dim
        )
    return Tensor(value.name, tensor.elem_type, shape)


def known(dimensions: Sequence[int | str | None]) -> list[int]:
    """Dimensions as servers write them: -1 for one that differs from request to request."""
    return [d if isinstance(d, int) else -1 for d in dimensions]
