"""`onnx_philox.generate` into NumPy arrays: its types among each other, and other generators."""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
from paired import Call, Row, compare, microseconds, words

from onnx_philox import PhiloxState, generate
from onnx_philox._contract.types import BY_DTYPE
from onnx_philox._numbers import fill_native
from onnx_philox._numbers.draw import Draw
from onnx_philox._numbers.uniform import Uniform

STATE = PhiloxState(counter=0, key=42)

UNIT = (0, 1)
TYPES: dict[str, tuple[object, tuple[int, int], float]] = {
    "f64 in [0, 1)": (np.float64, UNIT, 0.8),
    "f16 in [0, 1)": (np.float16, UNIT, 0.8),
    "bf16 in [0, 1)": (ml_dtypes.bfloat16, UNIT, 0.8),
    "i64, all values but one": (np.int64, (-(2**63), 2**63 - 1), 0.8),
    "i64, range 2^40 + 4": (np.int64, (-3, 2**40 + 1), 0.6),
    "i64, range 1016": (np.int64, (-16, 1000), 0.6),
    "i32, range 1016": (np.int32, (-16, 1000), 0.6),
}
"""Type, bounds and the least share of f32's words a second."""

KERNEL_LOG2 = 17
"""Words of a buffer that stays in the second-level cache."""


def size_of(dtype: object, count: int) -> int:
    """Elements that take so many words."""
    return count // 2 if np.dtype(dtype).itemsize == 8 else count


def generate_call(dtype: object, count: int, bounds: tuple[int, int] = UNIT) -> Call:
    out = np.zeros(size_of(dtype, count), dtype)
    low, high = bounds
    return lambda: generate(STATE, out=out, minval=low, maxval=high)


def kernel_call(dtype: object, count: int, bounds: tuple[int, int] = UNIT) -> Call:
    """Without the checks of `generate`, which weigh on small arrays."""
    out = np.zeros(size_of(dtype, count), dtype)
    draw = Draw(BY_DTYPE[out.dtype], STATE, Uniform(*(np.array(b, dtype) for b in bounds)))
    return lambda: fill_native.fill(draw, out)


def types_part(pairs: int) -> Iterator[Row]:
    for kind, make, log2 in (
        ("kernel", kernel_call, KERNEL_LOG2),
        ("generate", generate_call, 20),
        ("generate", generate_call, 24),
    ):
        for name, (dtype, bounds, target) in TYPES.items():
            row = Row("types", f"{kind} {name}", "f32 in [0, 1)", size=f"2^{log2} w", target=target)
            count = 1 << log2
            ours = make(dtype, count, bounds)
            yield compare(row, ours, make(np.float32, count), pairs, words(count))


# Peers: each takes an element type and a number of words and returns its call.


def numpy_peer(bit_generator: str) -> Callable[[type, int], Call]:
    generator = np.random.Generator(getattr(np.random, bit_generator)(42))
    return lambda dtype, count: generator_call(generator, dtype, count)


def randomgen_peer() -> Callable[[type, int], Call]:
    randomgen = importlib.import_module("randomgen")
    generator = np.random.Generator(randomgen.Philox(42, number=4, width=32))
    return lambda dtype, count: generator_call(generator, dtype, count)


def generator_call(generator: np.random.Generator, dtype: type, count: int) -> Call:
    out = np.zeros(size_of(dtype, count), dtype)
    return lambda: generator.random(out=out, dtype=dtype)


def mkl_random_peer() -> Callable[[type, int], Call]:
    """Draws doubles of one word each, into memory of its own; it has neither float32 nor `out`."""
    mkl_random = importlib.import_module("mkl_random")
    state = mkl_random.RandomState(42, brng="PHILOX4X32X10")
    probe = state.random_sample(1000) * 2**32
    assert np.array_equal(probe, np.round(probe)), "more than one word of 32 bits"
    return lambda dtype, count: lambda: state.random_sample(count)  # noqa: ARG005


def mkl_peer() -> Callable[[type, int], Call]:
    """MKL's own function, without mkl_random's memory for each result."""
    importlib.import_module("mkl_random")
    (library,) = sorted((Path(sys.prefix) / "lib").glob("libmkl_rt.so*"))[-1:]
    mkl = ctypes.CDLL(str(library))
    stream = ctypes.c_void_p()
    philox4x32x10 = 16 << 20  # VSL_BRNG_PHILOX4X32X10
    assert mkl.vslNewStream(ctypes.byref(stream), philox4x32x10, 42) == 0
    uniform = mkl.vsRngUniform
    uniform.argtypes = [
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_float,
        ctypes.c_float,
    ]

    def call(dtype: type, count: int) -> Call:
        out = np.zeros(count, dtype)
        return lambda: uniform(0, stream, count, out.ctypes.data, 0, 1)

    return call


PEERS: dict[str, tuple[Callable[[], Callable[[type, int], Call]], tuple[type, ...], float | None]]
PEERS = {
    "NumPy Philox (4x64)": (lambda: numpy_peer("Philox"), (np.float32, np.float64), None),
    "NumPy SFC64": (lambda: numpy_peer("SFC64"), (np.float32, np.float64), None),
    "randomgen Philox4x32": (randomgen_peer, (np.float32, np.float64), 4.0),
    "mkl_random Philox4x32": (mkl_random_peer, (np.float32,), 1.0),
    "MKL Philox4x32": (mkl_peer, (np.float32,), 1.0),
}


def numpy_part(pairs: int) -> Iterator[Row]:
    for name, (make, dtypes, target) in PEERS.items():
        try:
            peer = make()
        except (ImportError, OSError, ValueError) as error:
            missing = isinstance(error, ModuleNotFoundError)
            note = "not installed" if missing else f"not usable: {error}"
            yield Row("numpy", "generate", name, target=target, note=note)
            continue
        for dtype in dtypes:
            for log2 in (20, 24):
                count = 1 << log2
                what = f"generate {np.dtype(dtype).name}"
                row = Row("numpy", what, name, size=f"2^{log2} w", target=target)
                ours = generate_call(dtype, count)
                yield compare(row, ours, peer(dtype, count), pairs, words(count))


# Small arrays: the call costs more than the numbers.


def fresh_call(count: int, **numbers: float) -> Call:
    """Into new memory, as NumPy's calls give it."""
    return lambda: generate(STATE, out=np.empty(count, np.float32), **numbers)


def small_part(pairs: int) -> Iterator[Row]:
    """At least 1 / 1.6 of the peer's speed."""
    numpy = np.random.Generator(np.random.Philox(42))
    normal = {"mean": 0.0, "scale": 1.0}

    def into(count: int) -> tuple[Call, Call]:
        out = np.empty(count, np.float32)
        given = np.empty(count, np.float32)
        return (
            lambda: generate(STATE, out=out),
            lambda: numpy.random(out=given, dtype=np.float32),
        )

    for count in (1, 64, 1024, 16384):
        for what, (ours, peer) in {
            "generate float32, given memory": into(count),
            "generate float32, new memory": (
                fresh_call(count),
                lambda n=count: numpy.random(n, dtype=np.float32),
            ),
            "generate float32, normal": (
                fresh_call(count, **normal),
                lambda n=count: numpy.standard_normal(n, dtype=np.float32),
            ),
        }.items():
            target = 1 / 1.6 if count == 1024 else None
            row = Row("small", what, "NumPy Philox (4x64)", size=str(count), target=target)
            yield compare(row, ours, peer, pairs, microseconds)
