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


def faults(runtime: str, nodes: Iterable[RandomNode]) -> list[str]:
    """What a runtime does wrong where it draws these nodes today, a sentence each."""
    nodes = [node for node in nodes if node.domain in STANDARD_DOMAINS]
    unseeded = [node for node in nodes if not (node.seeds or node.explicit_seed)]
    if runtime in NORMALS.seen_in:
        has_normals = any(node.replacement == RANDOM_NORMAL.name for node in unseeded)
        return [NORMALS.says] if has_normals else []
    has_dropouts = any(node.op_type == "Dropout" for node in nodes)
    return [FIRST_ELEMENT.says] if has_dropouts else []
