"""Runs a model in a runtime, and sees what its nodes draw there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from onnx_philox._backends import AUTO
from onnx_philox._contract.operators import DOMAIN, OPERATORS
from onnx_philox._files.given import Given
from onnx_philox._numbers import call as calls
from onnx_philox._numbers import fill_numpy
from onnx_philox._numbers.call import Called
from onnx_philox._rewriting.recorded import NEXT_STATE
from onnx_philox._runtimes import RUNTIMES
from onnx_philox._runtimes.models import LoadedModel, RunError, Settings
from onnx_philox._runtimes.port import ArgumentError

_PYTHON = "python"


class NotLoadedError(RunError):
    """A runtime does not load a model."""


@dataclass(frozen=True)
class SeenRun:
    """What came of a run."""

    backend: str
    after: NDArray[np.uint32] | None
    """The model's next state; None of a model with a seed inside."""
    outputs: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Seen:
    """The runs of a model in a runtime.

    Attributes:
        runs: What came of each; the last is that of the best backend.
        drawn: The calls of our operators in the first run, in the order in which they were made.
        is_whole: Whether these are all, and not those of the main graph alone.
        problem: A native draw that is not the reference's, in words.
    """

    runs: tuple[SeenRun, ...]
    drawn: list[Called]
    is_whole: bool = True
    problem: str | None = None


def run(
    runtime: type[LoadedModel], proto: onnx.ModelProto, feeds: Mapping[str, NDArray[Any]]
) -> Seen:
    """Runs a model by the Python backend, whose draws can be seen, and by the best one.

    A type that the Python backend does not carry is drawn by the best one alone. What nodes of the
    main graph read and draw are then outputs, and the reference draws anew from what they read.

    Raises:
        ArgumentError: The settings or the file do not suit the runtime.
        NotLoadedError: It does not load the model.
        RunError: It does not run it.
    """
    drawn: list[Called] = []

    def see(called: Called) -> None:
        # A runtime uses the memory of inputs again.
        inputs = {n: None if a is None else a.copy() for n, a in called.inputs.items()}
        drawn.append(replace(called, inputs=inputs, state=called.state.copy()))

    try:
        with calls.watched(see):
            seen = _outcome(runtime, proto, feeds, _PYTHON)
    except (ArgumentError, runtime.not_carried_error):
        return _natively(runtime, proto, feeds)
    return Seen((seen, _outcome(runtime, proto, feeds, AUTO)), drawn)


def reference_of(called: Called) -> Called:
    """What NumPy draws in the place of a call."""
    drawn: list[Called] = []
    with calls.watched(drawn.append):
        calls.run(called.operator, fill_numpy.fill, called.inputs, called.attributes)
    return drawn[-1]


def _outcome(
    runtime: type[LoadedModel],
    proto: onnx.ModelProto,
    feeds: Mapping[str, NDArray[Any]],
    backend: str,
) -> SeenRun:
    precision = "f32" if RUNTIMES[runtime.runtime].precisions else None
    given = Given.of("onnx_philox.torch", proto)
    try:
        loaded = runtime.load(given, Settings(backend=backend, precision=precision))
    except (ArgumentError, runtime.not_carried_error):
        raise
    except Exception as error:
        title = f"{runtime.runtime} {runtime.version}"
        raise NotLoadedError.of(title, "load the model", error) from error
    names = {port.name for port in loaded.inputs}
    outputs = dict(loaded.run({k: v for k, v in feeds.items() if k in names}))
    return SeenRun(loaded.backend, outputs.pop(NEXT_STATE, None), outputs)


def _natively(
    runtime: type[LoadedModel], proto: onnx.ModelProto, feeds: Mapping[str, NDArray[Any]]
) -> Seen:
    shown, nodes = onnx.ModelProto(), list(_ours(proto.graph))
    shown.CopyFrom(proto)
    own = {output.name for output in proto.graph.output}
    made = {name for node in proto.graph.node for name in node.output}
    for i, node in enumerate(nodes):
        node = next(n for n in shown.graph.node if n.output[0] == node.output[0])
        outputs = OPERATORS[node.op_type].outputs
        node.output.extend([""] * (len(outputs) - len(node.output)))
        node.output[:] = [
            name or f"{node.output[0]}/{declared.name}"
            for name, declared in zip(node.output, outputs, strict=True)
        ]
        nodes[i] = node
    names = {n for node in nodes for n in (*node.output, *(i for i in node.input if i in made))}
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in sorted(names - own))
    outcome = _outcome(runtime, shown, feeds, AUTO)
    known = {i.name: numpy_helper.to_array(i) for i in proto.graph.initializer}
    known |= {**feeds, **outcome.outputs}
    if outcome.after is not None:
        known[NEXT_STATE] = outcome.after
    drawn: list[Called] = []
    problem = None
    for node in nodes:
        op = OPERATORS[node.op_type]
        inputs = {d.name: known[n] for d, n in zip(op.inputs, node.input, strict=False) if n}
        given = {a.name: _attribute(a) for a in node.attribute}
        with calls.watched(drawn.append):
            expected = calls.run(op, fill_numpy.fill, inputs, given)
        for name, one in zip(node.output, expected, strict=True):
            if problem is None and known[name].tobytes() != one.tobytes():
                problem = f"{op.name} ({node.name}) draws others than the reference."
    asked = {name: array for name, array in outcome.outputs.items() if name in own}
    is_whole = not any(_ours(graph) for graph in _bodies(proto.graph))
    return Seen((replace(outcome, outputs=asked),), drawn, is_whole, problem)


def _ours(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    return [node for node in graph.node if node.domain == DOMAIN and node.op_type in OPERATORS]


def _bodies(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield attribute.g
                yield from _bodies(attribute.g)


def _attribute(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    return value.decode() if isinstance(value, bytes) else value
