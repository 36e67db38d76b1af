"""What runtimes do with nodes, in sentences: the worst first, and each once for all its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from onnx_philox._command import terminal
from onnx_philox._command.inspect.in_words import FEW, counted, few_of, operator_of
from onnx_philox._command.inspect.today import InspectedNode, Sentence
from onnx_philox._command.inspect.trials import Trials


def style(*, is_wrong: bool) -> str:
    """The colour of what a runtime does."""
    return "red" if is_wrong else ""


def table(runtimes: Sequence[Trials], found: Sequence[InspectedNode], *, shows_all: bool) -> Table:
    """Each reason of each runtime once, with whom it concerns; then what cannot be rewritten.

    Of sentences that differ in details alone the first few are shown, unless `shows_all`.
    """
    lines = terminal.grid(words=2)
    for runtime in runtimes:
        title = runtime.title
        for whom, text in _rows(runtime, found, shows_all=shows_all):
            lines.add_row(title, whom, text)
            title = ""
    problems = dict.fromkeys(each.problem for each in found if each.problem)
    for i, problem in enumerate(problems):
        lines.add_row("" if i else "a rewrite", "", problem)
    return lines


def _rows(
    runtime: Trials,
    found: Sequence[InspectedNode],
    *,
    shows_all: bool,
) -> Iterator[tuple[str, Text]]:
    nodes: dict[str, dict[Sentence, list[InspectedNode]]] = {}
    for each in found:
        for sentence in each.today(runtime).sentences:
            nodes.setdefault(sentence.about, {}).setdefault(sentence, []).append(each)
    for said in sorted(nodes.values(), key=_rank):
        shown = [*said.items()]
        if len(shown) > FEW and not shows_all:
            shown = shown[: FEW - 1]
        for sentence, of_it in shown:
            yield _whom(of_it, found), Text(sentence.text, style(is_wrong=sentence.is_wrong))
        rest = [*said.values()][len(shown) :]
        if rest:
            more = counted(sum(map(len, rest)), "node")
            yield "", Text(f"And {more} likewise: --all lists them.")


def _rank(said: dict[Sentence, list[InspectedNode]]) -> bool:
    """What is wrong comes before what is not."""
    return not any(sentence.is_wrong for sentence in said)


def _whom(concerned: Sequence[InspectedNode], found: Sequence[InspectedNode]) -> str:
    """The operators of which every node is concerned, and the names of other nodes."""
    named = [each.node.called for each in concerned]
    operators = dict.fromkeys(operator_of(each.node) for each in concerned)
    of_them = [each for each in found if operator_of(each.node) in operators]
    return "\n".join(operators) if len(of_them) == len(concerned) else few_of(named)


def of_alike(runtime: Trials, group: Sequence[InspectedNode]) -> Text:
    """What a runtime does with nodes that differ in details alone; those of the first are shown."""
    first, *others = group
    lines = []
    for sentence in first.today(runtime).sentences:
        text = sentence.text
        if any(sentence not in other.today(runtime).sentences for other in others):
            text += f" And {counted(len(others), 'node')} likewise: --all lists them."
        lines.append(Text(text, style(is_wrong=sentence.is_wrong)))
    return Text("\n").join(lines)
