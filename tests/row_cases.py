"""Draws by rows, of every operator and type, and the same draws row by row from plain states."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from cases import SEED
from onnx import numpy_helper

from onnx_philox import graphs, reference

Arrays = dict[str, np.ndarray]
RNG = np.random.default_rng(11)


def some_states(rows: int) -> np.ndarray:
    """States with high bits in every word; every third carries through the counter at once."""
    states = RNG.integers(0, 2**32, (rows, 6), dtype=np.uint64).astype(np.uint32)
    states[::3, :4] = 0xFFFFFFFF
    states[1::3, 0] = 0xFFFFFFFE
    return states


@dataclass(frozen=True)
class RowCase:
    """A draw by rows."""

    operator: str
    """The function of `reference`, and the builder."""
    type: str
    """The type of the values."""
    arguments: dict[str, Any]
    """What both take, the numbers of one element for example."""
    of_rows: Callable[[tuple[int, ...]], Arrays] = lambda _: {}
    """Inputs with a first dimension for the rows, by the shape of the output."""
    input_types: tuple[tuple[str, str], ...] = ()
    """What the builder is told of such an input."""
    in_openvino_constant: bool = False
    """Whether OpenVINO takes such inputs only as constants."""

    @property
    def has_shape(self) -> bool:
        return self.operator not in ("random_categorical", "random_dropout", "random_token")

    def alone(self, shape: tuple[int, ...], states: np.ndarray, inputs: Arrays) -> list[np.ndarray]:
        """Row by row, each from a plain state: the values, and the next states."""
        draw = getattr(reference, self.operator)
        rows = []
        for b, state in enumerate(states):
            own = {name: x[b : b + 1] for name, x in inputs.items()}
            if self.has_shape:
                own["shape"] = [1, *shape[1:]]
            rows.append(draw(**own, **self.arguments, state=state))
        if not rows:
            masks = [np.empty(shape, bool)] * (self.operator == "random_dropout")
            return [np.empty(shape, TYPES[self.type]), *masks, states]
        *values, states = zip(*rows, strict=True)
        return [*map(np.concatenate, values), np.stack(states)]

    def together(self, shape: tuple[int, ...], states: np.ndarray, inputs: Arrays) -> tuple:
        """What the reference draws for all rows at once."""
        given = dict(inputs) | ({"shape": shape} if self.has_shape else {})
        return getattr(reference, self.operator)(**given, **self.arguments, state=states)

    def model(self, shape: tuple[int, ...], inputs: Arrays, *, constant: bool) -> onnx.ModelProto:
        """A model that draws it; with constants, only the state is an input."""
        arguments = dict(self.arguments)
        if self.has_shape:
            arguments |= {"shape": list(shape)} if constant else {"shape": None, "rank": len(shape)}
        if inputs:
            arguments |= inputs if constant else dict.fromkeys(inputs) | dict(self.input_types)
            if self.operator == "random_dropout" and not constant:
                arguments["rank"] = len(shape)
            elif self.operator == "random_token" and not constant:
                arguments["inputs"] = [name for name in inputs if name != "logits"]
            elif "logits" not in inputs and not constant:
                arguments["per_element"] = True
        return getattr(graphs, self.operator)(**arguments, per_row=True)

    def feeds(self, shape: tuple[int, ...], states: np.ndarray, inputs: Arrays) -> Arrays:
        feeds = {"state": states, **inputs}
        return feeds | {"shape": np.array(shape, np.int64)} if self.has_shape else feeds


TYPES = {
    **{"u32": np.uint32, "i32": np.int32, "i64": np.int64, "bool": np.bool_},
    **{"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64},
}
NOT_CARRIED = ("f16", "bf16")
"""The types of values that onnxruntime-extensions does not carry."""


def _logits(name: str, classes: int) -> Callable[[tuple[int, ...]], Arrays]:
    def make(shape: tuple[int, ...]) -> Arrays:
        return {"logits": RNG.normal(0, 3, (shape[0], classes)).astype(TYPES[name])}

    return make


def _data(name: str) -> Callable[[tuple[int, ...]], Arrays]:
    return lambda shape: {"data": RNG.normal(0, 3, shape).astype(TYPES[name])}


def _probabilities(name: str) -> Callable[[tuple[int, ...]], Arrays]:
    return lambda shape: {"p": RNG.random(shape).astype(TYPES[name])}


CASES: dict[str, RowCase] = {"generator": RowCase("random_generator", "u32", SEED)}
for _type, _low, _high in (
    ("i32", -5, 2**31 - 6),
    ("i64", -7, 2**40 + 1),
    ("f16", -3, 5.5),
    ("bf16", 0, 1),
    ("f32", 0.1, 0.7),
    ("f64", 0.1, 0.7),
):
    CASES[f"uniform {_type}"] = RowCase(
        "random_uniform", _type, {"minval": _low, "maxval": _high, "output_type": _type, **SEED}
    )
for _type in ("f16", "bf16", "f32", "f64"):
    CASES[f"normal {_type}"] = RowCase(
        "random_normal", _type, {"mean": -1.5, "scale": 2, "output_type": _type, **SEED}
    )
    CASES[f"exponential {_type}"] = RowCase(
        "random_exponential", _type, {"scale": 2.2, "output_type": _type, **SEED}
    )
for _type in ("f32", "f64"):
    CASES[f"bernoulli {_type}"] = RowCase(
        "random_bernoulli", "bool", {"p": TYPES[_type](0.3), **SEED}
    )
    CASES[f"bernoulli {_type} each"] = RowCase(
        "random_bernoulli",
        "bool",
        SEED,
        _probabilities(_type),
        (("p_type", _type),),
        _type == "f64",
    )


def _rejecting(parameter: str, name: str) -> Callable[[tuple[int, ...]], Arrays]:
    return lambda shape: {parameter: (RNG.random(shape) * 20 + 0.1).astype(TYPES[name])}


for _operator, _parameter, _types in (
    ("gamma", "alpha", ("f32", "f64")),
    ("poisson", "rate", ("i32", "i64")),
):
    for _type in _types:
        CASES[f"{_operator} {_type}"] = RowCase(
            f"random_{_operator}",
            _type,
            {_parameter: np.float32(10.5), "output_type": _type, **SEED},
        )
        CASES[f"{_operator} {_type} each"] = RowCase(
            f"random_{_operator}",
            _type,
            {"output_type": _type, **SEED},
            _rejecting(_parameter, "f32"),
            ((f"{_parameter}_type", "f32"),),
        )
# OpenVINO's CPU plugin computes data of f64 in f32.
for _type, _ratio in (("f16", "f32"), ("bf16", "f32"), ("f32", "f32"), ("f32", "f64")):
    CASES[f"dropout {_type} by {_ratio}"] = RowCase(
        "random_dropout",
        _type,
        {"ratio": TYPES[_ratio](0.3), **SEED},
        _data(_type),
        (("data_type", _type),),
    )
for _type in ("f16", "f32", "f64"):
    for _output in ("i32", "i64"):
        CASES[f"categorical {_type} {_output}"] = RowCase(
            "random_categorical",
            _output,
            {"sample_size": 3, "output_type": _output, **SEED},
            _logits(_type, 7),
            (("logits_type", _type),),
            _type == "f64",
        )
for _type in ("i32", "i64"):
    CASES[f"permutation {_type}"] = RowCase(
        "random_permutation", _type, {"output_type": _type, **SEED}
    )


def _filtered(name: str, classes: int) -> Callable[[tuple[int, ...]], Arrays]:
    def make(shape: tuple[int, ...]) -> Arrays:
        numbers = RNG.random((3, shape[0])).astype(np.float32)
        return _logits(name, classes)(shape) | {
            "temperature": numbers[0] * 2,
            "top_k": RNG.integers(0, classes + 2, shape[0]),
            "top_p": 1 - numbers[1] / 2,
            "min_p": numbers[2] / 9,
        }

    return make


for _type, _output in (("f16", "i32"), ("bf16", "i64"), ("f32", "i64")):
    CASES[f"token {_type} {_output}"] = RowCase(
        "random_token",
        _output,
        {"output_type": _output, **SEED},
        _filtered(_type, 9),
        (("logits_type", _type),),
    )
CASES["token of one filter"] = RowCase(
    "random_token",
    "i64",
    {"top_p": 0.8, **SEED},
    _logits("f32", 9),
    (("logits_type", "f32"),),
)

WITHOUT_STANDARD_NODES = (
    "exponential f16",
    "exponential bf16",
    *(name for name in CASES if name.startswith(("gamma", "poisson", "permutation", "token"))),
)
"""Cases that standard nodes refuse in every target."""


def shape_of(case: RowCase, rows: int, row: tuple[int, ...]) -> tuple[int, ...]:
    """The output's shape for rows of such a shape; classes and permutations have their own."""
    if case.operator == "random_permutation":
        return (rows, math.prod(row))
    samples = 1 if case.operator == "random_token" else case.arguments.get("sample_size")
    return (rows, *row) if samples is None else (rows, samples)


def with_constant(model: onnx.ModelProto, name: str, value: np.ndarray) -> onnx.ModelProto:
    """The model with a graph input made an initializer."""
    (graph_input,) = (i for i in model.graph.input if i.name == name)
    model.graph.input.remove(graph_input)
    model.graph.initializer.append(numpy_helper.from_array(value, name))
    return model
