"""Noise for diffusion pipelines that draw outside of their models, such as those of diffusers.

Needs NumPy only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._numbers.sequential_normals import Gpu, Like, Noise, Seeds, is_several, noise_of

__all__ = ["generator", "latents"]


def generator(seed: Seeds, *, like: Like = "philox", gpu: Gpu | None = None) -> Noise:
    """A generator that the ONNX pipelines of diffusers take as ``generator=``.

    Each tensor goes on where the last one ended. A model's own nodes draw from the same numbers:
    give them another seed, or run 1 and later ones of this. Use one generator for each call of a
    pipeline.

    Args:
        seed: 0 to 2^64-1, for all rows of a batch. Or one for each row: row b is then what
            ``seed[b]`` draws alone, in a batch of one. With ``like="torch"`` also a `TorchState`,
            or one for each row.
        like: Whose numbers: "philox" are those of `RandomNormal`, and the ones to choose unless you
            have an image to match. "torch" are those of ``torch.Generator().manual_seed(seed)``,
            "torch_cuda" those of ``torch.Generator("cuda").manual_seed(seed)``, to about 3e-6.
        gpu: For "torch_cuda", the card's multiprocessors and the threads of each, as for
            `onnx_philox.torch_noise`.

    Raises:
        TypeError: A seed is no integer.
        ValueError: A seed is out of its range, or `like` or `gpu` is wrong.

    Examples:
        >>> import onnx_philox as op
        >>> together = op.diffusers.generator([7, 42, 99]).randn(3, 4, 8, 8)
        >>> alone = op.diffusers.generator(42).randn(1, 4, 8, 8)
        >>> bool((together[1] == alone[0]).all())
        True

        What ``torch.randn(3, generator=torch.Generator().manual_seed(42))`` draws, and where that
        generator is then:

        >>> as_torch = op.diffusers.generator(42, like="torch")
        >>> as_torch.randn(3)
        array([0.33669037, 0.1288094 , 0.23446237], dtype=float32)
        >>> op.TorchState.from_array(as_torch.state)
        TorchState(seed=42, left=617, next=8, normal=0.2303330279146119)
    """
    return noise_of("diffusers.generator", seed, like, gpu)


def latents(
    seeds: Seeds,
    shape: Sequence[int],
    *,
    like: Like = "philox",
    gpu: Gpu | None = None,
) -> NDArray[np.float32]:
    """The first noise of images, for pipelines that take it as ``latents=``.

    Args:
        seeds: A seed for each image, 0 to 2^64-1.
        shape: Of the noise of one image, (4, 64, 64) for instance.
        like: Whose numbers, as for `generator`. With "torch" an image's noise is that of a pipeline
            whose ``generator`` is a list of torch's generators, one for each image.
        gpu: As for `generator`.

    Returns:
        float32 of shape [B, *shape]: row b is what ``seeds[b]`` draws alone. (For a pipeline of
        torch: `torch.from_numpy`.)

    Raises:
        TypeError: A seed is no integer.
        ValueError: A seed or a dimension is out of its range, or `like` or `gpu` is wrong.

    Example:
        >>> import onnx_philox as op
        >>> op.diffusers.latents([7, 42], (4, 64, 64)).shape
        (2, 4, 64, 64)
    """
    for_each: Any = seeds if is_several(seeds) else [seeds]
    return noise_of("diffusers.latents", for_each, like, gpu).for_each(shape)
