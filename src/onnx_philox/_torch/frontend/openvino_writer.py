"""Writes torch's calls as nodes of OpenVINO."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset8, opset13

import onnx_philox.openvino as factories
from onnx_philox import _runtime_errors
from onnx_philox._contract.operators import STATE_WORDS, Operator
from onnx_philox._contract.refusal import RefusedInputError
from onnx_philox._contract.streams import AWAITS_STATE
from onnx_philox._contract.types import F32, F64, ElementType
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.upstream import Upstream
from onnx_philox._torch.calls.table import TorchCall
from onnx_philox._torch.calls.writer import float_type

REMEDY = "Export the module with onnx_philox.torch.export, which makes a file of ONNX."

# By the names of ONNX.
_OPERATORS: dict[str, Callable[..., ov.Node]] = {
    "Add": opset8.add,
    "Div": opset8.divide,
    "Exp": opset8.exp,
    "Expand": opset8.broadcast,
    "LessOrEqual": opset8.less_equal,
    "Log": lambda x: _log(x),
    "MatMul": lambda a, b: opset8.matmul(a, b, False, False),
    "Max": opset8.maximum,
    "Mul": opset8.multiply,
    "Not": opset8.logical_not,
    "Softmax": opset8.softmax,
    "Sqrt": opset8.sqrt,
    "Squeeze": opset8.squeeze,
    "Sub": opset8.subtract,
    "Tan": opset8.tan,
    "Unsqueeze": opset8.unsqueeze,
    "Where": opset8.select,
}


class TorchWriter:
    """Writes a call: see `calls.writer.Writer`.

    A kind is an `openvino.Type`, a type of ours, or a tensor whose type is not known yet.
    """

    def __init__(self, call: TorchCall, streams: Iterator[int]) -> None:
        self._call = call
        self._streams = streams

    def kind(self, dtype: Any, like: ov.Output | None = None) -> Any:
        if dtype is not None:
            return dtype
        if like is not None:
            asked = like.get_element_type()
            if asked.is_dynamic():
                return like
            return asked
        import torch

        if torch.get_default_dtype() == torch.float32:
            return F32
        return F64

    def element(self, kind: Any) -> ElementType | None:
        known = kind
        if isinstance(kind, ov.Type):
            known = arrays.element_type(kind)
        return known if isinstance(known, ElementType) else None

    def float_type(self, kind: Any) -> ElementType:
        if isinstance(kind, ov.Output):
            return F32
        known = self.element(kind)
        given = "" if known else arrays.name(kind)
        return float_type(self._call, known, given)

    def cast(self, x: ov.Output, kind: Any) -> ov.Output:
        if isinstance(kind, ov.Output):
            return opset8.convert_like(x, kind).output(0)
        wanted = kind
        if isinstance(kind, ElementType):
            wanted = arrays.openvino_type(kind)
        if x.get_element_type() == wanted:
            return x
        return opset8.convert(x, wanted).output(0)

    def number(self, number: Any, kind: Any) -> ov.Output:
        if isinstance(number, ov.Output):
            if number.get_partial_shape().rank != ov.Dimension(0):
                nothing = arrays.constant(np.empty(0, np.int64))
                number = opset8.reshape(number, nothing, False).output(0)
            return self.cast(number, kind)
        known = self.element(kind)
        if known is None:
            f32 = opset8.constant(np.float32(number))
            return self.cast(f32.output(0), kind)
        array = np.array(number)
        array = array.astype(known.dtype)
        return arrays.constant(array).output(0)

    def ints(self, numbers: Sequence[int]) -> ov.Output:
        array = np.array(numbers, np.int64)
        return arrays.constant(array).output(0)

    def dims(self, size: Any) -> ov.Output:
        if isinstance(size, ov.Output):
            return size
        parts = []
        for d in size:
            if isinstance(d, ov.Output):
                parts.append(_as_row(d))
            else:
                parts.append(self.ints([d]))
        if not parts:
            return self.ints([])
        if len(parts) == 1:
            return parts[0]
        return opset8.concat(parts, 0).output(0)

    def shape(self, x: ov.Output) -> ov.Output:
        return opset8.shape_of(x).output(0)

    def features(self, x: ov.Output) -> ov.Output:
        rank = self.rank(x)
        if rank is None:
            self._call.refuse(
                "input",
                "one of unknown rank",
                "one of known rank",
                REMEDY,
            )
        shape = self.shape(x)
        features = opset8.gather(shape, np.arange(2), np.int64(0))
        ones = self.ints([1] * (rank - 2))
        return opset8.concat([features, ones], 0).output(0)

    def rank(self, x: ov.Output) -> int | None:
        rank = x.get_partial_shape().rank
        if rank.is_dynamic:
            return None
        length: int = rank.get_length()
        return length

    def expanded(self, p: ov.Output, shape: ov.Output, x: ov.Output) -> ov.Output:
        own = p.get_partial_shape()
        if own == x.get_partial_shape() and own.is_static:
            return p
        return self.op("Expand", p, shape)

    def draw(self, operator: Operator, *inputs: Any, **attributes: Any) -> Any:
        stream = next(self._streams)
        zeros = np.zeros(STATE_WORDS, np.uint32)
        nowhere = np.zeros(1, np.int64)
        # OpenVINO computes what constants bound, but no Roll: a draw of constants would become one.
        state = opset8.roll(zeros, nowhere, nowhere, name=AWAITS_STATE)
        options = {
            "op_seed": stream,
            "state": state,
            "name": f"aten::{self._call.name} {stream}",
        }
        try:
            build = getattr(factories, operator.function)
            node = build(*inputs, **attributes, **options)
        except RefusedInputError as error:
            # Torch's users know its calls and its weights, and no operator of ours.
            said = _runtime_errors.without_operator(error)
            said = said.replace("input 'logits'", "its weights")
            said = said.replace("logits", "them")
            raise RefusedInputError(f"aten::{self._call.name}: {said}") from error
        count = node.get_output_size() - 1
        values = [node.output(i) for i in range(count)]
        return values[0] if count == 1 else tuple(values)

    def op(self, name: str, *inputs: Any, **attributes: Any) -> ov.Output:
        if name == "Identity":
            return inputs[0]
        make = _OPERATORS[name]
        return make(*inputs, **attributes).output(0)

    def attention(self, *inputs_and_options: Any) -> ov.Output:
        query, key, value, mask, is_causal, scale, enable_gqa = inputs_and_options
        if enable_gqa:
            key = self.repeated(key, query)
            value = self.repeated(value, query)
        if scale is not None:
            kind = self.kind(None, query)
            scale = self.number(scale, kind)
        attend = opset13.scaled_dot_product_attention
        attended = attend(query, key, value, mask, scale, is_causal)
        return attended.output(0)

    def width(self, x: ov.Output) -> ov.Output:
        return self._dimension(x, -1)

    def products(
        self,
        x: ov.Output,
        y: ov.Output,
        _rank: int | None,
    ) -> ov.Output:
        return opset8.matmul(x, y, False, True).output(0)

    def repeated(self, x: ov.Output, query: ov.Output) -> ov.Output:
        heads = self._dimension(query, -3)
        own_heads = self._dimension(x, -3)
        every = opset8.range(np.int64(0), heads, np.int64(1), "i64")
        times = opset8.divide(heads, own_heads)
        indices = opset8.divide(every, times)
        own = opset8.gather(x, indices, np.int64(-3))
        return own.output(0)

    def triangle(self, query: ov.Output, key: ov.Output) -> ov.Output:
        rows = self._places(query)
        columns = self._places(key)
        below = opset8.unsqueeze(rows, np.int64(1))
        return opset8.less_equal(columns, below).output(0)

    def _places(self, x: ov.Output) -> ov.Node:
        """The numbers of its places: 0, 1, 2 ..."""
        count = self._dimension(x, -2)
        return opset8.range(np.int64(0), count, np.int64(1), "i64")

    def _dimension(self, x: ov.Output, index: int) -> ov.Output:
        shape = self.shape(x)
        dimension = opset8.gather(shape, np.int64(index), np.int64(0))
        return dimension.output(0)


def _log(x: ov.Output) -> ov.Node:
    """As a constant where it can be: OpenVINO computes none of f64, which our nodes could read."""
    known = Upstream().value_of(x.get_node())
    with np.errstate(divide="ignore"):
        if known is None:
            return opset8.log(x)
        return arrays.constant(np.log(known))


def _as_row(part: ov.Output) -> ov.Output:
    """A number as a row of one, of i64; a row as it is."""
    if part.get_element_type() != ov.Type.i64:
        part = opset8.convert(part, "i64").output(0)
    rank = part.get_partial_shape().rank
    if rank == ov.Dimension(1):
        return part
    if rank == ov.Dimension(0):
        return opset8.unsqueeze(part, np.int64(0)).output(0)
    return opset8.reshape(part, np.array([-1]), False).output(0)
