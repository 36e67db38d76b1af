"""The operators as `openvino.Op` subclasses.

Inputs and attributes are those of the declaration; every operator has all its outputs. What a
constant `state`, `minval` or `maxval` holds is captured in the attributes `const_state`,
`const_minval` and `const_maxval` (see `_constants`); they are empty for other inputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox import _calls, _checks, _subnormals
from onnx_philox._checks import Known
from onnx_philox._element_types import BF16, F16, F32, F64, I32, I64, U32, ElementType
from onnx_philox._native_core import fastest_fill
from onnx_philox._operators import (
    RANDOM_GENERATOR,
    RANDOM_UNIFORM,
    STATE_WORDS,
    Input,
    Operator,
    Role,
)
from onnx_philox.openvino import _arrays, _constants

# The types in which the CPU plugin may hand over an input of a declared type without loss.
_ARRIVES_AS: dict[ElementType, tuple[ElementType, ...]] = {
    U32: (U32, I32),
    I32: (I32,),
    I64: (I64, I32),
    F16: (F16, F32),
    BF16: (BF16, F32),
    F32: (F32,),
    F64: (F64,),
}
# The types that it narrows: only constants, which are captured, come through exactly.
_CONSTANT_ONLY = (I64, F64)
_CAPTURED_ROLES = (Role.STATE, Role.BOUND)
_NARROWED = "narrowed"
# A constant shape reaches a Python operator through 32 bits.
_MAX_DIMENSION = 2**31 - 1


class RandomOp(ov.Op):  # type: ignore[misc]
    """What all operators share; a subclass says which one it is."""

    operator: Operator

    def __init__(self, inputs: list[ov.Output] | None = None, **attributes: int | str) -> None:
        super().__init__(self)
        # OpenVINO would compute an operator of constants when it compiles the model, and clamp
        # the uint32 result to 2^31-1.
        self.get_rt_info()["DisableConstantFolding_0"] = ""
        self._attributes: dict[str, int | str] = {
            **{
                a.name: a.type() if a.default is None else a.default
                for a in self.operator.attributes
            },
            **{_captured(i): "" for i in self.operator.inputs if i.role in _CAPTURED_ROLES},
            # In a model that the plugin has exported or cached, the inputs are as it changed them.
            _NARROWED: "",
            **attributes,
        }
        # Inputs have been seen in their declared types: from now on the plugin may change them.
        self._is_validated = False
        if inputs is not None:
            self.set_arguments(inputs)
            self.constructor_validate_and_infer_types()

    def clone_with_new_inputs(self, new_inputs: list[ov.Output]) -> RandomOp:
        """A copy, which knows what this one has captured."""
        clone = type(self)(None, **self._attributes)
        clone._is_validated = self._is_validated
        clone.set_arguments(new_inputs)
        clone.constructor_validate_and_infer_types()
        return clone

    def visit_attributes(self, visitor: Any) -> bool:
        """Shows the attributes to IR, in both directions."""
        visitor.on_attributes(self._attributes)
        return True

    def has_evaluate(self) -> bool:
        """Evaluation is here, in Python."""
        return True

    @_subnormals.kept()
    def validate_and_infer_types(self) -> None:
        """Checks all that is known, captures constants, sets the outputs' types and shapes."""
        op = self.operator
        sources = self._sources()
        known: dict[str, Known | None] = {}
        for declared in op.inputs:
            source = sources.get(declared.name)
            known[declared.name] = None if source is None else self._known(declared, source)
        attributes = _checks.check_node(op, known, self._own_attributes())
        values = _checks.output_type(op, attributes)
        for declared in op.inputs:
            self._check_arrival(declared, values, sources.get(declared.name))
        self._is_validated = True
        self._attributes[_NARROWED] = "true" * any(
            source.get_element_type() != _arrays.openvino_type((i.types or (values,))[0])
            for i in op.inputs
            if i.role in _CAPTURED_ROLES and (source := sources.get(i.name)) is not None
        )
        self._set_outputs(op, values, sources)

    @_subnormals.kept()
    def evaluate(self, outputs: list[ov.Tensor], inputs: list[ov.Tensor]) -> bool:
        """Draws the values and the next state."""
        op = self.operator
        attributes = self._own_attributes()
        values = _checks.output_type(op, attributes)
        named = {
            declared.name: self._input_array(declared, tensor, values)
            for declared, tensor in zip(op.inputs, inputs, strict=False)
        }
        results = getattr(_calls, op.function)(fastest_fill, **named, **attributes, copies=2)
        for output, result in zip(outputs, results, strict=True):
            _store(output, result)
        return True

    def _own_attributes(self) -> dict[str, Any]:
        return {a.name: self._attributes[a.name] for a in self.operator.attributes}

    def _sources(self) -> dict[str, ov.Output]:
        op = self.operator
        _checks.check_counts(op, self.get_input_size(), len(op.outputs))
        outputs = self.input_values()
        return {i.name: output for i, output in zip(op.inputs, outputs, strict=False)}

    def _known(self, declared: Input, source: ov.Output) -> Known:
        """What is known of an input, in its declared type even where the plugin changed it."""
        values = _checks.output_type(
            self.operator, _checks.check_attributes(self.operator, self._own_attributes())
        )
        types = declared.types or (values,)
        arrived = _arrays.element_type(source.get_element_type())
        partial = source.get_partial_shape()
        shape = None
        if not partial.rank.is_dynamic:
            shape = tuple(None if d.is_dynamic else d.get_length() for d in partial)
        if declared.role is Role.SHAPE:
            value = _shape_value(source)
            return Known(arrived, shape) if value is None else Known(arrived, value.shape, value)
        value = self._capture(declared, types[0], source)
        if value is not None:
            return Known(types[0], shape, value)
        is_validated = self._is_validated or self._attributes[_NARROWED]
        if is_validated and arrived in _narrowings(types[0]):
            arrived = types[0]
        return Known(arrived, shape)

    def _capture(
        self, declared: Input, type_: ElementType, source: ov.Output
    ) -> NDArray[Any] | None:
        """The exact value of a constant input, kept as an attribute; None for other inputs."""
        name = _captured(declared)
        value = _constants.value_of(source)
        if value is None:
            self._attributes[name] = ""
            return None
        text = str(self._attributes[name])
        if text:
            kept = _constants.from_text(text, type_, value.shape)
            is_direct = source.get_node().get_type_name() == "Constant"
            is_declared = source.get_element_type() == _arrays.openvino_type(type_)
            # A constant of the declared type is right as it is; any other may be what the plugin
            # or saving in f16 has made of the one that was captured.
            if not (is_direct and is_declared) and _constants.agree(kept, value):
                return kept
        if source.get_element_type() != _arrays.openvino_type(type_):
            self._attributes[name] = ""
            return None
        self._attributes[name] = _constants.to_text(value)
        return value

    def _check_arrival(
        self, declared: Input, values: ElementType, source: ov.Output | None
    ) -> None:
        """Refuses inputs that the CPU plugin would hand over changed."""
        if source is None or declared.role is Role.SHAPE or self._attributes[_captured(declared)]:
            return
        what = f"input {declared.name!r}"
        if declared.role is Role.BOUND and values in _CONSTANT_ONLY:
            _checks.refuse(
                self.operator,
                what,
                f"not constant, of type {values.name}",
                "a constant in OpenVINO, whose CPU plugin rounds such inputs to 32 bits",
                f"Make {declared.name} a constant, or draw in [0, 1) and scale in the graph.",
            )
        altered = _constants.altered_part(source) if declared.role is Role.STATE else None
        if altered is not None:
            remedy = "Make the whole state a model input, or the whole state a constant."
            _checks.refuse(self.operator, what, *altered, remedy)

    def _set_outputs(
        self, op: Operator, values: ElementType, sources: dict[str, ov.Output]
    ) -> None:
        for index, output in enumerate(op.outputs):
            if output.is_state:
                state = sources.get("state")
                shape = (
                    ov.PartialShape([STATE_WORDS]) if state is None else state.get_partial_shape()
                )
            else:
                shape = self._values_shape(op, values, sources)
            type_ = U32 if output.is_state else values
            self.set_output_type(index, _arrays.openvino_type(type_), shape)

    def _values_shape(
        self, op: Operator, values: ElementType, sources: dict[str, ov.Output]
    ) -> ov.PartialShape:
        source = next(sources[i.name] for i in op.inputs if i.role is Role.SHAPE)
        value = _shape_value(source)
        if value is not None:
            dimensions = value.tolist()
            if max(dimensions, default=0) > _MAX_DIMENSION:
                allowed = "dimensions of at most 2^31-1 for backend='python' in OpenVINO"
                remedy = "Draw it in parts, or use backend='native'."
                _checks.refuse(op, "input 'shape'", dimensions, allowed, remedy)
            # The plugin would allocate it when it compiles the model.
            _checks.check_memory(op, dimensions, values, copies=2)
            return ov.PartialShape(dimensions)
        partial = source.get_partial_shape()
        if partial.is_static:
            # The plugin needs the rank.
            return ov.PartialShape([-1] * partial.to_shape()[0])
        return ov.PartialShape.dynamic()

    def _input_array(self, declared: Input, tensor: ov.Tensor, values: ElementType) -> NDArray[Any]:
        type_ = declared.types[0] if declared.types else values
        if declared.role is Role.SHAPE:
            return _as_dimensions(_arrays.memory(tensor))
        kept = str(self._attributes[_captured(declared)])
        if kept:
            return _constants.from_text(kept, type_, tuple(tensor.get_shape()))
        arrived = _arrays.element_type(tensor.get_element_type())
        if arrived not in _ARRIVES_AS[type_]:
            name = getattr(arrived, "name", arrived)
            _checks.refuse(
                self.operator,
                f"input {declared.name!r}",
                f"handed over as {name} by the device",
                f"{type_.name}, unchanged",
                "Make it a constant, or compile with the inference precision f32.",
            )
        array = _arrays.memory(tensor)
        return array.view(np.uint32) if type_ is U32 else array.astype(type_.dtype)


class RandomGenerator(RandomOp):
    """Random bits from a state."""

    operator = RANDOM_GENERATOR


class RandomUniform(RandomOp):
    """Uniform random values; lives beside OpenVINO's built-in operator of that name."""

    operator = RANDOM_UNIFORM


OPS: dict[str, type[RandomOp]] = {c.operator.name: c for c in (RandomGenerator, RandomUniform)}


def _captured(declared: Input) -> str:
    """The attribute that keeps the value of a constant input."""
    return f"const_{declared.name}"


def _narrowings(type_: ElementType) -> tuple[ElementType, ...]:
    """The types that the plugin may have made of a declared one, with or without loss."""
    return (F16, BF16, F32, F64) if type_.is_float else (I32,)


def _shape_value(source: ov.Output) -> NDArray[Any] | None:
    value = _constants.value_of(source)
    return None if value is None else _as_dimensions(value)


def _as_dimensions(array: NDArray[Any]) -> NDArray[Any]:
    """The front end turns an empty `shape` initializer into a rank-0 constant 0: a scalar's."""
    return array.reshape(-1)[:0] if array.shape == () and array == 0 else array


def _store(output: ov.Tensor, result: NDArray[Any]) -> None:
    if tuple(output.get_shape()) != result.shape:
        output.set_shape(ov.Shape(result.shape))
    memory = _arrays.memory(output)
    if result.dtype == np.uint32:
        # The same bits where the plugin holds them as int32.
        memory = memory.view(np.uint32)
    memory[...] = result
