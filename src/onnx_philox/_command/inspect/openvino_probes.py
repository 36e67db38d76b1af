"""Models of one random node of OpenVINO's, to try in OpenVINO and see what it does with it.

As in `probes`, a probe has the operator, attributes and types of a node, but little to compute. A
draw of several nodes is tried by the first of them: the others only compute.
"""

from __future__ import annotations

import base64
import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset8, opset13

from onnx_philox import openvino as factories
from onnx_philox._command.inspect.probes import COUNT, Behind, Probe, feed_of
from onnx_philox._contract.operators import OPERATORS, Role
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.openvino_graphs import constant, dimensions, is_ours, seeds_of

_CLASSES = 8


def build(node: ov.Node, *, followed_by: Behind | None = None) -> Probe:
    """The probe of a node."""
    if is_ours(node):
        return _of_ours(node)
    make = _multinomial if node.get_type_name() == "Multinomial" else _uniform
    said = node.get_attributes()
    seeds = int(said["global_seed"]), int(said["op_seed"])
    model, feeds = make(node, seeds)
    follow = partial(_with, followed_by)
    models = [follow(model)]
    has_seed = any(seeds)
    if has_seed:
        # Alignment pytorch reads the one, alignment tensorflow both.
        others = (_other(seeds[0]), _other(seeds[1]))
        models.append(follow(make(node, others)[0]))
    document = {
        "feeds": [feed_of(array) for array in feeds],
        "count": 0,
        "has_seed": has_seed,
        "requests": True,
    }
    is_multinomial = make is _multinomial
    if is_multinomial:
        document["clock"] = True
    pair = make(node, seeds, 2)[0]
    # OpenVINO makes one of two that have zero seeds and equal inputs, unless both are results.
    pairs = [_text(pair), _text(_followed(pair))]
    twins = [{**document, "models": [pair_of], "twins": True} for pair_of in pairs]
    told = {name: str(value) for name, value in said.items()}
    return Probe(
        json.dumps({**document, "models": [_text(model) for model in models]}),
        has_seed,
        twins=tuple(map(json.dumps, twins)),
        is_multinomial=is_multinomial,
        kind=str([node.get_type_name(), sorted(told.items())]),
    )


def _with(follower: Behind | None, model: ov.Model) -> ov.Model:
    """The model with a node behind the draw; the model itself for none."""
    if follower is None:
        return model
    drawn = model.results[0].input_value(0)
    left = opset8.constant(follower.left, drawn.get_element_type())
    make = _BEHIND[follower.operator]
    return ov.Model([make(left, drawn)], model.get_parameters())


_BEHIND = {"Sub": opset8.subtract, "Mul": opset8.multiply}


def _followed(model: ov.Model) -> ov.Model:
    """The model with a node behind each draw."""
    drawn = [result.input_value(0) for result in model.results]
    return ov.Model([opset8.abs(each) for each in drawn], model.get_parameters())


def _other(seed: int) -> int:
    """Another seed, also where only the low 32 bits count, as with alignment pytorch."""
    return 5 if seed % 2**32 == 3 else 3


def _of_ours(node: ov.Node) -> Probe:
    """The probe of a node of this package, which OpenVINO alone does not load."""
    operator = OPERATORS[node.get_type_name()]
    said = node.get_attributes()
    given: dict[str, Any] = {}
    parameters: list[ov.Node] = []
    for declared, value in zip(operator.inputs, node.input_values(), strict=False):
        if declared.role is Role.STATE:
            continue
        known = constant(value)
        if known is None:
            known = opset8.parameter(value.get_partial_shape(), value.get_element_type())
            parameters.append(known)
        given[declared.name] = known
    attributes = {a.name: said[a.name] for a in operator.attributes if a.name in said}
    if not any(seeds_of(node)):
        attributes["op_seed"] = 1
    made = getattr(factories, operator.function)(**given, **attributes)
    document = {"feeds": [], "count": 0, "has_seed": False, "requests": True}
    text = _text(ov.Model([made.output(0)], parameters))
    return Probe(json.dumps({**document, "models": [text]}), has_seed=False)


_Made = tuple[ov.Model, list[NDArray[Any]]]


def _uniform(
    node: ov.Node,
    seeds: tuple[int, int],
    copies: int = 1,
) -> _Made:
    """RandomUniform: what is constant in the model is so here."""
    said = node.get_attributes()
    length = (dimensions(node.input_value(0)) or (1,))[0]
    shape = np.ones(length or 1, np.int64)
    shape[-1] = COUNT
    parameters: list[ov.Node] = []
    if not node.get_output_partial_shape(0).is_static:
        parameters.append(opset8.parameter([len(shape)], ov.Type.i64))
    given = parameters[0] if parameters else opset8.constant(shape)
    inputs = [given, _bound(node, 1), _bound(node, 2)]
    drawn = [
        opset8.random_uniform(*inputs, said["output_type"], *seeds, str(said["alignment"]))
        for _ in range(copies)
    ]
    return ov.Model(drawn, parameters), [shape] if parameters else []


def _bound(node: ov.Node, index: int) -> ov.Node:
    given = node.input_value(index)
    known = constant(given)
    if known is not None and known.size == 1:
        return arrays.constant(np.ascontiguousarray(known))
    return opset8.constant(index - 1, given.get_element_type())


def _multinomial(
    node: ov.Node,
    seeds: tuple[int, int],
    copies: int = 1,
) -> _Made:
    """Multinomial, of equally likely classes."""
    said = node.get_attributes()
    replaces = bool(said["with_replacement"])
    known = constant(node.input_value(1))
    samples = COUNT
    if known is not None:
        samples = min(COUNT, int(known.reshape(-1)[0]))
    classes = _CLASSES if replaces else 2 * COUNT
    # Rows for as many numbers as others have.
    weights = np.full((COUNT, classes), 0.5, np.float32)
    given = opset8.parameter(weights.shape, ov.Type.f32)
    drawn = [
        opset13.multinomial(
            given,
            opset8.constant(np.array([samples], np.int32)),
            said["convert_type"],
            replaces,
            bool(said["log_probs"]),
            *seeds,
        )
        for _ in range(copies)
    ]
    return ov.Model(drawn, [given]), [weights]


def _text(model: ov.Model) -> str:
    """The text of an IR, a byte 0 and its weights."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "probe.xml")
        ov.serialize(model, path)
        content = path.read_bytes() + b"\0" + path.with_suffix(".bin").read_bytes()
    return base64.b64encode(content).decode()
