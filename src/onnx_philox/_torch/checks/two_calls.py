"""Finds attributes that a module changes from call to call, and its noise depends on.

torch's exporters write such attributes as they are at the export. What a change of them does to the
noise is seen in a program of two calls, one after the other.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any

from onnx_philox._torch.calls.programs import calls
from onnx_philox._torch.checks.carried import Of, draws_at, is_mask, sources
from onnx_philox._torch.exporter.program import exported, functional

_NOISE = "noise"
_OTHER = "other"
# How torch.export names the second call of the module of `_twice`, and of what that calls.
_SECOND = "called_twice@1"


def carried(
    module: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    names: Collection[str],
) -> tuple[str, ...]:
    """The names, if noise of a second call depends on what a first one changed; else none.

    Args:
        module: The `torch.nn.Module`.
        args: Its inputs.
        kwargs: Its inputs by name.
        names: The attributes that a call changes.
    """
    if not names:
        return ()
    try:
        with warnings.catch_warnings():
            # torch's, of attributes that are assigned.
            warnings.simplefilter("ignore")
            program = exported(_twice(module), args, kwargs)
            program = functional(program)
    except Exception:
        # A module that torch exports for one call alone: nothing is known of a second one.
        return ()
    if not _second_depends(program):
        return ()
    return tuple(sorted(names))


def _twice(module: Any) -> Any:
    """A module that calls another twice; what was written into its buffers is taken back between.

    That is seen in a program of one call: see `carried.carried`.
    """
    import torch

    # Any, whether torch is installed or not.
    base: Any = torch.nn.Module

    class Twice(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.called_twice = module

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            before = [(buffer, buffer.clone()) for buffer in module.buffers()]
            first = self.called_twice(*args, **kwargs)
            for buffer, held in before:
                buffer.copy_(held)
            second = self.called_twice(*args, **kwargs)
            return first, second

    return Twice()


def _second_depends(program: Any) -> bool:
    """Whether noise of the second of two calls depends on what the first one computed."""
    graph = program.graph_module.graph
    (output,) = (node for node in graph.nodes if node.op == "output")
    specs = program.graph_signature.output_specs
    results = [
        value
        for value, spec in zip(output.args[0], specs, strict=True)
        if spec.kind.name == "USER_OUTPUT"
    ]
    inputs = set(program.graph_signature.user_inputs)
    of_node: dict[Any, Of] = {}
    met: frozenset[str] = frozenset()
    second: set[Any] = set()
    literals: dict[bool, list[Any]] = {False: [], True: []}
    for node in graph.nodes:
        if node.op == "placeholder":
            of_node[node] = Of(has_inputs=node.name in inputs)
            continue
        layers = node.meta.get("nn_module_stack") or {}
        is_second = any(_SECOND in layer for layer in layers)
        if is_second:
            second.add(node)
        parts = []
        for source in sources(node):
            part = of_node[source]
            is_of_first = is_second and source not in second
            if is_of_first and source.op == "call_function":
                kind = _NOISE if part.has_draws else _OTHER
                part = Of(frozenset([kind]), False, part.has_inputs)
            parts.append(part)
        whole = reduce(operator.or_, parts, Of())
        is_draw = draws_at(program, node)
        if is_draw:
            if not is_mask(node):
                met |= whole.kept
            whole |= Of(has_draws=True)
        elif whole.has_draws and not whole.has_inputs:
            met |= whole.kept
        is_free = is_draw or not whole.has_inputs
        if whole.has_draws and is_free and node in calls(graph):
            literal = (node.target, _literal(node))
            literals[is_second].append(literal)
        of_node[node] = whole
    of_second = results[len(results) // 2 :]
    read = [of_node.get(each, Of()) for each in of_second]
    is_read = reduce(operator.or_, read, Of()).kept
    if literals[False] != literals[True]:
        # A number of Python's: it chooses which draws there are, or what becomes of them.
        return True
    return _NOISE in is_read or _OTHER in is_read & met


def _literal(node: Any) -> Any:
    """The arguments of a call that are no nodes."""
    import torch

    given = (node.args, node.kwargs)
    return torch.fx.node.map_arg(given, lambda _: None)
