"""Which nodes of equal seeds repeat each other: in the bare runtimes, and with `keep_seeds`.

The tables say what is so in ONNX Runtime and OpenVINO themselves; a rewrite is held to the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import openvino
import pytest
from numpy.typing import NDArray

import onnx_philox as op
from tests.common import cli
from tests.common import openvino_models as made
from tests.common.cases import warned
from tests.common.foreign import parse
from tests.common.openvino_models import parameter

RUNS = 20
# Of pairs that go together the least has 0.5; 64 elements in 20 runs give others less than 0.1.
GO_TOGETHER = 0.3
CODES = {"float": 1, "float16": 10, "double": 11}


@dataclass(frozen=True)
class Draw:
    """A random node that needs no input, as the text of a model."""

    kind: str
    size: int = 64
    type: str = "float"
    seed: float = 3
    asked: str = ""
    """More attributes."""

    def text(self, name: str) -> str:
        """The node, whose output has this name, and the nodes before it."""
        code = CODES[self.type]
        seed = f"seed = {self.seed:.1f}"
        match self.kind:
            case "RandomUniform" | "RandomNormal":
                said = f"shape = [{self.size}], dtype = {code}, {seed}{self.asked}"
                return f"{name} = {self.kind} <{said}> ()"
            case "Multinomial":
                rows = f"{name}_s = Constant <value_ints = [1, 50]> ()"
                node = f"Multinomial <sample_size = {self.size}, {seed}{self.asked}>"
                return f"{rows} {self._filled(name, 0)} {name} = {node} ({name}_x)"
            case "Dropout":
                node = f"Dropout <seed = {int(self.seed)}> ({name}_x, half, on)"
                return f"{self._vector(name)} {self._filled(name, 1)} {name} = {node}"
            case _:
                node = f"{self.kind} <{seed}{self.asked}> ({name}_x)"
                return f"{self._vector(name)} {self._filled(name, 0.4)} {name} = {node}"

    def _vector(self, name: str) -> str:
        return f"{name}_s = Constant <value_ints = [{self.size}]> ()"

    def _filled(self, name: str, number: float) -> str:
        tensor = f"ConstantOfShape <value = float[1] {{{number}}}> ({name}_s)"
        cast = f"Cast <to = {CODES[self.type]}>"
        return f"{name}_c = {tensor} {name}_x = {cast} ({name}_c)"


def model_of(one: Draw, other: Draw) -> onnx.ModelProto:
    """A model of two draws, as f32 and as vectors."""
    vector = "vector = Constant <value_ints = [-1]> ()"
    out = "{0}_f = Cast <to = 1> ({0}) {0}_out = Reshape ({0}_f, vector)"
    nodes = [
        one.text("a"),
        other.text("b"),
        vector,
        out.format("a"),
        out.format("b"),
    ]
    return parse(
        f"""g () => (float[K] a_out, float[L] b_out) <float half = {{0.5}}, bool on = {{1}}> {{
        {" ".join(nodes)} }}""",
        15,
    )


Runs = list[list[NDArray[Any]]]


def in_onnxruntime(model: onnx.ModelProto) -> Runs:
    # Or it removes a Dropout between two nodes.
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return [session.run(None, {}) for _ in range(RUNS)]


def in_openvino(model: onnx.ModelProto | openvino.Model) -> Runs:
    core = openvino.Core()
    if isinstance(model, onnx.ModelProto):
        model = core.read_model(model.SerializeToString())
    request = core.compile_model(model, "CPU").create_infer_request()
    feeds = {i: np.full(p.shape, 0.02, np.float32) for i, p in enumerate(model.inputs)}
    return [[np.array(each).ravel() for each in request.infer(feeds).values()] for _ in range(RUNS)]


def rewritten_in(name: str, model: onnx.ModelProto) -> Runs:
    new = op.Pipeline(model, runtime=name, keep_seeds=True, invert_bernoulli=True)
    request = new.request(seed=5)
    return [list(request({}).values()) for _ in range(RUNS)]


def warnings_of(
    model: onnx.ModelProto | openvino.Model,
    **asked: Any,
) -> list[str]:
    """What a rewrite says of equal seeds."""
    told = warned(lambda: op.make_reproducible(model, **asked))
    return [text for text in told if text.startswith("nodes of equal seeds")]


def go_together(runs: Runs) -> bool:
    """Whether the elements that both have are correlated in the runs after the first."""
    count = min(len(each) for each in runs[0])
    one, other = (
        np.concatenate([run[i][:count].astype(np.float64) for run in runs[1:]]) for i in (0, 1)
    )
    return bool(abs(np.corrcoef(one, other)[0, 1]) > GO_TOGETHER)


UNIFORM = Draw("RandomUniform")
NORMAL = Draw("RandomNormal")
BERNOULLI = Draw("Bernoulli")
MULTINOMIAL = Draw("Multinomial")
DROPOUT = Draw("Dropout")


def double(draw: Draw) -> Draw:
    return replace(draw, type="double")


def half(draw: Draw) -> Draw:
    return replace(draw, type="float16")


def sized(draw: Draw, size: int) -> Draw:
    return replace(draw, size=size)


def like(draw: Draw) -> Draw:
    return replace(draw, kind=f"{draw.kind}Like")


@dataclass(frozen=True)
class Pair:
    """Two draws of one seed, and whether each runtime lets them go together in every run."""

    one: Draw
    other: Draw
    onnxruntime: bool
    openvino: bool | None
    """None where OpenVINO does not load the model."""


PAIRS = {
    "two uniforms": Pair(UNIFORM, UNIFORM, True, True),
    "uniforms of other ranges": Pair(
        UNIFORM, replace(UNIFORM, asked=", low = -3.0, high = 5.0"), True, True
    ),
    "a uniform and one like a tensor": Pair(UNIFORM, like(UNIFORM), True, True),
    "uniforms of other sizes": Pair(
        UNIFORM,
        sized(UNIFORM, 96),
        False,
        False,
    ),
    "uniforms of f32 and f64": Pair(UNIFORM, double(UNIFORM), False, None),
    "uniforms of f64": Pair(
        double(UNIFORM),
        double(UNIFORM),
        True,
        None,
    ),
    "two normals": Pair(NORMAL, NORMAL, True, True),
    "a normal and one like a tensor": Pair(NORMAL, like(NORMAL), True, True),
    "normals of 63 and 64, which are drawn in pairs": Pair(sized(NORMAL, 63), NORMAL, True, False),
    "normals of 64 and 65": Pair(
        NORMAL,
        sized(NORMAL, 65),
        False,
        False,
    ),
    "normals of f32 and f64": Pair(NORMAL, double(NORMAL), False, True),
    "a uniform and a normal": Pair(UNIFORM, NORMAL, False, False),
    "two Bernoullis": Pair(BERNOULLI, BERNOULLI, True, True),
    "Bernoullis of other sizes": Pair(
        BERNOULLI,
        sized(BERNOULLI, 96),
        False,
        False,
    ),
    "Bernoullis that give other types": Pair(
        BERNOULLI, replace(BERNOULLI, asked=", dtype = 9"), True, True
    ),
    "Bernoullis of f16 and f32": Pair(BERNOULLI, half(BERNOULLI), True, None),
    "Bernoullis of f32 and f64": Pair(BERNOULLI, double(BERNOULLI), False, None),
    "a uniform and a Bernoulli": Pair(UNIFORM, BERNOULLI, True, True),
    "a uniform and a Bernoulli of other sizes": Pair(
        UNIFORM,
        sized(BERNOULLI, 96),
        False,
        False,
    ),
    "a uniform of f64 and a Bernoulli of f32": Pair(double(UNIFORM), BERNOULLI, False, None),
    "a uniform and a Bernoulli of f64": Pair(
        double(UNIFORM),
        double(BERNOULLI),
        True,
        None,
    ),
    "a normal and a Bernoulli": Pair(NORMAL, BERNOULLI, False, False),
    # In OpenVINO every run of a Multinomial with a seed draws the same.
    "two Multinomials": Pair(MULTINOMIAL, MULTINOMIAL, True, True),
    "Multinomials that give other types": Pair(
        MULTINOMIAL, replace(MULTINOMIAL, asked=", dtype = 7"), True, True
    ),
    "Multinomials of f16 and f32": Pair(MULTINOMIAL, half(MULTINOMIAL), True, True),
    "Multinomials of other sizes": Pair(
        MULTINOMIAL,
        sized(MULTINOMIAL, 96),
        False,
        True,
    ),
    "a uniform and a Multinomial": Pair(UNIFORM, MULTINOMIAL, False, False),
    "a uniform of f64 and a Multinomial": Pair(double(UNIFORM), MULTINOMIAL, True, None),
    "a Bernoulli of f64 and a Multinomial": Pair(double(BERNOULLI), MULTINOMIAL, True, None),
    "a Bernoulli and a Multinomial": Pair(BERNOULLI, MULTINOMIAL, False, False),
    "two Dropouts": Pair(DROPOUT, DROPOUT, True, None),
    "Dropouts of f16 and f64": Pair(
        half(DROPOUT),
        double(DROPOUT),
        True,
        None,
    ),
    "Dropouts of other sizes, each of which begins anew in each run": Pair(
        DROPOUT, sized(DROPOUT, 96), True, None
    ),
    "a Dropout and a Bernoulli": Pair(DROPOUT, BERNOULLI, False, None),
    "a Dropout and a uniform": Pair(DROPOUT, UNIFORM, False, None),
    "a Dropout and a normal": Pair(DROPOUT, NORMAL, False, None),
    "a Dropout and a Multinomial": Pair(DROPOUT, MULTINOMIAL, False, None),
}


@pytest.mark.parametrize("name", PAIRS)
def test_which_nodes_of_one_seed_go_together_in_the_bare_runtimes(name: str) -> None:
    pair = PAIRS[name]
    model = model_of(pair.one, pair.other)
    assert go_together(in_onnxruntime(model)) == pair.onnxruntime
    if pair.openvino is not None:
        assert go_together(in_openvino(model)) == pair.openvino
        return
    with pytest.raises(RuntimeError, match=r"not supported|Conversion is failed|same type"):
        in_openvino(model)


@pytest.mark.parametrize("name", PAIRS)
def test_kept_seeds_tie_those_that_onnx_runtime_ties_and_a_warning_names_no_others(
    name: str,
) -> None:
    pair = PAIRS[name]
    model = model_of(pair.one, pair.other)
    for runtime in ("onnxruntime", "openvino"):
        assert go_together(rewritten_in(runtime, model)) == pair.onnxruntime
    told = warnings_of(model)
    assert len(told) == pair.onnxruntime
    assert all("nodes of equal seeds repeat each other in the runtimes" in text for text in told)


# Seeds that are one in ONNX Runtime: the f32 is cut to 64 bits, of which the low 32 count, modulo
# 2^31 - 1, and 0 is taken for 1.
ONE_SEED = (
    0.0, 0.5, 1.0, 1.9, -0.5, -1.0, -2.0,
    2.0**31 - 1, 2.0**31, 2.0**32, 2.0**62, 2.0**63, -(2.0**63),
    1e20, -1e20, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
OTHERS = (2.0, 3.0, 2.0**24, 2.0**24 + 2, -3.0, 20_000_000.0, 2.0**33 + 2**12)


def seeded(draw: Draw, seed: float) -> onnx.ModelProto:
    """The draw twice, of seed 3 and of any other that an attribute can hold."""
    model = model_of(draw, draw)
    of_kind = [node for node in model.graph.node if node.op_type == draw.kind]
    (attribute,) = (a for a in of_kind[1].attribute if a.name == "seed")
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = int(seed)
    else:
        attribute.f = seed
    return model


def first_run(model: onnx.ModelProto) -> bytes:
    return b"".join(each.tobytes() for each in in_onnxruntime(model)[0][1:])


@pytest.mark.parametrize(
    "draw",
    [UNIFORM, NORMAL, BERNOULLI, MULTINOMIAL],
    ids=lambda d: d.kind,
)
def test_which_seeds_are_one_in_onnx_runtime(draw: Draw) -> None:
    drawn = {first_run(seeded(draw, seed)) for seed in ONE_SEED}
    assert len(drawn) == 1
    drawn |= {first_run(seeded(draw, seed)) for seed in OTHERS}
    assert len(drawn) == 1 + len(OTHERS)


def starts_of(draw: Draw, seeds: Sequence[float]) -> list[Any]:
    """What this package makes of seeds."""
    found = [op.rewriting.find_random_nodes(seeded(draw, seed))[1].seeded for seed in seeds]
    return [None if each is None else each.seed for each in found]


def test_the_seeds_of_a_rewrite_are_one_where_onnx_runtime_s_are() -> None:
    assert set(starts_of(UNIFORM, ONE_SEED)) == {1}
    assert len(set(starts_of(UNIFORM, OTHERS)) | {1}) == 1 + len(OTHERS)


# Those of a Dropout: each run starts from the next one, an unsigned integer modulo 2^31 - 1.
DROPOUTS = [
    0, 1, 2, 3, 7, -1, -2, -5,
    2**31 - 1, 2**31, 2**31 + 1, 2**31 + 6, 2**32 - 2, 2**32 - 1, 2**32, 2**32 + 1,
    2**62, 2**63 - 1, -(2**63),
]  # fmt: skip


def test_which_seeds_of_dropouts_are_one_in_onnx_runtime_and_in_a_rewrite() -> None:
    # Seven runs, since those of -5 agree with another's for five.
    drawn = [
        b"".join(run[1].tobytes() for run in in_onnxruntime(seeded(DROPOUT, seed))[:7])
        for seed in DROPOUTS
    ]
    starts = starts_of(DROPOUT, DROPOUTS)
    for i, k in itertools.combinations(range(len(DROPOUTS)), 2):
        expected = starts[i] == starts[k]
        assert (drawn[i] == drawn[k]) == (expected), (DROPOUTS[i], DROPOUTS[k])


GO = "go = Constant <value = bool {1}> ()"
NOISE = "RandomUniform <shape = [64], seed = 3.0> ()"
DROPPED = "Dropout <seed = 3> (ones, half, on)"
FEW_DROPPED = "Dropout <seed = 3> (few, half, on)"


def in_a_loop(of: str, name: str, trips: str = "n") -> str:
    body = f"body_{name} (int64 i_{name}, bool k_{name}) => (bool o_{name}, float[64] v_{name})"
    inner = f"o_{name} = Identity (k_{name}) v_{name} = {of}"
    return f"{name} = Loop ({trips}, go) <body = {body} {{ {inner} }}>"


def in_a_branch(of: str, name: str, condition: str = "c") -> str:
    then = f"then_{name} () => (float[64] t_{name}) {{ t_{name} = {of} }}"
    other = f"else_{name} () => (float[64] e_{name}) {{ e_{name} = Identity (zeros) }}"
    return f"{name} = If ({condition}) <then_branch = {then}, else_branch = {other}>"


def in_one_loop(
    one: str,
    other: str,
    sizes: tuple[int, int] = (64, 64),
) -> str:
    outputs = f"float[{sizes[0]}] v, float[{sizes[1]}] w"
    body = f"body (int64 i, bool k) => (bool o, {outputs})"
    return f"a, b = Loop (n, go) <body = {body} {{ o = Identity (k) v = {one} w = {other} }}>"


@dataclass(frozen=True)
class Placed:
    """Two nodes of one seed in loops or branches, and whether they go together in every run."""

    nodes: str
    goes_together: bool


PLACES = {
    "two in a loop": Placed(in_one_loop(NOISE, NOISE), True),
    "two loops of as many trips": Placed(
        f"{in_a_loop(NOISE, 'a')} {in_a_loop(NOISE, 'b')}",
        True,
    ),
    "two loops of other trips": Placed(
        f"{in_a_loop(NOISE, 'a')} {in_a_loop(NOISE, 'b', 'm')}", False
    ),
    "one in a loop and one outside": Placed(
        f"a = {NOISE} {in_a_loop(NOISE, 'b')}",
        False,
    ),
    "a Dropout in a loop and one outside": Placed(
        f"a = {DROPPED} {in_a_loop(DROPPED, 'b')}", False
    ),
    "Dropouts of other sizes in a loop": Placed(
        in_one_loop(DROPPED, FEW_DROPPED, (64, 5)),
        True,
    ),
    "two branches of one condition": Placed(
        f"{in_a_branch(NOISE, 'a')} {in_a_branch(NOISE, 'b')}", True
    ),
    "two branches of other conditions": Placed(
        f"{in_a_branch(NOISE, 'a')} {in_a_branch(NOISE, 'b', 'd')}", False
    ),
    "one in a branch and one outside": Placed(
        f"a = {NOISE} {in_a_branch(NOISE, 'b')}",
        False,
    ),
}
# In runs of both branches: the first agree everywhere.
CONDITIONS = [
    (True, True),
    (True, False),
    (False, True),
    (True, True),
    (True, True),
]


def placed(name: str) -> onnx.ModelProto:
    return parse(
        f"""g (int64 n, int64 m, bool c, bool d, float[64] ones, float[5] few)
        => (float[K] x, float[L] y) <float half = {{0.5}}, bool on = {{1}}> {{
        {GO} size = Shape (ones) zeros = ConstantOfShape (size) {PLACES[name].nodes}
        vector = Constant <value_ints = [-1]> ()
        x = Reshape (a, vector) y = Reshape (b, vector) }}""",
        15,
    )


def feeds_of_runs() -> list[dict[str, NDArray[Any]]]:
    shared: dict[str, NDArray[Any]] = {
        "n": np.array(2),
        "m": np.array(3),
        "ones": np.ones(64, np.float32),
        "few": np.ones(5, np.float32),
    }
    return [
        {
            **shared,
            "c": np.array(c),
            "d": np.array(d),
        }
        for c, d in CONDITIONS
    ]


def draw_alike(name: str, runs: Runs) -> bool:
    """Whether both drew the same numbers, in each row, in each run after the first."""
    width = 5 if "few" in PLACES[name].nodes else 64
    sizes = [64 if each == "a" else width for each in "ab"]
    rows = [[each.reshape(-1, n) for each, n in zip(r, sizes, strict=True)] for r in runs[1:]]
    return all(
        bool((one[:count, :width] == other[:count, :width]).all())
        for one, other in rows
        for count in [min(len(one), len(other))]
    )


@pytest.mark.parametrize("name", PLACES)
def test_which_nodes_in_loops_and_branches_go_together_in_bare_onnx_runtime(name: str) -> None:
    session = onnxruntime.InferenceSession(placed(name).SerializeToString())
    runs = [session.run(None, feeds) for feeds in feeds_of_runs()]
    assert draw_alike(name, runs) == PLACES[name].goes_together


@pytest.mark.parametrize("name", PLACES)
def test_kept_seeds_tie_what_goes_together_in_loops_and_branches(name: str) -> None:
    request = op.Pipeline(placed(name), keep_seeds=True).request(seed=4)
    runs = [list(request(feeds).values()) for feeds in feeds_of_runs()]
    assert draw_alike(name, runs) == PLACES[name].goes_together


def two_normals(nodes: str, one: str, other: str) -> onnx.ModelProto:
    """A model of two normals like two tensors."""
    return parse(
        f"""g (float[N, 4] x, float[M, 4] y, int64[2] s) => (float[A, B] a, float[C, D] b) {{
        {nodes} a = RandomNormalLike <seed = 0.0> ({one})
        b = RandomNormalLike <seed = 1.0> ({other}) }}"""
    )


TIED = "nodes of equal seeds repeat each other in the runtimes"
IN_DOUBT = "nodes of equal seeds draw the same in the runtimes where their sizes are equal"
SIZES: dict[str, tuple[onnx.ModelProto, str | None]] = {
    "of one tensor": (two_normals("", "x", "x"), TIED),
    "of a tensor with as many elements": (
        two_normals("t = Transpose (x) h = Relu (t)", "x", "h"),
        TIED,
    ),
    "of one tensor whose shape is not known": (
        two_normals("h = Expand (x, s) r = Relu (h)", "h", "r"),
        TIED,
    ),
    "of twice as many elements": (two_normals("h = Concat <axis = 1> (x, x)", "x", "h"), None),
    "of another dimension": (two_normals("", "x", "y"), IN_DOUBT),
    "of another shape that is not known": (two_normals("h = Expand (x, s)", "x", "h"), IN_DOUBT),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_of_a_run_tie_where_the_model_shows_that_they_are_equal(name: str) -> None:
    model, said = SIZES[name]
    told = warnings_of(model)
    assert len(told) == (said is not None)
    assert all(text.startswith(said or "") for text in told)
    found = warnings_of(model, keep_seeds=True)
    assert len(found) == (said is IN_DOUBT)
    report = op.rewriting.rewrite(ir.from_proto(two_normals("", "x", "x")), keep_seeds=True)
    assert [node.stream for node in report.replaced] == [0, 0]


def test_a_warning_of_sizes_in_doubt_says_what_to_do() -> None:
    (text,) = warnings_of(SIZES["of another dimension"][0])
    assert text == (
        "nodes of equal seeds draw the same in the runtimes where their sizes are equal, and now "
        "draw numbers of their own, since the model does not show that these are: seed 0 and seed "
        "1 (the same seed there) of the RandomNormalLike that gives 'a', the RandomNormalLike "
        "that gives 'b'. Declare the shapes that they are of, and pass keep_seeds=True "
        "(--keep-seeds), to let those of one size draw the same again"
    )


MIXED = """g (float[64] x) => (float[4] a, float[6] b, float[4] c, float[64] d, float[2, 2] e)
    <float half = {0.5}, bool on = {1}> {
    a = RandomUniform <shape = [4], seed = 12.0> ()
    b = RandomUniform <shape = [6], seed = 12.0> ()
    c = RandomNormal <shape = [4], seed = 12.0> ()
    d = Dropout <seed = 12> (x, half, on)
    e = RandomUniform <shape = [2, 2], seed = 12.0> () }"""


def test_with_keep_seeds_a_line_names_nodes_of_one_seed_that_draw_different_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "600")
    onnx.save(parse(MIXED), tmp_path / "m.onnx")
    command = "rewrite", tmp_path / "m.onnx", "-o", tmp_path / "n.onnx"
    said = cli.invoke(*command, "--keep-seeds").stdout
    assert (
        "2 nodes of seed 12 draw equal numbers, from one stream. Nodes of one seed that draw "
        "different numbers in ONNX Runtime still do, each group from a stream of its own: seed "
        "12: the RandomUniform that gives 'a', the RandomUniform that gives 'e' (uniforms of f32, "
        "4 elements), the RandomUniform that gives 'b' (uniforms of f32, 6 elements), the "
        "RandomNormal that gives 'c' (normals of f32, 4 elements), the Dropout that gives 'd' "
        "(Dropouts). In ONNX Runtime uniforms of different sizes agree only in a session's first "
        "run."
    ) in said
    assert "Warning" not in said
    by_default = cli.invoke(*command).stdout
    repeating = "seed 12 of the RandomUniform that gives 'a', the RandomUniform that gives 'e'"
    assert f"own: {repeating}. With keep_seeds" in by_default
    assert "first run alone" not in by_default


def test_json_numbers_the_nodes_that_repeat_each_other(tmp_path: Path) -> None:
    onnx.save(parse(MIXED), tmp_path / "m.onnx")
    nodes = cli.document("inspect", tmp_path / "m.onnx")["random_nodes"]
    expected = [0, None, None, None, 0]
    assert [node["repeats"] for node in nodes] == expected


def test_both_commands_say_that_seeds_are_one_seed_in_the_runtime(tmp_path: Path) -> None:
    onnx.save(SIZES["of one tensor"][0], tmp_path / "m.onnx")
    found = " ".join(cli.invoke("inspect", tmp_path / "m.onnx").stdout.split())
    assert (
        "seed 0 and seed 1 (the same seed there): in the runtimes they repeat each other" in found
    )
    said = cli.text("rewrite", tmp_path / "m.onnx", "-o", tmp_path / "n.onnx")
    repeating = (
        "own: seed 0 and seed 1 (the same seed there) of the RandomNormalLike that gives 'a', the "
        "RandomNormalLike that gives 'b'"
    )
    assert repeating in said


Made = Callable[[], tuple[openvino.Node, list[openvino.Node]]]


def uniform_of_ir(size: int, dtype: str = "f32") -> Made:
    return lambda: (made.uniform([size], 0, 1000, dtype, (5, 6)), [])


def multinomial_of_ir(samples: int, rows: int = 1) -> Made:
    def make() -> tuple[openvino.Node, list[openvino.Node]]:
        weights = parameter("weights", [rows, 50])
        count = np.int32([samples])
        seeds = {"global_seed": 5, "op_seed": 6}
        node = openvino.opset13.multinomial(weights, count, "i32", True, False, **seeds)
        return node, [weights]

    return make


IR_PAIRS = {
    "two uniforms": (uniform_of_ir(64), uniform_of_ir(64), True),
    "uniforms of other sizes": (uniform_of_ir(64), uniform_of_ir(96), False),
    "floats and integers": (
        uniform_of_ir(64),
        uniform_of_ir(64, "i32"),
        False,
    ),
    "two Multinomials": (multinomial_of_ir(64), multinomial_of_ir(64), True),
    "Multinomials of other sizes": (multinomial_of_ir(64), multinomial_of_ir(96), True),
    "Multinomials of other shapes": (
        multinomial_of_ir(64),
        multinomial_of_ir(32, 2),
        True,
    ),
    "a uniform and a Multinomial": (uniform_of_ir(64), multinomial_of_ir(64), False),
}


@pytest.mark.parametrize("name", IR_PAIRS)
def test_which_nodes_of_an_ir_of_equal_seeds_go_together_and_are_warned_of(name: str) -> None:
    one, other, goes_together = IR_PAIRS[name]
    (a, of_a), (b, of_b) = one(), other()
    model = openvino.Model([a, b], [*of_a, *of_b])
    assert go_together(in_openvino(model)) == goes_together
    told = warnings_of(model)
    assert len(told) == goes_together


def test_inspect_says_where_nodes_repeat_each_other_and_writes_seeds_as_the_file_does(tmp_path):
    path = tmp_path / "model.onnx"
    text = """<ir_version: 8, opset_import: ["": 17]>
        g (float[N, 2] x) => (float[2] a, float[2] b, float[N, 2] c, float[N, 2] d) {
            a = RandomUniform <shape = [2], seed = 3.0> ()
            b = RandomUniform <shape = [2], seed = 3.9> ()
            c = RandomShuffle <seed = 8, seed2 = 7> (x)
            d = RandomShuffle <seed = 8, seed2 = 7> (x) }"""
    onnx.save(onnx.parser.parse_model(text), path)
    said = cli.text("inspect", path)
    assert (
        "seed 3 and seed 3.9 (the same seed there): in the runtimes they repeat each other." in said
    )
    assert "seed 8 and seed2 7: in TensorFlow they repeat each other." in said
