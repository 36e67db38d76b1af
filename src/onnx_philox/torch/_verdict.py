"""What `verify_export` says."""

from __future__ import annotations

from dataclasses import dataclass

from onnx_philox._contract.inputs import PYTORCH

ULPS = 2
"""How far numbers of f64 may be from torch's, in units in the last place, and count as close."""


@dataclass(frozen=True)
class Ran:
    """What a runtime drew and computed, beside torch.

    Attributes:
        runtime: Its name and version.
        equal: How many draws, from the first one on, are torch's; of a model that draws Philox
            numbers, how many are those of `onnx_philox.reference`.
        close: How many of these are f64 numbers that differ by at most 2 units in the last place.
        problem: The first thing that differs, in words; None if nothing does.
    """

    runtime: str
    equal: int
    close: int
    problem: str | None


@dataclass(frozen=True)
class Verdict:
    """Whether a model draws and computes what its module does in torch.

    Attributes:
        seed: What both drew from; the seed of the first row, with a state for each row.
        draws: How many calls of the module drew, in torch; of a model that draws Philox numbers,
            how many draws it made.
        runtimes: What each runtime drew.
        notes: What else may make a difference, or could not be compared.
        alignment: Whose numbers the model draws: "pytorch", or "tensorflow" for Philox.
    """

    seed: int
    draws: int
    runtimes: tuple[Ran, ...]
    notes: tuple[str, ...]
    alignment: str = PYTORCH

    @property
    def is_ok(self) -> bool:
        """Whether all draws are right in every runtime, and the outputs within the tolerances.

        A runtime that does not load the model, or has no kernel for what the module computes, is
        not counted; a note names it.
        """
        return bool(self.runtimes) and all(ran.problem is None for ran in self.runtimes)

    def __str__(self) -> str:
        """The verdict in words."""
        whose = "torch's" if self.alignment == PYTORCH else "the reference's"
        lines = []
        for ran in self.runtimes:
            close = f" ({ran.close} in f64 within {ULPS} ulp)" if ran.close else ""
            what = f"{_equal(ran.equal, self.draws)} {whose}{close}"
            if self.draws == 0:
                same = "its outputs equal torch's" if ran.problem is None else ran.problem
            elif ran.problem is None:
                same = f"{what}, outputs too"
            else:
                same = f"{what}. {ran.problem}"
            lines.append(f"{ran.runtime}: {same}")
        word = "Equal" if self.is_ok else "Different" if self.runtimes else "Not compared"
        if self.is_ok and self.draws == 0:
            word = "Nothing was drawn"
        return "\n".join((f"{word}, seed {self.seed}.", *lines, *self.notes))


def _equal(equal: int, draws: int) -> str:
    """How many draws of a model are equal, up to "torch's"."""
    if draws == 1:
        return "its draw equals" if equal else "its draw does not equal"
    if equal == draws:
        return f"all of {draws} draws equal"
    if equal == 0:
        return f"none of {draws} draws equals"
    if equal == 1:
        return f"only the first of {draws} draws equals"
    return f"only the first {equal} of {draws} draws equal"
