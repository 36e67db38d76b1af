"""The random nodes of a model, what they would become, and the nodes that a rewrite has made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._files.model_file import opened
from onnx_philox._rewriting.nodes import earlier_rewrite
from onnx_philox._rewriting.nodes.attributes import seed_of
from onnx_philox._rewriting.nodes.site import Owner, Site
from onnx_philox._rewriting.nodes.standard import STANDARD_DOMAINS
from onnx_philox._rewriting.nodes.types import Types
from onnx_philox._rewriting.passes.find import FindRandomNodes, subgraphs
from onnx_philox._rewriting.passes.inline import InlineRandomFunctions
from onnx_philox._rewriting.passes.number import AssignStreams
from onnx_philox._rewriting.untouched import Originals

_OWNER = "inspect"


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


@dataclass(frozen=True)
class Nodes:
    """What a search has found."""

    sites: list[Site]
    """The random nodes, with the stream numbers that a rewrite would give them."""
    rewritten: list[Rewritten]
    state: str
    """Where the nodes of an earlier rewrite have their state from, in words; empty for others."""
    obstacle: str | None
    """Why the model, whatever its nodes, cannot be rewritten; None where it can."""
    type_of: Types
    idle_dropouts: int
    """How many nodes of Dropout are off, and so draw nothing."""


def load(path: Path) -> ir.Model:
    """Reads a model, but not its weights.

    Raises:
        ValueError: There is no such file, or it is no ONNX model.
        OSError: The file cannot be read.
    """
    if not path.is_file():
        allowed = "a file that exists, and no folder"
        checks.refuse(_OWNER, "the model", path, allowed, "Check the path.")
    if path.suffix == ".xml":
        remedy = "Pass the ONNX model that it was made from."
        checks.refuse(_OWNER, str(path), "an OpenVINO IR", "an ONNX file", remedy)
    with opened(path, _OWNER) as file:
        return Originals(file.proto, path.parent).model


def search(model: ir.Model) -> Nodes:
    """Searches a model; functions that hold random nodes are inlined, as a rewrite does."""
    InlineRandomFunctions()(model)
    find = FindRandomNodes()
    find(model)
    state, obstacle = "", None
    try:
        recorded = earlier_rewrite.read(model, None)
        state = _state(recorded)
        AssignStreams([site for site in find.sites if site.error is None], recorded)(model)
    except ValueError as error:
        obstacle = str(error)
    rewritten = [
        _rewritten(node, path) for node, path in _walk(model.graph, ()) if node.domain == DOMAIN
    ]
    dropouts = len([node for node in _all_nodes(model) if _is_dropout(node)])
    idle_dropouts = dropouts - len([site for site in find.sites if _is_dropout(site.node)])
    return Nodes(find.sites, rewritten, state, obstacle, Types(model), idle_dropouts)


def _all_nodes(model: ir.Model) -> Iterator[ir.Node]:
    graphs = (model.graph, *(function.graph for function in model.functions.values()))
    return (node for graph in graphs for node in graph.all_nodes())


def _is_dropout(node: ir.Node) -> bool:
    return node.op_type == "Dropout" and node.domain in STANDARD_DOMAINS


def _state(recorded: earlier_rewrite.Recorded) -> str:
    if recorded.state is None:
        return ""
    if recorded.state.is_graph_input():
        return f"the input {earlier_rewrite.STATE}"
    return f"a constant inside, of seed {recorded.seed}: every run is the same"


def _walk(graph: ir.Graph, path: tuple[str, ...]) -> Iterator[tuple[ir.Node, tuple[str, ...]]]:
    for node in graph:
        yield node, path
        for name, subgraph in subgraphs(node):
            yield from _walk(subgraph, (*path, Owner(node, name, subgraph).label))


def _rewritten(node: ir.Node, path: tuple[str, ...]) -> Rewritten:
    seeds = (seed_of(node, name) for name in ("global_seed", "op_seed"))
    return Rewritten(node.name or "", path, node.op_type, *seeds)
