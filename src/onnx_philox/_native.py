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
from typing import Any, NamedTuple

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
_CALL = "@IIPPNPNPN"
_INPUT = "PPPNP"
_ATTRIBUTE = "PPq"
_OUTPUT = "PN"
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


OPERATORS = frozenset[str]()
if IS_THERE:
    OPERATORS = frozenset(_names("operator"))
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
    call = _call(operator, inputs, attributes, outputs)
    _checked("run", call)


_release: Any = getattr(_library, "onnx_philox_release", None)


class Prepared:
    """What an operator draws from one state, its parameters single numbers.

    Attributes:
        handle: What `fill` takes.
    """

    def __init__(
        self,
        operator: str,
        inputs: Sequence[Input],
        attributes: Mapping[str, int | str],
    ) -> None:
        self.handle = ctypes.c_void_p()
        call = _call(operator, inputs, attributes, ())
        _checked("prepare", call, ctypes.byref(self.handle))

    def __del__(self) -> None:
        _release(self.handle)


class Call:
    """A call of an operator, packed once: each time, only its arrays and its state are put in.

    The core checks the numbers of such a call, and that no output lies in memory of an input.

    Args:
        operator: The operator.
        inputs: Its inputs but for the state.
        attributes: Its attributes.
        outputs: Its outputs but for the next state, arrays of the types and sizes of those to
            come; None for one that nobody wants.
        replaced: The places among `inputs` of those that each call brings itself, of the same
            types and shapes. The others are copied.
        brought: For each of these, and then for each output that is wanted, its index in the
            `given` of `run`.
    """

    def __init__(
        self,
        operator: str,
        inputs: Sequence[Input],
        attributes: Mapping[str, int | str],
        outputs: Sequence[NDArray[Any] | None],
        replaced: Sequence[int],
        brought: Sequence[int],
    ) -> None:
        parts = []
        for place, (name, type_, array) in enumerate(inputs):
            data = 0 if place in replaced else array.tobytes()
            parts.append(_PackedInput(name, type_, array.shape, data))
        words = _STATE_BYTES // 4
        parts.append(_PackedInput("state", "u32", (words,), bytes(_STATE_BYTES)))
        sizes = [0 if output is None else output.nbytes for output in outputs]
        memory = [(0, size) for size in (*sizes, _STATE_BYTES)]
        self._parts = (operator, parts, dict(attributes), memory)
        layout = _layout_of(parts, attributes, memory)
        # Where the addresses go that each call writes.
        size_of_input = struct.calcsize(_INPUT)
        size_of_output = struct.calcsize(_OUTPUT)
        first = layout.inputs + size_of_input - struct.calcsize("P")
        places = [first + place * size_of_input for place in replaced]
        for place, output in enumerate(outputs):
            if output is not None:
                places.append(layout.outputs + place * size_of_output)
        self._addresses = list(zip(places, brought, strict=True))
        self._after = layout.outputs + len(outputs) * size_of_output
        self._state = layout.form.size - _STATE_BYTES
        # Blocks that no call uses now: threads take them and give them back, each in one step.
        self._free: list[Any] = []

    def run(self, counter: int, key: int, given: Sequence[Any]) -> int | None:
        """Draws from a state.

        Args:
            counter: The state's counter.
            key: The state's key.
            given: What the call brings, `brought` of it: contiguous arrays, and the outputs
                writable.

        Returns:
            The next counter; None if the core refused, and nothing was drawn.
        """
        try:
            block = self._free.pop()
        except IndexError:
            block = self._block()
        for place, which in self._addresses:
            _POINTER.pack_into(block, place, _place(given[which]))
        # To assign a slice of the block takes a microsecond.
        _STATE.pack_into(block, self._state, counter.to_bytes(_COUNTER_BYTES, "little"), key)
        status = _run_packed(block, None, _NO_ERROR_TEXT)
        after, _ = _STATE.unpack_from(block, self._state)
        self._free.append(block)
        return None if status else int.from_bytes(after, "little")

    def _block(self) -> Any:
        block = _packed(*self._parts, flags=0)
        # The next state takes the place of the state.
        state = ctypes.addressof(block) + self._state
        _POINTER.pack_into(block, self._after, state)
        return block


_POINTER = struct.Struct("P")
_COUNTER_BYTES = 16
_STATE = struct.Struct(f"<{_COUNTER_BYTES}sQ")
_STATE_BYTES = _STATE.size
# A function of its own without argument types: ctypes converts nothing, so each argument must have
# its type in C already.
_run_packed: Any = None if _library is None else _library["onnx_philox_run"]
_NO_ERROR_TEXT = ctypes.c_size_t(0)

PART = struct.Struct("<16sQQ")
"""A counter of 16 bytes, a key and a number of bytes to fill."""

fill: Any = getattr(_library, "onnx_philox_fill", None)
"""Called with the handle of a `Prepared`, a packed `PART`, `Memory` and None: fills so many bytes.
Any other result than 0 is a refusal. Each argument has its type in C: that saves a third of the
call."""


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
    """The instruction sets that the library has and this processor runs, the best first."""
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
    places = (
        ctypes.c_void_p(_place(seeds)),
        count,
        ctypes.c_void_p(_place(states)),
    )
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
    call = getattr(_library, f"onnx_philox_{function}")
    status = call(*arguments, text, _TEXT_BYTES)
    if status:
        said = text.value.decode(errors="replace")
        raise _ERRORS[status](said)


class _PackedInput(NamedTuple):
    """An input of a call: its contents, which are copied, or where they are."""

    name: str
    type: str
    shape: tuple[int, ...]
    data: bytes | int


def _call(
    operator: str,
    inputs: Sequence[Input],
    attributes: Mapping[str, int | str],
    outputs: Sequence[NDArray[Any] | None],
) -> Any:
    """The struct, and in its memory what it points to; it lives no longer than the arrays."""
    parts = []
    for name, type_, array in inputs:
        if array.nbytes <= _SMALL:
            data: int | bytes = array.tobytes()
        else:
            assert array.flags.c_contiguous
            data = _place(array)
        parts.append(_PackedInput(name, type_, array.shape, data))
    memory = []
    for output in outputs:
        if output is None:
            memory.append((0, 0))
            continue
        if not (output.flags.c_contiguous and output.flags.writeable):
            raise ValueError("onnx_philox._native: an output must be contiguous, writable memory")
        place = _place(output)
        memory.append((place, output.nbytes))
    return _packed(operator, parts, attributes, memory, flags=_NUMBERS_ARE_CHECKED)


def _packed(
    operator: str,
    inputs: Sequence[_PackedInput],
    attributes: Mapping[str, int | str],
    outputs: Sequence[tuple[int, int]],
    *,
    flags: int,
) -> Any:
    """The struct of a call; each output is where it is, and its bytes.

    Packed at once: a `ctypes.Structure` for each part would take as long as a small draw.
    """
    layout = _layout_of(inputs, attributes, outputs)
    block = ctypes.create_string_buffer(layout.form.size)
    at = ctypes.addressof(block)
    parts: list[Any] = [_VERSION, flags, _address(operator)]
    parts += (at + layout.inputs, len(inputs))
    parts += (at + layout.attributes, len(attributes))
    parts += (at + layout.outputs, len(outputs))
    sizes: list[int] = []
    small = b""
    for name, type_, shape, data in inputs:
        size_at = at + layout.sizes + 8 * len(sizes)
        if isinstance(data, bytes):
            place = at + layout.small + len(small)
            small += data + bytes(-len(data) % 8)
        else:
            place = data
        sizes += shape
        parts += (_address(name), _address(type_), size_at, len(shape), place)
    for name, value in attributes.items():
        if isinstance(value, str):
            parts += (_address(name), _address(value), 0)
        else:
            parts += (_address(name), 0, value)
    for output in outputs:
        parts += output
    layout.form.pack_into(block, 0, *parts, *sizes, small)
    return block


_address_of = ctypes.addressof
_memory_of = Memory.from_buffer


def _place(array: NDArray[Any]) -> int:
    """Where a contiguous array begins."""
    try:
        return _address_of(_memory_of(array))
    except (TypeError, ValueError):  # read-only, or of a type that Python's buffers do not have
        return int(array.ctypes.data)  # takes four times as long


class _Layout(NamedTuple):
    """The form of a call's memory, and where in it its parts begin."""

    form: struct.Struct
    inputs: int
    attributes: int
    outputs: int
    sizes: int
    small: int
    """Copies of arrays of few bytes, up to the end."""


def _layout_of(
    inputs: Sequence[_PackedInput],
    attributes: Mapping[str, int | str],
    outputs: Sequence[tuple[int, int]],
) -> _Layout:
    sizes = sum(len(given.shape) for given in inputs)
    copied = [len(given.data) for given in inputs if isinstance(given.data, bytes)]
    small = sum(count + -count % 8 for count in copied)
    return _layout(len(inputs), len(attributes), len(outputs), sizes, small)


@lru_cache
def _layout(
    inputs: int,
    attributes: int,
    outputs: int,
    sizes: int,
    small: int,
) -> _Layout:
    """How a call with so many parts lies in memory."""
    form = _CALL
    places = []
    structs = (
        _INPUT * inputs,
        _ATTRIBUTE * attributes,
        _OUTPUT * outputs,
        "q" * sizes,
    )
    for part in structs:
        # The next begins at a multiple of 8.
        form += "0q"
        places.append(struct.calcsize(form))
        form += part
    form += "0q"
    places.append(struct.calcsize(form))
    whole = struct.Struct(f"{form}{small}s")
    return _Layout(whole, *places)


_texts: list[Any] = []


@cache
def _address(text: str) -> int:
    """Where a name of the contract is, for as long as the process lives."""
    memory = ctypes.create_string_buffer(text.encode())
    _texts.append(memory)
    return ctypes.addressof(memory)
