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
from onnx_philox._contract.arguments import shape_array
from onnx_philox._contract.known_input import UNKNOWN, Known
from onnx_philox._contract.types import BF16, BY_ONNX, F32, F64, I32, I64, ElementType
from onnx_philox._models.constants import constant
from onnx_philox._models.emitter import Emitter
from onnx_philox._models.onnx_graphs import input_of, is_wanted
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import (
    BIAS_DROPOUT,
    DROPOUT,
    DropoutPlaces,
    input_at,
)
from onnx_philox._rewriting.in_onnx.random_nodes.onnx_random_nodes import WITH_BF16
from onnx_philox._rewriting.in_onnx.random_nodes.site import Site, allowed_type, required_input
from onnx_philox._rewriting.in_onnx.replacements.checked_floats import check_floats, float_array

_BOOL = ir.DataType.BOOL
_FLOAT = ir.DataType.FLOAT
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
        is_like = site.node.op_type.endswith("Like")
        if is_like:
            dtype = _dtype_or_input_type(site, types)
        else:
            dtype = _dtype(site, _FLOAT)
        values = allowed_type(site, dtype, accepted, _CAST)

        if "Normal" in site.node.op_type:
            operator = operators.RANDOM_NORMAL
            numbers = {
                "mean": attributes.get_float("mean", 0.0),
                "scale": attributes.get_float("scale", 1.0),
            }
        else:
            operator = operators.RANDOM_UNIFORM
            numbers = {
                "minval": attributes.get_float("low", 0.0),
                "maxval": attributes.get_float("high", 1.0),
            }
        parameters = {}
        for name, number in numbers.items():
            # ONNX keeps these attributes as f32.
            parameters[name] = float_array(operator, name, number, values)

        shape = None
        if is_like:
            _check_rank(site)
        else:
            shape = shape_array(operator, attributes.get_ints("shape"))
        check_floats(operator, values, parameters, shape)
        return cls(operator, values, parameters, shape)

    def emit(self, node: ir.Node, emitter: Emitter, draw: EmitDraw) -> list[ir.Value]:
        """See `Replacement`."""
        inputs = {"shape": self.emit_shape(node, emitter)}
        for name, array in self.parameters.items():
            inputs[name] = emitter.constant_of_draw(name, array)
        attributes: dict[str, int | str] = {operators.OUTPUT_TYPE: self.values.name}
        values = draw(self.operator, self.dtype, inputs, attributes)
        return [values]

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
        is_number = dtype.is_floating_point() or dtype.is_integer()
        if not is_number and dtype is not _BOOL:
            remedy = "Choose one of these."
            site.refuse(
                "attribute 'dtype'", dtype.name, "a type of numbers, or BOOL", remedy, TypeError
            )
        return cls(probabilities, dtype)

    def emit(self, node: ir.Node, emitter: Emitter, draw: EmitDraw) -> list[ir.Value]:
        """See `Replacement`."""
        given = input_of(node, 0)
        p = given
        keeps = self.keeps_double and self.probabilities is F64
        if not keeps:
            p = _as_f32(emitter, "p", given, self.probabilities)
        shape = emitter.shape(given)
        inputs = {"shape": shape, "p": p}
        drawn = draw(self.operator, _BOOL, inputs, {})
        if self.dtype is not _BOOL:
            drawn = emitter.cast("number", drawn, self.dtype)
        return [drawn]


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
        given = required_input(site, 0)
        shape = types.shape(given)
        is_one_row = False
        if shape is not None:
            if len(shape) not in (1, 2):
                site.refuse(
                    f"the shape of input {given.name!r}",
                    f"{len(shape)} dimensions",
                    "[classes] or [rows, classes]",
                    "Reshape it to two dimensions.",
                )
            is_one_row = len(shape) == 1
        logits = _input_type(site, 0, accepted, types)
        read = cls(logits, sample_size, values, is_one_row)
        array = constant(given)
        of_rows = UNKNOWN
        if array is not None and array.ndim == 2:
            # What each runtime would refuse to load.
            of_rows = Known(None, array.shape, array)
        known = {"logits": of_rows, "state": UNKNOWN}
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
            dtype = ir.DataType(self.logits.onnx)
            given = emitter.emit("Reshape", "row", [given, one_row], dtype)
        logits = _as_f32(emitter, "logits", given, self.logits)
        inputs = {"logits": logits}
        drawn = draw(self.operator, self.dtype, inputs, self._attributes)
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
        if self.is_mode_known and not is_rounded:
            return operators.RANDOM_DROPOUT
        return operators.RANDOM_BERNOULLI

    @property
    def _is_ratio_wide(self) -> bool:
        """Whether the ratio may have more bits than f32."""
        if isinstance(self.ratio, np.ndarray):
            as_f32 = self.ratio.astype(np.float32)
            return bool(self.ratio.item() != as_f32.item())
        return self.ratio is F64

    @classmethod
    def read(
        cls, site: Site, accepted: Accepted, types: Types, places: DropoutPlaces = DROPOUT
    ) -> DropoutReplacement:
        """A dropout in training mode, of the first input."""
        data = _input_type(site, 0, accepted, types)
        _check_rank(site)
        given = input_at(site.node, places.ratio)
        known: NDArray[Any] | None = np.array(0.5, np.float32)
        if given is not None:
            known = constant(given)
        ratio: NDArray[Any] | ElementType
        if known is None:
            ratio = _input_type(site, places.ratio, accepted, types)
        else:
            ratio = known
            is_share = ratio.size == 1 and 0 <= ratio.item() <= 1
            if not is_share:
                remedy = "Set it to the share of the elements to drop."
                site.refuse("the ratio", ratio.tolist(), "one number from 0 to 1", remedy)
        mode = input_of(site.node, places.mode)
        is_mode_known = constant(mode) is not None
        return cls(data, ratio, is_mode_known, places)

    def emit(self, node: ir.Node, emitter: Emitter, draw: EmitDraw) -> list[ir.Value]:
        """See `Replacement`."""
        bias = input_at(node, self.places.bias)
        residual = input_at(node, self.places.residual)
        data = input_of(node, 0)
        if bias is not None:
            data = self._sum(emitter, "biased", data, bias)
        output, *mask = self._dropped(node, data, emitter, draw)
        if residual is not None:
            output = self._sum(emitter, "sum", output, residual)
        return [output, *mask]

    def _sum(
        self,
        emitter: Emitter,
        what: str,
        left: ir.Value,
        right: ir.Value,
    ) -> ir.Value:
        left = self._widened(emitter, f"{what}_0", left)
        right = self._widened(emitter, f"{what}_1", right)
        added = emitter.elementwise("Add", what, left, right, self._work)
        return self._rounded(emitter, what, added)

    def _dropped(
        self, node: ir.Node, data: ir.Value, emitter: Emitter, draw: EmitDraw
    ) -> list[ir.Value]:
        """The output of a dropout of these data, and its mask if it is read."""
        ratio = input_at(node, self.places.ratio)
        # Exporters name the mask even where nothing reads it.
        has_mask = len(node.outputs) > 1 and is_wanted(node.outputs[1])
        if self.operator is operators.RANDOM_DROPOUT:
            inputs = {"data": data, "ratio": self._p(ratio, emitter)}
            output = draw(operators.RANDOM_DROPOUT, self.dtype, inputs, {})
            if has_mask:
                mask = emitter.mask_of(output, data.shape)
                return [output, mask]
            return [output]
        p, scale = self._parameters(ratio, emitter)
        shape = emitter.shape(data)
        inputs = {"shape": shape, "p": p}
        dropped = draw(self.operator, _BOOL, inputs, {})
        mode = None if self.is_mode_known else input_at(node, self.places.mode)
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
        zero = self._constant(emitter, "zero", 0)
        choices = [dropped, zero, scaled]
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
            p = self.ratio.reshape(())
            return emitter.constant("p", p.astype(dtype))
        assert given is not None, "a ratio that is left out is a constant"
        if self.keeps_double and self.ratio is F64:
            return given
        return _as_f32(emitter, "p", given, self.ratio)

    def _parameters(self, given: ir.Value | None, emitter: Emitter) -> tuple[ir.Value, ir.Value]:
        """The probability of dropping, in f32, and the factor for what stays."""
        p = self._p(given, emitter)
        if isinstance(self.ratio, np.ndarray):
            dtype = self.values.dtype
            one = np.ones((), dtype)
            ratio = self.ratio.reshape(()).astype(dtype)
            left = np.subtract(one, ratio)
            with np.errstate(divide="ignore"):
                scale = np.divide(one, left)
            return p, self._constant(emitter, "scale", scale)
        assert given is not None, "likewise"
        if self.ratio is not self.values:
            if self.values is F32:
                given = p
            else:
                given = emitter.cast("ratio", given, self.dtype)
        given = self._widened(emitter, "ratio", given)
        unit = self._constant(emitter, "one", 1)
        left = emitter.elementwise("Sub", "left", unit, given, self._work)
        left = self._rounded(emitter, "left", left)
        left = self._widened(emitter, "left", left)
        factor = emitter.elementwise("Div", "scale", unit, left, self._work)
        factor = self._rounded(emitter, "scale", factor)
        return p, self._widened(emitter, "scale", factor)

    def _rounded(self, emitter: Emitter, what: str, value: ir.Value) -> ir.Value:
        if self._work is self.dtype:
            return value
        return emitter.cast(f"{what}_rounded", value, self.dtype)

    def _widened(self, emitter: Emitter, what: str, value: ir.Value) -> ir.Value:
        if self._work is self.dtype:
            return value
        return emitter.cast(f"{what}_widened", value, self._work)

    def _constant(self, emitter: Emitter, what: str, number: Any) -> ir.Value:
        array = np.asarray(number)
        array = array.astype(self._work.numpy())
        return emitter.constant(what, array)


def read_bias_dropout(site: Site, types: Types) -> DropoutReplacement:
    """BiasDropout of ONNX Runtime, in training mode: Dropout(data + bias) + residual."""
    return DropoutReplacement.read(site, WITH_BF16, types, BIAS_DROPOUT)


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
        what = f"the shape of input {given.name!r}"
        checks.check_rank(site.title, what, len(given.shape))


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
        what = f"the type of input {value.name!r}"
        site.refuse(what, "an unknown one", allowed, remedy, TypeError)
    return dtype


def _input_type(site: Site, index: int, accepted: Accepted, types: Types) -> ElementType:
    dtype = _type(site, index, types)
    return allowed_type(site, dtype, accepted, _CAST)


def _as_f32(emitter: Emitter, what: str, value: ir.Value, type: ElementType) -> ir.Value:
    if type is F32:
        return value
    return emitter.cast(what, value, _FLOAT)
