"""States that OpenVINO's CPU plugin computes: exact in every kind of node that is taken."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import openvino as ov
import pytest
from cases import assert_same_bits, table
from half_precision import differing, selects_exactly
from openvino import opset16 as op
from openvino_models import parameter
from runtimes import OpenVino, infer

from onnx_philox import TorchState, reference, row_states
from onnx_philox._contract import openvino_plugin
from onnx_philox.openvino import _native_backend, random_dropout, random_generator

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


def words(*values: int) -> ov.Node:
    return const(*values, dtype=np.uint32) if len(values) > 1 else scalar(*values, np.uint32)


def u32(node: ov.Node) -> ov.Node:
    return op.convert(node, "u32")


def i64(node: ov.Node) -> ov.Node:
    return op.convert(node, "i64")


def shaped(node: ov.Node, *dimensions: int) -> ov.Node:
    return op.reshape(node, const(*dimensions), special_zero=False)


def part(node: ov.Node, start: int, stop: int, step: int = 1) -> ov.Node:
    return op.slice(node, const(start), const(stop), const(step))


def reversed_parts(node: ov.Node) -> ov.Node:
    return op.concat(list(reversed(node.outputs())), 0)


def products(node: ov.Node, factor: int) -> ov.Node:
    """Each word by the same constant, which six nodes read."""
    shared = words(factor)
    parts = op.split(node, scalar(0), 6).outputs()
    return op.concat([op.multiply(each, shared) for each in parts], 0)


def scattered(data: Any, index: Any, updates: Any) -> Any:
    result = data.copy()
    result[index] = updates
    return result


def rows(text: str) -> list[Any]:
    """Rows of `kind, what is special: graph -> words`."""
    named = ((*given.split(": ", 1), said) for given, said in table(text))
    return [pytest.param(graph, said, id=row) for row, graph, said in named]


EXACT = rows("""
Add: add(s, t) -> s + t
Add, a constant: add(s, words(2**31 - 1)) -> s + (2**31 - 1)
Add, small constants: add(multiply(add(s, words(9)), words(1001)), words(3)) -> (s + 9) * 1001 + 3
Add, a constant that is none: add(add(s, words(0)), words(2**31 - 2)) -> s + (2**31 - 2)
Add, a constant for each: add(s, words(0, 1, 2, 3, 4, 5)) -> s + np.arange(6, dtype=np.uint32)
Add, i64: u32(add(i64(s), w)) -> s + w.astype(np.uint32)
BitwiseAnd: bitwise_and(s, t) -> s & t
BitwiseAnd, the least constant: u32(bitwise_and(i64(s), scalar(-(2**31)))) -> s & 2**31
BitwiseNot: bitwise_not(s) -> ~s
BitwiseOr: bitwise_or(s, t) -> s | t
BitwiseXor: bitwise_xor(bitwise_xor(s, t), words(2**31 - 1)) -> s ^ t ^ (2**31 - 1)
Broadcast: shaped(part(broadcast(s, const(2, 6)), 1, 2), 6) -> s
Concat: part(concat([s, t], 0), 3, 9) -> np.concatenate([s, t])[3:9]
Concat, a low constant: concat([part(s, 0, 4), words(2**31 - 1, 5)], 0)
-> [*s[:4], 2**31 - 1, 5]
Convert, i64 there and back: u32(i64(s)) -> s
Convert, i32: u32(x) -> x.astype(np.uint32)
Convert, i64: u32(w) -> w.astype(np.uint32)
Convert, u8: u32(b) -> b
Convert, i16: u32(h) -> h.astype(np.uint32)
Convert, boolean: u32(c) -> c
Gather: gather(s, i, scalar(0)) -> s[i]
Gather, of computed indices: gather(s, subtract(const(5), i), scalar(0)) -> s[5 - i]
Gather, and a large constant: add(gather(s, subtract(const(5), i), scalar(0)), words(2**31 - 1))
-> s[5 - i] + (2**31 - 1)
Gather, of a remainder: gather(s, mod(const(11, 2**40 + 4, 3, 8, 1, 6), const(6)), scalar(0))
-> s[np.array([11, 2**40 + 4, 3, 8, 1, 6]) % 6]
Gather, of booleans: select(gather(c, i, scalar(0)), s, t) -> np.where(c[i], s, t)
GatherElements: gather_elements(s, i, 0) -> s[i]
GatherND: gather_nd(s, shaped(i, 6, 1)) -> s[i]
Identity: identity(s) -> s
LogicalAnd: select(logical_and(c, d), s, t) -> np.where(c & d, s, t)
LogicalNot: select(logical_not(c), s, t) -> np.where(~c, s, t)
LogicalOr: select(logical_or(c, d), s, t) -> np.where(c | d, s, t)
LogicalXor: add(select(logical_xor(c, d), s, t), s) -> np.where(c ^ d, s, t) + s
Multiply: multiply(s, t) -> s * t
Multiply, each word by the same: products(s, 1664525) -> s * 1664525
Pad: pad(part(s, 1, 5), const(1), const(1), "constant", words(2**24)) -> [2**24, *s[1:5], 2**24]
Pad, by its edge: pad(part(s, 1, 5), const(1), const(1), "edge") -> np.pad(s[1:5], 1, "edge")
Reshape: shaped(shaped(s, 2, 3), 6) -> s
Reshape, to another's shape: bitwise_xor(reshape(shaped(s, 2, 3), shape_of(t), False), t) -> s ^ t
Roll: roll(s, const(2), const(0)) -> np.roll(s, 2)
ScatterElementsUpdate: scatter_elements_update(s, i, t, scalar(0)) -> scattered(s, i, t)
ScatterNDUpdate: scatter_nd_update(s, shaped(i, 6, 1), t) -> scattered(s, i, t)
ScatterUpdate: scatter_update(s, i, t, scalar(0)) -> scattered(s, i, t)
Select: select(c, s, t) -> np.where(c, s, t)
Slice: part(s, -1, -(2**63), -1) -> s[::-1]
Split: reversed_parts(split(s, scalar(0), 2)) -> np.roll(s, 3)
Squeeze: squeeze(unsqueeze(s, const(0)), const(0)) -> s
StridedSlice: strided_slice(s, const(5), const(-100), const(-1), [0], [0]) -> s[::-1]
Subtract: subtract(s, t) -> s - t
Tile: part(tile(s, const(2)), 2, 8) -> np.tile(s, 2)[2:8]
Transpose: shaped(transpose(shaped(s, 2, 3), const(1, 0)), 6) -> s.reshape(2, 3).T.reshape(6)
Unsqueeze: shaped(unsqueeze(s, const(0)), 6) -> s
VariadicSplit: reversed_parts(variadic_split(s, scalar(0), const(1, 5))) -> np.roll(s, -1)
""")

REFUSED = rows("""
Maximum: maximum(s, t) -> what Maximum computes
Mod: mod(s, t) -> what Mod computes
Divide: divide(s, t) -> what Divide computes
a shift: bitwise_right_shift(s, t) -> what BitwiseRightShift computes
a sum: reduce_sum(concat([shaped(s, 1, 6), shaped(t, 1, 6)], 0), const(0))
-> what ReduceSum computes
16 bits: u32(convert(s, "u16")) -> what Convert computes from u32 to u16
8 bits: u32(convert(s, "i8")) -> what Convert computes from u32 to i8
a boolean of words: u32(convert(s, "boolean")) -> what Convert computes from u32 to boolean
floats: u32(convert(s, "f64")) -> what Convert computes from f64 to u32
arithmetic of 8 bits: u32(add(b, b)) -> what Add computes of u8
a scatter with max: scatter_nd_update(s, shaped(i, 6, 1), t, "max")
-> what ScatterNDUpdate computes with max
a scatter with min: scatter_elements_update(s, i, t, scalar(0), "min")
-> what ScatterElementsUpdate computes with min
a comparison of u32: select(less(s, t), s, t) -> what Less computes
a comparison of i64: select(equal(w, i64(s)), s, t) -> what Equal computes
a comparison of i32: select(greater(x, scalar(5, np.int32)), s, t) -> what Greater computes
an index by Mod: gather(s, mod(t, words(6)), scalar(0)) -> what Mod computes
an index of u32 by Minimum in a scatter: scatter_update(s, minimum(i, const(5)), t, scalar(0))
-> what Minimum computes
a padding beyond f32: pad(s, const(0), const(0), "constant", words(2**24 + 1))
-> what Pad computes with 16777217
a computed padding: pad(s, const(0), const(0), "constant", squeeze(part(t, 0, 1)))
-> what Pad computes with a computed value
constants that are merged: add(add(s, words(2**15 - 1)), words(2**16 - 1))
-> what Add, Multiply, Subtract compute with 2 constants
constants that are merged, one of them in branches: multiply(products(s, 1664525), words(22695477))
-> what Add, Multiply, Subtract compute with 2 constants
constants merged in an index: gather(s, subtract(add(i, const(2**30)), const(2**30)), scalar(0))
-> what Add, Multiply, Subtract compute with 2 constants
a high constant: bitwise_xor(s, words(2**31)) -> one made of the u32 constant 2147483648
a high constant beside an input: concat([part(s, 0, 4), words(5, 2**32 - 1)], 0)
-> one made of the u32 constant 4294967295
a high constant in a scatter: scatter_update(s, i, words(*[2**32 - 1] * 6), scalar(0))
-> one made of the u32 constant 4294967295
a high constant behind a concat of one: add(concat([s], 0), words(2**32 - 1))
-> one made of the u32 constant 4294967295
a low constant of i64: u32(bitwise_and(i64(s), scalar(-(2**31) - 1)))
-> one made of the i64 constant -2147483649
a condition made of a dynamic shape: select(logical_and(d, k), s, t)
-> what Select chooses by a condition of LogicalAnd of a dynamic shape
a condition behind what OpenVINO removes: select(identity(logical_not(k)), s, t)
-> what Select chooses by a condition of LogicalNot of a dynamic shape
a large table: gather(words(*[2**32 - 1] * 5000), i, scalar(0))
-> one made of the u32 constant 4294967295
""")


def built(graph: str) -> tuple[ov.Node, list[ov.Node]]:
    """What an expression of `opset16` makes of the inputs that it names, and those."""
    code = compile(graph, graph, "eval")
    nodes = {n: parameter(n, [6], a.dtype.type) for n, a in INPUTS.items() if n in code.co_names}
    if "k" in code.co_names:
        nodes["k"] = parameter("k", [-1], np.bool_)
    return eval(code, {**vars(op), **globals(), **nodes}), list(nodes.values())


@pytest.mark.usefixtures("factories")
def test_states_from_accepted_nodes_are_exact() -> None:
    """Of all rows, as parts of one model: it takes little longer to compile than each."""
    rows = [row for row in EXACT if selects_exactly() or not str(row.id).startswith("Logical")]
    made = [built(row.values[0]) for row in rows]
    nodes = [node for _, inputs in made for node in inputs]
    outputs = [random_generator(state, [0]).output(1) for state, _ in made]
    feeds = dict(enumerate(INPUTS[node.friendly_name] for node in nodes))
    for hint in differing([None, "f32", "bf16"]):
        found = OpenVino("auto")(ov.Model(outputs, nodes, "m"), feeds, hint)
        for i, row in enumerate(rows):
            print(row.id)
            expected = np.asarray(eval(row.values[1], globals() | INPUTS), np.uint32)
            assert_same_bits(found[i], expected)


@pytest.mark.parametrize("kind", openvino_plugin.LOGICAL)
@pytest.mark.parametrize("length", [6, -1])
def test_words_chosen_behind_a_logical_node_are_exact_or_refused(
    length: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bare runtime rounds what is refused, and nothing else."""
    k, d = (parameter(name, [length], np.bool_) for name in "kd")
    s, t = (parameter(name, [length], np.uint32) for name in "st")
    given = [k] if kind == "LogicalNot" else [k, d]
    make = {"LogicalAnd": op.logical_and, "LogicalOr": op.logical_or, "LogicalXor": op.logical_xor}
    chosen = op.select(make.get(kind, op.logical_not)(*given), s, t)
    fed = [np.array([True, False] * 3)] * len(given) + [INPUTS["s"], INPUTS["s"]]
    compiled = ov.Core().compile_model(ov.Model([chosen], [*given, s, t], "m"), "CPU")
    is_exact = np.array_equal(infer(compiled, fed)[0], INPUTS["s"])
    assert is_exact == (length > 0 and selects_exactly())
    for backend in ("native", "python"):
        if backend == "python":
            no_library = functools.partial(ImportError, "not for this test")
            monkeypatch.setattr(_native_backend, "unavailable", no_library)
        if is_exact:
            random_generator(chosen, [5])
            continue
        of = " of a dynamic shape" if length < 0 else ""
        said = f"got what Select chooses by a condition of {kind}{of}. Make the whole state"
        with pytest.raises(ValueError, match=re.escape(said)):
            random_generator(chosen, [5])


def test_every_kind_of_node_that_is_taken_has_a_row() -> None:
    kinds = [str(row.id).partition(",")[0] for row in EXACT]
    # Variables need an Assign: tests/test_openvino_stateful.py.
    assert {*kinds} == set(openvino_plugin.EXACT) - {"ReadValue"}
    for kind, row in zip(kinds, EXACT, strict=True):
        state, inputs = built(row.values[0])
        nodes = ov.Model([state], inputs).get_ordered_ops()
        assert kind in {node.get_type_name() for node in nodes}


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


def refusal(graph: str) -> str:
    with pytest.raises(ValueError, match="input 'state' must be") as raised:
        random_generator(built(graph)[0], [5])
    return str(raised.value)


@pytest.mark.parametrize(("graph", "given"), REFUSED)
def test_what_is_not_exact_is_refused_in_the_same_words(
    monkeypatch: pytest.MonkeyPatch, graph: str, given: str
) -> None:
    native = refusal(graph)
    # The list of what is allowed is each language's own table.
    assert f": got {given}. " in native
    assert "Make the whole state a model input" in native
    monkeypatch.setattr(_native_backend, "unavailable", lambda: ImportError("not for this test"))
    assert refusal(graph) == native
