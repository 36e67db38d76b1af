"""What a runtime does with a random node today, in at most three sentences, the worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onnx_philox._command.inspect import search
from onnx_philox._command.inspect.known.row import Said
from onnx_philox._command.inspect.trials import FAILURES, Behaviour, Trial, Trials
from onnx_philox._rewriting.survey import Unrewritten
from onnx_philox.rewriting import RandomNode

_MOST = 3


@dataclass(frozen=True)
class Sentence:
    """Something to say of a node in a runtime."""

    text: str
    is_wrong: bool
    """Whether the runtime does not draw what the model asks for."""
    about: str
    """The row that it is of, or what a trial showed: equal where nodes differ in details alone."""


@dataclass(frozen=True)
class Today:
    """What a runtime did with a node, and what it is known to do with such nodes."""

    trial: Trial
    known: Sequence[Said]
    op_type: str
    """The operator of the node."""

    @property
    def is_wrong(self) -> bool:
        """Whether the runtime does not draw what the model asks for."""
        return self._is_undrawn or any(said.known.is_wrong for said in self.known)

    @property
    def label(self) -> str:
        """What it does in a few words, and what is wrong with that."""
        does = self.trial.behaviour.value
        wrong = next((said.known.label for said in self.known if said.known.is_wrong), "")
        return f"{does}, {wrong}" if wrong else does

    @property
    def sentences(self) -> list[Sentence]:
        """All that is to be said, the worst first."""
        said_better = {said.known.instead_of for said in self.known}
        known = [said for said in self.known if said.known.name not in said_better]
        of_rows = [Sentence(s.text, s.known.is_wrong, s.known.name) for s in known]
        wrong = [each for each in of_rows if each.is_wrong]
        others = [each for each in of_rows if not each.is_wrong]
        own = [Sentence(self.trial.sentence, self._is_undrawn, self._shown)]
        if any(said.known.is_whole for said in self.known):
            own = []
        if self._is_undrawn:
            return [*own, *wrong, *others][:_MOST]
        return [*wrong[: _MOST - 1], *own, *others][:_MOST]

    def to_json(self) -> dict[str, Any]:
        """Returns what a document says of it."""
        return {
            "does": self.trial.behaviour.value,
            "reason": self.trial.reason,
            "known": [said.to_json() for said in self.known],
        }

    @property
    def _shown(self) -> str:
        """What the trial showed, whatever the operator is called."""
        return self.trial.sentence.replace(self.op_type, "")

    @property
    def _is_undrawn(self) -> bool:
        return self.trial.behaviour in (*FAILURES, Behaviour.REMOVED)


@dataclass(frozen=True)
class InspectedNode:
    """A random node, what it would become, and what it does today."""

    node: RandomNode
    probe: str
    """The key of its probe."""
    may_stay: bool
    """Whether --keep-unknown leaves it as it is, where it cannot be rewritten."""
    problem: str | None
    """Why it cannot be rewritten, as the command says it; None where it can."""
    row_problem: str | None
    """Why it cannot draw each row of the batch from a state of its own; None where it can."""
    seeds: str | None
    """What becomes of its own seeds; None where it has none."""
    known: Mapping[str, tuple[Said, ...]] = field(hash=False)
    """What each runtime is known to do with it, by the runtime's name."""

    @classmethod
    def of(
        cls,
        each: Unrewritten[Any],
        probe: str,
        seeds: str | None,
        known: Mapping[str, tuple[Said, ...]],
    ) -> InspectedNode:
        """A node that a survey found, with what is known of its behaviour."""
        why, of_rows = map(search.problem, (each.error, each.row_problem))
        return cls(each.record, probe, each.may_stay, why, of_rows, seeds, known)

    def today(self, runtime: Trials) -> Today:
        """What a runtime does with it."""
        known = self.known.get(runtime.name, ())
        return Today(runtime.trials[self.probe], known, self.node.op_type)
