"""The golden cases of what version 1 of the domain gained: three distributions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from case import ALL_ONES, DTYPES, STATE, VECTORS, Arrays, Case
from onnx import parser
from version_1 import with_constant

from onnx_philox import PhiloxState, graphs

SEEDS = {"global_seed": 2**40 + 9, "op_seed": 2**33 + 5}
FLOATS = ("f16", "bf16", "f32", "f64")
RUN_3 = PhiloxState.for_run(2**62 + 1, 3).to_array()

INF = float("inf")
LOGITS = [
    [0.0, 1.0, -2.0, 0.5, 0.5, -INF, 3.0],
    [-INF, -INF, 7.0, -INF, -INF, -INF, -INF],
    [1e4, -1e4, 1e4, 0.0, 9999.0, -1.0, 9998.0],
    [-700.0, -707.5, -708.5, -710.0, 0.0, -0.0, -36.75],
]
PROBABILITIES = [[0, 1, 0.5, 1e-45], [0.25, 0.999, 0.001, 0.3], [0.75, 0.1, 2**-23, 0.9]]


def cases() -> Iterator[tuple[str, Case]]:
    """All cases by name."""
    yield from _normals()
    yield from _booleans()
    yield from _indices()
    yield "one_after_another", Case(_one_after_another(), [{"state": STATE}, {"state": RUN_3}])
    yield "one_state_for_all", Case(_one_state_for_all(), [{"state": STATE}, {"state": RUN_3}])


def _normals() -> Iterator[tuple[str, Case]]:
    tensorflow = json.loads((VECTORS / "tensorflow.json").read_text())
    for row in tensorflow["normal"][:2]:
        yield f"normal_{row['output_type']}_tensorflow", _tensorflow(row)
    for type_ in FLOATS:
        yield (
            f"normal_{type_}_state",
            Case(
                graphs.random_normal(None, -1.7, 2.2, type_, stateful=True, rank=2),
                [{"shape": np.array(s), "state": STATE} for s in ([1, 67], [2, 3], [4, 0])],
            ),
        )
        yield f"normal_{type_}_seeds", Case(graphs.random_normal([3, 5], 0, 1, type_, **SEEDS))
        yield (
            f"normal_{type_}_rank_0_state",
            Case(graphs.random_normal([], 3, -2, type_, stateful=True), [{"state": STATE}]),
        )
    # OpenVINO refuses f64 that is not constant.
    for type_ in FLOATS[:3]:
        yield f"normal_{type_}_input_moments", _input_moments(type_)
    for type_, scale in (("f32", 1e-42), ("f64", 1e-311)):
        yield (
            f"normal_{type_}_subnormal_scale",
            Case(graphs.random_normal([20], 0, scale, type_, **SEEDS)),
        )
    constant = graphs.random_normal([2, 5], 0.1, 0.7, "f32", stateful=True)
    yield "normal_f32_constant_state", Case(with_constant(constant, "state", ALL_ONES))


def _tensorflow(row: dict[str, Any]) -> Case:
    type_ = row["output_type"]
    limit = {"f32": 4e-6, "f64": 1e-12}[type_]
    expected = np.frombuffer(bytes.fromhex(row["values_hex"]), DTYPES[type_])

    def check(outputs: list[Arrays]) -> None:
        np.testing.assert_allclose(outputs[0]["values"], expected, rtol=0, atol=limit)

    model = graphs.random_normal([row["elements"]], 0, 1, type_, stateful=True)
    run = {"state": np.array(row["state"], np.uint32)}
    return Case(model, [run], check, f"TensorFlow 2.21, within {limit}")


def _input_moments(type_: str) -> Case:
    moments = {"mean": np.array(-1.7, DTYPES[type_]), "scale": np.array(2.2, DTYPES[type_])}
    return Case(
        graphs.random_normal(None, None, None, type_, stateful=True, rank=1),
        [moments | {"shape": np.array([n]), "state": STATE} for n in (1, 11)],
    )


def _booleans() -> Iterator[tuple[str, Case]]:
    for type_ in ("f32", "f64"):
        p, each = (np.array(x, DTYPES[type_]) for x in (0.3, PROBABILITIES))
        yield (
            f"bernoulli_{type_}_state",
            Case(
                graphs.random_bernoulli(None, p, stateful=True, rank=2),
                [{"shape": np.array(s), "state": STATE} for s in ([1, 131], [2, 3], [4, 0])],
            ),
        )
        yield f"bernoulli_{type_}_seeds", Case(graphs.random_bernoulli([3, 5], p, **SEEDS))
        yield (
            f"bernoulli_{type_}_per_element",
            Case(graphs.random_bernoulli([3, 4], each, stateful=True), [{"state": STATE}]),
        )
        yield (
            f"bernoulli_{type_}_rank_0_state",
            Case(graphs.random_bernoulli([], p, stateful=True), [{"state": STATE}]),
        )
    each = np.array(PROBABILITIES, np.float32)
    yield (
        "bernoulli_f32_input_p",
        Case(
            graphs.random_bernoulli([7], None, stateful=True),
            [{"p": np.array(x, np.float32), "state": STATE} for x in (0, 0.3, 1)],
        ),
    )
    yield (
        "bernoulli_f32_input_per_element",
        Case(
            graphs.random_bernoulli(None, None, per_element=True, stateful=True, rank=2),
            [
                {"shape": np.array(x.shape), "p": x, "state": STATE}
                for x in (each, each[:1, :3].copy(), each[:0])
            ],
        ),
    )


def _indices() -> Iterator[tuple[str, Case]]:
    for type_ in ("f16", "f32", "f64"):
        logits = np.array(LOGITS, DTYPES[type_])
        for output_type in ("i32", "i64"):
            yield (
                f"categorical_{type_}_{output_type}_state",
                Case(
                    graphs.random_categorical(logits, 13, output_type, stateful=True),
                    [{"state": STATE}],
                ),
            )
        yield f"categorical_{type_}_seeds", Case(graphs.random_categorical(logits, **SEEDS))
    for type_ in ("f16", "f32"):
        logits = np.array(LOGITS, DTYPES[type_])
        yield (
            f"categorical_{type_}_input_logits",
            Case(
                graphs.random_categorical(sample_size=3, logits_type=type_, stateful=True),
                [
                    {"logits": x, "state": STATE}
                    for x in (logits, logits[:1, :3].copy(), logits[:0], logits[:, 2:3].copy())
                ],
            ),
        )


def _one_after_another() -> onnx.ModelProto:
    """Each node draws on where the one before has stopped."""
    return parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        one_after_another (uint32[6] state)
            => (float[2,3] x, bool[5] kept, int64[2,2] classes, uint32[6] next_state)
            <int64[2] shape = {2, 3}, int64[1] five = {5}, float zero = {0}, float one = {1},
             float half = {0.5}, float[2,3] logits = {0, 1, 2, 3, 2, 1}> {
          x, a = onnx_philox.RandomNormal <output_type = "f32"> (shape, zero, one, state)
          kept, b = onnx_philox.RandomBernoulli (five, half, a)
          classes, next_state = onnx_philox.RandomCategorical <
              sample_size = 2, output_type = "i64"> (logits, b)
        }
    """)


def _one_state_for_all() -> onnx.ModelProto:
    """As `make_reproducible` has it: streams by op_seed."""
    return parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        one_state_for_all (uint32[6] state)
            => (float[2,3] x, float[2,3] y, bool[2,3] kept, int32[2,1] classes)
            <int64[2] shape = {2, 3}, float zero = {0}, float one = {1}, float half = {0.5}> {
          x = onnx_philox.RandomNormal <output_type = "f32"> (shape, zero, one, state)
          y = onnx_philox.RandomUniform <output_type = "f32", op_seed = 1> (
              shape, zero, one, state)
          kept = onnx_philox.RandomBernoulli <op_seed = 2> (shape, half, state)
          classes = onnx_philox.RandomCategorical <op_seed = 3> (x, state)
        }
    """)
