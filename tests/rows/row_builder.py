"""Builds a chain of operators as an ONNX model, in one of four forms of the same chain.

The sizes of a value's dimensions are known as multiples of the batch; where its rows stand is not.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid("onnx_philox", 1)]
OWN = helper.make_opsetid("own", 1)
FLOAT = TensorProto.FLOAT


class Form(enum.Enum):
    """What a chain is built for."""

    MODEL = "the model that is rewritten"
    SHOWN = "the model with its random tensors as outputs"
    TWIN = "the model with its random tensors as inputs"
    TRACED = "the twin with each value as an output, and what keeps the place of rows left out"


@dataclass(frozen=True)
class Size:
    """Of a dimension: factor * rows ** power."""

    factor: int
    power: int = 0

    def __mul__(self, other: Size) -> Size:
        return Size(self.factor * other.factor, self.power + other.power)

    @property
    def is_fixed(self) -> bool:
        return self.power == 0


Dims = tuple[Size, ...]
ROWS = Size(1, 1)
ONE = Size(1)


def factor_of(dims: Dims) -> int:
    """The number of elements, without the batch."""
    return math.prod(size.factor for size in dims)


def fixed_axes(dims: Dims) -> list[int]:
    return [axis for axis, size in enumerate(dims) if size.is_fixed]


def batch_axes(dims: Dims) -> list[int]:
    return [axis for axis, size in enumerate(dims) if not size.is_fixed]


@dataclass(frozen=True)
class Value:
    """A float tensor of the chain."""

    name: str
    dims: Dims

    @property
    def rank(self) -> int:
        return len(self.dims)


class Choices:
    """Numbers that decide what a step does, the same in every form of a chain."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = list(numbers)

    def below(self, count: int) -> int:
        """The next decision; the first of all where none is left."""
        if not self._numbers:
            return 0
        return self._numbers.pop(0) % count

    def copy(self) -> Choices:
        return Choices(self._numbers)

    def one_of(self, what: Sequence[Any]) -> Any:
        return what[self.below(len(what))]


@dataclass
class Scope:
    """A graph whose nodes are being collected."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    shown: dict[str, int] = field(default_factory=dict)
    """What the graph around it shows of its values, with their ranks."""
    kind: str = "flat"
    step: str = ""
    """The number of the iteration in a Loop."""
    scanned: list[str] = field(default_factory=list)
    """The random tensors that a Scan takes apart."""

    def free_names(self) -> list[str]:
        """What the nodes use and do not make."""
        made = {name for node in self.nodes for name in node.output}
        used = [name for node in self.nodes for name in node.input if name]
        return [name for name in dict.fromkeys(used) if name not in made]


class Builder:
    """Collects the nodes of a chain in one of its forms."""

    def __init__(self, form: Form, dims: Dims, is_for_openvino: bool = False) -> None:
        self.form = form
        self.is_for_openvino = is_for_openvino
        """Whether all draws must be such as OpenVINO reads from an ONNX file."""
        self.origin = Value("x", dims)
        self.lengths = "k"
        self.scopes = [Scope()]
        self.functions: list[onnx.FunctionProto] = []
        self.draws: dict[str, int] = {}
        """The random tensors, and the rank of what a twin is given."""
        self.outputs: list[tuple[str, Dims]] = []
        self.operators: list[str] = []
        self.has_bookless = False
        """Whether a draw may be right in a way that no rule has to see."""
        self.is_by_place = False
        """Whether a draw depends on how many rows there are, or on their order."""
        self.is_on_noise = False
        self.is_behind_unequal_branches = False
        """Whether dimensions may be other ones, for all that a rewrite can know."""
        self._count = 0

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    def name(self, stem: str = "t") -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def nodes(
        self, kind: str, *inputs: str, count: int, domain: str = "", **more: Any
    ) -> list[str]:
        """Adds a node with several outputs."""
        outputs = [self.name() for _ in range(count)]
        node = helper.make_node(kind, list(inputs), outputs, domain=domain, **more)
        self.scope.nodes.append(node)
        return outputs

    def node(self, kind: str, *inputs: str, domain: str = "", **more: Any) -> str:
        """Adds a node with one output."""
        return self.nodes(kind, *inputs, count=1, domain=domain, **more)[0]

    def constant(self, array: np.ndarray) -> str:
        return self.node("Constant", value=numpy_helper.from_array(array))

    def ints(self, *numbers: int) -> str:
        return self.constant(np.array(numbers, np.int64))

    def int(self, number: int) -> str:
        return self.constant(np.array(number, np.int64))

    def floats(self, *shape: int) -> str:
        """A few small numbers that are neither 0 nor all the same."""
        numbers = np.arange(math.prod(shape)) % 3 + 1
        signs = np.where(np.arange(math.prod(shape)) % 5 == 4, -1, 1)
        return self.constant((numbers * signs).astype(np.float32).reshape(shape))

    def kept(self, value: Value, make: Callable[[], str]) -> Value:
        """What keeps the place of every row, whatever else it does: left out where it is traced.

        Not of noise: there it must not look at other rows either.
        """
        if self.form is Form.TRACED and not self.is_on_noise:
            return Value(self.node("Identity", value.name), value.dims)
        return Value(make(), value.dims)

    def show(self, name: str, tag: str, rank: int) -> None:
        """Makes a value an output of the whole model, as f32."""
        inner = tag if len(self.scopes) == 1 else f"{tag}_inside"
        self.scope.nodes.append(helper.make_node("Cast", [name], [inner], to=FLOAT))
        self.scope.shown[tag] = rank

    def answer(self, value: Value) -> None:
        """Makes a value an output of the model."""
        name = f"y{len(self.outputs)}"
        self.scope.nodes.append(helper.make_node("Cast", [value.name], [name], to=FLOAT))
        self.outputs.append((name, value.dims))

    def trace(self, value: Value, tag: str) -> None:
        if self.form is Form.TRACED:
            self.show(value.name, self.name(tag), value.rank)

    def draw(
        self, rank: int, kind: str, *inputs: str, count: int = 1, of: int = 0, **more: Any
    ) -> list[str]:
        """A random node, or what stands for it: its output number `of` is the random tensor."""
        tag = f"r{len(self.draws)}"
        self.has_bookless |= self.is_behind_unequal_branches
        is_stacked = self.scope.kind in ("Loop", "Scan")
        self.draws[tag] = rank + 1 if is_stacked else rank
        if self.form in (Form.TWIN, Form.TRACED):
            return [self._given(tag)] * count
        if self.is_for_openvino and more.get("domain") == "onnx_philox":
            # There a node of ours needs a seed where it has no state yet.
            more["op_seed"] = len(self.draws)
        outputs = self.nodes(kind, *inputs, count=count, **more)
        if self.form is Form.SHOWN:
            self.show(outputs[of], tag, rank)
        return outputs

    def _given(self, tag: str) -> str:
        """The random tensor that a twin is given, as f32."""
        if self.scope.kind == "Loop":
            return self.node("Gather", tag, self.scope.step, axis=0)
        if self.scope.kind == "Scan":
            self.scope.scanned.append(tag)
            return f"{tag}_part"
        return tag

    def model(
        self, rows_axis_names: Sequence[str | int | None], name: str | None
    ) -> onnx.ModelProto:
        """The whole, whose input x has these dimensions, and k one of this name."""
        inputs = [
            helper.make_tensor_value_info("x", FLOAT, list(rows_axis_names)),
        ]
        used = set(self.scope.free_names()) | _names_used_inside(self.scope.nodes)
        if self.lengths in used:
            inputs.append(helper.make_tensor_value_info("k", TensorProto.INT64, [name]))
        if "go" in used:
            inputs.append(helper.make_tensor_value_info("go", TensorProto.BOOL, []))
        if self.form in (Form.TWIN, Form.TRACED):
            inputs += [
                helper.make_tensor_value_info(tag, FLOAT, [None] * rank)
                for tag, rank in self.draws.items()
            ]
        outputs = [self._output(name, dims) for name, dims in self.outputs]
        outputs += [
            helper.make_tensor_value_info(tag, FLOAT, [None] * rank)
            for tag, rank in self.scope.shown.items()
        ]
        graph = helper.make_graph(self.scope.nodes, "chain", inputs, outputs)
        opsets = [*OPSETS, OWN] if self.functions else OPSETS
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=10, functions=self.functions
        )

    def _output(self, name: str, dims: Dims) -> onnx.ValueInfoProto:
        sizes = [
            size.factor if size.is_fixed else f"{name}_{axis}" for axis, size in enumerate(dims)
        ]
        return helper.make_tensor_value_info(name, FLOAT, sizes)


def _names_used_inside(nodes: Sequence[onnx.NodeProto]) -> set[str]:
    """What the branches and bodies of nodes use."""
    names: set[str] = set()
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                inner = list(attribute.g.node)
                names.update(name for each in inner for name in each.input)
                names |= _names_used_inside(inner)
    return names
