"""RandomExponential: the rule, in NumPy and in every runtime."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import openvino as ov
import pytest
import scipy
from cases import EDGE_COUNTERS, SEED, assert_same_bits
from onnx import parser
from runtimes import OpenVino
from test_distributions_bits import KEY, state_before

import onnx_philox
from onnx_philox import PhiloxState, graphs, reference, row_states
from onnx_philox._contract.types import BY_NAME
from onnx_philox.onnxruntime import InferenceSession

TYPES = ["f16", "bf16", "f32", "f64"]
STATE = PhiloxState(2**128 - 2, 2**64 - 12345).to_array()
SCALES: dict[str, list[float]] = {
    "f16": [1, 0.1, 6e-8, 6e4],
    "bf16": [1, 0.1, 1e-39, 3e38],
    "f32": [1, 0.7, 1e-45, 3e38],
    "f64": [1, 0.7, 5e-324, 1e308],
}
"""Plain ones, the smallest, and large ones, with which values overflow."""
TYPE_SCALES = [(name, scale) for name, scales in SCALES.items() for scale in scales]
# Words whose logarithm is next to a tie of bf16 or f16: f32 would be that tie.
DOUBLY_ROUNDED = [
    0x5C5B07A9,
    0xFF58B6C0,
    0xFFFFFF75,
    0x1FCAF534,
    0x02A15380,
    0x10008600,
    0x900F3A1B,
]
F64 = np.float64


def exponentials(count: int, type_: str, scale: Any = 1, state: Any = STATE) -> np.ndarray:
    return reference.random_exponential([count], scale, type_, state=state)[0]


def integers(count: int, type_: str, state: np.ndarray) -> list[int]:
    """The bits that a logarithm is made of."""
    words = reference.random_generator(state, [count * (2 if type_ == "f64" else 1)])[0].tolist()
    if type_ != "f64":
        return words
    pairs = zip(words[::2], words[1::2], strict=True)
    return [(first & 0xFFFFF) << 32 | second for first, second in pairs]


def exact(x: int, type_: str) -> mpmath.mpf:
    with mpmath.workdps(50):
        return -mpmath.log((mpmath.mpf(x) + 0.5) / mpmath.mpf(2) ** (52 if type_ == "f64" else 32))


def rounded(number: mpmath.mpf, dtype: Any) -> Any:
    """A positive number in a type, rounded once: subnormals and ties too."""
    info = ml_dtypes.finfo(dtype)
    least = int(mpmath.log(mpmath.mpf(float(info.smallest_subnormal)), 2))
    exponent = max(int(mpmath.floor(mpmath.log(number, 2))) - info.nmant, least)
    with mpmath.workdps(50):
        scaled = number / mpmath.mpf(2) ** exponent
        whole = int(mpmath.floor(scaled))
        rest = scaled - whole
        whole += rest > 0.5 or (rest == 0.5 and whole % 2 == 1)
    return dtype.type(float(Fraction(whole) * Fraction(2) ** exponent))


@pytest.mark.parametrize("type_", TYPES)
def test_a_value_is_minus_the_logarithm_of_a_step_s_middle(type_: str) -> None:
    values = exponentials(400, type_).astype(F64)
    wanted = np.array([float(exact(x, type_)) for x in integers(400, type_, STATE)])
    error = {"f16": 2**-11, "bf16": 2**-8, "f32": 2**-24, "f64": 4 * 2**-53}[type_]
    np.testing.assert_allclose(values, wanted, rtol=error * 1.01, atol=3e-8 * (type_ == "f16"))


@pytest.mark.parametrize("type_", ["f16", "bf16", "f32"])
def test_the_logarithm_is_rounded_once(type_: str) -> None:
    dtype = BY_NAME[type_].dtype
    edges = [0, 1, 2**31 - 1, 2**31, 3037000499, 3037000500, 2**32 - 2, 2**32 - 1]
    for x in edges + DOUBLY_ROUNDED:
        value = exponentials(1, type_, state=state_before((x, 5, 6, 7)).to_array())[0]
        assert value == rounded(exact(x, type_), dtype), hex(x)
    assert state_before((0, 5, 6, 7)).key == KEY


def test_the_least_and_the_greatest_value_are_finite_and_not_0() -> None:
    for x, wanted in ((0, 33 * np.log(2)), (2**32 - 1, 2.0**-33)):
        state = state_before((x, x, x, x)).to_array()
        for type_ in ("bf16", "f32"):
            assert exponentials(1, type_, state=state)[0].astype(F64) == pytest.approx(wanted, 4e-3)
        assert exponentials(1, "f16", state=state)[0] == (0 if x else np.float16(22.875))
    ones = state_before((2**32 - 1,) * 4).to_array()
    assert exponentials(1, "f64", state=ones)[0] == 2.0**-53
    zeros = state_before((0,) * 4).to_array()
    assert exponentials(1, "f64", state=zeros)[0] == pytest.approx(53 * np.log(2), 1e-15)


@pytest.mark.parametrize(("type_", "scale"), TYPE_SCALES)
def test_a_value_is_scaled_in_its_type(type_: str, scale: float) -> None:
    dtype = BY_NAME[type_].dtype
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        values = exponentials(300, type_, scale)
        assert_same_bits(values, exponentials(300, type_) * dtype.type(scale))
    assert np.isinf(values.astype(F64)).any() == (scale > 1e4)
    assert not np.isnan(values.astype(F64)).any()


@pytest.mark.parametrize("counter", EDGE_COUNTERS)
def test_the_state_advances_by_the_words(counter: int) -> None:
    before = PhiloxState(counter, 77)
    for type_ in TYPES:
        _, after = reference.random_exponential([3, 5], 1, type_, state=before.to_array())
        assert PhiloxState.from_array(after) == before.advance(30 if type_ == "f64" else 15)


@pytest.mark.parametrize(("type_", "scale"), TYPE_SCALES)
@pytest.mark.parametrize("constant", [True, False])
def test_onnxruntime_draws_the_reference_s_bits(
    ort_backend: str, type_: str, scale: float, constant: bool
) -> None:
    if ort_backend == "python" and type_ in ("f16", "bf16"):
        pytest.skip("Python ops carry no such outputs")
    number = np.array(scale, BY_NAME[type_].dtype)
    given, feeds = (number, {}) if constant else (None, {"scale": number})
    model = graphs.random_exponential(None, given, type_, rank=1, stateful=True, **SEED)
    session = InferenceSession(model, backend=ort_backend)
    for count in (0, 1, 1001):
        expected = reference.random_exponential([count], number, type_, state=STATE, **SEED)
        got = session.run(None, {"shape": np.array([count]), "state": STATE, **feeds})
        for one, other in zip(got, expected, strict=True):
            assert_same_bits(np.asarray(one), other)


@pytest.mark.parametrize("precision", [None, "f32", "bf16", "f16"])
@pytest.mark.parametrize(("type_", "scale"), TYPE_SCALES)
def test_openvino_draws_the_reference_s_bits_at_every_precision(
    openvino: OpenVino, type_: str, scale: float, precision: str | None
) -> None:
    number = np.array(scale, BY_NAME[type_].dtype)
    expected = reference.random_exponential([3, 5], number, type_, state=STATE, **SEED)
    constant = graphs.random_exponential([3, 5], number, type_, stateful=True, **SEED)
    for one, other in zip(openvino(constant, {"state": STATE}, precision), expected, strict=True):
        assert_same_bits(one, other)
    if type_ == "f64":
        # The plugin would alter it.
        return
    given = graphs.random_exponential([3, 5], None, type_, stateful=True, **SEED)
    feeds = {"state": STATE, "scale": number}
    for one, other in zip(openvino(given, feeds, precision), expected, strict=True):
        assert_same_bits(one, other)


def test_openvino_refuses_an_f64_scale_that_is_no_constant(openvino: OpenVino) -> None:
    model = graphs.random_exponential([3], None, "f64", stateful=True)
    with pytest.raises(Exception, match=r"RandomExponential: input 'scale' must be .*constant"):
        openvino(model, {"state": STATE, "scale": np.array(1.0)})


@pytest.mark.usefixtures("factories")
def test_a_factory_makes_the_node(openvino: OpenVino) -> None:
    node = onnx_philox.openvino.random_exponential([4, 2], 0.3, "f32", global_seed=5)
    values, after = openvino(ov.Model(node.outputs(), []))
    expected = reference.random_exponential([4, 2], 0.3, "f32", global_seed=5)
    assert_same_bits(values, expected[0])
    assert_same_bits(after, expected[1])


@pytest.mark.parametrize("scale", [0, -1e-45, float("nan"), float("inf")])
def test_a_factory_refuses_what_the_reference_refuses(scale: float) -> None:
    with pytest.raises(ValueError, match="must be a finite number above 0") as of_reference:
        exponentials(1, "f32", np.float32(scale))
    for make in (graphs.random_exponential, onnx_philox.openvino.random_exponential):
        with pytest.raises(ValueError, match="RandomExponential") as raised:
            make([1], np.float32(scale), "f32", global_seed=1)
        assert str(raised.value) == str(of_reference.value)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_row_is_what_its_state_draws_alone(openvino: OpenVino, rows: int) -> None:
    states = row_states(7, range(rows))
    model = graphs.random_exponential([None, 9], 0.5, "f32", per_row=True)
    feeds = {"state": states, "rows": np.array(rows)}
    feeds = {i.name: feeds.get(i.name, np.array([rows, 9])) for i in model.graph.input}
    alone = [reference.random_exponential([1, 9], 0.5, "f32", state=state) for state in states]
    for values, after in (
        InferenceSession(model).run(None, feeds),
        openvino(model, feeds),
    ):
        assert_same_bits(np.asarray(values), np.concatenate([a[0] for a in alone]))
        assert_same_bits(np.asarray(after), np.stack([a[1] for a in alone]))


def test_it_draws_on_in_a_loop_and_a_branch(openvino: OpenVino) -> None:
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        g (uint32[6] state, int64 trips, bool is_drawn) => (float[4] y, float[n, 4] all)
        <int64[1] four = {4}, float one = {1}, bool yes = {1}> {
            start = Cast <to = 7> (state)
            last, all = Loop (trips, yes, start) <body = body (int64 i, bool c, int64[6] s)
                => (bool d, int64[6] t, float[4] x) {
                d = Identity (c)
                u = Cast <to = 12> (s)
                x, v = onnx_philox.RandomExponential <output_type = "f32"> (four, one, u)
                t = Cast <to = 7> (v)
            }>
            w = Cast <to = 12> (last)
            y = If (is_drawn) <then_branch = a () => (float[4] p) {
                p = onnx_philox.RandomExponential <output_type = "f32", op_seed = 3> (four, one, w)
            }, else_branch = b () => (float[4] q) {
                q = ConstantOfShape <value = float[1] {2}> (four)
            }>
        }
    """)
    state, expected = PhiloxState(5, 6).to_array(), []
    for _ in range(3):
        values, after = reference.random_exponential([4], 1, "f32", state=state)
        expected.append(values)
        state = after
    branch = reference.random_exponential([4], 1, "f32", state=state, op_seed=3)[0]
    for is_drawn, wanted in ((True, branch), (False, np.full(4, 2, np.float32))):
        feeds = {
            "state": PhiloxState(5, 6).to_array(),
            "trips": np.array(3),
            "is_drawn": np.array(is_drawn),
        }
        for y, every in (InferenceSession(model).run(None, feeds), openvino(model, feeds)):
            assert_same_bits(y, wanted)
            assert_same_bits(every, np.stack(expected))


@pytest.mark.parametrize("type_", TYPES)
def test_an_ir_draws_what_the_model_draws(
    openvino: OpenVino, type_: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("ir") / "model.xml"
    model = graphs.random_exponential([3, 4], SCALES[type_][2], type_, stateful=True)
    ov.save_model(openvino.read(model), path)
    expected = reference.random_exponential([3, 4], SCALES[type_][2], type_, state=STATE)
    for backend in onnx_philox.openvino.BACKENDS:
        for one, other in zip(OpenVino(backend)(path, {"state": STATE}), expected, strict=True):
            assert_same_bits(one, other)


def check_exponential(x: np.ndarray, least_p: float) -> None:
    """Moments, and the distribution."""
    x = x.astype(F64)
    for k, (mean, variance) in {1: (1, 1), 2: (2, 20), 3: (6, 684)}.items():
        assert abs(np.mean(x**k) - mean) < 5.5 * np.sqrt(variance / x.size)
    assert scipy.stats.kstest(x, "expon").pvalue > least_p


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_values_are_distributed_as_they_should_be(type_: str) -> None:
    check_exponential(exponentials(2**19, type_), 1e-6)


@pytest.mark.exhaustive
# A scale only multiplies, which the other tests check to the bit.
@pytest.mark.parametrize(("type_", "scale"), [("f32", 1), ("f32", 1e-30), ("f64", 7)])
def test_ten_million_values_are_distributed_as_they_should_be(type_: str, scale: float) -> None:
    values = exponentials(10**7, type_, scale).astype(F64)
    check_exponential(values / BY_NAME[type_].dtype.type(scale).astype(F64), 1e-6)


def test_the_check_finds_what_is_not_exponential() -> None:
    x = exponentials(2**19, "f64")
    for broken in (x * 1.01, x + 0.01, np.minimum(x, 5), x**1.03):
        with pytest.raises(AssertionError):
            check_exponential(broken, 1e-6)
