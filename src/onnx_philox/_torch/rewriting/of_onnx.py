"""What a rewrite of ONNX models asks of a generator that is not Philox."""

# ruff: noqa: ARG002, torch's rules ask for what others need not know
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir as ir

from onnx_philox._contract.generators import Generator
from onnx_philox._contract.operators import Operator
from onnx_philox._contract.refusal import TypeRefusalError, ValueRefusalError
from onnx_philox._models.emitter import Emitter, Names
from onnx_philox._rewriting.found import Irreplaceable
from onnx_philox._rewriting.in_onnx.replacements.outcome import (
    Carried,
    Numbered,
    Outcome,
    Replaceable,
)
from onnx_philox._rewriting.in_onnx.rows.batch import Batch
from onnx_philox._rewriting.in_onnx.types import Types
from onnx_philox._torch.rewriting import as_torch, carry_generator, noted
from onnx_philox._torch.rewriting.as_torch import TorchDraw


class OneGenerator:
    """A generator that goes through all nodes of a model, and draws what Philox would in each."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    def pass_by(self, node: ir.Node) -> None:
        """Looks at a node that is not random."""

    def found(self, random: Replaceable, types: Types, *, shares: bool) -> Outcome | None:
        """What becomes of a random node that may share its key; None for the house's own way."""
        return None

    def carry(
        self,
        model: ir.Model,
        nodes: Sequence[Numbered],
        names: Names,
        seed: int | None,
        batch: Batch | None,
    ) -> list[Carried]:
        """Takes its state through the nodes: see `carry_generator`."""
        return carry_generator.carry_generator(model, self._generator, nodes, names, seed, batch)

    def close(self, carried: Sequence[Carried]) -> None:
        """Ends that, when the nodes are replaced."""
        carry_generator.close(carried)

    def draw(
        self,
        random: Replaceable,
        emitter: Emitter,
        op: Operator,
        dtype: ir.DataType,
        inputs: Mapping[str, ir.Value],
        attributes: Mapping[str, int | str],
    ) -> TorchDraw:
        """The node that draws in the place of one of an operator."""
        return TorchDraw(dict(inputs), dict(attributes), dtype)

    def composed(
        self,
        random: Replaceable,
        emitter: Emitter,
        outputs: list[ir.Value],
    ) -> list[ir.Value]:
        """The outputs of what takes the place of a node."""
        return outputs

    def narrowed(self, emitter: Emitter, drawn: ir.Value, dtype: ir.DataType) -> ir.Value:
        """What was drawn, in the type that was asked for."""
        return as_torch.narrowed(emitter, drawn, dtype)


class AsTorch(OneGenerator):
    """Torch's generator, and torch's own rules of a draw: see `as_torch`."""

    def pass_by(self, node: ir.Node) -> None:
        noted.warn_of_attention(node)

    def found(self, random: Replaceable, types: Types, *, shares: bool) -> Outcome:
        repeats = any(o.node.op_type != "If" and not random.turns(o) for o in random.site.owners)
        try:
            if shares or repeats:
                allowed = "one of its own, which each draw changes, with alignment 'pytorch'"
                remedy = "Rewrite the model without alignment: torch has one generator."
                given = "one by which other draws are the same"
                random.site.refuse("the key", given, allowed, remedy)
            return as_torch.drawn_as_torch(random, types)
        except (TypeRefusalError, ValueRefusalError) as error:
            return Irreplaceable(random.site, error)

    def carry(self, model: ir.Model, nodes: Sequence[Numbered], *given: Any) -> list[Carried]:
        types, batch = Types(model), given[-1]
        for random in (numbered.random for numbered in nodes):
            place = None if batch is None else batch.places.get(random.site.node)
            as_torch.warn(random, types, None if place is None or place.is_factor else place.axis)
        return super().carry(model, nodes, *given)

    def draw(self, *given: Any) -> TorchDraw:
        return as_torch.as_torch(*given)

    def composed(
        self, random: Replaceable, emitter: Emitter, outputs: list[ir.Value]
    ) -> list[ir.Value]:
        return as_torch.composed(random, emitter, outputs)
