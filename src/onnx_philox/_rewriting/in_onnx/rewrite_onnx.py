"""Rewrites a model of ONNX in onnx-ir, or only looks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from onnx_philox._contract import shown
from onnx_philox._contract.generators import PHILOX
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._models import onnx_graphs
from onnx_philox._models.emitter import Names
from onnx_philox._rewriting import order
from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.in_onnx import earlier
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.passes.carry_state import carry_states
from onnx_philox._rewriting.in_onnx.passes.draw_inputs import draw_inputs, is_drawn_input
from onnx_philox._rewriting.in_onnx.passes.expand_maps import is_map
from onnx_philox._rewriting.in_onnx.passes.find import find_nodes, inline_random_functions
from onnx_philox._rewriting.in_onnx.passes.prove_rows import BatchRows
from onnx_philox._rewriting.in_onnx.passes.replace import Replace
from onnx_philox._rewriting.in_onnx.passes.scanned import declare_ranks
from onnx_philox._rewriting.in_onnx.passes.settle import settle
from onnx_philox._rewriting.in_onnx.replacements.outcome import Outcome, Replaceable
from onnx_philox._rewriting.in_onnx.rows.batch import Batch
from onnx_philox._rewriting.recorded import Recorded
from onnx_philox._rewriting.report import RandomNode, Report


@dataclass(frozen=True)
class Search:
    """The random nodes of a model as they were found, by Philox and without their seeds."""

    model: ir.Model
    """Where they are: the model itself, or a copy in which functions that hold some are inlined."""
    found: Sequence[Outcome]
    """In the order of their streams, without those that an earlier rewrite made."""
    types: Types

    def is_of(self, model: ir.Model, asked: Asked) -> bool:
        """Whether a rewrite of a model would find the same."""
        if asked.generator is not PHILOX or asked.keep_seeds or asked.draw:
            return False
        return self.model is model


def search(model: ir.Model) -> Search:
    """Finds the random nodes of a model, which is not changed.

    Raises:
        ValueError: A node reads what is computed of it.
    """
    if model.functions or any(map(is_map, model.graph.all_nodes())):
        model = model.clone()
        inline_random_functions(model)
    types = Types(model)
    return Search(model, find_nodes(model, types=types), types)


def rewrite(model: ir.Model, asked: Asked, searched: Search | None = None) -> Report:
    """Replaces the random nodes of a model, in place.

    Args:
        model: The model. An error leaves it as it was, but for functions that were inlined and
            inputs that have become draws.
        asked: What for.
        searched: What was found in the model, if somebody has searched it already.

    Returns:
        What was done.

    Raises:
        TypeError: A random node is of a type that is not allowed.
        ValueError: A random node breaks its rules or has no replacement, or the model cannot be
            given what is asked for.
    """
    asked.check_onnx()
    if searched is not None and searched.is_of(model, asked):
        found = searched.found
        return order.rewrite(replace(FORMAT, find=lambda *_: found), model, asked)
    draw_inputs(model, asked.drawn_inputs)
    inline_random_functions(model)
    return order.rewrite(FORMAT, model, asked)


def find_random_nodes(model: ir.Model) -> list[RandomNode]:
    """The random nodes of a model, in the order of their streams; the model is not changed.

    Ignores nodes that an earlier rewrite made.
    """
    return [found.record() for found in search(model).found]


def _replace(
    model: ir.Model,
    recorded: Recorded[ir.Value],
    plan: order.Plan[Replaceable, Batch],
) -> None:
    onnx_graphs.import_onnx(model)
    seeded = [node for node in plan.nodes if node.seeds]
    kept = [earlier.stream_of(node.site.node, TENSORFLOW) for node in seeded]
    drawn = [value for node in plan.nodes for value in node.last.outputs]
    declare_ranks(model, drawn)
    names = Names(model)
    inputs = list(model.graph.inputs)
    batch = plan.batch
    generator = plan.generator
    if batch is not None:
        unproved = frozenset(random.site.node for random in plan.unproved)
        batch = replace(batch, unproved=unproved, words=generator.words)
    own = generator.rewriting()
    if own is None:
        carried = carry_states(model, plan.nodes, recorded, names, plan.seed, batch)
    else:
        carried = own.carry(model, plan.nodes, names, plan.seed, batch)
    replacing = Replace(names, plan.global_seed, batch, generator)
    replacing.all(model, carried)
    if own is not None:
        own.close(carried)
    if recorded.is_input:
        # A node that was added since may come before what it now reads.
        model.graph.sort()
    at = None
    if batch is not None:
        at = (batch.input.name or "", batch.axis)
    earlier.record(model, kept, *plan.inverted, batch=at)
    for value in inputs:
        if value not in model.graph.inputs:
            reason = "it was a seed, and the model's state now says what is drawn"
            gone = f"the input {value.name!r} is gone: {reason}"
            warnings.warn(gone, stacklevel=shown.stacklevel())


def _find(model: ir.Model, asked: Asked) -> list[Outcome]:
    """The random nodes; drawn inputs take streams behind those of all others.

    torch's one generator draws them first, in the order of the option.
    """
    found = find_nodes(model, asked.generator, keep_seeds=asked.keep_seeds)
    if asked.generator.is_counter_based:
        found.sort(key=lambda each: is_drawn_input(each.site.node))
    return found


FORMAT = order.Format(
    find=_find,
    recorded=earlier.read,
    check=earlier.check,
    rows=BatchRows,
    replace=_replace,
    settle=settle,
)
"""Models whose functions with random nodes are inlined."""
