"""What a runtime does wrong with the original, so that its law is not what the model says.

`inspect` finds it: by trying each random node, and by its table of known behaviours.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from onnx_philox._contract.operators import DOMAIN
from onnx_philox._rewriting.look import AnyLook


@dataclass(frozen=True)
class OfOriginal:
    """What is known of the original in the runtime."""

    nodes: Sequence[str] = ()
    """What the runtime does with its random operators."""
    faults: Sequence[str] = ()
    """What of that is wrong."""


def of_original(original: AnyLook, runtime: str) -> OfOriginal:
    """What `inspect` finds of the original; nothing where it cannot be read."""
    # Loaded only where it is needed.
    from onnx_philox._command.inspect import inspect_model
    from onnx_philox._command.inspect.in_words import operator_of
    from onnx_philox._command.inspect.trials import Behaviour

    still = (Behaviour.SAME_IN_EACH_RUN, Behaviour.OTHER_IN_EACH_SESSION)
    said: list[str] = []
    faults: list[str] = []
    with suppress(OSError, TypeError, ValueError, ImportError):
        report = inspect_model(original)
        for trials in report.runtimes:
            if trials.name != runtime:
                continue
            for found in report.found:
                if found.node.domain == DOMAIN:
                    # Our own, which `inspect` tries without its library.
                    continue
                operator = operator_of(found.node)
                today = found.today(trials)
                for sentence in today.sentences:
                    is_wrong = sentence.is_wrong
                    if sentence.text == today.trial.sentence:
                        is_wrong = is_wrong or today.trial.behaviour in still
                    place = faults if is_wrong else said
                    place.append(f"{operator}: {sentence.text}")
            faults += report.faults_in(trials)
    return OfOriginal(list(dict.fromkeys(said)), list(dict.fromkeys(faults)))
