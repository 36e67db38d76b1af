"""RandomDropout: the rule, in every runtime and when rewritten."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from onnx_philox import PhiloxState, graphs, make_reproducible, onnx_reference, reference
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import find_random_nodes
from tests.common.cases import DTYPES, assert_all_same, assert_same_bits, parse
from tests.common.operators import STATE, by_core, in_numpy
from tests.common.runtimes import OpenVino

TYPES = ["f16", "bf16", "f32", "f64"]


def data_of(type_: str, shape: Any = (3, 35)) -> np.ndarray:
    """Numbers of many sizes, zeros of both signs and infinities."""
    rng = np.random.default_rng(5)
    numbers = rng.normal(0, 1, shape) * 10.0 ** rng.integers(-4, 4, shape)
    numbers.flat[:4] = 0.0, -0.0, np.inf, -np.inf
    return numbers.astype(DTYPES[type_])


@pytest.mark.parametrize(
    "shape",
    [
        (),
        (0,),
        (1,),
        (2, 1, 3),
        (1,) * 8,
    ],
)
@pytest.mark.parametrize("type_", ["f16", "f32", "f64"])
def test_onnxruntime_knows_the_type_of_data_of_unknown_rank(type_: str, shape: Any) -> None:
    """And of a scalar: ONNX Runtime tells a library neither from the other."""
    name = {"f16": "float16", "f32": "float", "f64": "double"}[type_]
    model = parse(f"""g ({name}[n] x, int64[k] s, uint32[6] state) => ({name} y, bool b)
            <float half = {{0.5}}> {{
          d = Reshape <allowzero = 1> (x, s)
          o, m = onnx_philox.RandomDropout (d, half, state)
          y = Neg (o)
          b = Not (m)
        }}""")
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    data = np.arange(1, np.prod(shape) + 1).astype(DTYPES[type_])
    session = InferenceSession(model)
    y, dropped = session.run(
        None,
        {
            "x": data,
            "s": np.array(shape, np.int64),
            "state": STATE,
        },
    )
    expected = reference.random_dropout(data.reshape(shape), 0.5, state=STATE)
    assert_same_bits(np.asarray(y), -expected[0])
    assert_same_bits(np.asarray(dropped), np.asarray(~expected[1]))


def test_openvino_scales_f64_data_as_it_computes_them(openvino: OpenVino) -> None:
    data = data_of("f64")
    model = graphs.random_dropout(None, 0.3, data_type="f64", rank=2, stateful=True)
    output, mask, after = openvino(model, {"state": STATE, "data": data})
    expected = reference.random_dropout(data, 0.3, state=STATE)
    assert_same_bits(mask, expected[1])
    assert_same_bits(after, expected[2])
    is_finite = np.isfinite(data)
    np.testing.assert_allclose(
        output[is_finite],
        expected[0][is_finite],
        rtol=1e-6,
    )


MASKS = """g (float[n, 8] x{state_input})
    => (float[n, 8] y, bool[n, 8] b, bool[n, 8] c, float[n, 8] z)
    <float half = {{0.5}}, float few = {{0.2}}> {{
      h, kept, a = onnx_philox.RandomDropout <op_seed = 3> (x, half{state})
      y, again = onnx_philox.RandomDropout <op_seed = 4> (h, few, a)
      b = Not (kept)
      c = And (kept, again)
      z = Where (again, x, y)
    }}"""


@pytest.mark.parametrize("state", ["", "state"])
def test_masks_are_booleans_for_the_nodes_that_read_them(openvino: OpenVino, state: str) -> None:
    given = f", uint32[6] {state}" if state else ""
    model = parse(MASKS.format(state_input=given, state=state and f", {state}"))
    # Without -0, of which OpenVINO's Select makes 0.
    feeds: dict[str, np.ndarray] = {"x": data_of("f32", (5, 8)) + 0}
    if state:
        feeds["state"] = STATE
    expected = ReferenceEvaluator(model, new_ops=onnx_reference.OPS).run(None, feeds)
    for results in (InferenceSession(model).run(None, feeds), openvino(model, feeds)):
        assert_all_same(results, expected)


# Rewritten models.

MODEL = """g ({type}[n, 8] x{more}) => ({type}[n, 8] y, bool[n, 8] kept, {type}[n, 8] z)
        <{ratio_type} ratio = {{0.3}}, bool on = {{1}}> {{
      y, mask = Dropout (x, ratio, {mode})
      kept = Identity (mask)
      z = Dropout (y, ratio, on)
    }}"""
ONNX_NAMES = {"f16": "float16", "f32": "float", "f64": "double"}


def model_of(
    type_: str = "f32",
    *,
    ratio_type: str = "float",
    mode: str = "on",
) -> onnx.ModelProto:
    more = ", bool given" if mode == "given" else ""
    types = {"type": ONNX_NAMES[type_], "ratio_type": ratio_type}
    return parse(MODEL.format(**types, more=more, mode=mode))


@pytest.mark.parametrize("type_", ONNX_NAMES)
def test_a_rewritten_dropout_has_the_mask_of_before(openvino: OpenVino, type_: str) -> None:
    rewritten = make_reproducible(model_of(type_))
    assert [n.op_type for n in rewritten.graph.node if n.domain] == ["RandomDropout"] * 2
    x = data_of(type_, (5, 8))
    state = PhiloxState.for_run(7).to_array()
    feeds = {"x": x, "random_state": state}
    # What RandomBernoulli draws from the node's stream.
    dropped, _ = reference.random_bernoulli(
        [5, 8],
        np.float32(0.3),
        state=state,
        op_seed=0,
    )
    expected = ReferenceEvaluator(rewritten, new_ops=onnx_reference.OPS).run(None, feeds)
    assert_same_bits(np.asarray(expected[1]), ~dropped)
    assert_same_bits(np.asarray(InferenceSession(rewritten).run(None, feeds)[0]), expected[0])
    results = openvino(rewritten, feeds)
    assert_same_bits(results[1], ~dropped)
    if type_ != "f64":
        assert_same_bits(results[2], expected[2])


def test_a_dropout_whose_mode_is_computed_stays_as_it_was() -> None:
    nodes = make_reproducible(model_of(mode="given")).graph.node
    assert [n.op_type for n in nodes if n.domain] == ["RandomBernoulli", "RandomDropout"]


def test_f64_data_keep_the_factor_of_their_f64_ratio() -> None:
    for ratio_type, became in (("double", "RandomBernoulli"), ("float", "RandomDropout")):
        found = find_random_nodes(model_of("f64", ratio_type=ratio_type))
        assert {node.replacement for node in found} == {became}
    assert {n.replacement for n in find_random_nodes(model_of(ratio_type="double"))} == {
        "RandomDropout"
    }


@pytest.mark.parametrize("around", ["Identity (x)", "Neg (x)"])
def test_masks_that_nothing_reads_have_names_of_their_own(
    around: str, ort_backend: str, openvino: OpenVino
) -> None:
    """In a body, in a branch in it, and beside names of the graph around, as torch gives them."""
    model = parse(f"""g (float[4, 8] x, int64 trips) => (float[4, 8] y)
        <float half = {{0.5}}, bool on = {{1}}> {{
          val_0 = {around}
          y = Loop (trips, on, x) <body = b (int64 i, bool c, float[4, 8] h)
              => (bool d, float[4, 8] next) {{
            d = Identity (c)
            one = Dropout (h, half, on)
            small = Less (i, trips)
            other = If (small) <
                then_branch = t () => (float[4, 8] e) {{ e = Dropout (val_0, half, on) }},
                else_branch = f () => (float[4, 8] n) {{ n = Neg (one) }}>
            next = Add (one, other)
          }}>
        }}""")
    rewritten = make_reproducible(model)
    onnx.checker.check_model(rewritten, full_check=True)
    x = data_of("f32", (4, 8)).clip(-9, 9)
    state = PhiloxState.for_run(7).to_array()
    states = [state, state]
    expected = x
    val_0 = x if "Identity" in around else -x
    for _ in range(2):
        one, _, states[0] = reference.random_dropout(
            expected,
            np.float32(0.5),
            state=states[0],
        )
        other, _, states[1] = reference.random_dropout(
            val_0, np.float32(0.5), op_seed=1, state=states[1]
        )
        expected = one + other
    feeds = {"x": x, "trips": np.array(2), "random_state": state}
    got = InferenceSession(rewritten, backend=ort_backend).run(["y"], feeds)
    assert_all_same(got, [expected])
    assert_all_same(openvino(rewritten, feeds)[:1], [expected])


@pytest.mark.parametrize("type_", TYPES)
def test_every_number_is_kept_with_its_bits_by_numpy_and_by_the_core(type_: str) -> None:
    """NaN with any payload, infinities and subnormals too: all patterns of 16 bits."""
    dtype = DTYPES[type_]
    unsigned = np.dtype(f"u{dtype.itemsize}")
    bits = np.random.default_rng(2).integers(
        0,
        2 ** (8 * dtype.itemsize),
        2**16,
        unsigned,
    )
    data = (np.arange(2**16, dtype=unsigned) if dtype.itemsize == 2 else bits).view(dtype)
    for ratio in (np.float32(r) for r in (0, 0.3, 0.999999, 1)):
        inputs = {"data": data, "ratio": ratio}
        seeds = {"global_seed": 3}
        expected = in_numpy("RandomDropout", inputs, seeds)
        drawn = by_core("RandomDropout", inputs, seeds)
        for got, wanted in zip(drawn, expected, strict=True):
            assert got.tobytes() == wanted.tobytes()
