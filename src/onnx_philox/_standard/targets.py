"""What each target draws exactly, and how: the one table of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract import checks, operators
from onnx_philox._contract.refusal import ValueRefusalError
from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.types import BF16, F16, F32, I32, ElementType
from onnx_philox._models.emitter import Values
from onnx_philox._models.ours import CheckedNode
from onnx_philox._standard import counts, values, words_limbs, words_u64
from onnx_philox._standard.builder import Builder
from onnx_philox._standard.counts import Count, StateRows
from onnx_philox._standard.values import Number


class InexactError(ValueRefusalError):
    """A refusal of what a target would not compute exactly."""


@dataclass(frozen=True)
class DrawnNode(CheckedNode):
    """A node of ours that is to become others.

    Attributes:
        type: The type of its values.
        size: The dimensions of the output, as far as they are known.
        is_by_row: Whether each row of the output has a state, even where there is one.
    """

    type: ElementType
    size: tuple[int | None, ...] | None = None
    is_by_row: bool = False

    @property
    def draws_classes_once(self) -> bool:
        """Whether it draws without replacement: a uniform for each class, not for each sample."""
        return not self.attributes.get("replacement", 1)

    @property
    def uniforms(self) -> tuple[int | None, ...] | None:
        """The dimensions of what takes words: of the values mostly."""
        if not self.draws_classes_once:
            return self.size
        known = self.known["logits"]
        return self.size if known is None else known.shape

    def constant(self, name: str) -> NDArray[Any] | None:
        """An input's value, if it is a constant."""
        known = self.known.get(name)
        if known is None:
            return None
        return known.value

    def number(self, name: str) -> Number:
        """A bound, mean or scale; an array if it is a constant."""
        constant = self.constant(name)
        if constant is None:
            return self.inputs[name]
        return constant

    def type_of(self, name: str) -> ElementType:
        """The type of an input that may have several."""
        known = self.known[name]
        if known is None or not isinstance(known.type, ElementType):
            allowed = "of a type that the model declares, or that ONNX infers"
            remedy = "Declare it, by onnx.shape_inference for instance."
            checks.refuse(self.operator, f"input {name!r}", "no known type", allowed, remedy)
        return known.type

    @property
    def words_per_value(self) -> int:
        """How many words of the generator a value takes."""
        words = self.operator.words
        is_fixed = words.each is not None or words.by == operators.OUTPUT_TYPE
        deciding = self.type if is_fixed else self.type_of(words.by)
        return words.per_element(deciding)


@dataclass(frozen=True)
class Out:
    """The output of a draw: its dimensions, and how many elements each state draws."""

    shape: ir.Value
    count: Count

    def shaped(self, b: Builder, drawn: ir.Value, *, is_even: bool = False) -> ir.Value:
        """Values [B, elements] in the output's shape, without the last one that pairs add."""
        is_known_even = isinstance(self.count, int) and self.count % 2 == 0
        if is_even and not is_known_even:
            end = counts.value(b, self.count)
            start = b.constant([0])
            axis = b.constant([1])
            drawn = b("Slice", drawn, start, end, axis)
        return b("Reshape", drawn, self.shape, allowzero=1)


def _below(
    b: Builder,
    draw: DrawnNode,
    u: ir.Value,
    out: Out,
    p: str = "p",
) -> ir.Value:
    """Booleans of uniforms [B, elements]: which are below an input."""
    is_below = b("Less", out.shaped(b, u), draw.inputs[p])
    # A p of shape [1] makes a vector of a scalar, which an output of unknown rank may be.
    if draw.size:
        return is_below
    return out.shaped(b, is_below)


def is_rounded_twice(operator: str, type: ElementType) -> bool:
    """Whether ONNX Runtime's cast of an f64 rounds what an operator draws a second time."""
    return operator == operators.RANDOM_EXPONENTIAL.name and type in (F16, BF16)


class OnnxRuntime:
    """ONNX Runtime, everywhere: its CPU provider, WebAssembly and mobile builds."""

    name = "onnxruntime"
    has_functions = True
    """Whether it reads functions."""
    note = "made for ONNX Runtime"
    """How to run what is made for it."""

    def check(self, draw: DrawnNode, *, is_inexact_allowed: bool) -> None:  # noqa: ARG002
        """Refuses what it would not draw exactly, or not at all.

        Its kernels draw all that the operators do for which there are nodes.
        """
        plugin = "onnx_philox.onnxruntime"
        _check_operator(draw.operator, _OF_ONNX_RUNTIME, "standard nodes", plugin)
        if is_rounded_twice(draw.operator.name, draw.type):
            given = f"{draw.type.name}, to which ONNX Runtime rounds an f64 twice"
            remedy = "Load the plugin there (onnx_philox.onnxruntime), or draw f32 and cast it."
            raise InexactError(draw.operator.name, "what it draws", given, "f32 or f64", remedy)

    def state(self, b: Builder, words: NDArray[np.uint32]) -> ir.Value:
        """A constant state."""
        return b.constant(words, np.uint32)

    def words(
        self,
        b: Builder,
        draw: DrawnNode,
        rows: StateRows,
        count: Count,
    ) -> ir.Value:
        """The first words of each state, [B, count]."""
        # What is added to the halves of the counter and to the key.
        op_seed = draw.attributes["op_seed"]
        global_seed = draw.attributes["global_seed"]
        seeds = [[0], [op_seed], [global_seed]]
        added = b.constant(np.array(seeds, np.uint64), np.uint64)
        how_many = counts.value(b, count)
        arguments = (rows.state, how_many, added)
        return b.call("Words", words_u64.words, *arguments)[0]

    def next_state(self, b: Builder, state: ir.Value, count: Count) -> ir.Value:
        """The state after so many words."""
        how_many = counts.value(b, count)
        return b.call("NextState", words_u64.next_state, state, how_many)[0]

    def values(
        self,
        b: Builder,
        draw: DrawnNode,
        words: ir.Value,
        out: Out,
    ) -> Values:
        """The values that words make, of each output."""
        make = _OF_ONNX_RUNTIME[draw.operator.name]
        made = make(b, draw, words, out)
        if isinstance(made, tuple):
            return made
        return (made,)


def _bits(
    b: Builder,
    _: DrawnNode,
    words: ir.Value,
    out: Out,
) -> ir.Value:
    return out.shaped(b, words)


def _uniforms(
    b: Builder,
    draw: DrawnNode,
    words: ir.Value,
    out: Out,
) -> ir.Value:
    make = values.uniform if draw.type.is_float else values.integers
    minval = draw.number("minval")
    maxval = draw.number("maxval")
    drawn = make(b, words, minval, maxval, draw.type)
    return out.shaped(b, drawn)


def _normals(
    b: Builder,
    draw: DrawnNode,
    words: ir.Value,
    out: Out,
) -> ir.Value:
    mean = draw.number("mean")
    scale = draw.number("scale")
    drawn = values.normal(b, words, mean, scale, draw.type)
    return out.shaped(b, drawn, is_even=True)


def _exponentials(
    b: Builder,
    draw: DrawnNode,
    words: ir.Value,
    out: Out,
) -> ir.Value:
    scale = draw.number("scale")
    drawn = values.exponential(b, words, scale, draw.type)
    return out.shaped(b, drawn)


def _booleans(
    b: Builder,
    draw: DrawnNode,
    words: ir.Value,
    out: Out,
) -> ir.Value:
    u = values.unit(b, words, draw.type_of("p"))
    return _below(b, draw, u, out)


def _dropout(
    b: Builder,
    draw: DrawnNode,
    words: ir.Value,
    out: Out,
) -> Values:
    u = values.unit(b, words, draw.type_of("ratio"))
    return _kept(b, draw, u, out)


def _kept(
    b: Builder,
    draw: DrawnNode,
    u: ir.Value,
    out: Out,
    *,
    by_element: bool = False,
) -> Values:
    """What a dropout by uniforms keeps, and which; multiplied by a tensor, if not by one number."""
    dropped = _below(b, draw, u, out, "ratio")
    ratio = draw.number("ratio")
    factor = values.factor_of(b, ratio, draw.type)
    if by_element and not isinstance(factor, ir.Value):
        one = b.constant(1, factor.dtype)
        each = b.constant(factor, factor.dtype)
        factor = b("Where", dropped, one, each)
    data = draw.inputs["data"]
    kept = values.kept(b, data, dropped, factor, draw.type)
    return kept, b("Not", dropped)


def _classes(
    b: Builder,
    draw: DrawnNode,
    words: ir.Value,
    _: Out,
) -> ir.Value:
    samples = draw.attributes["sample_size"]
    logits = draw.inputs["logits"]
    if draw.draws_classes_once:
        classes = values.classes_once(b, words, logits, samples)
        if draw.type is I32:
            return b.cast(classes, ir.DataType.INT32)
        return classes
    indices = values.classes(b, words, logits, samples)
    if draw.type is I32:
        return indices
    return b.cast(indices, ir.DataType.INT64)


def _check_operator(
    op: operators.Operator,
    known: Collection[str],
    nodes: str,
    plugin: str,
) -> None:
    """Refuses an operator that has no nodes in a target, whatever its types and parameters."""
    if op.name not in known:
        given = f"{op.name}, which has no {nodes}"
        remedy = f"Load the plugin there ({plugin}), or draw it outside the model."
        allowed = f"one of {', '.join(known)}"
        raise InexactError(op.name, "the operator", given, allowed, remedy)


def has_no_nodes(operator: str) -> bool:
    """Whether an operator is refused by its name for every target."""
    return operator not in _OF_ONNX_RUNTIME


_OF_ONNX_RUNTIME: dict[str, Callable[[Builder, DrawnNode, ir.Value, Out], ir.Value | Values]] = {
    operators.RANDOM_GENERATOR.name: _bits,
    operators.RANDOM_UNIFORM.name: _uniforms,
    operators.RANDOM_NORMAL.name: _normals,
    operators.RANDOM_BERNOULLI.name: _booleans,
    operators.RANDOM_CATEGORICAL.name: _classes,
    operators.RANDOM_EXPONENTIAL.name: _exponentials,
    operators.RANDOM_DROPOUT.name: _dropout,
}
"""The values that words make there, by operator."""


_OF_OPENVINO = (
    operators.RANDOM_GENERATOR.name,
    operators.RANDOM_UNIFORM.name,
    operators.RANDOM_NORMAL.name,
    operators.RANDOM_BERNOULLI.name,
    operators.RANDOM_DROPOUT.name,
)


def _check_rows(draw: DrawnNode) -> None:
    """Refuses a draw of no rows, for which the plugin would end the process that compiles it."""
    state = draw.known.get("state")
    has_unknown_size = "shape" in draw.known and draw.constant("shape") is None
    if not has_unknown_size or state is None or state.value is not None:
        return
    if state.shape and state.shape[0] == 0:
        remedy = "Declare the number of rows by a name, such as 'batch': it may be 0 in a run."
        allowed = "[6], or rows of it"
        checks.refuse(draw.operator, "input 'state'", "[0, 6]", allowed, remedy)


# The least width that times 2^-23 is a normal number, so that only one product rounds.
_SMALLEST_WIDTH = 2.0**-100


class OpenVino:
    """OpenVINO's CPU plugin, with the precision hint f32; see `OnnxRuntime` for what each does."""

    name = "openvino"
    has_functions = False
    note = "made for OpenVINO: compile it with INFERENCE_PRECISION_HINT=f32"

    def state(self, b: Builder, words: NDArray[np.uint32]) -> ir.Value:
        # The plugin clamps uint32 constants.
        return b.constant(words.view(np.int32), np.int32)

    def check(self, draw: DrawnNode, *, is_inexact_allowed: bool) -> None:
        op = draw.operator
        nodes = "standard nodes that OpenVINO computes exactly"
        _check_operator(op, _OF_OPENVINO, nodes, "onnx_philox.openvino.register")
        _check_rows(draw)
        is_f32 = draw.type is F32
        is_rounded_f32 = is_f32 or is_inexact_allowed
        if op is operators.RANDOM_GENERATOR:
            return
        if op is operators.RANDOM_NORMAL:
            if is_f32 and is_inexact_allowed:
                return
            self._refuse(op, draw.type.name)
        if op is operators.RANDOM_BERNOULLI:
            if draw.type_of("p") is F32:
                return
            self._refuse(op, "f64 p")
        if op is operators.RANDOM_DROPOUT:
            if draw.type_of("ratio") is F32 and is_rounded_f32:
                return
            given = f"{draw.type.name} data"
            if is_f32:
                given = "f64 ratio"
            self._refuse(op, given)
        if is_f32 and is_inexact_allowed:
            return
        if draw.type not in (F32, I32):
            self._refuse(op, draw.type.name)
        low = draw.constant("minval")
        high = draw.constant("maxval")
        if low is None or high is None:
            given = f"{draw.type.name} with bounds that are no constants"
            self._refuse(op, given)
        is_from_0 = low.item() == 0 and high.item() >= _SMALLEST_WIDTH
        if is_f32 and not is_from_0:
            given = f"f32 from {low.item()!r} to {high.item()!r}"
            self._refuse(op, given)

    def _refuse(self, op: operators.Operator, given: str) -> NoReturn:
        raise InexactError(
            op.name,
            "what it draws",
            f"{given}, which standard nodes do not compute exactly in OpenVINO",
            "bits, i32 of constant bounds, f32 from 0 on, or booleans of f32 p or ratio",
            "Load the plugin there (onnx_philox.openvino.register), or draw it outside the model; "
            "inexact='allow' (--inexact) takes f32 uniforms and normals with rounding errors.",
        )

    def words(
        self,
        b: Builder,
        draw: DrawnNode,
        rows: StateRows,
        count: Count,
    ) -> ir.Value:
        seeds = self._seeds(draw)
        return words_limbs.words(b, rows.state, count, seeds)[0]

    def words_of_several(
        self,
        b: Builder,
        draws: Sequence[DrawnNode],
        rows: StateRows,
        word_counts: Sequence[int],
    ) -> Values:
        """The words of draws from the same states and with the same `global_seed`."""
        seeds = [self._seeds(draw) for draw in draws]
        return words_limbs.words_of_several(b, rows.state, word_counts, seeds)

    def _seeds(self, draw: DrawnNode) -> NDArray[np.int32]:
        attributes = draw.attributes
        seeds = PhiloxState.from_seeds(attributes["global_seed"], attributes["op_seed"])
        words = seeds.to_array()
        return words.view(np.int32)

    def next_state(self, b: Builder, state: ir.Value, count: Count) -> ir.Value:
        return words_limbs.next_state(b, state, count)[0]

    def values(
        self,
        b: Builder,
        draw: DrawnNode,
        words: ir.Value,
        out: Out,
    ) -> Values:
        if draw.operator is operators.RANDOM_DROPOUT:
            # By one number, the plugin multiplies and adds 0, which makes 0 of -0.
            u = words_limbs.unit(b, words)
            return _kept(b, draw, u, out, by_element=True)
        return (self._values(b, draw, words, out),)

    def _values(
        self,
        b: Builder,
        draw: DrawnNode,
        words: ir.Value,
        out: Out,
    ) -> ir.Value:
        if draw.operator is operators.RANDOM_GENERATOR:
            drawn = out.shaped(b, words)
            return b.cast(drawn, ir.DataType.UINT32)
        if draw.operator is operators.RANDOM_BERNOULLI:
            u = words_limbs.unit(b, words)
            return _below(b, draw, u, out)
        if draw.operator is operators.RANDOM_NORMAL:
            u = words_limbs.unit(b, words)
            standard = values.standard_normals(b, u, F32)[0]
            mean = draw.number("mean")
            scale = draw.number("scale")
            drawn = values.moved(b, standard, mean, scale)
            return out.shaped(b, drawn, is_even=True)
        if draw.type is F32:
            u = words_limbs.unit(b, words)
            minval = draw.number("minval")
            maxval = draw.number("maxval")
            drawn = values.scaled(b, u, minval, maxval)
            return out.shaped(b, drawn)
        low = draw.constant("minval")
        high = draw.constant("maxval")
        assert low is not None, "the check refuses others"
        assert high is not None, "likewise"
        minval = low.item()
        maxval = high.item()
        drawn = words_limbs.integers(b, words, minval, maxval)
        return out.shaped(b, drawn)


Target = OnnxRuntime | OpenVino
"""A runtime, and the nodes that draw in it."""
TARGETS: dict[str, Target] = {
    OnnxRuntime.name: OnnxRuntime(),
    OpenVino.name: OpenVino(),
}
"""Every target, by its name."""
