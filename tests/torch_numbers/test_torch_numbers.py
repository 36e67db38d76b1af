"""torch's numbers without torch: vectors of torch's own, and torch itself with `-m engines`."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import pickle
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import openvino as ov
import pytest
from openvino import opset8

from onnx_philox import (
    PhiloxState,
    TorchState,
    _native,
    diffusers,
    generate,
    reference,
    torch_cuda_states,
    torch_noise,
)
from onnx_philox._contract import types
from onnx_philox._numbers import fused
from onnx_philox._torch.numbers import cpu as torch_cpu
from onnx_philox._torch.numbers import torch_elementary as torch_elementary
from onnx_philox._torch.numbers.torch_state import state_after
from tests.common import child
from tests.common.cases import DTYPES, assert_refused, assert_same_bits
from tests.common.operators import native

VECTORS = Path(__file__).parent / "torch_vectors"
CPU = json.loads((VECTORS / "cpu.json").read_text())["cases"]
CUDA = json.loads((VECTORS / "cuda.json").read_text())
RANDOM = np.random.default_rng(1)
# Some weights are 0, and some as large as others.
RACE = np.random.default_rng(2).integers(0, 4, (5, 700)).astype(np.float32)

BOUNDS = (0, 1), (-3, 7.1), (1, 1 + 2**-6)
RANGES = (
    (0, 10),
    (-5, 2**28 - 6),
    (-5, 2**28 - 5),
    (-(2**63), 2**63 - 1),
)


def probabilities(rows: int, columns: int) -> np.ndarray:
    """float32 rows that sum to about 1, as those of the vectors."""
    multiples = np.arange(rows * columns, dtype=np.int64) * 2654435761
    weights = (multiples % 1000 + 1).astype(np.float32).reshape(rows, columns)
    sums = weights.sum(-1, keepdims=True, dtype=np.float32)
    return weights / sums


def probability_of_each(n: int, type_: str = "f32") -> np.ndarray:
    """float32 in [0, 1), as those of the vectors; or the same in another type."""
    multiples = np.arange(n, dtype=np.int64) * 2654435761
    thousandths = (multiples % 1000).astype(np.float32)
    return (thousandths / np.float32(1000)).astype(DTYPES[type_])


def drawn(
    stream: torch_cpu.WordStream,
    call: str,
    a: list[Any],
) -> np.ndarray:
    match call:
        case "rand" | "uniform_":
            return torch_cpu.uniform(
                stream,
                a[0],
                types.BY_NAME[a[1]],
                *a[2:],
            )
        case "randn" | "normal_":
            return torch_cpu.normal(
                stream,
                a[0],
                types.BY_NAME[a[1]],
                *a[2:],
            )
        case "exponential_":
            return torch_cpu.exponential(
                stream,
                a[0],
                types.BY_NAME[a[1]],
                *a[2:],
            )
        case "randint":
            return torch_cpu.integers(
                stream,
                a[2],
                types.BY_NAME[(*a, "i64")[3]],
                a[0],
                a[1],
            )
        case "randperm":
            return torch_cpu.permutation(stream, *a)
        case "bernoulli":
            return torch_cpu.bernoulli(stream, a[0], probability_of_each(*a))
        case "bernoulli_":
            p = np.array(a[0])
            return torch_cpu.bernoulli(stream, a[1], p)
        case "dropout":
            return torch_cpu.dropout_keeps(stream, a[1], a[0])
        case _:
            weights = probabilities(a[0], a[1])
            return torch_cpu.race(stream, weights, a[2])


def assert_as_torch(
    values: np.ndarray,
    expected: dict[str, Any],
    *,
    exact: bool,
) -> None:
    flat = values.reshape(-1)
    if flat.dtype == ml_dtypes.bfloat16:
        flat = flat.astype(np.float32)
    ends = [flat[:3], flat[-3:]]
    if exact:
        came = [e.tolist() for e in ends]
        assert came == [expected["first"], expected["last"]]
        digest = hashlib.sha256(flat.tobytes()).hexdigest()
        assert digest[:16] == expected["sha256"]
    else:
        for end, name in zip(ends, ("first", "last"), strict=True):
            right = np.array(expected[name])
            assert ulps(end, right).max() <= 2


def ulps(ours: np.ndarray, others: np.ndarray) -> np.ndarray:
    difference = np.abs(ours - others)
    return difference / np.spacing(np.abs(others))


def is_by_libm(call: str, arguments: list[Any]) -> bool:
    """Whether torch draws it with the C library's own functions, in float64."""
    by_logarithms = ("randn", "normal_", "exponential_")
    return call in by_logarithms and arguments[1] == "f64"


@pytest.mark.parametrize("call", sorted({case["steps"][0][0] for case in CPU}))
def test_each_call_draws_what_torch_drew(call: str) -> None:
    cases = [c for c in CPU if len(c["steps"]) == 1 and c["steps"][0][0] == call]
    assert len(cases) >= 4
    for case in cases:
        stream = torch_cpu.WordStream(TorchState.from_seed(case["seed"]))
        values = drawn(stream, *case["steps"][0])
        exact = not is_by_libm(*case["steps"][0])
        assert_as_torch(values, case["results"][0], exact=exact)


def test_calls_follow_each_other_and_go_on_from_the_bytes_of_a_state() -> None:
    cases = [c for c in CPU if len(c["steps"]) > 1]
    assert len(cases) == 6
    for case in cases:
        stream = torch_cpu.WordStream(TorchState.from_seed(case["seed"]))
        for step, expected in zip(case["steps"], case["results"], strict=True):
            # A new stream for each, from the state of the last.
            stream = torch_cpu.WordStream(stream.state())
            values = drawn(stream, *step)
            is_exact = not is_by_libm(*step)
            assert_as_torch(values, expected, exact=is_exact)
        state = stream.state()
        array = state.to_array()
        told = case["state"]
        told_words = [told[n] for n in ("left", "next", "word_0", "word_623")]
        assert [*array[[2, 4, 5, 628]]] == told_words
        assert (state.normal is not None) == told["cached"]
        assert state.normal is None or ulps(np.array(state.normal), np.array(told["normal"])) <= 2
        stream = torch_cpu.WordStream(TorchState.from_torch(state.to_torch()))
        for n, expected in zip((1, 100), case["then"], strict=True):
            normals = torch_cpu.normal(stream, n, types.F32)
            assert_as_torch(normals, expected, exact=True)


def test_openvino_s_own_alignment_pytorch_draws_the_same() -> None:
    # Its page documents other numbers, which neither it nor torch draws.
    cases = (("f32", 0, 1), ("i32", 50, 100), ("i64", -7, 2**40))
    for name, low, high in cases:
        values = types.BY_NAME[name]
        node = opset8.random_uniform(
            np.array([1000]), values.dtype.type(low), values.dtype.type(high), name, 150, 0
        )
        node.set_attribute("alignment", "pytorch")
        out = ov.Tensor(np.empty(1000, values.dtype))
        model = ov.Model([node.output(0)], [])
        assert model.evaluate([out], [])
        stream = torch_cpu.WordStream(TorchState.from_seed(150))
        make = torch_cpu.uniform if values.is_float else torch_cpu.integers
        expected = make(stream, 1000, values, low, high)
        assert_same_bits(np.array(out.data), expected)


def test_a_draw_in_many_parts_equals_a_draw_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def draws() -> list[np.ndarray]:
        s = torch_cpu.WordStream(TorchState.from_seed(3))
        p = RANDOM.random(100, np.float32)
        return [
            *(torch_cpu.uniform(s, 100, t, -3, 7.1) for t in (types.F32, types.F64, types.F16)),
            *(torch_cpu.normal(s, 100, t) for t in (types.F32, types.F64, types.BF16)),
            *(torch_cpu.integers(s, 100, types.I32, -5, 2**k) for k in (8, 30)),
            torch_cpu.bernoulli(s, 100, p > 2),
            torch_cpu.exponential(s, 100, types.F32),
            s.state().to_array(),
        ]

    whole = draws()
    monkeypatch.setattr(torch_cpu, "_AT_ONCE", 16)
    for one, other in zip(whole, draws(), strict=True):
        assert_same_bits(one, other)


def torch_draws(count: int) -> Iterator[tuple[str, str, list[int], dict[str, Any]]]:
    """Every kind of draw that the core has, of about so many elements."""
    for name in ("f32", "f16", "bf16", "f64"):
        for low, high in (*BOUNDS, (-1e-7, 0)):
            yield "RandomUniform", name, [count], {"minval": low, "maxval": high}
        for mean, scale in ((0, 1), (2, 3.3)):
            yield "RandomNormal", name, [count], {"mean": mean, "scale": scale}
        yield "RandomExponential", name, [count], {"scale": 1.7}
        for ratio in (0, 0.3, 1):
            data = RANDOM.normal(size=count).astype(DTYPES[name])
            mask = np.zeros(count, np.bool_)
            given = {"data": data, "ratio": np.float32(ratio), "mask": mask}
            yield "RandomDropout", name, [count], given
    bounds = ((0, 1000), *RANGES[1:3], (-(2**31), 2**31 - 1))
    for low, high in bounds:
        for name in ("i32", "i64"):
            yield "RandomUniform", name, [count], {"minval": low, "maxval": high}
    all_of_64_bits = {"minval": -(2**63), "maxval": 2**63 - 1}
    yield "RandomUniform", "i64", [count], all_of_64_bits
    p = RANDOM.random(count)
    probabilities_of = (p, p.astype(np.float32), np.array(0.3), np.array(0.3, np.float32))
    for each in probabilities_of:
        yield "RandomBernoulli", "bool", [count], {"p": each}
    for name in ("i32", "i64"):
        yield "RandomPermutation", name, [min(count, 5000)], {}
        with np.errstate(divide="ignore"):
            rows = 1 + count % 5
            classes = 1 + min(count, 699)
            weights = RACE[:rows, :classes]
            logits = np.log(weights + (count < 20))
        logits[:, 0] = 0
        half = logits.shape[1] // 2 + 1
        for samples in {1, min(50, half)}:
            given = {"logits": logits, "sample_size": samples, "replacement": 0}
            yield "RandomCategorical", name, [len(logits), samples], given


@native
@pytest.mark.parametrize("count", [1, 7, 16, 33, 700, 200_003])
def test_the_core_draws_torch_s_numbers_as_numpy_does(count: int) -> None:
    state = TorchState.from_seed(count)
    for operator, name, shape, given in torch_draws(count):
        given_masks = [given["mask"]] if "mask" in given else []
        values = np.zeros(shape, DTYPES[name])
        outs = [values, *(given_masks)]
        draw = partial(
            generate,
            state,
            out=outs[0],
            operator=operator,
            **given,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_native, "IS_THERE", False)
            after_numpy = draw()
            by_numpy = [out.tobytes() for out in outs]
        state = draw()
        by_core = [out.tobytes() for out in outs]
        assert by_core == by_numpy, (operator, name, given)
        assert state == after_numpy


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_a_generator_goes_on_by_itself(copied: Callable[[Any], Any]) -> None:
    noise = diffusers.generator(42, like="torch")
    noise.randn(5)
    other = copied(noise)
    drawn_there = other.randn(2, 3)
    assert_same_bits(noise.randn(2, 3), drawn_there)
    assert_same_bits(other.state, noise.state)


@pytest.mark.parametrize("has_core", [False, True])
def test_float64_becomes_float16_by_way_of_float32(
    has_core: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As torch does; rounded at once, these would be the next number up.
    monkeypatch.setattr(_native, "IS_THERE", has_core and _native.IS_THERE)
    normals = np.empty(14, np.float16)
    state = TorchState.from_seed(1997)
    generate(state, out=normals, mean=0, scale=1)
    assert normals[1] == np.float16(0.4312)
    drawn, _ = reference.random_exponential(
        [200],
        1,
        "f16",
        global_seed=143,
        alignment="pytorch",
    )
    assert drawn[193] == np.float16(0.317)


def test_a_dropout_of_0_or_1_draws_nothing() -> None:
    stream = torch_cpu.WordStream(TorchState.from_seed(5))
    kept = torch_cpu.dropout_keeps(stream, 3, 0.0)
    assert kept.tolist() == [True] * 3
    dropped = torch_cpu.dropout_keeps(stream, 3, 1.0)
    assert dropped.tolist() == [False] * 3
    assert stream.state() == TorchState.from_seed(5)


def test_a_fused_product_and_sum_is_rounded_once() -> None:
    # Products that lie halfway, and a little beside: two roundings get half of them wrong.
    n = 2000
    fractions_a = RANDOM.integers(0, 2**12, n)
    a = (1 + fractions_a * 2.0**-12).astype(np.float32)
    fractions_b = RANDOM.integers(0, 2**12, n)
    b = (1 + fractions_b * 2.0**-12).astype(np.float32)
    signs = RANDOM.choice([-1, 1], n)
    exponents = RANDOM.integers(-90, -20, n)
    c = (signs * 2.0**exponents).astype(np.float32)

    def exact(x: float, y: float, z: float) -> Fraction:
        return Fraction(x) * Fraction(y) + Fraction(z)

    def is_nearest(value: Any, real: Fraction) -> bool:
        below = np.nextafter(value, -np.inf)
        above = np.nextafter(value, np.inf)
        error = abs(Fraction(float(value)) - real)
        return all(error <= abs(Fraction(float(x)) - real) for x in (below, above))

    made = fused.multiply_add_f32(a, b, c)
    reals = [
        exact(
            float(x),
            float(y),
            float(z),
        )
        for x, y, z in zip(a, b, c, strict=True)
    ]
    assert all(map(is_nearest, made, reals))
    product = a.astype(np.float64) * b
    twice = (product + c).astype(np.float32)
    assert np.count_nonzero(made != twice) > 100
    # Subnormal ones, too.
    tiny = (
        RANDOM.random(500, np.float32),
        np.float32(3e-40),
        np.float32(-1e-40),
    )
    reals = [
        exact(
            float(x),
            float(tiny[1]),
            float(tiny[2]),
        )
        for x in tiny[0]
    ]
    assert all(map(is_nearest, fused.multiply_add_f32(*tiny), reals))
    numerators = RANDOM.integers(0, 2**53, 300)
    u = numerators * 2.0**-53
    ranges = (10.1, -3.0), (1e-300, 2e-310), (2e300, -1e300), (3.0, 0.0), (1e-20, 1.0)
    for width, low in (*ranges, (1.0, 0.0), (1.0, 1.0)):
        values = fused.multiply_add_f64(u, width, low)
        expected = [float(exact(x, width, low)) for x in u.tolist()]
        assert values.tolist() == expected


def test_the_logarithm_sine_and_cosine_of_float64_are_within_an_ulp() -> None:
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.prec = 200
    near_one = 1 - RANDOM.random(400)
    small = 2.0**-53 * np.arange(1, 50)
    just_below_one = 1 - 2.0**-53 * np.arange(50)
    x = np.concatenate([near_one, small, just_below_one])
    cases: list[tuple[np.ndarray, np.ndarray, Callable[[Any], Any]]]
    cases = [(x, torch_elementary.ln_f64(x), mpmath.log)]
    less_one = x - 1
    cases += [(x - 1, torch_elementary.log1p_f64(less_one), mpmath.log1p)]
    # Near the multiples of pi / 2, too.
    random_angles = 2 * math.pi * RANDOM.random(400)
    quarters = math.pi / 2 * np.arange(5)
    angles = np.concatenate([random_angles, quarters])
    above = np.nextafter(angles, 9)
    below = np.nextafter(angles, 0)
    angles = np.concatenate([angles, above, below])
    sine, cosine = torch_elementary.sin_cos_f64(angles)
    cases += [(angles, sine, mpmath.sin), (angles, cosine, mpmath.cos)]
    for given, values, function in cases:
        for one, value in zip(given.tolist(), values.tolist(), strict=True):
            real = function(mpmath.mpf(one))
            error = abs(mpmath.mpf(value) - real)
            ulp = np.spacing(abs(float(real)))
            assert error <= ulp


# The card's.


def published(name: str) -> list[dict[str, Any]]:
    return [case for case in CUDA if case["call"].startswith(name)]


def words_of(case: dict[str, Any], n: int) -> np.ndarray:
    offset = case.get("offset", 0)
    states = torch_cuda_states(case["seed"], offset, n)
    return reference.random_generator(states, [n, 1])[0].reshape(n)


def test_a_card_s_uniforms_and_integers_are_words_of_a_generator_of_ours() -> None:
    cases = [
        *published("rand("),
        *published("uniform("),
        *published("randint("),
    ]
    assert len(cases) == 7
    for case in cases:
        words = words_of(case, len(case["values"]))
        if case["call"] == "randint(0,100,8)":
            assert (words % 100).tolist() == case["values"]
            continue
        middle = np.float32(2**-33)
        step = np.float32(2**-32)
        values = words.astype(np.float32) * step + middle
        if case["call"].startswith("uniform"):
            values = values * 2 - 1
        np.testing.assert_allclose(values, case["values"], atol=6e-5)


@pytest.mark.parametrize(
    "case",
    published("randn("),
    ids=lambda c: f"{c['call']}, {c['seed']}",
)
def test_a_card_s_normals_are_those_that_were_published(case: dict[str, Any]) -> None:
    numbers = re.findall(r"\d+", case["call"])
    count = int(numbers[0])
    gpu = (case["blocks"], 256) if "blocks" in case else None
    values = torch_noise(case["seed"], [count], device="cuda", gpu=gpu)
    if "at" in case:
        at = [row * case["rows"] + column for row, column in case["at"]]
        scaled = values[at] * case.get("scale", 1)
        values = scaled + case.get("mean", 0)
    # They have four decimals; those of a scale are as much less exact.
    tolerance = 1.2e-4 if "scale" in case else 6e-5
    np.testing.assert_allclose(values, case["values"], atol=tolerance, rtol=0)


def test_a_card_s_numbers_depend_on_the_card_above_its_own_threads_alone() -> None:
    t4 = (40, 1024)
    l4 = (58, 1536)
    n = 40_960
    gpus = (t4, l4)
    one, other = (torch_noise(1, [n], device="cuda", gpu=gpu) for gpu in gpus)
    assert_same_bits(one, other)
    assert_same_bits(one, torch_noise(1, [n], device="cuda"))
    one, other = (
        torch_noise(
            1,
            [n + 1],
            device="cuda",
            gpu=gpu,
        )
        for gpu in (t4, l4)
    )
    assert not np.array_equal(one, other)
    # Above it, each thread draws four, by the sine and the cosine of two pairs.
    assert_same_bits(one[:n], other[:n])
    expected = torch_noise(1, [n + 1], device="cuda")
    assert_same_bits(other, expected)
    # What all threads of the largest card draw, and its first.
    noise = torch_noise(1, [160 * 2048], device="cuda")
    expected = noise[:n]
    assert_same_bits(one[:n], expected)


def test_a_card_s_generator_goes_on_where_its_offset_is() -> None:
    generator = diffusers.generator(42, like="torch_cuda")
    first = generator.randn(2, 5)
    second = generator.randn(7)
    assert_same_bits(first, torch_noise(42, [2, 5], device="cuda"))
    assert PhiloxState.from_array(generator.state) == PhiloxState(2, 42)
    states = torch_cuda_states(42, 4, 7)
    pairs = reference.random_generator(states, [7, 2])
    u, v = pairs[0].astype(np.float64).T
    fractions = (u + 0.5) * 2.0**-32
    radius = np.sqrt(-2 * np.log(fractions))
    angle = (v + 0.5) * 2.0**-32
    expected = radius * np.sin(angle * 2 * math.pi)
    np.testing.assert_allclose(second, expected, atol=3e-6)
    # Above a wave, a draw takes as many blocks as it has turns.
    small = diffusers.generator(42, like="torch_cuda", gpu=(1, 256))
    small.randn(4 * 256 * 3 + 1)
    assert PhiloxState.from_array(small.state) == PhiloxState(4, 42)


def test_the_states_of_a_card_s_threads_are_torch_s_counters() -> None:
    offset = 4 * (2**33 + 5)
    states = torch_cuda_states(2**64 - 2, offset, 3)
    for thread, state in enumerate(states):
        counter = 2**33 + 5 + (thread << 64)
        expected = PhiloxState(counter, 2**64 - 2)
        assert PhiloxState.from_array(state) == expected
    assert torch_cuda_states(1, 0, 0).shape == (0, 6)


# Noise.


def test_noise_is_what_torch_draws_first() -> None:
    for n in (0, 1, 15, 16, 17, 33):
        for name in ("f32", "f16", "bf16", "f64"):
            stream = torch_cpu.WordStream(TorchState.from_seed(7))
            expected = torch_cpu.normal(stream, n, types.BY_NAME[name])
            assert_same_bits(torch_noise(7, [n], dtype=name), expected)
    assert torch_noise(7, []).shape == ()
    empty = torch_noise(7, [2, 0, 3], device="cuda")
    assert empty.shape == (2, 0, 3)
    of_rows = torch_noise(7, [4, 8])
    assert_same_bits(of_rows.reshape(-1), torch_noise(7, [32]))
    half = torch_noise(7, [32], device="cuda", dtype="f16")
    whole = torch_noise(7, [32], device="cuda")
    assert_same_bits(half, whole.astype(np.float16))


SAME: dict[tuple[str, str], list[Any]] = {
    ("dtype", "f16"): [
        "float16",
        "torch.float16",
        np.float16,
        np.dtype("float16"),
    ],
    ("dtype", "bf16"): [
        "bfloat16",
        ml_dtypes.bfloat16,
        np.dtype(ml_dtypes.bfloat16),
    ],
    ("dtype", "f32"): ["float32", np.float32],
    ("dtype", "f64"): ["float64", np.float64, float],
    ("device", "cpu"): ["cpu:0"],
    ("device", "cuda"): ["cuda:0", "cuda:13"],
}


@pytest.mark.parametrize(("what", "name"), SAME)
def test_types_and_devices_of_noise_have_the_names_of_numpy_and_torch(what: str, name: str) -> None:
    for other in SAME[what, name]:
        names = (other, name)
        given, expected = (torch_noise(7, [5], **{what: each}) for each in names)
        assert_same_bits(given, expected)


@pytest.mark.engines
def test_noise_takes_types_and_devices_of_torch() -> None:
    import torch

    names = ((torch.float16, "f16"), (torch.bfloat16, "bf16"), (torch.double, "f64"))
    for dtype, name in names:
        expected = torch_noise(7, [5], dtype=name)
        assert_same_bits(torch_noise(7, [5], dtype=dtype), expected)
    for device in ("cpu", "cuda", "cuda:1"):
        given = torch_noise(7, [5], device=torch.device(device))
        kind = device.partition(":")[0]
        expected = torch_noise(7, [5], device=kind)
        assert_same_bits(given, expected)


def test_a_generator_like_torch_goes_on_and_takes_and_gives_its_state() -> None:
    generator = diffusers.generator(42, like="torch")
    stream = torch_cpu.WordStream(TorchState.from_seed(42))
    shapes = ((1, 4, 8, 8), (3,), (), (2, 9), (1,))
    for shape in shapes:
        expected = torch_cpu.normal(stream, math.prod(shape), types.F32)
        assert_same_bits(generator.randn(*shape), expected.reshape(shape))
        assert_same_bits(generator.state, stream.state().to_array())
    other = diffusers.generator(TorchState.from_array(generator.state), like="torch")
    assert_same_bits(other.randn(40), generator.randn(40))


@pytest.mark.parametrize("like", ["torch", "torch_cuda"])
def test_rows_like_torch_s_have_a_generator_each(like: Any) -> None:
    seeds = [7, 2**64 - 1, 7]
    each = (seeds, seeds[1])
    together, alone = (diffusers.generator(s, like=like) for s in each)
    for _ in range(2):
        rows = together.randn(3, 3, 5)
        expected = alone.randn(1, 3, 5)
        assert_same_bits(rows[1:2], expected)
        assert_same_bits(rows[0], rows[2])
    assert together.state.shape == (3, alone.state.size)
    assert_same_bits(together.state[1], alone.state)
    device = {"torch": "cpu", "torch_cuda": "cuda"}[like]
    images = diffusers.latents(seeds, (4, 8), like=like)
    for image, seed in zip(images, seeds, strict=True):
        assert_same_bits(image, torch_noise(seed, (4, 8), device=device))
    one_image = diffusers.latents(7, (4, 8), like=like)
    assert one_image.shape == (1, 4, 8)
    no_image = diffusers.latents([], (4, 8), like=like)
    assert no_image.shape == (0, 4, 8)
    of_an_array = diffusers.latents(
        np.array(seeds, np.uint64),
        (4, 8),
        like=like,
    )
    assert of_an_array.shape == (3, 4, 8)


def test_noise_does_not_depend_on_numpy_s_settings() -> None:
    expected = (
        torch_noise(
            1,
            [100],
        ),
        torch_noise(1, [3]),
        torch_noise(1, [99], device="cuda"),
    )
    with np.errstate(all="raise"):
        given = (
            torch_noise(
                1,
                [100],
            ),
            torch_noise(1, [3]),
            torch_noise(1, [99], device="cuda"),
        )
    for one, other in zip(given, expected, strict=True):
        assert_same_bits(one, other)


def test_torch_is_not_loaded() -> None:
    code = (
        "import sys; sys.modules['torch'] = None; import onnx_philox as op; "
        "op.torch_noise(1, [3]); op.TorchState.from_seed(1).to_torch(); "
        "op.diffusers.generator(1, like='torch').randn(2)"
    )
    child.python("-c", code)


REFUSED = [
    (
        lambda: torch_noise(-1, [3]),
        "torch_noise: seed must be an integer from 0 to 2^64-1: got -1",
    ),
    (
        lambda: torch_noise(1, [-3]),
        "input 'shape' must be dimensions of 0 or more: got [-3]",
    ),
    (
        lambda: torch_noise(1, [1] * 9),
        "of 0 to 8 dimensions: got 9 dimensions",
    ),
    (
        lambda: torch_noise(1, [2**61]),
        "must be at most 2^63-1 bytes of f",
    ),
    (
        lambda: torch_noise(1, [2**50]),
        ", held 2 times. Draw a smaller tensor.",
    ),
    (
        lambda: torch_noise(1, [3], device="mps"),
        "must be 'cpu' or 'cuda': got 'mps'",
    ),
    (
        lambda: torch_noise(1, [3], dtype="i32"),
        "dtype must be one of 'f32', 'f16', 'bf16', 'f64' with device='cpu': got 'i32'",
    ),
    (
        lambda: torch_noise(1, [3], device="cuda", dtype="f64"),
        "dtype must be one of 'f32', 'f16', 'bf16' with device='cuda': got 'f64'",
    ),
    (
        lambda: torch_noise(1, [3], gpu=(1, 256)),
        "must be None with device='cpu'",
    ),
    (
        lambda: torch_noise(1, [160 * 2048 + 1], device="cuda"),
        "that any card holds: got None for 327,681 elements",
    ),
    (
        lambda: torch_noise(
            1,
            [2**29],
            device="cuda",
            gpu=(132, 2048),
        ),
        "less than 2^29",
    ),
    (
        lambda: torch_noise(1, [3], device="cuda", gpu=(0, 2048)),
        "must be from 1 to 2^16-1: got 0",
    ),
    (
        lambda: torch_noise(
            1,
            [3],
            device="cuda",
            gpu=(2**16, 2048),
        ),
        "from 0 to 2^16-1: got 65536",
    ),
    (
        lambda: torch_noise(
            1,
            [3],
            device="cuda",
            gpu=(9, 2**16),
        ),
        "threads must be an integer from 0 to 2^16-1",
    ),
    (
        lambda: torch_noise(1, [3], device="cuda", gpu=(9, 255)),
        "must be from 256 to",
    ),
    (
        lambda: torch_noise(1.5, [3]),
        "TypeError: seed must be an integer from 0 to 2^64-1: got 1.5",
    ),
    (
        lambda: torch_noise(1, ["a"]),
        "TypeError: a sequence of integers",
    ),
    (
        lambda: torch_noise(1, [3], device="cuda", gpu="T4"),
        "TypeError: gpu must be None, or two integers: a card's multiprocessors, and the "
        "threads of each: got 'T4'",
    ),
    (
        lambda: diffusers.generator(1, like="numpy"),
        "like must be 'philox', 'torch' or 'torch_cuda': got 'numpy'",
    ),
    (
        lambda: diffusers.generator(1, gpu=(9, 256)),
        "None with like='philox'",
    ),
    (
        lambda: diffusers.generator([1, -5], like="torch"),
        "generator: seed[1] must be an integer from 0 to 2^64-1: got -5",
    ),
    (
        lambda: diffusers.generator([1, 2], like="torch").randn(3, 4),
        "a row for each seed",
    ),
    (
        lambda: diffusers.generator(["a"], like="torch"),
        "TypeError: seed[0] must be an integer from 0 to 2^64-1: got 'a'",
    ),
    (
        lambda: diffusers.generator("a", like="torch"),
        "TypeError: seed must be an integer from 0 to 2^64-1: got 'a'",
    ),
    (
        lambda: diffusers.generator(TorchState.from_seed(1), like="torch_cuda"),
        "TypeError: seed must be an integer from 0 to 2^64-1: got TorchState(seed=1",
    ),
    (
        lambda: diffusers.generator(TorchState.from_seed(1)),
        "TypeError: seed must be an integer from 0 to 2^64-1: got TorchState(seed=1",
    ),
    (
        lambda: diffusers.latents([1], (4, -8), like="torch"),
        "dimensions of 0 or more",
    ),
    (
        lambda: torch_cuda_states(1, 2, 3),
        "offset must be a multiple of 4, as torch keeps it: got 2",
    ),
    (
        lambda: torch_cuda_states(-1, 0, 3),
        "torch_cuda_states: seed must be an integer from 0 to 2^64-1: got -1",
    ),
    (
        lambda: torch_cuda_states(1, 0, -3),
        "n must be an integer from 0 to 2^58-1: got -3",
    ),
    (
        lambda: torch_cuda_states(1, 0, 2**55),
        "small enough for the memory that is free",
    ),
]
WRONG: dict[str, list[Any]] = {
    "dtype": [
        None,
        "float",
        "",
        [],
        np.int32,
        str,
        object,
        np.dtype(">f4"),
    ],
    "device": [None, 0, [], "cuda:", "cuda:x", "cpux", "cuda:-1"],
}


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_bad_calls_are_refused(call: Callable[[], Any], words: str) -> None:
    assert_refused(call, words)


@pytest.mark.parametrize(("name", "given"), [(n, x) for n, each in WRONG.items() for x in each])
def test_what_is_no_type_and_no_device_of_noise_is_refused(name: str, given: Any) -> None:
    said = "device must be 'cpu' or 'cuda': got {!r}"
    if name == "dtype":
        said = (
            "'f64' with device='cpu': got {!r}. "
            "Pass one of them, or that type of NumPy's or torch's"
        )
    assert_refused(lambda: torch_noise(1, [3], **{name: given}), said.format(given))


def test_a_refused_draw_advances_nothing() -> None:
    generator = diffusers.generator([1, 2], like="torch")
    before = generator.state
    with pytest.raises(ValueError, match="must be at most"):
        generator.randn(2, 2**61)
    assert_same_bits(generator.state, before)


# torch itself.

SIZES = (1, 2, 15, 16, 17, 100, 4097, 70_001)
TYPES = ("f32", "f16", "bf16", "f64")


@pytest.fixture
def torch() -> Any:
    torch = pytest.importorskip("torch")
    # Without AVX2, or on ARM, torch draws other numbers.
    if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        pytest.skip("torch has no AVX2 here")
    return torch


def torch_dtype(torch: Any, name: str) -> Any:
    return getattr(torch, DTYPES[name].name)


def of_torch(torch: Any, call: str, a: list[Any]) -> np.ndarray:
    """What torch draws of a step, by its own generator."""
    from tests.torch_numbers.torch_walk.meaning import to_numpy

    match call:
        case "randint":
            dtype = torch_dtype(torch, (*a, "i64")[3])
            values = torch.randint(
                a[0],
                a[1],
                (a[2],),
                dtype=dtype,
            )
        case "randperm":
            values = torch.randperm(*a)
        case "bernoulli":
            p = torch.from_numpy(probability_of_each(*a))
            values = p.bernoulli().bool()
        case "bernoulli_":
            values = torch.empty(a[1]).bernoulli_(a[0]).bool()
        case "dropout":
            ones = torch.ones(a[1])
            values = torch.nn.functional.dropout(ones, a[0]).bool()
        case "multinomial":
            weights = torch.from_numpy(probabilities(a[0], a[1]))
            values = weights.multinomial(a[2])
        case _:
            empty = torch.empty(a[0], dtype=torch_dtype(torch, a[1]))
            values = getattr(empty, call)(*a[2:])
    return to_numpy(values)


FLOATS = [
    *(["uniform_", n, t, *b] for t in TYPES for n in SIZES for b in BOUNDS),
    *(["normal_", n, t, *b] for t in TYPES for n in SIZES for b in ((0, 1), (2, 3.3), (-0.25, 0))),
]
OTHERS = [
    *(["randint", -9, 2**31 - 1, n, "i32"] for n in SIZES),
    *(["randint", *b, n] for n in SIZES for b in RANGES),
    *(["exponential_", n, "f32", 1.5] for n in SIZES),
    *(["bernoulli_", 0.3, n] for n in SIZES),
    *(["bernoulli", n, t] for n in SIZES for t in ("f32", "f64")),
    *(["randperm", n] for n in SIZES),
    *(["multinomial", *sizes] for sizes in ((1, 5, 1), (6, 50, 1), (6, 50, 4), (40, 300, 300))),
    *(["dropout", ratio, 1000] for ratio in (0.3, 0.0, 1.0, 0.5)),
]


@pytest.mark.engines
@pytest.mark.parametrize("seed", [0, 42, 2**40 + 3, 2**64 - 1])
@pytest.mark.parametrize("steps", [FLOATS, OTHERS], ids=["floats", "others"])
def test_torch_draws_the_same_of_every_call(torch: Any, seed: int, steps: list[Any]) -> None:
    torch.manual_seed(seed)
    stream = torch_cpu.WordStream(TorchState.from_seed(seed))
    for call, *given in steps:
        expected = of_torch(torch, call, given)
        made = drawn(stream, call, given)
        if not is_by_libm(call, given):
            assert_same_bits(made, expected)
        elif given[2] == 0:
            assert ulps(made, expected).max() <= 2
        else:
            np.testing.assert_allclose(made, expected, rtol=0, atol=1e-14)
    # But for the last bits of a cached normal.
    ours = stream.state()
    theirs = TorchState.from_torch(torch.get_rng_state())
    assert state_after(ours, None, None) == state_after(theirs, None, None)
    if theirs.normal is not None:
        assert ours.normal is not None
        right = np.array(theirs.normal)
        assert ulps(np.array(ours.normal), right) <= 2


@pytest.mark.engines
def test_noise_is_what_torch_and_diffusers_draw(torch: Any) -> None:
    from diffusers.utils.torch_utils import randn_tensor

    from tests.torch_numbers.torch_walk.meaning import to_numpy

    seeds = [7, 42, 2**64 - 1]
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    noise = diffusers.generator(seeds, like="torch")
    for _ in range(2):
        noise_of_rows = randn_tensor((3, 4, 8, 9), generator=generators)
        expected = noise_of_rows.numpy()
        assert_same_bits(noise.randn(3, 4, 8, 9), expected)
    shape = (4, 64, 64)
    expected = torch.randn(shape, generator=torch.Generator().manual_seed(42)).numpy()
    images = diffusers.latents(42, shape, like="torch")
    assert_same_bits(images[0], expected)
    for name in TYPES[:3]:
        torch.manual_seed(42)
        dtype = torch_dtype(torch, name)
        expected = to_numpy(torch.randn(shape, dtype=dtype))
        assert_same_bits(torch_noise(42, shape, dtype=name), expected)
    # There and back again.
    generator = torch.Generator().manual_seed(1)
    torch.randn(5, generator=generator)
    state = TorchState.from_torch(generator.get_state())
    noise = diffusers.generator(state, like="torch")
    noise.randn(3), torch.randn(3, generator=generator)
    after = TorchState.from_array(noise.state)
    generator.set_state(torch.from_numpy(after.to_torch()))
    expected = torch.randn(100, generator=generator).numpy()
    assert_same_bits(noise.randn(100), expected)
