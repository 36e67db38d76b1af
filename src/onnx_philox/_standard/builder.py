"""Makes nodes of ONNX's own domain: in functions that draws share, or inlined at each draw."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._models.emitter import Maker, Values

OPSET = 18
"""The opset of the nodes: the first with integer And, Or and Xor."""

FUNCTION_DOMAIN = "onnx_philox.standard"
"""The domain of the functions that draws share."""

Body = Callable[..., Values]
"""Makes the nodes of a function: from a builder and the inputs to the outputs."""


class Library:
    """The functions of one model, each made when it is first called."""

    def __init__(self, opset: int = OPSET) -> None:
        self._opset = opset
        self.functions: dict[str, ir.Function] = {}

    def add(self, name: str, body: Body, inputs: int) -> int:
        """Makes a function unless it is there; returns how many outputs it has."""
        if name not in self.functions:
            given = [ir.Value(name=f"x{i}") for i in range(inputs)]
            inner = Builder(self)
            outputs = body(inner, *given)
            opsets = {"": self._opset, FUNCTION_DOMAIN: 1}
            graph = inner.graph(given, outputs, opsets)
            function = ir.Function(FUNCTION_DOMAIN, name, graph=graph, attributes=[])
            self.functions[name] = function
        return len(self.functions[name].outputs)


class Builder(Maker):
    """Makes nodes whose types nobody needs; equal constants are one.

    Args:
        library: Where functions go; None for a target without them.
    """

    def __init__(
        self,
        library: Library | None,
        name: Callable[[], str] | None = None,
        outer: Builder | None = None,
    ) -> None:
        super().__init__()
        self._library = library
        self._name = name or map("v{}".format, itertools.count()).__next__
        self._outer = outer
        self._constants: dict[tuple[str, tuple[int, ...], bytes], ir.Value] = {}

    def __call__(self, op_type: str, *inputs: ir.Value, **attributes: Any) -> ir.Value:
        """A node of one output."""
        return self.node(op_type, inputs, attributes)[0]

    def node(self, *given: Any, **more: Any) -> Values:
        """See `Maker`; the outputs have names."""
        made = super().node(*given, **more)
        for value in made:
            value.name = self._name()
        return made

    def split(self, value: ir.Value, parts: int) -> Values:
        """Equal parts of a tensor, along its first dimension."""
        attributes = {"axis": 0, "num_outputs": parts}
        return self.node("Split", (value,), attributes, outputs=parts)

    def constant(self, numbers: Any, dtype: Any = np.int64) -> ir.Value:
        """A constant tensor; the same one for the same numbers."""
        if self._outer is not None:
            return self._outer.constant(numbers, dtype)
        array: NDArray[Any] = np.asarray(numbers, dtype)
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self("Constant", value=ir.Tensor(array))
        return self._constants[key]

    def i32(self, numbers: Any) -> ir.Value:
        """An int32 constant."""
        return self.constant(numbers, np.int32)

    def u32(self, numbers: Any) -> ir.Value:
        """A uint32 constant."""
        return self.constant(numbers, np.uint32)

    def u64(self, numbers: Any) -> ir.Value:
        """A uint64 constant."""
        return self.constant(numbers, np.uint64)

    def f32(self, numbers: Any) -> ir.Value:
        """An f32 constant."""
        return self.constant(numbers, np.float32)

    def f64(self, numbers: Any) -> ir.Value:
        """An f64 constant."""
        return self.constant(numbers, np.float64)

    def cast(self, value: ir.Value, to: ir.DataType) -> ir.Value:
        """A tensor in another type."""
        return self("Cast", value, to=to.value)

    def call(self, name: str, body: Body, *inputs: ir.Value) -> Values:
        """Calls a function that draws share."""
        assert self._library is not None, "the other target takes no part that calls one"
        outputs = self._library.add(name, body, len(inputs))
        return self.node(name, inputs, {}, outputs=outputs, domain=FUNCTION_DOMAIN)

    def subgraph(self, inputs: Values, body: Body) -> ir.Graph:
        """A body of a Scan, which sees what this builder has made."""
        inner = Builder(self._library, self._name, self)
        outputs = body(inner, *inputs)
        return inner.graph(inputs, outputs)

    def graph(
        self,
        inputs: Any,
        outputs: Any,
        opset_imports: dict[str, int] | None = None,
    ) -> ir.Graph:
        """A graph of the nodes so far."""
        graph = ir.Graph(
            list(inputs),
            list(outputs),
            nodes=self.nodes,
            opset_imports=opset_imports or {},
            name="body",
        )
        for node in self.nodes:
            # Names of nodes are of no use, and would double the size of a model.
            node.name = ""
        return graph
