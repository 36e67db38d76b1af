"""The golden cases of the domain's version 1: RandomGenerator and RandomUniform."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import openvino as ov
from case import ALL_ONES, DTYPES, STATE, VECTORS, Arrays, Case, Check
from numpy.typing import NDArray
from onnx import numpy_helper, parser

from onnx_philox import PhiloxState, graphs


def cases() -> Iterator[tuple[str, Case]]:
    """All cases by name."""
    known = json.loads((VECTORS / "known.json").read_text())
    tensorflow = json.loads((VECTORS / "tensorflow.json").read_text())
    for row in known["openvino_documented"]["rows"]:
        yield f"uniform_{row['output_type']}_documented", _documented(row)
    for type_, bounds in (
        ("i32", (-(2**31), 2**31 - 1)),
        ("i64", (-3, 2**40 + 1)),
        ("f16", (-1.7, 2.2)),
        ("bf16", (0, 1)),
        ("f32", (0.1, 0.7)),
        ("f64", (0.1, 0.7)),
    ):
        yield f"uniform_{type_}_seeds", _seeds([3, 5], type_, bounds)
    yield "uniform_i64_rank_0_seeds", _seeds([], "i64", (0, 2**40 + 1))
    # Rows 6 to 11 are one of each type, within bounds that are not 0 and 1.
    for row in tensorflow["uniform"][6:12]:
        yield f"uniform_{row['output_type']}_state", _tensorflow_uniform(row)
        yield f"uniform_{row['output_type']}_rank_0_state", _tensorflow_scalar(row)
    yield "uniform_f32_constant_state", Case(_constant_state())
    yield "uniform_f32_subnormal_bounds", _seeds([20], "f32", (1e-45, 9e-39))
    for type_, low, high in (("f32", 0.1, 0.7), ("i32", -5, 2**31 - 6), ("bf16", 100, 101)):
        yield f"uniform_{type_}_input_bounds", _input_bounds(type_, low, high)

    bits = tensorflow["bits"]
    yield "generator_static", _tensorflow_bits(graphs.random_generator([67]), [bits[3]])
    yield "generator_dynamic", _tensorflow_bits(graphs.random_generator(None, rank=1), bits)
    yield "generator_rank_0", _tensorflow_bits(graphs.random_generator([]), [bits[7]])
    yield (
        "generator_rank_3",
        Case(
            graphs.random_generator(None, rank=3),
            [{"state": STATE, "shape": np.array(s)} for s in ([2, 3, 4], [5, 0, 2], [1, 1, 1])],
        ),
    )
    yield (
        "generator_seeds",
        Case(
            graphs.random_generator([2, 9], global_seed=2**63 - 1, op_seed=2**62 + 3),
            [{"state": STATE}, {"state": ALL_ONES}],
        ),
    )
    yield "generator_constant_state", _random123(known["random123_philox4x32_10"]["rows"][1])
    yield (
        "generator_state_of_rank_4",
        Case(_state_of_rank_4(), [{"state": STATE.reshape(1, 1, 1, 6)}]),
    )
    yield "two_nodes", Case(_two_nodes(), [{"state": STATE}])


def _documented(row: dict[str, Any]) -> Case:
    model = graphs.random_uniform(
        row["shape"],
        row["minval"],
        row["maxval"],
        row["output_type"],
        global_seed=row["global_seed"],
        op_seed=row["op_seed"],
    )

    def check(outputs: list[Arrays]) -> None:
        np.testing.assert_allclose(outputs[0]["values"], row["output"], rtol=0, atol=6e-8)

    return Case(model, check=check, source="OpenVINO's specification of RandomUniform-8")


def _seeds(shape: list[int], type_: str, bounds: tuple[float, float]) -> Case:
    seeds = {"global_seed": 2**40 + 9, "op_seed": 2**33 + 5}
    low, high = (np.array(bound, DTYPES[type_]) for bound in bounds)

    def check(outputs: list[Arrays]) -> None:
        # Model.evaluate runs OpenVINO's own reference code.
        constants = [ov.op.Constant(ov.Type.i64, ov.Shape([len(shape)]), shape)]
        kind = getattr(ov.Type, type_)
        # As arrays: lists of numbers become f32 on their way, which only bfloat16 bears.
        constants += [
            ov.op.Constant(kind, ov.Shape([]), [bound.item()])
            if type_ == "bf16"
            else ov.op.Constant(bound)
            for bound in (low, high)
        ]
        node = ov.opset8.random_uniform(*constants, kind.to_string(), **seeds)
        tensor = ov.Tensor(kind, ov.Shape(shape))
        assert ov.Model([node], [], "peer").evaluate([tensor], [])
        assert tensor.data.tobytes() == outputs[0]["values"].tobytes()

    return Case(
        graphs.random_uniform(shape, low, high, type_, **seeds),
        check=check,
        source=f"openvino.Model.evaluate, OpenVINO {ov.__version__.split('-')[0]}",
    )


def _tensorflow_uniform(row: dict[str, Any]) -> Case:
    """Run 1 is TensorFlow's row; run 2 goes on from its next state, run 3 draws nothing."""
    type_, state = row["output_type"], np.array(row["state"], np.uint32)
    after = PhiloxState.from_array(state).advance(
        row["elements"] * (2 if type_.endswith("64") else 1)
    )
    runs = [
        {"shape": np.array([1, row["elements"]]), "state": state},
        {"shape": np.array([2, 3]), "state": after.to_array()},
        {"shape": np.array([4, 0]), "state": after.to_array()},
    ]
    model = graphs.random_uniform(None, row["minval"], row["maxval"], type_, stateful=True, rank=2)
    return Case(model, runs, _gives_row(row), "TensorFlow 2.21 (run 1)")


def _tensorflow_scalar(row: dict[str, Any]) -> Case:
    model = graphs.random_uniform(
        [], row["minval"], row["maxval"], row["output_type"], stateful=True
    )
    state = np.array(row["state"], np.uint32)
    return Case(model, [{"state": state}], _gives_row(row), "TensorFlow 2.21")


def _gives_row(row: dict[str, Any]) -> Check:
    """The first run gives the row's values, or the first of them."""

    def check(outputs: list[Arrays]) -> None:
        got = outputs[0]["values"].tobytes()
        assert got
        assert bytes.fromhex(row["values_hex"]).startswith(got)

    return check


def _tensorflow_bits(model: onnx.ModelProto, rows: list[dict[str, Any]]) -> Case:
    is_dynamic = len(model.graph.input) == 2
    runs = [
        {"state": np.array(row["state"], np.uint32)}
        | ({"shape": np.array([row["elements"]])} if is_dynamic else {})
        for row in rows
    ]

    def check(outputs: list[Arrays]) -> None:
        for row, output in zip(rows, outputs, strict=True):
            bits = output["bits"].reshape(-1)
            assert bits.size
            np.testing.assert_array_equal(bits, row["bits"][: bits.size])

    return Case(model, runs, check, "TensorFlow 2.21")


def _random123(row: list[list[str]]) -> Case:
    counter, key, block = ([int(word, 16) for word in words] for words in row)
    state = np.array([*counter, *key], np.uint32)
    assert (state == ALL_ONES).all()

    def check(outputs: list[Arrays]) -> None:
        np.testing.assert_array_equal(outputs[0]["bits"].reshape(-1)[:4], block)

    model = with_constant(graphs.random_generator([3, 4]), "state", state)
    return Case(model, check=check, source="Random123 1.14 (the first block)")


def _constant_state() -> onnx.ModelProto:
    """A constant state, an int32 shape, and no next state."""
    model = graphs.random_uniform([2, 5], -1, 1, "f32", op_seed=7, stateful=True)
    del model.graph.output[1]
    model.graph.node[0].output.pop()
    (shape,) = (i for i in model.graph.initializer if i.name == "shape")
    shape.CopyFrom(numpy_helper.from_array(np.array([2, 5], np.int32), "shape"))
    return with_constant(model, "state", ALL_ONES)


def with_constant(model: onnx.ModelProto, name: str, value: NDArray[Any]) -> onnx.ModelProto:
    """The model with a graph input made an initializer."""
    (graph_input,) = (i for i in model.graph.input if i.name == name)
    model.graph.input.remove(graph_input)
    model.graph.initializer.append(numpy_helper.from_array(value, name))
    return model


def _input_bounds(type_: str, low: float, high: float) -> Case:
    bounds = {"minval": np.array(low, DTYPES[type_]), "maxval": np.array(high, DTYPES[type_])}
    return Case(
        graphs.random_uniform(None, None, None, type_, stateful=True, rank=1),
        [bounds | {"shape": np.array([n]), "state": STATE} for n in (1, 11)],
    )


def _state_of_rank_4() -> onnx.ModelProto:
    """DirectML's feature level 3.0 has states of rank 4 only."""
    return parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        generator (uint32[1,1,1,6] state) => (uint32[1,1,2,5] bits, uint32[1,1,1,6] next_state)
            <int64[4] shape = {1, 1, 2, 5}> {
          bits, next_state = onnx_philox.RandomGenerator (state, shape)
        }
    """)


def _two_nodes() -> onnx.ModelProto:
    """The second node draws on where the first has stopped; a third shares the first's state."""
    return parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        two_nodes (uint32[6] state)
            => (uint32[5] bits, double[2,3] values, uint32[6] next_state, uint32[5] other)
            <int64[1] five = {5}, int64[2] shape = {2, 3}, double low = {0.1},
             double high = {0.7}> {
          bits, between = onnx_philox.RandomGenerator (state, five)
          values, next_state = onnx_philox.RandomUniform <output_type = "f64"> (
              shape, low, high, between)
          other = onnx_philox.RandomGenerator <op_seed = 1> (state, five)
        }
    """)
