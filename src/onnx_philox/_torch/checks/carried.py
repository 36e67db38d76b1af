"""Finds what a module carries from call to call, a file does not, and its noise depends on.

torch's exporters drop what a buffer becomes, so each run of a file begins with the buffers of the
export. This names the buffers on which noise depends: those of AR(1) noise, of a schedule of
deviations. Neither a counter that no draw reads is one, nor the running statistics of a BatchNorm
in training, which its outputs do not read.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from onnx_philox._torch.calls.programs import (
    arguments,
    name_of,
    reads_shape_alone,
)
from onnx_philox._torch.exporter.program import draws, functional

_CHANGES = ("BUFFER_MUTATION", "PARAMETER_MUTATION")
# In training, what they give before the new running statistics is computed of this batch alone.
_NORMS = ("_native_batch_norm_legit_functional", "_batch_norm_with_update_functional")
_FIRST_STATISTIC = 3
_RUNNING = ("running_mean", "running_var")
# A call with one of these arguments draws a mask, whose law its data do not change.
_MASKS = ("train", "training", "dropout_p", "num_layers")


@dataclass(frozen=True)
class Of:
    """What a value is computed of.

    Attributes:
        kept: The names of what the module changes, as it was before the call.
        has_draws: Whether a draw is among it.
        has_inputs: Whether an input of the program is.
    """

    kept: frozenset[str] = frozenset()
    has_draws: bool = False
    has_inputs: bool = False

    def __or__(self, other: Of) -> Of:
        return Of(
            self.kept | other.kept,
            self.has_draws or other.has_draws,
            self.has_inputs or other.has_inputs,
        )


def carried(program: Any, ignored: int = 0) -> tuple[str, ...]:
    """The buffers and parameters that a program changes, and on which its noise depends.

    Noise depends on a buffer that holds what was drawn and is read again; on one that a draw reads,
    as its probability; and on one that meets a draw before any input does, as its deviation.

    Args:
        program: A `torch.export.ExportedProgram`.
        ignored: How many of its last outputs are none of the module's.
    """
    program = functional(program)
    signature = program.graph_signature
    kinds = {spec.kind.name for spec in signature.output_specs}
    if kinds.isdisjoint(_CHANGES):
        return ()
    nodes = program.graph_module.graph.nodes
    (output,) = (node for node in nodes if node.op == "output")
    changes = {}
    results = []
    for value, spec in zip(output.args[0], signature.output_specs, strict=True):
        if spec.kind.name in _CHANGES:
            changes[spec.target] = value
        elif spec.kind.name == "USER_OUTPUT":
            results.append(value)
    results = results[: len(results) - ignored]
    # What a buffer holds is known after a call, and read in the next one.
    before = {name: Of(frozenset([name])) for name in changes}
    while True:
        of_node, met = _walk(program, before)
        after = {name: before[name] | of_node[value] for name, value in changes.items()}
        if after == before:
            break
        before = after
    is_read: frozenset[str] = frozenset()
    for result in results:
        is_read |= of_node.get(result, Of()).kept
    return tuple(
        name for name in changes if name in is_read and (before[name].has_draws or name in met)
    )


def said(names: tuple[str, ...]) -> str:
    """What becomes of them, in words."""
    listed = " and ".join(map(repr, names))
    them = "it" if len(names) == 1 else "them"
    each = "it" if len(names) == 1 else "each"
    return (
        f"forward changes {listed}, on which the noise depends, and a model does not keep {them} "
        "from run to run: each run begins as the first one, so the noise of successive runs is "
        f"other than the module's. Make {each} an input of forward, and what forward makes of it "
        "an output."
    )


def _walk(
    program: Any,
    before: dict[str, Of],
) -> tuple[dict[Any, Of], frozenset[str]]:
    """What each node is computed of; and the names of what meets a draw."""
    signature = program.graph_signature
    named = {**signature.inputs_to_buffers, **signature.inputs_to_parameters}
    inputs = set(signature.user_inputs)
    of_node: dict[Any, Of] = {}
    met: frozenset[str] = frozenset()
    for node in program.graph_module.graph.nodes:
        if node.op == "placeholder":
            known = Of(has_inputs=node.name in inputs)
            attribute = named.get(node.name, "")
            of_node[node] = before.get(attribute, known)
            continue
        parts = [of_node[source] for source in sources(node)]
        whole = Of()
        for part in parts:
            whole |= part
        if draws_at(program, node):
            if not is_mask(node):
                met |= whole.kept
            whole |= Of(has_draws=True)
        elif not whole.has_inputs and whole.has_draws:
            met |= whole.kept
        of_node[node] = whole
    return of_node, met


def draws_at(program: Any, node: Any) -> bool:
    """Whether a node draws, itself or in its branches or bodies."""
    import torch

    if hasattr(node.target, "_schema"):
        given = arguments(node)
        return draws(node.target, given) > 0
    bodies = [each.target for each in node.all_input_nodes if each.op == "get_attr"]
    modules = [getattr(program.graph_module, name, None) for name in bodies]
    return any(
        torch.Tag.nondeterministic_seeded in getattr(inner.target, "tags", ())
        for module in modules
        if isinstance(module, torch.fx.GraphModule)
        for part in module.modules()
        for inner in getattr(part, "graph", torch.fx.Graph()).nodes
    )


def is_mask(node: Any) -> bool:
    """Whether a call draws what its data do not change, and masks them by it."""
    if not hasattr(node.target, "_schema"):
        return False
    given = arguments(node)
    return any(name in given for name in _MASKS)


def sources(node: Any) -> list[Any]:
    """The nodes whose values a node reads, and not their shapes alone."""
    if reads_shape_alone(node):
        return []
    if node.target is operator.getitem and node.args[1] < _FIRST_STATISTIC:
        source = node.args[0]
        if hasattr(source.target, "_schema") and name_of(source) in _NORMS:
            given = arguments(source)
            statistics = [given.get(name) for name in _RUNNING]
            return [each for each in source.all_input_nodes if each not in statistics]
    return list(node.all_input_nodes)
