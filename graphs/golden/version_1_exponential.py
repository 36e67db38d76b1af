"""The golden cases of what version 1 of the domain gained: RandomExponential."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import mpmath
import numpy as np
import onnx
from case import ALL_ONES, DTYPES, STATE, Arrays, Case, Check
from onnx import parser
from version_1 import with_constant
from version_1_rows import ROWS, SEEDS

from onnx_philox import PhiloxState, graphs, reference

FLOATS = ("f16", "bf16", "f32", "f64")
SOURCE = "mpmath's logarithm of onnx_philox.reference's bits, within 1 ulp (f64: 4)"


def cases() -> Iterator[tuple[str, Case]]:
    """All cases by name."""
    for type_ in FLOATS:
        model = graphs.random_exponential(None, 0.7, type_, stateful=True, rank=2)
        runs = [{"shape": np.array(s), "state": STATE} for s in ([1, 67], [2, 3], [4, 0])]
        yield f"exponential_{type_}_state", Case(model, runs, _exact(type_, 0.7, runs), SOURCE)
        model = graphs.random_exponential([3, 5], 1, type_, **SEEDS)
        yield f"exponential_{type_}_seeds", Case(model, [{}], _exact(type_, 1, [{}]), SOURCE)
        model = graphs.random_exponential([], 3, type_, stateful=True)
        yield f"exponential_{type_}_rank_0_state", Case(model, [{"state": STATE}])
        model = graphs.random_exponential(None, 2.2, type_, per_row=True, rank=2)
        runs = [
            {"shape": np.array([len(s), n]), "state": s}
            for s, n in ((ROWS, 3), (ROWS[2:0:-1].copy(), 3), (ROWS[:1], 3), (ROWS, 0))
        ]
        yield f"exponential_{type_}_rows", Case(model, runs)
    # OpenVINO refuses f64 that is not constant.
    for type_ in FLOATS[:3]:
        model = graphs.random_exponential(None, None, type_, stateful=True, rank=1)
        scale = np.array(2.2, DTYPES[type_])
        runs = [{"scale": scale, "shape": np.array([n]), "state": STATE} for n in (1, 11)]
        yield f"exponential_{type_}_input_scale", Case(model, runs)
    for type_, scale in (("f32", 1e-42), ("f64", 1e-311)):
        model = graphs.random_exponential([20], scale, type_, **SEEDS)
        yield f"exponential_{type_}_subnormal_scale", Case(model)
    constant = graphs.random_exponential([2, 5], 0.1, "f32", stateful=True)
    yield "exponential_f32_constant_state", Case(with_constant(constant, "state", ALL_ONES))
    yield "exponential_after_normal", Case(_after_normal(), [{"state": STATE}])


def _exact(type_: str, scale: float, runs: list[Arrays]) -> Check:
    dtype = np.dtype(DTYPES[type_])
    bits = 52 if type_ == "f64" else 32

    def value(x: int) -> float:
        with mpmath.workdps(60):
            u = (mpmath.mpf(x) + mpmath.mpf(1) / 2) / mpmath.mpf(2) ** bits
            return float(-mpmath.log(u) * float(dtype.type(scale)))

    def check(outputs: list[Arrays]) -> None:
        for run, output in zip(runs, outputs, strict=True):
            values = output["values"]
            words, _ = reference.random_generator(
                run.get("state", PhiloxState.from_seeds(*SEEDS.values()).to_array()),
                [values.size * (bits // 32 + bits % 32 // 20)],
            )
            numbers = [int(word) for word in words]
            if type_ == "f64":
                pairs = zip(numbers[::2], numbers[1::2], strict=True)
                numbers = [(high & 0xFFFFF) << 32 | low for high, low in pairs]
            exact = np.array([value(x) for x in numbers])
            ulp = exact * (4 * 2.0**-52 if type_ == "f64" else float(ml_dtypes.finfo(dtype).eps))
            off = np.abs(values.reshape(-1).astype(np.float64) - exact)
            assert (off <= ulp + 6e-8 * (type_ == "f16")).all(), (type_, off.max())

    return check


def _after_normal() -> onnx.ModelProto:
    """Two draws, the second from where the first has stopped, and both from one state."""
    return parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        exponential_after_normal (uint32[6] state)
            => (float[2,3] x, float[5] waits, float[5] others, uint32[6] next_state)
            <int64[2] shape = {2, 3}, int64[1] five = {5}, float zero = {0}, float one = {1}> {
          x, a = onnx_philox.RandomNormal <output_type = "f32"> (shape, zero, one, state)
          waits, next_state = onnx_philox.RandomExponential <output_type = "f32"> (five, one, a)
          others = onnx_philox.RandomExponential <output_type = "f32", op_seed = 3> (
              five, one, state)
        }
    """)
