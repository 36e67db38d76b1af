"""The pass that makes an Identity of each Dropout that drops nothing.

Libraries leave Dropouts of ratio 0 in their models. OpenVINO refuses them in training mode, so they
cannot stay; but they draw nothing, so they take no stream and need no state. Of a fused one that
drops nothing, which no runtime's CPU has in any mode, its additions remain.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from onnx_philox._models import onnx_graphs
from onnx_philox._models.emitter import Emitter, Names
from onnx_philox._rewriting.in_onnx.passes.find import drops_nothing
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import fused_dropout, input_at


def settle(model: ir.Model) -> int:
    """Replaces the Dropouts that drop nothing, in all graphs; returns how many there were."""
    nodes = [
        node
        for node, _ in onnx_graphs.walk(model.graph)
        if drops_nothing(node, onnx_graphs.opset_of(model.opset_imports, node.domain))
    ]
    if nodes:
        onnx_graphs.import_onnx(model)
        names = Names(model)
        opset = onnx_graphs.onnx_opset_of(model.opset_imports)
        for node in nodes:
            emitter = Emitter(names, opset, "settled.")
            _settle(node, emitter)
    return len(nodes)


def _settle(node: ir.Node, emitter: Emitter) -> None:
    data = onnx_graphs.input_of(node, 0)
    bool_ = ir.DataType.BOOL
    output = emitter.like("Identity", "data", data, shape=data.shape)
    fused = fused_dropout(node)
    for what in ("bias", "residual") if fused else ():
        added = input_at(node, getattr(fused, what))
        if added is not None:
            dtype = data.dtype or ir.DataType.UNDEFINED
            output = emitter.elementwise("Add", what, output, added, dtype)
    new = [output]
    if len(node.outputs) > 1 and onnx_graphs.is_wanted(node.outputs[1]):
        all_true = {"value": ir.tensor(np.ones(1, bool))}
        shape = emitter.shape(data)
        mask = emitter.emit("ConstantOfShape", "mask", [shape], bool_, data.shape, all_true)
        new.append(mask)
    identity = emitter.nodes[0]
    identity.name = node.name or identity.name
    identity.doc_string = node.doc_string
    identity.metadata_props.update(node.metadata_props)
    node.prepend(emitter.nodes)
    for ours, theirs in zip(new, node.outputs, strict=False):
        onnx_graphs.take_over(ours, theirs)
    onnx_graphs.remove(node)
