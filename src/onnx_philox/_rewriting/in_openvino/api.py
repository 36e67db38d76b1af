"""Rewrites a model of OpenVINO, or only looks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import openvino as ov
from openvino import opset8

from onnx_philox._contract import checks
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.streams import METADATA_KEY, STATE, Stream, Streams
from onnx_philox._openvino_models.graphs import forget_order
from onnx_philox._rewriting import earlier_rewrite
from onnx_philox._rewriting.asked import OWNER, Asked
from onnx_philox._rewriting.earlier_rewrite import NEXT_STATE
from onnx_philox._rewriting.in_onnx.passes.order import check_rows_beside
from onnx_philox._rewriting.in_openvino import earlier
from onnx_philox._rewriting.in_openvino.find import Found, find_nodes
from onnx_philox._rewriting.in_openvino.number import number_nodes
from onnx_philox._rewriting.in_openvino.rows import prove_rows
from onnx_philox._rewriting.in_openvino.states import Carrier, State, state_of, state_of_kept
from onnx_philox._rewriting.kept_seeds import warn_of_repeats
from onnx_philox._rewriting.may_stay import leave
from onnx_philox._rewriting.not_rows import check_names
from onnx_philox._rewriting.report import RandomNode, Report


def find_random_nodes(model: ov.Model) -> list[RandomNode]:
    """The random nodes of a model, in the order of their streams; the model is not changed."""
    # A clone shares the weights, and has no nodes that only Python still holds.
    return [found.record() for found in find_nodes(model.clone())]


def rewrite(model: ov.Model, asked: Asked) -> tuple[ov.Model, Report]:
    """A model whose random nodes are replaced, and what was done.

    It is a clone, which shares the weights; a model without random nodes comes back itself.

    Raises:
        TypeError: A random node is of a type that is not allowed.
        ValueError: A random node breaks its rules or has no replacement; the model cannot be given
            what is asked for; or, with `per_row`, a draw is not proved to be rows of the batch.
    """
    asked.check_openvino()
    seed, named = asked.seed, asked.named
    new = model.clone()
    recorded = earlier.read(new)
    if recorded.is_input:
        earlier_rewrite.check_seed_beside_input(seed)
    elif recorded.seed is not None:
        earlier_rewrite.check_same_seed(seed, recorded.seed)
    if named is not None:
        check_rows_beside(has_state=recorded.state is not None, has_rows=recorded.has_rows)
    replaceable, kept = [], []
    for found in find_nodes(new, keep_seeds=asked.keep_seeds):
        if found.error is None:
            replaceable.append(found)
            continue
        leave(found.error, keep_unknown=asked.keep_unknown)
        kept.append(found.record())
    if recorded.variable and (replaceable or seed is not None or named is not None):
        given = f"one whose state is the variable {recorded.variable!r}"
        allowed = "one whose state is no variable, to be rewritten again or given a seed or rows"
        remedy = "Rewrite the model that make_stateful was given, or the one before it."
        checks.refuse(OWNER, "the model", given, allowed, remedy)
    if not replaceable:
        check_names(() if recorded.has_rows else named or (), ())
        has_state = recorded.state is not None or recorded.variable
        if asked.keep_seeds and has_state and recorded.rewritten and not recorded.kept:
            given = "True for a model that was rewritten without it, whose seeds are gone"
            allowed = "left out, or given in the first rewrite"
            remedy = "Rewrite the model that this one was made from."
            checks.refuse(OWNER, "keep_seeds", given, allowed, remedy)
        done = len(recorded.rewritten) if has_state else 0
        return model, Report(
            kept=tuple(kept), recorded=done, seed=recorded.seed, is_per_row=recorded.has_rows
        )
    if recorded.state is None:
        _check_names(new)
    if recorded.has_rows:
        allowed = "one with a single state, or none yet, to be rewritten again"
        remedy = "Add the draws before the first rewrite, in the model that it was made from."
        checks.refuse(OWNER, "the model", "one with a state for each row", allowed, remedy)
    seed = recorded.seed if recorded.state is not None else seed
    numbered = number_nodes(replaceable, recorded)
    new_kept = [found.kept for found in replaceable if found.kept is not None]
    warn_of_repeats(new_kept, recorded.kept)
    records = tuple(found.record(stream) for found, stream in numbered)
    batch = None if named is None else prove_rows(new, replaceable, named)
    done = len(recorded.rewritten)
    has_key = recorded.has_key or (recorded.state is None and bool(new_kept))
    state = state_of(new, recorded, seed, batch, has_key=has_key)
    is_key_apart = recorded.seed and not has_key and new_kept
    of_kept = state_of_kept(recorded) if is_key_apart else state
    made = {
        drawn.get_name()
        for found, stream in numbered
        for drawn in _replace(found, stream, state, of_kept, 0 if has_key else seed or 0)
    }
    forget_order(new)
    new.validate_nodes_and_infer_types()
    _record(new, None if batch is None else batch.name, made)
    return new, Report(records, tuple(kept), done, seed, is_per_row=batch is not None)


def _check_names(model: ov.Model) -> None:
    """Refuses a model that has other tensors of the names of a state."""
    ends = [*model.inputs, *model.outputs]
    for name in (STATE, NEXT_STATE):
        if any(name in end.get_names() for end in ends):
            earlier_rewrite.refuse_name(name)


def _replace(
    found: Found, stream: int | None, state: State, of_kept: State, global_seed: int
) -> list[ov.Node]:
    """Puts a draw in its place; returns its node if it keeps its own seeds."""
    draw, owners = found.draw, found.site.owners
    assert draw is not None
    carrier = Carrier(owners)
    if not draw.generator.is_counter_based:
        given = _of_seed(draw.generator, draw.seeds)
    else:
        state = state if draw.seeds is None else of_kept
        bits = carrier.carry_in(state.words) if owners else state.bits
        seeds = draw.seeds or (global_seed, stream)
        given = {"global_seed": seeds[0], "op_seed": seeds[1], "state": bits}
    made: list[ov.Node] = []

    def emit(factory: Any, *arguments: Any, **named: Any) -> ov.Node:
        node: ov.Node = factory(*arguments, **named, **given)
        made.append(node)
        return node

    new = draw.make(emit)
    old = draw.output
    if new.get_node().get_name() != old.get_node().get_name():
        new.get_node().set_friendly_name(old.get_node().get_friendly_name())
        old.replace(new)
    (node,) = made
    if carrier.returns:
        carrier.carry_out(node.output(node.get_output_size() - 1))
    return [] if draw.seeds is None else [node]


def _of_seed(generator: Generator, seeds: tuple[int, int] | None) -> dict[str, Any]:
    """What a node has that draws a generator's numbers for a seed, in every run."""
    seed = 0 if seeds is None else seeds[0]
    if seed:
        return {**generator.attributes, "global_seed": seed}
    # Both seeds 0 would say that there is none.
    return {**generator.attributes, "state": opset8.constant(generator.of_seed(OWNER, 0))}


def _record(model: ov.Model, batch: str | None, kept: Collection[str]) -> None:
    """Writes the streams into the model, and so into IR; `kept` are nodes by `get_name`."""
    recorded = earlier.read(model)
    nodes = [
        replace(ours, is_kept=True) if ours.node.get_name() in kept else ours
        for ours in recorded.nodes
    ]
    recorded = replace(recorded, nodes=tuple(nodes))
    streams = _streams(recorded)
    if streams is None and recorded.kept:
        streams = Streams(STATE, "", None, _sorted(recorded))
    if streams is not None:
        model.set_rt_info(replace(streams, batch=batch).to_json(), [METADATA_KEY])


def streams_of(model: ov.Model) -> Streams | None:
    """The streams of a model; None if it has no state as an input and the next as an output."""
    return _streams(earlier.read(model))


def _streams(recorded: earlier.Recorded) -> Streams | None:
    if not recorded.is_input or recorded.next_state is None:
        return None
    return Streams(recorded.state_name, recorded.next_state, None, _sorted(recorded))


def _sorted(recorded: earlier.Recorded) -> tuple[Stream, ...]:
    return tuple(sorted((o.stream for o in recorded.nodes), key=lambda stream: stream.order))
