"""What `onnx-philox replay` prints: a line for each thing that is compared, and a verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from onnx_philox._command import terminal
from onnx_philox._command.replay.replay_checks import HASH, KIND, SOURCE, TEXT, TYPE, Check
from onnx_philox._record.document import COMPUTED, DRAWN, Record
from onnx_philox._runtimes.models import LoadedModel
from onnx_philox._runtimes.port import identity

_SHOWN = 12
_KINDS = {"streams": "random nodes", "computed": "output", "state": "next state"}


@dataclass
class ReplayedRecord:
    """A record, and what is found when it is run again."""

    record: Path
    model: Path
    written: Record
    loaded: LoadedModel
    checks: list[Check] = field(default_factory=list)
    is_whole: bool = True
    """Whether the runtime ran all runs."""

    @property
    def is_same_runtime(self) -> bool:
        """Whether the runtime computes as the recorded one did, as far as it says."""
        loaded = self.loaded
        now = {
            "runtime": loaded.runtime,
            "version": loaded.version,
            "backend": loaded.backend,
            "how": loaded.how or None,
        }
        return all(self.written[key] == value for key, value in now.items())

    @property
    def wrong(self) -> list[Check]:
        """What must be equal, and is not."""
        return [check for check in self.checks if check.counts and not check.is_equal]

    @property
    def is_ok(self) -> bool:
        """The verdict."""
        return not self.wrong

    def to_json(self) -> str:
        """Returns one JSON document, as docs/json.md says."""
        loaded = self.loaded
        return terminal.document(
            record=str(self.record),
            model=str(self.model),
            **identity(loaded),
            is_same_runtime=self.is_same_runtime,
            checks=[{**asdict(c), "is_equal": c.is_equal} for c in self.checks],
            is_ok=self.is_ok,
        )

    def print(self, console: Console) -> None:
        """Prints the table and the verdict."""
        then = self.written
        ran_by = f"{then['runtime']} {then['version']}, backend {then['backend']}"
        if then["how"]:
            ran_by += f", {then['how']}"
        name = (str(self.record), "bold")
        console.print(Text.assemble(name, f" of {ran_by}"))
        console.print(Text(f"run again in {self.loaded.title}"))
        terminal.print_table(console, self._table())
        for line in self._meaning():
            console.print(Text(line))
        console.print(self._verdict())

    def _table(self) -> Table:
        columns = (terminal.NAME(name) for name in ("", "name"))
        hashes = (terminal.WORD(name) for name in ("recorded", "now"))
        table = terminal.table(terminal.NUMBER("run"), *columns, *hashes, terminal.WORD())
        for check in self.checks:
            verdict = Text("equal", "green")
            if not check.is_equal:
                verdict = Text("different", "bold red")
                if not check.counts:
                    verdict = Text("other" if check.kind == "runtime" else "other rounding")
            style = "green" if check.kind == DRAWN else ""
            table.add_row(
                "" if check.run is None else str(check.run),
                Text(_KINDS.get(check.kind, check.kind), style),
                Text(check.name),
                _short(check, check.recorded),
                _short(check, check.found),
                verdict,
            )
        return table

    def _meaning(self) -> list[str]:
        lines = []
        unequal = {check.kind for check in self.checks if not check.is_equal}
        if COMPUTED in unequal and not self.is_same_runtime:
            lines.append(
                "Outputs are compared with those of another runtime or version, which rounds in "
                "its own way: only the draws must be equal."
            )
        elif unequal == {COMPUTED}:
            lines.append(
                "The draws are equal, so the outputs differ by arithmetic: another processor or "
                "number of threads may round in another way."
            )
        if not self.is_whole:
            lines.append("The runtime refused what differs, so no more was compared.")
        elif not any(check.kind == DRAWN for check in self.checks):
            lines.append("No draw of the main graph is an output, so none was compared.")
        return lines

    def _verdict(self) -> Text:
        if self.is_ok:
            kinds = dict.fromkeys(c.kind for c in self.checks if c.counts)
            named = [_plural(kind) for kind in kinds]
            return Text.assemble(("Equal", "bold green"), f": {', '.join(named)}.")
        named = list(dict.fromkeys(_sentence(check) for check in self.wrong))
        return Text.assemble(("Different", "bold red"), f": {'; '.join(named)}.")


def _short(check: Check, text: str | None) -> str:
    if text is None:
        return "-"
    if check.kind == "streams":
        return ""
    return text if check.what != HASH else text[:_SHOWN]


def _plural(kind: str) -> str:
    words = {DRAWN: "draws", COMPUTED: "outputs", "state": "next states", "input": "inputs"}
    return words.get(kind) or _KINDS.get(kind, kind)


def _sentence(check: Check) -> str:
    """What is no longer equal."""
    recorded = check.recorded
    found = check.found
    if check.kind == "streams":
        which = ""
        if check.name == "nodes":  # which are many
            which = ": the lists of nodes differ"
        elif check.what == TEXT:
            which = f": {check.name} was {recorded}, and is {found}"
        return f"the model's random nodes are not those in the record{which}"
    if check.kind == "number":
        return f"the run number is {recorded} in the record, and {found} by its states"
    if check.kind == "runtime":
        return f"the {check.name} is {recorded} in the record, which this runtime never reports"
    what = f"the {_KINDS.get(check.kind, check.kind)} {check.name}"
    if check.kind in ("seed", "start"):
        what = f"the {check.name}"
    if check.run is not None:
        what += f" of run {check.run}"
    if check.what == SOURCE:
        return f"{what} did not come from {recorded}"
    if check.what in (TYPE, KIND):
        return f"{what} is {recorded} in the record, and {found} now"
    if recorded is None:
        return f"{what} is not in the record"
    if found is None:
        return f"{what} is in the record, and not in this run"
    if check.kind == "seed":
        return f"{what} in the record is not the key of its states"
    return f"{what} has another hash"
