"""Nodes of equal explicit seeds: which repeat each other in the runtimes, and which do not.

The runtime decides, by its own rule for seeds: see `Seeded`.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from onnx_philox._contract import shown
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.shown import listed
from onnx_philox._rewriting.not_rows import few
from onnx_philox._rewriting.report import RandomNode
from onnx_philox._rewriting.seeded import OF_TENSORFLOW, Seeded

_UNMEANT = "seed 0"
"""What some exporters write into every node, and mean nothing by it."""


@dataclass(frozen=True)
class Alike:
    """Several nodes, and the seeds that are one seed in the runtime."""

    seeds: str
    """In words, such as "seed 12"."""
    nodes: tuple[RandomNode, ...]

    @classmethod
    def of(cls, nodes: Sequence[RandomNode]) -> Alike:
        """Nodes with explicit seeds."""
        seeds = [node.explicit_seed or "" for node in nodes]
        # Each seed once, in their order.
        written = list(dict.fromkeys(seeds))
        if len(written) == 1:
            return cls(written[0], tuple(nodes))
        return cls(f"{listed(written, 'and')} (the same seed there)", tuple(nodes))

    @property
    def names(self) -> list[str]:
        """What messages call the nodes."""
        return [node.called for node in self.nodes]

    @property
    def where(self) -> str:
        """What draws them so, in words."""
        (node, *_) = self.nodes
        seeded = node.seeded
        if seeded is not None and seeded.numbers.startswith(OF_TENSORFLOW):
            return "TensorFlow"
        return "the runtimes"

    def __str__(self) -> str:
        return f"{self.seeds} of {few(self.names)}"


def repeating(nodes: Iterable[RandomNode]) -> list[Alike]:
    """The nodes that repeat each other in the runtimes, and would lose that."""
    alike: dict[Hashable, list[RandomNode]] = {}
    for node, seeded in _seeded(nodes):
        alike.setdefault(seeded, []).append(node)
    several = []
    for same in alike.values():
        if len(same) > 1:
            several.append(Alike.of(same))
    return several


def in_doubt(nodes: Iterable[RandomNode]) -> list[Alike]:
    """The nodes that repeat each other if sizes are equal which the model does not show."""
    alike: dict[Hashable, list[tuple[RandomNode, Seeded]]] = {}
    for node, seeded in _seeded(nodes):
        one = (seeded.seed, seeded.numbers, seeded.place)
        pairs = alike.setdefault(one, [])
        pairs.append((node, seeded))
    found = []
    for some in alike.values():
        rules = [seeded for _, seeded in some]
        doubtful = [node for node, own in some if _may_repeat_any(own, rules)]
        if doubtful:
            found.append(Alike.of(doubtful))
    return found


def remarks(nodes: Sequence[RandomNode], option: str) -> list[tuple[Alike, str]]:
    """What becomes of nodes of one seed; `option` is what keeps them as they are."""
    own = "A rewrite gives each numbers of its own"
    always = f"they repeat each other. {own}; {option} lets them draw the same."
    perhaps = "they repeat each other where their sizes are equal, which the model does not show. "
    perhaps += f"{own}."
    certain = [(alike, f"in {alike.where} {always}") for alike in repeating(nodes)]
    doubtful = [(alike, f"in {alike.where} {perhaps}") for alike in in_doubt(nodes)]
    return certain + doubtful


def documents(nodes: Sequence[RandomNode]) -> list[dict[str, Any]]:
    """Nodes as JSON has them: with a number that those have in common that repeat each other."""
    groups: dict[int, int] = {}
    for number, group in enumerate(repeating(nodes)):
        for each in group.nodes:
            groups.setdefault(id(each), number)
    # What the runtime makes of a seed is not of JSON's types.
    plain = [asdict(replace(node, seeded=None)) for node in nodes]
    for node, document in zip(nodes, plain, strict=True):
        del document["seeded"]
        document["repeats"] = groups.get(id(node))
    return plain


def about_those_apart(nodes: Iterable[RandomNode]) -> str:
    """A line about nodes of one seed that do not go together in the runtimes; empty without any.

    A node in doubt is not among them.
    """
    of_one_seed: dict[Hashable, dict[Seeded, list[RandomNode]]] = {}
    for node, seeded in _seeded(nodes):
        groups = of_one_seed.setdefault(seeded.seed, {})
        groups.setdefault(seeded, []).append(node)
    said = []
    first_runs: dict[str, None] = {}
    for groups in of_one_seed.values():
        apart = [each for each in groups if not _may_repeat_any(each, groups)]
        if len(apart) < 2:
            continue
        everything = []
        parts = []
        for each in apart:
            everything += groups[each]
            names = Alike.of(groups[each]).names
            parts.append(f"{few(names)} ({_what(each)})")
            others = [other for other in apart if other is not each]
            same_numbers = [other for other in others if other.numbers == each.numbers]
            if any(other.size != each.size for other in same_numbers):
                kind, _, _ = each.kind.partition(" ")
                first_runs[kind] = None
        seeds = Alike.of(everything).seeds
        said.append(f"{seeds}: {', '.join(parts)}")
    if not said:
        return ""
    line = "Nodes of one seed that draw different numbers in ONNX Runtime still do, each group "
    line += f"from a stream of its own: {'; '.join(said)}."
    for kind in first_runs:
        line += f" In ONNX Runtime {kind} of different sizes agree only in a session's first run."
    return line


def _may_repeat_any(own: Seeded, groups: Iterable[Seeded]) -> bool:
    return any(own != other and own.may_repeat(other) for other in groups)


def _what(seeded: Seeded) -> str:
    what = seeded.kind
    if seeded.size is not None:
        what += f", {seeded.size}"
    if seeded.place:
        what += ", in a loop or a branch"
    return what


def _seeded(nodes: Iterable[RandomNode]) -> list[tuple[RandomNode, Seeded]]:
    found = []
    for node in nodes:
        if node.seeded is not None and not node.keeps_seeds:
            found.append((node, node.seeded))
    return found


def warn(nodes: Sequence[RandomNode], generator: Generator, *, keeps: bool) -> None:
    """Warns of nodes that repeat each other today, or may, and no more after a rewrite."""
    if all(node.explicit_seed == _UNMEANT for node in nodes):
        return
    repeated = [] if keeps else repeating(nodes)
    if repeated:
        text = "nodes of equal seeds repeat each other in the runtimes, and now draw numbers of "
        groups = "; ".join(map(str, repeated))
        text += f"their own: {groups}"
        if generator.is_counter_based:
            text += ". With keep_seeds=True (--keep-seeds) they draw the same again"
        warnings.warn(text, stacklevel=shown.stacklevel())
    doubts = in_doubt(nodes)
    if doubts:
        text = "nodes of equal seeds draw the same in the runtimes where their sizes are equal, "
        text += "and now draw numbers of their own, since the model does not show that these are: "
        text += "; ".join(map(str, doubts))
        if generator.is_counter_based:
            text += ". Declare the shapes that they are of, and pass keep_seeds=True (--keep-seeds)"
            text += ", to let those of one size draw the same again"
        warnings.warn(text, stacklevel=shown.stacklevel())
