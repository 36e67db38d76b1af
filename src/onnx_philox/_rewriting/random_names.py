"""Tells by their names which operators that have no schema are random, or may be."""

from __future__ import annotations

import re

from onnx_philox._contract.generators import registered
from onnx_philox._models.onnx_graphs import KEY_MAKERS

# Words that only the names of random operators contain.
_RANDOM_WORDS = {
    "bernoulli",
    "dirichlet",
    "dropblock",
    "dropconnect",
    "dropout",
    "droppath",
    "gumbel",
    "lognormal",
    "multinomial",
    "poisson",
    "rand",
    "randint",
    "randn",
    "random",
    "randomize",
    "randomized",
    "randperm",
    "rng",
    "stochastic",
}
# Random operators without such a word: TensorFlow's, and com.microsoft's that draws tokens.
_RANDOM_NAMES = {
    "FixedUnigramCandidateSampler",
    "FractionalAvgPool",
    "FractionalMaxPool",
    "LearnedUnigramCandidateSampler",
    "LogUniformCandidateSampler",
    "NonDeterministicInts",
    "ParameterizedTruncatedNormal",
    "SampleDistortedBoundingBox",
    "SampleDistortedBoundingBoxV2",
    "Sampling",
    "Skipgram",
    "StatefulStandardNormal",
    "StatefulStandardNormalV2",
    "StatefulTruncatedNormal",
    "StatefulUniform",
    "StatefulUniformFullInt",
    "StatefulUniformInt",
    "StatelessParameterizedTruncatedNormal",
    "StatelessSampleDistortedBoundingBox",
    "StatelessShuffle",
    "StatelessTruncatedNormal",
    "StatelessTruncatedNormalV2",
    "ThreadUnsafeUnigramCandidateSampler",
    "TruncatedNormal",
    "UniformCandidateSampler",
}
# Words that the name of a random operator may contain, and words that change their meaning.
_DROPPED = {
    "block",
    "channel",
    "connect",
    "edge",
    "key",
    "layer",
    "node",
    "out",
    "path",
    "token",
    "word",
}
_NOISE = {"jitter", "noise", "noisy"}
_KNOWN_NOISE = {
    "cancellation",
    "estimation",
    "estimator",
    "gate",
    "level",
    "prediction",
    "predictor",
    "reduction",
    "schedule",
    "scheduler",
    "suppression",
}
_SAMPLES = {"sample", "sampled", "sampler", "samples", "sampling"}
_COMPUTED_SAMPLES = {
    "anchor",
    "bilinear",
    "cubic",
    "deform",
    "deformable",
    "down",
    "farthest",
    "feature",
    "flow",
    "fps",
    "furthest",
    "grid",
    "interpolate",
    "linear",
    "nearest",
    "over",
    "point",
    "rate",
    "re",
    "roi",
    "shape",
    "sub",
    "super",
    "trilinear",
    "up",
    "warp",
}


def randomness_of(name: str, domain: str = "") -> str | None:
    """What a message says of an operator that is random by its name, or may be."""
    words = {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}
    if "grad" in words or name in KEY_MAKERS:
        return None
    is_call = any(each.names_random(domain, name) for each in registered().values())
    if words & _RANDOM_WORDS or name in _RANDOM_NAMES or is_call:
        return "random by its name"
    word = _suspicious_word(words)
    if word is None:
        return None
    return f"perhaps random, as its name says {word!r}"


def _suspicious_word(words: set[str]) -> str | None:
    if "drop" in words and words & _DROPPED:
        return "drop"
    for suspicious, but_not in (
        (_NOISE, _KNOWN_NOISE),
        (_SAMPLES, _COMPUTED_SAMPLES),
    ):
        found = words & suspicious
        if found and not words & but_not:
            return min(found)
    return None
