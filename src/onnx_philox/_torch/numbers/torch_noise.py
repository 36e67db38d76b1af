"""torch's normals outside of a model: `torch_noise`, and generators of noise like torch's."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import arguments, checks, float_environment
from onnx_philox._contract.refusal import RefusalError, refuse
from onnx_philox._contract.types import BF16, BY_NAME, F16, F32, F64, ElementType
from onnx_philox._numbers.normal import Normal
from onnx_philox._numbers.sequential_normals import NO_CARD, Gpu, Noise, is_several
from onnx_philox._torch.numbers import cuda, torch_draw
from onnx_philox._torch.numbers.torch_state import TorchState, torch_seed

_TORCH_NOISE = "torch_noise"
_TYPES = {"cpu": (F32, F16, BF16, F64), "cuda": (F32, F16, BF16)}
_DEVICE = re.compile(r"(cpu|cuda)(:[0-9]+)?")


class _OnCpu:
    """A generator of device cpu."""

    def __init__(self, state: TorchState) -> None:
        self._words = state.to_array()

    def words(self) -> NDArray[np.uint32]:
        return self._words

    def normals(self, owner: str, count: int, values: ElementType) -> NDArray[Any]:  # noqa: ARG002
        drawn = np.empty(count, values.dtype)
        mean = np.zeros((), values.dtype)
        scale = np.ones((), values.dtype)
        standard = Normal(mean, scale)
        self._words = torch_draw.draw_from(self._words, values, standard, drawn)
        return drawn


class _OnCard:
    """A generator of device cuda; the card is None if it is large enough for every draw."""

    def __init__(self, seed: int, gpu: Gpu | None) -> None:
        self._seed = seed
        self._gpu = gpu
        self._offset = 0

    def words(self) -> NDArray[np.uint32]:
        state = cuda.state_of_thread(self._seed, self._offset)
        return state.to_array()

    def normals(self, owner: str, count: int, values: ElementType) -> NDArray[Any]:
        drawn, after = cuda.normal(owner, self._seed, self._offset, count, self._gpu)
        self._offset = after
        return drawn.astype(values.dtype, copy=False)


_NoiseSource = _OnCpu | _OnCard


class TorchNoise(Noise):
    """The normals of `torch.randn` with one generator, or with one for each row.

    Args:
        owner: The function that a refusal names.
        generators: One for all tensors, or one for each row.
        by_rows: Whether each is for a row.
    """

    def __init__(self, owner: str, generators: Sequence[_NoiseSource], *, by_rows: bool) -> None:
        self._owner = owner
        self._generators = generators
        self._by_rows = by_rows

    @property
    def state(self) -> NDArray[np.uint32]:
        """Where the next tensor begins: uint32 [632], or [B, 632] with a seed for each row.

        On a card it is that of thread 0: [6], or [B, 6].
        """
        words = np.array([g.words() for g in self._generators], np.uint32)
        return words if self._by_rows else words[0]

    def _draw(self, dimensions: list[int]) -> NDArray[np.float32]:
        _check_size(self._owner, dimensions, F32)
        count = len(self._generators)
        size = math.prod(dimensions) // max(count, 1)
        rows = [_drawn(self._owner, g, size, F32) for g in self._generators]
        drawn = np.array(rows, np.float32)
        return drawn.reshape(dimensions)


def noise_of(
    owner: str,
    seed: Any,
    like: Any,
    gpu: Any,
) -> Noise | None:
    """See `_numbers.sequential_normals.noise_of`; None for what is not torch's."""
    if not isinstance(like, str) or like not in ("torch", "torch_cuda"):
        return None
    is_card = like == "torch_cuda"
    card = _card(owner, gpu, f"like={like!r}", is_card=is_card)
    if not is_several(seed):
        generator = _generator(owner, "seed", seed, like, card)
        return TorchNoise(owner, [generator], by_rows=False)
    generators = []
    for i, seed_of_row in enumerate(seed):
        generator = _generator(owner, f"seed[{i}]", seed_of_row, like, card)
        generators.append(generator)
    return TorchNoise(owner, generators, by_rows=True)


def _card(
    owner: str,
    gpu: Any,
    drawn_with: str,
    *,
    is_card: bool,
) -> Gpu | None:
    """The card that a caller names; refused where none draws."""
    card = cuda.gpu_of(owner, gpu)
    if card is not None and not is_card:
        refuse(owner, "gpu", gpu, f"None with {drawn_with}", NO_CARD)
    return card


def _generator(
    owner: str,
    name: str,
    seed: Any,
    like: str,
    card: Gpu | None,
) -> _NoiseSource:
    if like == "torch" and isinstance(seed, TorchState):
        return _OnCpu(seed)
    checked = torch_seed(owner, name, seed)
    if like == "torch":
        state = TorchState.from_seed(checked)
        return _OnCpu(state)
    return _OnCard(checked, card)


def torch_noise(
    seed: int,
    shape: Sequence[int],
    *,
    device: Any = "cpu",
    dtype: Any = "f32",
    gpu: Gpu | None = None,
) -> NDArray[Any]:
    """What torch draws first: `torch.manual_seed(seed); torch.randn(shape, device=device)`.

    torch need not be installed. On the CPU these are the numbers of torch 2.13 and newer on x86-64
    processors with AVX2, bit for bit in f32, f16 and bf16, and within 2 ulp in f64. On CUDA they
    have the four decimals that cards were seen to print; we estimate at most 3e-6 between them.
    They are the same on every machine.

    Args:
        seed: 0 to 2^64-1. torch takes a negative seed for `seed + 2**64`: pass that.
        shape: The dimensions.
        device: "cpu", or "cuda" for an NVIDIA card; also "cuda:0", or a `torch.device`. All cards
            of a kind draw the same.
        dtype: The type of the values: "f32", "f16", "bf16" or, on the CPU, "f64"; also "float16",
            `np.float16`, `torch.float16` and so on.
        gpu: For "cuda", how many multiprocessors the card has, and how many threads each of them
            holds: (128, 1536) for an RTX 4090. It matters only if the tensor has more elements than
            their product; without it, the card is taken to be large enough.

    Returns:
        An array of that shape; bf16 as `ml_dtypes.bfloat16`.

    Raises:
        TypeError: An argument has a wrong type.
        ValueError: An argument is out of its range, or no card is large enough and none is named.

    Examples:
        >>> import onnx_philox as op
        >>> op.torch_noise(42, [4])
        array([0.33669037, 0.1288094 , 0.23446237, 0.23033303], dtype=float32)
        >>> op.torch_noise(42, [4], device="cuda").round(4)
        array([ 0.194 ,  2.1614, -0.1721,  0.8491], dtype=float32)
    """
    found = _DEVICE.fullmatch(str(device))
    if found is None:
        remedy = "Pass the device that torch drew on."
        refuse(_TORCH_NOISE, "device", repr(device), "'cpu' or 'cuda'", remedy)
    kind = found[1]
    values = _type_of(dtype)
    if values is None or values not in _TYPES[kind]:
        names = ", ".join(repr(t.name) for t in _TYPES[kind])
        allowed = f"one of {names} with device={kind!r}"
        remedy = "Pass one of them, or that type of NumPy's or torch's."
        refuse(_TORCH_NOISE, "dtype", repr(dtype), allowed, remedy)
    is_card = kind == "cuda"
    card = _card(_TORCH_NOISE, gpu, f"device={kind!r}", is_card=is_card)
    dimensions = arguments.shape_array(_TORCH_NOISE, shape).tolist()
    _check_size(_TORCH_NOISE, dimensions, values)
    like = "torch_cuda" if is_card else "torch"
    generator = _generator(_TORCH_NOISE, "seed", seed, like, card)
    count = math.prod(dimensions)
    drawn = _drawn(_TORCH_NOISE, generator, count, values)
    return drawn.reshape(dimensions)


def _type_of(dtype: Any) -> ElementType | None:
    """A type by our name, or by NumPy's or torch's; None if it is none of them."""
    if isinstance(dtype, np.dtype | type):
        try:
            wanted = np.dtype(dtype)
        except TypeError:
            return None
        return next((t for t in BY_NAME.values() if t.dtype == wanted), None)
    # A `torch.dtype` is known by its text: torch need not be installed.
    name = str(dtype).removeprefix("torch.")
    for type_ in BY_NAME.values():
        if name in (type_.name, type_.dtype.name):
            return type_
    return None


@float_environment.kept()
def _drawn(
    owner: str,
    generator: _NoiseSource,
    count: int,
    values: ElementType,
) -> NDArray[Any]:
    # Overflow and underflow follow IEEE 754, whatever NumPy's error settings are.
    with np.errstate(all="ignore"):
        try:
            return generator.normals(owner, count, values)
        except MemoryError:
            checks.refuse_out_of_memory(owner)


def _check_size(owner: str, dimensions: list[int], values: ElementType) -> None:
    """Refuses dimensions that are wrong, or more than memory can hold."""
    what = "input 'shape'"
    rank = len(dimensions)
    checks.check_rank(owner, what, rank)
    checks.check_dimensions(owner, what, dimensions, values)
    try:
        # Two copies: the values, and what they are copied from.
        checks.check_memory(owner, dimensions, values, is_copied=True)
    except RefusalError as error:
        # Drawing in parts would give different numbers, so the remedy differs.
        remedy = "Draw a smaller tensor."
        refuse(owner, error.what, error.given, error.allowed, remedy)
