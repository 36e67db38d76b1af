"""What a rewrite of ONNX models asks of a generator that is not Philox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from onnx_philox._contract.generators import Generator
from onnx_philox._contract.refusal import TypeRefusalError, ValueRefusalError
from onnx_philox._models.emitter import Emitter
from onnx_philox._rewriting.found import Irreplaceable
from onnx_philox._rewriting.in_onnx.replacements.outcome import Carried, Outcome, Replaceable
from onnx_philox._rewriting.in_onnx.types import Types
from onnx_philox._torch.rewriting import as_torch, carry_generator, noted


class OneGenerator:
    """A generator that goes through all nodes of a model, and draws what Philox would in each."""

    close = staticmethod(carry_generator.close)
    narrowed = staticmethod(as_torch.narrowed)

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    def pass_by(self, node: ir.Node) -> None:
        """Looks at a node that is not random."""

    def found(self, _random: Replaceable, _types: Types, *, shares: bool) -> Outcome | None:  # noqa: ARG002
        """What becomes of a random node that may share its key; None for the house's own way."""
        return None

    def carry(self, model: ir.Model, nodes: Sequence[Any], *given: Any) -> list[Carried]:
        """Takes its state through the nodes: see `carry_generator`."""
        return carry_generator.carry_generator(model, self._generator, nodes, *given)

    def draw(self, _random: Replaceable, _emitter: Emitter, _op: Any, *drawn: Any) -> Any:
        """The type, the inputs and the attributes of the node that draws, of those of Philox's."""
        return drawn

    def composed(self, _random: Replaceable, _emitter: Emitter, outputs: Any) -> Any:
        """The outputs of what takes the place of a node."""
        return outputs


class AsTorch(OneGenerator):
    """Torch's generator, and torch's own rules of a draw: see `as_torch`."""

    pass_by = staticmethod(noted.warn_of_attention)

    def draw(self, *given: Any) -> Any:
        return as_torch.as_torch(*given)

    def composed(self, *given: Any) -> list[ir.Value]:
        return as_torch.composed(*given)

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

    def carry(self, model: ir.Model, nodes: Sequence[Any], *given: Any) -> list[Carried]:
        types, batch = Types(model), given[-1]
        for random in (numbered.random for numbered in nodes):
            place = None if batch is None else batch.places.get(random.site.node)
            as_torch.warn(random, types, None if place is None or place.is_factor else place.axis)
        return super().carry(model, nodes, *given)
