"""The operators as `openvino.Op` subclasses.

The declaration defines the inputs and attributes; every operator has all its outputs. An attribute
captures the value of each constant input other than `shape`, `const_state` for `state` (see
`_constants`). It is empty for other inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox._contract import alignment, attribute_names, checks, float_environment
from onnx_philox._contract import sentences as say
from onnx_philox._contract.known_input import Known
from onnx_philox._contract.openvino_plugin import (
    CAPTURED,
    NARROWED,
    NARROWED_ALL,
    SIGNED_STATE_MARK,
    Past,
)
from onnx_philox._contract.operators import OPERATORS, Input, Operator, Role
from onnx_philox._contract.types import (
    BF16,
    BOOL,
    BY_DTYPE,
    F16,
    F32,
    I32,
    U32,
    ElementType,
)
from onnx_philox._numbers import call
from onnx_philox._numbers.fill_native import fastest_fill
from onnx_philox._openvino_models import arrays, upstream
from onnx_philox.openvino import _arrival, _clamped, _constants, _folded, _narrowing, _rounded
from onnx_philox.openvino._constants import captured, is_captured
from onnx_philox.openvino._shapes import as_dimensions, values_shape
from onnx_philox.openvino._surroundings import surroundings


class RandomOp(ov.Op):  # type: ignore[misc]
    """What all operators share; each subclass is one operator."""

    operator: Operator

    def __init__(self, inputs: list[ov.Output] | None = None, **attributes: int | str) -> None:
        super().__init__(self)
        # OpenVINO would compute an operator of constants when it compiles the model, and clamp
        # the uint32 result to 2^31-1.
        self.get_rt_info()["DisableConstantFolding_0"] = ""
        op = self.operator
        own: dict[str, int | str] = {}
        for attribute in op.attributes:
            default = attribute.default
            own[attribute.name] = attribute.type() if default is None else default
        empty = {captured(i): "" for i in op.inputs if is_captured(i)}
        self._attributes: dict[str, int | str] = {**own, **empty, **attributes}
        # Attributes that the operator does not have, to be refused.
        self._unknown: dict[str, int | str] = {}
        for name, value in attributes.items():
            if name not in own and not name.startswith(CAPTURED):
                self._unknown[name] = value
        self._past = Past(0)
        self._declared: dict[str, ElementType] = {}
        self.wide: dict[str, bool] = {}
        # How it clamps its probabilities, if it reads what the model clamps. Never captured.
        self._clamp = ""
        # The type of 16 bits to which it rounds its values, since the model does behind it.
        self._rounded: ElementType | None = None
        # Valid for one validation: a model may change between two.
        self._upstream = upstream.Upstream()
        # What the last validation left behind: if all is still so, it is the next one's result.
        self._settled: tuple[Any, ...] | None = None
        if inputs is not None:
            self.set_arguments(inputs)
            self.constructor_validate_and_infer_types()

    def clone_with_new_inputs(self, new_inputs: list[ov.Output]) -> RandomOp:
        """Returns a copy, which knows what this node captured."""
        clone = type(self)(None, **self._attributes)
        clone._past = self._past | Past.CLONED
        if _folded.is_asked(self, new_inputs):
            clone._past |= Past.ASKED
        if not _folded.is_transformed(self):
            clone._past &= ~Past.FROM_FILE
        clone._declared = dict(self._declared)
        clone.wide = self.wide
        clone._clamp = self._clamp
        clone._rounded = _rounded.rounded_behind(self, self._rounded, self._past)
        clone.set_arguments(new_inputs)
        clone.constructor_validate_and_infer_types()
        return clone

    def visit_attributes(self, visitor: Any) -> bool:
        """Shows the attributes to IR, in both directions."""
        is_read = Past.VALIDATED not in self._past
        if is_read:
            self._past |= Past.FROM_FILE
            mistakes = attribute_names.mistakes(self.operator)
            given = dict.fromkeys(mistakes, "")
            visitor.on_attributes(given)
            self._unknown |= {name: value for name, value in given.items() if value}
            own = self._attributes
        else:
            own = self.operator.written(self._attributes)
        visitor.on_attributes(own)
        if self._clamp or is_read:
            self._clamp = _clamped.visited(self.operator, visitor, self._clamp)
        self._rounded = _rounded.visited(self, visitor, self._rounded, self._past)
        narrowed = ""
        if not is_read:
            narrowed = self._narrowed_text()
        if narrowed or is_read:
            shown = {NARROWED: narrowed}
            visitor.on_attributes(shown)
            if shown[NARROWED] != narrowed:
                self._read_narrowed(shown[NARROWED])
        return True

    def has_evaluate(self) -> bool:
        """Evaluation is here, in Python."""
        return True

    @float_environment.kept()
    def validate_and_infer_types(self) -> None:
        """Checks all that is known, captures constants, and sets the outputs' types and shapes."""
        op = self.operator
        is_settled = self._settled is not None
        if is_settled and self._settled == self._all_that_counts():
            return
        self._upstream = upstream.Upstream()
        known_wide = self.wide if Past.CLONED in self._past else None
        self.wide = _narrowing.read_wide(self, known_wide)
        for declared in op.inputs[: self.get_input_size()]:
            if declared.name == _clamped.PROBABILITIES and not self._clamp:
                probabilities = self._input(declared)
                self._clamp = _clamped.take_before_clamp(probabilities)
        sources = self._sources()
        self._note_declared(self._attributes_type(), sources)
        values = self._attributes_type()
        is_half_new = False
        if Past.ROUNDED not in self._past:
            is_half_new = self._meet_half(self._sources())
        sources = self._sources()
        known: dict[str, Known | None] = {}
        for declared in op.inputs:
            source = sources.get(declared.name)
            if source is None:
                known[declared.name] = None
            else:
                known[declared.name] = self._known(declared, values, source)
        attributes = checks.check_node(op, known, self._own_attributes())
        values = checks.output_type(op, attributes, known)
        self._add_state(sources)
        for declared in op.inputs:
            source = sources.get(declared.name)
            self._check_arrival(declared, values, source)
        self._set_outputs(op, values, sources)
        if is_half_new and values is F32:
            # Once only: the plugin merges these into the nodes after them.
            _narrowing.convert_for_consumers(self.output(0), F16)
        self._past |= Past.VALIDATED
        self._upstream = upstream.Upstream()
        # The nodes downstream count, too, where the plugin narrows the values.
        self._settled = None
        if values not in _narrowing.NARROWER:
            self._settled = self._all_that_counts()

    def _all_that_counts(self) -> tuple[Any, ...] | None:
        """All that a validation reads, to be compared; None if that is too much."""
        around = surroundings(self)
        if around is None:
            return None
        return (
            self._past,
            self._clamp,
            dict(self._attributes),
            dict(self._unknown),
            dict(self._declared),
            *around,
        )

    @float_environment.kept()
    def evaluate(self, outputs: list[ov.Tensor], inputs: list[ov.Tensor]) -> bool:
        """Draws the values and the next state."""
        op = self.operator
        attributes = self._own_attributes()
        values = self._attributes_type()
        named = {}
        for declared, tensor in zip(op.inputs, inputs, strict=False):
            named[declared.name] = self._input_array(declared, tensor, values)
        results = call.run(op, fastest_fill, named, attributes, is_copied=True)
        if _folded.is_folded(self, inputs, self._past):
            self._refuse_altered_results(results)
        _rounded.round_values(results[0], self._rounded)
        for output, result in zip(outputs, results, strict=True):
            arrays.store(output, result)
        return True

    def _refuse_altered_results(self, results: Sequence[NDArray[Any]]) -> None:
        op = self.operator
        with_results = zip(op.outputs, results, strict=True)
        for index, (declared, result) in enumerate(with_results):
            has_left = Past.LEFT in self._past and not declared.is_state
            altered = _folded.altered(self.output(index), result, has_left=has_left)
            if altered is not None:
                what = say.OUTPUT.format(declared.name)
                checks.refuse(op, what, *altered)

    def _attributes_type(self) -> ElementType:
        """The type of the values, or any where that is the type of an input."""
        op = self.operator
        complete = checks.check_attributes(op, self._own_attributes())
        declared = {name: Known(type_) for name, type_ in self._declared.items()}
        return checks.output_type(op, complete, declared)

    def _add_state(self, sources: dict[str, ov.Output]) -> None:
        """Gives a node without a state one that says the same, if it draws booleans besides.

        By the state's type it will know when the plugin turns booleans into u8.
        """
        op = self.operator
        is_needed = any(output.type is BOOL for output in op.outputs)
        if not is_needed or Past.CLONED in self._past:
            return
        if op.has_shape or "state" in sources:
            return
        generator = alignment.generator_of(self._attributes)
        state, self._attributes = generator.left_out(self._attributes)
        place = len(op.inputs) - 1
        constant = arrays.constant(state)
        self.set_argument(place, constant.output(0))
        source = self.input_value(place)
        sources["state"] = source
        self._known(op.input("state"), self._attributes_type(), source)

    def _own_attributes(self) -> dict[str, Any]:
        names = [attribute.name for attribute in self.operator.attributes]
        own = {name: self._attributes[name] for name in names}
        return self._unknown | own

    def _sources(self) -> dict[str, ov.Output]:
        op = self.operator
        checks.check_counts(op, self.get_input_size(), len(op.outputs))
        outputs = self.input_values()
        return {i.name: output for i, output in zip(op.inputs, outputs, strict=False)}

    def _known(self, declared: Input, values: ElementType, source: ov.Output) -> Known:
        """What is known of an input, in its declared type even if the plugin changed it."""
        types = _narrowing.types_of(declared, values)
        arrived = self._arrived(declared, source)
        shape = arrays.known_dimensions(source.get_partial_shape())
        if declared.role is Role.SHAPE:
            value = self._shape_value(source)
            if value is None:
                return Known(arrived, shape)
            return Known(arrived, value.shape, value)
        if declared.role is Role.DATA:
            type_ = self._declared.get(declared.name, arrived)
            return Known(type_, shape)
        value = self._capture(declared, types, source)
        if value is not None:
            return Known(BY_DTYPE[value.dtype], shape, value)
        if (
            arrived not in types
            and Past.VALIDATED in self._past
            and arrived in _narrowing.narrowings(types[0])
        ):
            arrived = types[0]
        return Known(arrived, shape)

    def _arrived(self, declared: Input, source: ov.Output) -> ElementType | np.dtype[Any] | None:
        """The type of an input; that of words for a state that is declared int32."""
        is_signed = Past.SIGNED_STATE in self._past
        return _narrowing.arrived_type(declared, source, is_signed=is_signed)

    def _shape_value(self, source: ov.Output) -> NDArray[Any] | None:
        value = self._upstream.value_of(source.get_node())
        if value is None:
            return None
        return as_dimensions(value)

    def _note_declared(self, values: ElementType, sources: dict[str, ov.Output]) -> None:
        """Records the types of numbers as long as only the user can have chosen them."""
        is_clone = Past.CLONED in self._past
        if not is_clone and "state" in sources:
            self._past &= ~Past.SIGNED_STATE
            if sources["state"].get_element_type() == ov.Type.i32:
                self._past |= Past.SIGNED_STATE
        for declared, source in _narrowing.numbers_of(self.operator, sources):
            if is_clone and declared.name in self._declared:
                continue
            types = _narrowing.types_of(declared, values)
            arrived = arrays.element_type(source.get_element_type())
            type_ = next((t for t in types if t is arrived), None)
            if type_ is None and is_clone and arrived in _narrowing.narrowings(types[0]):
                type_ = types[0]
            self._declared.pop(declared.name, None)
            if type_ is not None:
                self._declared[declared.name] = type_
        # Data tell of the precision f16 by themselves.
        if values is F32 and not is_clone and self.operator.type_input is None:
            numbers = _narrowing.numbers_of(self.operator, sources)
            if numbers:
                declared, _ = numbers[0]
                _narrowing.add_witness(self._input(declared), self._upstream)

    def _meet_half(self, sources: dict[str, ov.Output]) -> bool:
        """Reacts to the precision f16 when the node first meets it; returns whether it does.

        It takes the exact value of what the plugin rounded last, right before this node. It takes
        what the plugin computed in f16 as it is.
        """
        if Past.CLONED not in self._past:
            return False
        for declared, source in _narrowing.numbers_of(self.operator, sources):
            is_declared = self._declared.get(declared.name) is F32
            if not is_declared or source.get_element_type() != ov.Type.f16:
                continue
            self._past |= Past.ROUNDED
            is_parameter = source.get_node().get_type_name() == "Parameter"
            if declared.role is Role.DATA:
                if is_parameter:
                    continue
            elif self._attributes[captured(declared)]:
                continue
            if is_parameter:
                what = say.INPUT.format(declared.name)
                given = say.HALF_AT_BORDER
                allowed = say.HALF_IN_BODY
                checks.refuse(self.operator, what, given, allowed, say.CAST_OUTSIDE)
            _narrowing.take_before_rounding(self._input(declared))
        return Past.ROUNDED in self._past

    def _input(self, declared: Input) -> Any:
        index = self.operator.inputs.index(declared)
        return self.input(index)

    def _narrowed_text(self) -> str:
        """What IR says about a validated node whose inputs the plugin changed; empty for others."""
        return _narrowing.narrowed_text(
            self.operator,
            self._sources(),
            self._attributes_type(),
            self._declared,
            is_signed=Past.SIGNED_STATE in self._past,
        )

    def _read_narrowed(self, text: str) -> None:
        """Takes back what `_narrowed_text` told IR."""
        first, _, state = text.partition(" ")
        for declared in self.operator.inputs:
            if declared.role not in (Role.LOGITS, Role.DATA):
                continue
            for type_ in declared.types:
                if type_.name == first:
                    self._declared[declared.name] = type_
        if first != NARROWED_ALL and not self._declared:
            return
        self._past |= Past.VALIDATED | Past.CLONED | Past.ROUNDED
        if state == SIGNED_STATE_MARK:
            self._past |= Past.SIGNED_STATE

    def _capture(
        self, declared: Input, types: tuple[ElementType, ...], source: ov.Output
    ) -> NDArray[Any] | None:
        """The exact value of a constant input, kept as an attribute; None for other inputs."""
        name = captured(declared)
        is_clamped = self._is_clamped(declared)
        value = None
        if not is_clamped:
            value = self._upstream.value_of(source.get_node())
        own = self._input(declared)
        is_constant = value is not None
        _narrowing.keep_in_files(own, self._upstream, is_constant=is_constant)
        if value is None:
            self._attributes[name] = ""
            return None
        arrived = self._arrived(declared, source)
        if arrived is U32:
            value = value.view(np.uint32)
        text = str(self._attributes[name])
        if text:
            kept = _constants.from_text(text, types)
            is_constant = source.get_node().get_type_name() == "Constant"
            is_direct = is_constant and Past.ROUNDED not in self._past
            is_declared = arrived is BY_DTYPE[kept.dtype]
            # A constant of the declared type is right. Any other may be the captured one as changed
            # by the plugin or by saving in f16; at the precision f16, even one of the declared type
            # may.
            is_exact = is_direct and is_declared
            if not is_exact and _constants.agree(kept, value):
                return kept.reshape(value.shape)
        if arrived not in types:
            self._attributes[name] = ""
            return None
        self._attributes[name] = _constants.to_text(value, types)
        return value

    def _is_clamped(self, declared: Input) -> bool:
        return bool(self._clamp) and declared.name == _clamped.PROBABILITIES

    def _check_arrival(
        self, declared: Input, values: ElementType, source: ov.Output | None
    ) -> None:
        """Refuses inputs that the CPU plugin would hand over changed."""
        if source is None or not is_captured(declared):
            return
        if self._attributes[captured(declared)]:
            return
        is_empty = source.get_partial_shape() == ov.PartialShape([0])
        if declared.optional and is_empty:
            # An empty tensor stands for a number that is left out.
            return
        arrived = self._arrived(declared, source)
        _arrival.check_type(self.operator, declared, values, arrived)
        if declared.role is Role.STATE:
            _arrival.check_state(self.operator, source, arrived, self._upstream, self._past)

    def _set_outputs(
        self, op: Operator, values: ElementType, sources: dict[str, ov.Output]
    ) -> None:
        computed = _narrowing.computed_type(op, values, sources)
        state = sources.get("state")
        generator = alignment.generator_of(self._attributes)
        state_shape = ov.PartialShape([generator.words])
        if state is not None:
            state_shape = state.get_partial_shape()
        samples = int(self._attributes.get("sample_size", 1))
        value = None
        if op.has_shape:
            value = self._shape_value(sources["shape"])
        shape = values_shape(op, values, sources, value, samples)
        is_signed = Past.SIGNED_STATE in self._past
        state_type = I32 if is_signed else U32
        # Integers that the plugin turned into i32, and so booleans into u8.
        is_narrowed = _narrowing.has_narrowed_integers(op, sources, is_signed=is_signed)
        for index, output in enumerate(op.outputs):
            own_type = output.type or values
            own_shape = shape
            if output.is_state:
                own_type = state_type
                own_shape = state_shape
            type_ = arrays.openvino_type(own_type)
            is_u8 = is_narrowed and Past.VALIDATED in self._past
            if type_ == ov.Type.boolean and is_u8:
                # The plugin's own operators declare it this way from there on.
                type_ = ov.Type.u8
            if output.type is None and values in (F16, BF16) and computed is F32:
                # The plugin restores the type of a result of the model.
                type_ = ov.Type.f32
            self.set_output_type(index, type_, own_shape)
        narrower = _narrowing.NARROWER.get(values)
        if narrower is not None and computed is narrower:
            # A result of the model keeps all bits.
            if Past.LEFT not in self._past and _folded.leaves(self.output(0)):
                self._past |= Past.LEFT
            _narrowing.convert_for_consumers(self.output(0), narrower)

    def _input_array(self, declared: Input, tensor: ov.Tensor, values: ElementType) -> NDArray[Any]:
        if declared.role is Role.SHAPE:
            return as_dimensions(arrays.memory(tensor))
        types = _narrowing.types_of(declared, values)
        dimensions = arrays.dimensions(tensor.get_shape())
        if tensor.get_size() == 0:
            return np.empty(dimensions, types[0].dtype)
        name = captured(declared)
        kept = str(self._attributes.get(name, ""))
        if kept:
            numbers = _constants.from_text(kept, types)
            return numbers.reshape(dimensions)
        arrived = arrays.element_type(tensor.get_element_type())
        type_ = _arrival.type_of_numbers(
            self.operator,
            declared,
            types,
            self._declared.get(declared.name),
            arrived,
            self._sources()[declared.name].get_element_type(),
        )
        array = arrays.memory(tensor)
        if type_ is U32:
            return array.view(np.uint32)
        array = array.astype(type_.dtype)
        if self._is_clamped(declared):
            return _clamped.clamp(array, self._clamp)
        return array


OPS: dict[str, type[RandomOp]] = {}
for _op in OPERATORS.values():
    _members = {"__doc__": f"The operator {_op.name}.", "operator": _op}
    OPS[_op.name] = type(_op.name, (RandomOp,), _members)
"""A class for each operator; RandomUniform lives beside OpenVINO's built-in one of that name."""
