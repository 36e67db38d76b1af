"""Puts a part of a chain into a function of the model, an If, a Loop or a Scan."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.rows.row_builder import FLOAT, OPSETS, Builder, Choices, Dims, Scope, Size, Value

Part = Callable[[Value], Value]
"""A part of a chain: what it makes of a value."""


def flat(_b: Builder, v: Value, part: Part, _c: Choices) -> Value:
    """In the main graph."""
    return part(v)


def in_function(b: Builder, v: Value, part: Part, _c: Choices) -> Value:
    b.scopes.append(Scope(kind="function"))
    made = part(v)
    scope = b.scopes.pop()
    name = b.name("Part")
    given = scope.free_names()
    outputs = [made.name, *_inside(scope)]
    b.functions.append(helper.make_function("own", name, given, outputs, scope.nodes, OPSETS))
    results = [b.name(), *_outside(b, scope)]
    b.scope.nodes.append(helper.make_node(name, given, results, domain="own"))
    return Value(results[0], made.dims)


def in_branch(b: Builder, v: Value, part: Part, _c: Choices) -> Value:
    b.scopes.append(Scope(kind="If"))
    made = part(v)
    scope = b.scopes.pop()
    inner = [made.name, *_inside(scope)]
    other = Scope(kind="If")
    b.scopes.append(other)
    zeros = [b.constant(np.zeros([1] * rank, np.float32)) for rank in scope.shown.values()]
    if made.dims == v.dims:
        zeros.insert(0, b.node("Identity", v.name))
    else:
        zeros.insert(0, b.constant(np.zeros([1] * made.rank, np.float32)))
    b.scopes.pop()
    branches = {}
    for what, nodes, names in (
        ("then_branch", scope.nodes, inner),
        ("else_branch", other.nodes, zeros),
    ):
        ranks = [made.rank, *scope.shown.values()]
        infos = [
            helper.make_tensor_value_info(name, FLOAT, [None] * rank)
            for name, rank in zip(names, ranks, strict=True)
        ]
        branches[what] = helper.make_graph(nodes, what, [], infos)
    result = b.name()
    b.scope.nodes.append(helper.make_node("If", ["go"], [result, *_outside(b, scope)], **branches))
    b.is_behind_unequal_branches |= made.dims != v.dims
    return Value(result, made.dims)


def in_loop(b: Builder, v: Value, part: Part, c: Choices) -> Value:
    times = c.one_of([1, 2])
    inside = Value(b.name("carried"), v.dims)
    step, go, goes_on = b.name("step"), b.name("go"), b.name("go")
    b.scopes.append(Scope(kind="Loop", step=step))
    made = part(inside)
    b.scope.nodes.append(helper.make_node("Identity", [go], [goes_on]))
    is_carried = made.dims == v.dims
    carried = made.name
    if not is_carried:
        carried = b.node("Identity", inside.name)
    if carried == inside.name:
        carried = b.node("Identity", carried)
    scope = b.scopes.pop()
    more = []
    if not is_carried:
        more.append(helper.make_tensor_value_info(made.name, FLOAT, [None] * made.rank))
    inputs = [
        helper.make_tensor_value_info(step, TensorProto.INT64, []),
        helper.make_tensor_value_info(go, TensorProto.BOOL, []),
        helper.make_tensor_value_info(inside.name, FLOAT, _known(v.dims)),
    ]
    outputs = [
        helper.make_tensor_value_info(goes_on, TensorProto.BOOL, []),
        helper.make_tensor_value_info(carried, FLOAT, _known(v.dims)),
        *more,
        *_infos(scope),
    ]
    body = helper.make_graph(scope.nodes, "body", inputs, outputs)
    trips = b.int(times)
    true = b.constant(np.array(True))
    result = b.name()
    results = [result]
    if not is_carried:
        results.append(b.name())
    results += _outside(b, scope, 1)
    b.scope.nodes.append(helper.make_node("Loop", [trips, true, v.name], results, body=body))
    if is_carried:
        return Value(result, made.dims)
    last = b.node("Gather", results[1], b.int(times - 1), axis=0)
    return Value(last, made.dims)


def in_scan(b: Builder, v: Value, part: Part, c: Choices) -> Value:
    """Over one of the dimensions, from its start or its end."""
    if v.rank < 2:
        return part(v)
    axis = c.below(v.rank)
    direction = c.below(2)
    rest = (*v.dims[:axis], *v.dims[axis + 1 :])
    inside = Value(b.name("slice"), rest)
    b.scopes.append(Scope(kind="Scan"))
    if not v.dims[axis].is_fixed:
        b.has_bookless = True
    made = part(inside)
    if made.name == inside.name:
        made = Value(b.node("Identity", made.name), made.dims)
    scope = b.scopes.pop()
    inputs = [helper.make_tensor_value_info(inside.name, FLOAT, _known(rest))]
    inputs += [
        helper.make_tensor_value_info(f"{tag}_part", FLOAT, [None] * (b.draws[tag] - 1))
        for tag in scope.scanned
    ]
    outputs = [
        helper.make_tensor_value_info(made.name, FLOAT, [None] * made.rank),
        *_infos(scope),
    ]
    body = helper.make_graph(scope.nodes, "body", inputs, outputs)
    result = b.name()
    node = helper.make_node(
        "Scan",
        [v.name, *scope.scanned],
        [result, *_outside(b, scope, 1)],
        body=body,
        num_scan_inputs=len(inputs),
        scan_input_axes=[axis, *[0] * len(scope.scanned)],
        # What is shown stands in the order of iterations.
        scan_input_directions=[direction, *[0] * len(scope.scanned)],
        scan_output_axes=[axis if made.rank >= axis else 0, *[0] * len(scope.shown)],
        scan_output_directions=[direction, *[0] * len(scope.shown)],
    )
    b.scope.nodes.append(node)
    where = axis if made.rank >= axis else 0
    return Value(result, (*made.dims[:where], v.dims[axis], *made.dims[where:]))


SECTIONS = {
    "flat": flat,
    "function": in_function,
    "If": in_branch,
    "Loop": in_loop,
    "Scan": in_scan,
}


def _infos(scope: Scope) -> list[onnx.ValueInfoProto]:
    """What a body shows, as its outputs."""
    return [
        helper.make_tensor_value_info(f"{tag}_inside", FLOAT, [None] * rank)
        for tag, rank in scope.shown.items()
    ]


def _inside(scope: Scope) -> list[str]:
    """What a body shows, under the names that it has there."""
    return [f"{tag}_inside" for tag in scope.shown]


def _outside(b: Builder, scope: Scope, added: int = 0) -> list[str]:
    """What a body shows, under the same names in the graph around it, stacked or not."""
    b.scope.shown |= {tag: rank + added for tag, rank in scope.shown.items()}
    return list(scope.shown)


def _known(dims: Dims) -> list[int | str | None]:
    return [_size(size) for size in dims]


def _size(size: Size) -> int | str | None:
    if size.is_fixed:
        return size.factor
    if size == Size(1, 1):
        return "N"
    return None
