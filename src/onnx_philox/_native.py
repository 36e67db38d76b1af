"""The native core: what the library for ONNX Runtime exports for programs without a session.

`custom_ops/c/onnx_philox.h` describes the functions. ctypes calls them, and lets other threads of
Python run meanwhile. Arguments are checked in Python; C refuses what would harm memory.
"""

from __future__ import annotations

import ctypes
import logging
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import count as counting
from typing import Any

from numpy.typing import NDArray

from onnx_philox import _native_library

Input = tuple[str, str, NDArray[Any]]
"""An input of an operator: its name, its element type, and a contiguous array of these."""

_VERSION = 2
_NUMBERS_ARE_CHECKED = 1
_ERRORS = {1: ValueError, 2: RuntimeError, 3: MemoryError}
_TEXT_BYTES = 1024
Memory: Any = ctypes.c_char * 0
"""`Memory.from_buffer(array)` is where a writable, contiguous array begins."""


# The structs of the header, as `struct` packs them: a call, and its inputs, attributes and outputs.
_CALL, _INPUT, _ATTRIBUTE, _OUTPUT = "@IIPPNPNPN", "PPPNP", "PPq", "PN"
_SMALL = 64
"""Bytes of an array that are copied, which takes less time than to ask where they are."""


def _loaded() -> ctypes.CDLL | None:
    path = _native_library.find("onnxruntime")
    if path is None:
        return None  # nothing compiled at installation
    try:
        library = ctypes.CDLL(str(path))
        signatures: dict[str, tuple[Any, tuple[Any, ...]]] = {
            "run": (ctypes.c_int, (ctypes.c_void_p,)),
            "prepare": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_void_p)),
            "isa": (ctypes.c_char_p, ()),
            "memory": (ctypes.c_int, (ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64))),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(library, f"onnx_philox_{name}")
            function.restype = result
            function.argtypes = (*arguments, ctypes.c_char_p, ctypes.c_size_t)
        library.onnx_philox_release.restype = None
        library.onnx_philox_release.argtypes = (ctypes.c_void_p,)
    except (OSError, AttributeError) as error:
        # It compiled for another machine, or in another release, and the user must know.
        logging.getLogger("onnx_philox").warning("onnx_philox: no native core: %s", error)
        return None
    return library


_library: Any = _loaded()
IS_THERE = _library is not None
"""Whether the package was installed with it."""


def _names(function: str) -> Iterator[str]:
    """What a function names by index, up to its NULL."""
    named = getattr(_library, f"onnx_philox_{function}")
    named.restype = ctypes.c_char_p
    for index in counting():
        name = named(ctypes.c_size_t(index))
        if name is None:
            return
        yield name.decode()


OPERATORS = frozenset(_names("operator")) if IS_THERE else frozenset[str]()
"""The operators that it knows."""


def run(
    operator: str,
    inputs: Sequence[Input],
    attributes: Mapping[str, int | str],
    outputs: Sequence[NDArray[Any] | None],
) -> None:
    """Runs an operator, whose numbers Python has checked, into contiguous, writable arrays.

    Raises:
        ValueError: An argument would harm memory.
        RuntimeError: ONNX_PHILOX_ISA names kernels that do not exist or cannot run here.
    """
    _checked("run", _call(operator, inputs, attributes, outputs))


_release: Any = getattr(_library, "onnx_philox_release", None)


class Prepared:
    """What an operator draws from one state, its parameters single numbers.

    Attributes:
        handle: What `fill` takes.
    """

    def __init__(
        self, operator: str, inputs: Sequence[Input], attributes: Mapping[str, int | str]
    ) -> None:
        self.handle = ctypes.c_void_p()
        _checked("prepare", _call(operator, inputs, attributes, ()), ctypes.byref(self.handle))

    def __del__(self) -> None:
        _release(self.handle)


fill: Any = getattr(_library, "onnx_philox_fill", None)
"""Called with the handle of a `Prepared`, the 32 bytes of a state and a number of bytes, `Memory`
and None: fills so many. Any other result than 0 is a refusal. Each argument has its type in C: that
saves a third of the call."""


def isa() -> str:
    """The instruction set whose kernels run here; ONNX_PHILOX_ISA forces one.

    Raises:
        RuntimeError: ONNX_PHILOX_ISA names kernels that do not exist or cannot run here.
    """
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    name = _library.onnx_philox_isa(text, _TEXT_BYTES)
    if name is None:
        raise RuntimeError(text.value.decode())
    return str(name.decode())


def instruction_sets() -> list[str]:
    """Those that the library has and this processor runs, the best first."""
    return list(_names("isa_here"))


def why_no_card() -> str:
    """Why ONNX Runtime's operators cannot draw on an NVIDIA card here; empty if they can."""
    try:
        _checked("cuda")
    except RuntimeError as error:
        return str(error)
    except AttributeError:
        return "the native library is not here, or older"
    return ""


_torch_states: Any = getattr(_library, "onnx_philox_torch_states", None)
HAS_TORCH_STATES = _torch_states is not None
"""Whether it makes states of torch's generator."""


def torch_states(seeds: NDArray[Any], states: NDArray[Any]) -> None:
    """Writes the states of torch's generator at seeds: 632 words each, contiguous."""
    count = ctypes.c_size_t(len(seeds))
    places = ctypes.c_void_p(_place(seeds)), count, ctypes.c_void_p(_place(states))
    _torch_states(*places, None, ctypes.c_size_t(0))


def memory(root: str = "") -> tuple[int, int, int]:
    """What memory is free, addressable and held; 2^64-1 for no limit.

    Files of the system are read below `root`.
    """
    numbers = (ctypes.c_uint64 * 3)()
    _checked("memory", root.encode(), numbers)
    free, address, held = numbers
    return free, address, held


def _checked(function: str, *arguments: Any) -> None:
    """Calls a function that returns a status, and raises the error that it says."""
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    status = getattr(_library, f"onnx_philox_{function}")(*arguments, text, _TEXT_BYTES)
    if status:
        raise _ERRORS[status](text.value.decode(errors="replace"))


def _call(
    operator: str,
    inputs: Sequence[Input],
    attributes: Mapping[str, int | str],
    outputs: Sequence[NDArray[Any] | None],
) -> Any:
    """The struct, and in its memory what it points to; it lives no longer than the arrays.

    Packed at once: a `ctypes.Structure` for each part would take as long as a small draw.
    """
    sizes: list[int] = []
    small = b""
    for _, _, array in inputs:
        sizes.extend(array.shape)
        if array.nbytes <= _SMALL:
            small += array.tobytes() + bytes(-array.nbytes % 8)
    counts = len(inputs), len(attributes), len(outputs), len(sizes), len(small)
    form, inputs_at, attributes_at, outputs_at, size_at, small_at = _layout(*counts)
    block = ctypes.create_string_buffer(form.size)
    at = ctypes.addressof(block)
    parts: list[Any] = [
        *(_VERSION, _NUMBERS_ARE_CHECKED, _address(operator)),
        *(at + inputs_at, len(inputs), at + attributes_at, len(attributes)),
        *(at + outputs_at, len(outputs)),
    ]
    size_at, small_at = at + size_at, at + small_at
    for name, type_, array in inputs:
        if array.nbytes <= _SMALL:
            data = small_at
            small_at += array.nbytes + -array.nbytes % 8
        else:
            assert array.flags.c_contiguous
            data = _place(array)
        parts += (_address(name), _address(type_), size_at, array.ndim, data)
        size_at += 8 * array.ndim
    for name, value in attributes.items():
        is_text = isinstance(value, str)
        parts += (_address(name), _address(value), 0) if is_text else (_address(name), 0, value)
    for output in outputs:
        if output is None:
            parts += (0, 0)
            continue
        if not (output.flags.c_contiguous and output.flags.writeable):
            raise ValueError("onnx_philox._native: an output must be contiguous, writable memory")
        parts += (_place(output), output.nbytes)
    form.pack_into(block, 0, *parts, *sizes, small)
    return block


def _place(array: NDArray[Any]) -> int:
    """Where a contiguous array begins."""
    try:
        return ctypes.addressof(Memory.from_buffer(array))
    except (TypeError, ValueError):  # read-only, or of a type that Python's buffers do not have
        return int(array.ctypes.data)  # takes four times as long


@lru_cache
def _layout(inputs: int, attributes: int, outputs: int, sizes: int, small: int) -> tuple[Any, ...]:
    """The form of a call's memory, and where in it inputs, attributes, ... begin."""
    form, places = _CALL, []
    for part in (_INPUT * inputs, _ATTRIBUTE * attributes, _OUTPUT * outputs, "q" * sizes):
        form += "0q"  # the next begins at a multiple of 8
        places.append(struct.calcsize(form))
        form += part
    form += "0q"
    places.append(struct.calcsize(form))
    return struct.Struct(f"{form}{small}s"), *places


_texts: list[Any] = []


@cache
def _address(text: str) -> int:
    """Where a name of the contract is, for as long as the process lives."""
    _texts.append(ctypes.create_string_buffer(text.encode()))
    return ctypes.addressof(_texts[-1])
