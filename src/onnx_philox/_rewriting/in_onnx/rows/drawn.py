"""What a random node draws, as the walk through the rows sees it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from onnx_philox._contract.declaration import Role
from onnx_philox._contract.operators import (
    DOMAIN,
    OPERATORS,
    RANDOM_GENERATOR,
    RANDOM_PERMUTATION,
)
from onnx_philox._rewriting.in_onnx.random_nodes import of_tensorflow
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import DROPOUT, fused_dropout
from onnx_philox._rewriting.places import Dimensions, Place
from onnx_philox._rewriting.rows.known import InPlace, Knowledge, Rows
from onnx_philox._rewriting.rows.moves import GONE, ByAxis, Part, Step

_OF_A_TENSOR = ("Bernoulli", "Dropout", "Multinomial")


@dataclass(frozen=True)
class Drawing:
    """A random node that a rewrite replaces."""

    node: ir.Node
    shape: Dimensions | None
    """Of what it draws."""
    like: ir.Value | None
    """The tensor whose shape that is; None where it is a new one."""
    is_said: bool = False
    """Whether its user says that it draws rows of its first dimension."""

    def has_unknown(self, place: Place) -> bool:
        """Whether nobody knows the size of another dimension than that with the batch."""
        others = [d for axis, d in enumerate(self.shape or ()) if axis != place.axis]
        return self.shape is None or None in others

    def places(self, step: Step, like: Knowledge) -> list[tuple[Place, InPlace]]:
        """Where the batch stands in it: in one place, or it draws no rows.

        By the sizes, and where nobody knows these by the rows of the tensor whose shape it has.
        """
        dims, products = step.made[0], step.products
        standing = like.places
        if any(is_logits for _, is_logits in self._met()):
            # The classes are no dimension of what is drawn.
            standing = frozenset(place for place in standing if place.axis == 0)
        if self.like is not None and like.lost is None and standing:
            return self._like(step, standing)
        if self.shape is None or dims is None:
            return []
        rank = len(dims)
        found = []
        for axis, dimension in enumerate(self.shape):
            for _ in range(products.count(dimension, step.batch)):
                inner = products.quotient((dimension,), (step.batch,))
                place = Place(axis, rank, dimension != step.batch)
                found.append((place, InPlace(axis, 1, inner)))
        if self.is_said and self.shape and not isinstance(self.shape[0], int) and len(found) == 1:
            return [each for each in found if each[0].is_first]
        return found

    def _like(
        self, step: Step, standing: Collection[InPlace]
    ) -> list[tuple[Place, InPlace]]:
        """The places of a tensor whose shape it has."""
        dims = step.made[0] if self.shape is None else self.shape
        if dims is None:
            return []
        found = []
        for axis, dimension in enumerate(dims):
            there = [place for place in standing if place.axis == axis]
            found += [(Place(axis, len(dims), p.inner != 1), p) for p in there]
            # Those that have the size of the batch, in whatever order.
            more = step.products.count(dimension, step.batch) - len(there)
            found += [(Place(axis, len(dims)), InPlace(axis))] * more
        if len(found) == 1 and found[0][1].outer != 1:
            return []
        if self.is_said and len(found) == 1 and not isinstance(dims[0], int):
            return [each for each in found if each[0].is_first]
        return found

    def noise(self, place: InPlace) -> Knowledge:
        """What is known of the numbers alone."""
        if self.is_said:
            return Knowledge(frozenset({place}), Rows.MAYBE)
        return Knowledge(frozenset({place}), noise=frozenset({self.node}))

    def is_mask(self, output: int) -> bool:
        """Whether an output says which elements of the data are dropped."""
        node = self.node
        if node.domain == DOMAIN:
            return bool(output) and OPERATORS[node.op_type].drawn_output == output
        return output == 1

    def parameters(self, step: Step) -> list[Part]:
        """The inputs that the numbers meet in it: parameters, and the data of a dropout."""
        parts = []
        for index, is_logits in self._met():
            known = step.known[index] if index < len(step.known) else None
            if known is None:
                continue
            own, rank = step.rank(index), step.rank_made(0)
            if is_logits:
                parts.append(Part(known, ByAxis([0, *[GONE] * (own - 1)])))
            else:
                parts.append(Part(known, ByAxis(range(rank - own, rank), ones=step.ones(index))))
        return parts

    def _met(self) -> Sequence[tuple[int, bool]]:
        """Those inputs, and which of them are logits."""
        node = self.node
        if node.domain == DOMAIN:
            declared = OPERATORS[node.op_type].inputs
            roles = (Role.DATA, Role.NUMBERS, Role.NUMBER, Role.LOGITS)
            return [(i, d.role is Role.LOGITS) for i, d in enumerate(declared) if d.role in roles]
        if of_tensorflow.is_known(node):
            last = len(node.inputs) - 1
            of_kind = {
                "categorical": [(0, True)],
                "gamma": [(1, False)],
                "poisson": [(1, False)],
                "integers": [(last - 1, False), (last, False)],
                "shuffle": [(0, False)],
            }
            return of_kind.get(of_tensorflow.KINDS[node.op_type], [])
        if node.op_type == "Multinomial":
            return [(0, True)]
        if node.op_type == "Bernoulli":
            return [(0, False)]
        dropout = fused_dropout(node) or (DROPOUT if node.op_type == "Dropout" else None)
        if dropout is None:
            return []
        data = [0, dropout.ratio, dropout.bias, dropout.residual]
        return [(index, False) for index in data if index is not None]


def filled(node: ir.Node) -> ir.Value | None:
    """The tensor like which a draw lies in memory; None where it is a new one."""
    if node.domain != DOMAIN:
        takes_tensor = node.op_type.endswith("Like") or node.op_type in _OF_A_TENSOR
        is_fused = fused_dropout(node) is not None
        return node.inputs[0] if (takes_tensor or is_fused) and node.inputs else None
    operator = OPERATORS.get(node.op_type)
    if operator in (None, RANDOM_GENERATOR, RANDOM_PERMUTATION) or not node.inputs:
        return None
    given = node.inputs[0]
    producer = None if given is None else given.producer()
    if operator is not None and operator.has_shape:
        # Of a part of the shape other dimensions would be asked.
        if producer is None or producer.op_type != "Shape" or producer.attributes:
            return None
        return producer.inputs[0]
    return given
