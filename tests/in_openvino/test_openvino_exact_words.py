"""States that OpenVINO's CPU plugin computes: exact in every kind of node that is taken."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset16 as op

from onnx_philox import TorchState, reference, row_states
from onnx_philox._contract import openvino_plugin
from onnx_philox.openvino import _native_openvino, random_dropout, random_generator
from tests.common.cases import assert_same_bits
from tests.common.half_precision import differing, selects_exactly
from tests.common.openvino_models import parameter
from tests.common.runtimes import OpenVino, infer

INPUTS = {
    "s": np.array(
        [2**32 - 2, 2**31, 2**31 - 1, 5, 0xDEADBEEF, 2**24 + 1],
        np.uint32,
    ),
    "t": np.array(
        [2**24 + 3, 0xFEDCBA98, 7, 2**31 + 1, 2**32 - 1, 2**30],
        np.uint32,
    ),
    "c": np.array([True, False, True, True, False, False]),
    "d": np.array([True, True, False, True, False, True]),
    "i": np.array([5, 0, 3, 1, 2, 4]),
    "x": np.array(
        [-(2**31), 2**31 - 1, -1, 2**24 + 1, 0, 5],
        np.int32,
    ),
    "w": np.array([2**63 - 1, -(2**63), 2**32 + 5, -7, 2**31, 3]),
    "b": np.array(
        [0, 255, 128, 3, 7, 200],
        np.uint8,
    ),
    "h": np.array(
        [-(2**15), 2**15 - 1, -1, 3, 0, 9],
        np.int16,
    ),
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


def part(
    node: ov.Node,
    start: int,
    stop: int,
    step: int = 1,
) -> ov.Node:
    return op.slice(
        node,
        const(start),
        const(stop),
        const(step),
    )


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


class Given:
    """A model's parameters of the types of `INPUTS`."""

    def __init__(self) -> None:
        made = {name: parameter(name, [6], array.dtype.type) for name, array in INPUTS.items()}
        # A condition of a shape that is not known.
        made["k"] = parameter("k", [-1], np.bool_)
        self.parameters = list(made.values())
        vars(self).update(made)

    def read(self) -> list[ov.Node]:
        """Those that some node reads."""
        return [each for each in self.parameters if each.output(0).get_target_inputs()]


NUMBERS = SimpleNamespace(**INPUTS)
Build = Callable[[Any], ov.Node]
Expect = Callable[[Any], Any]
# The kind of a node and what is special; a state of parameters, and what it is, of their numbers.
EXACT: dict[str, tuple[Build, Expect]] = {
    "Add": (
        lambda of: op.add(of.s, of.t),
        lambda of: of.s + of.t,
    ),
    "Add, a constant": (
        lambda of: op.add(of.s, words(2**31 - 1)),
        lambda of: of.s + (2**31 - 1),
    ),
    "Add, small constants": (
        lambda of: op.add(op.multiply(op.add(of.s, words(9)), words(1001)), words(3)),
        lambda of: (of.s + 9) * 1001 + 3,
    ),
    "Add, a constant that is none": (
        lambda of: op.add(op.add(of.s, words(0)), words(2**31 - 2)),
        lambda of: of.s + (2**31 - 2),
    ),
    "Add, a constant for each": (
        lambda of: op.add(of.s, words(0, 1, 2, 3, 4, 5)),
        lambda of: of.s + np.arange(6, dtype=np.uint32),
    ),
    "Add, i64": (
        lambda of: u32(op.add(i64(of.s), of.w)),
        lambda of: of.s + of.w.astype(np.uint32),
    ),
    "BitwiseAnd": (
        lambda of: op.bitwise_and(of.s, of.t),
        lambda of: of.s & of.t,
    ),
    "BitwiseAnd, the least constant": (
        lambda of: u32(op.bitwise_and(i64(of.s), scalar(-(2**31)))),
        lambda of: of.s & 2**31,
    ),
    "BitwiseNot": (
        lambda of: op.bitwise_not(of.s),
        lambda of: ~of.s,
    ),
    "BitwiseOr": (
        lambda of: op.bitwise_or(of.s, of.t),
        lambda of: of.s | of.t,
    ),
    "BitwiseXor": (
        lambda of: op.bitwise_xor(op.bitwise_xor(of.s, of.t), words(2**31 - 1)),
        lambda of: of.s ^ of.t ^ (2**31 - 1),
    ),
    "Broadcast": (
        lambda of: shaped(part(op.broadcast(of.s, const(2, 6)), 1, 2), 6),
        lambda of: of.s,
    ),
    "Concat": (
        lambda of: part(op.concat([of.s, of.t], 0), 3, 9),
        lambda of: np.concatenate([of.s, of.t])[3:9],
    ),
    "Concat, a low constant": (
        lambda of: op.concat([part(of.s, 0, 4), words(2**31 - 1, 5)], 0),
        lambda of: [
            *of.s[:4],
            2**31 - 1,
            5,
        ],
    ),
    "Convert, i64 there and back": (
        lambda of: u32(i64(of.s)),
        lambda of: of.s,
    ),
    "Convert, i32": (
        lambda of: u32(of.x),
        lambda of: of.x.astype(np.uint32),
    ),
    "Convert, i64": (
        lambda of: u32(of.w),
        lambda of: of.w.astype(np.uint32),
    ),
    "Convert, u8": (
        lambda of: u32(of.b),
        lambda of: of.b,
    ),
    "Convert, i16": (
        lambda of: u32(of.h),
        lambda of: of.h.astype(np.uint32),
    ),
    "Convert, boolean": (
        lambda of: u32(of.c),
        lambda of: of.c,
    ),
    "Gather": (
        lambda of: op.gather(of.s, of.i, scalar(0)),
        lambda of: of.s[of.i],
    ),
    "Gather, of computed indices": (
        lambda of: op.gather(
            of.s,
            op.subtract(const(5), of.i),
            scalar(0),
        ),
        lambda of: of.s[5 - of.i],
    ),
    "Gather, and a large constant": (
        lambda of: op.add(
            op.gather(
                of.s,
                op.subtract(const(5), of.i),
                scalar(0),
            ),
            words(2**31 - 1),
        ),
        lambda of: of.s[5 - of.i] + (2**31 - 1),
    ),
    "Gather, of a remainder": (
        lambda of: op.gather(
            of.s,
            op.mod(const(11, 2**40 + 4, 3, 8, 1, 6), const(6)),
            scalar(0),
        ),
        lambda of: of.s[np.array([11, 2**40 + 4, 3, 8, 1, 6]) % 6],
    ),
    "Gather, of booleans": (
        lambda of: op.select(op.gather(of.c, of.i, scalar(0)), of.s, of.t),
        lambda of: np.where(of.c[of.i], of.s, of.t),
    ),
    "GatherElements": (
        lambda of: op.gather_elements(of.s, of.i, 0),
        lambda of: of.s[of.i],
    ),
    "GatherND": (
        lambda of: op.gather_nd(of.s, shaped(of.i, 6, 1)),
        lambda of: of.s[of.i],
    ),
    "Identity": (
        lambda of: op.identity(of.s),
        lambda of: of.s,
    ),
    "LogicalAnd": (
        lambda of: op.select(op.logical_and(of.c, of.d), of.s, of.t),
        lambda of: np.where(of.c & of.d, of.s, of.t),
    ),
    "LogicalNot": (
        lambda of: op.select(op.logical_not(of.c), of.s, of.t),
        lambda of: np.where(~of.c, of.s, of.t),
    ),
    "LogicalOr": (
        lambda of: op.select(op.logical_or(of.c, of.d), of.s, of.t),
        lambda of: np.where(of.c | of.d, of.s, of.t),
    ),
    "LogicalXor": (
        lambda of: op.add(op.select(op.logical_xor(of.c, of.d), of.s, of.t), of.s),
        lambda of: np.where(of.c ^ of.d, of.s, of.t) + of.s,
    ),
    "Multiply": (
        lambda of: op.multiply(of.s, of.t),
        lambda of: of.s * of.t,
    ),
    "Multiply, each word by the same": (
        lambda of: products(of.s, 1664525),
        lambda of: of.s * 1664525,
    ),
    "Pad": (
        lambda of: op.pad(
            part(of.s, 1, 5),
            const(1),
            const(1),
            "constant",
            words(2**24),
        ),
        lambda of: [
            2**24,
            *of.s[1:5],
            2**24,
        ],
    ),
    "Pad, by its edge": (
        lambda of: op.pad(
            part(of.s, 1, 5),
            const(1),
            const(1),
            "edge",
        ),
        lambda of: np.pad(of.s[1:5], 1, "edge"),
    ),
    "Reshape": (
        lambda of: shaped(shaped(of.s, 2, 3), 6),
        lambda of: of.s,
    ),
    "Reshape, to another's shape": (
        lambda of: op.bitwise_xor(
            op.reshape(
                shaped(of.s, 2, 3),
                op.shape_of(of.t),
                False,
            ),
            of.t,
        ),
        lambda of: of.s ^ of.t,
    ),
    "Roll": (
        lambda of: op.roll(of.s, const(2), const(0)),
        lambda of: np.roll(of.s, 2),
    ),
    "ScatterElementsUpdate": (
        lambda of: op.scatter_elements_update(of.s, of.i, of.t, scalar(0)),
        lambda of: scattered(of.s, of.i, of.t),
    ),
    "ScatterNDUpdate": (
        lambda of: op.scatter_nd_update(of.s, shaped(of.i, 6, 1), of.t),
        lambda of: scattered(of.s, of.i, of.t),
    ),
    "ScatterUpdate": (
        lambda of: op.scatter_update(of.s, of.i, of.t, scalar(0)),
        lambda of: scattered(of.s, of.i, of.t),
    ),
    "Select": (
        lambda of: op.select(of.c, of.s, of.t),
        lambda of: np.where(of.c, of.s, of.t),
    ),
    "Slice": (
        lambda of: part(of.s, -1, -(2**63), -1),
        lambda of: of.s[::-1],
    ),
    "Split": (
        lambda of: reversed_parts(op.split(of.s, scalar(0), 2)),
        lambda of: np.roll(of.s, 3),
    ),
    "Squeeze": (
        lambda of: op.squeeze(op.unsqueeze(of.s, const(0)), const(0)),
        lambda of: of.s,
    ),
    "StridedSlice": (
        lambda of: op.strided_slice(
            of.s,
            const(5),
            const(-100),
            const(-1),
            [0],
            [0],
        ),
        lambda of: of.s[::-1],
    ),
    "Subtract": (
        lambda of: op.subtract(of.s, of.t),
        lambda of: of.s - of.t,
    ),
    "Tile": (
        lambda of: part(op.tile(of.s, const(2)), 2, 8),
        lambda of: np.tile(of.s, 2)[2:8],
    ),
    "Transpose": (
        lambda of: shaped(op.transpose(shaped(of.s, 2, 3), const(1, 0)), 6),
        lambda of: of.s.reshape(2, 3).T.reshape(6),
    ),
    "Unsqueeze": (
        lambda of: shaped(op.unsqueeze(of.s, const(0)), 6),
        lambda of: of.s,
    ),
    "VariadicSplit": (
        lambda of: reversed_parts(
            op.variadic_split(
                of.s,
                scalar(0),
                const(1, 5),
            )
        ),
        lambda of: np.roll(of.s, -1),
    ),
}

REFUSED: dict[str, tuple[Build, str]] = {
    "Maximum": (
        lambda of: op.maximum(of.s, of.t),
        "what Maximum computes",
    ),
    "Mod": (
        lambda of: op.mod(of.s, of.t),
        "what Mod computes",
    ),
    "Divide": (
        lambda of: op.divide(of.s, of.t),
        "what Divide computes",
    ),
    "a shift": (
        lambda of: op.bitwise_right_shift(of.s, of.t),
        "what BitwiseRightShift computes",
    ),
    "a sum": (
        lambda of: op.reduce_sum(op.concat([shaped(of.s, 1, 6), shaped(of.t, 1, 6)], 0), const(0)),
        "what ReduceSum computes",
    ),
    "16 bits": (
        lambda of: u32(op.convert(of.s, "u16")),
        "what Convert computes from u32 to u16",
    ),
    "8 bits": (
        lambda of: u32(op.convert(of.s, "i8")),
        "what Convert computes from u32 to i8",
    ),
    "a boolean of words": (
        lambda of: u32(op.convert(of.s, "boolean")),
        "what Convert computes from u32 to boolean",
    ),
    "floats": (
        lambda of: u32(op.convert(of.s, "f64")),
        "what Convert computes from f64 to u32",
    ),
    "arithmetic of 8 bits": (
        lambda of: u32(op.add(of.b, of.b)),
        "what Add computes of u8",
    ),
    "a scatter with max": (
        lambda of: op.scatter_nd_update(of.s, shaped(of.i, 6, 1), of.t, "max"),
        "what ScatterNDUpdate computes with max",
    ),
    "a scatter with min": (
        lambda of: op.scatter_elements_update(of.s, of.i, of.t, scalar(0), "min"),
        "what ScatterElementsUpdate computes with min",
    ),
    "a comparison of u32": (
        lambda of: op.select(op.less(of.s, of.t), of.s, of.t),
        "what Less computes",
    ),
    "a comparison of i64": (
        lambda of: op.select(op.equal(of.w, i64(of.s)), of.s, of.t),
        "what Equal computes",
    ),
    "a comparison of i32": (
        lambda of: op.select(op.greater(of.x, scalar(5, np.int32)), of.s, of.t),
        "what Greater computes",
    ),
    "an index by Mod": (
        lambda of: op.gather(
            of.s,
            op.mod(of.t, words(6)),
            scalar(0),
        ),
        "what Mod computes",
    ),
    "an index of u32 by Minimum in a scatter": (
        lambda of: op.scatter_update(
            of.s,
            op.minimum(of.i, const(5)),
            of.t,
            scalar(0),
        ),
        "what Minimum computes",
    ),
    "a padding beyond f32": (
        lambda of: op.pad(
            of.s,
            const(0),
            const(0),
            "constant",
            words(2**24 + 1),
        ),
        "what Pad computes with 16777217",
    ),
    "a computed padding": (
        lambda of: op.pad(
            of.s,
            const(0),
            const(0),
            "constant",
            op.squeeze(part(of.t, 0, 1)),
        ),
        "what Pad computes with a computed value",
    ),
    "constants that are merged": (
        lambda of: op.add(op.add(of.s, words(2**15 - 1)), words(2**16 - 1)),
        "what Add, Multiply, Subtract compute with 2 constants",
    ),
    "constants that are merged, one of them in branches": (
        lambda of: op.multiply(products(of.s, 1664525), words(22695477)),
        "what Add, Multiply, Subtract compute with 2 constants",
    ),
    "constants merged in an index": (
        lambda of: op.gather(
            of.s, op.subtract(op.add(of.i, const(2**30)), const(2**30)), scalar(0)
        ),
        "what Add, Multiply, Subtract compute with 2 constants",
    ),
    "a high constant": (
        lambda of: op.bitwise_xor(of.s, words(2**31)),
        "one made of the u32 constant 2147483648",
    ),
    "a high constant beside an input": (
        lambda of: op.concat([part(of.s, 0, 4), words(5, 2**32 - 1)], 0),
        "one made of the u32 constant 4294967295",
    ),
    "a high constant in a scatter": (
        lambda of: op.scatter_update(
            of.s,
            of.i,
            words(*[2**32 - 1] * 6),
            scalar(0),
        ),
        "one made of the u32 constant 4294967295",
    ),
    "a high constant behind a concat of one": (
        lambda of: op.add(op.concat([of.s], 0), words(2**32 - 1)),
        "one made of the u32 constant 4294967295",
    ),
    "a low constant of i64": (
        lambda of: u32(op.bitwise_and(i64(of.s), scalar(-(2**31) - 1))),
        "one made of the i64 constant -2147483649",
    ),
    "a condition made of a dynamic shape": (
        lambda of: op.select(op.logical_and(of.d, of.k), of.s, of.t),
        "what Select chooses by a condition of LogicalAnd of a dynamic shape",
    ),
    "a condition behind what OpenVINO removes": (
        lambda of: op.select(op.identity(op.logical_not(of.k)), of.s, of.t),
        "what Select chooses by a condition of LogicalNot of a dynamic shape",
    ),
    "a large table": (
        lambda of: op.gather(
            words(*[2**32 - 1] * 5000),
            of.i,
            scalar(0),
        ),
        "one made of the u32 constant 4294967295",
    ),
}


def built(build: Build) -> tuple[ov.Node, list[ov.Node]]:
    """What a row makes, and the parameters that it reads."""
    given = Given()
    made = build(given)
    return made, given.read()


@pytest.mark.usefixtures("factories")
def test_states_from_accepted_nodes_are_exact() -> None:
    """Of all rows, as parts of one model: it takes little longer to compile than each."""
    rows = {
        row: made
        for row, made in EXACT.items()
        if selects_exactly() or not row.startswith("Logical")
    }
    made = [built(build) for build, _ in rows.values()]
    nodes = [node for _, inputs in made for node in inputs]
    outputs = [random_generator(state, [0]).output(1) for state, _ in made]
    feeds = dict(enumerate(INPUTS[node.friendly_name] for node in nodes))
    for hint in differing([None, "f32", "bf16"]):
        found = OpenVino("auto")(ov.Model(outputs, nodes, "m"), feeds, hint)
        for i, (row, (_, expect)) in enumerate(rows.items()):
            print(row)
            expected = np.asarray(expect(NUMBERS), np.uint32)
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
            monkeypatch.setattr(_native_openvino, "unavailable", no_library)
        if is_exact:
            random_generator(chosen, [5])
            continue
        of = " of a dynamic shape" if length < 0 else ""
        said = f"got what Select chooses by a condition of {kind}{of}. Make the whole state"
        with pytest.raises(ValueError, match=re.escape(said)):
            random_generator(chosen, [5])


def test_every_kind_of_node_that_is_taken_has_a_row() -> None:
    kinds = [row.partition(",")[0] for row in EXACT]
    # Variables need an Assign: tests/in_openvino/test_openvino_stateful.py.
    assert {*kinds} == set(openvino_plugin.EXACT) - {"ReadValue"}
    for kind, (build, _) in zip(kinds, EXACT.values(), strict=True):
        state, inputs = built(build)
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


def refusal(build: Build) -> str:
    state, _ = built(build)
    with pytest.raises(ValueError, match="input 'state' must be") as raised:
        random_generator(state, [5])
    return str(raised.value)


@pytest.mark.parametrize("row", REFUSED)
def test_what_is_not_exact_is_refused_in_the_same_words(
    monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    build, given = REFUSED[row]
    native = refusal(build)
    # The list of what is allowed is each language's own table.
    assert f": got {given}. " in native
    assert "Make the whole state a model input" in native
    monkeypatch.setattr(_native_openvino, "unavailable", lambda: ImportError("not for this test"))
    assert refusal(build) == native
