"""What `verify_export` says."""

from __future__ import annotations

from dataclasses import dataclass

from onnx_philox._contract.inputs import PYTORCH


@dataclass(frozen=True)
class Ran:
    """What a runtime drew and computed, beside torch.

    Attributes:
        runtime: Its name and version.
        problem: The first thing that differs, in words; None if nothing does.
    """

    runtime: str
    problem: str | None


@dataclass(frozen=True)
class Verdict:
    """Whether a model draws and computes what its module does in torch.

    Attributes:
        seed: What both drew from; the seed of the first row, with a state for each row.
        draws: How many nodes of the model draw.
        runtimes: What each runtime drew.
        notes: What else may make a difference, or could not be compared.
        alignment: Whose numbers the model draws: "pytorch", or "tensorflow" for Philox.
        compares_outputs: Whether the outputs were compared; a note says why not.
    """

    seed: int
    draws: int
    runtimes: tuple[Ran, ...]
    notes: tuple[str, ...]
    alignment: str = PYTORCH
    compares_outputs: bool = True

    @property
    def is_ok(self) -> bool:
        """Whether all draws are right in every runtime, and the outputs within the tolerances.

        Without the outputs, where they could not be compared: see `compares_outputs`.
        A runtime that does not load the model, or has no kernel for what the module computes, is
        not counted; a note names it.
        """
        return bool(self.runtimes) and all(ran.problem is None for ran in self.runtimes)

    def __str__(self) -> str:
        """The verdict in words."""
        same = "its outputs equal torch's"
        if not self.compares_outputs:
            same = "its draws in the main graph equal the reference's; no more was compared"
        elif self.draws and self.alignment == PYTORCH:
            same += ", and so does the state after it"
        elif self.draws:
            same += ", of draws that equal the reference's"
        lines = [f"{ran.runtime}: {ran.problem or same}" for ran in self.runtimes]
        if not self.runtimes:
            word = "Not compared"
        elif not self.is_ok:
            word = "Different"
        elif self.draws == 0:
            word = "Nothing was drawn"
        elif self.compares_outputs:
            word = "Equal"
        else:
            word = "Not wholly compared"
        first = f"{word}, seed {self.seed}."
        return "\n".join((first, *lines, *self.notes))
