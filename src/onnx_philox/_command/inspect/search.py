"""Finds the random nodes of a model, what they would become, and the nodes that a rewrite made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir

from onnx_philox._command import refusals
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._contract.streams import STATE, Streams, of_rewrites
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, Owner, walk
from onnx_philox._models.ours import of_model, seed_of
from onnx_philox._rewriting.in_onnx.earlier import kept_among
from onnx_philox._rewriting.in_onnx.passes.find import inline_random_functions
from onnx_philox._rewriting.in_onnx.replacements.outcome import Replaceable
from onnx_philox._rewriting.in_onnx.rewrite_onnx import FORMAT
from onnx_philox._rewriting.look import OnnxLook
from onnx_philox._rewriting.places import written_place
from onnx_philox._rewriting.recorded import Recorded
from onnx_philox._rewriting.survey import Survey, survey

OWNER = "inspect"


@dataclass(frozen=True)
class Rewritten:
    """A node of this package's domain."""

    name: str
    path: tuple[str, ...]
    """The subgraphs it is in; empty in the main graph."""
    operator: str
    global_seed: int
    stream: int
    """Its `op_seed`."""
    keeps_seeds: bool = False
    """Whether both seeds are its own, so that it has no stream."""


def search(model: ir.Model) -> Survey[Replaceable]:
    """Searches a model, after inlining functions that hold random nodes, as a rewrite does."""
    inline_random_functions(model)
    return survey(FORMAT, model)


def rewritten_in(model: ir.Model, found: Survey[Replaceable]) -> list[Rewritten]:
    """The nodes of this package's domain that a rewrite has nothing to do with."""
    waiting = {each.node for each in found.nodes}
    kept = kept_among(model, of_model(model))
    return [
        _rewritten(node, owners, keeps_seeds=node in kept)
        for node, owners in walk(model.graph)
        if node.domain == DOMAIN and node not in waiting
    ]


def idle_dropouts(model: ir.Model, found: Survey[Replaceable]) -> int:
    """How many nodes of Dropout draw nothing: they are off, or of ratio 0."""
    graphs = (model.graph, *(function.graph for function in model.functions.values()))
    every = sum(_is_dropout(node) for graph in graphs for node in graph.all_nodes())
    return every - sum(_is_dropout(each.node) for each in found.nodes)


def _is_dropout(node: ir.Node) -> bool:
    return node.op_type == "Dropout" and node.domain in STANDARD_DOMAINS


def state_of(seen: OnnxLook, recorded: Recorded[ir.Value]) -> str:
    """Where the nodes of an earlier rewrite get their state, in words; empty for others."""
    state = recorded.state
    name: str | None = seen.state
    if state is not None:
        name = (state.name or "") if state.is_graph_input() else None
    elif not seen.state.endswith(STATE):
        # A tool may have put a prefix before the names of a rewritten model.
        return ""
    return state_in_words(name, recorded.seed, seen.generator, seen.streams)


def problem(error: Exception | None) -> str | None:
    """Why something cannot be, as the command says it; None where it can."""
    if error is None:
        return None
    return refusals.text(error)


def several_in_words(states: Sequence[str]) -> str:
    """What to say of the states of a model that has several; empty for others."""
    if len(of_rewrites(states)) < 2:
        return ""
    return (
        f"the inputs {' and '.join(states)}, a state for each of the merged models: the commands "
        "run no model with several states, since nodes draw equal numbers where two states are "
        "equal. Merge the original models, and rewrite the result"
    )


def also_in_words(states: Sequence[str]) -> str:
    """What else a node's state may be, after what a rewrite made; empty where that is all."""
    own = [name for name in states if name not in of_rewrites(states)]
    if not own:
        return ""
    return f", or {' or '.join(own)}, which the program that runs the model must advance itself"


def state_in_words(
    name: str | None,
    seed: int | None,
    generator: Generator,
    streams: Streams | None,
) -> str:
    """Where nodes get their state: the input of this name, or a constant of this seed."""
    if name is None:
        return f"a constant inside, of seed {seed}: every run is the same"
    kind = ""
    if generator.is_named:
        kind = f", {generator.owner}'s generator ({generator.seeding})"
    rows = ""
    if streams is not None:
        rows = rows_in_words(streams.batch, streams.batch_axis)
    return f"the input {name}{kind}{rows}"


def rows_in_words(batch: str | None, axis: int) -> str:
    """That each row of a batch has a state, and where it stands; empty where there is none."""
    if batch is None:
        return ""
    place = ""
    if axis:
        place = f", {written_place(batch or '', axis)}"
    return f", for each row of the batch{place}"


def _rewritten(node: ir.Node, owners: tuple[Owner, ...], *, keeps_seeds: bool) -> Rewritten:
    key = seed_of(node, "global_seed")
    stream = seed_of(node, "op_seed")
    path = tuple(owner.label for owner in owners)
    return Rewritten(node.name or "", path, node.op_type, key, stream, keeps_seeds)
