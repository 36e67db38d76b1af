"""What `onnx-philox run` prints: a table for people, a JSON document for machines."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from onnx_philox._command import terminal
from onnx_philox._command.inside_model import Inside
from onnx_philox._command.run.beginning import Serving
from onnx_philox._command.run.given_inputs import StatePorts
from onnx_philox._command.run.loading import Settings
from onnx_philox._command.wanted import WantedRuns
from onnx_philox._contract.declaration import Role
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.state import RUNS
from onnx_philox._files.given import Given
from onnx_philox._record.hashes import Hash, of_all
from onnx_philox._runtimes.port import Arrays, identity

# The table shows so much of a hash: 48 bits, enough to compare by eye.
_SHOWN = 12
# Beyond so many lines a run is one line.
_MOST_LINES = 60

OF_ARRAYS = {
    operator.name
    for operator in OPERATORS.values()
    if any(parameter.role in (Role.NUMBERS, Role.LOGITS) for parameter in operator.parameters)
}
"""The operators whose parameters are tensors, which the model may have computed."""


@dataclass(frozen=True)
class Run:
    """One run."""

    number: int
    state: NDArray[Any] | None
    """Where it began: one state, or one for each row of the batch."""
    outputs: list[Hash]
    file: Path | None

    @property
    def sha256(self) -> str:
        """One hash of all outputs, under their names."""
        return _of_outputs(self.outputs)

    @property
    def drawn_sha256(self) -> str:
        """One hash of what the random nodes drew, under their names."""
        return _of_outputs([output for output in self.outputs if output.is_drawn])

    def numbers(self, next_state: str | None) -> list[str]:
        """The hashes of the draws, without the next state, which always differs."""
        return [o.sha256 for o in self.outputs if o.name != next_state]


@dataclass
class ModelRuns:
    """All runs of a model."""

    given: Given
    serving: Serving
    settings: Settings
    inside: Inside
    """What decides the numbers where the model takes no state."""
    runs: list[Run] = field(default_factory=list)
    record: Path | None = None
    """The file with the record of the runs."""

    @property
    def model(self) -> Path:
        """The model's file."""
        return self.given.path

    @property
    def state(self) -> StatePorts | None:
        """None where the model takes none."""
        return self.serving.state

    @property
    def sha256(self) -> str:
        """One hash of all runs."""
        return of_all(run.sha256 for run in self.runs)

    @property
    def drawn_sha256(self) -> str | None:
        """One hash of all draws; None if they are not outputs."""
        if not self.serving.loaded.drawn:
            return None
        return of_all(run.drawn_sha256 for run in self.runs)

    def how_far(self, wanted: WantedRuns, record: Path | None) -> str:
        """What an interrupted command says: what was done and saved, and how to go on."""
        done = len(self.runs)
        sentences = [f"interrupted after {done} of {wanted.runs} runs"]
        if self._saved:
            sentences.append(f"Saved: {self._saved}")
        if record is not None:
            sentences.append(f"{record} was not written")
        began_at_seed = self.serving.seed is not None
        if began_at_seed and self.state is not None and self.state.counts_runs:
            first = wanted.first_run + done
            rest = wanted.runs - done
            sentences.append(f"For the rest add --first-run {first} --runs {rest}")
        return ". ".join(sentences)

    @property
    def _saved(self) -> str:
        """The files that were written, by name; of many, the first and the last."""
        files = [str(run.file) for run in self.runs if run.file]
        if len(files) > 3:
            files = [files[0], "...", files[-1]]
        return ", ".join(files)

    def to_json(self) -> str:
        """Returns one JSON document, as docs/json.md says."""
        loaded = self.serving.loaded
        return terminal.document(
            model=str(self.model),
            **identity(loaded),
            seed=self.serving.seed,
            filled=list(self.serving.filled),
            runs=[_run_json(run) for run in self.runs],
            sha256=self.sha256,
            drawn_sha256=self.drawn_sha256,
            record=None if self.record is None else str(self.record),
        )

    def print(self, console: Console) -> None:
        """Prints the table, the hash of all runs, and what they mean."""
        where = f" in {self.serving.loaded.title}"
        if self.serving.seed is not None:
            where += f"; seed {self.serving.seed}"
        console.print(Text.assemble((str(self.model), "bold"), where))
        terminal.print_table(console, self._table())
        several = len(self.runs)
        count = f"{several} runs" if several > 1 else "1 run"
        shown = (self.sha256[:_SHOWN], "bold")
        console.print(Text.assemble(f"{count}, all outputs: ", shown))
        if self.drawn_sha256 is not None:
            drawn = (self.drawn_sha256[:_SHOWN], "bold green")
            note = ", equal in every runtime"
            if OF_ARRAYS & set(self.serving.loaded.drawn.values()):
                note += " that computes the same parameters"
            console.print(Text.assemble(f"{count}, drawn in the main graph: ", drawn, note))
        for line in filter(None, self._meaning()):
            console.print(Text(line))

    def _table(self) -> Table:
        table = terminal.table(
            terminal.NUMBER("run"),
            terminal.NAME("output"),
            terminal.WORD("type"),
            terminal.NAME("shape"),
            terminal.WORD("sha256"),
            collapse_padding=True,
        )
        lines = sum(len(run.outputs) + 1 for run in self.runs)
        is_short = lines > _MOST_LINES
        for run in self.runs:
            if not is_short:
                for i, output in enumerate(run.outputs):
                    number = "" if i else str(run.number)
                    name = Text(output.name)
                    if output.is_drawn:
                        name.append("  (drawn)", "green")
                    cells = (number, name, output.type, output.shape_name)
                    table.add_row(*cells, output.sha256[:_SHOWN])
            of_run = Text(run.sha256[:_SHOWN], "bold")
            number = str(run.number) if is_short else ""
            table.add_row(number, Text("all outputs", "dim"), "", "", of_run, end_section=True)
        return table

    def _meaning(self) -> Iterator[str]:
        loaded = self.serving.loaded
        state = self.state
        yield about_filled(self.serving.filled)
        if self._saved:
            line = f"Saved: {self._saved}."
            as_float32 = [o.name for o in self.runs[0].outputs if o.type == "bfloat16"]
            if as_float32:
                line += (
                    f" {', '.join(as_float32)}: saved as float32, exactly, as .npz has no bfloat16."
                )
            yield line
        yield self._about_numbers()
        if state is not None and state.next is not None:
            if loaded.variables:
                names = ", ".join(loaded.variables)
                yield (
                    f"Variables of its own go on from run to run ({names}): repeat all runs at "
                    "once."
                )
            elif state.counts_runs and self.serving.seed is not None:
                next_run = self.runs[-1].number + 1
                remedy = f"--first-run {next_run}" if next_run < RUNS else "another seed"
                yield f"Go on with {remedy}; repeat any run with --first-run N."
            else:
                yield f"Go on with the last {state.next} as --input {state.name}=FILE.npy."
        if self.settings.shows_drawn and not loaded.drawn:
            yield "No node of onnx-philox is in the main graph, so --drawn shows nothing."
        # An IR has one runtime to run in.
        if not (self.settings.shows_drawn or state is None or self.given.of_openvino):
            yield (
                "Compare runtimes with onnx-philox compare: the draws are equal; the outputs "
                "differ by each runtime's rounding."
            )
        if self.record is not None:
            command = shlex.join(["onnx-philox", "replay", str(self.record)])
            yield f"Recorded: {self.record}. Run it again, here or elsewhere: {command}"

    def _about_numbers(self) -> str:
        next_state = None if self.state is None else self.state.next
        of_runs = [tuple(run.numbers(next_state)) for run in self.runs]
        different = len(set(of_runs))
        if len(of_runs) == 1:
            if self.state is not None:
                return ""
            return self._about_no_state("")
        began = [None if run.state is None else run.state.tobytes() for run in self.runs]
        if different == 1 and len(set(began)) == len(began):
            # Drawn each, and alike: by chance, or since nothing that was drawn is seen in them.
            return (
                "The outputs of all runs are equal, though each run drew from the state that the "
                "run before it left: a few draws may be alike by chance, and outputs need not "
                "show what was drawn."
            )
        if different == 1 and self.inside.is_undecided:
            found = "the outputs of all runs are equal"
        elif different == 1:
            found = "each run gave the same numbers"
        elif different == len(of_runs):
            found = "each run gave different numbers"
        else:
            found = f"the runs gave {different} different sets of numbers"
        if self.state is None:
            return self._about_no_state(f"{found.capitalize()}. ")
        if next_state is None:
            why = "the model has no output for the next state, so all runs began at one state"
            return f"{found.capitalize()}: {why}."
        return f"{found.capitalize()}, from the state that the run before it left."

    def _about_no_state(self, found: str) -> str:
        """What decides the numbers, after what several runs gave."""
        if self.inside.is_undecided:
            remedy = self.inside.remedy_of_own(self.model)
            return f"{found}This model has {self.inside.counted} and no state. {remedy}"
        if not found:
            return ""
        why = "Its seed is inside" if self.inside.has_seed else "This model has no state"
        variable = self.inside.variable
        if variable:
            why = f"Its state is the variable {variable!r}, which goes on from run to run"
        return f"{found}{why}."


def about_filled(filled: Arrays) -> str:
    """What --fill made, for people; empty if it made nothing."""
    if not filled:
        return ""
    made = []
    for name, array in filled.items():
        made.append(f"{name} {array.dtype.name}{list(array.shape)}")
    return f"Made up by --fill: {', '.join(made)}. Give your own with --input NAME=FILE.npy."


def _of_outputs(outputs: Iterable[Hash]) -> str:
    """One hash of outputs, under their names, in whatever order they are."""
    named = [f"{output.name} {output.sha256}" for output in outputs]
    return of_all(sorted(named))


def _run_json(run: Run) -> dict[str, Any]:
    return {
        "run": run.number,
        "state": None if run.state is None else run.state.tolist(),
        "file": None if run.file is None else str(run.file),
        "outputs": [{**asdict(o), "shape": list(o.shape)} for o in run.outputs],
        "sha256": run.sha256,
    }
