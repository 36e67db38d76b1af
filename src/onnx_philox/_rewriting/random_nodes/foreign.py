"""Tells by their names which operators from outside ONNX are random, or may be.

Exporters leave operators of their framework in a model, even in the default domain: tf2onnx those
of TensorFlow that it cannot convert, torch its ATen fallbacks. No schema says what they do.
"""

from __future__ import annotations

import re

import onnx
import onnx_ir as ir

from onnx_philox._models.opsets import STANDARD_DOMAINS
from onnx_philox._models.surgery import KEY_MAKERS
from onnx_philox._torch_calls.table import RANDOM_NAMES

TENSORFLOW_DOMAINS = (*STANDARD_DOMAINS, "ai.onnx.converters.tensorflow")
"""Where tf2onnx leaves TensorFlow's operators."""

STATELESS = "Stateless"
"""The names of TensorFlow's operators that take a seed or a key as inputs begin with this."""

# Words that only the names of random operators contain.
_RANDOM_WORDS = frozenset(
    {
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
)
# Random operators without such a word: TensorFlow's, and com.microsoft's that draws tokens ...
_RANDOM_NAMES = frozenset(
    {
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
)
# ... and what torch's exporter makes of its functions, whose names mean other things elsewhere.
_TORCH_NAMES = RANDOM_NAMES | {"uniform_helper"}
_TORCH_DOMAIN = re.compile(r"torch|(^|[^a-z])(aten|(rng)?prims)([^a-z]|$)")
# Words that the name of a random operator may contain, and words that change their meaning.
_DROPPED = frozenset(
    {"block", "channel", "connect", "edge", "key", "layer", "node", "out", "path", "token", "word"}
)
_NOISE = frozenset({"jitter", "noise", "noisy"})
_KNOWN_NOISE = frozenset(
    {
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
)
_SAMPLES = frozenset({"sample", "sampled", "sampler", "samples", "sampling"})
_COMPUTED_SAMPLES = frozenset(
    {
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
)


def randomness(node: ir.Node, opset: int | None) -> str | None:
    """What a message says of a node that is random, or may be, and not one of ONNX.

    None for all others. Gradients only read the mask that their operator has drawn.
    """
    if has_schema(node, opset):
        return None
    name, is_of_torch = node.op_type, bool(_TORCH_DOMAIN.search(node.domain))
    operator = node.attributes.get("operator")
    if name == "ATen" and operator is not None and operator.type is ir.AttributeType.STRING:
        # What torch falls back to for a function that it cannot export.
        name, is_of_torch = operator.as_string(), True
    return randomness_of(name, is_of_torch=is_of_torch)


def randomness_of(name: str, *, is_of_torch: bool) -> str | None:
    """What a message says of an operator that is random by its name, or may be."""
    words = {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}
    if "grad" in words or name in KEY_MAKERS:
        return None
    is_torch_s = is_of_torch and name.partition(".")[0].strip("_") in _TORCH_NAMES
    if words & _RANDOM_WORDS or name in _RANDOM_NAMES or is_torch_s:
        return "random by its name"
    word = _suspicious_word(words)
    return None if word is None else f"perhaps random, as its name says {word!r}"


def has_schema(node: ir.Node, opset: int | None) -> bool:
    """Whether ONNX knows an operator, in a version of its domain."""
    domain = "" if node.domain in STANDARD_DOMAINS else node.domain
    return not has_inputs_of_tensorflow(node) and bool(
        onnx.defs.has(node.op_type, max(opset or 1, 1), domain)
    )


def has_inputs_of_tensorflow(node: ir.Node) -> bool:
    """Whether a node has the name of an operator of ONNX, but the inputs of TensorFlow's.

    TensorFlow gives a shape to RandomUniform and a sample size to Multinomial.
    """
    most = {"RandomUniform": 0, "Multinomial": 1}.get(node.op_type)
    return most is not None and len(node.inputs) > most


def _suspicious_word(words: set[str]) -> str | None:
    if "drop" in words and words & _DROPPED:
        return "drop"
    for suspicious, but_not in ((_NOISE, _KNOWN_NOISE), (_SAMPLES, _COMPUTED_SAMPLES)):
        if (found := words & suspicious) and not words & but_not:
            return min(found)
    return None
