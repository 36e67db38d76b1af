"""Reads and records what a model's random nodes draw."""

from __future__ import annotations

import onnx_ir as ir

from onnx_philox._contract.operators import DOMAIN, OPERATORS, OUTPUT_TYPE
from onnx_philox._contract.streams import METADATA_KEY, NEXT_PREFIX, Stream, Streams
from onnx_philox._rewriting.nodes.attributes import seed_of


def streams_of(model: ir.Model) -> Streams | None:
    """The streams of a model; None if it has no state as an input, or no next state."""
    outputs = {value.name for value in model.graph.outputs}
    for state in model.graph.inputs:
        name = state.name or ""
        if state.dtype is ir.DataType.UINT32 and NEXT_PREFIX + name in outputs:
            return Streams(name, NEXT_PREFIX + name, _batch_of(model, state), _nodes_of(model))
    return None


def record(model: ir.Model) -> None:
    """Writes the streams into the model's metadata."""
    streams = streams_of(model)
    if streams is not None:
        model.metadata_props[METADATA_KEY] = streams.to_json()


def _batch_of(model: ir.Model, state: ir.Value) -> str | None:
    """The input that has as many rows as there are states, and as its first dimension."""
    if state.shape is None or len(state.shape) != 2 or state.shape[0] == 1:
        return None
    for value in model.graph.inputs:
        if value is not state and value.shape and value.shape[0] == state.shape[0]:
            return value.name
    # Nothing but the states says how many there are.
    return state.name


def _nodes_of(model: ir.Model) -> tuple[Stream, ...]:
    functions = [node for function in model.functions.values() for node in function.all_nodes()]
    nodes = [
        Stream(
            node.op_type,
            node.attributes.get_string(OUTPUT_TYPE, "") or "",
            seed_of(node, "global_seed"),
            seed_of(node, "op_seed"),
        )
        for node in [*model.graph.all_nodes(), *functions]
        if node.domain == DOMAIN and node.op_type in OPERATORS
    ]
    return tuple(sorted(nodes, key=lambda s: (s.op_seed, s.global_seed, s.op_type, s.output_type)))
