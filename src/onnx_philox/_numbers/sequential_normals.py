"""Normals, one tensor after another, for what draws outside of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, NoReturn, cast, get_args

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import arguments, checks, choices, generators
from onnx_philox._contract.operators import RANDOM_NORMAL
from onnx_philox._contract.refusal import refuse, refusing_as, shown
from onnx_philox._contract.state import GeneratorState, PhiloxState
from onnx_philox._contract.types import F32
from onnx_philox._numbers.generate import generate
from onnx_philox._numbers.states import Integers, row_states

Like = Literal["philox", "torch", "torch_cuda"]
"""Whose numbers: ours, those of torch's CPU generator, or those of torch on an NVIDIA card."""

Seeds = Integers | GeneratorState | Sequence[GeneratorState]

Gpu = tuple[int, int]
"""A card's multiprocessors, and the threads that each of them holds at once."""

NO_CARD = "Leave it out: only a card's numbers depend on the card."


def is_several(seed: Any) -> bool:
    """Whether it is a seed for each row, in a sequence or an array, and not one number."""
    if isinstance(seed, np.ndarray):
        return seed.ndim > 0
    return isinstance(seed, Sequence) and not isinstance(seed, str | bytes)


class Noise(ABC):
    """Draws normals of mean 0 and scale 1, each tensor where the last one ended."""

    @property
    @abstractmethod
    def state(self) -> NDArray[np.uint32]:
        """Where the next tensor begins: uint32 of rank 1, or of rank 2 with a row for each seed."""

    @property
    def device(self) -> NoReturn:
        """None: what draws for torch asks for it first, and is told what to pass.

        Raises:
            AttributeError: Always.
        """
        raise AttributeError(
            "the generator must be one of torch's for a pipeline of torch: got one of onnx_philox, "
            "which has no device. Pass the noise itself: "
            "latents=torch.from_numpy(onnx_philox.diffusers.latents(seeds, shape))."
        )

    @classmethod
    def __torch_function__(cls, func: Any, *_: Any) -> NoReturn:
        """What torch calls for its function that was given this generator.

        Raises:
            TypeError: Always. torch's own lists its signatures, and not what to pass.
        """
        given = "one of onnx_philox"
        allowed = "one of torch's"
        remedy = (
            "Pass nothing, and take normals from it: torch.from_numpy(generator.randn(*shape))."
        )
        name = f"torch's {getattr(func, '__name__', func)}"
        refuse(name, "the generator", given, allowed, remedy, TypeError)

    def randn(self, *shape: int) -> NDArray[np.float32]:
        """Normals of mean 0 and scale 1, from the state on.

        Args:
            shape: The dimensions; with a seed for each row, the first is the number of seeds.

        Returns:
            float32 of that shape.

        Raises:
            ValueError: The shape has another number of rows than there are seeds.
        """
        dimensions = arguments.shape_array(RANDOM_NORMAL, shape).tolist()
        state = self.state
        if state.ndim > 1 and dimensions[:1] != [len(state)]:
            allowed = f"one whose first dimension is {len(state)}, a row for each seed"
            remedy = "Pass as many seeds as images."
            refuse("a generator with a seed for each row", "the shape", dimensions, allowed, remedy)
        return self._draw(dimensions)

    def for_each(self, shape: Sequence[int]) -> NDArray[np.float32]:
        """Normals of a generator with a seed for each row: a tensor of this shape for each row.

        Raises:
            TypeError: The shape is no sequence of integers.
        """
        dimensions = arguments.shape_array(RANDOM_NORMAL, shape).tolist()
        return self.randn(len(self.state), *dimensions)

    @abstractmethod
    def _draw(self, dimensions: list[int]) -> NDArray[np.float32]:
        """The next tensor; advances the state."""


class PhiloxNoise(Noise):
    """The normals of `RandomNormal`.

    Args:
        owner: The function that a refusal names.
        seed: 0 to 2^64-1, for all rows of a tensor; or a sequence of seeds, one for each row.

    Raises:
        TypeError: A seed is no integer.
        ValueError: A seed is out of its range.
    """

    def __init__(self, owner: str, seed: Integers) -> None:
        self._owner = owner
        with refusing_as(owner):
            if is_several(seed):
                self._state = row_states(seed)
            else:
                self._state = PhiloxState.for_run(seed).to_array()  # type: ignore[arg-type]

    @property
    def state(self) -> NDArray[np.uint32]:
        """Where the next tensor begins: uint32 [6], or [B, 6] with a seed for each row."""
        return self._state

    def _draw(self, dimensions: list[int]) -> NDArray[np.float32]:
        checks.check_dimensions(self._owner, "input 'shape'", dimensions, F32)
        values = np.empty(dimensions, np.float32)
        after = generate(self._state, out=values, mean=0.0, scale=1.0)
        words = np.asarray(after, np.uint32)
        self._state = words.reshape(self._state.shape)
        return values


def noise_of(
    owner: str,
    seed: Any,
    like: Any,
    gpu: Any,
) -> Noise:
    """What draws like `like`, from a seed on or from a seed for each row.

    Raises:
        TypeError: A seed is no integer.
        ValueError: A seed is out of its range, or `like` or `gpu` is wrong.
    """
    if isinstance(like, str) and like == "philox":
        if gpu is not None:
            refuse(owner, "gpu", shown(gpu), "None with like='philox'", NO_CARD)
        return PhiloxNoise(owner, seed)
    for generator in generators.registered().values():
        noise = generator.noise(owner, seed, like, gpu)
        if noise:
            return cast("Noise", noise)
    allowed = "'philox', 'torch' or 'torch_cuda'"
    choices.check_choice(owner, "like", like, get_args(Like), "Pass one of them.", allowed)
    # Each generator that is installed has answered.
    part = generators.missing()[0]
    raise part.not_installed(f"{owner}: like {like!r}")
