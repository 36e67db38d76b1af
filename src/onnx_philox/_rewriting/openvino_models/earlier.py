"""What an earlier rewrite left in a model of OpenVINO: its state, its seed, its streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import openvino as ov

from onnx_philox._contract.operators import ALIGNMENT, OUTPUT_TYPE, PYTORCH
from onnx_philox._contract.streams import STATE, next_name
from onnx_philox._rewriting.earlier_rewrite import STREAMS
from onnx_philox._rewriting.openvino_models.graphs import (
    Owner,
    awaits_state,
    is_ours,
    state_of,
    walk,
)

# What stands between a state and the nodes that draw from it, beside the Add of the next run: where
# each row has a state, what checks how many there are.
_MOVES = {"Convert", "Gather", "Reshape", "Split", "VariadicSplit"}


@dataclass(frozen=True)
class Ours:
    """A node of this package."""

    node: ov.Node
    owners: tuple[Owner, ...]
    global_seed: int
    op_seed: int
    output_type: str
    """Empty for an operator of one type."""
    is_pytorch: bool = False
    """Whether it draws torch's numbers."""

    @property
    def operator(self) -> str:
        """Its name."""
        return str(self.node.get_type_name())


@dataclass(frozen=True)
class Recorded:
    """What an earlier rewrite left; all empty for a model that was never rewritten."""

    nodes: tuple[Ours, ...] = ()
    """All nodes of this package that wait for no state."""
    state: ov.Node | None = None
    """The parameter or the constant with the state."""
    next_state: str | None = None
    """The output with the next state."""
    seed: int | None = None
    """The seed inside the model; None where the state is an input."""

    @property
    def is_pytorch(self) -> bool:
        """Whether nodes draw torch's numbers."""
        return any(ours.is_pytorch for ours in self.nodes)

    @property
    def streams(self) -> frozenset[int]:
        """The numbers that are taken."""
        return frozenset(ours.op_seed for ours in self.nodes)

    @property
    def next_stream(self) -> int:
        """The first number to try for a new node."""
        if self.state is None:
            return 0
        return max((s for s in self.streams if s < STREAMS), default=-1) + 1

    @property
    def has_rows(self) -> bool:
        """Whether the state is one for each row of the batch."""
        if self.state is None:
            return False
        shape = self.state.output(0).get_partial_shape()
        return shape.rank.is_static and len(shape) == 2 and shape[0] != 1

    @property
    def state_name(self) -> str:
        """What the state is called; empty if there is none."""
        return "" if self.state is None else _name(self.state)

    @property
    def is_input(self) -> bool:
        """Whether the state is an input of the model."""
        return self.state is not None and self.state.get_type_name() == "Parameter"


def read(model: ov.Model) -> Recorded:
    """Reads what is recorded."""
    nodes = tuple(
        _ours(node, owners)
        for node, owners in walk(model)
        if is_ours(node) and not awaits_state(node)
    )
    outputs = [name for output in model.outputs for name in output.get_names()]
    found = {node.get_name(): node for ours in nodes for node in _sources(ours)}
    for node in found.values():
        after = next_name(_name(node), outputs)
        if node.get_type_name() == "Parameter" and after is not None:
            return Recorded(nodes, node, after)
    for node in found.values():
        if node.get_type_name() == "Constant" and node.get_friendly_name() == STATE:
            # All nodes of a rewrite have one seed.
            return Recorded(nodes, node, None, nodes[0].global_seed)
    return Recorded(nodes)


def _ours(node: ov.Node, owners: tuple[Owner, ...]) -> Ours:
    said = node.get_attributes()
    key, stream = (int(said.get(name, 0)) for name in ("global_seed", "op_seed"))
    is_pytorch = said.get(ALIGNMENT.name) == PYTORCH
    return Ours(node, owners, key, stream, str(said.get(OUTPUT_TYPE, "")), is_pytorch)


def _sources(ours: Ours) -> Iterator[ov.Node]:
    """The parameters and constants of the main graph that a node's state may come from."""
    state = state_of(ours.node)
    if state is None:
        return
    # Of a node in a body, what the bodies' owners read: the state is among it.
    starts = [state] if not ours.owners else ours.owners[0].node.input_values()
    waiting, seen = list(starts), set[str]()
    while waiting:
        node = waiting.pop().get_node()
        if node.get_name() in seen:
            continue
        seen.add(node.get_name())
        kind = node.get_type_name()
        if kind == "Add":
            waiting += node.input_values()
        elif kind in _MOVES:
            waiting.append(node.input_value(0))
        elif kind == "Constant" or node.output(0).get_element_type() in (ov.Type.u32, ov.Type.i32):
            yield node


def _name(node: ov.Node) -> str:
    names = node.output(0).get_names()
    friendly: str = node.get_friendly_name()
    return friendly if friendly in names or not names else min(names)
