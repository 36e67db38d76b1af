"""Models that keep their state from one inference to the next, in a variable of OpenVINO."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np
import openvino as ov
from numpy.typing import ArrayLike, NDArray
from openvino import opset6, opset8
from openvino.op.util import Variable, VariableInfo

from onnx_philox._contract import generators
from onnx_philox._contract.given_arrays import array_of
from onnx_philox._contract.operators import STATE_WORDS
from onnx_philox._contract.refusal import refuse, shown
from onnx_philox._contract.state import GeneratorState, PhiloxState, is_state_shape
from onnx_philox._contract.streams import NEXT_PREFIX, next_name
from onnx_philox._openvino_models.arrays import known_dimensions

__all__ = ["make_stateful"]

_NAME = "openvino.make_stateful"
_TYPES = (ov.Type.u32, ov.Type.i32)


def make_stateful(model: ov.Model, initial: GeneratorState | ArrayLike | None = None) -> ov.Model:
    """Turns the state's input and output into a variable, which an infer request keeps.

    The input is one of uint32 (or int32) that has an output of its name after ``next_``:
    ``random_state`` and ``next_random_state``, for instance. Each request has a variable of its
    own, with the name of the input: `query_state` reads and writes it, as int32 of the same bits,
    and `reset_state` sets it back to `initial`. (The CPU plugin has no variables of uint32.)

    Args:
        model: The model, which is changed. Register the operators before you read it.
        initial: The state at first, a `PhiloxState` or a uint32 array of the input's shape; for a
            model of torch's numbers a `TorchState` or such an array. None is `PhiloxState()`,
            counter and key 0, and not allowed for a state for each row or of torch's generator.

    Returns:
        The same model.

    Raises:
        TypeError: `model` is no openvino.Model, or `initial` is not uint32.
        ValueError: The model has no such input and output, or more than one pair of them, or
            `initial` has another shape.

    Examples:
        >>> import openvino as ov, onnx_philox as op
        >>> core = op.openvino.register(ov.Core())
        >>> bits = op.graphs.random_generator([4]).SerializeToString()
        >>> model = op.openvino.make_stateful(core.read_model(bits), op.PhiloxState.from_seed(42))
        >>> request = core.compile_model(model, "CPU").create_infer_request()
        >>> first, second = request.infer({})[0].copy(), request.infer({})[0].copy()
        >>> request.query_state()[0].state.data.view("uint32")
        array([ 2,  0,  0,  0, 42,  0], dtype=uint32)
        >>> request.reset_state()
        >>> bool((request.infer({})[0] == first).all())
        True
    """
    if not hasattr(model, "get_parameters"):
        refuse(_NAME, "the model", shown(model), "an openvino.Model", "Read it first.", TypeError)
    parameter, result, name = _find(model)
    shape = parameter.get_partial_shape()
    words = _initial(initial, shape)

    parameter.set_element_type(ov.Type.i32)
    # The operators that read it give the next state the same type.
    model.validate_nodes_and_infer_types()
    info = VariableInfo()
    info.variable_id = name
    info.data_type = ov.Type.i32
    info.data_shape = shape
    variable = Variable(info)
    begin = opset8.constant(words.view(np.int32))
    read = opset6.read_value(begin, variable)
    read.set_friendly_name(parameter.get_friendly_name())
    parameter.output(0).replace(read.output(0))
    # Assign asks for a node of one output, which a Convert is.
    after = opset8.convert(result.input_value(0), "i32")
    assign = opset6.assign(after, variable)
    model.add_sinks([assign])
    model.remove_result(result)
    model.remove_parameter(parameter)
    model.validate_nodes_and_infer_types()
    return model


def _find(model: ov.Model) -> tuple[ov.op.Parameter, ov.op.Result, str]:
    """The state's parameter, the next state's result, and the input's name."""
    results = {}
    for result in model.results:
        for name in result.output(0).get_names():
            results[name] = result
    pairs = []
    for parameter in model.get_parameters():
        if parameter.get_element_type() not in _TYPES:
            continue
        for name in sorted(parameter.output(0).get_names()):
            after = next_name(name, results)
            if after is not None:
                pair = (parameter, results[after], name)
                pairs.append(pair)
    if len(pairs) != 1:
        _refuse_model(model, [name for *_, name in pairs])
    return pairs[0]


def _refuse_model(model: ov.Model, names: list[str]) -> NoReturn:
    if names:
        given = f"one of {len(names)} states: {', '.join(names)}"
    else:
        inputs = []
        for value in model.inputs:
            type_ = value.get_element_type().to_string()
            inputs.append(f"{value.get_any_name()} ({type_})")
        given = f"one without a state; its inputs are {', '.join(inputs) or 'none'}"
    refuse(
        _NAME,
        "the model",
        given,
        f"one with a single u32 input that has an output of its name after {NEXT_PREFIX!r}",
        "Rewrite the model with make_reproducible(...), without a seed.",
    )


def _initial(
    given: GeneratorState | ArrayLike | None,
    shape: ov.PartialShape,
) -> NDArray[np.uint32]:
    remedy = "Pass PhiloxState.for_run(seed), or row_states(...) where each row has a state."
    dims = known_dimensions(shape) or (None,)
    count = STATE_WORDS if dims[-1] is None else dims[-1]
    generator = generators.of_words(count) or generators.named(None)
    if not generator.is_counter_based:
        state = generator.made.removesuffix(".to_array()")
        remedy = f"Pass {state}, or an array with the words of one for each row."
    is_rows = len(dims) == 2 and dims[0] != 1
    if given is None and (is_rows or not generator.is_counter_based):
        given_text = f"nothing, for states of shape {shape}"
        allowed = f"a state of {generator.owner}'s generator"
        if is_rows:
            allowed = f"[B, {count}], a state for each row"
        refuse(_NAME, "initial", given_text, allowed, remedy)
    begun = PhiloxState() if given is None else given
    words = array_of(_NAME, "initial", begun)
    if words.dtype != np.uint32:
        refuse(_NAME, "initial", words.dtype, "uint32", remedy, TypeError)
    if shape.is_static:
        dimensions = tuple(shape.to_shape())
        if words.size == count == math.prod(dimensions):
            words = words.reshape(dimensions)
    given_shape = f"shape {list(words.shape)}"
    is_fitting = shape.compatible(ov.PartialShape(list(words.shape)))
    if not is_state_shape(words.shape, count) or not is_fitting:
        allowed = f"of the shape of the model's state, {shape}"
        refuse(_NAME, "initial", given_shape, allowed, remedy)
    if not words.size:
        # OpenVINO has no empty constants; a request's variable can be set to no rows.
        allowed = f"[B, {count}], at least one row"
        refuse(_NAME, "initial", given_shape, allowed, remedy)
    return np.ascontiguousarray(words)
