"""What a model of ONNX says of its draws, and what an earlier rewrite left in it.

`OnnxDraws` is what its nodes draw from, whoever made that; `read` is for the next rewrite.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract import checks
from onnx_philox._contract.generators import Generator, of_words, the_named
from onnx_philox._contract.operators import DOMAIN, OPERATORS, OUTPUT_TYPE
from onnx_philox._contract.streams import (
    METADATA_KEY,
    STANDARD,
    STANDARD_STATE,
    STATE,
    Stream,
    Streams,
    check_one_state,
    kept_in,
    next_name,
    states_among,
)
from onnx_philox._models.constants import constant
from onnx_philox._models.onnx_graphs import graphs, label, source, subgraphs, values, walk
from onnx_philox._models.ours import awaits_state, generator_of, seed_of, state_of
from onnx_philox._rewriting.asked import OWNER, THE_ORIGINAL, Asked
from onnx_philox._rewriting.kept_seeds import KeptSeeds
from onnx_philox._rewriting.recorded import (
    NEXT_STATE,
    Recorded,
    are_runs,
    check_draws_beside,
    refuse_name,
)


class OnnxDraws:
    """What the random nodes of a model draw, and from which state; nothing is looked for twice.

    Args:
        model: The model; once it has changed, another object knows of it.
    """

    def __init__(self, model: ir.Model) -> None:
        self._model = model
        self._metadata = model.metadata_props.get(METADATA_KEY, "")

    @cached_property
    def recorded(self) -> Streams:
        """What the metadata say of them; nothing where they say nothing."""
        return Streams.recorded(self._metadata)

    @property
    def kept(self) -> list[Stream]:
        """What the nodes draw that kept their own seeds, by the metadata."""
        return [node for node in self.recorded.nodes if node.kept]

    @cached_property
    def ours(self) -> Sequence[ir.Node]:
        """The nodes of this package, in order, also those in functions."""
        searched = [self._model.graph]
        searched += [function.graph for function in self._model.functions.values()]
        return [
            node
            for graph in searched
            for node, _ in walk(graph)
            if node.domain == DOMAIN and node.op_type in OPERATORS
        ]

    @cached_property
    def read(self) -> frozenset[ir.Value]:
        """The values that random nodes' states are computed from, and what standard draws read."""
        model = self._model
        states = [state_of(node) for node in self.ours]
        if STANDARD in model.metadata_props:
            # An earlier version did not name it.
            name = model.metadata_props.get(STANDARD_STATE, STATE)
            named = [value for value in model.graph.inputs if value.name == name]
            # A tool may have put a prefix before all names of the model since.
            if not named and name:
                named = [v for v in model.graph.inputs if (v.name or "").endswith(name)]
            states += named
        return _sources_of(model, states)

    @cached_property
    def _outputs(self) -> list[str]:
        return [value.name or "" for value in self._model.graph.outputs]

    @cached_property
    def _inputs(self) -> list[ir.Value]:
        """The inputs that are states by their type, and that draws read."""
        words = [value for value in self._model.graph.inputs if value.dtype is ir.DataType.UINT32]
        # Most models have none, and need no search.
        return [value for value in words if value in self.read]

    @property
    def states(self) -> list[str]:
        """The inputs that are its states: several if it was merged of rewritten models."""
        return states_among([value.name or "" for value in self._inputs], self._outputs)

    @cached_property
    def state(self) -> ir.Value | None:
        """The input that its draws read as their state; None if they read none.

        Other inputs and outputs may have such names and types.
        """

        # A rewritten model may also have a state of its user's own.
        def rank(state: ir.Value) -> tuple[bool, bool]:
            name = state.name or ""
            return next_name(name, self._outputs) is not None, STATE in name

        return max(self._inputs, key=rank, default=None)

    @property
    def next_state(self) -> str | None:
        """The output with the next state, by the names of both; None if there is none."""
        if self.state is None:
            return None
        return next_name(self.state.name or "", self._outputs)

    @cached_property
    def generator(self) -> Generator:
        """The generator by which its nodes draw from a state."""
        return the_named(generator_of(node) for node in self.ours if state_of(node))

    @cached_property
    def streams(self) -> Streams | None:
        """Its streams; None if it has no state as an input, or no next state.

        Of standard nodes only the metadata knows what they draw.
        """
        state = self.state
        next_state = self.next_state
        if state is None or next_state is None:
            return None
        nodes = self.nodes
        if not nodes and self.recorded.next_state:
            nodes = self.recorded.nodes
        batch, axis = self._batch_of(state, self.recorded)
        return Streams(
            state.name or "",
            next_state,
            batch,
            nodes,
            self.generator.alignment,
            axis,
            self.recorded.inverted,
        )

    @property
    def nodes(self) -> tuple[Stream, ...]:
        """What each of the nodes draws, by their numbers, or else in order."""
        kept = {each.order: each for each in self.kept}
        streams = map(stream_of, self.ours)
        nodes = [kept.get(stream.order, stream) for stream in streams]
        if self.generator.is_counter_based:
            nodes.sort(key=lambda stream: stream.order)
        # Others have no numbers: the generator goes through them in order.
        return tuple(nodes)

    def _batch_of(self, state: ir.Value, recorded: Streams) -> tuple[str | None, int]:
        """The input of which a dimension is as large as there are states, the first if one's is."""
        if state.shape is None or len(state.shape) != 2:
            return None, 0
        if state.shape[0] == 1:
            return None, 0
        rows = state.shape[0]
        is_name = isinstance(rows, ir.SymbolicDim) and rows.value is not None
        alike = []
        for value in self._model.graph.inputs:
            for axis, dimension in enumerate(value.shape or ()):
                if value is not state and dimension == rows:
                    alike.append((axis, value.name))
        found = [(axis, name) for axis, name in alike if axis == 0 or is_name]
        has_no_name = not is_name and not isinstance(rows, int)
        unnamed = alike if has_no_name else []
        if (recorded.batch_axis, recorded.batch) in unnamed:
            # Dimensions without names are told apart by the record alone.
            return recorded.batch, recorded.batch_axis
        # Else only the states themselves show how many there are.
        first = (0, state.name)
        axis, name = min(found, key=lambda each: each[0], default=first)
        return name, axis


def record(
    model: ir.Model,
    kept: Iterable[Stream] = (),
    *inverted: str,
    batch: tuple[str, int] | None = None,
) -> None:
    """Writes the streams into the model's metadata.

    Args:
        model: The model.
        kept: The nodes that newly kept their seeds.
        inverted: The Bernoullis that newly draw the complement.
        batch: The input and its dimension that a rewrite has taken for the batch.
    """
    draws = OnnxDraws(model)
    kept = {*draws.kept, *kept}
    streams = draws.streams
    if streams is not None and batch is not None:
        name, axis = batch
        streams = replace(streams, batch=name, batch_axis=axis)
    if streams is None and kept:
        streams = Streams(STATE, "", None, draws.nodes)
    if streams is not None:
        by_order = {each.order: each for each in kept}
        nodes = tuple(by_order.get(node.order, node) for node in streams.nodes)
        inverted = streams.inverted + inverted
        streams = replace(streams, nodes=nodes, inverted=inverted)
        model.metadata_props[METADATA_KEY] = streams.to_json()


def stream_of(node: ir.Node, kept: str = "") -> Stream:
    """What a node of this package draws."""
    said = node.attributes.get_string(OUTPUT_TYPE, "") or ""
    global_seed = seed_of(node, "global_seed")
    op_seed = seed_of(node, "op_seed")
    return Stream(node.op_type, said, global_seed, op_seed, kept)


def kept_among(model: ir.Model, nodes: Iterable[ir.Node]) -> list[ir.Node]:
    """The nodes, among these of this package, that kept their own seeds."""
    kept = {each.order for each in kept_in(model.metadata_props.get(METADATA_KEY, ""))}
    return [node for node in nodes if stream_of(node).order in kept]


def names_of_batch(model: ir.Model, streams: Streams) -> list[str]:
    """What the batch of a model may be called: its name, if it has one, or an input and axis."""
    inputs = {value.name: value for value in model.graph.inputs}
    given = inputs.get(streams.batch)
    shape = None if given is None else given.shape
    dimension = None
    if shape is not None and streams.batch_axis < len(shape):
        dimension = shape[streams.batch_axis]
    place = f"{streams.batch}:{streams.batch_axis}"
    if not isinstance(dimension, ir.SymbolicDim) or dimension.value is None:
        return [place]
    same = [
        f"{value.name}:{axis}"
        for value in model.graph.inputs
        for axis, other in enumerate(value.shape or ())
        if other == dimension
    ]
    return [dimension.value, *same]


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
        KeptSeeds(label(node), seed_of(node, "global_seed"), seed_of(node, "op_seed"))
        for node in kept_nodes
    )
    numbered = [node for node in stateful if node not in kept_nodes]
    streams = {seed_of(node, "op_seed"): label(node) for node in numbered}
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


def check(
    model: ir.Model,
    asked: Asked,
    recorded: Recorded[ir.Value],
    found: Sequence[object],
) -> None:
    """Refuses another generator than before, and draws beside a state that goes on by draws.

    `found` are the random nodes that are left.
    """
    draws = OnnxDraws(model)
    states = draws.states
    if found and recorded.state is None:
        states = [*states, STATE]
    check_one_state(OWNER, states)
    generator = asked.generator
    if recorded.state is not None and recorded.generator is not generator:
        allowed = f"{recorded.generator.alignment!r}, as the model was rewritten before"
        checks.refuse(OWNER, "alignment", repr(generator.alignment), allowed, THE_ORIGINAL)
    if recorded.has_rows and asked.batch is not None:
        _check_batch(model, draws.streams, asked.batch)
    if found:
        check_draws_beside(recorded, counts_runs=counts_runs(model))


def _check_batch(model: ir.Model, streams: Streams | None, said: str) -> None:
    """Refuses another batch than that of which the model has a state for each row."""
    if streams is None or streams.batch is None:
        return
    allowed = names_of_batch(model, streams)
    if said not in allowed:
        known = f"left out, or {allowed[0]!r}, of whose rows each has a state already"
        checks.refuse(OWNER, "batch", repr(said), known, THE_ORIGINAL)


def counts_runs(model: ir.Model) -> bool:
    """Whether the next state is that of the next run, as a rewrite makes it."""
    following = [value for value in model.graph.outputs if value.name == NEXT_STATE]
    if not following:
        return False
    node = source(following[0]).producer()
    if node is None or node.op_type != "Add":
        return False
    added = [value for value in node.inputs if value is not None]
    for steps, words in permutations(added, 2):
        # Of an IR version before 4 a constant is an input, too.
        given = steps.const_value
        numbers = _words(steps) if given is None else given.numpy()
        if are_runs(numbers) and source(words).name == STATE:
            return True
    return False


def _state(model: ir.Model) -> ir.Value | None:
    """The value that has the name of the state, if it is one; None if there is none."""
    found = [
        value
        for graph in graphs(model)
        for value in values(graph)
        if value.name in (STATE, NEXT_STATE)
    ]
    state = next((value for value in found if value.name == STATE), None)
    if state is not None and state.graph is model.graph and _is_state(state):
        # A model may have a tensor of this name and type before its first rewrite.
        following = [value for value in model.graph.outputs if value.name == NEXT_STATE]
        is_carried = not state.is_graph_input() or state in _sources_of(model, following)
        if is_carried and state in OnnxDraws(model).read:
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


def _sources_of(model: ir.Model, values: Iterable[ir.Value | None]) -> frozenset[ir.Value]:
    """All values that some are computed from, themselves among them."""
    # For each value inside a subgraph or a function, the values it comes from.
    outside: dict[ir.Value, list[ir.Value | None]] = {}
    waiting = [value for value in values if value is not None]
    if not waiting:
        return frozenset()
    functions = model.functions
    searched = [model.graph]
    searched += [function.graph for function in functions.values()]
    for graph in searched:
        for node, _ in walk(graph):
            called = functions.get(node.op_identifier()) if functions else None
            bodies = [called] if called else [body for _, body in subgraphs(node)]
            for inner in bodies:
                for given, taken in zip(node.inputs, inner.inputs, strict=False):
                    outside.setdefault(taken, []).append(given)
                for output in node.outputs:
                    sources = outside.setdefault(output, [])
                    sources.extend(inner.outputs)
    found: set[ir.Value] = set()
    while waiting:
        value = waiting.pop()
        if value in found:
            continue
        found.add(value)
        before = [*outside.get(value, ())]
        producer = value.producer()
        if producer is not None:
            before += producer.inputs
        waiting += [each for each in before if each is not None]
    return frozenset(found)
