"""Brings the state to each draw of a model of OpenVINO, through Loop, TensorIterator and If.

The nodes are those that `in_onnx/passes/carry_state.py` makes for ONNX, so what is true of them
there is true here: the state is read once, a Loop carries a state for each draw, and a state
crosses the borders of bodies as int64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import openvino as ov
from openvino import opset8

from onnx_philox._contract.operators import DOMAIN, STATE_WORDS
from onnx_philox._contract.state import run_words
from onnx_philox._contract.streams import ROWS_CHECK, STATE
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.openvino_graphs import Owner
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.in_openvino.openvino_earlier import Recorded
from onnx_philox._rewriting.in_openvino.prove_openvino_rows import Batch
from onnx_philox._rewriting.recorded import NEXT_STATE, RUNS, THIS_RUN

_THIS_RUN = f"{DOMAIN}.{THIS_RUN}"


class State(NamedTuple):
    """The state of the main graph."""

    words: ov.Output
    """As i64, which bodies may take."""
    bits: ov.Output
    """As u32, which nodes take."""

    @classmethod
    def of_words(cls, words: ov.Output) -> State:
        """That of i64."""
        bits = opset8.convert(words, "u32")
        return cls(words, bits.output(0))


def state_of(
    model: ov.Model,
    recorded: Recorded,
    seed: int | None,
    batch: Batch | None,
    *,
    has_key: bool,
) -> State:
    """The state of an earlier rewrite, or a new one; with a batch one for each of its rows.

    With `has_key` a new constant has the seed as its key.
    """
    if recorded.state is not None:
        for node in model.get_ordered_ops():
            if node.get_friendly_name() == _THIS_RUN:
                return State.of_words(node.output(0))
        if not recorded.is_input:
            return _constant_state(recorded.state)
        bits = recorded.state.output(0)
        words = opset8.convert(bits, "i64")
        return State(words.output(0), bits)
    if seed is None:
        return State.of_words(_new_input(model, batch))
    words = np.zeros(STATE_WORDS, np.uint32)
    if has_key:
        words = run_words(OWNER, seed)
    return _constant_state(opset8.constant(words, name=STATE))


def state_of_kept(recorded: Recorded) -> State:
    """A state beside that of an earlier version, whose nodes have the key."""
    assert recorded.seed is not None, "the state is an input"
    name = f"{DOMAIN}.state_of_seed_{recorded.seed}"
    words = run_words(OWNER, recorded.seed)
    return _constant_state(opset8.constant(words, name=name))


def _constant_state(node: ov.Node) -> State:
    bits = signed = node.output(0)
    if arrays.memory(node).any():
        # The plugin clamps an i64 constant over 2^31-1 where a Loop takes it.
        signed = opset8.convert(bits, "i32").output(0)
    words = opset8.convert(signed, "i64")
    return State(words.output(0), bits)


def _new_input(model: ov.Model, batch: Batch | None) -> ov.Output:
    """Adds the state as an input and the next run's as an output; returns this run's, as i64."""
    shape = ov.PartialShape([STATE_WORDS])
    if batch is not None:
        shape = ov.PartialShape([batch.dimension, STATE_WORDS])
    state = opset8.parameter(shape, ov.Type.u32, name=STATE)
    state.output(0).set_names({STATE})
    words = opset8.convert(state, "i64").output(0)
    steps = RUNS
    if batch is not None:
        words = _checked(words, batch)
        steps = RUNS[:, np.newaxis]
    runs = opset8.add(opset8.constant(steps), words)
    this_run = opset8.gather(runs, np.int64(0), np.int64(0))
    next_run = opset8.gather(runs, np.int64(1), np.int64(0))
    this_run.set_friendly_name(_THIS_RUN)
    following = opset8.convert(next_run, "u32")
    following.set_friendly_name(NEXT_STATE)
    following.output(0).set_names({NEXT_STATE})
    model.add_parameters([state])
    model.add_results([opset8.result(following)])
    return this_run.output(0)


def _checked(words: ov.Output, batch: Batch) -> ov.Output:
    """States, of which a run fails if they are not as many as the rows of the batch.

    The operators take a single state for any shape, so they cannot refuse it.
    """
    zero = np.int64(0)
    axis = np.array([batch.axis], np.int64)
    rows = opset8.gather(opset8.shape_of(batch.input), axis, zero)
    split = opset8.variadic_split(words, zero, rows)
    name = f"{ROWS_CHECK}{batch.called}"
    split.set_friendly_name(f"{DOMAIN}.{name}")
    return split.output(0)


class Carrier:
    """Carries a state from the main graph into a body, and back if it must return."""

    def __init__(self, owners: tuple[Owner, ...], *, has_rows: bool) -> None:
        self._owners = owners
        self._shape = [-1, STATE_WORDS] if has_rows else [STATE_WORDS]
        # For each owner the state around it, and as its bodies take it: this one, and of an If in
        # a loop the other one.
        self._crossed: list[tuple[ov.Output, ov.op.Parameter, ov.op.Parameter | None]] = []
        loops = [i for i, owner in enumerate(owners) if not _is_branch(owner)]
        # From the outermost loop on each iteration has to draw on.
        self._first_back = loops[0] if loops else len(owners)

    @property
    def returns(self) -> bool:
        """Whether the next state goes back."""
        return self._first_back < len(self._owners)

    def carry_in(self, words: ov.Output) -> ov.Output:
        """The state beside the node, as u32."""
        for i, owner in enumerate(self._owners):
            inner = self._parameter()
            other = None
            owner.body.add_parameters([inner])
            if _is_branch(owner):
                if i > self._first_back:
                    other = self._parameter()
                    _other_branch(owner).add_parameters([other])
                ports = _in_order(owner, inner, other)
                owner.node.set_input(words, *ports)
            self._crossed.append((words, inner, other))
            words = inner.output(0)
        return opset8.convert(words, "u32").output(0)

    def carry_out(self, next_state: ov.Output) -> None:
        """Gives the next state, as u32, to the next iteration of each loop."""
        value = opset8.convert(next_state, "i64").output(0)
        inwards = range(self._first_back, len(self._owners))
        for i in reversed(inwards):
            owner = self._owners[i]
            around, inner, other = self._crossed[i]
            result = opset8.result(value)
            owner.body.add_results([result])
            if other is not None:
                unused = opset8.result(other)
                _other_branch(owner).add_results([unused])
                ports = _in_order(owner, result, unused)
                value = owner.node.set_output(*ports)
            else:
                output = result.output(0)
                owner.node.set_merged_input(inner, around, output)
                value = owner.node.get_iter_value(output, -1)

    def _parameter(self) -> ov.op.Parameter:
        return opset8.parameter(self._shape, ov.Type.i64)


def _is_branch(owner: Owner) -> bool:
    return str(owner.node.get_type_name()) == "If"


def _other_branch(owner: Owner) -> ov.Model:
    return owner.node.get_function(1 - owner.index)


def _in_order(owner: Owner, own: Any, other: Any) -> tuple[Any, Any]:
    """The two of a branch and the other one, that of the condition's truth first."""
    if owner.index:
        return other, own
    return own, other
