"""What the dropouts become that ONNX Runtime's training tools fuse with the nodes around them."""

from __future__ import annotations

from onnx_philox._models.graphs import is_wanted
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnx import WITH_BF16
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import FUSED_DROPOUTS
from onnx_philox._rewriting.in_onnx.random_nodes.site import Site
from onnx_philox._rewriting.in_onnx.replacements.of_onnx import DropoutReplacement
from onnx_philox._rewriting.in_onnx.types import Types


def read_fused(site: Site, types: Types) -> DropoutReplacement:
    """BiasDropout, BitmaskBiasDropout or BitmaskDropout, in training mode."""
    node, places = site.node, FUSED_DROPOUTS[site.node.op_type]
    if places.packs_mask and len(node.outputs) > 1 and is_wanted(node.outputs[1]):
        site.refuse(
            f"the mask {node.outputs[1].name!r}",
            "one that the model reads, of 32 elements in each integer",
            "left alone, since no other runtime reads such masks",
            f"Export a Dropout in place of {node.op_type}: its mask is a boolean for each element.",
        )
    return DropoutReplacement.read(site, WITH_BF16, types, places)
