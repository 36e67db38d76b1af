"""Rewrites a model of OpenVINO, or only looks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import openvino as ov

from onnx_philox._contract import checks
from onnx_philox._contract.alignment import check_word
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.streams import METADATA_KEY, STATE, Stream, Streams
from onnx_philox._rewriting import earlier_rewrite
from onnx_philox._rewriting.earlier_rewrite import NEXT_STATE, OWNER
from onnx_philox._rewriting.openvino_models import earlier
from onnx_philox._rewriting.openvino_models.find import Found, find_nodes
from onnx_philox._rewriting.openvino_models.graphs import forget_order
from onnx_philox._rewriting.openvino_models.rows import prove_rows
from onnx_philox._rewriting.openvino_models.states import Carrier, State, state_of
from onnx_philox._rewriting.passes.number import stream_numbers
from onnx_philox._rewriting.passes.order import check_rows_beside, check_seed, named_nodes
from onnx_philox._rewriting.random_nodes.may_stay import leave
from onnx_philox._rewriting.report import RandomNode, Report


def find_random_nodes(model: ov.Model) -> list[RandomNode]:
    """The random nodes of a model, in the order of their streams; the model is not changed."""
    # A clone shares the weights, and has no nodes that only Python still holds.
    return [found.record() for found in find_nodes(model.clone())]


def rewrite(
    model: ov.Model, *, seed: int | None, keep_unknown: bool, per_row: Any, alignment: str
) -> tuple[ov.Model, Report]:
    """A model whose random nodes are replaced, and what was done.

    It is a clone, which shares the weights; a model without random nodes comes back itself.

    Raises:
        TypeError: A random node, or the seed, is of a type that is not allowed.
        ValueError: A random node breaks its rules or has no replacement; the seed contradicts what
            the model has; or, with `per_row`, a draw is not proved to be rows of the batch.
    """
    check_seed(seed)
    named = named_nodes(per_row, seed)
    check_word(OWNER, alignment)
    if alignment != TENSORFLOW:
        allowed = (
            f"{TENSORFLOW!r} for a model of OpenVINO, which has lost the order of torch's calls"
        )
        remedy = "Rewrite the ONNX file that it was converted from."
        checks.refuse(OWNER, "alignment", repr(alignment), allowed, remedy)
    new = model.clone()
    recorded = earlier.read(new)
    if recorded.is_input:
        earlier_rewrite.check_seed_beside_input(seed)
    elif recorded.seed is not None:
        earlier_rewrite.check_same_seed(seed, recorded.seed)
    replaceable, kept = [], []
    for found in find_nodes(new):
        if found.error is None:
            replaceable.append(found)
            continue
        leave(found.error, keep_unknown=keep_unknown, stacklevel=3)
        kept.append(found.record())
    if not replaceable:
        done = len(recorded.nodes) if recorded.state is not None else 0
        return model, Report(
            kept=tuple(kept), recorded=done, seed=recorded.seed, is_per_row=recorded.has_rows
        )
    if named is not None:
        check_rows_beside(has_state=recorded.state is not None, has_rows=recorded.has_rows)
    if recorded.state is None:
        _check_names(new)
    if recorded.has_rows:
        allowed = "one with a single state, or none yet, to be rewritten again"
        remedy = "Add the draws before the first rewrite, in the model that it was made from."
        checks.refuse(OWNER, "the model", "one with a state for each row", allowed, remedy)
    seed = recorded.seed if recorded.state is not None else seed
    streams = stream_numbers(recorded.streams, recorded.next_stream)
    numbered = [(found, next(streams)) for found in replaceable]
    records = tuple(found.record(stream) for found, stream in numbered)
    batch = None if named is None else prove_rows(new, replaceable, named)
    state = state_of(new, recorded, seed, batch)
    for found, stream in numbered:
        _replace(found, stream, state, seed or 0)
    forget_order(new)
    new.validate_nodes_and_infer_types()
    _record(new, None if batch is None else batch.name)
    return new, Report(
        records, tuple(kept), len(recorded.nodes), seed, is_per_row=batch is not None
    )


def _check_names(model: ov.Model) -> None:
    """Refuses a model that has other tensors of the names of a state."""
    ends = [*model.inputs, *model.outputs]
    for name in (STATE, NEXT_STATE):
        if any(name in end.get_names() for end in ends):
            earlier_rewrite.refuse_name(name)


def _replace(found: Found, stream: int, state: State, seed: int) -> None:
    draw, owners = found.draw, found.site.owners
    assert draw is not None
    carrier = Carrier(owners)
    bits = carrier.carry_in(state.words) if owners else state.bits
    made: list[ov.Node] = []

    def emit(factory: Any, *arguments: Any, **named: Any) -> ov.Node:
        node: ov.Node = factory(*arguments, **named, global_seed=seed, op_seed=stream, state=bits)
        made.append(node)
        return node

    new = draw.make(emit)
    old = draw.output
    new.get_node().set_friendly_name(old.get_node().get_friendly_name())
    old.replace(new)
    if carrier.returns:
        (node,) = made
        carrier.carry_out(node.output(node.get_output_size() - 1))


def _record(model: ov.Model, batch: str | None) -> None:
    """Writes the streams into the model, and so into IR."""
    streams = streams_of(model)
    if streams is not None:
        model.set_rt_info(replace(streams, batch=batch).to_json(), [METADATA_KEY])


def streams_of(model: ov.Model) -> Streams | None:
    """The streams of a model; None if it has no state as an input and the next as an output."""
    recorded = earlier.read(model)
    if not recorded.is_input or recorded.next_state is None:
        return None
    nodes = [
        Stream(ours.operator, ours.output_type, ours.global_seed, ours.op_seed)
        for ours in recorded.nodes
    ]
    nodes.sort(key=lambda s: (s.op_seed, s.global_seed, s.op_type, s.output_type))
    return Streams(recorded.state_name, recorded.next_state, None, tuple(nodes))
