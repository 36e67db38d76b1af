"""What torch draws on an NVIDIA card: Philox4x32-10, each thread of the card from its own counter.

Words are exact, and so are the uniforms and integers that torch makes of them. Normals are within
about 3e-6, by estimate: no document gives the card's own sine and cosine to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import _philox
from onnx_philox._contract import checks
from onnx_philox._contract.operators import STATE_WORDS
from onnx_philox._contract.refusal import RefusalError, refuse
from onnx_philox._contract.state import PhiloxState, integer
from onnx_philox._contract.types import U32
from onnx_philox._numbers.fused import multiply_add_f32
from onnx_philox._numbers.sequential_normals import Gpu
from onnx_philox._torch.numbers.torch_elementary import ln_f64, sin_cos_f64
from onnx_philox._torch.numbers.torch_state import torch_seed

_THREADS_OF_A_BLOCK = 256
# A thread draws a block of four words a turn, and its offset counts words.
_OFFSET_STEP = 4
_LARGEST_WAVE = 160 * 2048
"""No card known in 2026 holds more threads at once."""
_MOST_ELEMENTS = 2**29
"""torch cuts larger tensors of float32 into several draws."""

_UNIT = np.float32(2.0**-32)
# Exact in float32.
_TURN = np.float32(2.0**-32) * np.float32(6.2831855)

_STATES = "torch_cuda_states"


def torch_cuda_states(seed: int, offset: int, n: int) -> NDArray[np.uint32]:
    """The states of the threads 0 to n-1 of torch's generator on an NVIDIA card.

    Draw words from them with `RandomGenerator`, a row for each thread, and you have those of torch:
    `(word * 2**-32 + 2**-33)` in float32 is what `torch.rand(n, device="cuda")` draws, but for 1,
    which torch turns into 0, and `word % 10` what `torch.randint(10, (n,), device="cuda")` draws.
    Both hold as long as the card has at least n threads.

    Args:
        seed: That of `torch.cuda.manual_seed`, 0 to 2^64-1.
        offset: The generator's offset, a multiple of 4: 0 after seeding, and 4 more after each such
            draw.
        n: How many threads, which is how many elements are drawn, 0 or more.

    Returns:
        uint32 of shape [n, 6].

    Raises:
        TypeError: An argument is no integer.
        ValueError: An argument is out of its range, or `n` is more than memory can hold.

    Examples:
        >>> import onnx_philox as op
        >>> states = op.torch_cuda_states(seed=42, offset=0, n=4)
        >>> words, _ = op.reference.random_generator(states, [4, 1])
        >>> (words.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)).reshape(4)
        array([0.61295986, 0.01005884, 0.3984137 , 0.0403084 ], dtype=float32)
    """
    seed = torch_seed(_STATES, "seed", seed)
    offset = integer(_STATES, "offset", offset, 2**64)
    if offset % _OFFSET_STEP:
        allowed = f"a multiple of {_OFFSET_STEP}, as torch keeps it"
        refuse(_STATES, "offset", offset, allowed, "Pass 0, or what the generator's state says.")
    # More would be over 2^63-1 bytes.
    n = integer(_STATES, "n", n, 2**58)
    try:
        checks.check_memory(_STATES, [n, STATE_WORDS], U32, is_copied=True)
        states = np.empty((n, STATE_WORDS), np.uint32)
    except (MemoryError, RefusalError):
        remedy = "Draw fewer elements at a time."
        refuse(_STATES, "n", n, "small enough for the memory that is free", remedy)
    turn = offset // _OFFSET_STEP
    threads = np.arange(n, dtype=np.uint64)
    states[:, 0] = turn & 0xFFFFFFFF
    states[:, 1] = turn >> 32
    states[:, 2] = threads.astype(np.uint32)
    states[:, 3] = threads >> np.uint64(32)
    states[:, 4] = seed & 0xFFFFFFFF
    states[:, 5] = seed >> 32
    return states


def state_of_thread(seed: int, offset: int) -> PhiloxState:
    """Where thread 0 of the card draws next."""
    return PhiloxState(offset // _OFFSET_STEP, seed)


def normal(
    owner: str,
    seed: int,
    offset: int,
    count: int,
    gpu: Gpu | None,
) -> tuple[NDArray[np.float32], int]:
    """`torch.randn` on a card: the normals, and the offset after them.

    Args:
        owner: The function that a refusal names.
        seed: 0 to 2^64-1.
        offset: A multiple of 4.
        count: How many normals.
        gpu: The card; None for one that holds a thread for each normal.

    Raises:
        ValueError: No card holds so many threads and none is named, or torch would cut the draw.
    """
    if count >= _MOST_ELEMENTS:
        allowed = "less than 2^29, since torch cuts larger ones into several draws"
        refuse(owner, "the number of elements", count, allowed, "Draw it in parts.")
    if count == 0:
        return np.empty(0, np.float32), offset
    blocks = -(-count // _THREADS_OF_A_BLOCK)
    threads = blocks * _THREADS_OF_A_BLOCK
    if gpu is not None:
        threads = min(threads, wave(gpu))
    elif count > _LARGEST_WAVE:
        allowed = f"the card's, for more than the {_LARGEST_WAVE:,} threads that any card holds"
        remedy = (
            "Pass gpu=(multiprocessors, threads of each): torch.cuda.get_device_properties(0) "
            "has them as multi_processor_count and max_threads_per_multi_processor."
        )
        given = f"None for {count:,} elements"
        refuse(owner, "gpu", given, allowed, remedy)
    elements_of_turn = 4 * threads
    turns = -(-count // elements_of_turn)
    result = np.empty(count, np.float32)
    with np.errstate(all="ignore"):
        for turn in range(turns):
            start = turn * elements_of_turn
            part = result[start : start + elements_of_turn]
            _fill(part, seed, offset // _OFFSET_STEP + turn, threads)
    return result, offset + turns * _OFFSET_STEP


def wave(gpu: Gpu) -> int:
    """How many threads a card holds at once; a larger draw takes its threads in turns."""
    multiprocessors, threads = gpu
    blocks = threads // _THREADS_OF_A_BLOCK
    return multiprocessors * blocks * _THREADS_OF_A_BLOCK


def gpu_of(owner: str, given: object) -> Gpu | None:
    """A card's numbers, checked.

    Raises:
        TypeError: They are no two integers.
        ValueError: One of them is out of its range.
    """
    if given is None:
        return None
    if not isinstance(given, tuple | list) or len(given) != 2:
        allowed = "None, or two integers: a card's multiprocessors, and the threads of each"
        remedy = "Pass (82, 1536) for an RTX 3090, for instance."
        refuse(owner, "gpu", repr(given), allowed, remedy, TypeError)
    multiprocessors = _number_of(owner, "multiprocessors", given[0], 1)
    threads = _number_of(owner, "threads", given[1], _THREADS_OF_A_BLOCK)
    return multiprocessors, threads


def _number_of(
    owner: str,
    name: str,
    given: Any,
    least: int,
) -> int:
    """One of a card's two numbers, checked."""
    what = f"gpu's {name}"
    number = integer(owner, what, given, 2**16)
    if number < least:
        refuse(owner, what, number, f"from {least} to 2^16-1", "Pass the card's own number.")
    return number


def _fill(
    result: NDArray[np.float32],
    seed: int,
    turn: int,
    threads: int,
) -> None:
    """What all threads draw in a turn: four normals each, whose places are `threads` apart."""
    drawn_by = min(threads, len(result))
    thread = np.arange(drawn_by, dtype=np.uint64)
    counters = np.full(drawn_by, turn, np.uint64)
    keys = np.full(drawn_by, seed, np.uint64)
    start = 0
    for words in _philox.row_chunks(counters, thread, keys, 4):
        end = start + len(words)
        for i in (0, 2):
            if len(result) <= i * threads + start:
                continue
            one, other = _box_muller(words[:, i], words[:, i + 1])
            for place, values in ((i, one), (i + 1, other)):
                first = place * threads
                of_place = result[first : first + threads]
                row = of_place[start:end]
                row[:] = values[: len(row)]
        start = end


def _box_muller(
    first: NDArray[np.uint32],
    second: NDArray[np.uint32],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Two normals of two words, by sine and by cosine."""
    u = first.astype(np.float32) * _UNIT + _UNIT / np.float32(2)
    turns = second.astype(np.float32)
    angle = multiply_add_f32(turns, _TURN, _TURN / np.float32(2))
    # The card's own functions are not known to the bit; these are rounded from exact ones.
    wide_logarithm = ln_f64(u.astype(np.float64))
    logarithm = wide_logarithm.astype(np.float32)
    wide_sine, wide_cosine = sin_cos_f64(angle.astype(np.float64))
    sine = wide_sine.astype(np.float32)
    cosine = wide_cosine.astype(np.float32)
    radius = np.sqrt(logarithm * np.float32(-2))
    # Adding 0 makes -0 a 0, as torch's mean does.
    zero = np.float32(0)
    by_sine = radius * sine + zero
    by_cosine = radius * cosine + zero
    return by_sine, by_cosine
