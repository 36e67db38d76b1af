"""Writes a node of this package, or the words that several share, in ONNX's own domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import onnx_ir as ir

from onnx_philox._contract.operators import STATE_WORDS, Role
from onnx_philox._standard import counts
from onnx_philox._standard.builder import Builder
from onnx_philox._standard.counts import Count, StateRows
from onnx_philox._standard.targets import DrawnNode, OpenVino, Out, Target


def emit(
    b: Builder,
    target: Target,
    draw: DrawnNode,
    *,
    needs_state: bool,
    shared_words: ir.Value | None = None,
) -> tuple[ir.Value | None, ...]:
    """Makes the nodes that draw: each output; the next state is None where it is not needed.

    `shared_words` are the words, where they are drawn already.

    Nodes:
        shape -> count -> (state, count) -> words -> (words, parameters) -> values
                          (state, count) -> next state
    """
    rows = rows_of(b, target, draw)
    out = _output(b, draw, rows)
    count = _words(b, draw, out.count)
    words = shared_words or target.words(b, draw, rows, count)
    values = target.values(b, draw, words, out)
    if needs_state:
        next_state = target.next_state(b, rows.state, count)
        return *values, next_state
    return *values, None


def rows_of(b: Builder, target: Target, draw: DrawnNode) -> StateRows:
    """The states of a draw."""
    number = _known_rows(draw)
    if "state" not in draw.inputs:
        zeros = b.u32([0] * STATE_WORDS)
        return StateRows(number, zeros)
    constant = draw.constant("state")
    state = draw.inputs["state"]
    if constant is not None:
        state = target.state(b, constant)
    return StateRows(number, state)


def words_of_state(draw: DrawnNode) -> int | None:
    """How many words each state draws, if that is known before a run."""
    rows = _known_rows(draw)
    elements = counts.known_per_row(rows, draw.uniforms, is_by_row=draw.is_by_row)
    if elements is None:
        return None
    no_nodes = Builder(None)
    words = _words(no_nodes, draw, elements)
    assert isinstance(words, int), "of a number, which takes no nodes"
    return words


def _known_rows(draw: DrawnNode) -> int | None:
    """How many states a draw has, if that is known."""
    known = draw.known.get("state")
    if "state" not in draw.inputs:
        return 1
    if known is None or known.shape is None:
        return None
    if len(known.shape) != 2:
        # One state has no other dimension than 1, so an unknown one is 1.
        return 1
    rows, words = known.shape
    if rows is None:
        return None
    return rows * (words or 0) // STATE_WORDS


def _output(b: Builder, draw: DrawnNode, rows: StateRows) -> Out:
    dimensions = draw.uniforms
    size = draw.operator.size_input
    if draw.operator.has_shape:
        given = draw.inputs["shape"]
        known = draw.constant("shape")
        shape = counts.int64(b, given, known)
    elif draw.draws_classes_once or size.role is Role.DATA:
        shape = b("Shape", draw.inputs[size.name])
    else:
        samples = draw.attributes["sample_size"]
        logits = draw.known["logits"]
        batch = None
        if logits is not None and logits.shape is not None:
            batch = logits.shape[0]
        dimensions = batch, samples
        if batch is not None:
            shape = b.constant([batch, samples])
        else:
            of_batch = b("Shape", draw.inputs["logits"], start=0, end=1)
            of_samples = b.constant([samples])
            shape = b("Concat", of_batch, of_samples, axis=0)
    count = counts.per_row(b, rows, shape, dimensions, is_by_row=draw.is_by_row)
    return Out(shape, count)


def _words(b: Builder, draw: DrawnNode, elements: Count) -> Count:
    """How many words each state draws."""
    if draw.operator.words.are_paired:
        elements = counts.rounded_up_to_even(b, elements)
    return counts.times(b, elements, draw.words_per_value)


_MOST_WORDS = 2**22
"""Of the draws that share a generator: all of them are in memory from the first draw on."""


def words(
    draws: Mapping[ir.Node, DrawnNode],
    target: OpenVino,
    builder: Callable[[], Builder],
) -> dict[ir.Node, ir.Value]:
    """The words of the draws that share a generator, made before the first of its draws.

    Draws share one whose states, graph and `global_seed` are the same, and whose sizes are known.

    Nodes:
        state -> one generator -> Split -+-> words of the first draw -> its values
                                         +-> words of the second draw -> its values
    """
    found: dict[ir.Node, ir.Value] = {}
    for group in _groups(draws):
        first = next(iter(group))
        b = builder()
        rows = rows_of(b, target, draws[first])
        of_group = [draws[node] for node in group]
        word_counts = list(group.values())
        made = target.words_of_several(b, of_group, rows, word_counts)
        first.prepend(b.nodes)
        found.update(zip(group, made, strict=True))
    return found


def _groups(draws: Mapping[ir.Node, DrawnNode]) -> list[dict[ir.Node, int]]:
    """The draws from the same states, with the same key, in one graph; each with its words."""
    open_: dict[tuple[Any, ...], dict[ir.Node, int]] = {}
    closed = []
    for node, draw in draws.items():
        count = words_of_state(draw)
        if count is None:
            continue
        key = _key(node, draw)
        if key in open_:
            taken = sum(open_[key].values())
            if taken + count > _MOST_WORDS:
                closed.append(open_.pop(key))
        group = open_.setdefault(key, {})
        group[node] = count
    groups = [*closed, *open_.values()]
    # One draw shares with nobody, and draws of nothing need no generator.
    return [group for group in groups if len(group) > 1 and any(group.values())]


def _key(node: ir.Node, draw: DrawnNode) -> tuple[Any, ...]:
    """What draws of one generator have in common."""
    constant = draw.constant("state")
    state: Any = draw.inputs.get("state")
    if constant is not None:
        state = constant.shape, constant.tobytes()
    global_seed = draw.attributes["global_seed"]
    return id(node.graph), state, global_seed
