"""What `onnx-philox compare --original` says: what differs, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from onnx_philox._command import terminal
from onnx_philox._command.compare.law.changes import changes
from onnx_philox._command.compare.law.clock import Times
from onnx_philox._command.compare.law.faults_of_original import OfOriginal
from onnx_philox._command.compare.law.first_runs import Values
from onnx_philox._command.compare.law.grouped import Explained, Told, grouped
from onnx_philox._command.compare.law.paired_runs import PairedRuns, Verdicts
from onnx_philox._command.compare.law.seen import Shown
from onnx_philox._command.compare.law.statistics import Family
from onnx_philox._command.compare.law.watched import Watched
from onnx_philox._command.run.runs_printed import about_filled
from onnx_philox._command.wanted import Seed, option_of
from onnx_philox._contract.shown import listed
from onnx_philox._runtimes.models import LoadedModel
from onnx_philox._runtimes.port import Arrays, identity

FEW = 1000
"""Fewer runs tell little."""
USELESS = "neither a shift of 1 standard deviation nor a share that is off by 0.5"
"""What so few runs do not show that a verdict would be useless."""
SAME, ANOTHER, NOTHING = "The same law, as far as was seen", "Another law", "Nothing is proved"


@dataclass(frozen=True)
class OpenBatch:
    """The first dimension of an input, whose size the model leaves open."""

    input: str
    rows: int
    """How many it was given."""

    @property
    def said(self) -> str:
        """That it may have more."""
        rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
        return (
            f"{self.input!r} has {rows} here, and the model takes more: by --input, a larger batch "
            "gives each run more values and shows smaller differences. It is not made larger "
            "unasked, since a model may compute something else then."
        )


@dataclass
class ComparedLaws:
    """The runs of a rewritten model and of its original."""

    model: Path
    original: Path
    loaded: LoadedModel
    seed: Seed | None
    """Of the rewritten model's runs; None where it takes no state."""
    filled: Arrays
    """The inputs that are made up."""
    paired: PairedRuns
    look: Verdicts
    """The last one."""
    seen: Shown
    times: Times
    not_compared: Sequence[str] = ()
    """What of the outputs is not compared."""
    fed: Sequence[str] = ()
    """The inputs that the model draws and the original is fed, and their laws: `noise=normal`."""
    batch: OpenBatch | None = None
    """What each run has more values with, if it is made larger; None where nothing is known."""
    of_original: OfOriginal = field(default_factory=OfOriginal)
    """What the runtime does with the original, where something differs."""

    def __post_init__(self) -> None:
        self.runs = self.paired.runs
        self.repeats = self.runs > 1 and all(map(_repeats_in_original, self.paired.outputs))
        """Whether the original gave the same in each run of several."""
        self.differences = changes(self.paired, self.look, self.seen)

    @property
    def changes(self) -> list[str]:
        """What differs, a sentence each."""
        return [each.text for each in self.differences]

    @property
    def nodes(self) -> Sequence[str]:
        """What the runtime does with the random operators of the original."""
        return self.of_original.nodes

    @property
    def faults(self) -> Sequence[str]:
        """What the runtime does wrong with the original: its law is not what the model says."""
        return self.of_original.faults

    @property
    def explained(self) -> list[Explained]:
        """What differs, each with the faults that it comes of, or may come of."""
        of_original = self.of_original
        return [Explained(each, of_original.explaining(each)) for each in self.differences]

    @property
    def least_runs(self) -> int:
        """How many runs show a value that is always another one; fewer show nothing."""
        needed = [self.look.needed[family] for family in Family if self.paired.tests(family)]
        return math.ceil(min(needed) / math.log(2))

    @property
    def is_blind(self) -> bool:
        """Whether so few runs show nothing."""
        return self.runs < self.least_runs

    @property
    def is_ok(self) -> bool | None:
        """The verdict; None where nothing is proved."""
        if self.repeats or self.is_blind:
            return None
        if self.look.is_any:
            return False
        return None if self.is_useless else True

    @property
    def is_useless(self) -> bool:
        """Whether of an output so few runs show only differences that nobody would miss."""
        return bool(self._useless)

    @property
    def _useless(self) -> list[str]:
        return [each.output for each in self.seen.outputs if not each.is_useful]

    def to_json(self) -> str:
        """Returns one JSON document, as docs/json.md says."""
        seen = self.seen
        return terminal.document(
            model=str(self.model),
            original=str(self.original),
            **identity(self.loaded),
            seed=self.seed,
            filled=list(self.filled),
            fed=list(self.fed),
            outputs=[output.name for output in self.paired.outputs],
            runs=self.runs,
            seconds=round(self.times.all, 3),
            least_scale=seen.scale,
            least_shift=seen.shift,
            least_share=seen.share,
            least_share_of_one=seen.share_of_one,
            least_correlation=seen.correlation,
            least=[asdict(each) for each in seen.outputs],
            not_judged=self.not_judged,
            repeats=self.repeats,
            changes=self.changes,
            differences=[
                each.change.to_json(each.known, each.may_come_of) for each in self.explained
            ],
            nodes=list(self.nodes),
            faults=list(self.faults),
            is_ok=self.is_ok,
        )

    def print(self, console: Console) -> None:
        """Prints what was compared, the verdict and what differs."""
        names = (str(self.model), "bold"), " and its original ", (str(self.original), "bold")
        seed = ""
        if self.seed is not None:
            option = option_of(self.seed).lstrip("-")
            seed = f"; {option} {self.seed}"
        console.print(Text.assemble(*names, f" in {self.loaded.title}{seed}"))
        console.print(Text(f"{self.counted} of each; compared: {self.names}"))
        if self.filled:
            console.print(Text(about_filled(self.filled)))
        if self.fed:
            console.print(Text(self.about_fed))
        console.print(Text.assemble((self.verdict, _STYLES[self.is_ok]), self.about))
        for line in self.differing:
            console.print(Text(f"  {line}"))
        if self.is_ok is not None:
            console.print(Text(self.about_seen))
        for line in self.least:
            console.print(Text(f"  {line}"))
        for line in self.notes:
            console.print(Text(line))
        if self.other_faults:
            console.print(Text(self.about_faults, "yellow"))
        for line in self.other_faults:
            console.print(Text(f"  {line}"))
        if self.nodes:
            console.print(Text(f"The original's random nodes in {self.loaded.runtime}:"))
        for line in self.nodes:
            console.print(Text(f"  {line}"))

    @property
    def counted(self) -> str:
        """How many runs there were."""
        return "1 run" if self.runs == 1 else f"{self.runs} runs"

    @property
    def names(self) -> str:
        """The outputs."""
        return ", ".join(output.name for output in self.paired.outputs)

    @property
    def about_fed(self) -> str:
        """What the original is fed where the model draws."""
        return f"Fed to the original, other numbers of NumPy's in each run: {', '.join(self.fed)}."

    @property
    def verdict(self) -> str:
        """It in a few words."""
        if self.is_ok is None:
            return NOTHING
        return SAME if self.is_ok else ANOTHER

    @property
    def about(self) -> str:
        """What follows the verdict in its line."""
        if self.repeats:
            return f": {self._about_repeating}. One run of each:"
        if self.about_known:
            return f". {self.about_known}:"
        if self.is_blind:
            few = f"{self.counted} {self._verb} no difference, {self.least_runs} can"
            return f": {few}, and {FEW} tell more. {self._remedy}"
        if self.is_ok is None:
            of = ""
            if len(self._useless) < len(self.seen.outputs):
                of = f"of {', '.join(map(repr, self._useless))} "
            useless = f"{self.counted} {self._verb} {of}{USELESS}"
            return f": {useless}, and {FEW} tell more. {self._remedy}"
        return ":" if self.differing else "."

    @property
    def _verb(self) -> str:
        return "shows" if self.runs == 1 else "show"

    @property
    def _about_repeating(self) -> str:
        """That the original repeats itself, and why, where it draws nothing."""
        said = "each run of the original gives the same values"
        if not self.of_original.draws_nothing or self.fed:
            return said
        said += ", since it has no random nodes"
        noise = self.of_original.noise
        if noise:
            them = "input" if len(noise) == 1 else "inputs"
            said += f" (its {them} may be noise: rewrite and compare it with {' '.join(noise)})"
        return said

    @property
    def about_known(self) -> str:
        """How many differences known faults of the original explain; empty where none do."""
        explained = self.explained
        known = sum(bool(each.causes) for each in explained)
        if self.is_ok is not False or known == 0:
            return ""
        count = len(self.differences)
        of_them = "each difference" if known == count else f"{known} of {count} differences"
        if all(each.known for each in explained if each.causes):
            return f"Known faults of the original explain {of_them}"
        return (
            f"Known faults of the original may explain {of_them}; a difference of the rewrite's "
            "own may stand behind them"
        )

    @property
    def told(self) -> list[Told]:
        """What differs and why; of what reads alike the first few."""
        return grouped(self.explained)

    @property
    def differing(self) -> list[str]:
        """What differs and why; where the original repeats itself, one run of each."""
        if self.repeats:
            return [_one_run(output) for output in self.paired.outputs]
        return [line for each in self.told for line in each.lines]

    @property
    def other_faults(self) -> list[str]:
        """The faults that explain no difference that is printed."""
        if self.repeats:
            return [*self.faults]
        return self.of_original.others(self.differences)

    @property
    def not_judged(self) -> list[str]:
        """What could not be judged, or is not compared."""
        return [*self.not_compared, *self.seen.not_judged()]

    @property
    def notes(self) -> list[str]:
        """What else there is to know of the verdict."""
        said = self.times.said(self.runs)
        if self.is_ok is None:
            return said
        said += self.of_original.parted(self.differences)
        said += [f"Not judged: {each}." for each in self.not_judged]
        if self.batch is not None and self.is_ok:
            said.append(self.batch.said)
        if self.runs < FEW and self.is_ok:
            said.append(f"Fewer than {FEW} runs tell little. {self._remedy}")
        return said

    @property
    def _remedy(self) -> str:
        """How to have more runs."""
        if self.times.is_over:
            return f"Raise --seconds: {FEW} runs take about {self.times.of(FEW)} here."
        return f"Raise --runs to {FEW}."

    @property
    def about_faults(self) -> str:
        """The heading of the faults that are not said beside a difference."""
        faults = f"nown faults of the original in {self.loaded.runtime}"
        if len(self.other_faults) < len(self.faults):
            return f"Other k{faults}, which explain none of this:"
        if self.repeats:
            return f"K{faults}, not of the rewrite:"
        return f"K{faults}, which do not explain this:"

    @property
    def about_seen(self) -> str:
        """What the smallest differences are that so many runs show; `least` has them."""
        if not self.least:
            return f"{self.counted} {self._verb} no difference for certain."
        return (
            f"In nine of ten tries {self.counted} {self._verb} a difference as large as these. A "
            "smaller one can go unseen:"
        )

    @property
    def least(self) -> list[str]:
        """The smallest differences that so many runs show, a line of each kind; none of none."""
        if self.is_ok is None:
            return []
        seen = self.seen
        whole = []
        if seen.scale is not None:
            whole.append(f"a scale of {1 + _up(seen.scale - 1):.6g}")
        if seen.shift is not None:
            whole.append(f"a shift of {_up(seen.shift):.6g} standard deviations")
        whole += _of_shares(seen.share_of_values, seen.share_below)
        lines = []
        if whole:
            lines.append(f"of a whole output: {listed(whole)}")
        of_one = _of_shares(seen.element, seen.element_below)
        if of_one:
            lines.append(f"of one value: {listed(of_one)}")
        if seen.correlation is not None:
            lines.append(f"of two values: a rank correlation of {_up(seen.correlation):.6g}")
        return lines


def _of_shares(of_values: float | None, below: float | None) -> list[str]:
    """The smallest differences of shares, in words."""
    said = []
    if of_values is not None:
        said.append(f"a share that is off by {_up(of_values):.6g}")
    if below is not None:
        said.append(f"a share of values below a number that is off by {_up(below):.6g}")
    return said


def _up(least: float) -> float:
    """A bound to two digits, rounded up, so that it stays one."""
    digits = 1 - math.floor(math.log10(least))
    unit = 10.0**-digits
    units = math.ceil(least / unit - 1e-9)
    return units * unit


_STYLES = {True: "bold green", False: "bold red", None: "bold yellow"}


def _repeats_in_original(output: Watched) -> bool:
    of_original, _ = output.sides
    return of_original.always_repeats


def _one_run(output: Watched) -> str:
    """The values of one run of each, in words; and the shape, where the model's is another one."""
    if 0 in output.shape:
        return f"{output.name} has no values: its shape is {[*output.shape]}"
    was, now = output.first_run
    count = len(output.places)
    of_them = "its one value" if count == 1 else f"{count} of its values"
    of_original, of_model = output.sides
    if of_model.shape is not None and of_model.shape != of_original.shape:
        shapes = f"whose shape is {[*of_model.shape]}, was {[*output.shape]}"
        of_them = f"{shapes}, {of_them}"
    said_now = _moments(now)
    said_was = _moments(was)
    return f"{output.name}, {of_them}: {said_now}; was {said_was}"


def _moments(values: Values) -> str:
    """The mean and the standard deviation of what is finite, and how much is not."""
    finite = values[np.isfinite(values)].astype(np.float64)
    said = []
    if finite.size:
        mean = finite.mean()
        deviation = finite.std()
        said.append(f"mean {mean:.4g}, standard deviation {deviation:.4g}")
    others = values.size - finite.size
    if others:
        said.append(f"{others} NaN or infinite")
    return ", ".join(said) or "no values"
