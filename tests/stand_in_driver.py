"""A stand-in for NVIDIA's driver, `cuda/stand_in.c`, and what its launches draw.

A launch draws by the reference, from nothing but what the launch says: a wrong pointer, number or
count in it gives other bits.
"""

from __future__ import annotations

import ctypes
import gc
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cases
import numpy as np
from cuda_kernels import DTYPES, OUTSIDE, PARAMETERS, Launch, Number

from onnx_philox import reference

SOURCE = Path(__file__).parent / "cuda" / "stand_in.c"
MOST_BLOCKS = 4096
P_IS_OUTSIDE = OUTSIDE + PARAMETERS.index("P")
"""What a kernel writes where it refuses a number of `p`."""

_TYPES = list(DTYPES)


def array_at(address: int, dtype: Any, count: int) -> np.ndarray:
    """Memory as an array."""
    dtype = np.dtype(dtype)
    raw = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(raw, dtype)


def draw(kernel: str, launch: Launch) -> None:
    """What a launch of a kernel writes."""
    rows = launch.rows
    states = np.zeros((1, 6), np.uint32)
    if launch.states:
        states = array_at(launch.states, np.uint32, rows * 6).reshape(rows, 6).copy()
    if kernel != "onnx_philox_next_states":
        for row, state in enumerate(states):
            _draw_row(kernel, launch, row, state)
    if launch.next_states:
        after = array_at(launch.next_states, np.uint32, rows * 6).reshape(rows, 6)
        for row, state in enumerate(states):
            after[row] = _advanced(state, launch)


def _advanced(state: np.ndarray, launch: Launch) -> np.ndarray:
    counter = sum(int(word) << 32 * i for i, word in enumerate(state[:4])) + launch.row_blocks
    words_after = [counter >> 32 * i & 0xFFFFFFFF for i in range(4)]
    return np.array([*words_after, *state[4:]], np.uint32)


def _draw_row(kernel: str, launch: Launch, row: int, state: np.ndarray) -> None:
    _, _, distribution, type_ = kernel.split("_")
    count = launch.row_elements
    begin = row * count
    seeds = {"global_seed": launch.seed_key, "op_seed": launch.seed_counter}
    if distribution == "uniform" and type_ == "bits":
        _write(launch.out, begin, reference.random_generator(state, (count,), **seeds)[0])
        return
    first, second = (_number(number, begin, count) for number in launch.number)
    function = getattr(reference, f"random_{distribution}")
    if distribution == "dropout":
        dtype = cases.DTYPES[type_]
        data = array_at(launch.data + begin * dtype.itemsize, dtype, count).copy()
        values, mask, _ = function(data, first, state=state, **seeds)
        if launch.out:
            _write(launch.out, begin, values)
        if launch.mask:
            _write(launch.mask, begin, mask)
        return
    if distribution == "bernoulli":
        is_wrong = ~((first >= 0) & (first <= 1))
        if is_wrong.any():
            array_at(launch.error, np.uint32, 1)[0] = P_IS_OUTSIDE
            first = np.where(is_wrong, 0, first).astype(first.dtype)
        drawn = function((count,), first, state=state, **seeds)[0]
    else:
        given = {
            "uniform": (first, second),
            "normal": (first, second),
            "exponential": (second,),
            "gamma": (first,),
            "poisson": (first,),
        }[distribution]
        drawn = function((count,), *given, type_, state=state, **seeds)[0]
    _write(launch.out, begin, drawn)


def _write(address: int, begin: int, values: np.ndarray) -> None:
    array_at(address + begin * values.itemsize, values.dtype, values.size)[:] = values


def _number(number: Number, begin: int, count: int) -> Any:
    name = _TYPES[number.type]
    if name == "bits":
        return None
    dtype = cases.DTYPES[name]
    if not number.data:
        return np.frombuffer(int(number.bits).to_bytes(8, "little"), dtype, 1)[0].reshape(())
    if not number.is_each:
        return array_at(number.data, dtype, 1).copy().reshape(())
    return array_at(number.data + begin * dtype.itemsize, dtype, count).copy()


class StandIn:
    """The stand-in, loaded into this process: what the library's `dlopen` finds from now on."""

    def __init__(self, folder: Path) -> None:
        library = build(folder)
        self._c = ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
        self._c.stand_in_calls.restype = ctypes.c_char_p
        self.launches: list[tuple[str, dict[str, int], int, int, int | None]] = []
        self.kernels: ctypes.CDLL | None = None
        """What draws; the reference if there are none."""
        self.errors: list[BaseException] = []
        kind = ctypes.CFUNCTYPE(
            None, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p
        )
        self._draw = kind(self._launched)
        self._c.stand_in_draw_with(self._draw)

    def _launched(self, kernel: bytes, at: int, blocks: int, threads: int, stream: Any) -> None:
        name = kernel.decode()
        launch = Launch.from_address(at)
        fields = {key: getattr(launch, key) or 0 for key, _ in Launch._fields_ if key != "number"}
        self.launches.append((name, fields, blocks, threads, stream))
        try:
            if self.kernels is None:
                draw(name, launch)
            else:
                getattr(self.kernels, name)(ctypes.c_void_p(at), blocks, threads)
        except BaseException as error:
            self.errors.append(error)

    @property
    def calls(self) -> list[str]:
        """The names of the driver's functions that were called, in order."""
        return [line.split()[0] for line in self.lines]

    @property
    def lines(self) -> list[str]:
        """The calls with what is known of their arguments."""
        return list(self._c.stand_in_calls().decode().splitlines())

    @property
    def live(self) -> int:
        """What the driver has given and not got back."""
        return int(self._c.stand_in_live())

    def reset(self) -> None:
        """Forgets calls, launches and settings."""
        self._c.stand_in_reset()
        self.launches.clear()
        self.errors.clear()
        self.kernels = None

    def set(self, what: str, value: int) -> None:
        """Sets what the driver is: `stand_in_set` lists it."""
        self._c.stand_in_set(what.encode(), value)

    @contextmanager
    def checked(self) -> Iterator[None]:
        """A test, after which all is given back, and no launch was wrong."""
        self.reset()
        yield
        gc.collect()  # exceptions keep sessions
        assert self.errors == []
        assert self.live == 0

    @contextmanager
    def failing(self, function: str, after: int = 0, error: int = 719) -> Iterator[None]:
        """Has a function fail, once."""
        self._c.stand_in_fail(function.encode(), after, error)
        try:
            yield
        finally:
            self._c.stand_in_fail(b"", 0, 0)


def build(folder: Path, options: Sequence[str] = ()) -> Path:
    """Compiles the stand-in to `libcuda.so.1`."""
    library = folder / "libcuda.so.1"
    command = ["cc", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *options]
    command += ["-Wl,-soname,libcuda.so.1", "-o", str(library), str(SOURCE), "-lpthread"]
    subprocess.run(command, check=True)
    return library
