"""Inputs that may be noise: named so, of floats, and drawn outside by whatever runs the model.

A name proves nothing. So a report says "may be", and how to have such an input drawn inside.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from onnx_philox._command import refusals
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._contract.shown import dims
from onnx_philox._rewriting.drawn_inputs import DrawnInput

Dimensions = Sequence[int | str | None]

_LAW = "normal"

# Each means noise, wherever it stands in a name.
_NOISE = {"noise", "noises", "rnd", "rand", "randn", "random"}
# What makes a number, a mask or an estimate of it: `noise_scale`, `noise_level`, `noise_pred`.
_OF_NUMBERS = """
    amount amp amplitude aug augmentation class coef cov covariance dim enabled estimate factor flag
    floor gain gate id ids idx index key label len length lengths level levels log logvar mask mean
    mu offset power pred predicted prediction profile psd rate ratio reduction scale scales schedule
    seed shape sigma sigmas size snr spectrum state std stddev step steps strength suppression
    temperature threshold timestep timesteps type var variance w weight weights width
"""
_ABOUT_NOISE = set(_OF_NUMBERS.split())
# Latents are noise, or what an encoder made: then the name often says of what.
_LATENT = {"latent", "latents"}
_OF_ENCODERS = """
    audio cond condition conditioning context control encoded encoder gpt image images masked past
    prev previous prompt ref reference speaker spk style text video
"""
_ABOUT_LATENTS = _ABOUT_NOISE | set(_OF_ENCODERS.split())
# Whole names, beside words that say nothing.
_WHOLE = {"eps", "epsilon", "z", "zin"}
# Of samplers that hold all their steps: a small t in such a name is any step, a large one the last.
# But torch's exporter writes names of inputs in small letters.
_STARTS = {"x_T", "xT", "X_T", "z_T", "zT", "start_code"}
_SAY_NOTHING = {"args", "default", "in", "init", "initial", "input", "inputs", "serving", "vector"}
# What a sampler's loop feeds back: noise in its first step alone.
_OF_A_STEP = {"sample", "noisy", "noised", "xt", "zt"}
_AT_A_TIME = (["x", "t"], ["z", "t"])
# What a recurrent model carries from one time to the next, beside its own x_t.
_OF_RECURRENCE = {"c", "cache", "h", "hidden", "prev", "state", "states"}
# The latents of diffusion transformers, beside a time, and the input of models of a noise level.
_OF_TRANSFORMERS = ["hidden", "states"]
_LEVELS = {"sigma", "sigmas"}
# Of an image, a sequence: a density of numbers has less.
_LEAST_RANK = 3
_TIME = {"sigma", "sigmas", "step", "t", "time", "timestep", "timesteps"}


@dataclass(frozen=True)
class ModelInput:
    """An input of a model, which a run must be given."""

    name: str
    type: str
    """As messages write it."""
    is_float: bool
    shape: Dimensions | None
    """Its dimensions: a size, a name, or neither; None where its rank is unknown."""
    is_read: bool = True
    """Whether anything in the model reads it."""

    @property
    def words(self) -> list[str]:
        """The words of its name, without numbers: `latentNoise_1` has latent and noise."""
        return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", self.name)]

    @property
    def is_of_many(self) -> bool:
        """Whether it may have several elements."""
        if self.shape is None:
            return True
        return any(size != 1 for size in self.shape)

    @property
    def is_image(self) -> bool:
        """Whether it has three channels, first or last."""
        return (
            self.shape is not None and len(self.shape) == 4 and 3 in (self.shape[1], self.shape[3])
        )

    @property
    def shown(self) -> str:
        """Its name, type and shape."""
        if self.shape is None:
            return f"{self.name!r} ({self.type})"
        return f"{self.name!r} ({self.type}{dims(self.shape)})"


@dataclass(frozen=True)
class NoiseInputs:
    """Inputs of a model that may be noise."""

    drawable: Sequence[ModelInput]
    """The inputs that a rewrite can draw."""
    others: Mapping[str, str]
    """Why it cannot draw the others, by their names."""
    is_step: bool
    """Whether the model may be one step of a sampler, which feeds it back."""

    def lines(self) -> list[str]:
        """What to say of them, before the command."""
        if not (self.drawable or self.others):
            return []
        names = [*(each.shown for each in self.drawable), *map(repr, self.others)]
        inputs = "Its input" if len(names) == 1 else "Its inputs"
        said = [
            f"{inputs} {', '.join(names)} may be noise, drawn by whatever runs the model. There "
            "onnx_philox.torch_noise draws the numbers of torch.randn, and onnx_philox.reference "
            "those of a rewritten model, the same everywhere."
        ]
        if self.is_step:
            said.append(
                "Where a sampler calls the model in steps, only its first step reads noise: then "
                "draw it there."
            )
        said += self.others.values()
        if self.drawable:
            said.append(
                f"Or let the rewritten model draw it, from a seed: {' '.join(self.options)} "
                "(uniform, or normal(mean, scale), where that is its law)."
            )
        return said

    @property
    def options(self) -> list[str]:
        """The options of `rewrite` that draw them, quoted for a shell."""
        laws = (shlex.quote(f"{each.name}={_LAW}") for each in self.drawable)
        return [f"{refusals.DRAW} {law}" for law in laws]

    def command(self, model: Path, target: str) -> str:
        """The command line that draws them inside; empty where none can be drawn."""
        if not self.drawable:
            return ""
        files = f"{shlex.quote(str(model))} -o {shlex.quote(target)}"
        return f"onnx-philox rewrite {files} {' '.join(self.options)}"

    def to_json(self) -> list[dict[str, str | None]]:
        """Returns what a document says of them."""
        said: list[dict[str, str | None]] = [
            {"name": each.name, "draw": f"{each.name}={_LAW}", "problem": None}
            for each in self.drawable
        ]
        for name, problem in self.others.items():
            said.append({"name": name, "draw": None, "problem": problem})
        return said


NONE = NoiseInputs((), {}, False)
"""The noise inputs of a model that has none."""


def find(inputs: Sequence[ModelInput], try_to_draw: Callable[[DrawnInput], object]) -> NoiseInputs:
    """The inputs that may be noise, and which of them a rewrite can draw.

    `try_to_draw` raises where it cannot draw one in the place of an input.
    """
    drawable = []
    others = {}
    found = [each for each in inputs if each.is_read and _may_be_noise(each, inputs)]
    for each in found:
        try:
            try_to_draw(DrawnInput.read(each.name, _LAW))
        except RefusalError as error:
            others[each.name] = _why_not(each, error)
        else:
            drawable.append(each)
    is_step = any(_may_be_of_a_step(each, inputs) for each in found)
    return NoiseInputs(drawable, others, is_step)


def _why_not(given: ModelInput, error: RefusalError) -> str:
    """Why a rewrite does not draw an input; the user has asked for nothing yet."""
    if given.shape is None:
        example = shlex.quote(f"{given.name}={_LAW}[1, 16]")
        option = f"{refusals.DRAW} {example}"
        return (
            f"The model does not say how many dimensions {given.name!r} has: a rewrite draws it "
            f"with its shape behind the word, such as {option}."
        )
    if error.what == "draw":
        must = f"{refusals.DRAW} must be {error.allowed}"
        return f"A rewrite does not draw {given.name!r} as it is: {must}. {error.remedy}"
    return refusals.text(error)


def _may_be_of_a_step(noise: ModelInput, inputs: Sequence[ModelInput]) -> bool:
    others = [each for each in inputs if each is not noise]
    return bool(_OF_A_STEP.intersection(noise.words)) or _has_time(others)


def _may_be_noise(given: ModelInput, inputs: Sequence[ModelInput]) -> bool:
    if not (given.is_float and given.is_of_many):
        return False
    words = given.words
    if given.name in _STARTS:
        return True
    if _NOISE.intersection(words):
        return not _ABOUT_NOISE.intersection(words)
    if _LATENT.intersection(words):
        return not _ABOUT_LATENTS.intersection(words)
    telling = [word for word in words if word not in _SAY_NOTHING]
    if len(telling) == 1 and telling[0] in _WHOLE:
        return telling[0] != "z" or not _is_beside_an_x(given, inputs)
    if telling == ["sample"]:
        # Of an encoder of images it is the only input, and an image.
        return len(inputs) > 1
    others = [each for each in inputs if each is not given]
    rank = 0 if given.shape is None else len(given.shape)
    if telling == ["x"]:
        return rank >= _LEAST_RANK and _has(others, _LEVELS)
    if telling in _AT_A_TIME and rank >= _LEAST_RANK and not _has(others, _OF_RECURRENCE):
        # Without a time the model holds all steps, of which this is the first.
        return True
    is_of_a_step = bool(_OF_A_STEP.intersection(telling))
    is_of_a_step = is_of_a_step or telling in (*_AT_A_TIME, _OF_TRANSFORMERS)
    return is_of_a_step and _has_time(others)


def _is_beside_an_x(given: ModelInput, inputs: Sequence[ModelInput]) -> bool:
    """Whether z is no noise: a coordinate beside x and y, or what a tracker looks for in x."""
    beside = {tuple(each.words): each for each in inputs}
    if ("x",) not in beside:
        return False
    return ("y",) in beside or (given.is_image and beside["x",].is_image)


def _has_time(inputs: Sequence[ModelInput]) -> bool:
    """Whether an input says when in a diffusion or a flow the model is."""
    return _has(inputs, _TIME)


def _has(inputs: Sequence[ModelInput], words: Collection[str]) -> bool:
    """Whether the name of an input is one of these words, or ends in one behind others."""
    return any(each.words and each.words[-1] in words for each in inputs)
