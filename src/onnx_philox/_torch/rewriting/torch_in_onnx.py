"""What a rewrite of ONNX models asks of torch's generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from onnx_philox._contract.refusal import TypeRefusalError, ValueRefusalError
from onnx_philox._rewriting.found import Irreplaceable
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.passes.carry_generator import OneGenerator
from onnx_philox._rewriting.in_onnx.replacements.outcome import Carried, Outcome, Replaceable
from onnx_philox._torch.rewriting import as_torch, noted


class AsTorch(OneGenerator):
    """Torch's generator, and torch's own rules of a draw: see `as_torch`."""

    pass_by = staticmethod(noted.warn_of_attention)
    narrowed = staticmethod(as_torch.narrowed)
    draw: Any = staticmethod(as_torch.as_torch)
    composed: Any = staticmethod(as_torch.composed)

    def found(self, random: Replaceable, types: Types, *, shares: bool) -> Outcome:
        loops = [owner for owner in random.site.owners if owner.node.op_type != "If"]
        repeats = not all(map(random.turns, loops))
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
        types = Types(model)
        batch = given[-1]
        transposed = as_torch.transposed(model)
        for random in nodes:
            place = None
            if batch is not None:
                place = batch.places.get(random.site.node)
            rows = None
            if place is not None and not place.is_factor:
                rows = place.axis
            as_torch.warn(random, types, rows, transposed)
        return super().carry(model, nodes, *given)
