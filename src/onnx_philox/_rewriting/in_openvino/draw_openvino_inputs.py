"""Turns inputs of a model of OpenVINO into draws, before the random nodes are found.

An input becomes a node of this package that waits for a state; all that follows treats it as any
other random node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset8

from onnx_philox import openvino as factories
from onnx_philox._contract.operators import OPERATORS, OUTPUT_TYPE, STATE_WORDS
from onnx_philox._contract.streams import AWAITS_STATE
from onnx_philox._contract.types import BOOL, ElementType
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.openvino_graphs import (
    awaits_state,
    dimensions,
    metadata,
    state_of,
)
from onnx_philox._openvino_models.ports import input_names
from onnx_philox._rewriting.drawn_inputs import (
    ASKED_SHAPES,
    DrawnInput,
    refuse_unknown,
    with_asked_shape,
)
from onnx_philox._rewriting.not_rows import AskedShape

_AWAITS_STATE = f"{AWAITS_STATE}.drawn_input"
"""What the state is called that such a node waits for."""
_BITS_OF_A_BYTE = 8


def draw_inputs(model: ov.Model, drawn: Sequence[DrawnInput]) -> None:
    """Turns inputs of a model into draws, in place.

    Raises:
        TypeError: A law does not draw the type of its input.
        ValueError: There is no such input; it cannot be drawn; or its shape is not known.
    """
    if not drawn:
        return
    names = input_names(model.inputs, None)
    by_name = dict(zip(names, model.get_parameters(), strict=True))
    inputs = [_input(each, by_name) for each in drawn]
    others = [each for each in model.get_parameters() if each not in inputs]
    for number, (each, parameter) in enumerate(zip(drawn, inputs, strict=True)):
        shape = _shape(each, parameter, others, model)
        new = _draw(each, parameter, shape, number)
        new.get_tensor().set_names(parameter.output(0).get_names())
        parameter.output(0).replace(new)
        model.remove_parameter(parameter)
    model.validate_nodes_and_infer_types()


def drawn_input_number(node: ov.Node) -> int | None:
    """Which of the drawn inputs a node draws, from 0 on; None for any other node."""
    if not awaits_state(node):
        return None
    state = state_of(node)
    assert state is not None
    if not state.get_node().get_friendly_name().startswith(_AWAITS_STATE):
        return None
    return int(node.get_attributes()["op_seed"])


def asked_shape(node: ov.Node) -> AskedShape | None:
    """The input that says the shape of a drawn input; None where something else does."""
    if drawn_input_number(node) is None:
        return None
    operator = OPERATORS[node.get_type_name()]
    shape = node.input_value(operator.inputs.index(operator.size_input)).get_node()
    if shape.get_type_name() != "Parameter":
        return None
    remedy = "give each input that has the batch a Layout with an N there (set_layout)"
    return AskedShape(shape.get_friendly_name(), remedy)


def _input(drawn: DrawnInput, by_name: dict[str, ov.Node]) -> ov.Node:
    """The parameter of a model that is to be drawn."""
    if drawn.name not in by_name:
        refuse_unknown(drawn, list(by_name))
    parameter = by_name[drawn.name]
    readers = [each.get_node() for each in parameter.output(0).get_target_inputs()]
    inside = ("If", "Loop", "TensorIterator")
    if all(reader.get_type_name() in inside for reader in readers):
        drawn.refuse_unread("an If, Loop or TensorIterator", is_inside=bool(readers))
    return parameter


def _draw(
    drawn: DrawnInput,
    parameter: ov.Node,
    shape: ov.Output,
    number: int,
) -> ov.Output:
    """The draw in the place of an input."""
    type_ = parameter.get_element_type()
    known = arrays.element_type(type_)
    # NumPy's types for those of fewer than 8 bits, and for floats of 8, are others.
    is_of_numpy = type_.is_integral() and type_.get_bitwidth() >= _BITS_OF_A_BYTE
    dtype: np.dtype[Any] | None = None
    if isinstance(known, ElementType):
        dtype = known.dtype
    elif is_of_numpy:
        dtype = known
    values = drawn.values(dtype, arrays.name(type_))
    operator = drawn.law.operator
    given = {operator.size_input.name: shape, **drawn.parameters(values)}
    said = {OUTPUT_TYPE: values.name}
    given |= {a.name: said[a.name] for a in operator.attributes if a.name in said}
    zeros = np.zeros(STATE_WORDS, np.uint32)
    nowhere = np.zeros(1, np.int64)
    # OpenVINO computes what constants bound, but no Roll: a draw of constants would become one.
    state = opset8.roll(zeros, nowhere, nowhere, name=_AWAITS_STATE)
    make = getattr(factories, operator.function)
    node = make(**given, state=state, op_seed=number, name=drawn.name)
    new: ov.Output = node.output(0)
    if values is BOOL and type_ != ov.Type.boolean:
        new = opset8.convert(new, type_).output(0)
    return new


def _shape(
    drawn: DrawnInput,
    parameter: ov.Node,
    others: Sequence[ov.Node],
    model: ov.Model,
) -> ov.Output:
    """The shape of a draw, int64.

    1. What the user wrote.
    2. The dimensions of the input, if all are constants, or letters of its Layout that the Layout
       of another input has: those of OpenVINO have no names.
    3. Else a new input says it.
    """
    known = dimensions(parameter.output(0))
    drawn.check_shape(known)
    if drawn.shape is not None:
        return _constant_shape(drawn.shape)
    drawn.check_rank(None if known is None else len(known))
    assert known is not None
    if None not in known:
        return _constant_shape([size for size in known if size is not None])
    letters = letters_of(parameter, len(known))
    sizes: list[ov.Output] = []
    for size, letter in zip(known, letters, strict=True):
        if size is not None:
            sizes.append(opset8.constant(np.array([size], np.int64)).output(0))
            continue
        found = _size(letter, others)
        if found is None:
            return _asked_shape(drawn, known, model)
        sizes.append(found)
    return opset8.concat(sizes, 0).output(0)


def _constant_shape(sizes: Sequence[int]) -> ov.Output:
    """A shape, which is empty for a number; the factories of OpenVINO make no empty constants."""
    return arrays.constant(np.array(sizes, np.int64)).output(0)


def letters_of(parameter: ov.Node, rank: int) -> list[str | None]:
    """The letter of each dimension in the Layout of an input; None where it has none."""
    layout = parameter.get_layout()
    text = str(layout).strip("[]").replace(" ", "")
    letters = text.split(",") if "," in text else list(text)
    if len(letters) != rank or "." in text:
        return [None] * rank
    return [None if letter == "?" else letter for letter in letters]


def _size(letter: str | None, others: Sequence[ov.Node]) -> ov.Output | None:
    """The size of the dimension that another input gives this letter, as a tensor of one."""
    if letter is None:
        return None
    for other in others:
        known = dimensions(other.output(0))
        letters = [] if known is None else letters_of(other, len(known))
        if letter in letters:
            shape = opset8.shape_of(other, "i64")
            axis = np.array([letters.index(letter)], np.int64)
            return opset8.gather(shape, axis, np.int64(0)).output(0)
    return None


def _asked_shape(
    drawn: DrawnInput,
    sizes: Sequence[int | None],
    model: ov.Model,
) -> ov.Output:
    """A new input that says the shape, of which these sizes are known."""
    taken = {name for each in model.inputs for name in each.get_names()}
    name = drawn.name_of_shape(taken)
    shape = opset8.parameter([len(sizes)], np.int64, name=name)
    shape.output(0).get_tensor().set_names({name})
    model.add_parameters([shape])
    before = metadata(model, ASKED_SHAPES)
    model.set_rt_info(with_asked_shape(before, name, sizes), [ASKED_SHAPES])
    return shape.output(0)
