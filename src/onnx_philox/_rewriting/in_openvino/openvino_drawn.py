"""What a random node of OpenVINO draws, as the walk through the rows sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import openvino as ov

from onnx_philox._contract.declaration import Input, Role
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._openvino_models.openvino_graphs import is_ours
from onnx_philox._rewriting.places import Dimensions
from onnx_philox._rewriting.rows import rules
from onnx_philox._rewriting.rows.drawing import DrawnShape
from onnx_philox._rewriting.rows.meetings import Part
from onnx_philox._rewriting.rows.step import Step
from onnx_philox._rewriting.rows.where_dimensions_go import GONE, ByAxis


@dataclass(frozen=True)
class DrawnRows(DrawnShape):
    """A random node, or one of several that a rewrite replaces by one draw."""

    node: ov.Node | None = None
    like: ov.Output | None = None
    """The tensor whose shape it has; None where that is computed."""

    @classmethod
    def of(
        cls,
        node: ov.Node,
        key: str,
        shape: Dimensions | None,
        *,
        is_said: bool,
    ) -> DrawnRows:
        """That of a node, given what tells its draw from others, and the shape of it."""
        kind = node.get_type_name()
        is_of_logits = kind == "Multinomial"
        if is_ours(node):
            is_of_logits = OPERATORS[kind].size_input.role is Role.LOGITS
        return cls(key, shape, is_said, is_of_logits, node, like_of(node))

    def is_mask(self, output: int) -> bool:
        """Whether an output says which elements of the data are dropped."""
        assert self.node is not None
        if not is_ours(self.node):
            return False
        return bool(output) and OPERATORS[self.node.get_type_name()].drawn_output == output

    def parameters(self, step: Step, rank: int) -> list[Part]:
        """The inputs that the numbers meet in it: parameters, and the data of a dropout."""
        assert self.node is not None
        if is_ours(self.node):
            return parameters_of(step, OPERATORS[self.node.get_type_name()].inputs, rank)
        logits = step.known[0]
        if self.is_of_logits and logits is not None:
            return [Part(logits, ByAxis([0, GONE]))]
        bounds = [(known, i) for i, known in enumerate(step.known) if i and known is not None]
        return [Part(known, rules.aligned(step, i, rank), step.dims[i]) for known, i in bounds]

    @property
    def is_said_unknown(self) -> bool:
        """Whether its first input says the shape, and nobody knows all numbers of it."""
        assert self.node is not None
        kind = self.node.get_type_name()
        has_shape = OPERATORS[kind].has_shape if is_ours(self.node) else kind == "RandomUniform"
        return has_shape and (self.shape is None or None in self.shape)

    @property
    def numbers(self) -> Sequence[int]:
        """The inputs that say what is drawn, beside the shape: no data that a draw is put on."""
        assert self.node is not None
        kind = self.node.get_type_name()
        if is_ours(self.node):
            declared = OPERATORS[kind].inputs
            return [
                i for i, d in enumerate(declared) if d.role.is_parameter and d.role is not Role.DATA
            ]
        return [0] if self.is_of_logits else [1, 2]


def parameters_of(
    step: Step,
    declared: tuple[Input, ...],
    rank: int,
) -> list[Part]:
    """The inputs of a node of this package that what it draws meets."""
    parts = []
    for index, (known, given) in enumerate(zip(step.known, declared, strict=False)):
        if known is None:
            continue
        if given.role is Role.LOGITS:
            parts.append(Part(known, ByAxis([0, GONE])))
        elif given.role is Role.ROW_NUMBERS:
            of_rows = ByAxis([0] * step.rank(index), ones=step.ones(index))
            parts.append(Part(known, of_rows, step.dims[index]))
        elif given.role.is_parameter:
            parts.append(Part(known, rules.aligned(step, index, rank), step.dims[index]))
    return parts


def like_of(node: ov.Node) -> ov.Output | None:
    """The tensor whose shape a random node draws; None where that is computed."""
    first = node.input_value(0)
    kind = node.get_type_name()
    if kind == "Multinomial":
        return first
    if is_ours(node) and OPERATORS[kind].size_input.role in (Role.DATA, Role.LOGITS):
        return first
    source = first.get_node()
    while source.get_type_name() == "Convert":
        source = source.input_value(0).get_node()
    return source.input_value(0) if source.get_type_name() == "ShapeOf" else None
