"""What `onnx-philox compare` prints: a table and a verdict, or a JSON document for machines."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from onnx_philox._command import terminal
from onnx_philox._command.compare.differences import Difference, Tolerances
from onnx_philox._command.run.runs_printed import OF_ARRAYS, about_filled
from onnx_philox._command.wanted import Seed
from onnx_philox._record.document import COMPUTED, DRAWN, STATE
from onnx_philox._runtimes.models import LoadedModel
from onnx_philox._runtimes.port import Arrays, identity

_EXACT = {DRAWN: "draws", STATE: "states"}


@dataclass
class ComparedRuns:
    """All runs of a model in two runtimes."""

    model: Path
    loaded: tuple[LoadedModel, LoadedModel]
    seed: Seed | None
    """None where the model takes no state, or an input was it."""
    tolerances: Tolerances
    filled: Arrays = field(default_factory=dict)
    """The inputs that are made up."""
    runs: list[tuple[int, list[Difference]]] = field(default_factory=list)

    @property
    def is_ok(self) -> bool:
        """The verdict."""
        return not self._wrong()

    def to_json(self) -> str:
        """Returns one JSON document, as docs/json.md says."""
        return terminal.document(
            model=str(self.model),
            runtimes=[identity(loaded) for loaded in self.loaded],
            seed=self.seed,
            filled=list(self.filled),
            **asdict(self.tolerances),
            runs=[
                {"run": run, "outputs": [_output_json(d) for d in differences]}
                for run, differences in self.runs
            ],
            is_ok=self.is_ok,
        )

    def print(self, console: Console) -> None:
        """Prints the table and the verdict."""
        seed = ""
        if self.seed is not None:
            seed = f"; seed {self.seed}"
        console.print(Text.assemble((str(self.model), "bold"), seed))
        for loaded in self.loaded:
            console.print(Text(f"in {loaded.title}"))
        terminal.print_table(console, self._table())
        for line in filter(None, self._notes()):
            console.print(Text(line))
        console.print(self._verdict())

    def _wrong(self) -> list[Difference]:
        wrong = []
        for _, differences in self.runs:
            wrong += [difference for difference in differences if not difference.is_ok]
        return wrong

    def _table(self) -> Table:
        names = (terminal.NAME(name) for name in ("output", "type", "shape"))
        numbers = (terminal.NUMBER(name) for name in ("unequal", "by up to"))
        columns = (terminal.NUMBER("run"), *names, *numbers, terminal.WORD())
        table = terminal.table(*columns, collapse_padding=True)
        for run, differences in self.runs:
            for i, each in enumerate(differences):
                largest = ""
                if each.unequal and each.largest is not None:
                    largest = f"{each.largest:.2g}"
                verdict = _verdict_of(each)
                number = "" if i else str(run)
                name = Text(each.name)
                if each.kind == DRAWN:
                    name.append("  (drawn)", "green")
                cells = (number, name, each.type_name, each.shape_name)
                table.add_row(*cells, str(each.unequal), largest, verdict)
            table.add_section()
        return table

    def _notes(self) -> list[str]:
        notes = [about_filled(self.filled)]
        one, other = ((each.runtime, each.device, each.precision) for each in self.loaded)
        if one == other:
            notes.append(
                f"Both runs computed in {one[-1]}, the only one of the two precisions that this "
                "device has: equal results show only that a run can be repeated."
            )
        if not any(loaded.drawn for loaded in self.loaded):
            notes.append(
                "No node of onnx-philox is in the main graph: other draws, in subgraphs for "
                "instance, are compared only by the outputs and the next state."
            )
        wrong_draws = [each for each in self._wrong() if each.kind == DRAWN]
        if any(each.operator in OF_ARRAYS for each in wrong_draws):
            notes.append(
                "Where the model computes the parameters of a draw, each runtime rounds them in "
                "its own way, and the draws may differ as the parameters do."
            )
        return notes

    def _verdict(self) -> Text:
        wrong = self._wrong()
        tolerances = self.tolerances
        by = f"rtol {tolerances.rtol:g}, atol {tolerances.atol:g}"
        if not wrong:
            kinds = {d.kind for _, differences in self.runs for d in differences}
            exact = [name for kind, name in _EXACT.items() if kind in kinds]
            parts = []
            if exact:
                parts.append(f"{' and '.join(exact)} equal to the last bit")
            if COMPUTED in kinds:
                parts.append(f"outputs within {by}")
            return Text.assemble(("Equal", "bold green"), f": {', '.join(parts)}.")
        parts = []
        # Each name once, in their order.
        of_draws: dict[str, None] = {}
        of_outputs: dict[str, None] = {}
        for difference in wrong:
            names = of_outputs if difference.kind == COMPUTED else of_draws
            names[difference.name] = None
        if of_draws:
            parts.append(f"{', '.join(of_draws)} not equal to the last bit")
        if of_outputs:
            parts.append(f"{', '.join(of_outputs)} not within {by}")
        return Text.assemble(("Different", "bold red"), f": {'; '.join(parts)}.")


def _output_json(each: Difference) -> dict[str, Any]:
    is_number = each.largest is not None and math.isfinite(each.largest)
    return {**asdict(each), "largest": each.largest if is_number else None}


def _verdict_of(each: Difference) -> Text:
    if not each.is_ok:
        return Text("different", "bold red")
    if each.unequal:
        return Text("within", "green")
    return Text("equal", "green")
