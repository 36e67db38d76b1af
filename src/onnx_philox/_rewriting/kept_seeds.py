"""Nodes that keep their own seeds: which streams they leave to no other, and what they repeat.

And nodes whose equal seeds they do not keep, so that they repeat each other no more.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from onnx_philox._contract import checks, shown
from onnx_philox._contract.generators import PHILOX, Generator
from onnx_philox._rewriting.not_rows import few
from onnx_philox._rewriting.report import RandomNode

STREAMS = 2**32
"""How many streams there are: counter word 2 tells them apart."""


@dataclass(frozen=True)
class KeptSeeds:
    """The seeds of a node that takes no stream."""

    title: str
    """What messages call the node."""
    global_seed: int
    op_seed: int
    generator: Generator = PHILOX
    """The generator by which it draws."""

    @property
    def stream(self) -> int | None:
        """The stream that it draws, in this run or another one; None where it has its own key."""
        if self.global_seed or not self.generator.is_counter_based:
            return None
        return self.op_seed % STREAMS

    def __str__(self) -> str:
        return seeds_in_words(self.global_seed, self.op_seed)


def seeds_in_words(global_seed: int, op_seed: int) -> str:
    """Two seeds, in words."""
    return f"global_seed {global_seed} and op_seed {op_seed}"


def streams_of(kept: Collection[KeptSeeds]) -> frozenset[int]:
    """The streams that no other node may have."""
    return frozenset(each.stream for each in kept if each.stream is not None)


def check_streams(kept: Collection[KeptSeeds], numbered: Mapping[int, str]) -> None:
    """Refuses seeds that draw what a node with a number that stays draws.

    Args:
        kept: The nodes that keep their seeds.
        numbered: The numbers that an earlier rewrite or a conversion gave, each with its node.

    Raises:
        ValueError: There are such seeds.
    """
    for each in kept:
        if each.stream is not None and each.stream in numbered:
            what = "the op_seed, beside a global_seed of 0,"
            allowed = f"none that is {each.stream} mod 2^32, the stream of {numbered[each.stream]}"
            remedy = "Give one of the two nodes another op_seed, or this one a global_seed."
            checks.refuse(each.title, what, each.op_seed, allowed, remedy)


def warn_of_repeats(new: Collection[KeptSeeds], before: Collection[KeptSeeds]) -> None:
    """Warns of nodes that draw each other's numbers, in the same run or in others."""
    equal = "draw equal numbers, since their seeds are equal"
    alike = "repeat each other's numbers in other runs, since their op_seeds agree mod 2^32"
    ways = {_are_equal: equal, _are_alike: alike}
    known = list(before)
    for each in new:
        found = ((other, what) for are, what in ways.items() for other in known if are(other, each))
        for other, what in itertools.islice(found, 1):
            pair = f"{other.title}, of {other}, and {each.title}, of {each},"
            warnings.warn(f"{pair} {what}", stacklevel=shown.stacklevel())
        known.append(each)


_UNMEANT = "seed 0"
"""What some exporters write into every node, and mean nothing by it."""


REPEATED = "in the runtimes they repeat each other. A rewrite gives each numbers of its own"
"""What becomes of nodes with equal seeds that are not kept."""


def equal_seeds(nodes: Iterable[RandomNode]) -> dict[str, list[RandomNode]]:
    """The explicit seeds of several nodes which do not keep them, each with these nodes."""
    found: dict[str, list[RandomNode]] = {}
    for node in nodes:
        if node.explicit_seed is not None and not node.keeps_seeds:
            found.setdefault(node.explicit_seed, []).append(node)
    return {seed: alike for seed, alike in found.items() if len(alike) > 1}


def warn_of_equal_seeds(nodes: Sequence[RandomNode], generator: Generator) -> None:
    """Warns of nodes that repeat each other today, and no more after a rewrite."""
    equal = equal_seeds(nodes)
    if not equal or all(node.explicit_seed == _UNMEANT for node in nodes):
        return
    said = "; ".join(f"{seed} of {few([n.called for n in e])}" for seed, e in equal.items())
    text = "nodes of equal seeds repeat each other in the runtimes, and now draw numbers of their "
    text += f"own: {said}"
    if generator.is_counter_based:
        text += ". With keep_seeds=True (--keep-seeds) they draw the same again"
    warnings.warn(text, stacklevel=shown.stacklevel())


def _are_equal(one: KeptSeeds, other: KeptSeeds) -> bool:
    if one.generator is not other.generator or one.global_seed != other.global_seed:
        return False
    return not one.generator.is_counter_based or one.op_seed == other.op_seed


def _are_alike(one: KeptSeeds, other: KeptSeeds) -> bool:
    if not (one.generator.is_counter_based and other.generator.is_counter_based):
        return False
    return one.global_seed == other.global_seed and (one.op_seed - other.op_seed) % STREAMS == 0
