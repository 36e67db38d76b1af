"""Rewrites a model of OpenVINO, or only looks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import openvino as ov
from openvino import opset8

from onnx_philox._contract import checks
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.streams import METADATA_KEY, STATE, Streams, check_one_state
from onnx_philox._openvino_models.openvino_graphs import forget_order, metadata
from onnx_philox._rewriting import order
from onnx_philox._rewriting.asked import OWNER, THE_ORIGINAL, Asked
from onnx_philox._rewriting.in_openvino import openvino_earlier
from onnx_philox._rewriting.in_openvino.carry_states import Carrier, State, state_of, state_of_kept
from onnx_philox._rewriting.in_openvino.draw_openvino_inputs import draw_inputs
from onnx_philox._rewriting.in_openvino.find_openvino import Found, find_nodes
from onnx_philox._rewriting.in_openvino.moved_batch import stand_first
from onnx_philox._rewriting.in_openvino.prove_openvino_rows import Batch, Rows
from onnx_philox._rewriting.in_openvino.replacements import NewDraw, inlined_comparison
from onnx_philox._rewriting.recorded import NEXT_STATE, check_draws_beside, refuse_name
from onnx_philox._rewriting.report import RandomNode, Report

_Plan = order.Plan[NewDraw, Batch]


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
    new = model.clone()
    draw_inputs(new, asked.drawn_inputs)
    report = order.rewrite(FORMAT, new, asked)
    if report.is_changed:
        return new, report
    return model, report


def _check(
    model: ov.Model,
    asked: Asked,
    recorded: openvino_earlier.Recorded,
    found: Sequence[Found],
) -> None:
    has_new = any(isinstance(each, NewDraw) for each in found)
    is_asked_anew = asked.seed is not None or asked.named is not None
    if recorded.variable and (has_new or is_asked_anew):
        given = f"one whose state is the variable {recorded.variable!r}"
        allowed = "one whose state is no variable, to be rewritten again or given a seed or rows"
        remedy = "Rewrite the model that make_stateful was given, or the one before it."
        checks.refuse(OWNER, "the model", given, allowed, remedy)
    was_rewritten_without = recorded.nodes and not recorded.kept
    if asked.keep_seeds and was_rewritten_without and not has_new:
        given = "True for a model that was rewritten without it, whose seeds are gone"
        allowed = "left out, or given in the first rewrite"
        checks.refuse(OWNER, "keep_seeds", given, allowed, THE_ORIGINAL)
    states = openvino_earlier.states_in(model, recorded)
    is_first = has_new and recorded.state is None
    if is_first:
        states = [*states, STATE]
    check_one_state(OWNER, states)
    if is_first:
        _check_names(model)
    if has_new:
        check_draws_beside(recorded, counts_runs=openvino_earlier.counts_runs(model, recorded))
    if has_new and recorded.has_rows:
        allowed = "one with a single state, or none yet, to be rewritten again"
        remedy = "Add the draws before the first rewrite, in the model that it was made from."
        checks.refuse(OWNER, "the model", "one with a state for each row", allowed, remedy)


def _replace(model: ov.Model, recorded: openvino_earlier.Recorded, plan: _Plan) -> None:
    state = state_of(model, recorded, plan.seed, plan.batch, has_key=plan.has_key)
    of_kept = state
    is_keyless = recorded.seed and not plan.has_key
    if is_keyless and any(draw.seeds for draw in plan.nodes):
        # The key stands apart from the state that others read.
        of_kept = state_of_kept(recorded)
    made = set[str]()
    for draw in plan.nodes:
        node = _draw(draw, state, of_kept, plan)
        if draw.seeds is not None:
            made.add(node.get_name())
    forget_order(model)
    model.validate_nodes_and_infer_types()
    _record(model, plan, made)


def _check_names(model: ov.Model) -> None:
    """Refuses a model that has other tensors of the names of a state."""
    for name in (STATE, NEXT_STATE):
        for where, ends in (("input", model.inputs), ("output", model.outputs)):
            if any(name in end.get_names() for end in ends):
                rename = f"model.{where}({name!r}).set_names({{'own_{name}'}})"
                refuse_name(name, rename)


def _draw(
    draw: NewDraw,
    state: State,
    of_kept: State,
    plan: _Plan,
) -> ov.Node:
    """Puts a draw in its place; returns its node."""
    carrier = Carrier(draw.site.owners, has_rows=plan.batch is not None)
    own = of_kept if draw.seeds else state
    given = _seeds_and_state(draw, own, carrier, plan)
    made: list[ov.Node] = []

    def emit(factory: Any, *arguments: Any, **named: Any) -> ov.Node:
        node: ov.Node = factory(*arguments, **named, **given)
        made.append(node)
        return node

    new = draw.make(emit)
    old = draw.output
    comparison = inlined_comparison(draw.site.node)
    is_inverted = draw.share is not None and draw.share.is_inverted
    if comparison is not None and is_inverted:
        if old.get_node() != comparison:
            threshold = comparison.input_value(1)
            new = opset8.greater(new, threshold).output(0)
            old = comparison.output(0)
        new = opset8.logical_not(new).output(0)
    new_node = new.get_node()
    old_node = old.get_node()
    if new_node.get_name() != old_node.get_name():
        new_node.set_friendly_name(old_node.get_friendly_name())
        old.replace(new)
    (node,) = made
    place = None
    if plan.batch is not None:
        place = plan.batch.places.get(draw.site.node.get_name())
    if place is not None and not place.is_first:
        stand_first(node, place)
    if carrier.returns:
        last = node.get_output_size() - 1
        carrier.carry_out(node.output(last))
    return node


def _seeds_and_state(
    draw: NewDraw,
    state: State,
    carrier: Carrier,
    plan: _Plan,
) -> dict[str, Any]:
    """What the factory of a draw is given beside its inputs."""
    global_seed, op_seed = draw.seeds or (plan.global_seed, draw.stream)
    if not draw.generator.is_counter_based:
        return _of_seed(draw.generator, global_seed)
    bits = state.bits
    if draw.site.owners:
        bits = carrier.carry_in(state.words)
    return {"global_seed": global_seed, "op_seed": op_seed, "state": bits}


def _of_seed(generator: Generator, seed: int) -> dict[str, Any]:
    """What a node has that draws a generator's numbers for a seed, in every run."""
    if seed:
        return {**generator.attributes, "global_seed": seed}
    # Both seeds 0 would say that there is none.
    state = generator.of_seed(OWNER, 0)
    return {**generator.attributes, "state": opset8.constant(state)}


def _record(model: ov.Model, plan: _Plan, kept: Collection[str]) -> None:
    """Writes the streams into the model, and so into IR; `kept` are nodes by `get_name`."""
    recorded = openvino_earlier.read(model)
    ours = []
    for each in recorded.ours:
        is_kept = each.node.get_name() in kept
        ours.append(each.keeping() if is_kept else each)
    recorded = replace(recorded, ours=tuple(ours))
    has_kept = any(each.is_kept for each in recorded.rewritten)
    if recorded.next_state is None and not has_kept:
        return
    before = Streams.recorded(metadata(model, METADATA_KEY) or "")
    inverted = before.inverted + plan.inverted
    streams = replace(recorded.all_streams, inverted=inverted)
    if plan.batch is not None:
        batch = plan.batch
        streams = replace(streams, batch=batch.name, batch_axis=batch.axis)
    model.set_rt_info(streams.to_json(), [METADATA_KEY])


FORMAT = order.Format(
    find=lambda model, asked: find_nodes(model, keep_seeds=asked.keep_seeds),
    recorded=openvino_earlier.read,
    check=_check,
    # It gives the model's inputs symbols.
    rows=lambda model, nodes, _, asked: Rows(model, nodes, asked),
    replace=_replace,
)
