"""What a runtime does wrong with the original, so that its law is not what the model says.

What `inspect` finds of the original's random nodes is read here and nowhere else. Two faults it
does not know; they are found by what the runs showed and by the nodes.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from onnx_philox._command.compare.law.runs import PairedRuns
from onnx_philox._rewriting.report import RandomNode

_UNIFORM = ("RandomUniform", "RandomUniformLike", "Bernoulli")
"""ONNX Runtime draws them by one generator."""
_MODULUS = 2**31 - 1
_NOTABLE = 0.02
"""A correlation of two seeds that is worth a sentence."""
_INVERTED = "it is inverted"
_FROZEN = (
    "OpenVINO draws noise of a static shape once, when it compiles the model, where the noise is "
    "the right side of a Subtract."
)


@dataclass(frozen=True)
class OfOriginal:
    """What is known of the original in the runtime."""

    nodes: Sequence[str] = ()
    """What the runtime does with its random operators."""
    faults: Sequence[str] = ()
    """What of that is wrong."""


def of_original(original: Path, runtime: str, runs: PairedRuns) -> OfOriginal:
    """What `inspect` finds of the original, and what the runs show of it."""
    # Loaded only where it is needed.
    from onnx_philox._command.inspect import inspect
    from onnx_philox._command.inspect.in_words import operator_of
    from onnx_philox._command.inspect.trials import Behaviour

    with suppress(OSError, TypeError, ValueError, ImportError):
        report = inspect(original)
        tried = [trials for trials in report.runtimes if trials.name == runtime]
        said: dict[str, None] = {}
        faults: dict[str, None] = {}
        draws = False
        for trials in tried:
            for found in report.found:
                trial = report.trial(trials, found)
                sentence = f"{operator_of(found.node)}: {trial.sentence}"
                said[sentence] = None
                is_still = trial.behaviour in (
                    Behaviour.REMOVED,
                    Behaviour.SAME_IN_EACH_RUN,
                    Behaviour.OTHER_IN_EACH_SESSION,
                )
                if is_still or _INVERTED in trial.sentence:
                    faults[sentence] = None
                draws |= trial.behaviour is Behaviour.OTHER_IN_EACH_RUN
            for fault in report.faults_in(trials):
                faults[fault] = None
        nodes = [found.node for found in report.found]
        if runtime == "onnxruntime":
            faults |= dict.fromkeys(multiples(nodes))
        if runtime == "openvino" and draws:
            faults |= dict.fromkeys(_frozen(runs))
        return OfOriginal([each for each in said if each not in faults], [*faults])
    return OfOriginal()


def multiples(nodes: Sequence[RandomNode]) -> Iterator[str]:
    """Pairs of ONNX Runtime's seeds whose uniforms go together, a sentence each.

    Its generator begins at the seed itself, so seed s draws s times what seed 1 draws, modulo 1:
    seeds a and b without a common factor have a correlation of 1 / (a b).
    """
    seeded = [(node, _seed(node)) for node in nodes if node.op_type in _UNIFORM]
    known = [(node, seed) for node, seed in seeded if seed is not None]
    for (one, a), (other, b) in itertools.combinations(known, 2):
        common = math.gcd(a, b)
        correlation = common * common / (a * b)
        if a != b and correlation >= _NOTABLE:
            yield (
                f"ONNX Runtime's seeds {a} of {one.called} and {b} of {other.called} are multiples "
                f"of one seed: their uniforms have a correlation of {correlation:.2g}."
            )


def _seed(node: RandomNode) -> int | None:
    """Where ONNX Runtime's generator begins; None without an explicit seed."""
    said = re.fullmatch(r"seed (\S+)", node.explicit_seed or "")
    if said is None:
        return None
    # The float32 cut to an integer of 64 bits, its low 32, modulo 2^31 - 1.
    return (int(float(said[1])) % 2**32) % _MODULUS or 1


def _frozen(runs: PairedRuns) -> Iterator[str]:
    """That noise which should be new in each run is not."""
    names = [output.name for output in runs.outputs if output.always_repeats == [True, False]]
    if names:
        yield f"{', '.join(names)}: the same in each run. {_FROZEN}"
