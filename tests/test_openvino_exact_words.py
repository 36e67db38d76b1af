"""States that OpenVINO's CPU plugin computes: exact in every kind of node that is taken.

One row for each kind of node, computed by the plugin and by NumPy; one for each refusal, which both
backends word alike.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino as ov
import pytest
from cases import assert_same_bits
from half_precision import differing
from openvino import opset16 as op
from runtimes import infer

import onnx_philox
from onnx_philox import TorchState, reference, row_states
from onnx_philox._contract import openvino_plugin
from onnx_philox.openvino import (
    _native_backend,
    random_dropout,
    random_generator,
)

INPUTS = {
    "s": np.array([2**32 - 2, 2**31, 2**31 - 1, 5, 0xDEADBEEF, 2**24 + 1], np.uint32),
    "t": np.array([2**24 + 3, 0xFEDCBA98, 7, 2**31 + 1, 2**32 - 1, 2**30], np.uint32),
    "c": np.array([True, False, True, True, False, False]),
    "d": np.array([True, True, False, True, False, True]),
    "i": np.array([5, 0, 3, 1, 2, 4]),
    "x": np.array([-(2**31), 2**31 - 1, -1, 2**24 + 1, 0, 5], np.int32),
    "w": np.array([2**63 - 1, -(2**63), 2**32 + 5, -7, 2**31, 3]),
    "b": np.array([0, 255, 128, 3, 7, 200], np.uint8),
    "h": np.array([-(2**15), 2**15 - 1, -1, 3, 0, 9], np.int16),
}


def const(*values: int, dtype: Any = np.int64) -> ov.Node:
    return ov.op.Constant(np.array(values, dtype))


def scalar(value: int, dtype: Any = np.int64) -> ov.Node:
    return ov.op.Constant(np.array(value, dtype))


def words(value: int) -> ov.Node:
    return scalar(value, np.uint32)


def u32(node: ov.Node) -> ov.Node:
    return op.convert(node, "u32")


def i64(node: ov.Node) -> ov.Node:
    return op.convert(node, "i64")


def flat(node: ov.Node) -> ov.Node:
    return op.reshape(node, const(6), special_zero=False)


def square(node: ov.Node) -> ov.Node:
    return op.reshape(node, const(2, 3), special_zero=False)


def first_four(node: ov.Node) -> ov.Node:
    return op.slice(node, const(0), const(4), const(1))


def reversed_parts(node: ov.Node) -> ov.Node:
    return op.concat(list(reversed(node.outputs())), 0)


def products(parts: ov.Node, factor: int) -> list[ov.Node]:
    shared = words(factor)
    return [op.multiply(part, shared) for part in parts.outputs()]


def column(node: ov.Node) -> ov.Node:
    return op.reshape(node, const(6, 1), special_zero=False)


def scattered(data: Any, index: Any, updates: Any) -> Any:
    result = data.copy()
    result[index] = updates
    return result


Graph = Callable[..., ov.Node]
Truth = Callable[..., Any]

# The kind of node that a row is about, then what is special in the row. The parameters' names say
# which inputs it takes.
EXACT: dict[str, tuple[Graph, Truth]] = {
    "Add": (lambda s, t: op.add(s, t), lambda s, t: s + t),
    "Add, a constant": (lambda s: op.add(s, words(2**31 - 1)), lambda s: s + np.uint32(2**31 - 1)),
    "Add, small constants": (
        lambda s: op.add(op.multiply(op.add(s, words(9)), words(1001)), words(3)),
        lambda s: (s + np.uint32(9)) * np.uint32(1001) + np.uint32(3),
    ),
    "Add, a constant for each": (
        lambda s: op.add(s, ov.op.Constant(np.arange(6, dtype=np.uint32))),
        lambda s: s + np.arange(6, dtype=np.uint32),
    ),
    "Add, i64": (lambda s, w: u32(op.add(i64(s), w)), lambda s, w: s + w.astype(np.uint32)),
    "BitwiseAnd": (lambda s, t: op.bitwise_and(s, t), lambda s, t: s & t),
    "BitwiseNot": (lambda s: op.bitwise_not(s), lambda s: ~s),
    "BitwiseOr": (lambda s, t: op.bitwise_or(s, t), lambda s, t: s | t),
    "BitwiseXor": (
        lambda s, t: op.bitwise_xor(op.bitwise_xor(s, t), words(2**31 - 1)),
        lambda s, t: s ^ t ^ np.uint32(2**31 - 1),
    ),
    "Broadcast": (
        lambda s: flat(op.slice(op.broadcast(s, const(2, 6)), const(1), const(2), const(1))),
        lambda s: s,
    ),
    "Concat": (
        lambda s, t: op.slice(op.concat([s, t], 0), const(3), const(9), const(1)),
        lambda s, t: np.concatenate([s, t])[3:9],
    ),
    "Concat, a low constant": (
        lambda s: op.concat([first_four(s), ov.op.Constant(np.uint32([2**31 - 1, 5]))], 0),
        lambda s: np.array([*s[:4], 2**31 - 1, 5], np.uint32),
    ),
    "Convert, i64 there and back": (lambda s: u32(i64(s)), lambda s: s),
    "Convert, i32": (lambda x: u32(x), lambda x: x.astype(np.uint32)),
    "Convert, i64": (lambda w: u32(w), lambda w: w.astype(np.uint32)),
    "Convert, u8": (lambda b: u32(b), lambda b: b.astype(np.uint32)),
    "Convert, i16": (lambda h: u32(h), lambda h: h.astype(np.uint32)),
    "Convert, boolean": (lambda c: u32(c), lambda c: c.astype(np.uint32)),
    "Gather": (lambda s, i: op.gather(s, i, scalar(0)), lambda s, i: s[i]),
    "Gather, of computed indices": (
        lambda s, i: op.gather(s, op.subtract(const(5), i), scalar(0)),
        lambda s, i: s[5 - i],
    ),
    "Gather, of computed indices, and a large constant": (
        lambda s, i: op.add(op.gather(s, op.subtract(const(5), i), scalar(0)), words(2**31 - 1)),
        lambda s, i: s[5 - i] + np.uint32(2**31 - 1),
    ),
    "Gather, of a constant's remainder": (
        lambda s: op.gather(s, op.mod(const(11, 2**40 + 4, 3, 8, 1, 6), const(6)), scalar(0)),
        lambda s: s[np.array([11, 2**40 + 4, 3, 8, 1, 6]) % 6],
    ),
    "Gather, of booleans": (
        lambda s, t, c, i: op.select(op.gather(c, i, scalar(0)), s, t),
        lambda s, t, c, i: np.where(c[i], s, t),
    ),
    "GatherElements": (lambda s, i: op.gather_elements(s, i, 0), lambda s, i: s[i]),
    "GatherND": (lambda s, i: op.gather_nd(s, column(i)), lambda s, i: s[i]),
    "Identity": (lambda s: op.identity(s), lambda s: s),
    "LogicalAnd": (
        lambda s, t, c, d: op.select(op.logical_and(c, d), s, t),
        lambda s, t, c, d: np.where(c & d, s, t),
    ),
    "LogicalNot": (
        lambda s, t, c: op.select(op.logical_not(c), s, t),
        lambda s, t, c: np.where(~c, s, t),
    ),
    "LogicalOr": (
        lambda s, t, c, d: op.select(op.logical_or(c, d), s, t),
        lambda s, t, c, d: np.where(c | d, s, t),
    ),
    "LogicalXor": (
        lambda s, t, c, d: op.add(op.select(op.logical_xor(c, d), s, t), s),
        lambda s, t, c, d: np.where(c ^ d, s, t) + s,
    ),
    "Multiply": (lambda s, t: op.multiply(s, t), lambda s, t: s * t),
    "Multiply, each word by the same": (
        lambda s: op.concat(products(op.split(s, scalar(0), 6), 1664525), 0),
        lambda s: s * np.uint32(1664525),
    ),
    "Pad": (
        lambda s: op.pad(
            op.slice(s, const(1), const(5), const(1)), const(1), const(1), "constant", words(2**24)
        ),
        lambda s: np.array([2**24, *s[1:5], 2**24], np.uint32),
    ),
    "Pad, by its edge": (
        lambda s: op.pad(op.slice(s, const(1), const(5), const(1)), const(1), const(1), "edge"),
        lambda s: np.pad(s[1:5], 1, "edge"),
    ),
    "Reshape": (lambda s: flat(square(s)), lambda s: s),
    "Reshape, to another's shape": (
        lambda s, t: op.bitwise_xor(op.reshape(square(s), op.shape_of(t), special_zero=False), t),
        lambda s, t: s ^ t,
    ),
    "Roll": (lambda s: op.roll(s, const(2), const(0)), lambda s: np.roll(s, 2)),
    "ScatterElementsUpdate": (
        lambda s, i, t: op.scatter_elements_update(s, i, t, scalar(0)),
        scattered,
    ),
    "ScatterNDUpdate": (lambda s, i, t: op.scatter_nd_update(s, column(i), t), scattered),
    "ScatterUpdate": (lambda s, i, t: op.scatter_update(s, i, t, scalar(0)), scattered),
    "Select": (lambda s, t, c: op.select(c, s, t), lambda s, t, c: np.where(c, s, t)),
    "Slice": (lambda s: op.slice(s, const(-1), const(-(2**63)), const(-1)), lambda s: s[::-1]),
    "Split": (lambda s: reversed_parts(op.split(s, scalar(0), 2)), lambda s: np.roll(s, 3)),
    "Squeeze": (lambda s: op.squeeze(op.unsqueeze(s, const(0)), const(0)), lambda s: s),
    "StridedSlice": (
        lambda s: op.strided_slice(s, const(5), const(-100), const(-1), [0], [0]),
        lambda s: s[::-1],
    ),
    "Subtract": (lambda s, t: op.subtract(s, t), lambda s, t: s - t),
    "Tile": (
        lambda s: op.slice(op.tile(s, const(2)), const(2), const(8), const(1)),
        lambda s: np.tile(s, 2)[2:8],
    ),
    "Transpose": (
        lambda s: flat(op.transpose(square(s), const(1, 0))),
        lambda s: s.reshape(2, 3).T.reshape(6),
    ),
    "Unsqueeze": (lambda s: flat(op.unsqueeze(s, const(0))), lambda s: s),
    "VariadicSplit": (
        lambda s: reversed_parts(op.variadic_split(s, scalar(0), const(1, 5))),
        lambda s: np.roll(s, -1),
    ),
}

REFUSED: dict[str, tuple[Graph, str]] = {
    "Maximum": (lambda s, t: op.maximum(s, t), "what Maximum computes"),
    "Mod": (lambda s, t: op.mod(s, t), "what Mod computes"),
    "Divide": (lambda s, t: op.divide(s, t), "what Divide computes"),
    "a shift": (lambda s, t: op.bitwise_right_shift(s, t), "what BitwiseRightShift computes"),
    "a sum": (
        lambda s, t: op.reduce_sum(
            op.concat([op.unsqueeze(x, const(0)) for x in (s, t)], 0), const(0)
        ),
        "what ReduceSum computes",
    ),
    "16 bits": (lambda s: u32(op.convert(s, "u16")), "what Convert computes from u32 to u16"),
    "8 bits": (lambda s: u32(op.convert(s, "i8")), "what Convert computes from u32 to i8"),
    "a boolean of words": (
        lambda s: u32(op.convert(s, "boolean")),
        "what Convert computes from u32 to boolean",
    ),
    "floats": (lambda s: u32(op.convert(s, "f64")), "what Convert computes from f64 to u32"),
    "arithmetic of 8 bits": (lambda b: u32(op.add(b, b)), "what Add computes of u8"),
    "a scatter with max": (
        lambda s, i, t: op.scatter_nd_update(s, column(i), t, "max"),
        "what ScatterNDUpdate computes with max",
    ),
    "a scatter with min": (
        lambda s, i, t: op.scatter_elements_update(s, i, t, scalar(0), "min"),
        "what ScatterElementsUpdate computes with min",
    ),
    "a comparison of u32": (lambda s, t: op.select(op.less(s, t), s, t), "what Less computes"),
    "a comparison of i64": (
        lambda s, t, w: op.select(op.equal(w, i64(s)), s, t),
        "what Equal computes",
    ),
    "a comparison of i32": (
        lambda s, t, x: op.select(op.greater(x, scalar(5, np.int32)), s, t),
        "what Greater computes",
    ),
    "an index by Mod": (
        lambda s, t: op.gather(s, op.mod(t, words(6)), scalar(0)),
        "what Mod computes",
    ),
    "an index of u32 by Minimum in a scatter": (
        lambda s, i, t: op.scatter_update(s, op.minimum(i, const(5)), t, scalar(0)),
        "what Minimum computes",
    ),
    "a padding beyond f32": (
        lambda s: op.pad(s, const(0), const(0), "constant", words(2**24 + 1)),
        "what Pad computes with 16777217",
    ),
    "a computed padding": (
        lambda s, t: op.pad(
            s, const(0), const(0), "constant", op.squeeze(op.slice(t, const(0), const(1), const(1)))
        ),
        "what Pad computes with a computed value",
    ),
    "constants that are merged": (
        lambda s: op.add(op.add(s, words(2**30)), words(2**30)),
        "what Add, Multiply, Subtract compute with 2 constants",
    ),
    "constants that are merged, one of them in branches": (
        lambda s: op.multiply(
            op.concat(products(op.split(s, scalar(0), 6), 1664525), 0), words(22695477)
        ),
        "what Add, Multiply, Subtract compute with 2 constants",
    ),
    "constants that are merged in an index": (
        lambda s, i: op.gather(s, op.subtract(op.add(i, const(2**30)), const(2**30)), scalar(0)),
        "what Add, Multiply, Subtract compute with 2 constants",
    ),
    "a high constant": (
        lambda s: op.bitwise_xor(s, words(2**31)),
        "one made of the u32 constant 2147483648",
    ),
    "a high constant beside an input": (
        lambda s: op.concat([first_four(s), ov.op.Constant(np.uint32([5, 2**32 - 1]))], 0),
        "one made of the u32 constant 4294967295",
    ),
    "a high constant in a scatter": (
        lambda s, i: op.scatter_update(
            s, i, ov.op.Constant(np.full(6, 2**32 - 1, np.uint32)), scalar(0)
        ),
        "one made of the u32 constant 4294967295",
    ),
    "a high constant behind a concat of one": (
        lambda s: op.add(op.concat([s], 0), words(2**32 - 1)),
        "one made of the u32 constant 4294967295",
    ),
    "a low constant of i64": (
        lambda s: u32(op.bitwise_and(i64(s), scalar(-(2**31) - 1))),
        "one made of the i64 constant -2147483649",
    ),
    "a large table": (
        lambda i: op.gather(ov.op.Constant(np.full(5000, 2**32 - 1, np.uint32)), i, scalar(0)),
        "one made of the u32 constant 4294967295",
    ),
}


@pytest.fixture(scope="module")
def core() -> ov.Core:
    return onnx_philox.openvino.register(ov.Core())


def parameters(function: Callable[..., Any]) -> dict[str, ov.Node]:
    names = inspect.signature(function).parameters
    if list(names) == ["data", "index", "updates"]:
        names = ("s", "i", "t")
    nodes = {}
    for name in names:
        nodes[name] = op.parameter([6], INPUTS[name].dtype.type, name)
        nodes[name].output(0).set_names({name})
    return nodes


@pytest.mark.usefixtures("factories")
@pytest.mark.parametrize("row", EXACT)
def test_states_from_accepted_nodes_are_exact(core: ov.Core, row: str) -> None:
    graph, truth = EXACT[row]
    nodes = parameters(graph)
    arrived = random_generator(graph(**nodes), [0])
    model = ov.Model([arrived.output(1)], list(nodes.values()), "m")
    kinds = {node.get_type_name() for node in model.get_ordered_ops()}
    assert row.partition(",")[0] in kinds
    feeds = {name: INPUTS[name] for name in nodes}
    expected = np.asarray(truth(*feeds.values()), np.uint32)
    for hint in differing([None, "f32", "bf16"]):
        config = {} if hint is None else {"INFERENCE_PRECISION_HINT": hint}
        assert_same_bits(infer(core.compile_model(model, "CPU", config), feeds)[0], expected)


def test_every_kind_of_node_that_is_taken_has_a_row() -> None:
    # Variables need an Assign: tests/test_openvino_stateful.py.
    assert {row.partition(",")[0] for row in EXACT} == set(openvino_plugin.EXACT) - {"ReadValue"}


@pytest.mark.usefixtures("factories")
def test_constant_rows_are_exact_or_refused() -> None:
    most = 4096 // 6
    state = row_states(2**63, range(most + 1))
    drawn = random_generator(ov.op.Constant(state[:most]), [most, 4])
    expected = reference.random_generator(state[:most], [most, 4])[0]
    compiled = ov.Core().compile_model(ov.Model([drawn.output(0)], []), "CPU")
    assert_same_bits(infer(compiled)[0], expected)
    said = (
        "input 'state' must be of at most 4096 elements, or all within int32, since OpenVINO's "
        "CPU plugin clamps others: got 4098 constants of u32, one of them 2147483648. Make "
        "the whole state a model input, or a constant of at most 4096 elements."
    )
    with pytest.raises(ValueError, match=re.escape(said)):
        random_generator(ov.op.Constant(state), [most + 1, 4])


@pytest.mark.usefixtures("factories")
@pytest.mark.parametrize(("alignment", "rows"), [("tensorflow", 4096 // 6 + 1), ("pytorch", 7)])
def test_the_states_of_many_rows_that_another_node_of_ours_gives_are_no_constants(
    alignment: str, rows: int
) -> None:
    """The plugin makes constants of them when it asks for the shapes of a run."""
    states = row_states(2**63, range(rows))
    if alignment == "pytorch":
        states = np.array([TorchState.from_seed(i).to_array() for i in range(rows)])
    data = ov.opset8.parameter([-1, 3], np.float32)
    state = ov.opset8.parameter([-1, states.shape[1]], np.uint32)
    first = random_dropout(data, 0.5, state=state, alignment=alignment)
    second = random_dropout(data, 0.5, state=first.output(2), alignment=alignment)
    compiled = ov.Core().compile_model(ov.Model([second.output(1)], [data, state]), "CPU")
    fed = np.ones((rows, 3), np.float32)
    between = reference.random_dropout(fed, 0.5, state=states, alignment=alignment)[2]
    expected = reference.random_dropout(fed, 0.5, state=between, alignment=alignment)[1]
    assert_same_bits(infer(compiled, [fed, states])[0].astype(bool), expected)


def refusal(graph: Graph) -> str:
    with pytest.raises(ValueError, match="input 'state' must be") as raised:
        random_generator(graph(**parameters(graph)), [5])
    return str(raised.value)


@pytest.mark.parametrize("row", REFUSED)
def test_what_is_not_exact_is_refused_in_the_same_words(
    monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    graph, given = REFUSED[row]
    native = refusal(graph)
    # The list of what is allowed is each language's own table.
    assert "input 'state' must be " in native
    assert f": got {given}. " in native
    assert "Make the whole state a model input" in native
    monkeypatch.setattr(_native_backend, "unavailable", lambda: ImportError("not for this test"))
    assert refusal(graph) == native
