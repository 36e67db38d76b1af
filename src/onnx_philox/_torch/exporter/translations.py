"""One function for each of torch's draws: the nodes in its place.

Torch's exporter calls them with the arguments of the operator, and records the nodes that they
make. Imported only where torch is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onnx_philox._contract.operators import DOMAIN, OPERATORS, OPSET_VERSION, OUTPUT_TYPE, Operator
from onnx_philox._contract.streams import AWAITS_STATE
from onnx_philox._contract.types import BY_NAME, BY_ONNX, ElementType
from onnx_philox._torch.calls import meaning
from onnx_philox._torch.calls.table import CALLS, ONNX, TorchCall
from onnx_philox._torch.calls.writer import float_type, written

_BOOL = ir.DataType.BOOL
_Translation = Callable[..., Any]


def table() -> dict[_Translation, _Translation]:
    """The functions by the operators that they translate; they share the count of the streams."""
    import torch

    # From 1: without a state, one of the seeds must not be 0.
    streams = itertools.count(1)
    found: dict[_Translation, _Translation] = {}
    for call in CALLS.values():
        namespace = getattr(torch.ops, call.namespace)
        packet = getattr(namespace, call.name, None)
        if packet is None or call.decomposed:
            continue
        for overload in call.overloads:
            if overload in packet.overloads():
                operator = getattr(packet, overload)
                found[operator] = _translation(call, operator, streams)
    return found


def _translation(call: TorchCall, operator: Any, streams: Iterator[int]) -> _Translation:
    declared = operator._schema.arguments

    def translation(*args: Any, **kwargs: Any) -> Any:
        call.check(ONNX)
        given = {}
        for argument in declared:
            if argument.name != "dtype":
                given[argument.name] = argument.default_value
        names = [argument.name for argument in declared]
        given |= zip(names, args, strict=False)
        given |= kwargs
        if given.get("dtype") == -1:
            # The exporter's word for none.
            del given["dtype"]
        writer = _OnnxWriter(call, streams)
        mean = getattr(meaning, call.name)
        return written(call, mean, writer, given)

    return translation


class _OnnxWriter:
    """Writes a call in onnxscript: see `Writer`. A kind is an `ir.DataType`, or a type of ours."""

    def __init__(self, call: TorchCall, streams: Iterator[int]) -> None:
        import onnxscript

        self._call = call
        self._streams = streams
        self._op: Any = onnxscript.opset18
        self._ours: Any = onnxscript.values.Opset(DOMAIN, OPSET_VERSION)

    def kind(self, dtype: Any, like: ir.Value | None = None) -> ir.DataType:
        if dtype is not None:
            return ir.DataType(dtype)
        if like is not None:
            assert like.dtype is not None
            return like.dtype
        import torch

        if torch.get_default_dtype() == torch.float32:
            return ir.DataType.FLOAT
        return ir.DataType.DOUBLE

    def element(self, kind: Any) -> ElementType | None:
        if isinstance(kind, ElementType):
            return kind
        return BY_ONNX.get(kind.value)

    def float_type(self, kind: Any) -> ElementType:
        known = self.element(kind)
        return float_type(self._call, known, kind.name)

    def cast(self, x: ir.Value, kind: Any) -> Any:
        wanted = kind
        if isinstance(kind, ElementType):
            wanted = ir.DataType(kind.onnx)
        if x.dtype is wanted:
            return x
        return self._op.Cast(x, to=wanted)

    def number(self, number: Any, kind: Any) -> Any:
        if isinstance(number, ir.Value):
            is_one = number.shape is not None and len(number.shape) < 2
            if not is_one:
                scalar = self.ints([])
                number = self.op("Reshape", number, scalar)
            return self.cast(number, kind)
        dtype = kind.dtype if isinstance(kind, ElementType) else kind.numpy()
        array = np.array(number)
        return self._constant(array.astype(dtype))

    def _constant(self, numbers: Any) -> Any:
        return self._op.Constant(value=ir.tensor(numbers))

    def ints(self, numbers: Sequence[int]) -> Any:
        return self._constant(np.array(numbers, np.int64))

    def dims(self, size: Any) -> Any:
        if all(isinstance(d, int) for d in size):
            return self.ints([int(d) for d in size])
        # Unlike a Reshape, ONNX's inference of shapes follows this, so that rows can be proved.
        axis = self.ints([0])
        parts = []
        for d in size:
            if isinstance(d, ir.Value):
                parts.append(self._op.Unsqueeze(d, axis))
            else:
                parts.append(self.ints([d]))
        return self._op.Concat(*parts, axis=0)

    def shape(self, x: ir.Value) -> Any:
        node = x.producer()
        while node is not None and node.op_type == "Cast" and node.inputs[0] is not None:
            node = node.inputs[0].producer()
        if node is None:
            return self._op.Shape(x)
        if node.domain == DOMAIN:
            names = [given.name for given in OPERATORS[node.op_type].inputs]
            if "shape" in names:
                # So a draw of which only the shape is read takes no number.
                return node.inputs[names.index("shape")]
        if node.op_type == "Expand" and _is_scalar(node.inputs[0]):
            # A tensor to be drawn into, which ONNX Runtime does not make of bf16.
            return node.inputs[1]
        return self._op.Shape(x)

    def rank(self, x: ir.Value) -> int | None:
        if x.shape is None:
            return None
        return len(x.shape)

    def features(self, x: ir.Value) -> Any:
        raise NotImplementedError  # torch's exporter decomposes such calls

    def expanded(self, p: ir.Value, shape: Any, x: ir.Value) -> Any:
        if p.shape == x.shape and x.shape is not None:
            if all(isinstance(d, int) or d.value for d in x.shape):
                return p
        return self.op("Expand", p, shape)

    def draw(self, operator: Operator, *inputs: Any, **attributes: Any) -> Any:
        op_seed = next(self._streams)
        make = getattr(self._ours, operator.name)
        *values, _next_state = make(*inputs, **attributes, op_seed=op_seed)
        first = values[0]
        node = first.producer()
        # What refuses the node, in whichever runtime, so names the call.
        node.name = f"aten::{self._call.name} {op_seed - 1}"
        node.metadata_props[AWAITS_STATE] = "1"
        named = operator.outputs[0].type
        if named is None:
            named = BY_NAME.get(attributes.get(OUTPUT_TYPE, ""))
        if named is None:
            first.dtype = inputs[0].dtype
        else:
            first.dtype = ir.DataType(named.onnx)
        if len(values) == 1:
            return first
        return tuple(values)

    def op(self, name: str, *inputs: Any, **attributes: Any) -> Any:
        make = getattr(self._op, name)
        made = make(*inputs, **attributes)
        # The exporter infers types afterwards only. No verb but a comparison changes them.
        if name == "LessOrEqual":
            made.dtype = _BOOL
        elif name == "Where":
            made.dtype = inputs[1].dtype
        else:
            made.dtype = inputs[0].dtype
        return made

    def attention(self, *inputs_and_options: Any) -> Any:
        from onnxscript.function_libs.torch_lib.ops import nn

        query, key, value, mask, is_causal, scale, enable_gqa = inputs_and_options
        attend = nn.aten_scaled_dot_product_attention
        return attend(query, key, value, mask, 0.0, is_causal, scale, enable_gqa)

    def width(self, x: ir.Value) -> Any:
        return self._op.Shape(x, start=-1)

    def products(self, x: ir.Value, y: ir.Value, _rank: int | None) -> Any:
        assert _rank is not None
        order = list(range(_rank))
        order[-2:] = _rank - 1, _rank - 2
        turned = self._op.Transpose(y, perm=order)
        return self._op.MatMul(x, turned)

    def repeated(self, x: ir.Value, query: ir.Value) -> Any:
        heads = self._op.Shape(query, start=-3, end=-2)
        own = self._op.Shape(x, start=-3, end=-2)
        times = self._op.Div(heads, own)
        count = self._op.Squeeze(heads)
        times = self._op.Squeeze(times)
        zero = self._constant(np.int64(0))
        one = self._constant(np.int64(1))
        every = self._op.Range(zero, count, one)
        own_places = self._op.Div(every, times)
        return self._op.Gather(x, own_places, axis=-3)

    def triangle(self, query: ir.Value, key: ir.Value) -> Any:
        rows = self._op.Shape(query, start=-2, end=-1)
        columns = self._op.Shape(key, start=-2, end=-1)
        shape = self._op.Concat(rows, columns, axis=0)
        one = ir.tensor([1])
        ones = self._op.ConstantOfShape(shape, value=one)
        lower = self._op.Trilu(ones, upper=0)
        return self._op.Cast(lower, to=_BOOL)


def _is_scalar(value: ir.Value | None) -> bool:
    """Whether a value is a number that the exporter has written, in whatever type."""
    if value is None:
        return False
    node = value.producer()
    if node is not None and node.op_type in ("Cast", "CastLike"):
        return _is_scalar(node.inputs[0])
    number = ir.convenience.get_const_tensor(value)
    return number is not None and number.shape.rank() == 0
