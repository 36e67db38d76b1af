"""Draws of every distribution, to look at: what came, and what it should approach."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.pages import pictures
from onnx_philox._command.verify.examples import Example
from onnx_philox._command.verify.runners.interface import Runner
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.types import BOOL, F32, I32, U32

COUNT = 2**16
SEED = 7
_STATE = PhiloxState.from_seed(SEED)
_CLASSES = (0.1, 0.2, 0.4, 0.2, 0.1)
_P = 0.3


class Plot(NamedTuple):
    """A picture of draws."""

    title: str
    svg: str
    caption: str


def plots(runner: Runner) -> list[Plot]:
    """A plot of what a runner draws by each operator; raises what its runtime does."""
    plots = []
    for *what, picture in _PLOTS:
        drawn = _draw(runner, *what)
        plots.append(Plot(what[0], *picture(drawn)))
    return plots


def _draw(
    runner: Runner,
    title: str,
    type_: Any,
    arguments: dict[str, Any],
) -> NDArray[Any]:
    operator = OPERATORS[re.split(r"\W", title)[0]]
    shape = (1, COUNT) if operator.has_samples else (COUNT,)
    example = Example(shape, type_, operator, arguments, state=_STATE)
    outputs = runner.prepare(example)()
    return outputs[operator.outputs[0].name]


def _of_bits(words: NDArray[Any]) -> tuple[str, str]:
    each_bit = np.unpackbits(words.view(np.uint8))
    share = each_bit.mean()
    shown = words[: 4 * 48]
    return (
        pictures.bits(shown),
        f"The first {shown.size} words, a mark for each bit that is set; of all bits {share:.2%}.",
    )


def _of_uniform(values: NDArray[Any]) -> tuple[str, str]:
    picture = pictures.histogram(values, 0, 1, lambda _: 1.0)
    return picture, _mean(values, 0.5)


def _of_normal(values: NDArray[Any]) -> tuple[str, str]:
    deviation = values.astype(np.float64).std()
    caption = f"{_mean(values, 0)} Standard deviation {deviation:.4f}; exactly 1."
    picture = pictures.histogram(values, -4, 4, pictures.normal_density)
    return picture, caption


def _of_dice(values: NDArray[Any]) -> tuple[str, str]:
    names = [str(face) for face in range(1, 7)]
    exact = [1 / 6] * 6
    picture = pictures.bars(values - 1, names, exact)
    return picture, _mean(values, 3.5)


def _of_booleans(values: NDArray[Any]) -> tuple[str, str]:
    share = f"{values.mean():.4f} are true; exactly {_P:g}."
    picture = pictures.bars(values, ("false", "true"), (1 - _P, _P))
    return picture, share


def _of_classes(values: NDArray[Any]) -> tuple[str, str]:
    names = [str(i) for i in range(len(_CLASSES))]
    shares = ", ".join(f"{share:g}" for share in _CLASSES)
    picture = pictures.bars(values, names, _CLASSES)
    return picture, f"Classes of the probabilities {shares}."


def _mean(values: NDArray[Any], exact: float) -> str:
    mean = values.astype(np.float64).mean()
    return f"Mean {mean:.4f}; exactly {exact:g}."


_DRAWN = {"logits": np.log(np.array([_CLASSES], np.float32)), "sample_size": COUNT}
_PLOTS: list[tuple[str, Any, dict[str, Any], Callable[[NDArray[Any]], tuple[str, str]]]] = [
    ("RandomGenerator", U32, {}, _of_bits),
    ("RandomUniform f32 in [0, 1)", F32, {"minval": 0, "maxval": 1}, _of_uniform),
    ("RandomUniform i32 from 1 to 6", I32, {"minval": 1, "maxval": 7}, _of_dice),
    ("RandomNormal f32, mean 0, scale 1", F32, {"mean": 0, "scale": 1}, _of_normal),
    (f"RandomBernoulli, p = {_P:g}", BOOL, {"p": np.float32(_P)}, _of_booleans),
    ("RandomCategorical i32", I32, _DRAWN, _of_classes),
]
"""Titles that begin with an operator, the type of its values, its arguments, and the picture."""
