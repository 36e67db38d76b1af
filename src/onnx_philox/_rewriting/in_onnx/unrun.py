"""What no rewrite touches, and yet keeps a model from running or from being reproducible."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
import onnx_ir as ir

from onnx_philox._contract.operators import DOMAIN
from onnx_philox._files import external_data, tensors
from onnx_philox._models.onnx_graphs import KEY_MAKERS, STANDARD_DOMAINS, label, opset_of
from onnx_philox._rewriting.in_onnx import inferred_types
from onnx_philox._rewriting.in_onnx.random_nodes.foreign import (
    TENSORFLOW_DOMAINS,
    randomness,
    schema_of,
)
from onnx_philox._rewriting.in_onnx.random_nodes.onnx_random_nodes import STANDARD_OPERATORS

# Domains whose operators a runtime, or an extension that it is known for, brings.
_DOMAINS_OF_RUNTIMES = (
    DOMAIN,
    "ai.onnx.",
    "com.microsoft",
    "com.ms",
    "org.openvinotoolkit",
    "org.pytorch",
)
# What ONNX Runtime's schemas do not list, though it has it.
_ATEN = "ATen"


def operators_of_no_runtime(model: ir.Model) -> list[str]:
    """The operators that tf2onnx left as TensorFlow's, each by its first node; not random ones."""
    found: dict[str, str] = {}
    known = {_ATEN, *inferred_types.rules().get("", {})}
    for node in model.graph.all_nodes():
        opset = opset_of(model.opset_imports, node.domain)
        if node.domain not in TENSORFLOW_DOMAINS or node.op_type in known:
            continue
        if _makes_a_key(node):
            continue
        is_function = node.op_identifier() in model.functions
        if not is_function and not schema_of(node, opset) and randomness(node, opset) is None:
            found.setdefault(node.op_type, label(node))
    return list(found.values())


def _makes_a_key(node: ir.Node) -> bool:
    """Whether a node makes keys for TensorFlow's random nodes alone: a rewrite takes it away."""
    if node.op_type not in KEY_MAKERS:
        return False
    if any(output.is_graph_output() for output in node.outputs):
        return False
    readers = [reader for output in node.outputs for reader, _ in output.uses()]
    return all(randomness(reader, None) is not None for reader in readers)


def missing_functions(model: ir.Model) -> list[str]:
    """What nodes call that is no function of the model and no known operator, each by one node.

    Not the random ones, which a search names. A domain of a runtime's own may have any operator.
    """
    found: dict[ir.OperatorIdentifier, str] = {}
    bodies = [model.graph]
    bodies += [function.graph for function in model.functions.values()]
    for graph in bodies:
        for node in graph.all_nodes():
            if node.domain.startswith(_DOMAINS_OF_RUNTIMES) or node.domain in STANDARD_DOMAINS:
                continue
            if node.op_identifier() in model.functions:
                continue
            opset = opset_of(model.opset_imports, node.domain)
            if not schema_of(node, opset) and randomness(node, opset) is None:
                title = f"{node.domain}::{label(node)}"
                found.setdefault(node.op_identifier(), title)
    return list(found.values())


def missing_weights(proto: onnx.ModelProto, folder: Path) -> list[str]:
    """The files with a model's weights that are not in its folder."""
    places = external_data.locations(proto)
    return [place for place in places if not (folder / place).is_file()]


def about_missing(functions: Sequence[str], weights: Sequence[str] = ()) -> list[str]:
    """What to say of both, a sentence each."""
    said = []
    if functions:
        said.append(
            f"The model has no function {', '.join(functions)}, and no runtime has such an "
            "operator of its own: none loads the model without a library for it. Where a tool has "
            "dropped the function, as onnx.version_converter does, take the model from before, and "
            "call onnx.inliner.inline_local_functions first."
        )
    if weights:
        it = "it" if len(weights) == 1 else "them"
        said.append(
            f"No runtime loads the model without its weights, and {', '.join(map(repr, weights))} "
            f"cannot be found. Put {it} into the model's folder."
        )
    return said


def about(of_no_runtime: Sequence[str], for_training: int = 0) -> list[str]:
    """What to say of both, a sentence each."""
    said = []
    if of_no_runtime:
        said.append(
            f"No runtime has {', '.join(of_no_runtime)}: none loads the model. Export it without, "
            "and compute that before or behind it."
        )
    if for_training:
        nodes = "random nodes" if for_training > 1 else "random node"
        said.append(
            f"The graphs that train the model have {for_training} {nodes}, which no run uses and "
            "no rewrite changes."
        )
    return said


def random_nodes_for_training(proto: onnx.ModelProto) -> int:
    """How many random nodes of ONNX's stand in the graphs that train a model."""
    count = 0
    for info in proto.training_info:
        count += _random_nodes(info.initialization) + _random_nodes(info.algorithm)
    return count


def _random_nodes(graph: onnx.GraphProto) -> int:
    count = 0
    for node in graph.node:
        count += node.op_type in STANDARD_OPERATORS
        for attribute in node.attribute:
            inner = tensors.subgraphs(attribute)
            count += sum(map(_random_nodes, inner))
    return count
