"""What ONNX Runtime makes of the explicit seeds of a model's nodes.

Measured on Linux. A kernel has one generator for the session, which starts from its seed, and each
run goes on: so nodes go together for as long as they have drawn equally many numbers of one type. A
Dropout starts anew in each run, from the next seed. For a seed of TensorFlow's, which no runtime
here reads, nodes go together that have the same kind, type and size.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace

import onnx_ir as ir

from onnx_philox._models.constants import small_constant
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, Owner, input_of
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.random_nodes import tensorflow_random_nodes
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import dropout_start, start_of
from onnx_philox._rewriting.in_onnx.replacements.onnx_replacements import BernoulliReplacement
from onnx_philox._rewriting.in_onnx.replacements.outcome import Replaceable
from onnx_philox._rewriting.seeded import OF_TENSORFLOW, Seeded, Size

# A shape has no more numbers.
_MOST_ELEMENTS = 64
_GIVE_EQUAL = ("Identity", "Cast")
_KEEP_THE_SIZE = {
    "Abs",
    "BatchNormalization",
    "Bernoulli",
    "Cast",
    "Clip",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Flatten",
    "Gelu",
    "Identity",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "Neg",
    "Not",
    "RandomNormalLike",
    "RandomUniformLike",
    "Relu",
    "Reshape",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Sqrt",
    "Squeeze",
    "Tanh",
    "Transpose",
    "Unsqueeze",
}
"""Operators whose first output has as many elements as their first input."""

DROPOUTS = "dropouts"
"""What it draws for a Dropout, of which the first elements agree, whatever its size and type."""
DOUBLES = "doubles"
"""What ONNX Runtime draws for uniforms and Bernoullis of f64, and for every Multinomial."""


class Seeds:
    """Reads the explicit seeds of a model's nodes.

    Args:
        types: The types and the shapes of the model's values.
    """

    def __init__(self, types: Types) -> None:
        self._types = types

    def of(self, random: Replaceable) -> Seeded | None:
        """What the runtime makes of a node's seed; None for a node without one.

        The size is not known yet: see `with_size`.
        """
        site = random.site
        node = site.node
        if site.explicit_seed is None:
            return None
        place = tuple(_turns(owner) for owner in site.owners)
        if tensorflow_random_nodes.is_known(node):
            drawn = _KINDS_OF_TENSORFLOW[tensorflow_random_nodes.KINDS[node.op_type]]
            kind = drawn
            if drawn not in _OF_ANY_TYPE:
                kind = f"{drawn} of {random.drawn[1]}"
            return Seeded(site.explicit_seed, f"{OF_TENSORFLOW}{kind}", kind, place)
        given = node.attributes["seed"].value
        if node.op_type.endswith("Dropout"):
            start = dropout_start(int(given))
            return Seeded(start, DROPOUTS, "Dropouts", place)
        numbers, kind = _numbers(random)
        start = start_of(float(given))
        return Seeded(start, numbers, kind, place)

    def with_size(self, node: ir.Node, seeded: Seeded) -> Seeded:
        """What decides, with the number of elements, which may take an inference of shapes."""
        if seeded.numbers == DROPOUTS:
            return seeded
        if tensorflow_random_nodes.is_known(node):
            size = self._of_tensorflow(node)
        else:
            size = self._size(node, seeded.numbers)
        return replace(seeded, size=size)

    def loops_that_keep_pace(
        self,
        random: Replaceable,
        seeded: Seeded,
    ) -> frozenset[ir.Graph] | None:
        """The loops in which nodes that are tied begin each iteration at one state, or None.

        Dropouts of one seed do so in the runtime, also those of other sizes.
        """
        if seeded.numbers != DROPOUTS:
            return None
        loops = []
        for owner in random.site.owners:
            if owner.node.op_type != "If":
                loops.append(owner.graph)
        return frozenset(loops) if loops else None

    def _size(self, node: ir.Node, numbers: str) -> Size:
        """How many elements a node of ONNX draws; of normals, those that it throws away too."""
        shape = node.attributes.get("shape")
        if node.op_type == "Multinomial":
            samples = Size(node.attributes.get_int("sample_size", 1))
            rows = self._rows(input_of(node, 0), of_classes=True)
            return samples.times(rows)
        if shape is None:
            size = self.of_value(input_of(node, 0))
        else:
            size = _product(shape.as_ints())
        if numbers.startswith("normals") and not size.of:
            # They come in pairs, and a run does not begin with the second half of one.
            return Size(size.factor + size.factor % 2)
        return size

    def _of_tensorflow(self, node: ir.Node) -> Size:
        """How many elements a node of TensorFlow draws, or rows that it shuffles."""
        given = input_of(node, 0)
        match tensorflow_random_nodes.KINDS[node.op_type]:
            case "shuffle":
                return self._rows(given)
            case "categorical":
                rows = self._rows(given, of_classes=True)
                samples = self._told(input_of(node, 1))
                return rows.times(samples)
            case "gamma" | "poisson":
                parameters = self.of_value(input_of(node, 1))
                return self._told(given).times(parameters)
        return self._told(given)

    def of_value(self, value: ir.Value) -> Size:
        """How many elements a tensor has."""
        size = Size(1, (f"the elements of {value.name!r}",))
        for each in self._of_one_size(value):
            dims = self._types.dimensions(each)
            if dims is not None and None not in dims:
                size = _product([dim for dim in dims if dim is not None])
            elif size.of and size.of[0].startswith("the elements of "):
                size = Size(1, (f"the elements of {each.name!r}",))
        return size

    def _of_one_size(self, value: ir.Value) -> list[ir.Value]:
        """A value and those before it, for as long as they have equally many elements."""
        way = [value]
        while True:
            node = way[-1].producer()
            if node is None:
                break
            if node.op_type not in _KEEP_THE_SIZE or node.domain not in STANDARD_DOMAINS:
                break
            is_first = way[-1].index() == 0 or node.op_type == "Dropout"
            if not is_first or not node.inputs or node.inputs[0] is None:
                break
            way.append(node.inputs[0])
        return way

    def _rows(self, value: ir.Value, *, of_classes: bool = False) -> Size:
        """The first dimension of a tensor; of logits without rows, one."""
        dims = self._types.dimensions(value)
        if dims is not None and of_classes and len(dims) == 1:
            return Size(1)
        first = dims[0] if dims else None
        if first is None:
            return Size(1, (f"the rows of {value.name!r}",))
        return _product([first])

    def _told(self, shape: ir.Value) -> Size:
        """How many elements a tensor has whose shape, or whose count, is a value."""
        root = _root(shape)
        known = small_constant(root, _MOST_ELEMENTS)
        if known is not None:
            return _product(known.ravel().tolist())
        node = root.producer()
        if node is not None and node.op_type == "Shape" and not node.attributes:
            if node.domain in STANDARD_DOMAINS:
                return self.of_value(input_of(node, 0))
        return Size(1, (f"the product of {root.name!r}",))


_KINDS_OF_TENSORFLOW: Mapping[str, str] = {
    "categorical": "Multinomials",
    "gamma": "gammas",
    "integers": "integers",
    "normal": "normals",
    "poisson": "Poisson counts",
    "shuffle": "shuffles",
    "truncated": "truncated normals",
    "uniform": "uniforms",
}
_OF_ANY_TYPE = ("Multinomials", "shuffles")


def _numbers(random: Replaceable) -> tuple[str, str]:
    """The numbers that ONNX Runtime draws for a node, and what draws them, in words."""
    node = random.site.node
    replacement = random.replacement
    if node.op_type == "Multinomial":
        return DOUBLES, "Multinomials"
    if isinstance(replacement, BernoulliReplacement):
        of_p = replacement.probabilities.name
        # It draws those of f16 in f32.
        numbers = DOUBLES if of_p == "f64" else "uniforms of f32"
        return numbers, f"Bernoullis of {of_p}"
    kind = "normals" if "Normal" in node.op_type else "uniforms"
    kind = f"{kind} of {random.drawn[1]}"
    numbers = DOUBLES if kind == "uniforms of f64" else kind
    return numbers, kind


def _product(dimensions: Iterable[int | str]) -> Size:
    """The product of dimensions, which are numbers or names."""
    size = Size(1)
    for dimension in dimensions:
        if isinstance(dimension, str):
            size = size.times(Size(1, (dimension,)))
        else:
            size = size.times(Size(int(dimension)))
    return size


def _root(value: ir.Value) -> ir.Value:
    """What gives the numbers of a value, before operators that give the same."""
    while True:
        node = value.producer()
        if node is None:
            break
        given = node.inputs[0] if node.inputs else None
        if node.op_type not in _GIVE_EQUAL or node.domain not in STANDARD_DOMAINS:
            break
        if given is None:
            break
        value = given
    return value


def _turns(owner: Owner) -> Hashable:
    """What two subgraphs have in common that run equally often whenever what holds them runs."""
    node = owner.node
    if node.op_type == "If":
        condition = _name(input_of(node, 0))
        return "If", condition, owner.attribute
    if node.op_type == "Loop" and _runs_all_trips(node, owner.graph):
        trips = _name(input_of(node, 0))
        return "Loop", trips
    return owner.graph


def _runs_all_trips(loop: ir.Node, body: ir.Graph) -> bool:
    """Whether a Loop ends after the trips that it is given, and no sooner."""
    trips = loop.inputs[0]
    go = None
    if len(loop.inputs) > 1:
        go = loop.inputs[1]
    may_stop = go is not None and not _is_true(go)
    if trips is None or may_stop:
        return False
    goes_on = _root(body.outputs[0])
    return goes_on is body.inputs[1] or _is_true(goes_on)


def _is_true(value: ir.Value) -> bool:
    known = small_constant(_root(value), 1)
    return known is not None and bool(known.all())


def _name(value: ir.Value) -> Hashable:
    """What only values have that are equal in every run."""
    root = _root(value)
    known = small_constant(root, 1)
    if known is None:
        return root
    return tuple(known.ravel().tolist())
