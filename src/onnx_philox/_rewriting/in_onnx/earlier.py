"""What an earlier rewrite left in a model of ONNX: its state, its seed, its streams."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract import checks
from onnx_philox._contract.generators import of_words, the_named
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._contract.streams import STATE
from onnx_philox._models import onnx_graphs
from onnx_philox._models.constants import constant
from onnx_philox._models.ours import awaits_state, generator_of, seed_of, state_of
from onnx_philox._models.recorded_streams import kept_among, read_states, sources_of
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.kept_seeds import KeptSeeds
from onnx_philox._rewriting.recorded import NEXT_STATE, Recorded, are_runs, refuse_name


def read(model: ir.Model) -> Recorded[ir.Value]:
    """Reads what is recorded.

    Raises:
        ValueError: The model uses a newer opset of the domain, or a tensor has the name of the
            state but is no state.
    """
    functions = model.functions.values()
    opsets = [model.opset_imports]
    opsets += [function.opset_imports for function in functions]
    for imports in opsets:
        version = imports.get(DOMAIN, 1)
        checks.check_opset(version, OWNER)
    ours = [node for node in model.graph.all_nodes() if node.domain == DOMAIN]
    with_state = [node for node in ours if state_of(node) is not None]
    stateful = [node for node in with_state if not awaits_state(node)]
    for node in ours:
        for name in ("global_seed", "op_seed"):
            seed_of(node, name)
    kept_nodes = kept_among(model, stateful)
    kept = tuple(
        KeptSeeds(onnx_graphs.label(node), seed_of(node, "global_seed"), seed_of(node, "op_seed"))
        for node in kept_nodes
    )
    numbered = [node for node in stateful if node not in kept_nodes]
    streams = {seed_of(node, "op_seed"): onnx_graphs.label(node) for node in numbered}
    state = _state(model)
    if state is None:
        return Recorded(streams=streams)
    found = Recorded(
        state=state,
        is_input=state.is_graph_input(),
        has_rows=state.shape is not None and len(state.shape) > 1,
        streams=streams,
        kept=kept,
        nodes=len(stateful),
        generator=the_named(map(generator_of, stateful)),
    )
    if found.is_input:
        return found
    words = _words(state)
    assert words is not None, "it is no input"
    key = found.generator.seed_in(words)
    if key or not found.generator.is_counter_based:
        return replace(found, seed=key, has_key=True)
    # All nodes of a rewrite have one seed. Nodes in the main graph read the state itself. A node in
    # a loop reads what the loop carries, but so may a node of the user's own with another state.
    direct = [node for node in numbered if state_of(node) is state]
    for node in (*direct, *numbered):
        return replace(found, seed=seed_of(node, "global_seed"))
    return replace(found, seed=key)


def counts_runs(model: ir.Model) -> bool:
    """Whether the next state is that of the next run, as a rewrite makes it."""
    following = [value for value in model.graph.outputs if value.name == NEXT_STATE]
    if not following:
        return False
    node = onnx_graphs.source(following[0]).producer()
    if node is None or node.op_type != "Add":
        return False
    added = [value for value in node.inputs if value is not None]
    for steps, words in permutations(added, 2):
        # Of an IR version before 4 a constant is an input, too.
        given = steps.const_value
        numbers = _words(steps) if given is None else given.numpy()
        if are_runs(numbers) and onnx_graphs.source(words).name == STATE:
            return True
    return False


def _state(model: ir.Model) -> ir.Value | None:
    """The value that has the name of the state, if it is one; None if there is none."""
    found = [
        value
        for graph in model.graphs()
        for value in onnx_graphs.values(graph)
        if value.name in (STATE, NEXT_STATE)
    ]
    state = next((value for value in found if value.name == STATE), None)
    if state is not None and state.graph is model.graph and _is_state(state):
        # A model may have a tensor of this name and type before its first rewrite.
        following = [value for value in model.graph.outputs if value.name == NEXT_STATE]
        is_carried = not state.is_graph_input() or state in sources_of(model, following)
        if is_carried and state in read_states(model):
            return state
    if found:
        by = "onnx.compose.add_prefix(model, 'own_') gives all tensors other names"
        refuse_name(found[0].name or "", by)
    return None


def _words(value: ir.Value) -> NDArray[Any] | None:
    """The words of a constant state; None for a value that is no constant."""
    node = value.producer()
    if node is not None and node.op_type == "Cast" and node.inputs[0] is not None:
        # Before opset 9 a Constant holds floats only.
        array = constant(node.inputs[0])
        to = node.attributes.get_int("to", 0)
        is_cast = to == ir.DataType.UINT32.value
        if not is_cast or array is None:
            return None
        return array.astype(np.uint32)
    return constant(value)


def _is_state(value: ir.Value) -> bool:
    array = _words(value)
    if array is not None:
        is_row = array.dtype == "uint32" and array.ndim == 1
        return is_row and of_words(array.size) is not None
    if not value.is_graph_input() or not value.shape:
        return False
    if value.dtype is not ir.DataType.UINT32:
        return False
    *rows, words = value.shape
    if of_words(words) is None:
        return False
    if not rows:
        return True
    return len(rows) == 1 and not isinstance(rows[0], int)
