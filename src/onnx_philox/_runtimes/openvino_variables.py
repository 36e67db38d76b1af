"""A model's variables in OpenVINO: what they hold at first, and what a run is given to go on with.

`reset_state` alone does not do. After a run whose variables were set, the CPU plugin of OpenVINO
2026.4.1 may give a ReadValue its initial value in the shape of an earlier run, where a dimension is
dynamic: wrong tensors in silence, or damaged memory. Variables that are set before every run are
always right. So a model of its own computes what they hold at first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset8

from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.streams import Streams
from onnx_philox._openvino_models import arrays, requests
from onnx_philox._runtimes.port import STATES, Arrays

_OWNER = "Pipeline"
# OpenVINO's CPU plugin holds variables of other types in these, or not at all.
_FLOATS = (ov.Type.f32, ov.Type.f16, ov.Type.bf16)
_INTEGERS = (ov.Type.i32, ov.Type.i8, ov.Type.u8)
_TYPES = (*_FLOATS, *_INTEGERS, ov.Type.boolean)


class Requests:
    """The infer requests of a compiled model: one for each thread that runs it at a time."""

    def __init__(self, compiled: ov.CompiledModel) -> None:
        self._compiled = compiled
        # Appending and popping are safe from any thread.
        self._idle: deque[ov.InferRequest] = deque()

    @contextmanager
    def one(self) -> Iterator[ov.InferRequest]:
        """A request that no other thread has.

        One whose run failed is not used again: it may hold another run's outputs.
        """
        try:
            request = self._idle.pop()
        except IndexError:
            request = self._compiled.create_infer_request()
        yield request
        self._idle.append(request)


class Initial:
    """What the variables of a model hold before its first run, as its inputs are then.

    Args:
        core: What compiles a model of the initial values alone, and is held as long as that is.
        model: The model; it is not changed.
    """

    def __init__(self, core: ov.Core, model: ov.Model) -> None:
        clone = model.clone()
        reads = [
            node
            for node in clone.get_ordered_ops()
            if node.get_type_name() == "ReadValue" and node.get_input_size()
        ]
        self.names = [str(node.get_attributes()["variable_id"]) for node in reads]
        read = dict(zip(self.names, reads, strict=True))
        for variable in model.get_variables():
            info = variable.get_info()
            name = info.variable_id
            type_ = info.data_type
            if type_.is_dynamic() and name in read:
                # Nothing declares it: it is that of its first value.
                type_ = read[name].input_value(0).get_element_type()
            if type_ not in _TYPES:
                allowed = f"one of {', '.join(t.get_type_name() for t in _TYPES)}"
                remedy = "Keep it in one of these, with a Convert on both sides."
                what = f"the type of the variable {name!r}"
                refuse(_OWNER, what, type_.get_type_name(), allowed, remedy)
        results = [opset8.result(node.input_value(0)) for node in reads]
        self._core = core
        self._requests = None
        if results:
            initial = ov.Model(results, clone.get_parameters())
            self._requests = Requests(core.compile_model(initial, "CPU"))

    @classmethod
    def of_source(
        cls,
        core: ov.Core,
        source: ov.Model | None,
        states: Sequence[ov.VariableState],
    ) -> Initial:
        """What the variables of a compiled model hold, by the model that it was made from.

        Raises:
            ValueError: That is one of ONNX, which has none.
        """
        if source is None:
            names = ", ".join(state.name for state in states)
            given = f"an ONNX model, which has no variables as the compiled model has: {names}"
            allowed = "the openvino.Model that the compiled model was made from"
            refuse(_OWNER, "source", given, allowed, "Pass that one, or its IR.")
        return cls(core, source)

    def values(self, given: Sequence[Any]) -> Arrays:
        """What they hold; those that are not here hold zeros."""
        if self._requests is None:
            return {}
        with self._requests.one() as request:
            requests.run(request, dict(enumerate(given)))
            tensors = (request.get_output_tensor(i) for i in range(len(self.names)))
            return {
                name: arrays.memory(tensor).copy()
                for name, tensor in zip(self.names, tensors, strict=True)
            }


def check_state(model: ov.Model, what: str, streams: Streams | None) -> None:
    """Refuses an `openvino.Model` whose random state is a variable, not an input.

    Raises:
        ValueError: It is what `openvino.make_stateful` makes.
    """
    names = set(STATES) if streams is None else {streams.state}
    held = names & {variable.get_info().variable_id for variable in model.get_variables()}
    inputs = {name for given in model.inputs for name in given.get_names()}
    if held - inputs:
        name = min(held - inputs)
        given = f"one whose state is the variable {name!r}, as openvino.make_stateful makes it"
        allowed = "one whose state is an input, since the pipeline carries it"
        remedy = "Pass the model that make_stateful was given."
        refuse(_OWNER, what, given, allowed, remedy)


def types_of(request: ov.InferRequest) -> dict[str, np.dtype[Any]]:
    """The names of a model's variables, and their types."""
    return {state.name: arrays.memory(state.state).dtype for state in request.query_state()}


def set_all(states: Sequence[ov.VariableState], values: Mapping[str, NDArray[Any]]) -> None:
    """Sets variables; those without a value are as at first.

    Raises:
        ValueError: A value is of a shape that the model does not take.
    """
    for state in states:
        if state.name not in values:
            state.reset()
            continue
        array = values[state.name]
        try:
            state.state = arrays.tensor(array)
        except RuntimeError:
            what = f"the variable {state.name!r}"
            given = f"shape {[*array.shape]}"
            remedy = "Go on from a checkpoint of this model."
            refuse(_OWNER, what, given, "of a shape that the model takes", remedy)


def held(states: Sequence[ov.VariableState]) -> Arrays:
    """What variables hold."""
    return {state.name: arrays.memory(state.state).copy() for state in states}
