"""What `onnx-philox inspect` prints: a table for people, a JSON document for machines."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence, Sized
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from onnx_philox._command import terminal
from onnx_philox._command.inspect import lost, noise_inputs, reasons, search
from onnx_philox._command.inspect.in_words import (
    FEW,
    becomes,
    bullets,
    counted,
    few_of,
    grouped,
    operator_and_opset,
    operator_of,
    place_of,
    print_command,
    ranged,
    rewritten_table,
    stream_of,
)
from onnx_philox._command.inspect.known import faults
from onnx_philox._command.inspect.standard import Standard
from onnx_philox._command.inspect.today import InspectedNode
from onnx_philox._command.inspect.trials import FAILURES, Behaviour, Trial, Trials
from onnx_philox._command.refusals import KEEP_SEEDS, KEEP_UNKNOWN, PER_ROW
from onnx_philox._contract.shown import listed
from onnx_philox._files.given import Given
from onnx_philox._rewriting import equal_seeds
from onnx_philox._rewriting.in_onnx import unrun
from onnx_philox._rewriting.order import Batch, about_batch
from onnx_philox._runtime_errors import in_the_way

_MOST = 20
"""Of more nodes, equal ones are shown as one."""

_GROUPED = "Equal nodes are shown as one; --all shows each."
_WITHOUT_PLUGIN = (
    "For a runtime that takes no plugin, `rewrite --standard` makes ONNX's own nodes of them, or "
    "says why not."
)


# In fewer columns a table would break words; then each operator gets a block.
_TABLE_WIDTH = 110


@dataclass(frozen=True)
class Inspection:
    """Everything found in a model."""

    given: Given
    opset: int | None
    found: list[InspectedNode]
    rewritten: list[search.Rewritten]
    state: str
    """Where those have their state from; empty where no rewrite made them."""
    obstacle: str | None
    """Why the model, whatever its nodes, cannot be rewritten."""
    runtimes: list[Trials]
    """Empty where there is nothing to try."""
    idle_dropouts: int = 0
    """How many nodes of Dropout draw nothing."""
    batch: Batch | None = None
    """The dimension whose rows could each have a state."""
    row_obstacle: str | None = None
    """Why no node could draw from such states."""
    standard: Standard | None = None
    """The draws that are standard nodes already."""
    run: str = ""
    """The command line that runs the model; empty where no rewrite made it."""
    next_state: str | None = None
    """The output with the state of the next run, if there is one."""
    shows_all: bool = False
    """Whether the text shows each node, however many there are."""
    of_no_runtime: Sequence[str] = ()
    """The operators that no runtime has."""
    for_training: int = 0
    """How many random nodes the graphs have that train the model."""
    missing_functions: Sequence[str] = ()
    """What nodes call that is no function of the model, and no known operator."""
    missing_weights: Sequence[str] = ()
    """The files with its weights that cannot be found."""
    noise: noise_inputs.NoiseInputs = noise_inputs.NONE
    """Its inputs that may be noise."""

    def to_json(self) -> str:
        """Returns one JSON document, as docs/json.md says."""
        return terminal.document(
            model=str(self.model),
            opset=self.opset,
            runtimes={runtime.name: runtime.version for runtime in self.runtimes},
            random_nodes=self._found_json(),
            obstacle=self.obstacle,
            state=self.state or None,
            next_state=self.next_state,
            rewritten_nodes=[asdict(node) for node in self.rewritten],
            per_row={
                "batch": self.batch and self.batch.name,
                "where": self.batch and self.batch.where,
                "obstacle": self.row_obstacle,
            },
            standard=None if self.standard is None else asdict(self.standard),
            of_no_runtime=list(self.of_no_runtime),
            for_training=self.for_training,
            missing_functions=list(self.missing_functions),
            missing_weights=list(self.missing_weights),
            not_loaded_by={r.name: r.in_the_way for r in self.runtimes if r.in_the_way},
            faults=self.faults,
            noise_inputs=self.noise.to_json(),
        )

    def print(self, console: Console) -> None:
        """Prints the tables and what they mean."""
        console.print(self._heading())
        for line in (*self.in_the_way, *self.faults):
            console.print(Text(line, "red"))
        width = terminal.columns(console)
        if self.rewritten:
            is_grouped = self._groups(self.rewritten)
            console.print(rewritten_table(self.rewritten, is_grouped=is_grouped))
            if is_grouped and not self._groups(self.found):
                console.print(_GROUPED)
            if self.state:
                console.print(f"Their state: {self.about_state}.")
            if self.opset is not None:
                console.print(_WITHOUT_PLUGIN)
        if self.standard is not None:
            console.print(Text("\n".join(self.standard.lines)))
        if self.has_no_draws:
            self._print_noise(console)
            console.print(bullets(self.lost()))
            return
        if not self.found:
            if self.run:
                console.print(Text("Run it:"))
                print_command(console, self.run)
            self._print_noise(console)
            return
        if width >= _TABLE_WIDTH and not self._groups(self.found):
            console.print(self._table())
            console.print(reasons.table(self.runtimes, self.found, shows_all=self.shows_all))
        else:
            console.print(Group(*self._blocks()))
        answer, apart = self.per_row()
        head = f"A state for each row of the batch ({PER_ROW}): {answer}"
        parts = [self._named(head, apart) if apart else Text(head)]
        seeds = self.seeds()
        if seeds:
            parts.append(self._named("Seeds of their own:", seeds))
        shares = self.shares()
        if shares:
            parts.append(self._named("Shares of ones:", shares))
        doubts = self.doubts()
        if doubts:
            parts.append(self._named("Perhaps not what was meant:", doubts))
        if self._groups(self.found):
            parts.append(_GROUPED)
        lost = self.lost_in_conversion()
        if lost:
            parts.append(bullets(lost))
        meaning, command = self.meaning()
        for part in (*parts, Text(meaning)):
            console.print()
            console.print(part)
        if command:
            print_command(console, command)
        self._print_noise(console)

    def _print_noise(self, console: Console) -> None:
        """Prints which inputs may be noise, and the command that draws them inside."""
        for line in self.noise.lines():
            console.print(Text(line))
        command = self.draw_command
        if command:
            print_command(console, command)

    @property
    def draw_command(self) -> str:
        """The command that draws inside the inputs that may be noise; empty without any."""
        return self.noise.command(self.model, self._target)

    @property
    def about_state(self) -> str:
        """Where the nodes of a rewrite have their state from, and where the next one is."""
        if self.next_state is None:
            return self.state
        return f"{self.state}; the output {self.next_state} is the input of the next run"

    @property
    def has_no_draws(self) -> bool:
        """Whether nothing in the model draws."""
        return not self.found and not self.rewritten and self.standard is None

    def _heading(self) -> Text:
        name = (str(self.model), "bold")
        opset = "" if self.opset is None else f", opset {self.opset}"
        if self.has_no_draws:
            where = ""
            if self.for_training:
                where = " but those of its training graphs"
            rest = "nothing to rewrite."
            if self.noise.drawable:
                rest = "but perhaps noise as an input."
            return Text.assemble(name, f"{opset}: no random nodes{where}, {rest}")
        parts = []
        if self.found:
            parts.append(counted(len(self.found), "random node"))
        if self.rewritten:
            done = counted(len(self.rewritten), "node")
            parts.append(f"{done} of onnx-philox, the same numbers in every runtime")
        if self.standard is not None:
            parts.append(self.standard.heading)
        return Text.assemble(name, f"{opset}: {'; '.join(parts)}")

    def lost(self) -> list[str]:
        """Why a model that should draw may have no random nodes."""
        if self.given.of_openvino:
            return list(self.lost_in_conversion())
        idle = []
        if self.idle_dropouts:
            count = counted(self.idle_dropouts, "Dropout node")
            is_off = "that is off" if self.idle_dropouts == 1 else "that are off"
            idle.append(f"It has {count} {is_off}: not in training mode, or of ratio 0.")
        if self.missing_functions:
            gone = ", ".join(self.missing_functions)
            idle.append(f"A function that is gone may be where it drew: {gone}.")
        head = "If it should draw, its random numbers were lost before:"
        if self.noise.drawable or self.noise.others:
            head = "If it should draw anything else, that was lost before:"
        return [head, *idle, *lost.WHAT_MAY_HAVE_HAPPENED, lost.WHAT_TO_DO]

    @property
    def model(self) -> Path:
        """The model's file."""
        return self.given.path

    def lost_in_conversion(self) -> list[str]:
        """What an IR does not show, since it may have been lost before; empty for others."""
        if not self.given.of_openvino:
            return []
        head = "What the conversion to OpenVINO may have lost, if it came from PyTorch:"
        return [head, *lost.LOST_IN_CONVERSION, lost.EXPORT]

    def _table(self) -> Table:
        table = terminal.table(
            terminal.NAME("random node"),
            terminal.WORD("operator"),
            *(f"{runtime.name} today" for runtime in self.runtimes),
            terminal.NAME("becomes"),
            terminal.NUMBER("stream"),
        )
        for found in self.found:
            node = found.node
            name = Text(node.called)
            if self.has_places:
                name.append(f"\n{place_of(node)}", "dim")
            today = []
            for runtime in self.runtimes:
                said = found.today(runtime)
                today.append(Text(said.label, reasons.style(is_wrong=said.is_wrong)))
            operator = "\n".join(operator_and_opset(node))
            table.add_row(name, operator, *today, becomes(node), stream_of(node))
        return table

    def _groups(self, nodes: Sized) -> bool:
        """Whether equal nodes are shown as one."""
        return len(nodes) > _MOST and not self.shows_all

    @property
    def has_places(self) -> bool:
        """Whether a node lies outside the main graph."""
        return any(found.node.path or found.node.function for found in self.found)

    def _blocks(self) -> Iterable[RenderableType]:
        """For each operator, what the runtimes do with it, then its nodes."""

        def does(found: InspectedNode) -> tuple[str, ...]:
            said = []
            for runtime in self.runtimes:
                for each in found.today(runtime).sentences:
                    said.append(each.text if self.shows_all else each.about)
            return operator_of(found.node), becomes(found.node).plain, *said

        def apart(found: InspectedNode) -> tuple[str, bool, bool]:
            return place_of(found.node), found.node.stream is None, found.problem is None

        for group in grouped(self.found, does):
            first = group[0]
            count = ""
            if len(group) > 1:
                count = f", {len(group)} nodes"
            yield ""
            yield Text.assemble((operator_of(first.node), "bold"), count)
            lines = terminal.grid()
            for runtime in self.runtimes:
                lines.add_row(f"  {runtime.title}", reasons.of_alike(runtime, group))
            lines.add_row("  becomes", becomes(first.node))
            alike = apart if self._groups(self.found) else id
            for row in grouped(group, alike):
                lines.add_row(*self._row(row))
            yield lines

    def _row(self, equal: list[InspectedNode]) -> tuple[str, Text]:
        """The streams and the names of nodes in one place, and why the first is not rewritten."""
        first = equal[0]
        place = f"  {place_of(first.node)}" if self.has_places else ""
        names = few_of([found.node.called for found in equal])
        text = Text.assemble(names, (place, "dim"))
        if first.problem is not None:
            text.append(f"\n{first.problem}")
        streams = [found.node.stream for found in equal if found.node.stream is not None]
        what = "stream" if streams else "node"
        if len(equal) > 1:
            what += "s"
        if streams:
            what += f" {ranged(streams)}"
        return f"  {what}", text

    def trial(self, runtime: Trials, found: InspectedNode) -> Trial:
        """What a runtime did with a node."""
        return runtime.trials[found.probe]

    def faults_in(self, runtime: Trials) -> list[str]:
        """What a runtime does wrong in it today, a sentence each."""
        return [each.known.says for each in self.met_in(runtime)]

    def met_in(self, runtime: Trials) -> list[faults.MetBySeveral]:
        """What a runtime does wrong where it draws several nodes of it today."""
        none = (Behaviour.REMOVED, *FAILURES)
        drawn = []
        for each in self.found:
            if self.trial(runtime, each).behaviour not in none:
                drawn.append(each.node)
        return faults.met(runtime.name, drawn)

    @property
    def in_the_way(self) -> list[str]:
        """Why runtimes do not load the model, whatever becomes of its random nodes."""
        of_all = unrun.about(self.of_no_runtime, self.for_training)
        missing = unrun.about_missing(self.missing_functions, self.missing_weights)
        of_each = []
        if not self._is_of_no_runtime:
            of_each = [in_the_way(r.title, r.in_the_way) for r in self.runtimes if r.in_the_way]
        return [*of_all, *missing, *of_each]

    @property
    def _is_of_no_runtime(self) -> bool:
        """Whether no runtime alone loads the model."""
        return bool(self.of_no_runtime or self.missing_functions or self.missing_weights)

    @property
    def faults(self) -> list[str]:
        """What the runtimes do wrong in it today."""
        return [fault for runtime in self.runtimes for fault in self.faults_in(runtime)]

    @property
    def _target(self) -> str:
        """The name of the file that commands write."""
        suffix = self.model.suffix if self.given.of_openvino else ".onnx"
        return f"{self.model.stem}.reproducible{suffix}"

    def meaning(self) -> tuple[str, str]:
        """What a rewrite would do, and the command for it."""
        files = (str(self.model), self._target)
        command = "onnx-philox rewrite {} -o {}".format(*map(shlex.quote, files))
        stuck = [found for found in self.found if found.problem is not None]
        if self.obstacle is not None:
            return f"It cannot be rewritten as it is: {self.obstacle}", ""
        if not stuck:
            return f"{self._today()}, from a state that is an input:", command
        is_rest_left = all(found.may_stay for found in stuck)
        if is_rest_left and len(stuck) < len(self.found):
            others = counted(len(stuck), "node")
            return f"To rewrite all but {others}:", f"{command} {KEEP_UNKNOWN}"
        return "It cannot be rewritten as it is: see above.", ""

    def _named(self, head: str, rows: list[tuple[str, str]]) -> RenderableType:
        """A heading, and below it something of each node, or of the first few of many."""
        lines = terminal.grid()
        shown = len(rows)
        if len(rows) > FEW and self._groups(self.found):
            shown = FEW
        for name, text in rows[:shown]:
            lines.add_row(f"  {name}", text)
        more = len(rows) - shown
        if more:
            lines.add_row("  ...", f"and {counted(more, 'node')} more")
        return Group(Text(head), lines)

    def seeds(self) -> list[tuple[str, str]]:
        """What becomes of the seeds of each node that has some, and of those of equal ones."""
        remarks = []
        nodes = []
        for found in self.found:
            nodes.append(found.node)
            if found.seeds is not None:
                remarks.append((found.node.called, found.seeds))
        for alike, what in equal_seeds.remarks(nodes, KEEP_SEEDS):
            remarks.append((few_of(alike.names), f"{alike.seeds}: {what}"))
        return remarks

    def shares(self) -> list[tuple[str, str]]:
        """How often each Bernoulli is true."""
        nodes = [found.node for found in self.found]
        return [(node.called, node.share) for node in nodes if node.share is not None]

    def doubts(self) -> list[tuple[str, str]]:
        """What says of a node that the model may not draw what was meant."""
        nodes = [found.node for found in self.found]
        return [(node.called, node.doubt) for node in nodes if node.doubt is not None]

    def per_row(self) -> tuple[str, list[tuple[str, str]]]:
        """Which nodes could draw each row of the batch from a state of its own.

        The answer, and for each node that could not its name and why.
        """
        if self.row_obstacle is not None:
            return f"not possible: {self.row_obstacle}", []
        apart = []
        for found in self.found:
            if found.row_problem is not None:
                apart.append((found.node.called, found.row_problem))
        rows = f"draw rows of {self.batch and self.batch.where}"
        if not apart:
            doubts = about_batch(self.batch) if self.batch else []
            others = f"; {' '.join(doubts)}" if doubts else "."
            return f"possible, all nodes {rows}{others}", []
        proved = len(self.found) - len(apart)
        count = f"{proved} of {counted(len(self.found), 'node')}"
        return f"{count} {rows}. The others cannot:", apart

    @property
    def is_other_in_each(self) -> bool:
        """Whether several runtimes were tried, and draw the same numbers for no node."""
        tried = [r for r in self.runtimes if r.version is not None]
        if len(tried) < 2:
            return False
        for found in self.found:
            draws = {self.trial(runtime, found).draw for runtime in self.runtimes}
            if len(draws) == 1 and None not in draws:
                return False
        return True

    def _today(self) -> str:
        if self.given.of_openvino:
            return "After a rewrite a seed decides what they draw, in every run and process"
        installed = []
        takes = []
        for runtime in self.runtimes:
            if runtime.version is not None:
                installed.append(runtime.name)
                if runtime.in_the_way == "":
                    takes.append(runtime.name)
        if self._is_of_no_runtime or not takes:
            return "After a rewrite a seed decides what they draw"
        if takes != installed:
            return f"After a rewrite a seed decides what they draw, in {listed(takes)}"
        if not self.is_other_in_each:
            return "After a rewrite they draw the same numbers in every runtime"
        return "Today no node draws the same numbers in both runtimes; after a rewrite all do"

    def _found_json(self) -> list[dict[str, Any]]:
        nodes = equal_seeds.documents([found.node for found in self.found])
        for found, node in zip(self.found, nodes, strict=True):
            node |= {"where": found.node.where, "per_row_problem": found.row_problem}
            node["of_its_seeds"] = found.seeds
            node["today"] = {}
            for runtime in self.runtimes:
                node["today"][runtime.name] = found.today(runtime).to_json()
        return nodes
