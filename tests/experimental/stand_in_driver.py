"""A stand-in for NVIDIA's driver, `stand_in.c`, and what its launches draw.

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

import numpy as np

from tests.experimental.cuda_kernels import (
    DTYPES,
    NUMBERS,
    NUMBERS_OF,
    OUTSIDE,
    PARAMETERS,
    Draw,
    Launch,
    Number,
)
from tests.experimental.cuda_kernels import expected as drawn_by

SOURCE = Path(__file__).parents[2] / "custom_ops/experimental/tests/stand_in.c"
MOST_BLOCKS = 4096
P_IS_OUTSIDE = OUTSIDE + PARAMETERS.index("P")
"""What a kernel writes where it refuses a number of `p`."""


def array_at(address: int, dtype: Any, count: int) -> np.ndarray:
    """Memory as an array."""
    dtype = np.dtype(dtype)
    raw = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(raw, dtype)


def draw(kernel: str, launch: Launch) -> None:
    """What a launch of a kernel writes."""
    states = None
    if launch.states:
        states = array_at(launch.states, np.uint32, launch.rows * 6).reshape(-1, 6).copy()
    if kernel != "onnx_philox_next_states":
        _, _, distribution, kind = kernel.split("_")
        _draw_values(distribution, kind, launch, states)
    if launch.next_states:
        after = array_at(launch.next_states, np.uint32, launch.rows * 6).reshape(-1, 6)
        for row, state in enumerate(np.zeros((1, 6), np.uint32) if states is None else states):
            after[row] = _advanced(state, launch)


def _advanced(state: np.ndarray, launch: Launch) -> np.ndarray:
    counter = sum(int(word) << 32 * i for i, word in enumerate(state[:4])) + launch.row_blocks
    words_after = [counter >> 32 * i & 0xFFFFFFFF for i in range(4)]
    return np.array([*words_after, *state[4:]], np.uint32)


def _draw_values(
    distribution: str,
    kind: str,
    launch: Launch,
    states: np.ndarray | None,
) -> None:
    count = launch.rows * launch.row_elements
    names = () if kind == "bits" else NUMBERS_OF[distribution][0]
    numbers = {name: _number(launch.number[NUMBERS[name]], count) for name in names}
    if "p" in numbers and not (is_right := (numbers["p"] >= 0) & (numbers["p"] <= 1)).all():
        array_at(launch.error, np.uint32, 1)[0] = P_IS_OUTSIDE
        numbers["p"] = np.where(is_right, numbers["p"], 0)
    number_kind = _TYPES[launch.number[NUMBERS[names[0]]].type] if names else ""
    data = array_at(launch.data, DTYPES[kind], count).copy() if launch.data else None
    seeds = launch.seed_key, launch.seed_counter
    given = distribution, kind, launch.row_elements, states, numbers, number_kind, data, *seeds
    values, mask, _ = drawn_by(Draw(*given))
    for address, array in ((launch.out, values), (launch.mask, mask)):
        if address and array is not None:
            array_at(address, array.dtype, array.size)[:] = array


_TYPES = list(DTYPES)


def _number(number: Number, count: int) -> np.ndarray:
    dtype = np.dtype(DTYPES[_TYPES[number.type]])
    if not number.data:
        return np.frombuffer(int(number.bits).to_bytes(8, "little"), dtype, 1).reshape(())
    found = array_at(number.data, dtype, count if number.is_each else 1).copy()
    return found if number.is_each else found.reshape(())


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

    def _launched(
        self,
        kernel: bytes,
        at: int,
        blocks: int,
        threads: int,
        stream: Any,
    ) -> None:
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
        if self.live:
            gc.collect()  # exceptions keep sessions
        assert self.errors == []
        assert self.live == 0

    @contextmanager
    def failing(
        self,
        function: str,
        after: int = 0,
        error: int = 719,
    ) -> Iterator[None]:
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
