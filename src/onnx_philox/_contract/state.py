"""`PhiloxState`: where in which stream a draw begins."""

from __future__ import annotations

import operator
import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from onnx_philox import _philox
from onnx_philox._contract import given_arrays, memory
from onnx_philox._contract.operators import INT64_MAX, MAX_RANK, ONE_STATE_RULE, STATE_WORDS
from onnx_philox._contract.refusal import refuse, shown


class GeneratorState(Protocol):
    """A state of any generator."""

    @classmethod
    def from_array(cls, array: Any) -> Self:
        """The state of words that say one."""

    def to_array(self) -> NDArray[np.uint32]:
        """Its words."""


_new = object.__new__
_WORD = np.dtype(np.uint32)
_COUNTER_BITS = 128
_KEY_BITS = 64
_RUN_BITS = 32
RUNS = 2**_RUN_BITS
"""How many runs of a whole model there are under a key."""
# OpenVINO and TensorFlow set this many blocks aside for each element of a run.
_RUN_BLOCKS_PER_ELEMENT = 256
_BYTES_OF_A_CHILD = 168
"""What a `PhiloxState` in a list takes: itself, two large integers and the list's pointer."""


def index_of(given: Any) -> int | None:
    """An integer as an int; None for anything else, and for a bool, which is a slip for a seed."""
    try:
        if isinstance(given, bool | np.bool_):
            return None
        return operator.index(given)
    except TypeError:
        return None


def integer(
    owner: str,
    name: str,
    given: Any,
    limit: int,
) -> int:
    """Returns `given` as an int below a limit, 2^n or 2^n + 1, or says which number is wrong."""
    value = index_of(given)
    if value is None or not 0 <= value < limit:
        most = f"2^{limit.bit_length() - 1}"
        if limit.bit_count() == 1:
            most += "-1"
        allowed = f"an integer from 0 to {most}"
        remedy = "Pass an int in that range."
        if value is None:
            refuse(owner, name, shown(given), allowed, remedy, TypeError)
        refuse(owner, name, value, allowed, remedy)
    return value


def _seed(owner: str, name: str, given: Any) -> int:
    return integer(owner, name, given, INT64_MAX + 1)


@dataclass(frozen=True)
class PhiloxState:
    """A position in a Philox4x32-10 stream: a 128-bit counter and a 64-bit key.

    Frozen: drawing from it changes nothing, and `advance` returns another state. The key chooses
    the stream, the counter the block of four words at which a draw begins.

    Args:
        counter: 0 to 2^128-1.
        key: 0 to 2^64-1.

    Raises:
        TypeError: `counter` or `key` is not an integer.
        ValueError: `counter` or `key` is out of its range.

    Examples:
        >>> state = PhiloxState(counter=2**32, key=42)
        >>> state.to_array()
        array([ 0,  1,  0,  0, 42,  0], dtype=uint32)
        >>> state.advance(9)
        PhiloxState(counter=4294967299, key=42)
    """

    counter: int = 0
    key: int = 0

    def __post_init__(self) -> None:
        for name, bits in (("counter", _COUNTER_BITS), ("key", _KEY_BITS)):
            given = getattr(self, name)
            value = integer("PhiloxState", name, given, 2**bits)
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, counter: int, key: int) -> PhiloxState:
        """The state of numbers that are known to be in their ranges."""
        state = _new(cls)
        fields = state.__dict__
        fields["counter"] = counter
        fields["key"] = key
        return state

    @classmethod
    def of_words(cls, words: NDArray[np.uint32]) -> PhiloxState:
        """The state of six words that are known to be one."""
        a, b, c, d, low, high = words.tolist()
        low_half = a | b << 32
        high_half = c | d << 32
        counter = low_half | high_half << 64
        key = low | high << 32
        return cls.of(counter, key)

    @classmethod
    def from_seed(cls, seed: int) -> PhiloxState:
        """The start of the stream of a seed: counter 0, the seed (0 to 2^64-1) as the key."""
        key = integer("PhiloxState.from_seed", "seed", seed, 2**_KEY_BITS)
        return cls(0, key)

    @classmethod
    def from_entropy(cls) -> PhiloxState:
        """The start of an unpredictable stream: a key from the operating system."""
        key = os.urandom(_KEY_BITS // 8)
        return cls(0, int.from_bytes(key, "little"))

    @classmethod
    def from_seeds(cls, global_seed: int, op_seed: int) -> PhiloxState:
        """The state that draws what a node with these seeds (0 to 2^63-1) and no state draws."""
        return cls().with_seeds(global_seed, op_seed)

    @classmethod
    def for_run(cls, seed: int, run: int = 0) -> PhiloxState:
        """The state for a run of a whole model that `onnx_philox.make_reproducible` rewrote.

        Counter word 3 is the run. The lower words belong to the model, in which each node has its
        own number in word 2.

        Args:
            seed: 0 to 2^64-1, the key.
            run: 0 to 2^32-1.

        Raises:
            TypeError: An argument is no integer.
            ValueError: An argument is out of its range.

        Examples:
            >>> PhiloxState.for_run(42, run=3).to_array()
            array([ 0,  0,  0,  3, 42,  0], dtype=uint32)
        """
        return cls.from_array(run_words("PhiloxState.for_run", seed, run))

    @classmethod
    def openvino_run(
        cls,
        global_seed: int,
        op_seed: int,
        run: int = 0,
        elements: int = 0,
    ) -> PhiloxState:
        """Where run 0, 1, 2 ... of OpenVINO's own RandomUniform starts when it draws again.

        OpenVINO's CPU device, and TensorFlow's stateful ops, set 256 blocks an element aside for
        every run, whatever the run used: run `r` of `elements` elements starts at counter words
        0 and 1 = `r * elements * 256`.

        Args:
            global_seed: 0 to 2^63-1.
            op_seed: 0 to 2^63-1.
            run: How many runs came before.
            elements: How many elements each of them drew.

        Raises:
            TypeError: An argument is no integer.
            ValueError: An argument is out of its range.
        """
        owner = "PhiloxState.openvino_run"
        run = integer(owner, "run", run, 2**64)
        elements = _seed(owner, "elements", elements)
        start = cls.from_seeds(global_seed, op_seed)
        skipped = run * elements * _RUN_BLOCKS_PER_ELEMENT % 2**64
        return cls(start.counter + skipped, start.key)

    @classmethod
    def from_array(cls, array: Any) -> PhiloxState:
        """Reads the state tensor of the operators.

        Args:
            array: uint32, last dimension 6, all others 1, rank 1 to 8: the counter's four words
                and the key's two, least significant word first.

        Raises:
            TypeError: The array is not uint32.
            ValueError: The array has another shape.

        Examples:
            >>> PhiloxState.from_array(np.array([1, 0, 0, 0, 7, 0], np.uint32))
            PhiloxState(counter=1, key=7)
        """
        owner = "PhiloxState.from_array"
        array = states_array(owner, "the array", array, is_one_state, ONE_STATE_RULE)
        return cls.of_words(array.reshape(STATE_WORDS))

    def to_array(self) -> NDArray[np.uint32]:
        """The six words of the operators' state tensor, least significant word first."""
        number = self.key << _COUNTER_BITS | self.counter
        words = number.to_bytes(4 * STATE_WORDS, "little")
        return np.frombuffer(words, "<u4").astype(np.uint32)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """NumPy's protocol: a state can replace an array anywhere, also in a session's `run`.

        Args:
            dtype: None for uint32, the type of the state tensor.
            copy: As for `numpy.asarray`. A state holds no array, so every result is new.

        Raises:
            ValueError: `copy` is False.
        """
        if copy is False:
            allowed = "None or True, since a state holds no array to share"
            refuse("PhiloxState", "copy", copy, allowed, "Leave it out.")
        wanted = np.uint32 if dtype is None else dtype
        return self.to_array().astype(wanted, copy=False)

    def advance(self, words: int) -> PhiloxState:
        """The state after drawing `words` words (0 or more): the counter plus ceil(words / 4).

        Raises:
            TypeError: `words` is not an integer.
            ValueError: `words` is negative.
        """
        words = integer("PhiloxState.advance", "words", words, 2**130)
        blocks = (words + 3) // 4
        counter = (self.counter + blocks) % 2**_COUNTER_BITS
        return PhiloxState.of(counter, self.key)

    def with_seeds(self, global_seed: int, op_seed: int) -> PhiloxState:
        """The state from which a node with these seeds (0 to 2^63-1) and this state draws.

        The key plus `global_seed` (mod 2^64), the counter plus `op_seed * 2^64` (mod 2^128).
        """
        global_seed = _seed("PhiloxState.with_seeds", "global_seed", global_seed)
        op_seed = _seed("PhiloxState.with_seeds", "op_seed", op_seed)
        return PhiloxState.of(
            (self.counter + (op_seed << 64)) % 2**_COUNTER_BITS,
            (self.key + global_seed) % 2**_KEY_BITS,
        )

    def split(self, n: int) -> list[PhiloxState]:
        """The children 0 to n-1 of a state: states of streams of their own.

        Child i is made of block i of the state: words 0 and 1 are its key, words 2 and 3 the lower
        half of its counter, and the upper half is 0. torch's stateless generators split their keys
        by the same rule. Do not draw from a state that has been split: its words are what the
        children are made of. `onnx_philox.split_states` makes an array of millions of them.

        Args:
            n: How many, 0 or more.

        Raises:
            TypeError: `n` is not an integer.
            ValueError: `n` is negative, or more than memory can hold.

        Examples:
            >>> first, second = PhiloxState(0, key=42).split(2)
            >>> second
            PhiloxState(counter=8380643633896839790, key=6033254488940945703)
        """
        n = integer("PhiloxState.split", "n", n, 2**63)
        if memory.short_of(n * _BYTES_OF_A_CHILD) is not None:
            remedy = "Make an array of them with split_states(...), or one with fold_in(i)."
            refuse("PhiloxState.split", "n", n, "small enough for the memory that is free", remedy)
        return self._children(n)

    def fold_in(self, i: int) -> PhiloxState:
        """The child `i` of a state, as `split` makes it.

        Args:
            i: 0 to 2^64-1.

        Raises:
            TypeError: `i` is not an integer.
            ValueError: `i` is out of its range.

        Examples:
            >>> PhiloxState(0, key=42).fold_in(1) == PhiloxState(0, key=42).split(2)[1]
            True
        """
        i = integer("PhiloxState.fold_in", "i", i, 2**64)
        words = _philox.WORDS_PER_BLOCK * i
        (child,) = self.advance(words)._children(1)
        return child

    def _children(self, n: int) -> list[PhiloxState]:
        count = _philox.WORDS_PER_BLOCK * n
        children = []
        for chunk in _philox.word_chunks(self.counter, self.key, count):
            blocks = chunk.reshape(-1, _philox.WORDS_PER_BLOCK).tolist()
            for a, b, c, d in blocks:
                child = PhiloxState(c | d << 32, a | b << 32)
                children.append(child)
        return children


# Pickles name the public place, whatever module the class is in.
PhiloxState.__module__ = "onnx_philox"


def states_array(
    owner: str,
    what: str,
    given: Any,
    is_allowed: Callable[[tuple[int, ...]], bool],
    allowed: str,
    remedy: str = "Pass PhiloxState(...).to_array().",
) -> NDArray[np.uint32]:
    """Returns a state or states as an array, or raises an error that says what is wrong."""
    array = given_arrays.array_of(owner, what, given)
    if array.dtype != np.uint32:
        refuse(owner, what, array.dtype, "uint32", remedy, TypeError)
    if not is_allowed(array.shape):
        shape = list(array.shape)
        refuse(owner, f"{what}'s shape", shape, allowed, remedy)
    return array


def is_state_shape(shape: tuple[int | None, ...], words: int = STATE_WORDS) -> bool:
    """Whether a shape can be a state's, or that of a state for each row.

    None means a dimension not known yet.
    """
    is_rows = len(shape) == 2 and shape[1] in (words, None)
    return is_rows or is_one_state(shape, words)


def is_one_state(shape: tuple[int | None, ...], words: int = STATE_WORDS) -> bool:
    """Whether a shape can be that of one state."""
    if not 1 <= len(shape) <= MAX_RANK:
        return False
    if shape[-1] not in (words, None):
        return False
    return all(d in (1, None) for d in shape[:-1])


def rows_of_states(shape: tuple[int | None, ...]) -> int | None:
    """How many rows the states of that shape are for; None for one state, or as yet unknown."""
    if len(shape) != 2 or shape[0] == 1:
        return None
    return shape[0]


def words_of_seeds(seeds: NDArray[Any]) -> NDArray[np.uint32]:
    """The words of run 0 of each of many seeds, checked ones."""
    # The counter's two pairs of words, and the key.
    pairs = np.zeros((len(seeds), STATE_WORDS // 2), np.uint64)
    pairs[:, 2] = seeds
    return pairs.view(np.uint32)


def words_of_few_seeds(seeds: Sequence[int]) -> NDArray[np.uint32] | None:
    """The words of the states in run 0 of a short list of Python's integers, packed in one step.

    None if one of them is out of its range.
    """
    count = len(seeds)
    # An array is a buffer, which its type does not say.
    words: Any = np.empty((count, STATE_WORDS), _WORD)
    try:
        _form_of_states(count).pack_into(words, 0, *seeds)
    except struct.error:
        return None
    states: NDArray[np.uint32] = words
    return states


@lru_cache(maxsize=256)
def _form_of_states(count: int) -> struct.Struct:
    """So many states in memory: 16 bytes of a counter, which `struct` fills with 0, and a key."""
    return struct.Struct("=" + "16xQ" * count)


def run_words(owner: str, seed: int, run: int = 0) -> NDArray[np.uint32]:
    """The words of `PhiloxState.for_run`, without the object."""
    seed = integer(owner, "seed", seed, 2**_KEY_BITS)
    run = integer(owner, "run", run, RUNS)
    words = [0, 0, 0, run, seed & 0xFFFFFFFF, seed >> 32]
    return np.array(words, np.uint32)
