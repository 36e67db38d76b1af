"""The pass that carries a state to every random node, through If, Loop and Scan.

Everything that reads the state reads it through one Add, which gives the states of this run and of
the next one. (A state for each row is checked before it: its rows must be as many as the batch's.)
So both may be bound to the same memory, in whatever order a runtime computes. In the main graph a
node takes the state as it is. Inside a Loop or Scan each iteration has to draw on: there every node
has a state of its own, which goes round with the loop as one more loop-carried value. An If inside
a loop gives the next state as one more output, whichever branch it takes. A state crosses the
borders of subgraphs as int64, since OpenVINO's CPU plugin lets no uint32 cross them. Casts beside
the node convert it both ways.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract.operators import DOMAIN, STATE_WORDS
from onnx_philox._contract.state import run_words
from onnx_philox._contract.streams import STATE
from onnx_philox._models.emitter import CONSTANTS_OF_ANY_TYPE, Emitter, Names
from onnx_philox._models.onnx_graphs import Owner, onnx_opset_of, subgraphs
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.in_onnx.passes.scanned import kept_scanning
from onnx_philox._rewriting.in_onnx.replacements.outcome import Carried, Replaceable
from onnx_philox._rewriting.in_onnx.rows.batch import Batch
from onnx_philox._rewriting.recorded import NEXT_STATE, RUNS, THIS_RUN, Recorded

_INT64 = ir.DataType.INT64
_UINT32 = ir.DataType.UINT32
_SHAPE = [STATE_WORDS]

# From this version on a graph's initializers need not be its inputs too.
_INITIALIZERS_ALONE = 4


def carry_states(
    model: ir.Model,
    nodes: Sequence[Replaceable],
    recorded: Recorded[ir.Value],
    names: Names,
    seed: int | None,
    batch: Batch | None = None,
) -> list[Carried]:
    """Makes the state of the model, and carries one to every node; returns them with theirs.

    The last step, to the node itself, is left to its replacement. Without a seed the state is an
    input. With a batch it is one for each row.
    """
    is_kept = any(random.stream is None for random in nodes)
    # An earlier version's nodes have the key, which nodes with other seeds need in the state.
    shared = _state_of(model, recorded, names, seed, batch, has_key=is_kept)
    of_kept = None
    if is_kept and recorded.seed and not recorded.has_key:
        name = names.unique(f"{DOMAIN}.state_of_seed_{recorded.seed}")
        of_seed = run_words(OWNER, recorded.seed)
        constant = new_constant(model, names, of_seed, name)
        of_kept = _State(model, names, {_UINT32: constant}, is_key_constant=True)
    carried = []
    inside: dict[tuple[Hashable, ir.Graph], ir.Value] = {}
    for random in nodes:
        state = shared
        if random.stream is None and of_kept is not None:
            state = of_kept
        if random.site.owners:
            emitter = _emitter(model, names, random.prefix)
            words = state.of_type(_INT64)
            assert words.shape is not None
            carrier = _Carrier(emitter, words.shape, random, inside)
            ends = carrier.carry(words)
        else:
            ends = state.of_type(_UINT32), None
        carried.append(Carried(random, *ends))
    return carried


# The name of a copy of the state in another type.
_NAMES = {_INT64: STATE, _UINT32: "state"}


@dataclass(frozen=True)
class _State:
    """The state of the main graph, as uint32 and as int64; makes the other one on demand."""

    model: ir.Model
    names: Names
    by_type: dict[ir.DataType, ir.Value]
    """At first the one that there is."""
    is_key_constant: bool = False

    def of_type(self, type: ir.DataType) -> ir.Value:
        """The state as uint32, which nodes take, or as int64, which subgraphs may take."""
        if type not in self.by_type:
            emitter = _emitter(self.model, self.names)
            (value,) = self.by_type.values()
            producer = value.producer()
            if self.is_key_constant:
                # OpenVINO clamps an int64 constant over 2^31-1 where a Loop takes it.
                value = emitter.cast("signed", value, ir.DataType.INT32)
            self.by_type[type] = emitter.cast(_NAMES[type], value, type)
            if producer is None:
                self.model.graph[0].prepend(emitter.nodes)
            else:
                producer.append(emitter.nodes)
        return self.by_type[type]


def _state_of(
    model: ir.Model,
    recorded: Recorded[ir.Value],
    names: Names,
    seed: int | None,
    batch: Batch | None,
    *,
    has_key: bool,
) -> _State:
    """The state of an earlier rewrite, or a new one; a constant that has the seed as its key."""
    if recorded.is_input:
        this_run = _this_run(model)
        if this_run is not None:
            return _State(model, names, {_INT64: this_run})
    if recorded.state is not None:
        return _State(model, names, {_UINT32: recorded.state}, recorded.has_key)
    if seed is None:
        words = _new_input(model, names, batch)
        return _State(model, names, {_INT64: words})
    # Else nodes add the seed to the key of zeros.
    words_of_seed = np.zeros(STATE_WORDS, np.uint32)
    if has_key:
        words_of_seed = run_words(OWNER, seed)
    constant = new_constant(model, names, words_of_seed)
    return _State(model, names, {_UINT32: constant}, has_key)


def _this_run(model: ir.Model) -> ir.Value | None:
    """The copy of the state that nodes read; None in a model of an earlier version."""
    name = f"{DOMAIN}.{THIS_RUN}"
    for node in model.graph:
        for value in node.outputs:
            if value.name == name:
                return value
    return None


def _emitter(model: ir.Model, names: Names, prefix: str = "") -> Emitter:
    return Emitter(names, onnx_opset_of(model.opset_imports), prefix)


def _new_input(model: ir.Model, names: Names, batch: Batch | None) -> ir.Value:
    """Adds the state as an input and the next run's as an output; returns this run's, as int64."""
    shape = ir.Shape(_SHAPE) if batch is None else batch.state_shape
    state = ir.val(STATE, dtype=_UINT32, shape=shape)
    model.graph.inputs.append(state)
    emitter = _emitter(model, names)
    words = emitter.cast("words", state, _INT64)
    steps = RUNS
    if batch is not None:
        words = batch.check_all(emitter, words)
        # Both rows of steps are for all rows of the state.
        steps = steps[:, np.newaxis]
    steps_value = _integers(model, emitter, "steps", steps)
    shape_of_both = [len(RUNS), *shape]
    runs = emitter.emit("Add", "runs", [steps_value, words], _INT64, shape_of_both)

    def row_of_runs(what: str, row: int) -> ir.Value:
        # int32 on purpose. Of indices of int64, ONNX Runtime makes one Split, and then optimises
        # the whole graph once more: a quarter of the time that it takes to load 3,000 draws.
        index = _integers(model, emitter, f"row_of_{what}", np.array(row, np.int32))
        return emitter.emit("Gather", what, [runs, index], _INT64, shape)

    this_run = row_of_runs(THIS_RUN, 0)
    next_run = row_of_runs("next_run", 1)
    next_state = emitter.cast("next", next_run, _UINT32)
    next_state.name = NEXT_STATE
    model.graph.outputs.append(next_state)
    model.graph[0].prepend(emitter.nodes)
    return this_run


def _integers(
    model: ir.Model,
    emitter: Emitter,
    what: str,
    array: NDArray[np.integer[Any]],
) -> ir.Value:
    """Integers that are not cast from floats: OpenVINO computes no state with those."""
    if onnx_opset_of(model.opset_imports) >= CONSTANTS_OF_ANY_TYPE:
        return emitter.constant(what, array)
    dtype = ir.DataType.from_numpy(array.dtype)
    value = emitter.declare(ir.Value(), what, dtype, array.shape)
    value.const_value = ir.tensor(array, name=value.name)
    model.graph.register_initializer(value)
    if model.ir_version < _INITIALIZERS_ALONE:
        model.graph.inputs.append(value)
    return value


def new_constant(
    model: ir.Model,
    names: Names,
    words: NDArray[np.uint32],
    name: str = STATE,
) -> ir.Value:
    """A constant state."""
    graph = model.graph
    if model.ir_version >= _INITIALIZERS_ALONE:
        tensor = ir.tensor(words, name=name)
        state = ir.val(name, const_value=tensor)
        graph.register_initializer(state)
        return state
    emitter = _emitter(model, names)
    constant = emitter.constant(STATE, words)
    constant.name = name
    graph[0].prepend(emitter.nodes)
    return constant


@dataclass(frozen=True)
class Border:
    """Takes a state into a Loop or Scan and back, as int64."""

    emitter: Emitter
    shape: ir.Shape
    """Of the state."""

    def carry_in(self, owner: Owner, state: ir.Value) -> ir.Value:
        """Adds a loop-carried value after the others; returns it as the body sees it."""
        node = owner.node
        body = owner.graph
        inner = self.emitter.declare(ir.Value(), "carried", _INT64, self.shape)
        if node.op_type == "Loop":
            # Trip count and condition come first, and may be left out.
            count = max(len(node.inputs), 2)
            node.resize_inputs(count + 1)
            node.replace_input_with(count, state)
            body.inputs.append(inner)
            return inner
        index = _scan_states(node)
        count = len(node.inputs)
        node.resize_inputs(count + 1)
        for i in range(count, index, -1):
            node.replace_input_with(i, node.inputs[i - 1])
        node.replace_input_with(index, state)
        body.inputs.insert(index, inner)
        return inner

    def branch_out(self, node: ir.Node) -> ir.Value:
        """Adds an output of an If, whose branches give it."""
        output = insert_output(node, len(node.outputs))
        return self.emitter.declare(output, "branched", _INT64, self.shape)

    def carry_out(self, owner: Owner, next_state: ir.Value) -> ir.Value:
        """Ends a loop-carried value: adds an output of the body, and returns the node's."""
        node = owner.node
        body = owner.graph
        if node.op_type == "Loop":
            # Of the body's outputs the condition is first; of its inputs the iteration is too.
            index = len(node.inputs) - 3
            body.outputs.insert(index + 1, next_state)
        else:
            index = _scan_states(node) - 1
            next_state = kept_scanning(owner, next_state, index + 1, self.emitter)
            body.outputs.insert(index, next_state)
        final = insert_output(node, index)
        return self.emitter.declare(final, "final", _INT64, self.shape)


@dataclass(frozen=True)
class _Carrier(Border):
    """Carries one state from the main graph to its node and back."""

    random: Replaceable
    inside: dict[tuple[Hashable, ir.Graph], ir.Value]
    """The states that loops carry already for nodes of one key, as their bodies see them."""

    def carry(self, state: ir.Value) -> tuple[ir.Value, ir.Node | None]:
        """The state beside the node, and the Cast that waits for the next one if it must return."""
        # The states on the way in, one for each owner: that of the graph around it.
        around: list[ir.Value] = []
        way_back: list[Owner] = []
        shared: list[Owner] = []
        for owner in self.random.site.owners:
            around.append(state)
            turns = self.random.turns(owner)
            if turns and self._group(owner) in self.inside:
                state = self.inside[self._group(owner)]
                shared.append(owner)
            elif turns:
                state = self.carry_in(owner, state)
                self.inside[self._group(owner)] = state
            elif owner.node.op_type == "Scan":
                # OpenVINO's front end refuses a body that reads what is outside.
                state = self.carry_in(owner, state)
                unchanged = self._unchanged(owner.graph, state)
                self.carry_out(owner, unchanged)
            if way_back or turns:
                way_back.append(owner)
        before = self.emitter.again()
        behind = self.emitter.again()
        taken = before.cast("state", state, _UINT32)
        self.random.last.prepend(before.nodes)
        if not way_back:
            return taken, None
        # Its input becomes the draw's next_state, which is not there yet.
        next_state = behind.cast("next_state", taken, _INT64)
        (cast,) = behind.nodes
        self.random.last.append(cast)
        for owner in reversed(way_back):
            outer = around.pop()
            if owner.node.op_type == "If":
                next_state = self._branch_out(owner, next_state, outer)
            elif owner in shared:
                self._move_on(owner, next_state)
                break
            elif self.random.turns(owner):
                next_state = self.carry_out(owner, next_state)
            else:
                furthest = self.carry_in(owner, outer)
                later = self._later(owner.graph, furthest, next_state)
                next_state = self.carry_out(owner, later)
        return taken, cast

    def _group(self, owner: Owner) -> tuple[Hashable, ir.Graph]:
        """What the nodes have for which a loop carries one state: those of one key."""
        random = self.random
        drawn = random.site.node if random.changing is None else random.same
        return drawn, owner.graph

    def _move_on(self, owner: Owner, next_state: ir.Value) -> None:
        """Lets the state that a loop carries lie behind what one more node has drawn."""
        body = owner.graph
        carried = self.inside[self._group(owner)]
        index = body.inputs.index(carried)
        if owner.node.op_type == "Loop":
            index -= 1
        later = self._later(body, body.outputs[index], next_state)
        body.outputs[index] = later

    def _later(self, graph: ir.Graph, one: ir.Value, other: ir.Value) -> ir.Value:
        """The one of two states that lies behind the other: they differ by less than 2^31 blocks.

        OpenVINO computes int64 in 32 bits, so that words of 2^31 and more are negative there. Their
        difference is right in both, as int32.
        """
        emitter = self.emitter.again()
        ahead = emitter.elementwise("Sub", "ahead", other, one, _INT64)
        first = emitter.constant("first", np.array([0]))
        blocks = emitter.emit("Gather", "blocks", [ahead, first], _INT64, None, {"axis": -1})
        blocks = emitter.cast("signed", blocks, ir.DataType.INT32)
        blocks = emitter.cast("sign", blocks, ir.DataType.FLOAT)
        zero = emitter.constant("zero", np.zeros((), np.float32))
        is_ahead = emitter.emit("Greater", "is_ahead", [blocks, zero], ir.DataType.BOOL)
        step = emitter.cast("one_or_zero", is_ahead, _INT64)
        added = emitter.elementwise("Mul", "added", ahead, step, _INT64)
        later = emitter.elementwise("Add", "later", one, added, _INT64)
        graph.extend(emitter.nodes)
        return later

    def _unchanged(self, graph: ir.Graph, state: ir.Value) -> ir.Value:
        """The same state, for an output of a graph, at whose end it goes."""
        emitter = self.emitter.again()
        unchanged = emitter.emit("Identity", "unused", [state], _INT64, self.shape)
        graph.extend(emitter.nodes)
        return unchanged

    def _branch_out(self, owner: Owner, next_state: ir.Value, state: ir.Value) -> ir.Value:
        """Adds an output of an If: the next state, or from the other branch the same state."""
        node = owner.node
        for _, branch in subgraphs(node):
            if branch is owner.graph:
                branch.outputs.append(next_state)
            else:
                branch.outputs.append(self._unchanged(branch, state))
        return self.branch_out(node)


def _scan_states(node: ir.Node) -> int:
    """How many state variables a Scan has: they come before the tensors it scans."""
    scanned = node.attributes["num_scan_inputs"].as_int()
    return len(node.inputs) - scanned


def insert_output(node: ir.Node, index: int) -> ir.Value:
    """Inserts an output at an index; those behind it move on, with all that uses them."""
    node.resize_outputs(len(node.outputs) + 1)
    for i in range(len(node.outputs) - 1, index, -1):
        old = node.outputs[i - 1]
        new = node.outputs[i]
        name = old.name
        old.name = None
        new.name = name
        new.type = old.type
        new.shape = old.shape
        new.doc_string = old.doc_string
        old.doc_string = None
        for theirs, ours in (
            (old.metadata_props, new.metadata_props),
            (old.meta, new.meta),
        ):
            ours.update(theirs)
            theirs.clear()
        old.replace_all_uses_with(new, replace_graph_outputs=True)
    return node.outputs[index]
