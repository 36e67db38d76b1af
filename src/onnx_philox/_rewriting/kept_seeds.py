"""Nodes that keep their own seeds: which streams they leave to no other, and what they repeat."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from onnx_philox._contract import checks, shown
from onnx_philox._contract.generators import PHILOX, Generator

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
            other = numbered[each.stream]
            allowed = f"other than {each.stream} modulo 2^32, which is the stream of {other}"
            remedy = "Give one of the two nodes another op_seed, or this one a global_seed."
            checks.refuse(each.title, what, each.op_seed, allowed, remedy)


def warn_of_repeats(new: Collection[KeptSeeds], before: Collection[KeptSeeds]) -> None:
    """Warns of nodes that draw each other's numbers, in the same run or in others."""
    equal = "draw equal numbers, since their seeds are equal"
    alike = "repeat each other's numbers in other runs, since their op_seeds agree mod 2^32"
    ways = {_are_equal: equal, _are_alike: alike}
    known = list(before)
    for each in new:
        found = []
        for are, what in ways.items():
            found += [(other, what) for other in known if are(other, each)]
        if found:
            other, what = found[0]
            pair = f"{other.title}, of {other}, and {each.title}, of {each},"
            warnings.warn(f"{pair} {what}", stacklevel=shown.stacklevel())
        known.append(each)


def _are_equal(one: KeptSeeds, other: KeptSeeds) -> bool:
    if one.generator is not other.generator:
        return False
    if one.global_seed != other.global_seed:
        return False
    return not one.generator.is_counter_based or one.op_seed == other.op_seed


def _are_alike(one: KeptSeeds, other: KeptSeeds) -> bool:
    if not (one.generator.is_counter_based and other.generator.is_counter_based):
        return False
    if one.global_seed != other.global_seed:
        return False
    return (one.op_seed - other.op_seed) % STREAMS == 0
