"""Noise for diffusion pipelines that draw outside of their models, such as those of diffusers.

Needs NumPy only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onnx_philox._numbers.noise import Noise
from onnx_philox._numbers.states import Integers

__all__ = ["generator", "latents"]


def generator(seed: Integers) -> Noise:
    """A generator that the ONNX pipelines of diffusers take as ``generator=``.

    Each tensor goes on where the last one ended. A model's own nodes draw from the same numbers:
    give them another seed, or run 1 and later ones of this. Use one generator for each call of a
    pipeline.

    Args:
        seed: 0 to 2^64-1, for all rows of a batch. Or one for each row: row b is then what
            ``seed[b]`` draws alone, in a batch of one.

    Raises:
        TypeError: A seed is no integer.
        ValueError: A seed is out of its range.

    Example:
        >>> import onnx_philox as op
        >>> together = op.diffusers.generator([7, 42, 99]).randn(3, 4, 8, 8)
        >>> alone = op.diffusers.generator(42).randn(1, 4, 8, 8)
        >>> bool((together[1] == alone[0]).all())
        True
    """
    return Noise(seed)


def latents(seeds: Integers, shape: Sequence[int]) -> NDArray[np.float32]:
    """The first noise of images, for pipelines that take it as ``latents=``.

    Args:
        seeds: A seed for each image, 0 to 2^64-1.
        shape: Of the noise of one image, (4, 64, 64) for instance.

    Returns:
        float32 of shape [B, *shape]: row b is what ``seeds[b]`` draws alone. (For a pipeline of
        torch: `torch.from_numpy`.)

    Raises:
        TypeError: A seed is no integer.
        ValueError: A seed or a dimension is out of its range.

    Example:
        >>> import onnx_philox as op
        >>> op.diffusers.latents([7, 42], (4, 64, 64)).shape
        (2, 4, 64, 64)
    """
    noise = Noise(seeds if isinstance(seeds, Sequence | np.ndarray) else [seeds])
    return noise.randn(len(noise.state), *shape)
