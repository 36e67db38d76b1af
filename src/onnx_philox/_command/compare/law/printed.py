"""What `onnx-philox compare --original` says: what differs, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from onnx_philox._command import terminal
from onnx_philox._command.compare.law import statistics
from onnx_philox._command.run.printed import about_filled
from onnx_philox._command.wanted import Seed, option_of
from onnx_philox._runtimes.models import LoadedModel
from onnx_philox._runtimes.port import Arrays, identity

_SAID = ("runs", "least_share", "least_correlation", "repeats", "changes", "nodes", "is_ok")
"""The keys of the document that are attributes, too."""


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
    samples: Sequence[statistics.Sample]
    nodes: Sequence[str] = ()
    """What the runtime does with the random operators of the original."""

    def __post_init__(self) -> None:
        self.runs = len(self.samples[0].was)
        self.repeats = self.runs > 1 and all(sample.repeats for sample in self.samples)
        """Whether the original gave the same in each run of several."""
        columns = sum(sample.was.shape[1] for sample in self.samples)
        self.least_share = statistics.least(self.runs, columns)
        self.least_correlation = 2 * statistics.least(self.runs, columns**2)
        limit = statistics.needed(columns)
        values = (_apart(sample, limit) for sample in self.samples)
        self.changes = [*filter(None, values), *self._parted(statistics.needed(columns**2))]

    @property
    def is_ok(self) -> bool | None:
        """The verdict; None where nothing is proved."""
        is_blind = max(self.least_share, self.least_correlation / 2) >= 1
        return None if self.repeats or is_blind else not self.changes

    def _parted(self, limit: float) -> Iterator[str]:
        """The outputs whose values go together in one model; of each two those that part most."""
        varying = [s for s in self.samples if not (s.repeats or s.now_repeats)]
        if not varying:
            return
        owners = [sample.name for sample in varying for _ in (*sample.places, "mean")]
        both = zip(*((s.was[:, :-1], s.now[:, :-1]) for s in varying), strict=True)
        bound, was, now = statistics.together(*map(np.hstack, both))
        differ = np.triu(bound < limit, 1) & (np.abs(now - was) > self.least_correlation)
        told: dict[tuple[str, str], tuple[float, float]] = {}
        for at in sorted(np.argwhere(differ), key=lambda at: abs(now[*at] - was[*at])):
            told[owners[at[0]], owners[at[1]]] = now[*at], was[*at]
        for pair, found in told.items():
            goes, went = (abs(each) >= self.least_correlation / 2 for each in found)
            what = "went together, now they do not" if went else "go together, and did not"
            yield "{} {}: rank correlation {:.2f}, was {:.2f}".format(
                f"values of {pair[0]!r}" if len({*pair}) == 1 else "{!r} and {!r}".format(*pair),
                "go together otherwise" if goes == went else what,
                *found,
            )

    def to_json(self) -> str:
        """Returns one JSON document, as docs/json.md says."""
        return terminal.document(
            model=str(self.model),
            original=str(self.original),
            **identity(self.loaded),
            seed=self.seed,
            filled=list(self.filled),
            outputs=[sample.name for sample in self.samples],
            **{name: getattr(self, name) for name in _SAID},
        )

    def print(self, console: Console) -> None:
        """Prints what was compared, the verdict and what differs."""
        names = (str(self.model), "bold"), " and its original ", (str(self.original), "bold")
        seed = "" if self.seed is None else f"; {option_of(self.seed).lstrip('-')} {self.seed}"
        console.print(Text.assemble(*names, f" in {self.loaded.title}{seed}"))
        outputs = ", ".join(sample.name for sample in self.samples)
        lines = [*map(_one_run, self.samples)] if self.repeats else self.changes
        nodes = [f"  {line}" for line in self.nodes]
        if nodes:
            nodes.insert(0, f"The original's random nodes in {self.loaded.runtime}:")
        count = f"{self.runs} run{'s'[: self.runs > 1]}"
        head = [f"{count} of each; compared: {outputs}", about_filled(self.filled)]
        for line in (
            *filter(None, head),
            self._verdict(),
            *(f"  {each}" for each in lines),
            *nodes,
        ):
            console.print(Text(line) if isinstance(line, str) else line)

    def _verdict(self) -> Text:
        if self.is_ok is None:
            why = "so few runs show no difference. Raise --runs and --seconds."
            if self.repeats:
                why = "the original repeats itself in each run. One run of each:"
            return Text.assemble(("Nothing is proved", "bold yellow"), f": {why}")
        head = ("The same law, as far as was seen", "bold green")
        seen = f": {self.runs} runs would reveal a difference in share of about "
        seen += f"{self.least_share:.1%} or more, and in rank correlation of about "
        seen += f"{self.least_correlation:.2f} or more; smaller ones could go unseen."
        return Text.assemble(head if self.is_ok else ("Another law", "bold red"), seen)


def _apart(sample: statistics.Sample, limit: float) -> str:
    """What differs first in an output: that it repeats itself, its values, or else their mean."""
    apart = [*map(statistics.apart, sample.was.T, sample.now.T)]
    differ = [i for i, each in enumerate(apart) if each.bound < limit]
    count = len(sample.places)
    mean, repeats = count, count + 1
    columns = [i for i in differ if i < count] or differ
    if repeats in differ and (sample.repeats or sample.now_repeats):
        columns = [repeats]
    if not columns:
        return ""
    most = min(columns, key=lambda i: apart[i].bound)
    found, name, note = apart[most], sample.name, ""
    event = f"{'up to ' * found.is_up_to}{found.value:.6g}"
    if most == mean:
        event = f"a mean {event}"
    elif most == repeats or sample.type.kind == "b":
        event = "true" if most < count else "as in the run before it"
        found = replace(found, value=1.0)
    if most < count != 1 and (found.is_up_to or len(columns) < count):
        name += str([*sample.places[most]])
        note, columns = f" ({len(columns)} of {count} values differ)", [most]
    now, was = (found.share(rows[:, columns]) for rows in (sample.now, sample.was))
    return f"{name}: {event} in {now:.1%}, was {was:.1%}{note}"


def _one_run(sample: statistics.Sample) -> str:
    """The values of one run of each, in words."""
    of_each = [rows[0, : len(sample.places)] for rows in (sample.now, sample.was)]
    words = (f"mean {x.mean():.4g}, standard deviation {x.std():.4g}" for x in of_each)
    return f"{sample.name}, {len(sample.places)} of its values: {'; was '.join(words)}"
