"""make_reproducible through If, Loop and Scan: each node draws on, from iteration to iteration.

Models are made from small programs, nested at will; what they compute is a sum that every draw, and
the order of the draws, goes into. `foreign.drawn` says what it must be.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import hypothesis
import numpy as np
import onnx
import pytest
from hypothesis import strategies as st

from onnx_philox import PhiloxState, TorchState, make_reproducible, reference
from tests.common.foreign import STATE, Run, drawn, evaluate, in_onnxruntime, in_openvino, parse
from tests.common.runtimes import OpenVino

SIZE = 3
SEED = 2**63 - 25


@dataclass(frozen=True)
class Draw:
    """total = (total + a draw) / 2."""

    op_type: str


@dataclass(frozen=True)
class If:
    """One block where the counter of the loop around, or the graph input, is less than `below`."""

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


@dataclass
class Builder:
    """Writes a program in ONNX's text: the nodes of a block, and what its total is called."""

    numbers: Any = field(default_factory=itertools.count)

    def block(
        self,
        block: Block,
        total: str,
        counter: str,
    ) -> tuple[str, str]:
        nodes = []
        for statement in block:
            match statement:
                case Draw(op_type):
                    made, total = self._draw(op_type, total)
                case If():
                    made, total = self._if(statement, total, counter)
                case Loop():
                    made, total = self._loop(statement, total)
            nodes.append(made)
        return " ".join(nodes), total

    def _draw(self, op_type: str, total: str) -> tuple[str, str]:
        n = next(self.numbers)
        given = {"RandomUniform": f"<shape = [{SIZE}]> ()", "RandomNormalLike": f"({total})"}
        return mean_of(
            n,
            f"drawn{n} = {op_type} {given.get(op_type, '(p)')}",
            total,
            f"drawn{n}",
        )

    def _if(
        self,
        given: If,
        total: str,
        counter: str,
    ) -> tuple[str, str]:
        n = next(self.numbers)
        branches = []
        for name, block in (("then", given.then_block), ("else", given.else_block)):
            nodes, last = self.block(block, total, counter)
            branches.append(f"""{name}_branch = {name}{n} () => (float[{SIZE}] {name}_total{n}) {{
                {nodes} {name}_total{n} = Identity ({last}) }}""")
        text = f"""below{n} = Constant <value = int64 {{{given.below}}}> ()
            is{n} = Less ({counter}, below{n})  chosen{n} = If (is{n}) <{", ".join(branches)}>"""
        return text, f"chosen{n}"

    def _loop(self, given: Loop, total: str) -> tuple[str, str]:
        n = next(self.numbers)
        is_scan = isinstance(given, Scan)
        # OpenVINO runs a body that does not read its row only once.
        begin = f"number{n} = Cast <to = 1> (i{n}) start{n} = Add (carried{n}, number{n})"
        nodes, last = self.block(
            given.block,
            f"{'start' if is_scan else 'carried'}{n}",
            f"i{n}",
        )
        nodes = f"{nodes} last{n} = Identity ({last}) row{n} = Identity ({last})"
        # Runtimes do not agree on the rows of no iteration.
        outputs = f"float[{SIZE}] last{n}" + f", float[{SIZE}] row{n}" * bool(given.times)
        results = f"final{n}" + f", rows{n}" * bool(given.times)
        carried = f"float[{SIZE}] carried{n}"
        if is_scan:
            text = f"""over{n} = Constant <value_ints = {[*range(given.times)]}> ()
                {results} = Scan <num_scan_inputs = 1, body = body{n} ({carried}, int64 i{n})
                    => ({outputs}) {{ {begin} {nodes} }}> ({total}, over{n})"""
        else:
            text = f"""over{n} = Constant <value = int64 {{{given.times}}}> ()
                {results} = Loop (over{n}, yes, {total}) <body = body{n} (
                    int64 i{n}, bool go{n}, {carried}) => (bool go_on{n}, {outputs}) {{
                    go_on{n} = Identity (go{n}) {nodes} }}>"""
        if not given.times:
            return text, f"final{n}"
        text += f" total{n} = ReduceSum <keepdims = 0> (rows{n}, axis)"
        return mean_of(n, text, f"final{n}", f"total{n}")


def mean_of(
    n: int,
    nodes: str,
    a: str,
    b: str,
) -> tuple[str, str]:
    """After these nodes, the mean of two."""
    return f"{nodes} sum{n} = Add ({a}, {b}) mean{n} = Mul (sum{n}, half)", f"mean{n}"


def model_of(program: Block, opset: int) -> onnx.ModelProto:
    nodes, total = Builder().block(program, "start", "counter")
    text = f"""program (float[{SIZE}] start, int64 counter) => (float[{SIZE}] total)
        <float half = {{0.5}}, float[{SIZE}] p = {{0.5, 0.5, 0.5}}, int64[1] axis = {{0}},
        bool yes = {{1}}> {{ {nodes} total = Identity ({total}) }}"""
    return parse(text, opset)


UNIFORM = Draw("RandomUniform")
NORMAL = Draw("RandomNormalLike")
COIN = Draw("Bernoulli")

PROGRAMS: dict[str, Block] = {
    "if": (If(1, (UNIFORM,), (NORMAL,)),),
    "if with a draw in one branch": (
        UNIFORM,
        If(1, (NORMAL,), ()),
        COIN,
    ),
    "loop": (Loop(3, (UNIFORM,)),),
    "loop of no iteration": (Loop(0, (UNIFORM,)), NORMAL),
    "two in a loop": (
        COIN,
        Loop(3, (UNIFORM, NORMAL)),
        UNIFORM,
    ),
    "scan": (Scan(3, (UNIFORM,)),),
    "two in a scan": (Scan(3, (NORMAL, COIN)), UNIFORM),
    "if in a loop": (Loop(3, (If(1, (UNIFORM,), (NORMAL,)),)),),
    "if with a draw in one branch, in a loop": (Loop(4, (If(2, (), (NORMAL,)), COIN)),),
    "if in if in a loop": (Loop(4, (If(3, (If(1, (UNIFORM,), ()), NORMAL), ()),)),),
    "loop in if": (
        If(
            1,
            (Loop(2, (UNIFORM,)),),
            (Loop(3, (NORMAL,)),),
        ),
    ),
    "loop in if in loop": (Loop(3, (If(1, (Loop(2, (UNIFORM,)),), (COIN,)),)),),
    "loop in loop": (Loop(2, (Loop(3, (UNIFORM,)), NORMAL)),),
    "loop in loop in loop": (Loop(2, (COIN, Loop(2, (Loop(2, (UNIFORM,)), NORMAL)))),),
    "scan in loop": (Loop(2, (Scan(2, (UNIFORM,)), NORMAL)),),
    "loop in scan": (Scan(2, (Loop(2, (UNIFORM, If(1, (NORMAL,), ()))),)),),
    "scan in scan": (Scan(2, (Scan(3, (NORMAL,)), UNIFORM)),),
}


def check(
    program: Block,
    *runs: Run,
    opset: int,
    seed: int | None = None,
    atol: float = 0,
) -> onnx.ModelProto:
    """Runs its model in either branch of the main graph."""
    original = model_of(program, opset)
    model = make_reproducible(original, seed=seed)
    state = STATE if seed is None else PhiloxState.for_run(seed).to_array()
    is_fed = {"random_state": STATE} if seed is None and model is not original else {}
    for counter in (0, 5):
        feeds = {"start": np.zeros(SIZE, np.float32), "counter": np.array(counter)}
        (wanted,) = drawn(original, feeds, state)
        for run in runs:
            total = run(model, feeds | is_fed)[0]
            np.testing.assert_allclose(total, wanted, rtol=0, atol=atol)
    return model


@pytest.mark.parametrize(
    ("opset", "seed"), [*((opset, None) for opset in (15, 16, 19, 21, 22)), (17, SEED)]
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_node_in_a_loop_or_branch_goes_on_where_it_ended(
    name: str, opset: int, seed: int | None
) -> None:
    model = check(PROGRAMS[name], evaluate, opset=opset, seed=seed)
    onnx.checker.check_model(model, full_check=True)


@pytest.mark.parametrize("seed", [None, SEED])
@pytest.mark.parametrize("opset", [15, 22])
@pytest.mark.parametrize("name", PROGRAMS)
def test_onnx_runtime_draws_the_expected_values_in_control_flow(
    name: str, opset: int, seed: int | None, ort_backend: str
) -> None:
    check(PROGRAMS[name], in_onnxruntime(ort_backend), opset=opset, seed=seed)


@pytest.mark.parametrize(
    ("precision", "seed"),
    [
        (None, None),
        ("f32", None),
        (None, SEED),
    ],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_openvino_draws_the_expected_values_in_control_flow(
    name: str,
    precision: str | None,
    seed: int | None,
    openvino: OpenVino,
) -> None:
    if name == "scan in scan":
        pytest.skip("OpenVINO has no nested TensorIterator")
    # The sums are its own arithmetic; a wrong draw is far off.
    check(
        PROGRAMS[name],
        in_openvino(openvino, precision),
        opset=17,
        seed=seed,
        atol=1e-6,
    )


OF_N = "g (int64 n) => (float[K, 3] rows) { t = Constant <value = bool {1}> ()"
OF_XS = "g (float[3] xs) => (float[K, 3] rows) {"
ROW = "row = RandomUniform <shape = [3]> ()"
PLAIN = f"(int64 i, bool c) => (bool d, float[3] row) {{ d = Identity (c) {ROW} }}"
LOOPS = {
    "nothing carried, no condition": f"{OF_N} rows = Loop (n) <body = b {PLAIN}> }}",
    "nothing carried": f"{OF_N} rows = Loop (n, t) <body = b {PLAIN}> }}",
    "no trip count": f"""{OF_N} one = Constant <value = int64 {{1}}> () last = Sub (n, one)
        rows = Loop ( , t) <body = b {PLAIN.replace("Identity (c)", "Less (i, last)")}> }}""",
    "no state in a scan": f"""{OF_XS} rows = Scan (xs) <num_scan_inputs = 1, body =
        b (float x) => (float[3] row) {{ {ROW.replace("row", "u")}
            z = Sub (x, x) row = Add (u, z) }}> }}""",
    # Of what nothing reads, OpenVINO would scan a single row.
    "a scan of rows that nothing reads": f"""{OF_XS} rows = Scan (xs) <num_scan_inputs = 1,
        body = b (float x) => (float[3] row) {{ {ROW} }}> }}""",
    "a scan of rows whose shapes are read": f"""{OF_XS} one = Constant <value = int64[1] {{0}}> ()
        ys = Unsqueeze (xs, one) zs = Concat <axis = 0> (ys, ys, ys)
        rows, unread = Scan (zs) <num_scan_inputs = 1, scan_input_axes = [0],
            scan_input_directions = [0], body = b (float[3] z) => (float[3] row, float[3] same) {{
            row = RandomUniformLike (z)  same = Identity (z) }}> }}""",
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_may_carry_nothing_of_their_own(
    name: str, ort_backend: str, openvino: OpenVino
) -> None:
    model = make_reproducible(parse(LOOPS[name]))
    onnx.checker.check_model(model, full_check=True)
    feeds = {
        "random_state": STATE,
        "n": np.array(3),
        "xs": np.zeros(3, np.float32),
    }
    del feeds["xs" if model.graph.input[0].name == "n" else "n"]
    state = STATE
    rows = []
    for _ in range(3):
        row, state = reference.random_uniform([SIZE], 0, 1, "f32", state=state)
        rows.append(row)
    # onnx.reference takes no condition for a false one.
    for run in (evaluate, in_onnxruntime(ort_backend), in_openvino(openvino))[
        "condition" in name :
    ]:
        np.testing.assert_array_equal(run(model, feeds)[0], rows)


SCANS = {
    "like what is scanned": "n = RandomNormalLike (x)",
    "like what goes round": "n = RandomNormalLike (h)",
    "of a constant shape": "n = RandomUniform <shape = [2, 3]> ()",
    "booleans": "n = Bernoulli (half)",
    "compared": "u = RandomUniformLike (x) l = Less (u, half) n = Cast <to = 1> (l)",
    "classes": "c = Multinomial <sample_size = 1> (x) n = Cast <to = 1> (c)",
    "dropout": "n = Dropout (half, , yes)",
    "in a branch": """n = If (yes) <then_branch = t () => (float[] a) { a = RandomNormalLike (x) },
        else_branch = e () => (float[] b) { b = Identity (x) }>""",
    "before it": "n = Identity (before)",
    "an output itself": "next = RandomNormalLike (x) n = Identity (next)",
}


@pytest.mark.parametrize("alignment", ["tensorflow", "pytorch"])
@pytest.mark.parametrize("name", SCANS)
def test_a_scan_whose_outputs_have_no_shapes_loads(
    name: str, alignment: str, ort_backend: str
) -> None:
    """ONNX Runtime runs none whose body's outputs have no rank, and infers those of its own."""
    original = parse(f"""g (float[N, 2, 3] xs) => (float[a, b] y, float[c, d, e] rows)
        <float[2, 3] half = {{0.5, 0.5, 0.5, 0.5, 0.5, 0.5}}, bool yes = {{1}}> {{
          before = RandomNormalLike (half)
          y, rows = Scan (half, xs) <num_scan_inputs = 1,
              body = b (float[] h, float[] x) => (float[] next, float[] row) {{
            {SCANS[name]}
            {"" if "next =" in SCANS[name] else "next = Add (h, n)"} row = Identity (n) }}>
        }}""")
    model = make_reproducible(original, alignment=alignment)
    state = STATE if alignment == "tensorflow" else TorchState.from_seed(3).to_array()
    feeds = {"xs": np.zeros((4, 2, 3), np.float32), "random_state": state}
    got = in_onnxruntime(ort_backend)(model, feeds)
    expected = evaluate(model, feeds)[1]
    np.testing.assert_array_equal(got[1], expected)


DRAWS = st.sampled_from(["RandomUniform", "RandomNormalLike", "Bernoulli"]).map(Draw)


def blocks(statements: st.SearchStrategy[Statement]) -> st.SearchStrategy[Block]:
    return st.lists(statements, max_size=3).map(tuple)


STATEMENTS = st.recursive(
    DRAWS,
    lambda inner: st.one_of(
        st.builds(
            If,
            st.integers(0, 3),
            blocks(inner),
            blocks(inner),
        ),
        st.builds(Loop, st.integers(0, 3), blocks(inner)),
        st.builds(Scan, st.integers(1, 3), blocks(inner)),
    ),
    max_leaves=6,
)


@hypothesis.settings(max_examples=30)
@hypothesis.given(blocks(STATEMENTS))
def test_any_program_draws_what_its_rule_says(program: Block) -> None:
    model = check(program, evaluate, in_onnxruntime(), opset=17)
    onnx.checker.check_model(model, full_check=True)
    assert make_reproducible(model) is model
