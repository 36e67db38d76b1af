"""Finds uniform floats that a model draws only to turn them into booleans or integers.

Exporters write torch's `bernoulli_` as a uniform number that is Less than a probability, and its
`randint` as one that goes through Mul, Add, Floor and Cast. Both runtimes would draw the same
floats, but each would compute what follows in its own arithmetic, which differs under bf16. So the
replacement absorbs the nodes that follow: it draws the booleans or the integers themselves.

It absorbs only what means the same. Nothing else may read the floats, and the numbers in between
must be constants for which the result is known to be the same, or equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract.operators import (
    OUTPUT_TYPE,
    RANDOM_BERNOULLI,
    RANDOM_GENERATOR,
    RANDOM_UNIFORM,
    Operator,
)
from onnx_philox._contract.types import F32, F64
from onnx_philox._models.constants import constant
from onnx_philox._models.emitter import Emitter
from onnx_philox._models.onnx_graphs import MOVES, STANDARD_DOMAINS, input_of, label, only_reader
from onnx_philox._rewriting import comparisons, doubts
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import input_at
from onnx_philox._rewriting.in_onnx.replacements import bits, wide
from onnx_philox._rewriting.in_onnx.replacements.onnx_replacements import EmitDraw, FloatReplacement
from onnx_philox._rewriting.in_onnx.replacements.outcome import Replaceable
from onnx_philox._rewriting.not_rows import few

_BOOL = ir.DataType.BOOL
_INT32 = ir.DataType.INT32
_FLOAT = ir.DataType.FLOAT
_UINT32 = ir.DataType.UINT32
_UINT64 = ir.DataType.UINT64

# From this opset on Less takes integers.
_COMPARES_INTEGERS = 9


@dataclass(frozen=True)
class ComparisonReplacement:
    """A uniform number compared with a probability.

    It compares integers where RandomBernoulli would need constant probabilities expanded to the
    shape of the draw: OpenVINO expands them as bf16.
    """

    uniform: FloatReplacement
    comparison: ir.Node
    index: int
    """Which input of the comparison the probabilities are."""
    thresholds: NDArray[np.int32] | None
    """An integer below its threshold means true; None where RandomBernoulli draws."""
    is_expanded: bool
    is_computed: bool
    """Whether each run gives the thresholds: they may be NaN, even those of a Sigmoid."""
    is_any: bool
    """Whether they may lie below 0 or above 1, too."""
    is_negated: bool
    dtype: ir.DataType = _BOOL

    @property
    def operator(self) -> Operator:
        """See `Replacement`."""
        if self.thresholds is None:
            return RANDOM_BERNOULLI
        return RANDOM_UNIFORM

    def emit(self, node: ir.Node, emitter: Emitter, draw: EmitDraw) -> list[ir.Value]:
        """See `Replacement`."""
        shape = self.uniform.emit_shape(node, emitter)
        if self.thresholds is None:
            p = input_of(self.comparison, self.index)
            if self.is_expanded:
                p = emitter.emit("Expand", "p", [p, shape], _FLOAT)
            if self.is_computed:
                p = self._clamped(p, emitter)
            given = {"shape": shape, "p": p}
            drawn = draw(RANDOM_BERNOULLI, _BOOL, given, {})
        else:
            steps = 1 << comparisons.BITS[self.uniform.values]
            whole = np.array(steps, np.int32)
            inputs = {
                "shape": shape,
                "minval": emitter.constant("minval", np.zeros_like(whole)),
                "maxval": emitter.constant("maxval", whole),
            }
            integers = draw(RANDOM_UNIFORM, _INT32, inputs, {OUTPUT_TYPE: "i32"})
            thresholds = emitter.constant("thresholds", self.thresholds)
            drawn = emitter.emit("Less", "drawn", [integers, thresholds], _BOOL)
        if self.is_negated:
            drawn = emitter.emit("Not", "negated", [drawn], _BOOL)
        return [drawn]

    def _clamped(self, threshold: ir.Value, emitter: Emitter) -> ir.Value:
        """The probability that a uniform number is below any threshold.

        A comparison with NaN is never true, so where it is negated NaN must count as 1. Less tells
        NaN everywhere: on some processors OpenVINO's Greater is true of it, and Clip keeps it in
        ONNX Runtime. Our node in OpenVINO knows these very nodes, reads what is before them, and
        clamps exactly: the plugin would compute them in bf16.
        """
        zero, one = (
            emitter.constant(what, np.array(number, np.float32))
            for what, number in (("zero", 0), ("one", 1))
        )
        if self.is_negated:
            compared = [threshold, one]
            cut = "Max"
            limit = zero
            otherwise = one
        else:
            compared = [zero, threshold]
            cut = "Min"
            limit = one
            otherwise = zero
        is_within = emitter.emit("Less", "is_within", compared, _BOOL, threshold.shape)
        within = emitter.elementwise(cut, "within", threshold, limit, _FLOAT)
        choices = [is_within, within, otherwise]
        return emitter.emit("Where", "p_of_any", choices, _FLOAT, threshold.shape)


@dataclass(frozen=True)
class IntegerReplacement:
    """A uniform number scaled, rounded down and cast: an integer, each equally likely."""

    uniform: FloatReplacement
    lowest: int
    count: int
    dtype: ir.DataType
    operator: Operator = RANDOM_UNIFORM

    def emit(self, node: ir.Node, emitter: Emitter, draw: EmitDraw) -> list[ir.Value]:
        """See `Replacement`."""
        is_moved = self.lowest + self.count == comparisons.MOST_OF_I32
        lowest = self.lowest
        if is_moved:
            lowest -= comparisons.FURTHER_DOWN
        inputs = {
            "shape": self.uniform.emit_shape(node, emitter),
            "minval": emitter.constant("minval", np.array(lowest, np.int32)),
            "maxval": emitter.constant("maxval", np.array(lowest + self.count, np.int32)),
        }
        # Always i32: OpenVINO does not carry i64 draws everywhere.
        drawn = draw(self.operator, _INT32, inputs, {OUTPUT_TYPE: "i32"})
        if is_moved:
            down = np.array(comparisons.FURTHER_DOWN, np.int32)
            up = emitter.constant("up", down)
            drawn = emitter.elementwise("Add", "moved", drawn, up, _INT32)
        if self.dtype is not _INT32:
            drawn = emitter.cast("number", drawn, self.dtype)
        return [drawn]


@dataclass(frozen=True)
class WordsReplacement:
    """A uniform number scaled by 2^32, rounded down and cast: the words of the generator."""

    uniform: FloatReplacement
    dtype: ir.DataType
    """Of 32 bits, or of more and unsigned."""
    is_signed_between: bool = False
    """Whether they go through int32: OpenVINO computes with no uint32 that a node of ours gives."""
    operator: Operator = RANDOM_GENERATOR

    def emit(self, node: ir.Node, emitter: Emitter, draw: EmitDraw) -> list[ir.Value]:
        """See `Replacement`."""
        shape = self.uniform.emit_shape(node, emitter)
        bits = draw(self.operator, _UINT32, {"shape": shape}, {})
        if self.is_signed_between:
            bits = emitter.cast("signed", bits, _INT32)
            return [emitter.cast("bits", bits, self.dtype)]
        if self.dtype is not _UINT32:
            bits = emitter.cast("number", bits, self.dtype)
        return [bits]


def absorb(random: Replaceable, types: Types, *, shares: bool = False) -> Replaceable:
    """Lets uniform floats become what the model makes of them, where this can be drawn instead.

    A node that shares its words with others draws no integers, which are not those of its floats.
    """
    site = random.site
    uniform = random.replacement
    if (
        site.opset < _COMPARES_INTEGERS
        or not isinstance(uniform, FloatReplacement)
        or uniform.operator is not RANDOM_UNIFORM
    ):
        return random
    chain = _Chain(random, uniform, types)
    try:
        compared = chain.comparison()
        if compared is not None:
            replacement, absorbed = compared
            absorbed = (*random.absorbed, *absorbed)
            return replace(random, replacement=replacement, absorbed=absorbed)
        integers = chain.integers()
        made = None
        if integers is not None:
            made = _of_integers(random, uniform, integers, shares=shares)
        if made is None:
            return _doubting(random, chain.bounds)
    except (TypeError, ValueError):
        # An unreadable neighbour cannot be part of a pattern.
        return random
    if isinstance(made.replacement, FloatReplacement):
        return absorb(made, types, shares=shares)
    return made


def _of_integers(
    random: Replaceable, uniform: FloatReplacement, found: Integers, *, shares: bool
) -> Replaceable | None:
    """The draw of the integers that a model makes of a uniform number, or of what it makes of them.

    None where they cannot be drawn. Floats of 32 bits have the very numbers of those that a node
    draws which shares its words.
    """
    absorbed = (*random.absorbed, *found.nodes)
    if found.lowest == 0 and not found.dtype.is_floating_point():
        made = bits.RandomBits(found.count, found.dtype, absorbed, found.rank)
        made = bits.smaller(made)
        floats = bits.floats(made, uniform)
        if floats is not None:
            drawn, of_floats = floats
            if not shares or not _differ(drawn, uniform):
                drawn, more = bits.moved(drawn, of_floats.value, found.rank)
                nodes = (*of_floats.nodes, *more)
                return replace(random, replacement=drawn, absorbed=nodes)
        absorbed = made.nodes
        found = replace(found, count=made.count, dtype=made.dtype)
    if shares:
        return None
    if found.count < comparisons.WORDS:
        integers = IntegerReplacement(uniform, found.lowest, found.count, found.dtype)
        return replace(random, replacement=integers, absorbed=absorbed)
    random = replace(random, absorbed=absorbed)
    return _of_words(random, uniform, found.dtype)


def _differ(drawn: FloatReplacement, uniform: FloatReplacement) -> bool:
    return not (drawn.values is uniform.values is F32)


def _of_words(random: Replaceable, uniform: FloatReplacement, dtype: ir.DataType) -> Replaceable:
    """A draw of words, and what OpenVINO would make of them."""
    readers = bits.Readers.of(random.last.outputs[0])
    crosses_border = bool(random.site.owners) and not readers.has_casts
    is_signed = readers.has_arithmetic or crosses_border
    words = WordsReplacement(uniform, dtype, is_signed and dtype is _UINT32)
    wrong = readers.wrong if dtype is _UINT32 else ()
    doubt = None
    if dtype is _UINT64:
        doubt = doubts.wide_words(label(random.last))
    elif wrong:
        names = few([label(node) for node in wrong])
        doubt = doubts.words_read(names)
    return replace(random, replacement=words, doubt=doubt)


def _doubting(random: Replaceable, drawn: wide.Bounds) -> Replaceable:
    """A draw whose integers stay the runtimes' own, and what OpenVINO makes of large ones."""
    cast = wide.wide_cast(random.last.outputs[0], drawn)
    if cast is None:
        return random
    dtype = ir.DataType(cast.attributes.get_int("to"))
    doubt = doubts.wide_integers(label(cast), dtype.name)
    return replace(random, doubt=doubt)


@dataclass(frozen=True)
class Integers:
    """What a Cast makes of a uniform number that is scaled, rounded down and moved."""

    lowest: int
    count: int
    dtype: ir.DataType
    nodes: tuple[ir.Node, ...]
    rank: int

    @classmethod
    def of(
        cls, scaled: comparisons.Scaled, dtype: ir.DataType, nodes: tuple[ir.Node, ...], rank: int
    ) -> Integers | None:
        """What a Cast to a type makes of such numbers.

        None where they cannot be drawn: each must be equally likely, and the type must hold it.
        """
        found = scaled.integers(dtype.numpy())
        if found is None:
            return None
        lowest, count = found
        return cls(lowest, count, dtype, nodes, rank)


class _Chain:
    """The nodes after a uniform draw, each of which is the only reader of the one before it."""

    def __init__(self, random: Replaceable, uniform: FloatReplacement, types: Types) -> None:
        self._site = random.site
        self._uniform = uniform
        self._types = types
        (self._start,) = random.last.outputs
        self._low = uniform.parameters["minval"].item()
        self._high = uniform.parameters["maxval"].item()

    @property
    def bounds(self) -> wide.Bounds:
        """The bounds of what is drawn."""
        return wide.Bounds(float(self._low), float(self._high))

    def comparison(self) -> tuple[ComparisonReplacement, tuple[ir.Node, ...]] | None:
        """What a comparison with probabilities makes of it; None if there is no comparison."""
        reader = only_reader(self._start)
        if reader is None or (self._low, self._high) != (0, 1):
            return None
        node, index = reader
        is_less = comparisons.COMPARISONS.get((node.op_type, index))
        if is_less is None or len(node.inputs) != 2:
            return None
        p = node.inputs[1 - index]
        if p is None:
            return None
        fit = self._fit(p)
        if fit is None:
            return None
        given = constant(p)
        thresholds = None
        is_any = False
        is_one_s_own = fit != "expanded" and self._uniform.values in (F32, F64)
        if given is None:
            # OpenVINO takes f64 parameters only as constants.
            source = self._source_of_probabilities(p)
            if self._uniform.values is not F32 or source is None:
                return None
            is_any = source.is_graph_input()
        elif not (is_one_s_own and comparisons.are_probabilities(given)):
            if self._uniform.values not in comparisons.BITS:
                return None
            thresholds = comparisons.thresholds_of(
                given, self._uniform.values, is_negated=not is_less
            )
        is_expanded = fit == "expanded" and thresholds is None
        replacement = ComparisonReplacement(
            self._uniform,
            node,
            1 - index,
            thresholds,
            is_expanded=is_expanded,
            is_computed=given is None,
            is_any=is_any,
            is_negated=not is_less,
        )
        return replacement, (node,)

    def integers(self) -> Integers | None:
        """What scaling, rounding down and a Cast make of it; None where they do not."""
        if self._uniform.values not in (F32, F64):
            return None
        low = Fraction(self._low)
        width = Fraction(self._high) - low
        scaled = comparisons.Scaled(width, low)
        nodes: list[ir.Node] = []
        value = self._start
        while True:
            reader = only_reader(value)
            if reader is None:
                break
            node, index = reader
            nodes.append(node)
            if node.op_type == "Cast":
                dtype = ir.DataType(node.attributes.get_int("to"))
                return Integers.of(scaled, dtype, tuple(nodes), self._rank)
            number = None
            if len(node.inputs) == 2:
                number = self._number(node, 1 - index)
            step = None
            is_second = node.op_type in ("Sub", "Div") and index == 1
            if not is_second:
                step = scaled.then(node.op_type, number)
            if step is None:
                return None
            scaled = step
            (value,) = node.outputs
        return None

    def _number(self, node: ir.Node, index: int) -> Fraction | None:
        """An input that is one finite constant, and adds no dimension; None for any other."""
        value = node.inputs[index]
        array = None if value is None else constant(value)
        if array is None or array.size != 1:
            return None
        if not self._adds_no_dimension(array.shape):
            return None
        number = float(array.item())
        if not np.isfinite(number):
            return None
        return Fraction(number)

    def _shape(self) -> tuple[Any, ...] | None:
        """The dimensions of the draw; None where not even their number is known."""
        if self._uniform.shape is not None:
            return tuple(self._uniform.shape.tolist())
        return self._types.dimensions(input_of(self._site.node, 0))

    @property
    def _rank(self) -> int:
        """How many dimensions the draw surely has."""
        drawn = self._shape()
        if drawn is None:
            return 0
        return len(drawn)

    def _adds_no_dimension(self, shape: tuple[Any, ...]) -> bool:
        return len(shape) <= self._rank

    def _fit(self, p: ir.Value) -> str | None:
        """How p's shape becomes that of the draw, which the comparison must not enlarge.

        "own" where RandomBernoulli takes p as it is: one number, or that very shape. "expanded"
        where p is repeated. None where it does not fit.
        """
        # Without a shape of its own it is a Like, which has an input.
        is_like = self._uniform.shape is None
        if is_like and p is self._site.node.inputs[0]:
            return "own"
        array = constant(p)
        shape = self._types.dimensions(p) if array is None else array.shape
        if shape is None or not self._adds_no_dimension(shape):
            return None
        if shape in ((), (1,)):
            return "own"
        drawn = self._shape()
        assert drawn is not None
        is_same = []
        is_repeated = []
        from_behind = zip(shape[::-1], drawn[::-1], strict=False)
        for d, e in from_behind:
            same = d is not None and d == e
            is_same.append(same)
            is_repeated.append(same or d == 1)
        if all(is_same):
            return "own" if len(shape) == len(drawn) else "expanded"
        if all(is_repeated):
            return "expanded"
        return None

    def _source_of_probabilities(self, value: ir.Value) -> ir.Value | None:
        """Where the model shows that a computed value lies from 0 to 1 or is NaN; None elsewhere.

        An input of the model counts too: it can be clamped exactly.
        """
        while True:
            node = value.producer()
            if node is None:
                inner = [owner.graph for owner in self._site.owners]
                if value.is_graph_input() and value.graph not in inner:
                    return value
                return None

            if node.domain not in STANDARD_DOMAINS:
                return None
            if node.op_type in comparisons.GIVES_PROBABILITIES or _clips_to_probabilities(node):
                return value
            given = input_at(node, 0)
            if node.op_type not in MOVES or given is None:
                return None
            dtype = self._types(given)
            if dtype is None or not dtype.is_floating_point():
                return None
            value = given


def _clips_to_probabilities(node: ir.Node) -> bool:
    if node.op_type != "Clip":
        return False
    limits = [None if value is None else constant(value) for value in node.inputs[1:]]
    match limits:
        case [np.ndarray() as low, np.ndarray() as high]:
            return bool(low.item() >= 0 and high.item() <= 1)
    return False
