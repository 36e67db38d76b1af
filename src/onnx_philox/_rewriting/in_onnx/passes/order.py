"""The passes in their order."""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace

import onnx_ir as ir

from onnx_philox._contract import checks, frames
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._models.emitter import Names
from onnx_philox._models.opsets import import_onnx
from onnx_philox._models.streams import record, stream_of
from onnx_philox._rewriting import earlier_rewrite
from onnx_philox._rewriting.asked import OWNER, Asked
from onnx_philox._rewriting.in_onnx.passes.carry_generator import carry_generator, close
from onnx_philox._rewriting.in_onnx.passes.carry_state import carry_states
from onnx_philox._rewriting.in_onnx.passes.find import find_nodes
from onnx_philox._rewriting.in_onnx.passes.inline import InlineRandomFunctions
from onnx_philox._rewriting.in_onnx.passes.prove_rows import prove_rows
from onnx_philox._rewriting.in_onnx.passes.replace import Replace
from onnx_philox._rewriting.in_onnx.passes.settle import settle
from onnx_philox._rewriting.in_onnx.passes.verify import Verify, shadowed_names
from onnx_philox._rewriting.in_onnx.replacements.outcome import Outcome, Replaceable
from onnx_philox._rewriting.kept_seeds import warn_of_repeats
from onnx_philox._rewriting.may_stay import leave
from onnx_philox._rewriting.not_rows import check_names
from onnx_philox._rewriting.numbering import number_nodes
from onnx_philox._rewriting.report import RandomNode, Report

_log = logging.getLogger("onnx_philox")


def rewrite(model: ir.Model, asked: Asked) -> Report:
    """Replaces the random nodes of a model, in place.

    Args:
        model: The model. An error leaves it as it was, but for functions that were inlined.
        asked: What for.

    Returns:
        What was done.

    Raises:
        TypeError: A random node is of a type that is not allowed.
        ValueError: A random node breaks its rules or has no replacement, or the model cannot be
            given what is asked for.
    """
    asked.check_onnx()
    seed, named, generator = asked.seed, asked.named, asked.generator
    InlineRandomFunctions()(model)
    found = find_nodes(model, generator)
    recorded = earlier_rewrite.read(model, seed)
    _check_same_generator(recorded, generator, has_new=bool(found))
    if recorded.state is not None:
        named = _named_beside(recorded, named)
    nodes, kept = _sort_out(found, keep_unknown=asked.keep_unknown)
    report = Report(
        kept=tuple(kept),
        recorded=recorded.nodes,
        seed=recorded.seed,
        is_per_row=recorded.has_rows,
    )
    if not nodes:
        check_names(() if recorded.has_rows else asked.named or (), ())
        _log.info("onnx_philox: no random nodes to replace")
        return replace(report, settled=settle(model))
    import_onnx(model)
    if recorded.state is not None:
        seed = recorded.seed
    batch = None if named is None else prove_rows(model, nodes, named, recorded)
    numbered = number_nodes(nodes, recorded)
    kept_seeds = [node.kept for node in nodes if node.kept is not None]
    warn_of_repeats(kept_seeds, recorded.kept)
    kept_streams = [stream_of(n.site.node, TENSORFLOW) for n in nodes if n.seeds is not None]
    records = tuple(node.record() for node in numbered)
    settled = settle(model)
    names = Names(model)
    shadowed = shadowed_names(model.graph)
    inputs = list(model.graph.inputs)
    if not generator.is_counter_based:
        batch = None if batch is None else replace(batch, words=generator.words)
        carried = carry_generator(model, generator, numbered, names, seed, batch)
        Replace(carried, names, 0, batch, generator)(model)
        close(carried)
    else:
        carried = carry_states(model, numbered, recorded, names, seed, batch)
        has_key = recorded.has_key or (recorded.state is None and bool(kept_streams))
        Replace(carried, names, 0 if has_key else seed or 0, batch, generator)(model)
    Verify(shadowed)(model)
    record(model, kept_streams)
    for value in inputs:
        if value not in model.graph.inputs:
            reason = "it was a seed, and the model's state now says what is drawn"
            warnings.warn(
                f"the input {value.name!r} is gone: {reason}", stacklevel=frames.stacklevel()
            )
    return replace(
        report, replaced=records, seed=seed, is_per_row=batch is not None, settled=settled
    )


def find_random_nodes(model: ir.Model) -> list[RandomNode]:
    """The random nodes of a model, in the order of their streams; the model is not changed.

    Ignores nodes that an earlier rewrite made.
    """
    if model.functions:
        model = model.clone()
        InlineRandomFunctions()(model)
    return [found.record() for found in find_nodes(model)]


def _named_beside(
    recorded: earlier_rewrite.Recorded, named: frozenset[str] | None
) -> frozenset[str] | None:
    """As before, beside nodes that an earlier rewrite made: their state decides."""
    if recorded.has_rows:
        return named or frozenset()
    if named is not None:
        check_rows_beside(has_state=True, has_rows=False)
    return None


def check_rows_beside(*, has_state: bool, has_rows: bool) -> None:
    """Refuses rows for a model that an earlier rewrite gave one state for the whole batch."""
    if has_state and not has_rows:
        checks.refuse(
            OWNER,
            "the model",
            "one with a single state for the whole batch",
            "one without a state yet, for a state for each row",
            "Rewrite the model that this one was made from.",
        )


def _check_same_generator(
    recorded: earlier_rewrite.Recorded, generator: Generator, *, has_new: bool
) -> None:
    """Refuses another generator than an earlier rewrite's, and draws beside its one generator."""
    if recorded.state is None:
        return
    remedy = "Rewrite the model that this one was made from."
    if recorded.generator is not generator:
        allowed = f"{recorded.generator.alignment!r}, as the model was rewritten before"
        checks.refuse(OWNER, "alignment", repr(generator.alignment), allowed, remedy)
    if has_new and not generator.is_counter_based:
        given = "one with others beside those that an earlier rewrite replaced"
        allowed = "one whose random nodes are replaced at once, since one generator goes through"
        checks.refuse(OWNER, "the model", given, allowed, remedy)


def _sort_out(
    found: list[Outcome], *, keep_unknown: bool
) -> tuple[list[Replaceable], list[RandomNode]]:
    """The nodes to replace, and the records of those that stay; raises for others."""
    replaceable, kept = [], []
    for node in found:
        if isinstance(node, Replaceable):
            replaceable.append(node)
            continue
        leave(node.error, keep_unknown=keep_unknown)
        kept.append(node.record())
    return replaceable, kept
