"""What front ends write of several nodes, and this package draws by one.

A normal number is `Sqrt(Log(u) * -2) * Cos(v * 2 pi)` of two uniforms, a boolean a comparison of
one with a probability, and an integer one that is scaled, rounded down and converted. Nothing else
may read what lies in between, and constants must be what front ends write. Anything else stays, and
its uniforms are drawn as such.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset8

from onnx_philox import openvino as factories
from onnx_philox._contract.operators import (
    RANDOM_BERNOULLI,
    RANDOM_GENERATOR,
    RANDOM_NORMAL,
    RANDOM_UNIFORM,
)
from onnx_philox._contract.types import F32, F64, I32, ElementType
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.openvino_graphs import constant, dimensions, number, only_reader
from onnx_philox._rewriting import comparisons
from onnx_philox._rewriting.in_openvino.replacements import EmitDraw, NewDraw, UniformNode

# How far the constants of f16 and bf16 are from what they mean, as a share of it.
_NEAR = 2e-3
# The lower bound of u keeps its logarithm finite. It is 0 in f16.
_TINY = 1e-7
# What OpenVINO calls the operators of ONNX.
_ONNX_NAMES = {
    "Divide": "Div",
    "GreaterEqual": "GreaterOrEqual",
    "LessEqual": "LessOrEqual",
    "Multiply": "Mul",
    "Subtract": "Sub",
}
# The operators that keep the numbers of their first input from 0 to 1: they move them.
_KEEPS_PROBABILITIES = {
    "Broadcast",
    "Gather",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "StridedSlice",
    "Tile",
    "Transpose",
    "Unsqueeze",
    "VariadicSplit",
}


def normals(uniforms: Iterable[UniformNode]) -> dict[str, NewDraw]:
    """The normal numbers among uniforms, by `get_name` of both nodes of each."""
    by_name = {uniform.site.node.get_name(): uniform for uniform in uniforms}
    found: dict[str, NewDraw] = {}
    for name, uniform in by_name.items():
        draw = None
        if name not in found:
            draw = _normal(uniform, by_name)
        if draw is None or draw.covered & found.keys():
            continue
        for covered in draw.covered:
            found[covered] = draw
    return found


def _normal(u: UniformNode, by_name: Mapping[str, UniformNode]) -> NewDraw | None:
    """The normal number whose radius comes from `u`; None where there is none."""
    drawn = u.site.node.output(0)
    # convert_model makes one of the two uniforms of a normal of ONNX, which then is none.
    is_merged = len(drawn.get_target_inputs()) == 2
    if is_merged:
        logarithm = _logarithm(drawn)
    else:
        logarithm = _after(drawn, "Log")
    radius = _after(_scaled(logarithm, -2), "Sqrt")
    reader = None if radius is None else only_reader(radius)
    if reader is None or reader[0].get_type_name() != "Multiply":
        return None
    node, index = reader
    wave = node.input_value(1 - index)
    kind = wave.get_node().get_type_name()
    if kind not in ("Cos", "Sin") or only_reader(wave) is None:
        return None
    factored = _factored(wave.get_node().input_value(0))
    if factored is None:
        return None
    angle, turn = factored
    v = by_name.get(angle.get_node().get_name())
    if v is None or not _are_alike(u, v):
        return None
    if (v is u) != is_merged:
        return None
    if not is_merged and only_reader(angle) is None:
        return None
    low, high = u.bounds
    start = v.bounds[0]
    end = v.bounds[1]
    if low is None or high is None or start is None or end is None:
        return None
    is_radius = 0 <= low.item() <= _TINY and high.item() == 1
    circle = end.item() * turn
    is_circle = math.isclose(circle, 2 * math.pi, rel_tol=_NEAR)
    begins_at_0 = 0 <= start.item() <= _TINY
    if not (is_radius and is_circle and begins_at_0):
        return None
    output, mean, scale = _moved(node.output(0))
    values = u.values.name
    shape = u.shape

    def make(emit: EmitDraw) -> ov.Output:
        drawn = emit(factories.random_normal, shape, mean, scale, values)
        return drawn.output(0)

    nodes = (u.site.node, v.site.node)
    return NewDraw(u.site, RANDOM_NORMAL, values, output, make, nodes)


def _factored(angle: ov.Output) -> tuple[ov.Output, float] | None:
    """What is multiplied by a constant, and that; None of a product that is no such one."""
    node = angle.get_node()
    if node.get_type_name() != "Multiply":
        return angle, 1.0
    if only_reader(angle) is None:
        return None
    left, right = node.input_values()
    for factor, other in ((left, right), (right, left)):
        known = number(factor)
        if known is not None:
            if not _fits(factor, other):
                return None
            return other, known
    return None


def _logarithm(output: ov.Output) -> ov.Output | None:
    """The logarithm, if one of several readers takes it."""
    readers = [reader.get_node() for reader in output.get_target_inputs()]
    logarithms = [node.output(0) for node in readers if node.get_type_name() == "Log"]
    if len(logarithms) != 1:
        return None
    return logarithms[0]


def _moved(output: ov.Output) -> tuple[ov.Output, float, float]:
    """What a normal number becomes by the scale and the mean that front ends write after it."""
    scaled = _with_number(output, "Multiply")
    if scaled is None:
        return output, 0.0, 1.0
    of_scale, scale = scaled
    moved = _with_number(of_scale, "Add")
    if moved is None:
        return output, 0.0, 1.0
    of_mean, mean = moved
    return of_mean, mean, scale


def _after(output: ov.Output | None, kind: str) -> ov.Output | None:
    """What the only reader of an output gives, if it is of this kind."""
    reader = None if output is None else only_reader(output)
    if reader is None or reader[0].get_type_name() != kind:
        return None
    return reader[0].output(0)


def _scaled(output: ov.Output | None, by: float) -> ov.Output | None:
    if output is None:
        return None
    found = _with_number(output, "Multiply")
    if found is None or found[1] != by:
        return None
    return found[0]


def _with_number(output: ov.Output, kind: str) -> tuple[ov.Output, float] | None:
    """What the only reader makes of an output and one number; None for any other reader."""
    reader = only_reader(output)
    if reader is None or reader[0].get_type_name() != kind:
        return None
    node, index = reader
    other = node.input_value(1 - index)
    known = number(other)
    if known is None or not _fits(other, output):
        return None
    return node.output(0), known


def _fits(given: ov.Output, output: ov.Output) -> bool:
    """Whether a constant adds no dimension to an output."""
    shape = dimensions(given)
    drawn = dimensions(output)
    rank = 0 if drawn is None else len(drawn)
    return shape is not None and len(shape) <= rank


def _are_alike(u: UniformNode, v: UniformNode) -> bool:
    """Whether two draws have one type and surely one shape."""
    return u.values is v.values and _is_shape(u.shape, v.shape, v.dimensions)


def _is_shape(
    given: ov.Output,
    other: ov.Output,
    known: tuple[int | None, ...] | None,
) -> bool:
    """Whether a shape is another one, of what has these dimensions."""
    if given == other:
        return True
    first = constant(given)
    if first is not None:
        return tuple(first) == known
    source = _shape_source(given)
    return source is not None and source == _shape_source(other)


def _shape_source(shape: ov.Output) -> ov.Output | None:
    """What a shape is the shape of; None where that does not show."""
    node = shape.get_node()
    while node.get_type_name() == "Convert":
        node = node.input_value(0).get_node()
    if node.get_type_name() != "ShapeOf":
        return None
    return node.input_value(0)


def comparison(uniform: UniformNode) -> NewDraw | None:
    """The boolean that a comparison makes of a uniform number; None if there is none."""
    site = uniform.site
    values = uniform.values
    reader = only_reader(site.node.output(0))
    if reader is None or not uniform.is_unit:
        return None
    node, index = reader
    kind = node.get_type_name()
    form = _ONNX_NAMES.get(kind, kind), index
    if form not in comparisons.COMPARISONS and form not in comparisons.CLOSED_COMPARISONS:
        return None
    p = node.input_value(1 - index)
    array = constant(p)
    is_less = comparisons.COMPARISONS.get(form)
    if is_less is None and array is not None and form in comparisons.CLOSED_COMPARISONS:
        is_less = comparisons.CLOSED_COMPARISONS[form]
        array = comparisons.just_above(array, values)
    if is_less is None:
        return None
    thresholds = None
    if array is None:
        is_inner = bool(site.owners)
        if values is not F32 or not _is_own(uniform, p):
            return None
        if not _gives_probabilities(p, is_inner):
            return None
    elif not _is_within(array, uniform):
        return None
    elif (one := _as_drawn(array, uniform)) is not None and comparisons.are_probabilities(one):
        array = one
    elif values in comparisons.BITS:
        thresholds = comparisons.thresholds_of(array, values, is_negated=not is_less)
    else:
        return None

    def make(emit: EmitDraw) -> ov.Output:
        if thresholds is not None:
            steps = 1 << comparisons.BITS[values]
            whole = np.array(steps, np.int32)
            zero = np.zeros_like(whole)
            drawn = emit(factories.random_uniform, uniform.shape, zero, whole, "i32")
            limit = opset8.constant(thresholds)
            is_below = opset8.less(drawn.output(0), limit)
        else:
            given: Any = array
            if array is None:
                given = _clamped(p, is_negated=not is_less)
            is_below = emit(factories.random_bernoulli, uniform.shape, given)
        if not is_less:
            is_below = opset8.logical_not(is_below.output(0))
        return is_below.output(0)

    operator = RANDOM_BERNOULLI if thresholds is None else RANDOM_UNIFORM
    return NewDraw(site, operator, "bool", node.output(0), make)


def integers(uniform: UniformNode) -> NewDraw | None:
    """The integer that scaling, rounding down and a Convert make of a uniform number."""
    low = uniform.bounds[0]
    high = uniform.bounds[1]
    if low is None or high is None or uniform.values not in (F32, F64):
        return None
    lowest_float = Fraction(float(low))
    width = Fraction(float(high)) - lowest_float
    scaled = comparisons.Scaled(width, lowest_float)
    value = uniform.site.node.output(0)
    while True:
        reader = only_reader(value)
        if reader is None:
            # Without a Convert it stays a float.
            return None
        node, index = reader
        kind = node.get_type_name()
        value = node.output(0)
        if kind == "Convert":
            break
        known = None
        if node.get_input_size() == 2:
            other = node.input_value(1 - index)
            known = number(other) if _fits(other, value) else None
        step = None
        is_second = kind in ("Subtract", "Divide") and index == 1
        if not is_second:
            exact = None if known is None else Fraction(known)
            step = scaled.then(_ONNX_NAMES.get(kind, kind), exact)
        if step is None:
            return None
        scaled = step
    type_ = arrays.element_type(value.get_element_type())
    found = None
    if isinstance(type_, ElementType):
        found = scaled.integers(type_.dtype)
    if found is None:
        return None
    lowest, count = found
    output_type = arrays.name(value.get_element_type())
    if count == comparisons.WORDS:
        return _words(uniform, value)

    def make(emit: EmitDraw) -> ov.Output:
        # Always i32, as of an ONNX file; further down where that has no such bound.
        down = 0
        if lowest + count == comparisons.MOST_OF_I32:
            down = comparisons.FURTHER_DOWN
        minval = np.array(lowest - down, np.int32)
        maxval = np.array(lowest - down + count, np.int32)
        drawn = emit(factories.random_uniform, uniform.shape, minval, maxval, "i32")
        if down:
            back = opset8.constant(np.array(down, np.int32))
            drawn = opset8.add(drawn.output(0), back)
        if type_ is not I32:
            drawn = opset8.convert(drawn.output(0), value.get_element_type())
        return drawn.output(0)

    return NewDraw(uniform.site, RANDOM_UNIFORM, output_type, value, make)


def _words(uniform: UniformNode, value: ov.Output) -> NewDraw | None:
    """The words of the generator, of uint32 or int32; None for integers of 64 bits.

    OpenVINO's plugin computes these in 32.
    """
    kind = value.get_element_type()
    if kind not in (ov.Type.u32, ov.Type.i32):
        return None

    def make(emit: EmitDraw) -> ov.Output:
        bits = emit(factories.random_generator, shape=uniform.shape).output(0)
        if kind == ov.Type.u32:
            return bits
        return opset8.convert(bits, kind).output(0)

    return NewDraw(uniform.site, RANDOM_GENERATOR, arrays.name(kind), value, make)


def _is_within(array: NDArray[Any], uniform: UniformNode) -> bool:
    """Whether a comparison with an array surely keeps the shape of the draw."""
    drawn = uniform.dimensions
    if drawn is None or array.ndim > len(drawn):
        return False
    last = drawn[len(drawn) - array.ndim :]
    return all(d in (1, e) for d, e in zip(array.shape, last, strict=True))


def _as_drawn(array: NDArray[Any], uniform: UniformNode) -> NDArray[Any] | None:
    """Constant probabilities as RandomBernoulli takes them; None where it does not."""
    if uniform.values not in (F32, F64):
        return None
    if array.size == 1:
        return array.reshape(())
    if array.shape != uniform.dimensions:
        return None
    return array


def _is_own(uniform: UniformNode, p: ov.Output) -> bool:
    """Whether computed probabilities are one number, or of the very shape of the draw."""
    shape = dimensions(p)
    if shape is None:
        return False
    drawn = uniform.dimensions
    if drawn is not None and len(shape) <= len(drawn) and shape in ((), (1,)):
        return True
    if None not in shape and shape == drawn:
        return True
    return bool(_shape_source(uniform.shape) == p)


def _gives_probabilities(value: ov.Output, is_inner: bool) -> bool:
    """Whether the model shows that a computed value lies from 0 to 1, unless it is NaN.

    An input of the model counts too: any number can be clamped exactly.
    """
    while True:
        node = value.get_node()
        kind = node.get_type_name()
        if kind == "Parameter":
            return not is_inner
        if kind in comparisons.GIVES_PROBABILITIES or _clamps_to_probabilities(node):
            return True
        if kind not in _KEEPS_PROBABILITIES:
            return False
        value = node.input_value(0)


def _clamps_to_probabilities(node: ov.Node) -> bool:
    if node.get_type_name() != "Clamp":
        return False
    limits = node.get_attributes()
    low = float(limits["min"])
    high = float(limits["max"])
    return low >= 0 and high <= 1


def _clamped(threshold: ov.Output, *, is_negated: bool) -> ov.Output:
    """The probability that a uniform number is below any threshold.

    A comparison with NaN is never true, so where it is negated NaN must count as 1. Our node knows
    these very nodes, reads what is before them, and clamps exactly.
    """
    zero = opset8.constant(np.float32(0)).output(0)
    one = opset8.constant(np.float32(1)).output(0)
    if is_negated:
        is_within = opset8.less(threshold, one)
        otherwise = one
        within = opset8.maximum(threshold, zero)
    else:
        is_within = opset8.less(zero, threshold)
        otherwise = zero
        within = opset8.minimum(threshold, one)
    return opset8.select(is_within, within, otherwise).output(0)
