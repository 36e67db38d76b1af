"""What says that a model may not draw what its author meant, or not the same in every runtime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# How far from 1 the sum of constant probabilities may be, which were rounded to 16 bits.
_NEAR = 1e-2


@dataclass(frozen=True)
class Doubt:
    """What is to be said of a random node beside what it becomes."""

    text: str
    remedy: str = ""
    """What to do, a sentence; empty where the text says it."""
    is_warned: bool = True
    """Whether a rewrite warns of it; otherwise it is a line of the report."""

    def __str__(self) -> str:
        return f"{self.text}. {self.remedy}".removesuffix(". ")


def words_read(readers: str) -> Doubt:
    """The doubt of 32 random bits, given what reads them."""
    return Doubt(
        "OpenVINO's uint32 holds 31 bits, so its CPU device computes another result of these 32 "
        f"random bits in {readers}, or does not load the model",
        "Run the model in ONNX Runtime.",
    )


def wide_words(cast: str) -> Doubt:
    """The doubt of 32 random bits in an integer of 64, given the Cast that makes it."""
    return Doubt(
        "OpenVINO's CPU device computes uint64 in 32 bits, so it gives another number from 2^31 on "
        f"in {cast}",
        "Run the model in ONNX Runtime.",
    )


def wide_integers(cast: str, dtype: str) -> Doubt:
    """The doubt of a uniform number that stays a float, given the Cast to an integer."""
    return Doubt(
        f"OpenVINO's CPU device makes one number of all beyond 2^31 in {cast} to {dtype.lower()}, "
        "which holds 31 bits there",
        "Scale by 2^32 and cast to uint32, or run the model in ONNX Runtime.",
    )


PROBABILITIES = Doubt(
    "it takes log-probabilities and reads what looks like probabilities, of which it draws likely "
    "classes too rarely",
    "If they are probabilities, export the model with a Log before it, or with the logits that a "
    "Softmax made them of.",
)
"""Of a Multinomial."""

LOGARITHMS = Doubt(
    "it takes probabilities and reads logarithms",
    "Convert the model with log_probs, or without the logarithm.",
)
"""Of OpenVINO's Multinomial without `log_probs`."""

ONE_NUMBER = Doubt(
    "it draws one number, of shape [], for all elements of a larger tensor",
    "If each was meant to have its own, an exporter has lost the shape (Paddle's rand(shape(x))): "
    "export the model with a shape that it keeps, or with RandomUniformLike or RandomNormalLike.",
    is_warned=False,
)
"""Of a number that is broadcast."""


def sum_to_one(numbers: NDArray[Any]) -> bool:
    """Whether each row of several constant numbers sums to 1, and none is negative."""
    if numbers.ndim == 0 or numbers.shape[-1] < 2:
        return False
    wide = numbers.astype(np.float64)
    sums = wide.sum(axis=-1)
    are_near = abs(sums - 1) <= _NEAR
    is_positive = wide >= 0
    return bool(is_positive.all() and are_near.all())
