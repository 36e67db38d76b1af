"""Reads and records what a model's random nodes draw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import onnx_ir as ir

from onnx_philox._contract import generators
from onnx_philox._contract.operators import DOMAIN, OPERATORS, OUTPUT_TYPE
from onnx_philox._contract.streams import (
    METADATA_KEY,
    STANDARD,
    STANDARD_STATE,
    STATE,
    Stream,
    Streams,
    kept_in,
    next_name,
    states_among,
)
from onnx_philox._models import ours
from onnx_philox._models.onnx_graphs import subgraphs, walk


def streams_of(model: ir.Model) -> Streams | None:
    """The streams of a model; None if it has no state as an input, or no next state.

    Of standard nodes only the metadata knows what they draw.
    """
    state = read_input(model)
    next_state = None
    if state is not None:
        next_state = next_of(model, state)
    if state is None or next_state is None:
        return None
    nodes = _nodes_of(model)
    metadata = model.metadata_props.get(METADATA_KEY, "")
    if not nodes:
        recorded = Streams.from_json(metadata)
        nodes = recorded.nodes if recorded else ()
    alignment = generator_of(model).alignment
    batch, axis = _batch_of(model, state)
    inverted = Streams.recorded(metadata).inverted
    return Streams(
        state.name or "",
        next_state,
        batch,
        nodes,
        alignment,
        axis,
        inverted,
    )


def states_in(model: ir.Model) -> list[str]:
    """The inputs that are its states: several if it was merged of rewritten models."""
    states = {value for value in read_states(model) if value.dtype is ir.DataType.UINT32}
    inputs = [value.name or "" for value in model.graph.inputs if value in states]
    outputs = [value.name or "" for value in model.graph.outputs]
    return states_among(inputs, outputs)


def record(
    model: ir.Model,
    kept: Iterable[Stream] = (),
    *inverted: str,
    batch: tuple[str, int] | None = None,
) -> None:
    """Writes the streams into the model's metadata.

    Args:
        model: The model.
        kept: The nodes that newly kept their seeds.
        inverted: The Bernoullis that newly draw the complement.
        batch: The input and its dimension that a rewrite has taken for the batch.
    """
    kept = {*_kept(model), *kept}
    streams = streams_of(model)
    if streams is not None and batch is not None:
        name, axis = batch
        streams = replace(streams, batch=name, batch_axis=axis)
    if streams is None and kept:
        streams = Streams(
            STATE,
            "",
            None,
            _nodes_of(model),
        )
    if streams is not None:
        by_order = {each.order: each for each in kept}
        nodes = tuple(by_order.get(node.order, node) for node in streams.nodes)
        inverted = streams.inverted + inverted
        streams = replace(streams, nodes=nodes, inverted=inverted)
        model.metadata_props[METADATA_KEY] = streams.to_json()


def stream_of(node: ir.Node, kept: str = "") -> Stream:
    """What a node of this package draws."""
    said = node.attributes.get_string(OUTPUT_TYPE, "") or ""
    global_seed = ours.seed_of(node, "global_seed")
    op_seed = ours.seed_of(node, "op_seed")
    return Stream(node.op_type, said, global_seed, op_seed, kept)


def kept_among(model: ir.Model, nodes: Iterable[ir.Node]) -> list[ir.Node]:
    """The nodes, among these of this package, that kept their own seeds."""
    kept = {each.order for each in _kept(model)}
    return [node for node in nodes if stream_of(node).order in kept]


def _kept(model: ir.Model) -> frozenset[Stream]:
    return kept_in(model.metadata_props.get(METADATA_KEY, ""))


def _batch_of(model: ir.Model, state: ir.Value) -> tuple[str | None, int]:
    """The input of which a dimension is as large as there are states, the first if one's is."""
    if state.shape is None or len(state.shape) != 2:
        return None, 0
    if state.shape[0] == 1:
        return None, 0
    rows = state.shape[0]
    is_name = isinstance(rows, ir.SymbolicDim) and rows.value is not None
    alike = []
    for value in model.graph.inputs:
        for axis, dimension in enumerate(value.shape or ()):
            if value is not state and dimension == rows:
                alike.append((axis, value.name))
    found = [(axis, name) for axis, name in alike if axis == 0 or is_name]
    has_no_name = not is_name and not isinstance(rows, int)
    unnamed = alike if has_no_name else []
    metadata = model.metadata_props.get(METADATA_KEY, "")
    said = Streams.recorded(metadata)
    if (said.batch_axis, said.batch) in unnamed:
        # Dimensions without names are told apart by the record alone.
        return said.batch, said.batch_axis
    # Else only the states themselves show how many there are.
    first = (0, state.name)
    axis, name = min(found, key=lambda each: each[0], default=first)
    return name, axis


def names_of_batch(model: ir.Model, streams: Streams) -> list[str]:
    """What the batch of a model may be called: its name, if it has one, or an input and axis."""
    inputs = {value.name: value for value in model.graph.inputs}
    given = inputs.get(streams.batch)
    shape = None if given is None else given.shape
    dimension = None
    if shape is not None and streams.batch_axis < len(shape):
        dimension = shape[streams.batch_axis]
    place = f"{streams.batch}:{streams.batch_axis}"
    if not isinstance(dimension, ir.SymbolicDim) or dimension.value is None:
        return [place]
    same = [
        f"{value.name}:{axis}"
        for value in model.graph.inputs
        for axis, other in enumerate(value.shape or ())
        if other == dimension
    ]
    return [dimension.value, *same]


def read_input(model: ir.Model) -> ir.Value | None:
    """The input that a model's draws read as their state; None if they read none.

    Other inputs and outputs may have such names and types.
    """
    states = [value for value in model.graph.inputs if value.dtype is ir.DataType.UINT32]
    if states:
        read = read_states(model)
        states = [value for value in states if value in read]

    # A rewritten model may also have a state of its user's own.
    def rank(state: ir.Value) -> tuple[bool, bool]:
        has_next = next_of(model, state) is not None
        return has_next, STATE in str(state.name)

    return max(states, key=rank, default=None)


def generator_of(model: ir.Model) -> generators.Generator:
    """The generator by which nodes of this package in a model draw from a state."""
    draws = [node for node in _ours(model) if ours.state_of(node)]
    return generators.the_named(ours.generator_of(node) for node in draws)


def next_of(model: ir.Model, state: ir.Value) -> str | None:
    """The output with the next state, by the names of both; None if there is none."""
    outputs = [value.name or "" for value in model.graph.outputs]
    return next_name(state.name or "", outputs)


def read_states(model: ir.Model) -> frozenset[ir.Value]:
    """The values that random nodes' states are computed from, and what standard draws read."""
    states = [ours.state_of(node) for node in _ours(model)]
    if STANDARD in model.metadata_props:
        # An earlier version did not name it.
        name = model.metadata_props.get(STANDARD_STATE, STATE)
        named = [value for value in model.graph.inputs if value.name == name]
        # A tool may have put a prefix before all names of the model since.
        if not named and name:
            named = [v for v in model.graph.inputs if (v.name or "").endswith(name)]
        states += named
    return sources_of(model, states)


def sources_of(model: ir.Model, values: Iterable[ir.Value | None]) -> frozenset[ir.Value]:
    """All values that some are computed from, themselves among them."""
    # For each value inside a subgraph or a function, the values it comes from.
    outside: dict[ir.Value, list[ir.Value | None]] = {}
    waiting = list(values)
    graphs = [model.graph]
    graphs += [function.graph for function in model.functions.values()]
    for graph in graphs:
        for node, _ in walk(graph):
            called = model.functions.get(node.op_identifier())
            bodies = [called] if called else [body for _, body in subgraphs(node)]
            for inner in bodies:
                for given, taken in zip(node.inputs, inner.inputs, strict=False):
                    outside.setdefault(taken, []).append(given)
                for output in node.outputs:
                    sources = outside.setdefault(output, [])
                    sources.extend(inner.outputs)
    found: set[ir.Value] = set()
    while waiting:
        value = waiting.pop()
        if value is None or value in found:
            continue
        found.add(value)
        waiting += outside.get(value, ())
        producer = value.producer()
        if producer:
            waiting += producer.inputs
    return frozenset(found)


def _ours(model: ir.Model) -> Iterator[ir.Node]:
    """The nodes of this package in a model, in order, also those in functions."""
    graphs = [model.graph]
    graphs += [function.graph for function in model.functions.values()]
    for graph in graphs:
        for node, _ in walk(graph):
            if node.domain == DOMAIN and node.op_type in OPERATORS:
                yield node


def _nodes_of(model: ir.Model) -> tuple[Stream, ...]:
    kept = {each.order: each for each in _kept(model)}
    streams = map(stream_of, _ours(model))
    nodes = [kept.get(stream.order, stream) for stream in streams]
    if not generator_of(model).is_counter_based:
        # They have no numbers: the generator goes through them in order.
        return tuple(nodes)
    nodes.sort(key=lambda stream: stream.order)
    return tuple(nodes)
