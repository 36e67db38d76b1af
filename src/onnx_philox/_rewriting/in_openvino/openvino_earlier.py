"""What an earlier rewrite left in a model of OpenVINO: its state, its seed, its streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations

import openvino as ov

from onnx_philox._contract.generators import PHILOX, Generator, of_words, the_named
from onnx_philox._contract.operators import OUTPUT_TYPE
from onnx_philox._contract.streams import (
    METADATA_KEY,
    STATE,
    Stream,
    Streams,
    kept_in,
    next_name,
    states_among,
)
from onnx_philox._openvino_models import arrays, openvino_graphs
from onnx_philox._rewriting import recorded
from onnx_philox._rewriting.kept_seeds import KeptSeeds
from onnx_philox._rewriting.recorded import are_runs

_WORDS = (ov.Type.u32, ov.Type.i32)
# What stands between a state and the nodes that draw from it, beside the Add of the next run: where
# each row has a state, what checks how many there are.
_MOVES = {"Convert", "Gather", "Reshape", "Split", "VariadicSplit"}


@dataclass(frozen=True)
class Ours:
    """A node of this package, and what it draws."""

    node: ov.Node
    owners: tuple[openvino_graphs.Owner, ...]
    stream: Stream
    generator: Generator
    """The generator by which it draws."""

    @property
    def is_kept(self) -> bool:
        """Whether it kept its own seeds, and has no stream."""
        return bool(self.stream.kept)

    @property
    def seeds(self) -> tuple[int, int]:
        """The seeds of the node, the global one first."""
        return self.stream.global_seed, self.stream.op_seed

    def keeping(self) -> Ours:
        """The same node, of which it is known that it kept its seeds."""
        kept = replace(self.stream, kept=self.generator.alignment)
        return replace(self, stream=kept)


@dataclass(frozen=True)
class Recorded(recorded.Recorded[ov.Node]):
    """What an earlier rewrite left; all empty for a model that was never rewritten."""

    ours: tuple[Ours, ...] = ()
    """All nodes of this package that wait for no state, also those that have none."""
    next_state: str | None = None
    """The output with the next state."""
    variable: str = ""
    """The variable with the state, of a model that `make_stateful` made."""

    @property
    def rewritten(self) -> tuple[Ours, ...]:
        """The nodes that need no rewrite."""
        return tuple(each for each in self.ours if not openvino_graphs.lacks_state(each.node))

    @property
    def state_name(self) -> str:
        """What the state is called; empty if there is none."""
        if self.state is None:
            return ""
        return openvino_graphs.name_of(self.state)

    @property
    def all_streams(self) -> Streams:
        """The streams of all these nodes; the next state is empty where it is no output."""
        streams = [each.stream for each in self.ours]
        streams.sort(key=lambda stream: stream.order)
        state = self.state_name or STATE
        next_state = self.next_state or ""
        return Streams(state, next_state, None, tuple(streams))

    @property
    def served_streams(self) -> Streams | None:
        """The streams; None if the model has no state as an input and the next as an output."""
        if self.next_state is None:
            return None
        return self.all_streams


@dataclass(frozen=True)
class FoundState:
    """Where the nodes of an earlier rewrite read their state: at most one of the places is set.

    Attributes:
        node: The parameter or constant that holds it.
        next_state: The output with the next state, if the state is an input.
        variable: The variable that holds it, of a model that `make_stateful` made.
        key: The seed that a constant state holds in its key; None if it is no constant.
    """

    node: ov.Node | None = None
    next_state: str | None = None
    variable: str = ""
    key: int | None = None

    @property
    def is_found(self) -> bool:
        """Whether there is a state at all."""
        return self.node is not None or bool(self.variable)


def read(model: ov.Model) -> Recorded:
    """Reads what is recorded."""
    streams = openvino_graphs.metadata(model, METADATA_KEY) or ""
    kept = frozenset(each.order for each in kept_in(streams))
    ours = tuple(
        _ours(node, owners, kept)
        for node, owners in openvino_graphs.walk(model)
        if openvino_graphs.is_ours(node) and not openvino_graphs.awaits_state(node)
    )
    generator = the_named(each.generator for each in ours)
    found = _state(model, ours, generator)
    words = None
    if found.node is not None:
        words = openvino_graphs.dimensions(found.node.output(0))
    if words and words[-1] is not None:
        generator = of_words(words[-1]) or PHILOX

    rewritten = Recorded(ours=ours).rewritten
    drawn = [each for each in rewritten if not each.is_kept]
    seed = found.key
    if seed == 0:
        # The seed is not the state's key, but all nodes of such a rewrite have it.
        seeds = [each.stream.global_seed for each in drawn]
        seed = seeds[0] if seeds else 0
    return Recorded(
        found.node,
        is_input=found.next_state is not None,
        has_rows=words is not None and len(words) == 2 and words[0] != 1,
        seed=seed,
        has_key=bool(found.key),
        streams={each.stream.op_seed: openvino_graphs.label(each.node) for each in drawn},
        kept=tuple(
            KeptSeeds(openvino_graphs.label(each.node), *each.seeds, each.generator)
            for each in rewritten
            if each.is_kept
        ),
        nodes=len(rewritten) if found.is_found else 0,
        generator=generator,
        ours=ours,
        next_state=found.next_state,
        variable=found.variable,
    )


def counts_runs(model: ov.Model, recorded: Recorded) -> bool:
    """Whether the next state is that of the next run, as a rewrite makes it."""
    if recorded.next_state is None or recorded.state is None:
        return False
    node = _source(model.output(recorded.next_state).get_node())
    if node.get_type_name() != "Add":
        return False
    return any(
        are_runs(openvino_graphs.constant(steps)) and _source(words.get_node()) == recorded.state
        for steps, words in permutations(node.input_values(), 2)
    )


def states_in(model: ov.Model, recorded: Recorded) -> list[str]:
    """The inputs that are its states: several if it was merged of rewritten models."""
    read = {node.get_name() for each in recorded.ours for node in _sources(each)}
    inputs = [
        openvino_graphs.name_of(node)
        for node in model.get_parameters()
        if node.get_element_type() in _WORDS and node.get_name() in read
    ]
    outputs = [name for port in model.outputs for name in port.get_names()]
    return states_among(inputs, outputs)


def _source(node: ov.Node) -> ov.Node:
    """The node from which others only move what it gives."""
    while node.get_type_name() in ("Result", *_MOVES):
        node = node.input_value(0).get_node()
    return node


def _state(model: ov.Model, ours: tuple[Ours, ...], generator: Generator) -> FoundState:
    """Finds the state that these nodes read: an input, a variable or a constant."""
    found = {node.get_name(): node for each in ours for node in _sources(each)}
    # Beside the state of a rewrite there may be a user's own.
    named = [(openvino_graphs.name_of(node), node) for node in found.values()]
    named.sort(key=lambda each: STATE not in each[0])
    if not generator.is_counter_based:
        # No node reads the state: each draws the numbers of its seed.
        for node in model.get_parameters():
            if openvino_graphs.name_of(node) == STATE:
                named.append((STATE, node))
    outputs = [name for output in model.outputs for name in output.get_names()]
    for name, node in named:
        after = next_name(name, outputs)
        is_input = node.get_type_name() == "Parameter"
        if is_input and after is not None:
            return FoundState(node, next_state=after)
    for node in found.values():
        if node.get_type_name() == "ReadValue":
            variable = node.get_attributes()["variable_id"]
            return FoundState(variable=str(variable))
        if node.get_type_name() == "Constant" and node.get_friendly_name() == STATE:
            words = arrays.memory(node)
            held_by = of_words(words.size) or PHILOX
            return FoundState(node, key=held_by.seed_in(words))
    return FoundState()


def _ours(
    node: ov.Node,
    owners: tuple[openvino_graphs.Owner, ...],
    kept: frozenset[tuple[int, int, str, str]],
) -> Ours:
    attributes = node.get_attributes()
    output_type = str(attributes.get(OUTPUT_TYPE, ""))
    global_seed, op_seed = openvino_graphs.seeds_of(node)
    stream = Stream(str(node.get_type_name()), output_type, global_seed, op_seed)
    ours = Ours(node, owners, stream, openvino_graphs.generator_of(node))
    return ours.keeping() if stream.order in kept else ours


def _sources(ours: Ours) -> Iterator[ov.Node]:
    """The parameters and constants of the main graph that a node's state may come from."""
    state = openvino_graphs.state_of(ours.node)
    if state is None:
        return
    waiting = [state]
    if ours.owners:
        # Of a node in a body, what the bodies' owners read: the state is among it.
        waiting = ours.owners[0].node.input_values()
    seen = set[str]()
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
        elif node.output(0).get_element_type() in _WORDS:
            yield node
