"""The random nodes of an ONNX model, and which of them are alike to ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import onnx_ir as ir

from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import MODULUS, start_of
from onnx_philox._rewriting.report import RandomNode
from onnx_philox._rewriting.seeded import Seeded

UNIFORMS = ("RandomUniform", "RandomUniformLike")
NORMALS = ("RandomNormal", "RandomNormalLike")
# With so many others a seed is compared.
_MOST_SEEDS = 256


@dataclass(frozen=True)
class Met:
    """A random node of a model."""

    node: ir.Node
    record: RandomNode
    types: Types

    @property
    def is_of_onnx(self) -> bool:
        """Whether the runtimes draw it themselves."""
        return self.node.domain in STANDARD_DOMAINS

    @property
    def seed(self) -> float | None:
        """The seed that it has; None without one."""
        given = self.node.attributes.get("seed")
        if given is None or given.type is not ir.AttributeType.FLOAT:
            return None
        return given.as_float()


WhatItIs = Callable[[Met], Hashable | None]


class MetNodes:
    """The random nodes of a model, in their order, and which of them are alike.

    What is asked of each node among all others is sorted out once: models have thousands.
    """

    def __init__(self, nodes: Sequence[Met]) -> None:
        self.nodes = nodes
        self._alike: dict[WhatItIs, dict[Hashable, list[Met]]] = {}

    def alike(self, met: Met, what: WhatItIs) -> list[Met]:
        """The nodes of which a function says the same as of this one; none where it says None."""
        if what not in self._alike:
            found = self._alike[what] = {}
            for each in self.nodes:
                found.setdefault(what(each), []).append(each)
        said = what(met)
        return [] if said is None else self._alike[what][said]

    @cached_property
    def seeded_uniforms(self) -> list[tuple[Met, int]]:
        """The first few nodes with a seed that read uniforms, and what those are multiplied by.

        The number is that by which the uniforms of seed 1 are multiplied.
        """
        found = []
        for met in self.nodes:
            if reads_uniforms(met) and met.seed is not None:
                found.append((met, factor_of(met.seed)))
        return found[:_MOST_SEEDS]

    @cached_property
    def seeded_normals(self) -> list[Met]:
        """The first few normals with a seed."""
        normals = [met for met in self.nodes if met.node.op_type in NORMALS]
        found = [met for met in normals if met.seed is not None]
        return found[:_MOST_SEEDS]

    @cached_property
    def of_one_seed(self) -> Mapping[Seeded, list[Met]]:
        """Nodes with explicit seeds, by what the runtime makes of those."""
        found: dict[Seeded, list[Met]] = {}
        for met in self.nodes:
            if met.record.seeded is not None:
                found.setdefault(met.record.seeded, []).append(met)
        return found

    def of_one_number(self, met: Met) -> list[Met]:
        """Nodes without a seed, of a node's kind, that have its number in their own graphs."""
        return self._unseeded[self._kind_and_number(met)]

    @cached_property
    def _unseeded(self) -> Mapping[tuple[bool, int], list[Met]]:
        found: dict[tuple[bool, int], list[Met]] = {}
        for met in self.nodes:
            if is_unseeded(met):
                found.setdefault(self._kind_and_number(met), []).append(met)
        return found

    def _kind_and_number(self, met: Met) -> tuple[bool, int]:
        return met.node.op_type in UNIFORMS, self._numbers[met.node]

    @cached_property
    def _numbers(self) -> Mapping[ir.Node, int]:
        """The number of each node in its graph, where constants are no nodes."""
        found: dict[ir.Node, int] = {}
        for graph in {met.node.graph for met in self.nodes}:
            number = 0
            for node in graph or ():
                found[node] = number
                number += node.op_type != "Constant"
        return found


def factor_of(seed: float) -> int:
    """What the numbers of seed 1 are multiplied by, modulo 1; below 0 where that is nearer."""
    start = start_of(seed)
    return start if start <= MODULUS // 2 else start - MODULUS


def is_bernoulli(met: Met) -> bool:
    return met.is_of_onnx and met.node.op_type == "Bernoulli"


def is_choice(met: Met) -> bool:
    """Whether a node compares uniforms with probabilities."""
    return met.is_of_onnx and met.node.op_type in ("Bernoulli", "Multinomial")


def reads_uniforms(met: Met) -> bool:
    """Whether each of its numbers is of one uniform."""
    return is_choice(met) or (met.is_of_onnx and met.node.op_type in UNIFORMS)


def is_unseeded(met: Met) -> bool:
    # How the nodes of a function are numbered, its calls decide.
    is_numbered = met.is_of_onnx and met.record.function is None
    return is_numbered and met.node.op_type in (*UNIFORMS, *NORMALS) and met.seed is None
