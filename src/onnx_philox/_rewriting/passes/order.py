"""The passes in their order."""

from __future__ import annotations

import logging
import warnings

import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._contract.operators import INT64_MAX
from onnx_philox._rewriting.nodes import earlier_rewrite
from onnx_philox._rewriting.nodes.earlier_rewrite import OWNER
from onnx_philox._rewriting.nodes.emitter import Names
from onnx_philox._rewriting.nodes.may_stay import MayStayError
from onnx_philox._rewriting.nodes.site import Site
from onnx_philox._rewriting.passes.carry_state import ThreadStates
from onnx_philox._rewriting.passes.find import FindRandomNodes
from onnx_philox._rewriting.passes.inline import InlineRandomFunctions
from onnx_philox._rewriting.passes.number import AssignStreams
from onnx_philox._rewriting.passes.replace import Replace
from onnx_philox._rewriting.passes.verify import Check, shadowed_names
from onnx_philox._rewriting.report import RandomNode, Report

_log = logging.getLogger("onnx_philox")


def rewrite(model: ir.Model, *, seed: int | None = None, keep_unknown: bool = False) -> Report:
    """Replaces the random nodes of a model, in place, as `onnx_philox.make_reproducible` does.

    Args:
        model: The model. An error leaves it as it was, but for functions that were inlined.
        seed: 0 to 2^63-1 for a constant state; None for one that is an input.
        keep_unknown: Whether random nodes that have no replacement stay, with a warning.

    Returns:
        What was done.

    Raises:
        TypeError: A random node, or the seed, is of a type that is not allowed.
        ValueError: A random node breaks its rules or has no replacement, or the seed contradicts
            what the model has.
    """
    check_seed(seed)
    InlineRandomFunctions()(model)
    search = FindRandomNodes()
    search(model)
    recorded = earlier_rewrite.read(model, seed)
    sites, kept = _sort_out(search.sites, keep_unknown=keep_unknown)
    report = Report(kept=tuple(kept), recorded=recorded.nodes, seed=recorded.seed)
    if not sites:
        _log.info("onnx_philox: no random nodes to replace")
        return report
    if recorded.state is not None:
        seed = recorded.seed
    names = Names(model)
    shadowed = shadowed_names(model.graph)
    AssignStreams(sites, recorded)(model)
    records = tuple(site.record() for site in sites)
    inputs = list(model.graph.inputs)
    for step in (
        ThreadStates(sites, recorded, names, seed),
        Replace(sites, names, seed),
        Check(shadowed),
    ):
        step(model)
    for value in inputs:
        if value not in model.graph.inputs:
            reason = "it was a seed, and the model's state now says what is drawn"
            warnings.warn(f"the input {value.name!r} is gone: {reason}", stacklevel=3)
    return Report(records, report.kept, report.recorded, seed)


def find_random_nodes(model: ir.Model) -> list[RandomNode]:
    """The random nodes of a model, in the order of their streams; the model is not changed.

    A node that an earlier rewrite has made is none.
    """
    search = FindRandomNodes()
    if model.functions:
        model = model.clone()
        InlineRandomFunctions()(model)
    search(model)
    return [site.record() for site in search.sites]


SEED_RULE = "an integer from 0 to 2^63-1"


def check_seed(
    seed: int | None, owner: str = OWNER, allowed: str = f"None, or {SEED_RULE}"
) -> None:
    """Refuses a seed that is no integer from 0 to 2^63-1.

    Args:
        seed: The seed; None is none.
        owner: Who refuses.
        allowed: What the owner allows, in words.
    """
    if seed is None:
        return
    if not hasattr(seed, "__index__"):
        checks.refuse(owner, "seed", repr(seed), allowed, "Pass an int.", TypeError)
    if not 0 <= seed <= INT64_MAX:
        checks.refuse(owner, "seed", seed, allowed, "Choose another seed.")


def _sort_out(sites: list[Site], *, keep_unknown: bool) -> tuple[list[Site], list[RandomNode]]:
    """The sites to replace, and the records of those that stay; raises for others."""
    kept = []
    for site in sites:
        if site.error is None:
            continue
        if not (site.may_stay and keep_unknown):
            raise site.error
        assert isinstance(site.error, MayStayError)
        warnings.warn(f"left as it is: {site.error.offering('')}", stacklevel=4)
        kept.append(site.record())
    return [site for site in sites if site.error is None], kept
