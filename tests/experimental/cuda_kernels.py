"""The CUDA kernels, run on a processor: kernels.ptx as C (ptx_to_c.py), and launches of draw.h."""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onnx_philox import reference
from tests.common import cases
from tests.experimental.card import Card
from tests.experimental.ptx_to_c import kernels as kernels_of
from tests.experimental.ptx_to_c import translated

CORE = Path(__file__).parents[2] / "custom_ops/core/kernels"
CUDA = CORE.parents[1] / "experimental/cuda"
PTX = CUDA / "kernels.ptx"
# In the order of their numbers in a launch.
DTYPES: dict[str, Any] = {"bits": np.uint32}
DTYPES |= {n: cases.DTYPES[n] for n in ("f32", "f16", "bf16", "f64", "i32", "i64", "bool")}
TYPES = {name: i for i, name in enumerate(DTYPES)}
PARAMETERS = re.findall(
    r"k(\w+)",
    re.search(r"enum class Parameter \{(.*?)\}", (CORE / "declared_names.h").read_text())[1],  # type: ignore[index]
)
NUMBERS = dict.fromkeys(("minval", "mean", "p", "ratio", "alpha", "rate"), 0)
NUMBERS |= dict.fromkeys(("maxval", "scale"), 1)
THREADS = 256
OUTSIDE = 1


class Number(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int32),
        ("is_each", ctypes.c_uint32),
        ("bits", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        *((name, ctypes.c_uint64) for name in ("least", "greatest")),
    )


class Launch(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("states", "next_states")),
        *((name, ctypes.c_uint64) for name in ("seed_key", "seed_counter")),
        *((name, ctypes.c_uint64) for name in ("rows", "row_elements", "row_blocks")),
        *((name, ctypes.c_void_p) for name in ("data", "out", "mask", "error")),
        ("number", Number * 2),
    )


@cache
def library(
    ptx: str,
    *,
    only: str = "",
    may_fuse: bool = False,
    level: int = 0,
) -> ctypes.CDLL:
    """The kernels of a PTX file, or one, compiled for this processor, at a level of `-O`."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernels.c")
        built = Path(folder, "kernels.so")
        source.write_text(translated(ptx, only=only, may_fuse=may_fuse))
        options = [f"-O{level}", "-ffp-contract=off", "-fPIC", "-shared", "-w"]
        subprocess.run(
            [
                "cc",
                *options,
                str(source),
                "-o",
                str(built),
                "-lm",
            ],
            check=True,
        )
        return ctypes.CDLL(str(built))


def bits_of(value: ArrayLike, kind: str) -> int:
    number = np.asarray(value, DTYPES[kind])
    return int(number.view(f"u{number.itemsize}"))


@dataclass(frozen=True)
class Draw:
    """What to draw: one row for each state, or one from a single state or from none."""

    distribution: str
    kind: str  # of the kernel's name
    elements: int  # of a row
    states: NDArray[np.uint32] | None
    numbers: Mapping[str, ArrayLike] = field(default_factory=dict)
    number_kind: str = ""  # left out: `kind`
    data: NDArray[Any] | None = None
    global_seed: int = 0
    op_seed: int = 0

    @property
    def rows(self) -> int:
        return self.states.shape[0] if self.states is not None and self.states.ndim == 2 else 1

    @property
    def count(self) -> int:
        return self.rows * self.elements

    @property
    def dtype(self) -> Any:
        return np.dtype(DTYPES["bool" if self.distribution == "bernoulli" else self.kind])

    @property
    def row_blocks(self) -> int:
        if self.distribution in ("gamma", "poisson"):
            return 32 * self.elements
        by = self.number_kind if self.distribution == "dropout" else self.kind
        return -(-self.elements // (2 if by in ("f64", "i64") else 4))


@dataclass(frozen=True)
class Drawn:
    out: NDArray[Any]
    mask: NDArray[np.uint8]
    next_states: NDArray[np.uint32]
    error: int


def launched(
    kernels: ctypes.CDLL | Card,
    draw: Draw,
    *,
    blocks: int | None = None,
    shift: int = 0,
    on_device: tuple[str, ...] = (),
    limits: tuple[int, int] = (0, 0),
    threads: int = THREADS,
) -> Drawn:
    """Runs a kernel. It may write the output, `shift` elements past an aligned address, and nothing
    around it."""
    size = draw.dtype.itemsize
    kept = []  # what the launch points to

    def place(array: NDArray[Any]) -> int:
        kept.append(np.ascontiguousarray(array))
        return kept[-1].ctypes.data if isinstance(kernels, ctypes.CDLL) else kernels.place(kept[-1])

    memory = np.full(draw.count * size + 512, 0xA5, np.uint8)
    out = place(memory)
    begin = -out % 64 + 64 + shift * size
    masks = np.full(draw.count + 512, 0xA5, np.uint8)
    mask = place(masks)
    mask_begin = -mask % 64 + 64 + shift
    following = np.full((draw.rows + 2, 6), 0xA5A5A5A5, np.uint32)
    error = np.zeros(1, np.uint32)
    launch = Launch(
        states=None if draw.states is None else place(draw.states),
        next_states=place(following) + following[0].nbytes,
        seed_key=draw.global_seed,
        seed_counter=draw.op_seed,
        rows=draw.rows,
        row_elements=draw.elements,
        row_blocks=draw.row_blocks,
        out=out + begin,
        error=place(error),
    )
    if draw.data is not None:
        launch.mask = mask + mask_begin
        launch.data = place(draw.data)
    for name, value in draw.numbers.items():
        kind = draw.number_kind or draw.kind
        number = launch.number[NUMBERS[name]]
        number.type = TYPES[kind]
        if name not in on_device and np.ndim(value) == 0:
            number.bits = bits_of(value, kind)
            continue
        number.data, number.is_each = place(np.asarray(value, DTYPES[kind])), np.ndim(value) > 0
        number.least, number.greatest = limits
    name = f"onnx_philox_{draw.distribution}_{draw.kind}"
    blocks = blocks or -(-draw.rows * min(draw.elements, draw.row_blocks) // threads)
    if isinstance(kernels, ctypes.CDLL):
        misaligned = ctypes.c_uint64.in_dll(kernels, "misaligned")
        misaligned.value = 0
        getattr(kernels, name)(ctypes.byref(launch), blocks, threads)
        assert misaligned.value == 0, "an access that is not aligned is a fault on a card"
    else:
        kernels.run(name, launch, blocks, threads)
    end = begin + draw.count * size
    mask_end = mask_begin + (draw.count if draw.data is not None else 0)
    for around in (memory[:begin], memory[end:], masks[:mask_begin], masks[mask_end:]):
        assert (around == 0xA5).all(), "wrote beside an output"
    assert (following[[0, -1]] == 0xA5A5A5A5).all(), "wrote beside the next states"
    values = memory[begin:end].view(draw.dtype)
    mask_found = masks[mask_begin:mask_end]
    return Drawn(
        values,
        mask_found,
        following[1:-1],
        int(error[0]),
    )


def expected(draw: Draw) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[np.uint32]]:
    """The same of the reference: output, mask, next states."""
    shape = [draw.rows, draw.elements]
    kind = draw.number_kind or draw.kind
    given: dict[str, Any] = {"global_seed": draw.global_seed, "op_seed": draw.op_seed}
    given["state"] = np.zeros(6, np.uint32) if draw.states is None else draw.states
    for name, value in draw.numbers.items():
        array = np.asarray(value, DTYPES[kind])
        given[name] = array.reshape(shape) if array.ndim else array
    distribution = "generator" if draw.kind == "bits" else draw.distribution
    if draw.data is not None:
        given["data"] = draw.data.reshape(shape)
    else:
        given["shape"] = shape
    if distribution not in ("generator", "dropout", "bernoulli"):
        given["output_type"] = draw.kind
    values, *mask, following = getattr(reference, f"random_{distribution}")(**given)
    return values.reshape(-1), mask[0].reshape(-1) if mask else None, following.reshape(-1, 6)


def different(a: NDArray[Any], b: NDArray[Any]) -> int:
    """How many elements have other bits."""
    bits = f"u{a.dtype.itemsize}"
    return int(np.count_nonzero(a.view(bits) != np.ascontiguousarray(b).view(bits)))


def wrong(kernels: ctypes.CDLL | Card, draw: Draw, **options: Any) -> int:
    """How many elements and next states of a draw differ from the reference."""
    drawn = launched(kernels, draw, **options)
    values, mask, following = expected(draw)
    assert drawn.error == 0, draw
    masks = 0 if mask is None else different(drawn.mask, mask.view(np.uint8))
    return different(drawn.out, values) + masks + different(drawn.next_states, following)


FLOATS = ("f32", "f64")
# The names of parameters, their types where those are not the kernel's, and values.
NUMBERS_OF: dict[str, tuple[tuple[str, ...], tuple[str, ...], list[tuple[float, ...]]]] = {
    "uniform": (
        ("minval", "maxval"),
        ("",),
        [(0.0, 1.0), (-2.5, 7.125), (3.0, 3.0)],
    ),
    "normal": (
        ("mean", "scale"),
        ("",),
        [(0.0, 1.0), (-3.25, 0.7)],
    ),
    "exponential": (
        ("scale",),
        ("",),
        [(1.0,), (1.7,)],
    ),
    "bernoulli": (
        ("p",),
        ("",),
        [(0.0,), (0.3,), (1.0,)],
    ),
    "dropout": (
        ("ratio",),
        FLOATS,
        [(0.0,), (0.25,), (1.0,)],
    ),
    "gamma": (
        ("alpha",),
        FLOATS,
        [(0.3,), (1.0,), (2.5,), (3e6,)],
    ),
    "poisson": (
        ("rate",),
        FLOATS,
        [(0.0,), (3.5,), (9.99,), (10.0,), (1234.5,)],
    ),
}


def numbers_of(
    distribution: str,
    kind: str,
) -> Iterator[tuple[str, dict[str, float]]]:
    """Parameters to try of a kernel, and their type."""
    names, types, values = NUMBERS_OF[distribution]
    if kind == "bits":
        names = ()
        values = [()]
    elif distribution == "uniform" and kind[0] == "i":
        half = 2 ** (int(kind[1:]) - 1)
        wide = 2 ** (int(kind[1:]) - 8)
        values = [
            (0, 100),
            (-half, half - 1),
            (-7, 2),
            (-3, wide + 17),
        ]
    for numbers in values:
        for number in types:
            yield number, dict(zip(names, numbers, strict=True))


def data_of(
    distribution: str,
    kind: str,
    count: int,
) -> NDArray[Any] | None:
    """Data for a dropout, some of it not finite."""
    if distribution != "dropout":
        return None
    data = np.random.default_rng(0).normal(size=count)
    for i, value in enumerate((np.nan, -np.nan, np.inf, -np.inf, -0.0)):
        data[i::11] = value
    return data.astype(DTYPES[kind])


def names() -> list[tuple[str, str]]:
    """Distribution and type of each kernel that draws."""
    found = [name.removeprefix("onnx_philox_") for name in kernels_of(PTX.read_text())]
    return [tuple(name.rsplit("_", 1)) for name in found if name != "next_states"]  # type: ignore[misc]
