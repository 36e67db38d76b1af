"""Turns the random nodes of a model into layers that OpenVINO's GPU plugin computes exactly.

What it would not compute exactly is refused: types that its kernels do not have, parameters that
are not constants (the plugin may compute them in f16), and floats so small that a GPU may take them
for 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as ops

from onnx_philox._contract import operators
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.types import F16, F32, I32, U32, ElementType
from onnx_philox._experimental.openvino_gpu.gpu_layers import DrawLayer, PhiloxNext, draw
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.openvino_graphs import is_ours, walk
from onnx_philox._openvino_models.upstream import Upstream

NAME = "openvino.compile_model"

Number = np.number[Any]
Parameters = Mapping[str, Number]
Pair = tuple[int, int]

_SMALLEST = 2.0**-60
"""Below it, what is computed with a float may be subnormal, which a GPU may take for 0."""
_UNDERSTOOD = ("global_seed", "op_seed", operators.OUTPUT_TYPE)
"""Attributes that the layers take; the others must have their defaults."""
_UNIFORMS_F32 = 2**23
_BROADCAST_RANK = 6
"""The plugin's Broadcast has no tensors of more dimensions."""
_REMEDY = "Compile the model for HETERO:GPU,CPU, which draws on the CPU."


_Rule = tuple[type[DrawLayer], Callable[[Parameters], Pair]]
"""The layer of a draw of one type, and its two parameters by those of the operator."""


def _bits_of(number: Any) -> int:
    bits = np.float32(number).view(np.int32)
    return int(bits)


def _bounds(given: Parameters) -> Pair:
    minval = given["minval"]
    maxval = given["maxval"]
    return _bits_of(minval), _bits_of(maxval - minval)


def _integers(given: Parameters) -> Pair:
    minval = int(given["minval"])
    maxval = int(given["maxval"])
    width = maxval - minval
    bits = np.array(width, np.uint32).view(np.int32)
    return minval, int(bits)


def _threshold(p: Number) -> Pair:
    """How many of the uniforms are below p: in f64, which holds the product."""
    product = float(p) * _UNIFORMS_F32
    below = math.ceil(product)
    return min(below, _UNIFORMS_F32), 0


def _nothing(_given: Parameters) -> Pair:
    return 0, 0


def _mean_and_scale(given: Parameters) -> Pair:
    mean = _bits_of(given["mean"])
    scale = _bits_of(given["scale"])
    return mean, scale


def _p(given: Parameters) -> Pair:
    return _threshold(given["p"])


def _ratio(given: Parameters) -> Pair:
    return _threshold(given["ratio"])


_BITS = draw("PhiloxBits", ov.Type.i32)
_UNIFORM_I32 = draw("PhiloxUniformI32", ov.Type.i32)
_UNIFORM_F16 = draw("PhiloxUniformF16", ov.Type.f16)
_UNIFORM_F32 = draw("PhiloxUniformF32", ov.Type.f32)
_NORMAL_F32 = draw("PhiloxNormalF32", ov.Type.f32)
_BERNOULLI = draw("PhiloxBernoulli", ov.Type.boolean)
"""The first parameter is how many of the 2^23 uniforms are below p."""
_RULES: dict[tuple[str, str], _Rule] = {
    ("RandomGenerator", U32.name): (_BITS, _nothing),
    ("RandomUniform", I32.name): (_UNIFORM_I32, _integers),
    ("RandomUniform", F16.name): (_UNIFORM_F16, _bounds),
    ("RandomUniform", F32.name): (_UNIFORM_F32, _bounds),
    ("RandomNormal", F32.name): (_NORMAL_F32, _mean_and_scale),
    ("RandomBernoulli", F32.name): (_BERNOULLI, _p),
    ("RandomDropout", F32.name): (_BERNOULLI, _ratio),
}
"""By the operator, and by the type that decides how many words an element takes."""


def lowered(model: ov.Model, device: str) -> ov.Model:
    """A copy of a model, whose random nodes are layers.

    Raises:
        ValueError: It has a random node that this device would not draw exactly.
    """
    copy = model.clone()
    upstream = Upstream()
    for node, owners in walk(copy):
        if not is_ours(node):
            continue
        if owners:
            owner = owners[0].node.get_type_name()
            given = f"{node.get_type_name()} in the body of a {owner}, on {device}"
            allowed = "one of the main graph on this device"
            refuse(NAME, _named(node), given, allowed, _REMEDY)
        lowering = _Lowering(node, device, upstream)
        lowering.replace()
    copy.validate_nodes_and_infer_types()
    return copy


def _named(node: ov.Node) -> str:
    return f"the node {node.get_friendly_name()!r}"


def _constant(values: Any, type_: Any) -> ov.Output:
    array = np.array(values, type_)
    return ops.constant(array).output(0)


def _reshaped(source: ov.Output, shape: ov.Output) -> ov.Output:
    reshaped = ops.reshape(source, shape, special_zero=False)
    return reshaped.output(0)


def _replace(output: ov.Output, new: ov.Output) -> None:
    """Gives an output's readers another one; what computes with a float takes it by a Convert.

    At the precision f16, which is a GPU's default, the plugin computes all in f16, and leaves a
    layer's type as it is: two types would meet. It turns a Convert to f32 into one to f16.
    """
    computing = []
    for reader in output.get_target_inputs():
        if reader.get_node().get_type_name() != "Result":
            computing.append(reader)
    type_ = new.get_element_type()
    if type_.is_real() and computing:
        converted = ops.convert(new, type_).output(0)
        for reader in computing:
            reader.replace_source_output(converted)
    output.replace(new)


class _Lowering:
    """One node on its way to layers."""

    def __init__(self, node: ov.Node, device: str, upstream: Upstream) -> None:
        self.node = node
        self.device = device
        self.upstream = upstream
        self.operator = operators.OPERATORS[node.get_type_name()]
        self.attributes = node.get_attributes()
        # The state, which may be left out, is the last one.
        names = (declared.name for declared in self.operator.inputs)
        self.inputs = dict(zip(names, node.input_values(), strict=False))
        self.state = self.inputs.get("state")

    def replace(self) -> None:
        """Puts layers in the place of the node."""
        kind, pair = self._rule()
        parameters = pair(self._parameters())
        numbers = self._seeds() + list(parameters)
        states = self._states()
        shape, known = self._shape()
        elements = None if known is None else math.prod(known)
        if known is not None and self._words() is None:
            # A kernel could not see that there are as many states as rows.
            given = f"of {list(known)} with any number of states"
            self._refuse(given, "with a state of a known shape")
        if elements and self._is_constant():
            # The plugin would compute the layer when it compiles the model, and gives zeros.
            allowed = "with a state or a shape that depends on an input"
            self._refuse("with a constant state and shape", allowed)
        if elements is not None and elements >= 2**31:
            self._refuse(f"of {elements} elements", "fewer than 2^31 elements", of="")
        if elements == 0:
            nothing = np.empty(known or ())
            drawn = _constant(nothing, kind.TYPE.to_dtype())
            after = states
        else:
            if elements is None:
                like = self._like(shape)
            else:
                like = _constant([0], np.int32)
            numbers_input = _constant(numbers, np.int32)
            layer = kind([states, numbers_input, like], elements)
            layer.set_friendly_name(f"{self.node.get_friendly_name()}/draw")
            drawn = _reshaped(layer.output(0), shape)
            move = PhiloxNext([states, layer.output(0)], self._words())
            after = move.output(0)
        values = self._values(drawn)
        outputs = [*values, self._next(after)]
        for output, new in zip(self.node.outputs(), outputs, strict=True):
            if output.get_target_inputs():
                name = f"{self.node.get_friendly_name()}/{output.index}"
                new.get_node().set_friendly_name(name)
                _replace(output, new)

    def _rule(self) -> _Rule:
        name = self.operator.name
        deciding = self._type()
        rule = _RULES.get((name, deciding))
        if rule is None:
            types = [type_ for operator, type_ in _RULES if operator == name]
            if types:
                self._refuse(f"of {deciding}", f"of {' or '.join(types)}")
            known = {operator for operator, _ in _RULES}
            *others, last = sorted(known)
            allowed = f"{', '.join(others)} or {last}"
            self._refuse(f"of {deciding}", allowed, of="")
        for other in self.operator.attributes:
            if other.name in _UNDERSTOOD:
                continue
            given = self.attributes.get(other.name, other.default)
            if given not in ("", other.default):
                allowed = f"with {other.name} {other.default!r}"
                given = f"with {other.name} {given!r}"
                self._refuse(given, allowed)
        return rule

    def _type(self) -> str:
        """The type that decides how many words an element takes."""
        name = self.operator.words.by
        if name in self.inputs:
            source = self.inputs[name]
            return arrays.name(source.get_element_type())
        fixed = self.operator.outputs[0].type
        if fixed is not None:
            return fixed.name
        return str(self.attributes[name])

    def _refuse(self, given: str, allowed: str, of: str | None = None) -> NoReturn:
        """Refuses what is given of the operator; allowed is what there is of the same one."""
        name = self.operator.name
        subject = name if of is None else of
        allowed = f"{subject} {allowed}".lstrip()
        refuse(
            NAME,
            _named(self.node),
            f"{name} {given} on {self.device}",
            f"{allowed} there",
            _REMEDY,
        )

    def _parameters(self) -> Parameters:
        found = {}
        for declared in self.operator.inputs:
            if not declared.role.is_parameter or declared.role is operators.Role.DATA:
                continue
            source = self.inputs[declared.name].get_node()
            value = self.upstream.value_of(source)
            if value is None:
                given = f"with a computed {declared.name}"
                self._refuse(given, f"with one constant {declared.name}")
            if value.size != 1:
                given = f"with {value.size} numbers as its {declared.name}"
                self._refuse(given, f"with one constant {declared.name}")
            found[declared.name] = value.reshape(-1)[0]
        for name, number in self._sizes(found).items():
            if 0 < abs(float(number)) < _SMALLEST:
                given = f"with {name} {float(number):.3g}"
                self._refuse(given, "with 0 or at least 2^-60")
        return found

    def _sizes(self, found: Parameters) -> Parameters:
        """The floats that the device computes with."""
        if self._type() not in (F16.name, F32.name):
            return {}
        if "p" in found or "ratio" in found:
            return {}
        if "minval" in found:
            width = found["maxval"] - found["minval"]
            return {"minval": found["minval"], "a width of": width}
        return found

    def _seeds(self) -> list[int]:
        seeds = [self.attributes["global_seed"], self.attributes["op_seed"]]
        numbers = np.array([int(seed) for seed in seeds], np.uint64)
        words: list[int] = numbers.view(np.int32).tolist()
        return words

    def _states(self) -> ov.Output:
        """The states as int32 of the same bits: [6], or [B, 6]."""
        if self.state is None:
            return _constant([0] * operators.STATE_WORDS, np.int32)
        value: NDArray[Any] | None = self.upstream.value_of(self.state.get_node())
        if value is not None:
            # A constant of uint32 would arrive clamped.
            bits = value.astype(np.uint32).view(np.int32)
            if not self.are_rows:
                bits = bits.reshape(-1)
            return _constant(bits, np.int32)
        words = ops.convert(self.state, "i32").output(0)
        if self.are_rows:
            return words
        shape = _constant([operators.STATE_WORDS], np.int64)
        return _reshaped(words, shape)

    def _is_constant(self) -> bool:
        """Whether the state is the same in each run."""
        if self.state is None:
            return True
        return self.upstream.is_constant(self.state.get_node())

    @cached_property
    def are_rows(self) -> bool:
        """Whether each row has a state."""
        if self.state is None:
            return False
        known = arrays.known_dimensions(self.state.get_partial_shape())
        if known is None:
            self._refuse("with a state of any rank", "with a state of a known rank")
        return len(known) == 2 and known[0] != 1

    def _words(self) -> int | None:
        """How many words the states have; None where only a run tells."""
        if self.state is None or not self.are_rows:
            return operators.STATE_WORDS
        rows = self.state.get_partial_shape()[0]
        if rows.is_dynamic:
            return None
        count: int = rows.get_length()
        return operators.STATE_WORDS * count

    def _next(self, after: ov.Output) -> ov.Output:
        """The next states, of the type and shape of the states."""
        type_ = ov.Type.u32
        target = _constant([operators.STATE_WORDS], np.int64)
        if self.state is not None:
            type_ = self.state.get_element_type()
            shape = self.state.get_partial_shape()
            target = ops.shape_of(self.state).output(0)
            if shape.is_static:
                dimensions = list(shape.to_shape())
                target = _constant(dimensions, np.int64)
        words = _reshaped(after, target)
        return ops.convert(words, type_).output(0)

    def _shape(self) -> tuple[ov.Output, tuple[int, ...] | None]:
        """The values' shape as an input, and if it is known before."""
        data = self.inputs.get("data")
        known = arrays.known_dimensions(self.node.get_output_partial_shape(0))
        if known is None:
            allowed = f"of a known rank, at most {operators.MAX_RANK},"
            self._refuse("of any rank", allowed)
        dimensions = tuple(d for d in known if d is not None)
        if len(dimensions) == len(known):
            return _constant(dimensions, np.int64), dimensions
        if data is not None:
            return ops.shape_of(data).output(0), None
        return self.inputs["shape"], None

    def _like(self, shape: ov.Output) -> ov.Output:
        """A tensor of the values' shape, or of their first dimension and all others as one."""
        rank = self.node.get_output_partial_shape(0).rank.get_length()
        if rank > _BROADCAST_RANK:
            axis = _constant(0, np.int64)
            places = _constant([0], np.int64)
            first = ops.gather(shape, places, axis)
            places = _constant(range(1, rank), np.int64)
            others = ops.gather(shape, places, axis)
            as_one = ops.reduce_prod(others, axis, keep_dims=True)
            shape = ops.concat([first, as_one], 0).output(0)
        zero = _constant(0, np.int32)
        return ops.broadcast(zero, shape).output(0)

    def _values(self, drawn: ov.Output) -> Iterator[ov.Output]:
        """The outputs that are no state."""
        if self.operator is operators.RANDOM_DROPOUT:
            data = self.inputs["data"]
            yield self._kept(data, drawn)
            yield ops.logical_not(drawn).output(0)
        elif self.operator.outputs[0].type is U32:
            yield ops.convert(drawn, "u32").output(0)
        else:
            yield drawn

    def _kept(self, data: ov.Output, is_dropped: ov.Output) -> ov.Output:
        parameters = self._parameters()
        ratio = np.float32(parameters["ratio"])
        type_ = arrays.element_type(data.get_element_type())
        if not isinstance(type_, ElementType) or type_ not in (F16, F32):
            given = f"with data of {arrays.name(data.get_element_type())}"
            self._refuse(given, "with data of f16 or f32")
        dtype = type_.dtype
        with np.errstate(all="ignore"):
            left = np.float32(1) - ratio
            scale = np.float32(1) / left
            scale = scale.astype(dtype)
        zero = arrays.constant(np.zeros((), dtype)).output(0)
        scaled = data
        # Else all is dropped; nothing may become infinite.
        if np.isfinite(scale):
            factor = arrays.constant(np.asarray(scale))
            scaled = ops.multiply(data, factor).output(0)
        return ops.select(is_dropped, zero, scaled).output(0)
