"""Nodes in words: what operator one is, where it is and what becomes of it; several of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from onnx_philox._command import terminal
from onnx_philox._command.inspect import search
from onnx_philox._contract.operators import RANDOM_BERNOULLI, RANDOM_PERMUTATION
from onnx_philox.rewriting import RandomNode

T = TypeVar("T")
FEW = 3
"""So many are shown of a list, where its other entries say the same."""


def few_of(given: Sequence[str]) -> str:
    """The first of many names and how many there are; a last one would make a range of them."""
    if len(given) <= FEW:
        return ", ".join(given)
    first = ", ".join(given[: FEW - 1])
    return f"{first}, ... ({len(given)} nodes)"


def ranged(numbers: Iterable[int]) -> str:
    """Numbers such as streams: a range, or the first and the last of them."""
    given = sorted(set(numbers))
    count = len(given)
    if count > 1 and given[-1] - given[0] == count - 1:
        return f"{given[0]} to {given[-1]}"
    few = [str(number) for number in given]
    if count > FEW:
        few = [*few[:2], "...", few[-1]]
    return ", ".join(few)


def grouped(
    items: Iterable[T],
    key: Callable[[T], Any],
) -> Iterable[list[T]]:
    """The items of each key together, in the order in which the keys first appear."""
    groups: dict[Any, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups.values()


def bullets(lines: list[str]) -> RenderableType:
    """A list between its first and its last line."""
    head, *points, end = lines
    shown = terminal.grid(space=1)
    for point in points:
        shown.add_row("-", point)
    return Group(head, shown, end)


def counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def place_of(node: RandomNode) -> str:
    """Where a node is, in words."""
    origin = f", from the function {node.function}" if node.function else ""
    return path_of(node.path) + origin


def path_of(path: tuple[str, ...]) -> str:
    if not path:
        return "in the main graph"
    return f"in {' > '.join(path)}"


def operator_of(node: RandomNode) -> str:
    """A node's operator, and the opset that defines it: ``Dropout (opset 13)``."""
    return " ".join(operator_and_opset(node))


def operator_and_opset(node: RandomNode) -> list[str]:
    """What `operator_of` says, in two parts; only the first where no opset is known."""
    domain = f"{node.domain}::" if node.domain not in ("", "ai.onnx") else ""
    operator = f"{domain}{node.op_type}"
    if node.version is None:
        return [operator]
    return [operator, f"(opset {node.version})"]


def becomes(node: RandomNode) -> Text:
    """What a rewrite makes of a node."""
    if node.problem is not None:
        return Text("cannot be rewritten", "bold red")
    # A Bernoulli draws booleans, whatever type they are cast to; a permutation shuffles any type.
    is_of_any_type = node.replacement in (RANDOM_BERNOULLI.name, RANDOM_PERMUTATION.name)
    type_ = None if is_of_any_type else node.output_type
    return Text(" ".join(filter(None, (node.replacement, type_))))


def stream_of(node: RandomNode) -> str:
    """The stream that a rewrite gives a node; empty for none."""
    return "" if node.stream is None else str(node.stream)


def print_command(console: Console, command: str) -> None:
    """Prints a command line unwrapped, so that it can be copied."""
    console.print(Text(f"  {command}", "bold"), soft_wrap=True)


def rewritten_table(nodes: list[search.Rewritten], *, is_grouped: bool) -> Table:
    has_places = any(node.path for node in nodes)
    has_seeds = any(node.global_seed for node in nodes)
    numbers = ["global seed", "stream"] if has_seeds else ["stream"]
    columns = (terminal.NAME("node"), terminal.WORD("operator"), *map(terminal.NUMBER, numbers))
    table = terminal.table(*columns)
    alike = attrgetter("path", "operator", "global_seed", "keeps_seeds")
    for equal in grouped(nodes, alike if is_grouped else id):
        node = equal[0]
        seed = [str(node.global_seed)] if has_seeds else []
        name = Text(few_of([each.name or "(no name)" for each in equal]))
        if has_places:
            name.append(f"\n{path_of(node.path)}", "dim")
        count = len(equal)
        operator = node.operator if count == 1 else f"{count} {node.operator}"
        streams = ranged(each.stream for each in equal)
        if node.keeps_seeds:
            streams = f"its op_seed {streams}"
        table.add_row(name, operator, *seed, streams)
    return table
