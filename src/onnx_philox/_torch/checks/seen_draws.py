"""Runs a model in a runtime, and sees what its nodes draw there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from onnx_philox._backends import AUTO
from onnx_philox._contract.operators import DOMAIN, OPERATORS
from onnx_philox._contract.streams import STATE
from onnx_philox._files.given import Given
from onnx_philox._numbers import call as calls
from onnx_philox._numbers import fill_numpy
from onnx_philox._rewriting.recorded import NEXT_STATE
from onnx_philox._runtimes import RUNTIMES
from onnx_philox._runtimes.models import LoadedModel, RunError, ToOpen
from onnx_philox._runtimes.port import ArgumentError

Arrays = Mapping[str, NDArray[Any]]


class NotLoadedError(RunError):
    """A runtime does not load a model."""


@dataclass(frozen=True)
class Seen:
    """What came of a run.

    Attributes:
        outputs: The model's.
        after: Its next state; None of a model with a seed inside.
        again: A second run, from that state; None where there was none.
        drawn: What each node of the main graph drew, by its stream; empty where nobody looked.
        problem: The first of these that is not the reference's, in words.
    """

    outputs: Arrays
    after: NDArray[np.uint32] | None
    again: Seen | None = None
    drawn: dict[int, NDArray[Any]] = field(default_factory=dict)
    problem: str | None = None


def run_twice(runtime: type[LoadedModel], proto: onnx.ModelProto, feeds: Arrays) -> Seen:
    """Runs a model, and again from the state that it ends in, if it gives that; raises as `run`."""
    return _run(runtime, proto, feeds, runs=2)


def run(runtime: type[LoadedModel], proto: onnx.ModelProto, feeds: Arrays) -> Seen:
    """Runs a model.

    Raises:
        ArgumentError: The settings or the file do not suit the runtime.
        NotLoadedError: It does not load the model.
        RunError: It does not run it.
    """
    return _run(runtime, proto, feeds, runs=1)


def _run(
    runtime: type[LoadedModel],
    proto: onnx.ModelProto,
    feeds: Arrays,
    runs: int,
) -> Seen:
    known = RUNTIMES[runtime.runtime]
    given = Given.of("onnx_philox.torch", proto)
    precision = "f32" if known.precisions else None
    options = known.options.of(AUTO, precision)
    try:
        loaded = runtime.open(ToOpen(given, options))
    except (ArgumentError, runtime.not_carried_error):
        raise
    except Exception as error:
        title = f"{runtime.runtime} {runtime.version}"
        raise NotLoadedError.of(title, "load the model", error) from error
    names = {port.name for port in loaded.inputs}

    def of_state(feeds: Arrays, runs: int) -> Seen:
        taken = {name: array for name, array in feeds.items() if name in names}
        outputs = dict(loaded.run(taken))
        after = outputs.pop(NEXT_STATE, None)
        again = None
        if after is not None and runs > 1:
            again = of_state({**feeds, STATE: after}, runs - 1)
        return Seen(outputs, after, again)

    return of_state(feeds, runs)


def run_beside_reference(
    runtime: type[LoadedModel],
    proto: onnx.ModelProto,
    feeds: Arrays,
    state: NDArray[np.uint32] | None,
) -> Seen:
    """Runs a model, and what the nodes of its main graph read in NumPy, too; raises as `run`.

    Args:
        runtime: The runtime.
        proto: The model.
        feeds: Its inputs.
        state: The state that it draws from, or those of rows; None of one with a seed inside.
    """
    own = {output.name for output in proto.graph.output}
    shown = onnx.ModelProto()
    shown.CopyFrom(proto)
    nodes = _with_all_shown(shown)
    seen = run(runtime, shown, feeds)
    constants = {i.name: numpy_helper.to_array(i) for i in proto.graph.initializer}
    known = {**feeds, **constants, **seen.outputs}
    if seen.after is not None:
        known[NEXT_STATE] = seen.after
    problems: list[str] = []
    drawn = {}
    for node in nodes:
        op = OPERATORS[node.op_type]
        attributes = {a.name: _attribute(a) for a in node.attribute}
        stream = attributes.get("op_seed", 0)
        output = node.output[op.drawn_output]
        drawn[stream] = known[output]
        problems += _problems(node, known, attributes, state)
    asked = {name: array for name, array in seen.outputs.items() if name in own}
    problem = problems[0] if problems else None
    return Seen(asked, seen.after, None, drawn, problem)


def _with_all_shown(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Makes outputs of the model of all that its random nodes draw and read; returns the nodes."""
    own = {output.name for output in model.graph.output}
    made = {name for node in model.graph.node for name in node.output}
    nodes = []
    for node in model.graph.node:
        if node.domain == DOMAIN and node.op_type in OPERATORS:
            nodes.append(node)
    names: set[str] = set()
    for node in nodes:
        declared = OPERATORS[node.op_type].outputs
        missing = len(declared) - len(node.output)
        node.output.extend([""] * missing)
        first = node.output[0]
        for i, output in enumerate(declared):
            if not node.output[i]:
                node.output[i] = f"{first}/{output.name}"
        names.update(node.output)
        names.update(name for name in node.input if name in made)
    for name in sorted(names - own):
        model.graph.output.add(name=name)
    return nodes


def _problems(
    node: onnx.NodeProto,
    known: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
    state: NDArray[np.uint32] | None,
) -> Iterator[str]:
    """What differs between a node and the reference, in words; nothing where they agree."""
    op = OPERATORS[node.op_type]
    pairs = zip(op.inputs, node.input, strict=False)
    inputs = {declared.name: known[name] for declared, name in pairs if name}
    output = node.output[op.drawn_output]
    shape = list(known[output].shape)
    stream = attributes.get("op_seed", 0)
    title = f"{op.name} of {shape}, stream {stream},"
    expected = calls.run(op, fill_numpy.fill, inputs, attributes)
    for name, one in zip(node.output, expected, strict=True):
        got = known[name]
        if got.tobytes() != one.tobytes():
            count = np.count_nonzero(got != one)
            said = f"{count:,} of {one.size:,} values"
            yield f"{title} differs from the reference: {said}."
    # Words 0 and 1 are the position; the others tell runs and keys apart.
    read = inputs.get("state", np.zeros(6, np.uint32))
    if state is None:
        return
    if not np.array_equal(read[..., 2:], state[..., 2:]):
        yield f"{title} does not draw from the state of the model."


def _attribute(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    return value
