"""What a search found and what a rewrite did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MAIN_GRAPH = "main graph"


def title(
    label: str, domain: str, version: int | None, path: Sequence[str], function: str | None = None
) -> str:
    """What messages call a random node, given its operator and name, and its place."""
    place = " > ".join((MAIN_GRAPH, *path))
    origin = f", from function {function}" if function else ""
    opset = "opset not imported" if version is None else f"opset {version}"
    return f"{f'{domain} ' if domain else ''}{label} ({opset}, {place}{origin})"


@dataclass(frozen=True)
class RandomNode:
    """A random node of a model.

    Attributes:
        name: The node's name; empty where it has none.
        op_type: The operator, such as ``Dropout``.
        domain: The operator's domain; empty for ONNX's own, and for OpenVINO's.
        version: The version of the operator, as of the model's opset; of the domain's opset where
            the operator is not ONNX's own, None where the model does not import that. For a model
            of OpenVINO's, the operator set that the node is of.
        path: The subgraphs it is in, from the main graph inwards, such as ``Loop 'steps' body``;
            empty in the main graph.
        function: The model-local function that held it; None for a node of a graph.
        outputs: The names of its outputs.
        output_type: The element type of its output, as this package calls it (f32), or else as
            ONNX does (uint8); None where it is not known.
        replacement: The operator of this package that draws in its place; None where there is
            none.
        stream: Its stream number, kept as `op_seed`; None before a rewrite.
        problem: Why it cannot be replaced; None where it can.
    """

    name: str
    op_type: str
    domain: str
    version: int | None
    path: tuple[str, ...]
    function: str | None
    outputs: tuple[str, ...]
    output_type: str | None
    replacement: str | None
    stream: int | None
    problem: str | None

    @property
    def where(self) -> str:
        """The path in words, ``main graph > Loop 'steps' body``."""
        return " > ".join((MAIN_GRAPH, *self.path))


@dataclass(frozen=True)
class Report:
    """What a rewrite did.

    Attributes:
        replaced: The nodes that were replaced, in the order of their streams.
        kept: The nodes that `keep_unknown` left as they are.
        recorded: How many random nodes an earlier rewrite had replaced.
        seed: The seed that is a constant inside the model; None where the state is an input.
        is_per_row: Whether each row of the batch has a state of its own.
        settled: How many Dropouts of ratio 0 became Identity. They drop nothing in training mode
            either, so they are no random nodes.
    """

    replaced: tuple[RandomNode, ...] = ()
    kept: tuple[RandomNode, ...] = ()
    recorded: int = 0
    seed: int | None = None
    is_per_row: bool = False
    settled: int = 0

    @property
    def is_changed(self) -> bool:
        """Whether the model was changed."""
        return bool(self.replaced or self.settled)
