"""What a runtime does wrong where it draws several nodes, or one over many runs: said once."""

from __future__ import annotations

from collections.abc import Iterable

from onnx_philox._command.inspect.known.row import ONNXRUNTIME, OPENVINO, KnownBehaviour
from onnx_philox._contract.operators import RANDOM_NORMAL
from onnx_philox._models.graphs import STANDARD_DOMAINS
from onnx_philox._rewriting.report import RandomNode

FIRST_ELEMENT = KnownBehaviour(
    "Dropout's first element",
    ONNXRUNTIME,
    is_wrong=True,
    says="ONNX Runtime's Dropout keeps its first element in thousands of runs on end, or in none "
    "of them.",
    met_by="a Dropout in training mode",
    after="drops each element by itself",
)
NORMALS = KnownBehaviour(
    "uniforms of an unseeded normal",
    OPENVINO,
    is_wrong=True,
    says="OpenVINO draws both uniforms of a normal without a seed alike: none is 2 standard "
    "deviations below the mean.",
    met_by="a RandomNormal or RandomNormalLike without a seed",
    after="draws normals of two independent uniforms",
)
ROWS = (FIRST_ELEMENT, NORMALS)


def met_by(runtime: str, nodes: Iterable[RandomNode]) -> dict[KnownBehaviour, list[RandomNode]]:
    """The rows of a runtime that draws these nodes today, and which nodes meet each."""
    met: dict[KnownBehaviour, list[RandomNode]] = {}
    for node in nodes:
        if node.domain not in STANDARD_DOMAINS:
            continue
        is_normal = node.replacement == RANDOM_NORMAL.name
        if is_normal and not (node.seeds or node.explicit_seed):
            met.setdefault(NORMALS, []).append(node)
        if node.op_type == "Dropout":
            met.setdefault(FIRST_ELEMENT, []).append(node)
    return {row: by for row, by in met.items() if runtime in row.seen_in}


def faults(runtime: str, nodes: Iterable[RandomNode]) -> list[str]:
    """What a runtime does wrong where it draws these nodes today, a sentence each."""
    return [row.says for row in met_by(runtime, nodes)]
