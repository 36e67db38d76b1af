"""A draw: a place in a stream, and what to make of the words there."""

from __future__ import annotations

from dataclasses import dataclass

from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.types import ElementType
from onnx_philox._numbers.bernoulli import Bernoulli
from onnx_philox._numbers.categorical import Categorical
from onnx_philox._numbers.normal import Normal
from onnx_philox._numbers.uniform import Bits, Uniform

__all__ = ["Bernoulli", "Bits", "Categorical", "Distribution", "Draw", "Normal", "Uniform"]

Distribution = Bits | Uniform | Normal | Bernoulli | Categorical


@dataclass(frozen=True)
class Draw:
    """What to fill memory with."""

    values: ElementType
    """The type of the elements."""
    state: PhiloxState
    """Where to draw: the seeds are in it."""
    distribution: Distribution

    def words(self, elements: int) -> int:
        """How many words of the generator these elements take."""
        return self.distribution.words(self.values, elements)
