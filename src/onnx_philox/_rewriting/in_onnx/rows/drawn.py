"""What a random node draws, as the walk through the rows sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir

from onnx_philox._contract.declaration import Role
from onnx_philox._contract.operators import (
    DOMAIN,
    OPERATORS,
    RANDOM_GENERATOR,
    RANDOM_PERMUTATION,
)
from onnx_philox._rewriting.in_onnx.random_nodes import tensorflow_random_nodes
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import (
    DROPOUT,
    DropoutPlaces,
    fused_dropout,
)
from onnx_philox._rewriting.places import Dimensions
from onnx_philox._rewriting.rows.drawing import DrawnShape
from onnx_philox._rewriting.rows.meetings import Part
from onnx_philox._rewriting.rows.step import Step
from onnx_philox._rewriting.rows.where_dimensions_go import GONE, ByAxis

_OF_A_TENSOR = ("Bernoulli", "Dropout", "Multinomial")


@dataclass(frozen=True)
class DrawnRows(DrawnShape):
    """A random node that a rewrite replaces."""

    key: ir.Node
    like: ir.Value | None = None
    """The tensor whose shape it has; None where that is a new one."""

    @classmethod
    def of(cls, node: ir.Node, shape: Dimensions | None, *, is_said: bool) -> DrawnRows:
        """That of a node, given the shape of what it draws."""
        is_of_logits = any(is_logits for _, is_logits in _met(node))
        return cls(node, shape, is_said, is_of_logits, filled(node))

    def is_mask(self, output: int) -> bool:
        """Whether an output says which elements of the data are dropped."""
        node = self.key
        if node.domain == DOMAIN:
            return bool(output) and OPERATORS[node.op_type].drawn_output == output
        return output == 1

    def parameters(self, step: Step) -> list[Part]:
        """The inputs that the numbers meet in it: parameters, and the data of a dropout."""
        parts = []
        for index, is_logits in _met(self.key):
            known = step.known[index] if index < len(step.known) else None
            if known is None:
                continue
            own, rank = step.rank(index), step.rank_made(0)
            if is_logits:
                to = ByAxis([0, *[GONE] * (own - 1)])
            elif self._is_of_rows(index):
                to = ByAxis([0] * own, ones=step.ones(index))
            else:
                to = ByAxis(range(rank - own, rank), ones=step.ones(index))
            parts.append(Part(known, to, step.dims[index]))
        return parts

    def _is_of_rows(self, index: int) -> bool:
        """Whether an input holds a number for each row."""
        node = self.key
        return node.domain == DOMAIN and (
            OPERATORS[node.op_type].inputs[index].role is Role.ROW_NUMBERS
        )

    @property
    def numbers(self) -> Sequence[int]:
        """The inputs that say what is drawn, beside the shape: no data that a draw is put on."""
        node = self.key
        dropout = _dropout(node)
        if dropout is not None:
            return [dropout.ratio, dropout.mode]
        if node.domain == DOMAIN:
            declared = OPERATORS[node.op_type].inputs
            return [
                i for i, d in enumerate(declared) if d.role.is_parameter and d.role is not Role.DATA
            ]
        return [index for index, _ in _met(node)]


def _dropout(node: ir.Node) -> DropoutPlaces | None:
    return fused_dropout(node) or (DROPOUT if node.op_type == "Dropout" else None)


def _met(node: ir.Node) -> Sequence[tuple[int, bool]]:
    """The inputs that the numbers of a random node meet, and which of them are logits."""
    if node.domain == DOMAIN:
        declared = OPERATORS[node.op_type].inputs
        met = [(i, d.role) for i, d in enumerate(declared) if d.role.is_parameter]
        return [(index, role is Role.LOGITS) for index, role in met]
    if tensorflow_random_nodes.is_known(node):
        last = len(node.inputs) - 1
        of_kind = {
            "categorical": [(0, True)],
            "gamma": [(1, False)],
            "poisson": [(1, False)],
            "integers": [(last - 1, False), (last, False)],
            "shuffle": [(0, False)],
        }
        return of_kind.get(tensorflow_random_nodes.KINDS[node.op_type], [])
    if node.op_type == "Multinomial":
        return [(0, True)]
    if node.op_type == "Bernoulli":
        return [(0, False)]
    dropout = _dropout(node)
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
