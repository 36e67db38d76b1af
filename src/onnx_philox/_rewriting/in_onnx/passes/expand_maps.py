"""The pass that makes a Loop of each SequenceMap whose body draws, as ONNX defines it.

The body of a SequenceMap runs once for each element of a sequence. Only a Loop can carry a state
from one element to the next.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir

from onnx_philox._models import onnx_graphs
from onnx_philox._models.emitter import Emitter, Names
from onnx_philox._rewriting.in_onnx.inferred_types import Types

_BOOL = ir.DataType.BOOL
_INT64 = ir.DataType.INT64
_SEQUENCE_MAP = "SequenceMap"
_GIVE_SEQUENCES = (
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    _SEQUENCE_MAP,
    "SplitToSequence",
)


def expand_maps(model: ir.Model, draws: Callable[[ir.Node], bool]) -> None:
    """Replaces each SequenceMap whose body holds a node that draws, in place.

    One stays where the model does not show the type of what its body gives.
    """
    # Those inside come first: they are part of the body of what is around them.
    found = [node for node, _ in onnx_graphs.walk(model.graph) if is_map(node)]
    found.reverse()
    drawing = [node for node in found if any(map(draws, _body(node).all_nodes()))]
    if not drawing:
        return
    types = Types(model)
    names = Names(model)
    opset = onnx_graphs.onnx_opset_of(model.opset_imports)
    for node in drawing:
        emitter = Emitter(names, opset, "map.")
        _expand(node, emitter, types)


def is_map(node: ir.Node) -> bool:
    """Whether a node is a SequenceMap of ONNX's, which has a body."""
    is_named = node.op_type == _SEQUENCE_MAP and node.domain in onnx_graphs.STANDARD_DOMAINS
    return is_named and "body" in node.attributes


def _body(node: ir.Node) -> ir.Graph:
    return node.attributes["body"].as_graph()


def is_sequence(value: ir.Value) -> bool:
    """Whether a value is a sequence of tensors, as far as the model shows: inference drops it."""
    if value.type is not None:
        return isinstance(value.type, ir.SequenceType)
    node = value.producer()
    index = value.index() or 0
    if node is None or node.domain not in onnx_graphs.STANDARD_DOMAINS:
        return False
    if node.op_type in _GIVE_SEQUENCES:
        return True
    if node.op_type == "Identity":
        given = node.inputs[0]
        return given is not None and is_sequence(given)
    if node.op_type in ("If", "Loop"):
        _, body = onnx_graphs.subgraphs(node)[0]
        # Of what a body gives to a Loop, its condition comes first.
        inner = index + 1 if node.op_type == "Loop" else index
        return inner < len(body.outputs) and is_sequence(body.outputs[inner])
    return False


def _expand(node: ir.Node, emitter: Emitter, types: Types) -> None:
    """Puts a Loop in the place of one node, unless the type of an output is not known."""
    body = _body(node)
    given = [value for value in node.inputs if value is not None]
    dtypes = []
    for value in body.outputs:
        dtype = types(value)
        if dtype is not None:
            dtypes.append(dtype)
    has_all_types = len(dtypes) == len(body.outputs)
    if not has_all_types or len(given) != len(body.inputs):
        return

    inner = emitter.again()
    index = inner.declare(ir.Value(), "index", _INT64, [])
    goes_on = inner.declare(ir.Value(), "goes_on", _BOOL, [])
    pairs = zip(list(body.inputs), given, strict=True)
    for place, (value, outer) in enumerate(pairs):
        if place == 0 or is_sequence(outer):
            (element,) = inner.node("SequenceAt", [outer, index], {})
        else:
            (element,) = inner.node("Identity", [outer], {})
        name = value.name
        body.inputs.remove(value)
        onnx_graphs.take_over(element, value)
        inner.nodes[-1].name = name
    body.inputs.extend([index, goes_on])
    if len(body):
        body[0].prepend(inner.nodes)
    else:
        body.extend(inner.nodes)

    after = emitter.again()
    (still,) = after.node("Identity", [goes_on], {})
    after.declare(still, "still", _BOOL, [])
    collected = [still]
    for output, dtype in zip(list(body.outputs), dtypes, strict=True):
        sequence = ir.SequenceType(ir.TensorType(dtype))
        so_far = _declared(emitter, "so_far", sequence)
        body.inputs.append(so_far)
        (longer,) = after.node("SequenceInsert", [so_far, output], {})
        name = _declared(emitter, "longer", sequence).name
        longer.name = name
        longer.type = sequence
        collected.append(longer)
    body.outputs.clear()
    body.outputs.extend(collected)
    body.extend(after.nodes)

    around = emitter.again()
    (count,) = around.node("SequenceLength", [given[0]], {})
    around.declare(count, "count", _INT64, [])
    always = around.constant("always", np.array(True))
    empty = []
    for dtype in dtypes:
        type_ = {"dtype": dtype.value}
        (value,) = around.node("SequenceEmpty", [], type_)
        sequence = ir.SequenceType(ir.TensorType(dtype))
        value.name = _declared(emitter, "empty", sequence).name
        value.type = sequence
        empty.append(value)
    del node.attributes["body"]
    loop_outputs = around.node(
        "Loop",
        [count, always, *empty],
        {"body": body},
        outputs=len(node.outputs),
    )
    loop = around.nodes[-1]
    loop.name = node.name
    loop.doc_string = node.doc_string
    loop.metadata_props.update(node.metadata_props)
    node.prepend(around.nodes)
    for ours, theirs in zip(loop_outputs, node.outputs, strict=True):
        onnx_graphs.take_over(ours, theirs)
    onnx_graphs.remove(node)


def _declared(emitter: Emitter, what: str, type: ir.SequenceType) -> ir.Value:
    """A value of a sequence, with a new name."""
    value = emitter.declare(ir.Value(), what, type.dtype)
    value.type = type
    return value
