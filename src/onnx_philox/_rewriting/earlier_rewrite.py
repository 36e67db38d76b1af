"""What an earlier rewrite left in a model: its state, its seed, its streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract import checks
from onnx_philox._contract.generators import PHILOX, Generator, of_words, the_named
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._contract.streams import STATE
from onnx_philox._models import graphs
from onnx_philox._models.constants import constant
from onnx_philox._models.ours import awaits_state, generator_of, seed_of, state_of
from onnx_philox._models.streams import kept_among, read_states, sources_of
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.kept_seeds import STREAMS, KeptSeeds

NEXT_STATE = "next_random_state"
THIS_RUN = "this_run"
"""The name of the int64 copy of a state that is an input: all nodes read the copy."""


@dataclass(frozen=True)
class Recorded:
    """What an earlier rewrite left; all empty for a model that was never rewritten."""

    state: ir.Value | None = None
    """The value `random_state`."""
    this_run: ir.Value | None = None
    """Its int64 copy; None in a model that has none."""
    seed: int | None = None
    """The seed inside the model; None where the state is an input."""
    streams: Mapping[int, str] = field(default_factory=dict)
    """The `op_seed` of every node of this package with a state, whoever put it there, and what
    messages call the node. Those of nodes that kept their own seeds are not among them."""
    kept: tuple[KeptSeeds, ...] = ()
    """The nodes that kept their own seeds."""
    has_key: bool = False
    """Whether the seed stands in the constant state, and not in the nodes."""
    nodes: int = 0
    """How many nodes of this package take a state, in a model that was rewritten."""
    generator: Generator = PHILOX
    """The generator by which these nodes draw."""

    @property
    def has_rows(self) -> bool:
        """Whether the state is one for each row of the batch."""
        return self.state is not None and self.state.shape is not None and len(self.state.shape) > 1

    @property
    def next_stream(self) -> int:
        """The first number to try for a new node."""
        if self.state is None:
            return 0
        return max((s for s in self.streams if s < STREAMS), default=-1) + 1


def read(model: ir.Model, seed: int | None) -> Recorded:
    """Reads what is recorded, and refuses a seed that contradicts it.

    Raises:
        ValueError: The model uses a newer opset of the domain; a tensor has the name of the state
            but is no state; or the model's seed, or a state that is an input, contradicts `seed`.
    """
    for imports in (model.opset_imports, *(f.opset_imports for f in model.functions.values())):
        checks.check_opset(imports.get(DOMAIN, 1), OWNER)
    ours = [node for node in model.graph.all_nodes() if node.domain == DOMAIN]
    stateful = [node for node in ours if not awaits_state(node) and state_of(node) is not None]
    for node in ours:
        for name in ("global_seed", "op_seed"):
            seed_of(node, name)
    kept_nodes = kept_among(model, stateful)
    kept = tuple(
        KeptSeeds(graphs.label(node), seed_of(node, "global_seed"), seed_of(node, "op_seed"))
        for node in kept_nodes
    )
    numbered = [node for node in stateful if node not in kept_nodes]
    streams = {seed_of(node, "op_seed"): graphs.label(node) for node in numbered}
    state = _state(model)
    if state is None:
        return Recorded(streams=streams)
    generator = the_named(map(generator_of, stateful))
    if state.is_graph_input():
        check_seed_beside_input(seed)
        this_run = _this_run(model)
        return Recorded(state, this_run, None, streams, kept, False, len(stateful), generator)
    words = _words(state)
    assert words is not None, "it is no input"
    if (key := generator.seed_in(words)) or not generator.is_counter_based:
        check_same_seed(seed, key)
        return Recorded(state, None, key, streams, kept, True, len(stateful), generator)
    # All nodes of a rewrite have one seed. Nodes in the main graph read the state itself. A node in
    # a loop reads what the loop carries, but so may a node of the user's own with another state.
    direct = [node for node in numbered if state_of(node) is state]
    seeds = [seed_of(node, "global_seed") for node in (*direct, *numbered)]
    recorded = seeds[0] if seeds else 0
    check_same_seed(seed, recorded)
    return Recorded(state, None, recorded, streams, kept, False, len(stateful))


def refuse_name(name: str) -> NoReturn:
    """Refuses a tensor that has the name of the state or of the next one, but is none."""
    checks.refuse(
        OWNER,
        f"the tensor {name!r}",
        "another tensor",
        "one that an earlier rewrite made, since a rewrite gives this name to a state",
        "Rename it.",
    )


def check_seed_beside_input(seed: int | None) -> None:
    """Refuses a seed for a model whose state an earlier rewrite made an input."""
    if seed is not None:
        checks.refuse(
            OWNER,
            "seed",
            seed,
            f"left out for a model whose state is already the graph input {STATE!r}",
            "Leave the seed out, and pass PhiloxState.for_run(seed).to_array() as that input; "
            "or rewrite the model that this one was made from.",
        )


def check_same_seed(seed: int | None, recorded: int) -> None:
    """Refuses a seed other than the one that an earlier rewrite put into the model."""
    if seed is not None and seed != recorded:
        checks.refuse(
            OWNER,
            "seed",
            seed,
            f"left out, or {recorded}, the seed that the model was made with",
            "Rewrite the model that this one was made from.",
        )


def _state(model: ir.Model) -> ir.Value | None:
    """The value that has the name of the state, if it is one; None if there is none."""
    found = [
        value
        for graph in model.graphs()
        for value in graphs.values(graph)
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
        refuse_name(found[0].name or "")
    return None


def _this_run(model: ir.Model) -> ir.Value | None:
    """The copy of the state that nodes read; None in a model of an earlier version."""
    name = f"{DOMAIN}.{THIS_RUN}"
    outputs = (value for node in model.graph for value in node.outputs)
    return next((value for value in outputs if value.name == name), None)


def _words(value: ir.Value) -> NDArray[Any] | None:
    """The words of a constant state; None for a value that is no constant."""
    node = value.producer()
    if node is not None and node.op_type == "Cast" and node.inputs[0] is not None:
        # Before opset 9 a Constant holds floats only.
        array = constant(node.inputs[0])
        is_cast = node.attributes.get_int("to", 0) == ir.DataType.UINT32.value
        return array.astype(np.uint32) if is_cast and array is not None else None
    return constant(value)


def _is_state(value: ir.Value) -> bool:
    array = _words(value)
    if array is not None:
        return array.dtype == "uint32" and array.ndim == 1 and of_words(array.size) is not None
    if not value.is_graph_input() or value.dtype is not ir.DataType.UINT32 or value.shape is None:
        return False
    *rows, words = value.shape if len(value.shape) else (0,)
    is_plain_or_rows = not rows or (len(rows) == 1 and not isinstance(rows[0], int))
    return of_words(words) is not None and is_plain_or_rows
