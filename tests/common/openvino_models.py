"""Models of OpenVINO, made by hand of its operator sets 8 to 15."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset8, opset13, opset15

import onnx_philox
from tests.common.cases import DTYPES
from tests.common.runtimes import DEFAULT, Config, array_of, infer, tensor_of

constant = opset8.constant


def parameter(
    name: str,
    shape: list[int],
    type_: ov.Type = ov.Type.f32,
) -> ov.op.Parameter:
    made = opset8.parameter(shape, type_, name=name)
    made.output(0).set_names({name})
    return made


def model(
    outputs: dict[str, Any],
    inputs: list[ov.op.Parameter],
    sinks: Sequence[ov.Node] = (),
) -> ov.Model:
    """A model whose outputs have these names."""
    results = []
    for name, node in outputs.items():
        output = node if isinstance(node, ov.Output) else node.output(0)
        output.set_names({name})
        results.append(opset8.result(output))
    return ov.Model(results, [*sinks], inputs, "by_hand")


def uniform(
    shape: Any,
    low: Any = 0,
    high: Any = 1,
    type_: str = "f32",
    seeds: tuple[int, int] = (0, 0),
    *,
    alignment: str = "tensorflow",
    ops: Any = opset8,
) -> ov.Node:
    """RandomUniform, of a list of dimensions or what computes them."""
    dtype = DTYPES[type_]
    bounds = [b if isinstance(b, ov.Node) else _number(b, dtype) for b in (low, high)]
    dimensions = constant(np.array(shape, np.int64)) if isinstance(shape, list) else shape
    return ops.random_uniform(dimensions, *bounds, type_, *seeds, alignment)


def _number(value: float, dtype: np.dtype) -> ov.Node:
    return ov.op.Constant(tensor_of(np.array(value, dtype)))


# The front ends write a seed of its own into each uniform number of a normal one.
_SEEDS = itertools.count(17)


def normal(
    shape: Any,
    type_: str = "f32",
    *,
    wave: Any = opset8.cos,
    is_folded: bool = True,
) -> ov.Node:
    """A normal number as front ends write it: 2 pi is a bound of the angle, or a factor."""
    dtype = DTYPES[type_]
    first = next(_SEEDS)
    second = next(_SEEDS)
    u = uniform(
        shape,
        np.finfo(np.float32).tiny if type_ == "f32" else 0,
        1,
        type_,
        (0, first),
    )
    radius = opset8.sqrt(opset8.multiply(opset8.log(u), _number(-2, dtype)))
    if is_folded:
        angle = uniform(
            shape,
            0,
            2 * np.pi,
            type_,
            (0, second),
        )
    else:
        turn = opset8.multiply(_number(2, dtype), _number(np.pi, dtype))
        angle = opset8.multiply(turn, uniform(shape, 0, 1, type_, (0, second)))
    return opset8.multiply(radius, wave(angle))


def multinomial(
    weights: Any,
    samples: int,
    type_: str = "i32",
    *,
    replaces: bool = True,
    is_log: bool = False,
) -> ov.Node:
    count = constant(np.array([samples], np.int32))
    return opset13.multinomial(weights, count, type_, replaces, is_log, 0, 0)


def loop(x: ov.op.Parameter, steps: int, make: Any) -> ov.Node:
    """A Loop that adds what `make` draws in the shape of its value to it."""
    value = opset8.parameter(x.get_partial_shape(), ov.Type.f32)
    return loop_of(x, steps, opset8.add(value, make(opset8.shape_of(value))), value)


def loop_of(
    x: ov.Node,
    steps: int,
    grown: ov.Node,
    *inputs: ov.op.Parameter,
) -> ov.Node:
    """A Loop whose value, the last of the body's inputs, grows; before it the step may be one."""
    body = ov.Model(
        [constant(np.array(True)).output(0), grown.output(0)],
        [*inputs],
        "steps",
    )
    node = opset15.loop(constant(np.array(steps, np.int64)), constant(np.array(True)))
    node.set_function(body)
    node.set_special_body_ports([len(inputs) - 2, 0])
    node.set_merged_input(
        inputs[-1],
        x.output(0),
        grown.output(0),
    )
    node.get_iter_value(grown.output(0), -1)
    node.set_friendly_name("steps")
    return node


def iterator(x: ov.op.Parameter, make: Any) -> ov.Node:
    """A TensorIterator over the rows of x, which adds what `make` draws to each."""
    _, columns = x.get_partial_shape()
    row = opset8.parameter([1, columns.get_length()], ov.Type.f32)
    grown = opset8.add(row, make(opset8.shape_of(row)))
    node = opset8.tensor_iterator()
    node.set_body(ov.Model([grown], [row], "rows"))
    node.set_sliced_input(row, x.output(0), 0, 1, 1, -1, 0)
    node.get_concatenated_slices(grown.output(0), 0, 1, 1, -1, 0)
    node.set_friendly_name("rows")
    return node


def branch(
    condition: ov.Node,
    x: ov.op.Parameter,
    make: Any,
    *,
    is_else: bool = False,
) -> ov.Node:
    """An If that adds what `make` draws, or gives x without its negative numbers."""
    one, other = (opset8.parameter(x.get_partial_shape(), ov.Type.f32) for _ in range(2))
    grown = opset8.add(one, make(opset8.shape_of(one)))
    pairs = [(grown, one), (opset8.relu(other), other)]
    if is_else:
        pairs.reverse()
    bodies = [ov.Model([n], [p], "branch") for n, p in pairs]
    node = opset8.if_op(condition.output(0))
    node.set_then_body(bodies[0])
    node.set_else_body(bodies[1])
    node.set_input(x.output(0), *(p for _, p in pairs))
    node.set_output(bodies[0].results[0], bodies[1].results[0])
    node.set_friendly_name("branch")
    return node


def loop_in_body(shape: ov.Node, make: Any) -> ov.Node:
    """A Loop in a body: the sum of two draws."""
    value = opset8.parameter([2, 4], ov.Type.f32)
    zeros = opset8.broadcast(constant(np.float32(0)), shape)
    return loop_of(zeros, 2, opset8.add(value, make(opset8.shape_of(value))), value)


def named(node: ov.Node, name: str) -> ov.Node:
    node.set_friendly_name(name)
    return node


CORE = onnx_philox.openvino.register(ov.Core())


def drawn(
    given: ov.Model,
    state: np.ndarray | None = None,
    hint: str = "f32",
    config: Config = DEFAULT,
    **feeds: Any,
) -> dict[str, np.ndarray]:
    """What a model gives, by name."""
    compiled = CORE.compile_model(given, "CPU", {"INFERENCE_PRECISION_HINT": hint, **config})
    request = compiled.create_infer_request()
    infer(request, {**feeds, **({} if state is None else {"random_state": state})})
    return {
        name: array_of(request.get_tensor(port))
        for port in compiled.outputs
        for name in port.get_names()
    }


def through_ir(given: ov.Model, folder: Path, *, compressed: bool = True) -> ov.Model:
    # Its own file: a model that was read still reads its weights.
    path = folder / f"{len(list(folder.iterdir()))}.xml"
    ov.save_model(given, path, compress_to_fp16=compressed)
    return CORE.read_model(path)
