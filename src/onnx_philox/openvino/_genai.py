"""A generator for the pipelines of OpenVINO GenAI."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cache
from typing import Any

import openvino as ov

from onnx_philox import _backends
from onnx_philox._contract.refusal import refuse
from onnx_philox._numbers.sequential_normals import Gpu, Like, Seeds, noise_of

__all__ = ["genai_generator"]

_OWNER = "openvino.genai_generator"


def genai_generator(seed: Seeds = 0, *, like: Like = "philox", gpu: Gpu | None = None) -> Any:
    """A generator that pipelines of OpenVINO GenAI take as ``generator=``.

    A tensor is what RandomNormal draws for its shape, from `PhiloxState.for_run(seed)` on; each
    draw goes on where the last one ended. A model's own nodes draw from the same numbers: give them
    another seed, or run 1 and later ones of this. Use one generator for each request, in one
    thread at a time.

    Args:
        seed: 0 to 2^64-1, for all images of a request. Or a seed for each image: row b of a tensor
            is then what ``seed[b]`` draws for an image alone, and ``next()`` draws one number for
            each image in turn. With ``like="torch"`` also a `TorchState`, or one for each image.
        like: Whose numbers: "philox" are those of RandomNormal. "torch" are those of
            `openvino_genai.TorchGenerator`, without torch; "torch_cuda" those of torch on an NVIDIA
            card, to about 3e-6. Then `seed` begins torch's generator, and no run of ours.
        gpu: For "torch_cuda", the card's multiprocessors and the threads of each, as for
            `onnx_philox.torch_noise`.

    Returns:
        An `openvino_genai.Generator`.

    Raises:
        TypeError: `seed` is no integer.
        ValueError: `seed` is out of its range or empty, or `like` or `gpu` is wrong.
        ImportError: OpenVINO GenAI is not installed.
    """
    return _generators()(seed, like, gpu)


@cache
def _generators() -> type:
    try:
        import openvino_genai
    except ImportError as error:
        name = f"onnx_philox.{_OWNER}"
        raise _backends.NotInstalledError(name, "OpenVINO GenAI", "genai") from error

    class Generator(openvino_genai.Generator):  # type: ignore[misc]
        """Normals of `RandomNormal`, or of torch's."""

        def __init__(self, seed: Seeds, like: Like, gpu: Gpu | None) -> None:
            super().__init__()
            self._like = like
            self._gpu = gpu
            self.seed(seed)

        def seed(self, new_seed: Seeds) -> None:
            """Begins again with a seed, 0 to 2^64-1, or with a seed for each row."""
            noise = noise_of(_OWNER, new_seed, self._like, self._gpu)
            if 0 in noise.state.shape:
                remedy = "Pass a seed for each image."
                refuse(_OWNER, "seed", "an empty sequence", "one seed or more", remedy)
            self._noise = noise
            self._round = deque[float]()

        def next(self) -> float:
            """The next normal, of float32; of several images, one of each in turn."""
            # GenAI fills a tensor with these, element by element, where a generator makes none.
            if not self._round:
                images = self._noise.state.shape[:-1]
                self._round.extend(self._noise.randn(*images, 1).ravel().tolist())
            return self._round.popleft()

        def randn_tensor(self, shape: Sequence[int]) -> ov.Tensor:
            """Normals of a shape, as float32."""
            self._round.clear()
            return ov.Tensor(self._noise.randn(*shape))

    return Generator
