"""What no rewrite touches, and keeps a model from what its user wants of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import onnx
import onnx_ir as ir

from onnx_philox._contract.operators import RANDOM_GENERATOR, RANDOM_NORMAL
from onnx_philox._files import tensors
from onnx_philox._models.graphs import STANDARD_DOMAINS, label, opset_of
from onnx_philox._rewriting.in_onnx import types
from onnx_philox._rewriting.in_onnx.random_nodes.foreign import (
    TENSORFLOW_DOMAINS,
    randomness,
    schema_of,
)
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnx import STANDARD_OPERATORS
from onnx_philox._rewriting.not_rows import few
from onnx_philox._rewriting.report import RandomNode

# What ONNX Runtime's schemas do not list, though it has it.
_ATEN = "ATen"
_DROPOUT = (
    "ONNX Runtime's Dropout keeps its first element in thousands of runs on end, or in none of "
    "them."
)
_BITS = (
    "OpenVINO's uint32 holds 31 bits: a Cast of floats makes one number of all from 2^31 on, half "
    "of what {} draws."
)
_NORMALS = (
    "OpenVINO draws both uniforms of a normal without a seed alike: none is 2 standard deviations "
    "below the mean."
)


def operators_of_no_runtime(model: ir.Model) -> list[str]:
    """The operators that tf2onnx left as TensorFlow's, each by its first node; not random ones."""
    found: dict[str, str] = {}
    known = {_ATEN, *types.rules().get("", {})}
    for node in model.graph.all_nodes():
        opset = opset_of(model.opset_imports, node.domain)
        if node.domain not in TENSORFLOW_DOMAINS or node.op_type in known:
            continue
        is_function = node.op_identifier() in model.functions
        if not is_function and not schema_of(node, opset) and randomness(node, opset) is None:
            found.setdefault(node.op_type, label(node))
    return list(found.values())


def about(of_no_runtime: Sequence[str], for_training: int = 0) -> list[str]:
    """What to say of both, a sentence each."""
    said = []
    if of_no_runtime:
        said.append(
            f"No runtime has {', '.join(of_no_runtime)}: none loads the model. Export it without, "
            "and compute that before or behind it."
        )
    if for_training:
        nodes = f"random node{'s'[: for_training > 1]}"
        said.append(
            f"The graphs that train the model have {for_training} {nodes}, which no run uses and "
            "no rewrite changes."
        )
    return said


def faults(runtime: str, nodes: Iterable[RandomNode]) -> list[str]:
    """What a runtime does wrong where it draws these nodes today, a sentence each."""
    nodes = [node for node in nodes if node.domain in STANDARD_DOMAINS]
    unseeded = [node for node in nodes if not (node.seeds or node.explicit_seed)]
    if runtime == "openvino":
        normals = any(node.replacement == RANDOM_NORMAL.name for node in unseeded)
        bits = [node.called for node in nodes if node.replacement == RANDOM_GENERATOR.name]
        return [_NORMALS] * normals + [_BITS.format(few([*map(repr, bits)]))] * bool(bits)
    branches = defaultdict[str, set[str]](set)
    for step in (step for node in unseeded for step in node.path):
        owner, _, branch = step.rpartition(" ")
        if owner.startswith("If "):
            branches[owner].add(branch)
    return [_DROPOUT] * any(node.op_type == "Dropout" for node in nodes) + [
        f"ONNX Runtime draws the same numbers in one branch of {name} as in the other, since their "
        "nodes have no seeds."
        for name, both in branches.items()
        if len(both) > 1
    ]


def random_nodes_for_training(proto: onnx.ModelProto) -> int:
    """How many random nodes of ONNX's stand in the graphs that train a model."""
    graphs = (g for info in proto.training_info for g in (info.initialization, info.algorithm))
    return sum(map(_random_nodes, graphs))


def _random_nodes(graph: onnx.GraphProto) -> int:
    inner: Iterable[onnx.GraphProto] = (
        g for node in graph.node for a in node.attribute for g in tensors.subgraphs(a)
    )
    own = sum(node.op_type in STANDARD_OPERATORS for node in graph.node)
    return own + sum(map(_random_nodes, inner))
