"""An NVIDIA card by its driver alone, in the place of the kernels as C: `prove_cuda.py --card`."""

from __future__ import annotations

import ctypes
from ctypes import byref
from typing import Any

from numpy.typing import NDArray


class Card:
    """Kernels of a PTX file on the first card. What they read and write is copied both ways."""

    def __init__(self, ptx: str) -> None:
        """Compiles the PTX; an OSError where there is no driver, a RuntimeError where it fails."""
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._placed: list[tuple[NDArray[Any], int]] = []
        self._call("cuInit", 0)
        context, self._module = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", byref(context), 0)
        self._call("cuCtxPushCurrent_v2", context)
        self._call("cuModuleLoadDataEx", byref(self._module), ptx.encode() + b"\0", 0, None, None)
        name = ctypes.create_string_buffer(100)
        version = ctypes.c_int()
        self._call("cuDeviceGetName", name, len(name), 0)
        self._call("cuDriverGetVersion", byref(version))
        self.name = f"{name.value.decode()}, driver for CUDA {version.value / 1000:g}"

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._driver, function)(*arguments)
        if status != 0:
            raise RuntimeError(f"{function} failed with {status}")

    def place(self, array: NDArray[Any]) -> int:
        """A copy of an array on the card, which the next run may write."""
        there = ctypes.c_uint64()
        self._call(
            "cuMemAlloc_v2",
            byref(there),
            ctypes.c_size_t(max(array.nbytes, 1)),
        )
        self._placed.append((array, there.value))
        self._copy(there.value, array.ctypes.data, array.nbytes)
        return there.value

    def _copy(self, to: int, of: int, size: int) -> None:
        self._call(
            "cuMemcpy",
            ctypes.c_uint64(to),
            ctypes.c_uint64(of),
            ctypes.c_size_t(size),
        )

    def run(
        self,
        name: str,
        launch: ctypes.Structure,
        blocks: int,
        threads: int,
    ) -> None:
        """Launches a kernel, waits, and brings all arrays back."""
        kernel = ctypes.c_void_p()
        self._call("cuModuleGetFunction", byref(kernel), self._module, name.encode())
        given = (ctypes.c_void_p * 1)(ctypes.addressof(launch))
        self._call("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, None, given, None)
        self._call("cuCtxSynchronize")
        for array, there in self._placed:
            self._copy(array.ctypes.data, there, array.nbytes)
            self._call("cuMemFree_v2", ctypes.c_uint64(there))
        self._placed.clear()
