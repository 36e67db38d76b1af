"""What the dropouts become that ONNX Runtime's training tools fuse with the nodes around them."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from onnx_philox._contract.types import BF16, F16, F32, F64
from onnx_philox._models.emitter import Emitter
from onnx_philox._models.graphs import input_of, is_wanted
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnx import RandomWhen, Version
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import (
    FUSED_DROPOUTS,
    FusedDropout,
    input_at,
)
from onnx_philox._rewriting.in_onnx.random_nodes.site import Site
from onnx_philox._rewriting.in_onnx.replacements import of_onnx
from onnx_philox._rewriting.in_onnx.types import Types

_VERSION = Version(1, RandomWhen.TRAINING_MODE, (F16, F32, F64, BF16))


@dataclass(frozen=True)
class FusedDropoutReplacement(of_onnx.DropoutReplacement):
    """BiasDropout, BitmaskBiasDropout and BitmaskDropout: as Dropout, between additions."""

    places: FusedDropout = FUSED_DROPOUTS["BiasDropout"]

    @classmethod
    def read_fused(cls, site: Site, types: Types) -> FusedDropoutReplacement:
        """One of them, in training mode."""
        node, places = site.node, FUSED_DROPOUTS[site.node.op_type]
        if places.packs_mask and len(node.outputs) > 1 and is_wanted(node.outputs[1]):
            site.refuse(
                f"the mask {node.outputs[1].name!r}",
                "one that the model reads, of 32 elements in each integer",
                "left alone, since no other runtime reads such masks",
                f"Export a Dropout in place of {node.op_type}: its mask is a boolean for each "
                "element.",
            )
        mode = input_at(node, places.mode)
        assert mode is not None, "it is in training mode"
        read = cls.of_inputs(site, _VERSION, types, places.ratio, mode)
        return cls(read.data, read.ratio, read.is_mode_known, places=places)

    def emit(self, node: ir.Node, emitter: Emitter, draw: of_onnx.EmitDraw) -> list[ir.Value]:
        """See `Replacement`."""
        places, data = self.places, input_of(node, 0)
        data = self._added(emitter, "biased", data, input_at(node, places.bias))
        output, *mask = self.emit_of(node, data, places.ratio, places.mode, emitter, draw)
        return [self._added(emitter, "sum", output, input_at(node, places.residual)), *mask]

    def _added(self, emitter: Emitter, what: str, to: ir.Value, value: ir.Value | None) -> ir.Value:
        if value is None:
            return to
        to, value = (self._widened(emitter, f"{what}_{i}", v) for i, v in enumerate((to, value)))
        added = emitter.elementwise("Add", what, to, value, self._work)
        return self._rounded(emitter, what, added)
