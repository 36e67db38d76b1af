"""Models of one random node, to try in the runtimes and see what they do with it.

A probe has the operator, opset, attributes and types of a node, but little to compute: 64 elements
or, for a Bernoulli, 1024, so that two draws are never equal by chance.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, is_wanted
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import dropout_start, start_of

COUNT = 64
"""The elements of a draw."""
# A constant of up to so many elements is an argument, such as Dropout's ratio; a larger one is
# data.
_LARGEST_ARGUMENT = 1
_HALF = 0.5
# The attributes that move, stretch or lay out what is drawn.
_OF_VALUES = {"mean", "scale", "low", "high", "shape"}
# For a Bernoulli: few ones, and enough elements to tell few from many.
_RARE = 0.1
_RARE_COUNT = 1024

_SEED_TYPES = (ir.AttributeType.INT, ir.AttributeType.FLOAT)
# To compare with: the second where the first is the node's own.
_SEED = 3
_OTHER_SEED = 5


@dataclass(frozen=True)
class Probe:
    """A model of one node and its feeds, which a worker reads as a line of JSON."""

    line: str
    has_seed: bool
    undrawn: str = ""
    """The hash of what comes out of a Dropout that drops nothing; empty for other nodes."""
    p: float | None = None
    """The probability of a Bernoulli; None for other nodes."""
    twins: tuple[str, ...] = ()
    """More lines for a worker: models of the node twice, which reads the same inputs. In one a node
    follows each: what stands around them decides whether a runtime makes one of two."""
    is_multinomial: bool = False
    """Whether its runs are also tried in another second of the clock, which may be its seed."""
    kind: str = ""
    """The same for nodes that may draw the same numbers: of one operator, seed and type."""

    @property
    def key(self) -> str:
        """A key, the same for equal probes."""
        return hashlib.sha256(self.line.encode()).hexdigest()


@dataclass(frozen=True)
class Behind:
    """A node behind a draw that decides what OpenVINO makes of it; its left input is a constant."""

    operator: str
    """`Sub` or `Mul`."""
    left: float


def behind(*, is_subtracted: bool, factor: float | None) -> Behind | None:
    """What stands behind a draw in its probe; None for nothing.

    Args:
        is_subtracted: Whether a Subtract in the model has the draw on the right.
        factor: The negative number by which a Multiply in the model multiplies it; None for none.
    """
    if is_subtracted:
        return Behind("Sub", 1)
    return None if factor is None else Behind("Mul", factor)


def build(
    node: ir.Node,
    model: ir.Model,
    types: Types,
    *,
    followed_by: Behind | None = None,
) -> Probe:
    """The probe of a node; of f32 where `types` does not know a type.

    The functions of the model that hold random nodes must have been inlined.
    """
    inputs, feeds = _inputs(node, types)
    attributes = _attributes(node)
    opsets = model.opset_imports
    imports = {domain: opsets[domain] for domain in ("", node.domain) if domain in opsets}
    make = partial(_model, node, inputs, opsets=imports, model_version=model.ir_version)
    right = None
    if followed_by is not None:
        drawn_type = types(node.outputs[0]) or ir.DataType.FLOAT
        right = partial(_right_of, followed_by, drawn_type)
    models = [make(attributes, follow=right)]
    twins = [make(attributes, copies=2, is_followed=followed) for followed in (False, True)]
    seed = attributes.get("seed")
    has_seed = seed is not None and seed.type in _SEED_TYPES
    if seed is not None and has_seed:
        models.append(make({**attributes, "seed": _other(seed)}, follow=right))
    p = _RARE if _is_bernoulli(node) and feeds else None
    document = {
        "models": [_text(model) for model in models],
        "feeds": [feed_of(array) for array in feeds],
        "count": _RARE_COUNT if p is not None else 0,
        "has_seed": has_seed,
    }
    is_multinomial = node.domain in STANDARD_DOMAINS and node.op_type == "Multinomial"
    if is_multinomial:
        document["clock"] = True
    has_mask = any(map(_is_given, node.outputs[1:]))
    drops = node.op_type == "Dropout" and not has_mask
    in_twos = [{**document, "models": [_text(model)], "twins": True} for model in twins]
    undrawn = ""
    if drops and feeds:
        undrawn = hashlib.sha256(feeds[0].tobytes()).hexdigest()
    told = {}
    for name, attribute in attributes.items():
        if name not in _OF_VALUES:
            told[name] = str(attribute.value)
    dtypes = [array.dtype.name for array in feeds]
    kind = str([node.domain, node.op_type, sorted(told.items()), dtypes])
    lines = tuple(json.dumps(each) for each in in_twos)
    return Probe(json.dumps(document), has_seed, undrawn, p, lines, is_multinomial, kind)


def _other(seed: ir.Attr) -> ir.Attr:
    """A seed that is another one by the runtimes' own rules.

    The next one may be the same: a large f32 has none, and ONNX Runtime takes 0 for 1.
    """
    if seed.type is ir.AttributeType.INT:
        # Of a Dropout just below 0 the first run is that of a seed above.
        is_same = dropout_start(seed.as_int() % 2**64) == dropout_start(_SEED)
        other = _OTHER_SEED if is_same else _SEED
        return ir.AttrInt64("seed", other)
    is_same = start_of(seed.as_float()) == start_of(_SEED)
    other = _OTHER_SEED if is_same else _SEED
    return ir.AttrFloat32("seed", float(other))


def _model(
    node: ir.Node,
    inputs: list[ir.Value | None],
    attributes: Mapping[str, ir.Attr],
    opsets: Mapping[str, int],
    model_version: int,
    copies: int = 1,
    is_followed: bool | None = None,
    follow: Callable[[ir.Value, ir.Value], list[ir.Node]] | None = None,
) -> bytes:
    values = [
        v and ir.Value(name=v.name, shape=v.shape, type=v.type, const_value=v.const_value)
        for v in inputs
    ]
    given = [value for value in values if value is not None]
    # An optimizer may not touch a node next to an input or output of the graph: ONNX Runtime
    # removes every Dropout that stands between two nodes. Flatten exists at all opsets and types.
    nodes = []
    first = node.inputs[0] if node.inputs else None
    if first is not None and first.producer() is not None:
        nodes.append(ir.Node("", "Flatten", [values[0]], name="before"))
        values[0] = nodes[0].outputs[0]
    drawn = []
    if is_followed is None:
        drawn_first = node.outputs[0]
        is_read = bool(drawn_first.uses())
        is_followed = is_read and not drawn_first.is_graph_output()
    for copy in range(copies):
        outputs = []
        for i, output in enumerate(node.outputs):
            name = f"output_{i}_{copy}" if _is_given(output) else ""
            outputs.append(ir.Value(name=name))
        named = partial(ir.Node, outputs=outputs, name=f"node_{copy}")
        nodes.append(named(node.domain, node.op_type, values, attributes.values()))
        if follow is not None:
            outputs[0].name = f"noise_{copy}"
            computed = ir.Value(name=f"output_0_{copy}")
            nodes += follow(outputs[0], computed)
            outputs = [computed, *outputs[1:]]
        elif is_followed:
            outputs[0].name = f"drawn_{copy}"
            flattened = ir.Value(name=f"output_0_{copy}")
            named = partial(ir.Node, outputs=[flattened], name=f"after_{copy}")
            nodes.append(named("", "Flatten", [outputs[0]]))
            outputs = [flattened, *outputs[1:]]
        drawn += [output for output in outputs if output.name]
    graph = ir.Graph(
        [v for v in given if v.const_value is None],
        drawn,
        nodes=nodes,
        initializers=[v for v in given if v.const_value is not None],
        opset_imports=dict(opsets),
        name="probe",
    )
    model: bytes = ir.to_proto(ir.Model(graph, ir_version=model_version)).SerializeToString()
    return model


def _right_of(
    follower: Behind,
    type_: ir.DataType,
    drawn: ir.Value,
    computed: ir.Value,
) -> list[ir.Node]:
    """A constant, and the node that has it on the left and a draw on the right."""
    number = ir.tensor(np.array(follower.left).astype(type_.numpy()))
    left = ir.Node("", "Constant", [], [ir.AttrTensor("value", number)], name="left")
    inputs = [left.outputs[0], drawn]
    return [left, ir.Node("", follower.operator, inputs, outputs=[computed], name="behind")]


def _is_bernoulli(node: ir.Node) -> bool:
    return node.domain in STANDARD_DOMAINS and node.op_type == "Bernoulli"


def _is_given(output: ir.Value) -> bool:
    """Whether anything depends on an output; always true of the first one."""
    return output.index() == 0 or is_wanted(output)


def _inputs(
    node: ir.Node,
    types: Types,
) -> tuple[list[ir.Value | None], list[NDArray[Any]]]:
    """The inputs of the copy, and the feeds of those that are not constants."""
    inputs: list[ir.Value | None] = []
    feeds: list[NDArray[Any]] = []
    for i, value in enumerate(node.inputs):
        if value is None:
            inputs.append(None)
            continue
        name = f"input_{i}"
        # Only Dropout has inputs after its data: the ratio and training_mode.
        array = _array(node, value, i, types(value))
        if _is_argument(value):
            inputs.append(ir.val(name, const_value=ir.tensor(array, name=name)))
            continue
        shape: list[int | str] = [*array.shape]
        if value.shape is None or value.shape.is_dynamic():
            shape = [f"dimension_{k}" for k in range(array.ndim)]
        inputs.append(ir.val(name, ir.DataType.from_numpy(array.dtype), shape))
        feeds.append(array)
    return inputs, feeds


def _is_argument(value: ir.Value) -> bool:
    if value.is_graph_input():
        return False
    tensor = ir.convenience.get_const_tensor(value)
    return tensor is not None and tensor.size <= _LARGEST_ARGUMENT


def _array(
    node: ir.Node,
    value: ir.Value,
    index: int,
    type_: ir.DataType | None,
) -> NDArray[Any]:
    """The array that the copy gets for an input."""
    if index == 2:
        return np.array(True)
    dtype = np.dtype(np.float32) if type_ is None else type_.numpy()
    if node.op_type == "Multinomial":
        # The same number of rows, each with a few equally likely classes.
        return np.zeros((COUNT, 8), dtype)
    if index:
        rank = 0
    elif value.shape is None:
        rank = 1
    else:
        rank = max(1, value.shape.rank())
    shape = (*[1] * (rank - 1), COUNT) if rank else ()
    if _is_bernoulli(node):
        return np.full((*shape[:-1], _RARE_COUNT), _RARE).astype(dtype)
    # Any data would do.
    return np.full(shape, _HALF).astype(dtype)


def _attributes(node: ir.Node) -> dict[str, ir.Attr]:
    """The node's attributes, with less to compute."""
    attributes = {
        a.name: a
        for a in node.attributes.values()
        # A value without a type cannot be written; the report says that it is wrong.
        if not a.is_ref() and a.type is not ir.AttributeType.UNDEFINED
    }
    shape = attributes.get("shape")
    if shape is not None:
        rank = max(1, len(shape.as_ints()))
        attributes["shape"] = ir.AttrInt64s("shape", [*[1] * (rank - 1), COUNT])
    if "sample_size" in attributes:
        samples = min(attributes["sample_size"].as_int(), COUNT)
        attributes["sample_size"] = ir.AttrInt64("sample_size", samples)
    if "ratio" in attributes:
        attributes["ratio"] = ir.AttrFloat32("ratio", _HALF)
    return attributes


def _text(model: bytes) -> str:
    return base64.b64encode(model).decode()


def feed_of(array: NDArray[Any]) -> dict[str, Any]:
    """An array as a worker reads it."""
    return {
        "type": array.dtype.name,
        "shape": list(array.shape),
        "bytes": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode(),
    }
