"""What a runtime does wrong where it draws several nodes, or one over many runs: said once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onnx_philox._command.inspect.known.row import (
    ONNXRUNTIME,
    OPENVINO,
    Explains,
    KnownBehaviour,
)
from onnx_philox._contract.operators import RANDOM_NORMAL
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS
from onnx_philox._rewriting.report import RandomNode

SUBJECT = "ONNX Runtime's Dropout"
"""How the sentences of its rows begin, for who has not named them."""

FIRST_ELEMENT = KnownBehaviour(
    "Dropout's first element",
    ONNXRUNTIME,
    is_wrong=True,
    says=f"{SUBJECT} keeps its first element in thousands of runs on end, or in none of them.",
    met_by="a Dropout in training mode",
    after="drops each element by itself",
    explains=Explains.FIRST_ELEMENT,
)
SEEDS_IN_ORDER = KnownBehaviour(
    "Dropouts that go together",
    ONNXRUNTIME,
    is_wrong=True,
    says=f"{SUBJECT} begins each draw from the next seed of a small generator: elements at the "
    "same place of two Dropouts are correlated, and over many runs so are elements of one.",
    met_by="two Dropouts or more in training mode",
    after="draws independent masks",
    explains=Explains.SEVERAL_NODES,
)
SEEDS_OF_ONE = KnownBehaviour(
    "places of a Dropout that go together",
    ONNXRUNTIME,
    is_wrong=True,
    says=f"{SUBJECT} begins each draw from the next seed of a small generator: over many runs "
    "elements of its mask are correlated.",
    met_by="one Dropout in training mode",
    after="draws independent places",
    explains=Explains.SEVERAL_NODES,
)
OF_ALL_DROPOUTS = (SEEDS_IN_ORDER, SEEDS_OF_ONE)
"""The rows by which all numbers of all these nodes depend on each other."""
NORMALS = KnownBehaviour(
    "uniforms of an unseeded normal",
    OPENVINO,
    is_wrong=True,
    says="OpenVINO makes each normal without a seed of two equal uniforms: none is more than 1.21 "
    "standard deviations below the mean, and on average they are 0.06 above it.",
    met_by="a RandomNormal or RandomNormalLike without a seed",
    after="draws normals of two independent uniforms",
    explains=Explains.VALUES,
)
ROWS = (FIRST_ELEMENT, SEEDS_IN_ORDER, SEEDS_OF_ONE, NORMALS)


@dataclass(frozen=True)
class MetBySeveral:
    """A row, and the nodes of a model that meet it."""

    known: KnownBehaviour
    nodes: Sequence[RandomNode]


def met(runtime: str, nodes: Iterable[RandomNode]) -> list[MetBySeveral]:
    """The rows that these nodes meet, where a runtime draws them today."""
    of_onnx = [node for node in nodes if node.domain in STANDARD_DOMAINS]
    dropouts = [node for node in of_onnx if node.op_type == "Dropout"]
    normals = [node for node in of_onnx if _is_unseeded_normal(node)]
    in_order = SEEDS_OF_ONE if len(dropouts) == 1 else SEEDS_IN_ORDER
    every = (
        MetBySeveral(FIRST_ELEMENT, dropouts),
        MetBySeveral(in_order, dropouts),
        MetBySeveral(NORMALS, normals),
    )
    return [each for each in every if each.nodes and runtime in each.known.seen_in]


def _is_unseeded_normal(node: RandomNode) -> bool:
    has_seed = node.seeds or node.explicit_seed
    return node.replacement == RANDOM_NORMAL.name and not has_seed
