"""A generator for the pipelines of OpenVINO GenAI."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import openvino as ov

from onnx_philox import _backends
from onnx_philox._numbers.noise import Noise
from onnx_philox._numbers.states import Integers

__all__ = ["genai_generator"]

_NAME = "onnx_philox.openvino.genai_generator"


def genai_generator(seed: Integers = 0) -> Any:
    """A generator that pipelines of OpenVINO GenAI take as ``generator=``.

    A tensor is what RandomNormal draws for its shape, from `PhiloxState.for_run(seed)` on; each
    draw goes on where the last one ended. A model's own nodes draw from the same numbers: give them
    another seed, or run 1 and later ones of this. Use one generator for each request, in one
    thread at a time.

    Args:
        seed: 0 to 2^64-1, for all images of a request. Or a seed for each image: row b of a tensor
            is then what ``seed[b]`` draws for an image alone.

    Returns:
        An `openvino_genai.Generator`.

    Raises:
        TypeError: `seed` is no integer.
        ValueError: `seed` is out of its range.
        ImportError: OpenVINO GenAI is not installed.
    """
    return _generators()(seed)


@cache
def _generators() -> type:
    try:
        import openvino_genai
    except ImportError as error:
        raise _backends.NotInstalledError(_NAME, "OpenVINO GenAI", "genai") from error

    class Generator(openvino_genai.Generator):  # type: ignore[misc]
        """Normals of `RandomNormal`."""

        def __init__(self, seed: Integers) -> None:
            super().__init__()
            self.seed(seed)

        def seed(self, new_seed: Integers) -> None:
            """Begins at run 0 of a seed, 0 to 2^64-1, or of a seed for each row."""
            self._noise = Noise(new_seed)

        def next(self) -> float:
            """One normal, of float32."""
            return float(self._noise.randn(1)[0])

        def randn_tensor(self, shape: Sequence[int]) -> ov.Tensor:
            """Normals of a shape, as float32."""
            return ov.Tensor(self._noise.randn(*shape))

    return Generator
