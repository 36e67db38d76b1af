"""make_reproducible through If, Loop and Scan: each node draws on, from iteration to iteration.

The expectation is one rule, in `Expected`: every random node has a state of its own, which starts
as the state of the run and is advanced by each draw. Models are made from small programs, nested
at will; what they compute is a sum that every draw, and the order of the draws, goes into.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import hypothesis
import numpy as np
import onnx
import onnx.parser
import pytest
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from runtimes import OpenVino

import onnx_philox
from onnx_philox import PhiloxState, make_reproducible, reference
from onnx_philox.onnxruntime import InferenceSession

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
SIZE = 3

STATE = PhiloxState.for_run(0xFEDC_BA98_8765_4321, run=0x9000_0001).to_array()


# ------------------------------------------------------------------ programs


@dataclass(frozen=True)
class Draw:
    """total = (total + a draw) / 2."""

    op_type: str


@dataclass(frozen=True)
class If:
    """One block where the counter of the loop around is less than `below`, else the other.

    In the main graph the counter is the graph input `counter`.
    """

    below: int
    then_block: Block
    else_block: Block


@dataclass(frozen=True)
class Loop:
    """A block repeated; at the end, the totals of all iterations are added again."""

    times: int
    block: Block


@dataclass(frozen=True)
class Scan(Loop):
    """Like Loop, but over the rows of a tensor; the row is the block's counter."""


Statement = Draw | If | Loop
Block = tuple[Statement, ...]


class Expected:
    """What a program computes, drawing by `onnx_philox.reference`."""

    def __init__(self, program: Block, counter: int, state: np.ndarray, **seed: int) -> None:
        self._streams: dict[int, int] = {}
        self._number(program, itertools.count())
        self._states = dict.fromkeys(self._streams.values(), state)
        self._seed = seed
        self.total = self._run(program, np.zeros(SIZE, np.float32), counter)

    def _number(self, block: Block, numbers: Any) -> None:
        for statement in block:
            match statement:
                case Draw():
                    self._streams[id(statement)] = next(numbers)
                case If(_, then_block, else_block):
                    self._number(then_block, numbers)
                    self._number(else_block, numbers)
                case Loop(_, inner):
                    self._number(inner, numbers)

    def _run(self, block: Block, total: np.ndarray, counter: int) -> np.ndarray:
        half = np.float32(0.5)
        for statement in block:
            match statement:
                case Draw(op_type):
                    total = (total + self._draw(op_type, self._streams[id(statement)])) * half
                case If(below, then_block, else_block):
                    total = self._run(then_block if counter < below else else_block, total, counter)
                case Loop(times, inner):
                    totals = np.zeros(SIZE, np.float32)
                    for i in range(times):
                        row = np.float32(i if isinstance(statement, Scan) else 0)
                        total = self._run(inner, total + row, i)
                        totals = totals + total
                    if times:
                        total = (total + totals) * half
        return total

    def _draw(self, op_type: str, stream: int) -> np.ndarray:
        given = {"op_seed": stream, "state": self._states[stream], **self._seed}
        if op_type == "RandomUniform":
            values, next_state = reference.random_uniform([SIZE], 0, 1, "f32", **given)
        elif op_type == "RandomNormalLike":
            values, next_state = reference.random_normal([SIZE], 0, 1, "f32", **given)
        else:
            values, next_state = reference.random_bernoulli([SIZE], 0.5, **given)
        self._states[stream] = next_state
        return values.astype(np.float32)


@dataclass
class Builder:
    """Makes a model of a program."""

    opset: int
    numbers: Any = field(default_factory=itertools.count)

    def model(self, program: Block) -> onnx.ModelProto:
        nodes: list[onnx.NodeProto] = []
        total = self._block(program, "start", "counter", nodes)
        nodes.append(helper.make_node("Identity", [total], ["total"]))
        graph = helper.make_graph(
            nodes,
            "program",
            [
                helper.make_tensor_value_info("start", FLOAT, [SIZE]),
                helper.make_tensor_value_info("counter", INT64, []),
            ],
            [helper.make_tensor_value_info("total", FLOAT, [SIZE])],
            initializer=[
                numpy_helper.from_array(np.float32(0.5), "half"),
                numpy_helper.from_array(np.full(SIZE, 0.5, np.float32), "p"),
                numpy_helper.from_array(np.array([0]), "axis"),
                numpy_helper.from_array(np.array(True), "true"),
            ],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def _name(self, what: str) -> str:
        return f"{what}{next(self.numbers)}"

    def _block(self, block: Block, total: str, counter: str, nodes: list[onnx.NodeProto]) -> str:
        for statement in block:
            match statement:
                case Draw(op_type):
                    total = self._draw(op_type, total, nodes)
                case If():
                    total = self._if(statement, total, counter, nodes)
                case Scan():
                    total = self._scan(statement, total, nodes)
                case Loop():
                    total = self._loop(statement, total, nodes)
        return total

    def _draw(self, op_type: str, total: str, nodes: list[onnx.NodeProto]) -> str:
        drawn = self._name("drawn")
        if op_type == "RandomUniform":
            nodes.append(helper.make_node(op_type, [], [drawn], shape=[SIZE]))
        elif op_type == "RandomNormalLike":
            nodes.append(helper.make_node(op_type, [total], [drawn]))
        else:
            nodes.append(helper.make_node(op_type, ["p"], [drawn]))
        return self._mean(total, drawn, nodes)

    def _mean(self, a: str, b: str, nodes: list[onnx.NodeProto]) -> str:
        both, mean = self._name("sum"), self._name("mean")
        nodes.append(helper.make_node("Add", [a, b], [both]))
        nodes.append(helper.make_node("Mul", [both, "half"], [mean]))
        return mean

    def _if(self, given: If, total: str, counter: str, nodes: list[onnx.NodeProto]) -> str:
        below, condition, result = self._name("below"), self._name("is"), self._name("chosen")
        array = numpy_helper.from_array(np.array(given.below))
        nodes.append(helper.make_node("Constant", [], [below], value=array))
        nodes.append(helper.make_node("Less", [counter, below], [condition]))
        branches = {}
        for name, block in (("then_branch", given.then_block), ("else_branch", given.else_block)):
            inner: list[onnx.NodeProto] = []
            output = self._name("branch")
            last = self._block(block, total, counter, inner)
            inner.append(helper.make_node("Identity", [last], [output]))
            info = helper.make_tensor_value_info(output, FLOAT, [SIZE])
            branches[name] = helper.make_graph(inner, self._name(name), [], [info])
        nodes.append(helper.make_node("If", [condition], [result], **branches))
        return result

    def _loop(self, given: Loop, total: str, nodes: list[onnx.NodeProto]) -> str:
        times, i, condition, carried = (self._name(n) for n in ("times", "i", "go", "carried"))
        go_on = self._name("go_on")
        inner = [helper.make_node("Identity", [condition], [go_on])]
        last, row = self._body(given, carried, i, inner)
        body = helper.make_graph(
            inner,
            self._name("body"),
            [
                helper.make_tensor_value_info(i, INT64, []),
                helper.make_tensor_value_info(condition, BOOL, []),
                helper.make_tensor_value_info(carried, FLOAT, [SIZE]),
            ],
            [
                helper.make_tensor_value_info(go_on, BOOL, []),
                helper.make_tensor_value_info(last, FLOAT, [SIZE]),
                helper.make_tensor_value_info(row, FLOAT, [SIZE]),
            ],
        )
        if not given.times:
            # Runtimes do not agree on the rows of no iteration.
            del body.output[2]
        array = numpy_helper.from_array(np.array(given.times))
        nodes.append(helper.make_node("Constant", [], [times], value=array))
        return self._loop_node("Loop", [times, "true", total], body, nodes)

    def _scan(self, given: Scan, total: str, nodes: list[onnx.NodeProto]) -> str:
        rows, i, carried = self._name("rows"), self._name("i"), self._name("carried")
        inner: list[onnx.NodeProto] = []
        # OpenVINO runs a body that does not read its row only once.
        number, start = self._name("number"), self._name("start")
        inner.append(helper.make_node("Cast", [i], [number], to=FLOAT))
        inner.append(helper.make_node("Add", [carried, number], [start]))
        last, row = self._body(given, start, i, inner)
        body = helper.make_graph(
            inner,
            self._name("body"),
            [
                helper.make_tensor_value_info(carried, FLOAT, [SIZE]),
                helper.make_tensor_value_info(i, INT64, []),
            ],
            [
                helper.make_tensor_value_info(last, FLOAT, [SIZE]),
                helper.make_tensor_value_info(row, FLOAT, [SIZE]),
            ],
        )
        array = numpy_helper.from_array(np.arange(given.times))
        nodes.append(helper.make_node("Constant", [], [rows], value=array))
        return self._loop_node("Scan", [total, rows], body, nodes, num_scan_inputs=1)

    def _body(
        self, given: Loop, carried: str, i: str, inner: list[onnx.NodeProto]
    ) -> tuple[str, str]:
        last, row = self._name("last"), self._name("row")
        total = self._block(given.block, carried, i, inner)
        inner.append(helper.make_node("Identity", [total], [last]))
        inner.append(helper.make_node("Identity", [total], [row]))
        return last, row

    def _loop_node(
        self,
        op_type: str,
        inputs: list[str],
        body: onnx.GraphProto,
        nodes: list[onnx.NodeProto],
        **attributes: int,
    ) -> str:
        final, rows, total = self._name("final"), self._name("rows"), self._name("total")
        if len(body.output) == 2 and op_type == "Loop":
            nodes.append(helper.make_node(op_type, inputs, [final], body=body))
            return final
        nodes.append(helper.make_node(op_type, inputs, [final, rows], body=body, **attributes))
        nodes.append(helper.make_node("ReduceSum", [rows, "axis"], [total], keepdims=0))
        return self._mean(final, total, nodes)


# ------------------------------------------------------------------ how they are run


def feeds(counter: int) -> dict[str, np.ndarray]:
    return {"start": np.zeros(SIZE, np.float32), "counter": np.array(counter)}


def evaluate(model: onnx.ModelProto, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    return ReferenceEvaluator(model, new_ops=onnx_philox.onnx_reference.OPS).run(None, given)


def copied(program: Block) -> Block:
    """The same program of new objects: each draw is a node of its own."""
    match program:
        case tuple():
            return tuple(copied(statement) for statement in program)
        case Draw(op_type):
            return Draw(op_type)
        case If(below, then_block, else_block):
            return If(below, copied(then_block), copied(else_block))
        case Scan(times, block):
            return Scan(times, copied(block))
        case Loop(times, block):
            return Loop(times, copied(block))


UNIFORM, NORMAL, COIN = Draw("RandomUniform"), Draw("RandomNormalLike"), Draw("Bernoulli")

PROGRAMS: dict[str, Block] = {
    "if": (If(1, (UNIFORM,), (NORMAL,)),),
    "if with a draw in one branch": (UNIFORM, If(1, (NORMAL,), ()), COIN),
    "loop": (Loop(3, (UNIFORM,)),),
    "loop of no iteration": (Loop(0, (UNIFORM,)), NORMAL),
    "two in a loop": (COIN, Loop(3, (UNIFORM, NORMAL)), UNIFORM),
    "scan": (Scan(3, (UNIFORM,)),),
    "two in a scan": (Scan(3, (NORMAL, COIN)), UNIFORM),
    "if in a loop": (Loop(3, (If(1, (UNIFORM,), (NORMAL,)),)),),
    "if with a draw in one branch, in a loop": (Loop(4, (If(2, (), (NORMAL,)), COIN)),),
    "if in if in a loop": (Loop(4, (If(3, (If(1, (UNIFORM,), ()), NORMAL), ()),)),),
    "loop in if": (If(1, (Loop(2, (UNIFORM,)),), (Loop(3, (NORMAL,)),)),),
    "loop in if in loop": (Loop(3, (If(1, (Loop(2, (UNIFORM,)),), (COIN,)),)),),
    "loop in loop": (Loop(2, (Loop(3, (UNIFORM,)), NORMAL)),),
    "loop in loop in loop": (Loop(2, (COIN, Loop(2, (Loop(2, (UNIFORM,)), NORMAL)))),),
    "scan in loop": (Loop(2, (Scan(2, (UNIFORM,)), NORMAL)),),
    "loop in scan": (Scan(2, (Loop(2, (UNIFORM, If(1, (NORMAL,), ()))),)),),
    "scan in scan": (Scan(2, (Scan(3, (NORMAL,)), UNIFORM)),),
}
PROGRAMS = {name: copied(program) for name, program in PROGRAMS.items()}


@pytest.mark.parametrize("opset", [15, 16, 19, 21, 22])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_node_draws_on(name: str, opset: int) -> None:
    program = PROGRAMS[name]
    model = make_reproducible(Builder(opset).model(program))
    onnx.checker.check_model(model, full_check=True)
    for counter in (0, 5):
        total, _ = evaluate(model, {**feeds(counter), "random_state": STATE})
        np.testing.assert_array_equal(total, Expected(program, counter, STATE).total)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_seed_inside_draws_what_the_state_of_its_run_draws(name: str) -> None:
    program = PROGRAMS[name]
    seed = 2**63 - 25
    model = make_reproducible(Builder(17).model(program), seed=seed)
    onnx.checker.check_model(model, full_check=True)
    (total,) = evaluate(model, feeds(0))
    state = PhiloxState.for_run(seed).to_array()
    np.testing.assert_array_equal(total, Expected(program, 0, state).total)


@pytest.mark.parametrize("seed", [None, 2**63 - 25])
@pytest.mark.parametrize("opset", [15, 22])
@pytest.mark.parametrize("name", PROGRAMS)
def test_onnx_runtime_draws_the_expected_values_in_control_flow(
    name: str, opset: int, seed: int | None, ort_backend: str
) -> None:
    program = PROGRAMS[name]
    model = make_reproducible(Builder(opset).model(program), seed=seed)
    session = InferenceSession(model, backend=ort_backend)
    state = STATE if seed is None else PhiloxState.for_run(seed).to_array()
    for counter in (0, 5):
        given = feeds(counter) if seed is not None else {**feeds(counter), "random_state": STATE}
        total = session.run(None, given)[0]
        np.testing.assert_array_equal(total, Expected(program, counter, state).total)


@pytest.mark.parametrize(("precision", "seed"), [(None, None), ("f32", None), (None, 2**63 - 25)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_openvino_draws_the_expected_values_in_control_flow(
    name: str, precision: str | None, seed: int | None, openvino: OpenVino
) -> None:
    if name == "scan in scan":
        pytest.skip("OpenVINO has no nested TensorIterator")
    program = PROGRAMS[name]
    model = make_reproducible(Builder(17).model(program), seed=seed)
    state = STATE if seed is None else PhiloxState.for_run(seed).to_array()
    read = openvino.read(model)
    named = {value.get_any_name() for value in read.inputs}
    run = openvino.loaded(read, precision)
    for counter in (0, 5):
        given = feeds(counter) if seed is not None else {**feeds(counter), "random_state": STATE}
        total = run({name: array for name, array in given.items() if name in named})[0]
        # The sums are its own arithmetic; a wrong draw is far off.
        np.testing.assert_allclose(total, Expected(program, counter, state).total, atol=1e-6)


# ------------------------------------------------------------------ what loops may leave out

LOOPS = {
    "nothing carried, no condition": """g (int64 n) => (float[K, 3] rows) {
        rows = Loop (n) <body = b (int64 i, bool c) => (bool d, float[3] row) {
            d = Identity (c)  row = RandomUniform <shape = [3]> () }> }""",
    "nothing carried": """g (int64 n) => (float[K, 3] rows) {
        t = Constant <value = bool {1}> ()
        rows = Loop (n, t) <body = b (int64 i, bool c) => (bool d, float[3] row) {
            d = Identity (c)  row = RandomUniform <shape = [3]> () }> }""",
    "no trip count": """g (int64 n) => (float[K, 3] rows) {
        t = Constant <value = bool {1}> ()
        one = Constant <value = int64 {1}> ()
        last = Sub (n, one)
        rows = Loop ( , t) <body = b (int64 i, bool c) => (bool d, float[3] row) {
            d = Less (i, last)  row = RandomUniform <shape = [3]> () }> }""",
    "no state in a scan": """g (float[3] xs) => (float[K, 3] rows) {
        rows = Scan (xs) <num_scan_inputs = 1, body = b (float x) => (float[3] row) {
            u = RandomUniform <shape = [3]> ()  z = Sub (x, x)  row = Add (u, z) }> }""",
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_may_carry_nothing_of_their_own(
    name: str, ort_backend: str, openvino: OpenVino
) -> None:
    header = '<ir_version: 8, opset_import: ["" : 17]>'
    model = make_reproducible(onnx.parser.parse_model(header + LOOPS[name]))
    onnx.checker.check_model(model, full_check=True)
    given = {"random_state": STATE}
    if model.graph.input[0].name == "n":
        given["n"] = np.array(3)
    else:
        given["xs"] = np.zeros(3, np.float32)
    state, rows = STATE, []
    for _ in range(3):
        row, state = reference.random_uniform([SIZE], 0, 1, "f32", op_seed=0, state=state)
        rows.append(row)
    if "condition" not in name:
        # onnx.reference takes no condition for a false one.
        np.testing.assert_array_equal(evaluate(model, given)[0], rows)
    session = InferenceSession(model, backend=ort_backend)
    np.testing.assert_array_equal(session.run(None, given)[0], rows)
    np.testing.assert_array_equal(openvino(model, given)[0], rows)


# ------------------------------------------------------------------ any program

DRAWS = st.sampled_from(["RandomUniform", "RandomNormalLike", "Bernoulli"]).map(Draw)


def blocks(statements: st.SearchStrategy[Statement]) -> st.SearchStrategy[Block]:
    return st.lists(statements, max_size=3).map(tuple)


STATEMENTS = st.recursive(
    DRAWS,
    lambda inner: st.one_of(
        st.builds(If, st.integers(0, 3), blocks(inner), blocks(inner)),
        st.builds(Loop, st.integers(0, 3), blocks(inner)),
        st.builds(Scan, st.integers(1, 3), blocks(inner)),
    ),
    max_leaves=6,
)


@hypothesis.settings(max_examples=60)
@hypothesis.given(blocks(STATEMENTS), st.integers(0, 3))
def test_any_program_draws_what_its_rule_says(program: Block, counter: int) -> None:
    program = copied(program)
    original = Builder(17).model(program)
    model = make_reproducible(original)
    if model is original:
        return
    onnx.checker.check_model(model, full_check=True)
    expected = Expected(program, counter, STATE).total
    total, _ = evaluate(model, {**feeds(counter), "random_state": STATE})
    np.testing.assert_array_equal(total, expected)
    session = InferenceSession(model)
    total = session.run(None, {**feeds(counter), "random_state": STATE})[0]
    np.testing.assert_array_equal(total, expected)
    assert make_reproducible(model) is model
