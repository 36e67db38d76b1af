"""`TorchState`: the whole generator of torch's CPU draws, as 632 words or as torch's own bytes."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from onnx_philox import _native
from onnx_philox._contract import given_arrays
from onnx_philox._contract.inputs import ONE_STATE_RULE, PYTORCH, STATE_WORDS
from onnx_philox._contract.refusal import refuse, shown
from onnx_philox._contract.state import integer, is_one_state, states_array
from onnx_philox._torch import torch_sentences as say
from onnx_philox._torch.numbers import mt19937

TORCH_STATE_WORDS = 632
_SHAPE_RULE = ONE_STATE_RULE.replace(f"{STATE_WORDS}]", f"{TORCH_STATE_WORDS}]")
# seed (2), left, seeded, next, 624 words, the cached normal (2), whether there is one.
_LEFT = 2
_SEEDED = 3
_NEXT = 4
_WORDS = 5
_NORMAL = 629
_IS_CACHED = 631

# torch's own record: `at::CPUGeneratorImplState`, which `get_state()` copies byte by byte.
_RECORD = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", mt19937.BLOCK),
        ("unused_x", "<f8"),
        ("normal", "<f8"),
        ("unused_rho", "<f8"),
        ("is_cached", "<i4"),
        ("gap", "<i4"),
        # A cached float32 normal, which no draw on a CPU makes.
        ("float_normal", "<f4"),
        ("is_float_cached", "<i4"),
    ]
)
TORCH_BYTES = _RECORD.itemsize
_OF_A_CPU_GENERATOR = f"the {TORCH_BYTES:,} bytes of a CPU generator's get_state()"
_CUDA_BYTES = 16

_FROM_SEED = "TorchState.from_seed"
_FROM_TORCH = "TorchState.from_torch"
_FROM_ARRAY = "TorchState.from_array"
_FROM_JSON = "TorchState.from_json"
_JSON_VERSION = 1


class TorchState:
    """The state of torch's CPU generator: where `torch.randn` and the others go on.

    It holds what a `torch.Generator` holds: the words of MT19937, how many of them are used, the
    second normal of a pair if it waits for its turn, and the seed. torch need not be installed.
    A state is immutable; draws return the next one. `from_seed`, `from_torch`, `from_array` and
    `from_json` make states.

    Examples:
        >>> state = TorchState.from_seed(42)
        >>> state
        TorchState(seed=42, left=1, next=0)
        >>> state.to_array().shape, state.to_torch().shape
        ((632,), (5056,))
        >>> TorchState.from_torch(state.to_torch()) == state
        True
    """

    __slots__ = ("_array",)
    _array: NDArray[np.uint32]

    def __init__(self) -> None:
        remedy = (
            "Call TorchState.from_seed(seed), from_torch(...), from_array(...) or from_json(...)."
        )
        refuse("TorchState", "a state", "no source", "made from a source", remedy, TypeError)

    @classmethod
    def _of(cls, array: NDArray[np.uint32]) -> TorchState:
        """The state of words that are known to be right; takes the array."""
        state = object.__new__(cls)
        array.flags.writeable = False
        object.__setattr__(state, "_array", array)
        return state

    @classmethod
    def from_seed(cls, seed: int) -> TorchState:
        """The state after `torch.manual_seed(seed)`.

        Args:
            seed: 0 to 2^64-1. torch draws by its low 32 bits alone, and so does this; the state
                keeps all of them. torch takes a negative seed for `seed + 2**64`: pass that.

        Raises:
            TypeError: `seed` is no integer.
            ValueError: `seed` is out of its range.
        """
        seed = torch_seed(_FROM_SEED, "seed", seed)
        seeds = np.array([seed], np.uint64)
        words = words_of_seeds(seeds)
        return cls._of(words[0])

    @classmethod
    def from_torch(cls, state: Any) -> TorchState:
        """The state in what `torch.Generator.get_state()` or `torch.get_rng_state()` returns.

        Args:
            state: 5,056 bytes: that tensor, a uint8 array, or `bytes`.

        Raises:
            TypeError: It is not made of bytes.
            ValueError: It is of another length, another generator's, or damaged.
        """
        data = _bytes_of(state)
        if len(data) == _CUDA_BYTES:
            given = f"{_CUDA_BYTES} bytes, the state of a CUDA generator"
            remedy = (
                "Pass torch.get_rng_state(). A CUDA generator draws by its seed and offset: "
                "torch_noise(seed, shape, device='cuda') draws its normals."
            )
            refuse(_FROM_TORCH, "the state", given, _OF_A_CPU_GENERATOR, remedy)
        if len(data) != TORCH_BYTES:
            _refuse_bytes("the state", f"{len(data)} bytes")
        record = np.frombuffer(data, _RECORD)[0]
        if record["is_float_cached"]:
            _refuse_bytes("the state's cached float32 normal", "one", "absent")
        for name in ("seeded", "is_cached"):
            if record[name] not in (0, 1):
                _refuse_bytes(f"the state's {name}", record[name], "0 or 1")
        largest = record["words"].max()
        if largest >= 2**32:
            _refuse_bytes("a word of the state", largest, "less than 2^32")
        left = int(record["left"])
        after = int(record["next"])
        # Checked before they become words of 32 bits.
        _check_place(_FROM_TORCH, left, after)
        array = np.zeros(TORCH_STATE_WORDS, np.uint32)
        array[:2] = _two_words(record["seed"], "<u8")
        array[_LEFT] = left
        array[_SEEDED] = record["seeded"]
        array[_NEXT] = after
        array[_WORDS:_NORMAL] = record["words"]
        array[_NORMAL:_IS_CACHED] = _two_words(record["normal"], "<f8")
        array[_IS_CACHED] = record["is_cached"]
        return cls._checked(_FROM_TORCH, array)

    def to_torch(self) -> NDArray[np.uint8]:
        """The 5,056 bytes of `get_state()`: `generator.set_state(torch.from_numpy(...))` goes on.

        Returns:
            uint8 of shape [5056], new.
        """
        record = np.zeros(1, _RECORD)
        array = self._array.astype("<u4")
        record["seed"] = array[:2].view("<u8")
        record["left"] = array[_LEFT]
        record["seeded"] = array[_SEEDED]
        record["next"] = array[_NEXT]
        record["words"] = array[_WORDS:_NORMAL]
        normal = np.ascontiguousarray(array[_NORMAL:_IS_CACHED])
        record["normal"] = normal.view("<f8")
        record["is_cached"] = array[_IS_CACHED]
        return record.view(np.uint8)

    @classmethod
    def from_array(cls, array: Any) -> TorchState:
        """Reads 632 words of uint32, least significant first: see `to_array`.

        Args:
            array: uint32, last dimension 632, all others 1, rank 1 to 8.

        Raises:
            TypeError: The array is not uint32.
            ValueError: The array has another shape, or its words are no state of torch's.
        """
        remedy = "Pass TorchState.from_seed(...).to_array()."
        given = given_arrays.array_of(_FROM_ARRAY, "the array", array)
        if given.shape[-1:] == (STATE_WORDS,):
            remedy = f"{STATE_WORDS} words are a PhiloxState. {remedy}"
        fits = partial(is_one_state, words=TORCH_STATE_WORDS)
        words = states_array(_FROM_ARRAY, "the array", given, fits, _SHAPE_RULE, remedy)
        array = words.reshape(-1)
        return cls._checked(_FROM_ARRAY, array.copy())

    def to_array(self) -> NDArray[np.uint32]:
        """The state as 632 words of uint32, of 64-bit numbers the least significant word first.

        Returns:
            uint32 of shape [632], new: seed (2 words), left, seeded, next, 624 words of MT19937,
            the cached normal (2 words of a float64), whether it is there.
        """
        return self._array.copy()

    @classmethod
    def from_json(cls, text: Any) -> TorchState:
        """The state that `to_json` wrote.

        Args:
            text: The JSON, or what `json.loads` makes of it.

        Raises:
            ValueError: It is not such a state.
        """
        allowed = "a state of alignment 'pytorch'"
        remedy = "Pass what state.to_json() returned."
        given = text
        if isinstance(text, str | bytes):
            try:
                given = json.loads(text)
            except ValueError as error:
                refuse(_FROM_JSON, "the text", f"no JSON ({error})", allowed, remedy)
        if not isinstance(given, dict):
            refuse(_FROM_JSON, "the text", shown(given), allowed, remedy)
        version = given.get("onnx_philox")
        alignment = given.get("alignment")
        # In Python, True and 1.0 equal 1.
        if type(version) is not int or version != _JSON_VERSION:
            refuse(_FROM_JSON, "the version", repr(version), f"{_JSON_VERSION}", remedy)
        if alignment != PYTORCH:
            refuse(_FROM_JSON, "the alignment", repr(alignment), repr(PYTORCH), remedy)
        words = given.get("state")
        is_right = (
            isinstance(words, list)
            and len(words) == TORCH_STATE_WORDS
            and all(type(w) is int and 0 <= w < 2**32 for w in words)
        )
        if not is_right:
            allowed = f"{TORCH_STATE_WORDS} words of 32 bits"
            refuse(_FROM_JSON, "the state", shown(words), allowed, remedy)
        array = np.array(words, np.uint32)
        return cls._checked(_FROM_JSON, array)

    def to_json(self) -> str:
        """The state as JSON, for a checkpoint: any machine can go on from it.

        Returns:
            One object, with the 632 words under "state", as in a checkpoint of `Pipeline`.
        """
        content = {
            "onnx_philox": _JSON_VERSION,
            "alignment": PYTORCH,
            "state": self._array.tolist(),
        }
        return json.dumps(content)

    @property
    def seed(self) -> int:
        """The seed, as `torch.Generator.initial_seed()` returns it."""
        low = int(self._array[0])
        high = int(self._array[1])
        return low | high << 32

    @property
    def normal(self) -> float | None:
        """The second normal of a pair, if the next draw of single normals begins with it."""
        if not self._array[_IS_CACHED]:
            return None
        return _normal_of(self._array)

    @classmethod
    def _checked(cls, owner: str, array: NDArray[np.uint32]) -> TorchState:
        """The state of words; takes the array."""
        check_states(owner, array)
        return cls._of(array)

    def __repr__(self) -> str:
        cached = ""
        if self.normal is not None:
            cached = f", normal={self.normal!r}"
        left = self._array[_LEFT]
        after = self._array[_NEXT]
        return f"TorchState(seed={self.seed}, left={left}, next={after}{cached})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TorchState):
            return NotImplemented
        return bool(np.array_equal(self._array, other._array))

    def __hash__(self) -> int:
        return hash(self._array.tobytes())

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a TorchState is immutable: {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a TorchState is immutable: {name!r} cannot be deleted")

    def __copy__(self) -> TorchState:
        return self

    def __deepcopy__(self, memo: Any) -> TorchState:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchState.from_array, (self.to_array(),)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """NumPy's protocol: a state can replace its array of 632 words anywhere.

        Args:
            dtype: None for uint32, the type of the words.
            copy: As for `numpy.asarray`; False is refused, since the words are not to be written.

        Raises:
            ValueError: `copy` is False.
        """
        if copy is False:
            allowed = "None or True, since a state is immutable"
            refuse("TorchState", "copy", copy, allowed, "Leave it out.")
        wanted = np.uint32 if dtype is None else dtype
        words = self.to_array()
        return words.astype(wanted, copy=False)


# Pickles name the public place, whatever module the class is in.
TorchState.__module__ = "onnx_philox"


def torch_seed(owner: str, name: str, given: Any) -> int:
    """A seed of torch's as an int, or an error that names the wrong number.

    Raises:
        TypeError: It is no integer.
        ValueError: It is not from 0 to 2^64-1.
    """
    is_negative = isinstance(given, int | np.integer) and -(2**63) <= given < 0
    if is_negative:
        remedy = f"torch takes it for {int(given) + 2**64}: pass that."
        refuse(owner, name, given, "an integer from 0 to 2^64-1", remedy)
    return integer(owner, name, given, 2**64)


def words_of_seeds(seeds: NDArray[Any]) -> NDArray[np.uint32]:
    """The words of the state of each of many seeds, checked ones."""
    words = np.empty((len(seeds), TORCH_STATE_WORDS), np.uint32)
    if _native.HAS_TORCH_STATES:
        contiguous = np.ascontiguousarray(seeds, np.uint64)
        _native.torch_states(contiguous, words)
    else:
        for row, seed in zip(words, seeds.tolist(), strict=True):
            row[:] = _seeded(seed)
    return words


def _seeded(seed: int) -> NDArray[np.uint32]:
    array = np.zeros(TORCH_STATE_WORDS, np.uint32)
    low_seed = seed & 0xFFFFFFFF
    array[0] = low_seed
    array[1] = seed >> 32
    array[[_LEFT, _SEEDED]] = 1
    array[_WORDS:_NORMAL] = mt19937.seeded(low_seed)
    return array


def engine_of(state: TorchState) -> mt19937.MersenneTwister:
    """An engine that draws the words from a state on."""
    array = state.to_array()
    is_spent = array[_LEFT] == 1
    used = mt19937.BLOCK if is_spent else int(array[_NEXT])
    return mt19937.MersenneTwister(array[_WORDS:_NORMAL], used)


def state_after(
    state: TorchState,
    engine: mt19937.MersenneTwister | None,
    normal: float | None,
) -> TorchState:
    """The state with the words of an engine that has drawn, if one has, and a cached normal."""
    array = state.to_array()
    if engine is not None:
        words, used = engine.state()
        array[_WORDS:_NORMAL] = words
        array[_LEFT] = mt19937.BLOCK + 1 - used
        array[_NEXT] = used
    if normal != state.normal:
        is_cached = normal is not None
        array[_NORMAL:_IS_CACHED] = 0
        if is_cached:
            array[_NORMAL:_IS_CACHED] = _two_words(np.float64(normal), "<f8")
        array[_IS_CACHED] = is_cached
    return TorchState.from_array(array)


def _two_words(number: Any, dtype: str) -> NDArray[np.uint32]:
    """The words of a number of 64 bits in a record, the least significant first."""
    wide = number.reshape(1).astype(dtype)
    words: NDArray[np.uint32] = wide.view("<u4")
    return words


def _normal_of(words: NDArray[np.uint32]) -> float:
    """The cached normal in the words of a state."""
    low, high = words[_NORMAL:_IS_CACHED].tolist()
    bits = np.uint64(low | high << 32)
    return float(bits.view(np.float64))


def _bytes_of(state: Any) -> bytes:
    """What torch's tensor of bytes, an array of them, or bytes hold."""
    if isinstance(state, bytes | bytearray | memoryview):
        return bytes(state)
    array = given_arrays.array_of(_FROM_TORCH, "the state", state)
    if array.dtype != np.uint8:
        remedy = "Pass generator.get_state(), or its bytes."
        refuse(_FROM_TORCH, "the state", array.dtype, "uint8", remedy, TypeError)
    return array.tobytes()


def _refuse_bytes(what: str, given: Any, allowed: str = _OF_A_CPU_GENERATOR) -> NoReturn:
    remedy = "Pass generator.get_state() of a torch.Generator of device cpu."
    refuse(_FROM_TORCH, what, given, allowed, remedy)


def check_states(owner: str, words: NDArray[np.uint32]) -> None:
    """Refuses words, one state or one for each row, that no generator of torch's holds.

    Raises:
        ValueError: A place in the block that it does not reach, for instance: torch would read
            beyond its words.
    """
    states = words.reshape(-1, TORCH_STATE_WORDS)
    for row, state in enumerate(states):
        place = ""
        if len(states) > 1:
            place = f" in row {row}"
        left = int(state[_LEFT])
        after = int(state[_NEXT])
        _check_place(owner, left, after, place)
        seeded = state[_SEEDED]
        if seeded != 1:
            _refuse_damaged(owner, "seeded", f"{seeded}{place}", say.ONE)
        is_cached = state[_IS_CACHED]
        if is_cached > 1:
            _refuse_damaged(owner, "is_cached", f"{is_cached}{place}", say.ZERO_OR_ONE)
        normal = _normal_of(state)
        if is_cached and not np.isfinite(normal):
            _refuse_damaged(owner, "cached normal", f"{normal}{place}", say.FINITE)


def _refuse_damaged(
    owner: str,
    name: str,
    given: Any,
    allowed: str,
) -> NoReturn:
    part = say.STATE_PART.format(name)
    refuse(owner, part, given, allowed, say.TAKE_STATE_AGAIN)


def _check_place(
    owner: str,
    left: int,
    after: int,
    place: str = "",
) -> None:
    """Refuses places in the block that no generator reaches; torch would read beyond its words."""
    if not 0 <= after <= mt19937.BLOCK:
        _refuse_damaged(owner, "next", f"{after}{place}", say.NEXT_WORD)
    # With one word left, the block is spent: the next draw makes a new one.
    if left != 1 and left + after != mt19937.BLOCK + 1:
        allowed = say.WORDS_LEFT.format(after)
        _refuse_damaged(owner, "left", f"{left}{place}", allowed)
