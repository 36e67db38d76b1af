"""Makes new nodes, with unused names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract.operators import DOMAIN
from onnx_philox._models import onnx_graphs

# From this opset on operators broadcast. ONNX Runtime has few operators of older opsets, and no Add
# among them.
OLDEST_OPSET = 7
# From this opset on a Constant may hold integers.
CONSTANTS_OF_ANY_TYPE = 9


Values = tuple[ir.Value, ...]


class Names:
    """The names of a model's values and nodes, those in its subgraphs too."""

    def __init__(self, model: ir.Model) -> None:
        self._taken: set[str | None] = set()
        # How many numbers were tried of each name that was taken: those all are taken still.
        self._tried: dict[str, int] = {}
        for graph in onnx_graphs.graphs(model):
            self._taken.update(value.name for value in onnx_graphs.values(graph))
            self._taken.update(node.name for node in graph)

    def new(self, name: str) -> str:
        """`name` under the prefix of this package, with a number where it is taken."""
        return self.unique(f"{DOMAIN}.{name}")

    def unique(self, name: str) -> str:
        """`name`, with a number where it is taken."""
        free = name
        number = self._tried.get(name, 0)
        if number:
            free = f"{name}_{number}"
        while free in self._taken:
            number += 1
            free = f"{name}_{number}"
            self._tried[name] = number
        self._taken.add(free)
        return free


def _attribute(name: str, value: Any) -> ir.Attr:
    """The attribute of a value; onnx-ir takes longer to tell what a plain number or text is."""
    if type(value) is int:
        return ir.AttrInt64(name, value)
    if type(value) is str:
        return ir.AttrString(name, value)
    return ir.convenience.convert_attribute(name, value)


class Maker:
    """Makes nodes, in order, to be put into a graph."""

    def __init__(self) -> None:
        self.nodes: list[ir.Node] = []

    def node(
        self,
        op_type: str,
        inputs: Sequence[ir.Value | None],
        attributes: Mapping[str, Any],
        *,
        outputs: int = 1,
        domain: str = "",
    ) -> Values:
        """The outputs of a new node, which have no names yet."""
        made = [_attribute(name, value) for name, value in attributes.items()]
        node = ir.Node(domain, op_type, inputs, made, num_outputs=outputs)
        self.nodes.append(node)
        return tuple(node.outputs)


class Emitter(Maker):
    """Makes nodes beside an old one, in forms that the opset knows; declares types and shapes."""

    def __init__(self, names: Names, opset: int, prefix: str) -> None:
        super().__init__()
        self._names = names
        self.opset = opset
        self._prefix = prefix

    def again(self) -> Emitter:
        """An emitter with the same names, and no nodes yet."""
        return Emitter(self._names, self.opset, self._prefix)

    def new_name(self, what: str) -> str:
        """A name for a new node, which is taken from now on."""
        return self._names.new(f"{self._prefix}{what}")

    def constant(self, what: str, array: NDArray[Any]) -> ir.Value:
        """A constant tensor, as a node: valid in every graph of every IR version."""
        is_cast = array.dtype.kind != "f" and self.opset < CONSTANTS_OF_ANY_TYPE
        tensor = ir.Tensor(array.astype(np.float64) if is_cast else array)
        name = f"{what}_f64" if is_cast else what
        attributes = {"value": ir.AttrTensor("value", tensor)}
        value = self.emit("Constant", name, [], tensor.dtype, array.shape, attributes)
        if not is_cast:
            return value
        return self.cast(what, value, ir.Tensor(array).dtype)

    def constant_of_draw(self, what: str, array: NDArray[Any]) -> ir.Value:
        """A constant that nothing reads but the draw."""
        return self.constant(what, array)

    def shape(self, value: ir.Value) -> ir.Value:
        """The dimensions of a tensor, int64."""
        rank = None if value.shape is None else [len(value.shape)]
        return self.emit("Shape", "shape", [value], ir.DataType.INT64, rank)

    def cast(self, what: str, value: ir.Value, to: ir.DataType) -> ir.Value:
        """A tensor in another type."""
        return self.emit("Cast", what, [value], to, value.shape, {"to": to.value})

    def like(
        self,
        op_type: str,
        what: str,
        *inputs: ir.Value,
        shape: ir.Shape | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> ir.Value:
        """A node that gives what its first input holds, of a type that need not be known."""
        given = self.emit(op_type, what, inputs, ir.DataType.UNDEFINED, shape, attributes)
        given.type = inputs[0].type
        return given

    def elementwise(
        self,
        op_type: str,
        what: str,
        a: ir.Value,
        b: ir.Value,
        dtype: ir.DataType,
    ) -> ir.Value:
        """Add, Sub, Mul, Div or And of `a` and `b`, where `b` is broadcast to `a`."""
        return self.emit(op_type, what, [a, b], dtype, a.shape)

    def emit(
        self,
        op_type: str,
        what: str,
        inputs: Sequence[ir.Value | None],
        dtype: ir.DataType,
        shape: ir.Shape | Sequence[int] | None = None,
        attributes: Mapping[str, Any] | None = None,
        domain: str = "",
    ) -> ir.Value:
        """A node of one output; `what` names both."""
        (output,) = self.node(op_type, inputs, attributes or {}, domain=domain)
        self.nodes[-1].name = self.declare(output, what, dtype, shape).name
        return output

    def mask_of(self, drawn: ir.Value, shape: ir.Shape | None) -> ir.Value:
        """The second output of the node that draws `drawn`: booleans of this shape."""
        node = drawn.producer()
        assert node is not None
        node.resize_outputs(max(2, len(node.outputs)))
        return self.declare(node.outputs[1], "mask", ir.DataType.BOOL, shape)

    def next_state_of(self, drawn: ir.Value, index: int) -> ir.Value:
        """The output of this index of the node that draws `drawn`: the state after it."""
        node = drawn.producer()
        assert node is not None
        node.resize_outputs(index + 1)
        state = node.outputs[index]
        if state.name:
            return state
        return self.declare(state, "drawn_state", ir.DataType.UINT32)

    def declare(
        self,
        value: ir.Value,
        what: str,
        dtype: ir.DataType,
        shape: ir.Shape | Sequence[int] | None = None,
    ) -> ir.Value:
        """Names a value and declares its type and shape."""
        value.name = self.new_name(what)
        # A model that declares an unknown type is none that ONNX Runtime reads.
        value.type = None if dtype is ir.DataType.UNDEFINED else ir.TensorType(dtype)
        value.shape = None if shape is None else ir.Shape(shape)
        return value
