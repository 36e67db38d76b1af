"""What a search found and what a rewrite did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onnx_philox._contract.operators import DOMAIN
from onnx_philox._contract.streams import Streams
from onnx_philox._rewriting.seeded import Seeded

MAIN_GRAPH = "main graph"


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
        stream: Its stream number, kept as `op_seed`; None before a rewrite, and where the node
            keeps its own seeds.
        problem: Why it cannot be replaced; None where it can.
        seeds: Its `global_seed` and `op_seed`; None where it has none, or both are 0.
        keeps_seeds: Whether it draws by its own seeds after a rewrite too.
        share: Of a Bernoulli, how often it is true, in ONNX Runtime and after a rewrite, in words;
            None for other nodes.
        doubt: What says that the model may not draw what was meant by it, or not the same in every
            runtime, in words; None where nothing does.
        explicit_seed: The seed that it has from its exporter, in words such as "seed 12". None
            where it has none, and for a node of this package.
        seeded: What the runtime makes of that seed: nodes for which it is equal repeat each other
            there. None where the node has no seed, or cannot be replaced.
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
    seeds: tuple[int, int] | None = None
    keeps_seeds: bool = False
    share: str | None = None
    doubt: str | None = None
    explicit_seed: str | None = None
    seeded: Seeded | None = None

    @property
    def called(self) -> str:
        """Its name; in words for a node without one, such as ``the Dropout that gives 'y'``."""
        if self.name:
            return self.name
        if self.outputs:
            return f"the {self.op_type} that gives {self.outputs[0]!r}"
        return f"the {self.op_type} without a name"

    @property
    def is_reproducible(self) -> bool:
        """Whether it is one of this package's, whose own seeds already say what it draws."""
        return self.domain == DOMAIN and self.seeds is not None

    @property
    def where(self) -> str:
        """The path in words, ``main graph > Loop 'steps' body``."""
        return " > ".join((MAIN_GRAPH, *self.path))


def wants_rewrite(nodes: Sequence[RandomNode], streams: Streams | None) -> bool:
    """Whether a model must be rewritten to be served, given its random nodes and its streams.

    Beside a state, nodes of this package that have none draw the same numbers in every run, as
    their user wrote them.
    """
    if streams is None:
        return bool(nodes)
    return not all(node.is_reproducible for node in nodes)


@dataclass(frozen=True)
class Report:
    """What a rewrite did.

    Attributes:
        replaced: The nodes that were replaced, in the order in which they got their streams.
        kept: The nodes that `keep_unknown` left as they are.
        recorded: How many random nodes an earlier rewrite had replaced.
        seed: The seed that is a constant inside the model; None where the state is an input.
        is_per_row: Whether each row of the batch has a state of its own.
        settled: How many Dropouts that drop nothing became Identity: of ratio 0, which drop nothing
            in training mode either, and ONNX Runtime's fused ones that are off. They are no random
            nodes.
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
