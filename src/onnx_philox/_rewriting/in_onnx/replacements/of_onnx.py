"""What each standard random node becomes.

One class for each. `read` takes in all that the node says and refuses what is not allowed, before
anything changes. `emit` makes the nodes in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract import checks, operators
from onnx_philox._contract.arguments import number_array, shape_array
from onnx_philox._contract.known import UNKNOWN, Known
from onnx_philox._contract.types import BF16, BY_ONNX, F32, F64, I32, I64, ElementType
from onnx_philox._models.constants import constant
from onnx_philox._models.emitter import Emitter
from onnx_philox._models.graphs import input_of, is_wanted
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import (
    DROPOUT,
    DropoutPlaces,
    input_at,
)
from onnx_philox._rewriting.in_onnx.random_nodes.site import Site, allowed_type, required_input
from onnx_philox._rewriting.in_onnx.types import Types

_BOOL, _FLOAT = ir.DataType.BOOL, ir.DataType.FLOAT
_CAST = "Cast to one of these."

Accepted = tuple[ElementType, ...]
"""The types of an input, or of the output of a node without one, at a version."""
EmitDraw = Callable[
    [operators.Operator, ir.DataType, dict[str, ir.Value], dict[str, int | str]], ir.Value
]
"""Emits the node of this package, by its operator, type, inputs and attributes; adds the state and
the seeds to these, and returns the values that are drawn."""


class Replacement(Protocol):
    """What replaces a random node, once the node has been read."""

    @property
    def operator(self) -> operators.Operator:
        """The operator of this package that draws in its place."""

    @property
    def dtype(self) -> ir.DataType:
        """The element type of the random node's output."""

    def emit(self, node: ir.Node, emitter: Emitter, draw: EmitDraw) -> list[ir.Value]:
        """Makes the nodes that replace `node`; returns the values that replace its outputs."""


class TypedReplacement:
    """A replacement whose values are of an element type of this package."""

    values: ElementType

    @property
    def dtype(self) -> ir.DataType:
        """See `Replacement`."""
        return ir.DataType(self.values.onnx)


@dataclass(frozen=True)
class FloatReplacement(TypedReplacement):
    """RandomUniform, RandomNormal and both Like: floats between or around two parameters."""

    operator: operators.Operator
    values: ElementType
    parameters: dict[str, NDArray[Any]]
    shape: NDArray[np.int64] | None
    """None where the input has the shape."""

    @classmethod
    def read(cls, site: Site, accepted: Accepted, types: Types) -> FloatReplacement:
        """One of the four."""
        attributes = site.node.attributes
        op, names = operators.RANDOM_UNIFORM, (("minval", "low", 0.0), ("maxval", "high", 1.0))
        if "Normal" in site.node.op_type:
            op, names = operators.RANDOM_NORMAL, (("mean", "mean", 0.0), ("scale", "scale", 1.0))
        is_like = site.node.op_type.endswith("Like")
        dtype = _dtype_or_input_type(site, types) if is_like else _dtype(site, _FLOAT)
        values = allowed_type(site, dtype, accepted, _CAST)
        # ONNX keeps these attributes as f32.
        parameters = {
            ours: number_array(op, ours, attributes.get_float(theirs, preset), values)
            for ours, theirs, preset in names
        }
        if is_like:
            _check_rank(site)
        shape = None if is_like else shape_array(op, attributes.get_ints("shape"))
        known = {name: Known.array(array) for name, array in parameters.items()}
        known["shape"] = UNKNOWN if shape is None else Known.array(shape)
        checks.check_node(op, {**known, "state": UNKNOWN}, {operators.OUTPUT_TYPE: values.name})
        return cls(op, values, parameters, shape)

    def emit(self, node: ir.Node, emitter: Emitter, draw: EmitDraw) -> list[ir.Value]:
        """See `Replacement`."""
        shape = self.emit_shape(node, emitter)
        inputs = {name: emitter.constant(name, array) for name, array in self.parameters.items()}
        attributes: dict[str, int | str] = {operators.OUTPUT_TYPE: self.values.name}
        return [draw(self.operator, self.dtype, {"shape": shape, **inputs}, attributes)]

    def emit_shape(self, node: ir.Node, emitter: Emitter) -> ir.Value:
        """The dimensions of the draw."""
        if self.shape is not None:
            return emitter.constant("shape", self.shape)
        return emitter.shape(input_of(node, 0))


@dataclass(frozen=True)
class BernoulliReplacement:
    """Bernoulli: the input holds the probabilities."""

    probabilities: ElementType
    dtype: ir.DataType
    operator: operators.Operator = operators.RANDOM_BERNOULLI
    keeps_double: bool = False
    """Whether probabilities of f64 are compared with uniforms of f64, not with those of f32."""

    @classmethod
    def read(cls, site: Site, accepted: Accepted, types: Types) -> BernoulliReplacement:
        """Bernoulli."""
        probabilities = _input_type(site, 0, accepted, types)
        _check_rank(site)
        dtype = _dtype_or_input_type(site, types)
        if not (dtype.is_floating_point() or dtype.is_integer() or dtype is _BOOL):
            remedy = "Choose one of these."
            site.refuse(
                "attribute 'dtype'", dtype.name, "a type of numbers, or BOOL", remedy, TypeError
            )
        return cls(probabilities, dtype)

    def emit(self, node: ir.Node, emitter: Emitter, draw: EmitDraw) -> list[ir.Value]:
        """See `Replacement`."""
        given = input_of(node, 0)
        keeps = self.keeps_double and self.probabilities is F64
        p = given if keeps else _as_f32(emitter, "p", given, self.probabilities)
        drawn = draw(self.operator, _BOOL, {"shape": emitter.shape(given), "p": p}, {})
        return [drawn if self.dtype is _BOOL else emitter.cast("number", drawn, self.dtype)]


@dataclass(frozen=True)
class MultinomialReplacement(TypedReplacement):
    """Multinomial: the input holds unnormalised log-probabilities."""

    logits: ElementType
    sample_size: int
    values: ElementType
    is_one_row: bool = False
    """Whether the input has no dimension of rows, as an older exporter writes it."""
    operator: operators.Operator = operators.RANDOM_CATEGORICAL

    @classmethod
    def read(cls, site: Site, accepted: Accepted, types: Types) -> MultinomialReplacement:
        """Multinomial."""
        dtype = _dtype(site, ir.DataType.INT32)
        values = BY_ONNX.get(dtype.value)
        if values not in (I32, I64):
            remedy = "Choose one of these."
            site.refuse("attribute 'dtype'", dtype.name, "INT32 or INT64", remedy, TypeError)
        sample_size = site.node.attributes.get_int("sample_size", 1)
        return cls.checked(site, accepted, types, sample_size, values)

    @classmethod
    def checked(
        cls, site: Site, accepted: Accepted, types: Types, sample_size: int, values: ElementType
    ) -> MultinomialReplacement:
        """Draws from the first input's logits."""
        shape = types.shape(required_input(site, 0))
        if shape is not None and len(shape) not in (1, 2):
            allowed, remedy = "[classes] or [rows, classes]", "Reshape it to two dimensions."
            what = f"the shape of input {input_of(site.node, 0).name!r}"
            site.refuse(what, f"{len(shape)} dimensions", allowed, remedy)
        is_one_row = shape is not None and len(shape) == 1
        read = cls(_input_type(site, 0, accepted, types), sample_size, values, is_one_row)
        known = {"logits": UNKNOWN, "state": UNKNOWN}
        checks.check_node(read.operator, known, read._attributes)
        return read

    @property
    def _attributes(self) -> dict[str, int | str]:
        return {"sample_size": self.sample_size, operators.OUTPUT_TYPE: self.values.name}

    def emit(self, node: ir.Node, emitter: Emitter, draw: EmitDraw) -> list[ir.Value]:
        """See `Replacement`."""
        given = input_of(node, 0)
        if self.is_one_row:
            one_row = emitter.constant("one_row", np.array([1, -1]))
            given = emitter.emit("Reshape", "row", [given, one_row], ir.DataType(self.logits.onnx))
        logits = _as_f32(emitter, "logits", given, self.logits)
        drawn = draw(self.operator, self.dtype, {"logits": logits}, self._attributes)
        if self.is_one_row:
            samples = emitter.constant("samples", np.array([-1]))
            drawn = emitter.emit("Reshape", "drawn", [drawn, samples], self.dtype)
        return [drawn]


@dataclass(frozen=True)
class DropoutReplacement(TypedReplacement):
    """Dropout that drops: from opset 12 on, in training mode; or a fused one, between additions.

    (At opsets 1 and 6 it drops outside of test mode, and has no replacement.) It becomes
    RandomDropout. Where a run decides whether it drops, it becomes RandomBernoulli and nodes that
    compute in the data's type, 1 / (1 - ratio) too, operation by operation. So does one of f64 data
    whose ratio takes more bits than f32 has: a draw takes a ratio of f32.
    """

    values: ElementType
    """The type of the data."""
    ratio: NDArray[Any] | ElementType
    """The array of a constant; else the type of the input that tells it in a run."""
    is_mode_known: bool
    """Whether it always drops; otherwise each run decides."""
    places: DropoutPlaces = DROPOUT
    keeps_double: bool = False
    """Whether RandomDropout takes a ratio of f64 as it is: see `Generator.rewriting`."""

    @property
    def operator(self) -> operators.Operator:
        """See `Replacement`."""
        is_rounded = self.values is F64 and self._is_ratio_wide and not self.keeps_double
        is_whole = self.is_mode_known and not is_rounded
        return operators.RANDOM_DROPOUT if is_whole else operators.RANDOM_BERNOULLI

    @property
    def _is_ratio_wide(self) -> bool:
        """Whether the ratio may have more bits than f32."""
        if isinstance(self.ratio, np.ndarray):
            return bool(self.ratio.item() != self.ratio.astype(np.float32).item())
        return self.ratio is F64

    @classmethod
    def read(
        cls, site: Site, accepted: Accepted, types: Types, places: DropoutPlaces = DROPOUT
    ) -> DropoutReplacement:
        """A dropout in training mode, of the first input."""
        data = _input_type(site, 0, accepted, types)
        _check_rank(site)
        given = input_at(site.node, places.ratio)
        ratio = np.array(0.5, np.float32) if given is None else constant(given)
        if ratio is not None and not (ratio.size == 1 and 0 <= ratio.item() <= 1):
            remedy = "Set it to the share of the elements to drop."
            site.refuse("the ratio", ratio.tolist(), "one number from 0 to 1", remedy)
        told = _input_type(site, places.ratio, accepted, types) if ratio is None else ratio
        mode = input_of(site.node, places.mode)
        return cls(data, told, constant(mode) is not None, places)

    def emit(self, node: ir.Node, emitter: Emitter, draw: EmitDraw) -> list[ir.Value]:
        """See `Replacement`."""
        bias, residual = (input_at(node, i) for i in (self.places.bias, self.places.residual))
        data = self._added(emitter, "biased", input_of(node, 0), bias)
        output, *mask = self._dropped(node, data, emitter, draw)
        return [self._added(emitter, "sum", output, residual), *mask]

    def _added(self, emitter: Emitter, what: str, to: ir.Value, value: ir.Value | None) -> ir.Value:
        if value is None:
            return to
        to, value = (self._widened(emitter, f"{what}_{i}", v) for i, v in enumerate((to, value)))
        return self._rounded(emitter, what, emitter.elementwise("Add", what, to, value, self._work))

    def _dropped(
        self, node: ir.Node, data: ir.Value, emitter: Emitter, draw: EmitDraw
    ) -> list[ir.Value]:
        """The output of a dropout of these data, and its mask if it is read."""
        ratio, mode = (input_at(node, i) for i in (self.places.ratio, self.places.mode))
        # Exporters name the mask even where nothing reads it.
        has_mask = len(node.outputs) > 1 and is_wanted(node.outputs[1])
        if self.operator is operators.RANDOM_DROPOUT:
            inputs = {"data": data, "ratio": self._p(ratio, emitter)}
            output = draw(operators.RANDOM_DROPOUT, self.dtype, inputs, {})
            return [output, emitter.mask_of(output, data.shape)] if has_mask else [output]
        p, scale = self._parameters(ratio, emitter)
        dropped = draw(self.operator, _BOOL, {"shape": emitter.shape(data), "p": p}, {})
        mode = None if self.is_mode_known else mode
        if mode is not None:
            # Where could choose a ratio of 0, but only logic stays exact where floats become bf16.
            dropped = emitter.elementwise("And", "dropped", dropped, mode, _BOOL)
        if has_mask:
            mask = emitter.emit("Not", "kept", [dropped], _BOOL, data.shape)
        data = self._widened(emitter, "data", data)
        scaled = emitter.elementwise("Mul", "scaled", data, scale, self._work)
        if mode is not None:
            choices = [mode, scaled, data]
            scaled = emitter.emit("Where", "trained", choices, self._work, data.shape)
        choices = [dropped, self._constant(emitter, "zero", 0), scaled]
        output = emitter.emit("Where", "output", choices, self._work, data.shape)
        output = self._rounded(emitter, "output", output)
        return [output, mask] if has_mask else [output]

    @property
    def _work(self) -> ir.DataType:
        """The type to compute in: ONNX Runtime computes nothing in bf16, and f32 is wide enough.

        The result of one operation in f32, rounded, is its result in bf16.
        """
        return _FLOAT if self.values is BF16 else self.dtype

    def _p(self, given: ir.Value | None, emitter: Emitter) -> ir.Value:
        """The probability of dropping, in f32 but for a double that is kept."""
        if isinstance(self.ratio, np.ndarray):
            keeps = self.keeps_double and self.ratio.dtype == np.float64
            dtype = np.float64 if keeps else np.float32
            return emitter.constant("p", self.ratio.reshape(()).astype(dtype))
        assert given is not None, "a ratio that is left out is a constant"
        if self.keeps_double and self.ratio is F64:
            return given
        return _as_f32(emitter, "p", given, self.ratio)

    def _parameters(self, given: ir.Value | None, emitter: Emitter) -> tuple[ir.Value, ir.Value]:
        """The probability of dropping, in f32, and the factor for what stays."""
        p = self._p(given, emitter)
        if isinstance(self.ratio, np.ndarray):
            ratio = self.ratio.reshape(())
            one, of_type = np.ones((), self.values.dtype), ratio.astype(self.values.dtype)
            with np.errstate(divide="ignore"):
                scale = np.divide(one, np.subtract(one, of_type))
            return p, self._constant(emitter, "scale", scale)
        assert given is not None, "likewise"
        if self.ratio is not self.values:
            given = p if self.values is F32 else emitter.cast("ratio", given, self.dtype)
        given = self._widened(emitter, "ratio", given)
        unit = self._constant(emitter, "one", 1)
        left = emitter.elementwise("Sub", "left", unit, given, self._work)
        left = self._widened(emitter, "left", self._rounded(emitter, "left", left))
        factor = emitter.elementwise("Div", "scale", unit, left, self._work)
        return p, self._widened(emitter, "scale", self._rounded(emitter, "scale", factor))

    def _rounded(self, emitter: Emitter, what: str, value: ir.Value) -> ir.Value:
        is_wider = self._work is not self.dtype
        return emitter.cast(f"{what}_rounded", value, self.dtype) if is_wider else value

    def _widened(self, emitter: Emitter, what: str, value: ir.Value) -> ir.Value:
        is_wider = self._work is not self.dtype
        return emitter.cast(f"{what}_widened", value, self._work) if is_wider else value

    def _constant(self, emitter: Emitter, what: str, number: Any) -> ir.Value:
        return emitter.constant(what, np.asarray(number).astype(self._work.numpy()))


REPLACEMENT_OF: dict[str, Callable[[Site, Accepted, Types], Replacement]] = {
    "RandomUniform": FloatReplacement.read,
    "RandomUniformLike": FloatReplacement.read,
    "RandomNormal": FloatReplacement.read,
    "RandomNormalLike": FloatReplacement.read,
    "Bernoulli": BernoulliReplacement.read,
    "Multinomial": MultinomialReplacement.read,
    "Dropout": DropoutReplacement.read,
}


def _check_rank(site: Site) -> None:
    """Refuses a first input of more dimensions than can be drawn, where the model declares them."""
    given = input_of(site.node, 0)
    if given.shape is not None:
        checks.check_rank(site.title, f"the shape of input {given.name!r}", len(given.shape))


def _dtype(site: Site, default: ir.DataType) -> ir.DataType:
    number = site.node.attributes.get_int("dtype", default.value)
    try:
        return ir.DataType(number)
    except ValueError:
        allowed = "the number of an element type of ONNX"
        site.refuse("attribute 'dtype'", number, allowed, "Leave it out for the default.")


def _dtype_or_input_type(site: Site, types: Types) -> ir.DataType:
    if "dtype" in site.node.attributes:
        return _dtype(site, _FLOAT)
    return _type(site, 0, types)


def _type(site: Site, index: int, types: Types) -> ir.DataType:
    """The element type of an input."""
    value = required_input(site, index)
    dtype = types(value)
    if dtype is None:
        remedy = "Declare its type in the graph's value_info."
        allowed = "one that is declared or can be inferred"
        site.refuse(
            f"the type of input {value.name!r}", "an unknown one", allowed, remedy, TypeError
        )
    return dtype


def _input_type(site: Site, index: int, accepted: Accepted, types: Types) -> ElementType:
    return allowed_type(site, _type(site, index, types), accepted, _CAST)


def _as_f32(emitter: Emitter, what: str, value: ir.Value, type: ElementType) -> ir.Value:
    return value if type is F32 else emitter.cast(what, value, _FLOAT)
