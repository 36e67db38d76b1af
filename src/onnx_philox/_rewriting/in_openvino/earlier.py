"""What an earlier rewrite left in a model of OpenVINO: its state, its seed, its streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import openvino as ov

from onnx_philox._contract.generators import PHILOX, Generator, of_words, the_named
from onnx_philox._contract.operators import OUTPUT_TYPE
from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.streams import STATE, Stream, kept_in, next_name
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.graphs import (
    Owner,
    awaits_state,
    generator_of,
    is_ours,
    label,
    lacks_state,
    recorded_streams,
    seeds_of,
    state_of,
    walk,
)
from onnx_philox._rewriting.kept_seeds import STREAMS, KeptSeeds

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
    generator: Generator = PHILOX
    """The generator by which it draws."""
    is_kept: bool = False
    """Whether it kept its own seeds, and has no stream."""

    @property
    def operator(self) -> str:
        """Its name."""
        return str(self.node.get_type_name())

    @property
    def stream(self) -> Stream:
        """What it draws."""
        kept = self.generator.alignment if self.is_kept else ""
        return Stream(self.operator, self.output_type, self.global_seed, self.op_seed, kept)


@dataclass(frozen=True)
class Recorded:
    """What an earlier rewrite left; all empty for a model that was never rewritten."""

    nodes: tuple[Ours, ...] = ()
    """All nodes of this package that wait for no state, also those that have none."""
    state: ov.Node | None = None
    """The parameter or the constant with the state."""
    next_state: str | None = None
    """The output with the next state."""
    seed: int | None = None
    """The seed inside the model; None where the state is an input."""
    has_key: bool = False
    """Whether the seed stands in the constant state, and not in the nodes."""
    variable: str = ""
    """The variable with the state, of a model that `make_stateful` made."""

    @property
    def generator(self) -> Generator:
        """The generator by which nodes draw from the state of the model."""
        words = arrays.known_dimensions(_shape(self.state)) if self.state is not None else None
        if words and words[-1] is not None:
            return of_words(words[-1]) or PHILOX
        return the_named(ours.generator for ours in self.nodes)

    @property
    def rewritten(self) -> tuple[Ours, ...]:
        """The nodes that need no rewrite."""
        return tuple(ours for ours in self.nodes if not lacks_state(ours.node))

    @property
    def streams(self) -> Mapping[int, str]:
        """The numbers that are taken, and what messages call the node of each."""
        numbered = (ours for ours in self.rewritten if not ours.is_kept)
        return {ours.op_seed: label(ours.node) for ours in numbered}

    @property
    def kept(self) -> tuple[KeptSeeds, ...]:
        """The nodes that kept their own seeds."""
        return tuple(
            KeptSeeds(label(o.node), o.global_seed, o.op_seed, o.generator)
            for o in self.rewritten
            if o.is_kept
        )

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
        shape = _shape(self.state)
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
    kept = frozenset(each.order for each in kept_in(recorded_streams(model)))
    nodes = tuple(
        _ours(node, owners, kept)
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
        if node.get_type_name() == "ReadValue":
            return Recorded(nodes, variable=str(node.get_attributes()["variable_id"]))
        if node.get_type_name() == "Constant" and node.get_friendly_name() == STATE:
            key = PhiloxState.from_array(arrays.memory(node)).key
            # All other nodes of a rewrite have one seed.
            seeds = (o.global_seed for o in nodes if not (o.is_kept or lacks_state(o.node)))
            return Recorded(nodes, node, None, key or next(seeds, 0), has_key=key != 0)
    return _unread(model, nodes)


def _unread(model: ov.Model, nodes: tuple[Ours, ...]) -> Recorded:
    """What is recorded where no node reads the state: each draws the numbers of its seed."""
    if the_named(ours.generator for ours in nodes).is_counter_based:
        return Recorded(nodes)
    for node in model.get_parameters():
        after = next_name(_name(node), [n for output in model.outputs for n in output.get_names()])
        if after is not None and _name(node) == STATE:
            return Recorded(nodes, node, after)
    return Recorded(nodes)


def _ours(
    node: ov.Node, owners: tuple[Owner, ...], kept: frozenset[tuple[int, int, str, str]]
) -> Ours:
    key, stream = seeds_of(node)
    output_type = str(node.get_attributes().get(OUTPUT_TYPE, ""))
    ours = Ours(node, owners, key, stream, output_type, generator_of(node))
    return replace(ours, is_kept=ours.stream.order in kept)


def _shape(node: ov.Node) -> ov.PartialShape:
    return node.output(0).get_partial_shape()


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
