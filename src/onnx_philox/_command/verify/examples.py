"""One draw of one node, as a model, its feeds and what NumPy makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import compose

from onnx_philox import graphs, reference
from onnx_philox._contract.inputs import ALIGNMENT, TENSORFLOW
from onnx_philox._contract.operators import OUTPUT_TYPE, RANDOM_GENERATOR, Operator
from onnx_philox._contract.state import GeneratorState, PhiloxState
from onnx_philox._contract.types import BY_DTYPE, F64, ElementType
from onnx_philox._runtimes.port import Arrays


@dataclass(frozen=True)
class Example:
    """One draw of one node: everything needed to make its model and feeds.

    Args:
        shape: The output's dimensions.
        type: The output's element type.
        operator: The operator that draws.
        arguments: What the operator's builder takes besides shape, types and seeds: bounds, mean
            and scale, p, or logits and sample_size. They are constants of the model.
        global_seed: A seed of the node.
        op_seed: Likewise.
        run: The number of this draw, for a stateful operator with these seeds that draws
            repeatedly. Our operator is not one: it gets the state at which that draw starts.
        state: Where to draw; None for a node with seeds alone.
        is_shape_fed: Whether the shape is an input of the model rather than a constant.
        rows: A state for each row, in place of `state`.
        alignment: Whose numbers; the state is of the same.
    """

    shape: tuple[int, ...]
    type: ElementType
    operator: Operator = RANDOM_GENERATOR
    arguments: Mapping[str, Any] = field(default_factory=dict)
    global_seed: int = 0
    op_seed: int = 0
    run: int | None = None
    state: GeneratorState | None = None
    is_shape_fed: bool = False
    rows: tuple[PhiloxState, ...] = ()
    alignment: str = TENSORFLOW

    @property
    def node_state(self) -> GeneratorState | None:
        """The state that the node is given."""
        if self.run is None:
            return self.state
        elements = math.prod(self.shape)
        return PhiloxState.openvino_run(self.global_seed, self.op_seed, self.run, elements)

    @property
    def node_seeds(self) -> dict[str, int]:
        """The seeds that the node is given; the state includes those of a run."""
        if self.run is not None:
            return {"global_seed": 0, "op_seed": 0}
        return {"global_seed": self.global_seed, "op_seed": self.op_seed}

    def model(self) -> onnx.ModelProto:
        """The model of one node that draws this."""
        arguments = self._arguments()
        if self.is_shape_fed:
            arguments |= {"shape": None, "rank": len(self.shape)}
        if self.rows:
            arguments["per_row"] = True
        elif self.operator is not RANDOM_GENERATOR:
            arguments["stateful"] = self.node_state is not None
        build: Callable[..., onnx.ModelProto] = getattr(graphs, self.operator.function)
        return build(**arguments)

    def feeds(self) -> Arrays:
        """The feeds of that model's inputs."""
        feeds: Arrays = {}
        state = self._state_array()
        if state is not None:
            feeds["state"] = state
        if self.is_shape_fed:
            feeds["shape"] = np.array(self.shape, np.int64)
        return feeds

    def in_numpy(self) -> Arrays:
        """The outputs of that model as `onnx_philox.reference` computes them."""
        state = self._state_array()
        draw = getattr(reference, self.operator.function)
        results = draw(**self._arguments(), state=state)
        outputs = self.operator.outputs
        if state is None:
            outputs = self.operator.values_outputs
        names = [output.name for output in outputs]
        return dict(zip(names, results, strict=False))

    def _state_array(self) -> NDArray[np.uint32] | None:
        if self.rows:
            states = [row.to_array() for row in self.rows]
            return np.stack(states)
        if self.node_state is None:
            return None
        return self.node_state.to_array()

    def next_state(self) -> NDArray[np.uint32]:
        """The state after this draw."""
        assert isinstance(self.node_state, PhiloxState), "not seeds alone, nor another generator"
        # Not by `advance` and the rules of the distributions, since those are what we verify.
        blocks = -(-self._words() // 4)
        counter = (self.node_state.counter + blocks) % 2**128
        after = PhiloxState(counter, self.node_state.key)
        return after.to_array()

    def _words(self) -> int:
        elements = math.prod(self.shape)
        match self.operator.name:
            case "RandomNormal":
                words = 2 if self.type is F64 else 1
                return (elements + elements % 2) * words
            case "RandomBernoulli" | "RandomDropout":
                probability = self.arguments.get("p", self.arguments.get("ratio"))
                words = 2 if probability.dtype == np.float64 else 1
                return elements * words
            case "RandomCategorical" if self.arguments.get("replacement") == 0:
                return int(self.arguments["logits"].size) * 2
            case "RandomCategorical" | "RandomToken" | "RandomPermutation":
                return elements * 2
            case "RandomGamma" | "RandomPoisson":
                return elements * 128
            case _:
                words = max(1, self.type.dtype.itemsize // 4)
                return elements * words

    def _arguments(self) -> dict[str, Any]:
        """The arguments that a builder and a function of the reference share."""
        arguments = {**self.arguments, **self.node_seeds}
        if self.operator.has_shape:
            arguments["shape"] = self.shape
        if any(a.name == OUTPUT_TYPE for a in self.operator.attributes):
            arguments[OUTPUT_TYPE] = self.type.name
        if self.alignment != TENSORFLOW:
            arguments[ALIGNMENT.name] = self.alignment
        return arguments

    def __str__(self) -> str:
        parts = [f"{self.operator.name} {self.type.name}", f"shape {list(self.shape)}"]
        if self.arguments:
            shown = [f"{name} {_shown(given)}" for name, given in self.arguments.items()]
            parts.append(", ".join(shown))
        if self.global_seed or self.op_seed:
            parts.append(f"global_seed {self.global_seed}, op_seed {self.op_seed}")
        if self.run is not None:
            parts.append(f"run {self.run}")
        if isinstance(self.state, PhiloxState):
            state = self.state
            parts.append(f"counter {state.counter:#x}, key {state.key:#x}")
        elif self.state is not None:
            parts.append(f"from {self.state!r}")
        if self.rows:
            parts.append(f"a state for each of {len(self.rows)} rows")
        return "; ".join(parts)


def together(examples: Sequence[Example]) -> tuple[onnx.ModelProto, Arrays]:
    """Draws as one model, with a node for each whose names begin with its number; and its feeds."""
    models = []
    feeds = {}
    for number, example in enumerate(examples):
        model = compose.add_prefix(example.model(), f"{number}.")
        models.append(model)
        for name, array in example.feeds().items():
            feeds[f"{number}.{name}"] = array
    whole, *others = models
    for other in others:
        whole.graph.MergeFrom(other.graph)
    return whole, feeds


def apart(outputs: Arrays, count: int) -> list[Arrays]:
    """The outputs of each draw, from those of all in one model."""
    by_number: dict[str, dict[str, NDArray[Any]]] = {}
    for name, array in outputs.items():
        number, _, own = name.partition(".")
        by_number.setdefault(number, {})[own] = array
    return [by_number.get(str(number), {}) for number in range(count)]


def _shown(argument: Any) -> str:
    """A number unchanged, an array as its type and shape."""
    if np.ndim(argument) == 0:
        return str(argument)
    type_ = BY_DTYPE[argument.dtype]
    return f"{type_.name}{list(argument.shape)}"
