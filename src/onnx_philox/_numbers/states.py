"""Arrays of states: `row_states` for rows of a batch, `split_states` for children of a state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeGuard

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import checks, given_arrays
from onnx_philox._contract.operators import ONE_STATE_RULE, STATE_WORDS
from onnx_philox._contract.refusal import RefusalError, refuse, shown
from onnx_philox._contract.state import (
    PhiloxState,
    integer,
    is_one_state,
    states_array,
    words_of_seeds,
)
from onnx_philox._contract.types import U32
from onnx_philox._numbers.draw import Draw
from onnx_philox._numbers.fill_native import fastest_fill
from onnx_philox._numbers.uniform import Bits

_ROW_STATES = "row_states"

Integers = SupportsIndex | Sequence[SupportsIndex] | NDArray[np.integer[Any]]

_BOOLS = {bool, np.bool_}
_FEW = 256

# As many children as fit in a processor's cache.
_CHILDREN_AT_ONCE = 2**16


def row_states(seeds: Integers, rows: Integers = 0, run: Integers = 0) -> NDArray[np.uint32]:
    """The states of the rows of a batch, each by its own seed, row number and run.

    What a row draws depends on these three numbers alone, not on its place in a batch or on the
    other rows. The key is the seed; counter word 1 is the row, word 3 the run. Word 2 is left to
    the nodes of a model (their `op_seed`), and word 0 counts blocks: rows, runs and nodes never
    overlap as long as a row draws at most 2^34 words in a node.

    Args:
        seeds: 0 to 2^64-1, an integer or a sequence or array of them, one for each row.
        rows: The rows' numbers, not how many there are: 0 to 2^32-1, likewise. An integer is one
            row; `range(batch)` are the rows of a batch.
        run: 0 to 2^32-1, likewise.

    Returns:
        uint32 of shape [B, 6], where B is the length of the arguments, or 1. One number counts for
        all rows. For row 0 it is `PhiloxState.for_run(seed, run)`.

    Raises:
        TypeError: An argument is not made of integers.
        ValueError: A number is out of its range, the lengths differ, or there are more than memory
            can hold.

    Examples:
        A seed for each request, and rows 1000 to 1002 of a data set:

        >>> row_states([17, 4, 99])
        array([[ 0,  0,  0,  0, 17,  0],
               [ 0,  0,  0,  0,  4,  0],
               [ 0,  0,  0,  0, 99,  0]], dtype=uint32)
        >>> row_states(42, rows=range(1000, 1003))
        array([[   0, 1000,    0,    0,   42,    0],
               [   0, 1001,    0,    0,   42,    0],
               [   0, 1002,    0,    0,   42,    0]], dtype=uint32)
    """
    keys = integers_of("seeds", seeds, 64)
    row_numbers = integers_of("rows", rows, 32)
    runs = integers_of("run", run, 32)
    counts = {keys.size, row_numbers.size, runs.size} - {1} or {1}
    if len(counts) > 1:
        what = "the lengths of seeds, rows and run"
        remedy = "Pass one number for all rows, or one for each."
        given = f"{keys.size}, {row_numbers.size} and {runs.size}"
        refuse("row_states", what, given, "equal, or 1", remedy)
    (count,) = counts
    check_count(count)
    if keys.shape != (count,):
        keys = np.broadcast_to(keys, count)
    states = words_of_seeds(keys)
    # Words that stay 0 cost nothing.
    for word, numbers_of_word in ((1, row_numbers), (3, runs)):
        if np.count_nonzero(numbers_of_word):
            states[:, word] = numbers_of_word
    return states


def check_count(rows: int, words: int = STATE_WORDS, *, owner: str = _ROW_STATES) -> None:
    """Refuses more rows than memory can hold the states of, in the name of a function."""
    try:
        # Memory must hold the states, and the numbers that they are made of.
        checks.check_memory(owner, [rows, words], U32, is_copied=True)
    except RefusalError:
        allowed = "small enough for the memory that is free"
        remedy = "Take fewer rows at a time."
        refuse(owner, "the number of rows", rows, allowed, remedy)


def split_states(state: PhiloxState | NDArray[np.uint32], n: int) -> NDArray[np.uint32]:
    """The children 0 to n-1 of a state, as `PhiloxState.split` makes them.

    Args:
        state: A state, or its six words. Do not draw from it as well: its words are what the
            children are made of.
        n: How many, 0 or more.

    Returns:
        uint32 of shape [n, 6], a state for each row of a batch.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: A wrong shape, a negative number, or more than memory can hold.

    Examples:
        >>> split_states(PhiloxState(0, key=42), 2)
        array([[ 314527917, 1463989207,          0,          0, 2632642643,
                2012563771],
               [2207210094, 1951270651,          0,          0, 4242219303,
                1404726525]], dtype=uint32)
    """
    array = states_array("split_states", "state", state, is_one_state, ONE_STATE_RULE)
    parent = PhiloxState.from_array(array)
    # More would be over 2^63-1 bytes.
    n = integer("split_states", "n", n, 2**58)
    try:
        checks.check_memory("split_states", [n, STATE_WORDS], U32)
        children = np.zeros((n, STATE_WORDS), np.uint32)
    except (MemoryError, RefusalError):
        remedy = "Split it in parts: child i of state.advance(4 * k) is child i + k of the state."
        refuse("split_states", "n", n, "small enough for the memory that is free", remedy)
    # Pairs of words: the block's first half is the key, its second the counter's lower half.
    pairs = children.view(np.uint64)
    at_once = min(n, _CHILDREN_AT_ONCE)
    words = np.empty(at_once * 4, np.uint32)
    for start in range(0, n, _CHILDREN_AT_ONCE):
        part = pairs[start : start + _CHILDREN_AT_ONCE]
        drawn = words[: 4 * len(part)]
        draw = Draw(U32, parent.advance(4 * start), Bits())
        fastest_fill(draw, drawn)
        blocks = drawn.view(np.uint64).reshape(-1, 2)
        part[:, 0] = blocks[:, 1]
        part[:, 2] = blocks[:, 0]
    return children


def integers_of(
    name: str,
    given: Any,
    bits: int,
    *,
    owner: str = _ROW_STATES,
) -> NDArray[Any]:
    """Integers of so many bits, of rank 0 or 1; a function refuses others, and names the first."""
    limit = 2**bits
    if type(given) is int:
        return _one_integer(owner, name, given, limit)
    if are_few_integers(given) and min(given) >= 0 and max(given) < limit:
        return np.array(given, np.uint64)
    array = _integer_array(owner, name, given)
    if array is None:
        # NumPy would make floats of some of Python's integers.
        is_list = isinstance(given, Sequence) and not isinstance(given, str | bytes)
        is_row = isinstance(given, np.ndarray) and given.ndim == 1
        if is_list or is_row:
            numbers = []
            for i, number in enumerate(given):
                numbers.append(integer(owner, f"{name}[{i}]", number, limit))
            return np.array(numbers, np.uint64)
        is_number = isinstance(given, SupportsIndex)
        if not is_number or isinstance(given, bool | np.ndarray):
            allowed = f"an integer from 0 to 2^{bits}-1, or a list of such integers"
            remedy = "Pass ints in that range."
            refuse(owner, name, shown(given), allowed, remedy, TypeError)
        return _one_integer(owner, name, given, limit)
    if array.ndim > 1:
        allowed = "an integer, or a 1-D array of them"
        refuse(owner, name, f"shape {list(array.shape)}", allowed, "Flatten it.")
    if array.size and not _is_of_bits(array, bits):
        # The first one that is out of its range is named.
        for i, number in enumerate(array.flat):
            what = f"{name}[{i}]" if array.ndim else name
            integer(owner, what, int(number), limit)
    return array


def are_few_integers(given: Any) -> TypeGuard[Sequence[int]]:
    """Whether it is a short list of Python's integers, not an empty one.

    A service gives such seeds in each call, and NumPy takes longer to look at few of them.
    """
    if type(given) not in (list, tuple) or len(given) > _FEW:
        return False
    return set(map(type, given)) == {int}


def _is_of_bits(array: NDArray[Any], bits: int) -> bool:
    """Whether all integers of an array are from 0 to 2^bits - 1."""
    if array.dtype.kind == "i" and int(array.min()) < 0:
        return False
    # A type of no more bits holds no larger number.
    return 8 * array.itemsize <= bits or int(array.max()) < 2**bits


def _one_integer(owner: str, name: str, given: Any, limit: int) -> NDArray[Any]:
    number = integer(owner, name, given, limit)
    return np.array(number, np.uint64)


def _integer_array(owner: str, name: str, given: Any) -> NDArray[Any] | None:
    """Integers as an array of them; None for what NumPy does not take for integers."""
    if isinstance(given, PhiloxState | str | bytes):
        return None
    if isinstance(given, list | tuple) and not _BOOLS.isdisjoint(map(type, given)):
        return None  # NumPy would count with them
    if isinstance(given, range) and given:
        first = given[0]
        last = given[-1]
        check_count((last - first) // given.step + 1, owner=owner)
        if max(first.bit_length(), last.bit_length()) < 63:
            # At once, not one by one.
            return np.arange(given.start, given.stop, given.step)
    if not isinstance(given, np.ndarray):
        try:
            given = np.asarray(given)
        except ValueError:  # nested, with different lengths
            return None
    array = given_arrays.plain(owner, name, given)
    if array.dtype.kind not in "iu":
        return None
    return array
