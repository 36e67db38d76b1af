"""Nodes of this package without a state: an export by `onnx_philox.torch` makes them, or a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._contract.choices import nearest
from onnx_philox._contract.operators import OPERATORS, Operator
from onnx_philox._models import ours
from onnx_philox._models.emitter import Emitter
from onnx_philox._models.onnx_graphs import is_wanted
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.random_nodes.site import Site, required_input
from onnx_philox._rewriting.in_onnx.replacements.onnx_replacements import EmitDraw


@dataclass(frozen=True)
class AwaitingReplacement:
    """The same node, with a state and a stream."""

    operator: Operator
    dtype: ir.DataType
    attributes: dict[str, Any]

    @classmethod
    def read(cls, site: Site, types: Types) -> AwaitingReplacement:
        """A node of this package."""
        node = site.node
        if node.op_type not in OPERATORS:
            near = nearest(node.op_type, OPERATORS)
            names = f"one of {', '.join(OPERATORS)}"
            remedy = "Upgrade onnx-philox if a newer version made the model."
            if near is not None:
                remedy = f"Did you mean {near!r}?"
            site.refuse("the operator", node.op_type, names, remedy)
        operator = OPERATORS[node.op_type]
        given = ours.attributes_of(node)
        complete = checks.check_attributes(operator, given)
        attributes = dict(given)
        for seed in ("global_seed", "op_seed"):
            attributes.pop(seed, None)
        if operator.type_input is not None:
            index = operator.inputs.index(operator.type_input)
            dtype = types(required_input(site, index))
            return cls(operator, dtype or ir.DataType.UNDEFINED, attributes)
        drawn = checks.output_type(operator, complete, {})
        return cls(operator, ir.DataType(drawn.onnx), attributes)

    def emit(self, node: ir.Node, emitter: Emitter, draw: EmitDraw) -> list[ir.Value]:
        """See `Replacement`."""
        inputs = ours.inputs_of(node)
        drawn = draw(self.operator, self.dtype, inputs, self.attributes)
        outputs = [drawn]
        mask = self.operator.drawn_output
        last = len(self.operator.outputs) - 1
        is_state_wanted = len(node.outputs) > last and is_wanted(node.outputs[last])
        is_mask_wanted = len(node.outputs) > mask and is_wanted(node.outputs[mask])
        if mask and (is_mask_wanted or is_state_wanted):
            shape = node.outputs[mask].shape
            outputs.append(emitter.mask_of(drawn, shape))
        if is_state_wanted:
            # It has as many rows as the state that the node gains.
            node.outputs[last].shape = None
            outputs.append(emitter.next_state_of(drawn, last))
        return outputs
