"""`onnx-philox compare --original`: foreign models and their rewrites, and the statistics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset8

from onnx_philox import rewriting
from onnx_philox._command.compare.differences import Tolerances
from onnx_philox._command.compare.law import ComparedLaws, compare_laws
from onnx_philox._command.compare.law.clock import Clock, Times
from onnx_philox._command.compare.law.paired_runs import PairedRuns
from onnx_philox._command.compare.law.running import Running
from onnx_philox._command.wanted import WantedRuns
from onnx_philox._progress import ignore
from tests.common import cli
from tests.common import openvino_models as made
from tests.common.foreign import parse

MODELS = Path(__file__).parents[1] / "models"
# Where a runtime draws by another law than the model says, and what the command then tells.
INVERTED = "ONNX Runtime's Bernoulli is true with probability 1 - p", r"^y(\[.*\])?: true in"
DROPOUT = (
    "ONNX Runtime's Dropout begins a small generator anew in each run, from the next seed: one "
    "process drops the first element in each run, or keeps it, for thousands of runs on end",
    r"^\w+\[0(, 0)?\]: (0|true) in .*, was \d",
)
SHARED = "its nodes share a seed", "^'loss' and 'w_gradient' went together, now they do not"
# No value of 64,000 is below -2, their skewness is 1.
NO_NORMAL = (
    "OpenVINO makes each normal without a seed of two equal uniforms",
    r"^y\b.*: \S+ or less in ",
)
SAME_EACH_RUN = "OpenVINO's Multinomial gives the same in each run", ""
ONE_BRANCH = "OpenVINO takes one branch alone of an If whose condition is drawn", r"^y: its mean is"

OF_X, XYZ = "g (float[N,8] x) => (float[N,8] y)", "g (float[N,8] x) => (float[N,8] y, float[N,8] z)"
NOISE = (
    XYZ
    + """ {{ n = RandomNormalLike <dtype: int = 1{0}> (x)
    z = RandomUniformLike <low: float = -1.0{0}> (x) y = Add (x, n) }}"""
)
# Which a trainer recomputes in the backward pass.
RECOMPUTED = """layer (float[N,32] x, float[32] w) => (float loss, float[32] w_gradient)
<float ratio = {0.5}, bool on = {1}, int64[1] zeroth = {0}> {
    kept = Dropout <seed: int = 12> (x, ratio, on) weighted = Mul (kept, w)
    loss = ReduceSum <keepdims = 0> (weighted)
    again = Dropout <seed: int = 12> (x, ratio, on)
    w_gradient = ReduceSum <keepdims = 0> (again, zeroth) }"""
# jax2onnx makes up for what ONNX Runtime draws.
COINS = """g (float[N,8] p) => (bool[N,8] heads) <float one = {1}> {
    q = Sub (one, p) heads = Bernoulli <dtype: int = 9> (q) }"""
FED = """g (float[N,8] x, float scale) => (float[N,8] y) <float scale = {1}> {
    h = Mul (x, scale) n = RandomNormalLike <scale: float = 0.01> (h) y = Add (h, n) }"""
# The sides are a default that may be fed, or a constant.
DICE = """g (float[N,8] x{}) => (int64[N,8] y) <float sides = {{6}}> {{
    u = RandomUniformLike (x) s = Mul (u, sides) f = Floor (s) y = Cast <to: int = 7> (f) }}"""
ONES, SHARES = (f"w={[1.0] * 32}",), (f"p={[[0.2] * 8]}",)
BATCH = ("x=" + str(np.linspace(-2, 2, 32).reshape(4, 8).tolist()).replace(" ", ""),)
ORT, IR, NUMPY = ("onnxruntime",), ("openvino",), ("reference",)


class Foreign(NamedTuple):
    """A model, and how it runs."""

    model: Any
    """ONNX's text, or a model, a file, or what makes one of OpenVINO of a batch."""
    runtimes: tuple[str, ...] = ("onnxruntime", "openvino")
    wrong: Mapping[str, tuple[str, str]] = MappingProxyType({})
    """The runtimes that draw by another law than the model says: why, and what is told."""
    inputs: tuple[str, ...] = BATCH
    runs: int = 300
    options: Mapping[str, Any] = MappingProxyType({})
    """Of the rewrite."""


def exported(name: str, runtimes: tuple[str, ...] = ORT, *inputs: str, **more: Any) -> Foreign:
    return Foreign(MODELS / f"{name}.onnx", runtimes, inputs=inputs, **more)


def of_opset_21(name: str) -> onnx.ModelProto:
    """An exported model, of an opset whose random operators ONNX Runtime has."""
    model = onnx.load(MODELS / f"{name}.onnx")
    model.opset_import[0].version = 21
    return model


# Of equal seeds a rewrite warns.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
FOREIGN = {
    "torch's noise": Foreign(NOISE.format(""), wrong={"openvino": NO_NORMAL}, runs=2500),
    "noise with two seeds": Foreign(NOISE.format(", seed: float = 3.5").replace("3.5", "7.0", 1)),
    "noise of opset 7": Foreign(parse(NOISE.format(""), 7, 3), ORT),
    "a VAE": exported("vae_decoder"),
    "a voice": exported("voice"),
    "a loop of torch": exported("diffusion_loop", ORT, "labels=[0,1]"),
    "a while loop of torch": Foreign(of_opset_21("diffusion_while"), ORT, inputs=("labels=[0,1]",)),
    "a scan of torch": Foreign(of_opset_21("diffusion_scan"), ORT, inputs=("labels=[0,1]",)),
    "a plate of pyro": exported("plate"),
    "classes": exported("categorical", (*ORT, *IR), wrong={"openvino": SAME_EACH_RUN}),
    "dice": Foreign(DICE.format(", float sides")),
    "dice of constants": Foreign(DICE.format("")),
    "stochastic depth": Foreign("""g (float[N,8] x) => (float[N,8] y, bool[N,1] kept)
        <float p = {0.8}, int64[1] zeroth = {0}, int64[1] last = {1}> {
            shape = Shape (x) n = Gather <axis: int = 0> (shape, zeroth)
            rows = Concat <axis: int = 0> (n, last) zeros = ConstantOfShape (rows)
            u = RandomUniformLike (zeros) kept = Less (u, p)
            k = Cast <to: int = 1> (kept) s = Div (k, p) y = Mul (x, s) }"""),
    "gumbel softmax": Foreign("""g (float[N,8] x) => (float[N,8] y, int64[N,1] class)
        <float tiny = {1e-20}> {
            u = RandomUniformLike (x) v = Add (u, tiny) a = Log (v) b = Neg (a) c = Log (b)
            s = Sub (x, c) y = Softmax <axis: int = 1> (s) class = ArgMax <axis: int = 1> (s) }"""),
    "branches that draw": Foreign(
        f"""{XYZ} <float half = {{0.5}}> {{
            u = RandomUniform <shape = [1]> () less = Less (u, half) c = Squeeze (less)
            y = If (c) <
                then_branch = a () => (float[N,8] t) {{ t = RandomNormalLike <mean = 4.> (x) }},
                else_branch = b () => (float[N,8] e) {{ e = RandomUniformLike (x) }}>
            z = Identity (x) }}""",
        wrong={"openvino": ONE_BRANCH},
    ),
    "a random walk in a scan": Foreign("""g (float[4,8] x) => (float[8] last, float[4,8] path)
        <int64 zeroth = {0}> {
            row = Gather (x, zeroth)
            last, path = Scan <num_scan_inputs = 1, body = step (float[8] s, float[8] r) =>
                (float[8] t, float[8] u) {
                    n = RandomUniformLike (r) m = Add (n, r) t = Add (s, m) u = Identity (t)
                }> (row, x) }"""),
    "a function called twice": Foreign(
        f"""{XYZ} {{ y = own.noise (x) z = own.noise <scale: float = 3.0> (x) }}
        <domain: "own", opset_import: ["": 17]> noise <scale: float = 0.5> (x) => (y) {{
            n = RandomNormalLike <scale: float = @scale> (x) y = Add (x, n) }}""",
        ORT,
    ),
    "doubles": Foreign(
        """g (double[N,8] x) => (double[N,8] y, double[3,5] z) { y = RandomNormalLike (x)
            z = RandomUniform <shape = [3, 5], dtype: int = 11, high: float = 9.0> () }""",
        ORT,
    ),
    "a dropout": Foreign(
        """g (float[N,8] x) => (float[N,8] y, bool[N,8] mask) <float r = {0.3}, bool on = {1}>
            { y, mask = Dropout (x, r, on) }""",
        *(ORT, {"onnxruntime": DROPOUT}),
    ),
    "a dropout of reference": Foreign(f"""{OF_X} <float r = {{0.3}}, float zero = {{0}}> {{
        u = RandomUniformLike (x) kept = GreaterOrEqual (u, r) y = Where (kept, x, zero) }}"""),
    "a Bernoulli": Foreign(
        """g (float[N,8] x) => (bool[N,8] y) {
            p = Sigmoid (x) y = Bernoulli <dtype: int = 9> (p) }""",
        *((*ORT, *NUMPY), {"onnxruntime": INVERTED}),
    ),
    "a default that is fed": Foreign(FED, ORT, inputs=(*BATCH, "scale=3")),
    "a layer that is recomputed": Foreign(RECOMPUTED, ORT, {"onnxruntime": SHARED}, ONES),
    "equal noise, kept": Foreign(
        f"""{XYZ} {{ y = RandomUniformLike <seed: float = 3.5> (x)
            n = RandomUniformLike <seed: float = 3.5> (x) z = Add (x, n) }}""",
        options={"keep_seeds": True},
    ),
    "a Bernoulli behind 1 - p, inverted": Foreign(
        COINS, ORT, inputs=SHARES, options={"invert_bernoulli": True}
    ),
    "uniforms of OpenVINO": Foreign(
        lambda x: {
            "f32": made.uniform([4, 8], -1, 3),
            "i32": made.uniform([4, 8], -3, 7, "i32"),
            "i64": made.uniform([4, 8], 0, 9, "i64", (150, 10)),
            "f16": made.uniform([4, 8], 0, 1, "f16", (0, 5)),
            "computed": opset8.relu(x),
        },
        IR,
    ),
    "normals of OpenVINO": Foreign(
        lambda x: {"y": opset8.add(x, made.normal(opset8.shape_of(x)))}, IR
    ),
    "coins of OpenVINO": Foreign(
        lambda x: {"y": opset8.less(made.uniform(opset8.shape_of(x)), np.float32(0.3))}, IR
    ),
    "a loop of OpenVINO": Foreign(lambda x: {"y": made.loop(x, 3, made.uniform)}, IR),
    "an iterator of OpenVINO": Foreign(lambda x: {"y": made.iterator(x, made.uniform)}, IR),
}
CASES = [
    pytest.param(foreign, runtime, id=f"{name}, {runtime}")
    for name, foreign in FOREIGN.items()
    for runtime in foreign.runtimes
]


def pair(model: Any, folder: Path, **options: Any) -> tuple[Path, Path]:
    """The files of a model's rewrite and of the model."""
    original, new = folder / "original.onnx", folder / "new.onnx"
    if isinstance(model, Path):
        original = model
    elif callable(model):
        original, new = folder / "original.xml", folder / "new.xml"
        x = made.parameter("x", [4, 8])
        ov.save_model(made.model(model(x), [x]), original, compress_to_fp16=False)
    else:
        onnx.save(parse(model) if isinstance(model, str) else model, original)
    rewriting.rewrite_file(original, new, **options)
    return new, original


def law(
    new: Path, original: Path, *inputs: str, seed: int = 1, runs: int = 500, **options: Any
) -> ComparedLaws:
    wanted = WantedRuns(seed, runs=runs, inputs=inputs, fills=True)
    return compare_laws(new, original, wanted, **options)


@pytest.mark.slow
@pytest.mark.usefixtures("untried")
@pytest.mark.parametrize(("foreign", "runtime"), CASES)
def test_a_rewrite_has_the_law_of_its_original_but_where_the_runtime_is_wrong(
    foreign: Foreign, runtime: str, tmp_path: Path
) -> None:
    files = pair(foreign.model, tmp_path, **foreign.options)
    report = law(*files, *foreign.inputs, runs=foreign.runs, runtimes=[runtime])
    told = report.changes
    if runtime not in foreign.wrong:
        assert (report.is_ok, told) == (True, [])
        return
    why, text = foreign.wrong[runtime]
    assert report.is_ok is not True, f"the runtime is right now: {why}"
    assert any(re.search(text, each) for each in told), told


CHANGED = {
    "a seed that two nodes share": (
        *(RECOMPUTED, RECOMPUTED, ONES),
        r"^'loss' and 'w_gradient' went together, now they do not: rank correlation -?0\.",
    ),
    "a Bernoulli behind 1 - p": (
        *(COINS, COINS, SHARES),
        r"^heads: true in (7|8)\d\.\d%, was (1|2)\d\.\d%$",
    ),
    "a default that is computed with where a value is fed": (
        *(FED, FED.replace("Mul (x, scale)", "Identity (x)"), (*BATCH, "scale=3")),
        r"^y\[\d, \d\]: \S+ or less in (?:[0-9]\.\d%, was (9\d|100)\.\d%"
        r"|(9\d|100)\.\d%, was [0-9]\.\d%); mean .*; standard deviation .* "
        r"\(32 of 32 values differ, it most\)$",
    ),
}


@pytest.mark.usefixtures("untried")
@pytest.mark.parametrize(("original", "new", "inputs", "told"), CHANGED.values(), ids=CHANGED)
def test_a_law_that_a_rewrite_changed_is_told(original, new, inputs, told, tmp_path):
    """As the rewrite, or the Pipeline, of 6439aa5 changed it without a word."""
    (tmp_path / "new").mkdir()
    _, original = pair(original, tmp_path)
    new, _ = pair(new, tmp_path / "new")
    report = law(new, original, *inputs)
    assert not report.is_ok
    assert any(re.search(told, each) for each in report.changes), report.changes


def saved(body: str, name: str) -> tuple[Path, Path]:
    """The files of a model and of its rewrite."""
    folder = Path(name)
    folder.mkdir()
    new, original = pair(body, folder)
    return original, new


@pytest.fixture
def noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.chdir(tmp_path)
    return saved(NOISE.format(""), "noise")


def test_the_document_has_the_keys_of_its_page(noise):
    original, new = noise
    given = cli.document("compare", new, "--original", original, "--fill", "--runs", 100)
    assert (given["schema"], set(cli.keys_of(given))) <= cli.keys_said("compare --original")
    assert (given["is_ok"], given["runs"], given["outputs"]) == (True, 100, ["y", "z"])
    assert [each["output"] for each in given["least"]] == ["y", "z"]
    assert isinstance(given["least_share"], float)
    assert [each["is_constant"] for each in given["least"]] == [False, False]
    for number, (body, words) in enumerate(
        {
            "g (float[N,8] x) => (float[N,8] y) { y = Neg (x) }": "outputs, of numbers: got z",
            "g (float[N,8] p) => (float[N,8] y, float[N,8] z) {y, z = Split (p)}": "inputs: got x",
        }.items()
    ):
        other, _ = saved(body, f"other{number}")
        said = cli.refusal("compare", new, "--original", other, "--fill")
        assert f"must have the same {words} in one of them alone. Pass" in said


def test_runs_that_prove_nothing_end_with_2(noise):
    original, new = noise
    few = cli.invoke("compare", new, "--original", original, "--fill", "--runs", 20)
    said = (
        r"Nothing is proved: 20 runs show no difference, 2\d can, and 1000 tell more\. "
        r"Raise --runs to 1000\."
    )
    assert few.exit_code == 2
    assert re.fullmatch(said, few.stdout.splitlines()[-1])
    once = cli.document("compare", new, "--original", original, "--fill", "--runs", 1, code=2)
    assert (once["is_ok"], once["repeats"], once["nodes"]) == (None, False, [])
    still, new = saved("g (float[4] x) => (float[4] y) { y = Neg (x) }", "still")
    given = cli.document("compare", new, "--original", still, "--fill", "--runs", 100, code=2)
    assert (given["is_ok"], given["repeats"], given["changes"]) == (None, True, [])
    assert given["not_judged"] == ["'y' is the same in each run of both"]
    timed = cli.invoke("compare", new, "--original", still, "--fill", "--seconds", 0)
    assert (timed.exit_code, "\n1 run of each; compared: y\n" in timed.stdout) == (2, True)


def test_without_a_number_of_runs_time_or_a_certain_difference_ends_them(noise):
    original, new = noise
    given = cli.document("compare", new, "--original", original, "--fill", "--seconds", 2)
    assert given["is_ok"]
    assert 20 < given["runs"] < 100_000
    few = cli.text("compare", new, "--original", original, "--fill", "--runs", 200)
    assert few.endswith("Fewer than 1000 runs tell little. Raise --runs to 1000.")
    rewriting.rewrite_file(original, "seeded.onnx", seed=5)
    certain = cli.document("compare", "seeded.onnx", "--original", original, "--fill", code=1)
    assert certain["runs"] == 1000


class Hand:
    """A clock's hand that is moved."""

    def __init__(self) -> None:
        self.now = 0.0


class Served:
    """A model that draws normals; the first run takes some time, each other one some."""

    state = None

    def __init__(self, hand: Hand, first: float, each: float) -> None:
        self._hand = hand
        self._seconds = first
        self._each = each
        self._random = np.random.default_rng(int(1000 * first))

    def run(self) -> dict[str, np.ndarray]:
        self._hand.now += self._seconds
        self._seconds = self._each
        return {"y": self._random.normal(size=8)}


@pytest.fixture
def timed(monkeypatch):
    """How long two models run, of which counting takes some time, too."""

    def found(limit: float, first: float, each: float, counting: float = 0.0) -> tuple[Times, int]:
        hand = Hand()
        counted = PairedRuns.count

        def count(runs: PairedRuns) -> None:
            hand.now += counting * runs.waiting
            counted(runs)

        monkeypatch.setattr(PairedRuns, "count", count)
        clock = Clock(100_000, limit, ignore, now=lambda: hand.now)
        slow, quick = Served(hand, first, each), Served(hand, 0, 0)
        running = Running(slow, quick, Tolerances())  # type: ignore[arg-type]
        running.run(clock, may_end=True, has_faults=lambda: False)
        return clock.times(), running.paired.runs

    return found


def test_runs_take_what_is_left_behind_a_slow_first_one_and_no_more(timed):
    times, runs = timed(10, 5.5, 0.05)
    assert runs == 84
    # A thirtieth is left for what nobody measured.
    assert 9.6 < times.all <= 9.7
    assert times.said(runs) == ["The first run of each took 5.5 s of --seconds 10."]
    assert times.of(1000) == 56


def test_trying_the_original_takes_no_time_of_the_runs():
    now = [0.0]
    clock = Clock(10, 5, ignore, lambda: now[0])
    assert clock.goes_on(0)
    now[0] = 2.0
    with clock.stopped():
        now[0] = 100.0
    assert clock.times().all == 2


def test_a_second_run_is_made_since_one_alone_says_nothing(timed):
    times, runs = timed(10, 6, 6)
    assert runs == 2
    assert times.said(runs) == [
        "The first run of each took 6 s of --seconds 10.",
        "The runs took 12 s, more than --seconds 10: fewer say nothing.",
    ]
    times, runs = timed(5, 6, 6)
    assert runs == 1
    assert times.is_over


@pytest.mark.parametrize("each", [0.02, 0.1, 1])
def test_what_is_counted_at_the_end_lies_within_the_seconds(timed, each):
    times, runs = timed(10, each, each, counting=0.05)
    assert times.all <= 10
    # Two rehearsals of the end, of 2 and of 16 runs, have taken their time, and some is spared.
    assert runs > 8 / (each + 0.05)


def test_outputs_that_are_text_or_of_another_type_are_named_as_not_judged(tmp_path):
    body = """g (float[N,8] x) => (float[N,8] y, string[1] word)
        <string[1] said = {"yes"}> { y = RandomNormalLike (x) word = Identity (said) }"""
    new, original = pair(body, tmp_path)
    double = body.replace("float[N,8] y", "double[N,8] y").replace(
        "RandomNormalLike (", "RandomNormalLike <dtype: int = 11> ("
    )
    onnx.save(parse(double), original)
    report = law(new, original)
    assert report.is_ok
    assert report.names == "y"
    assert report.not_judged == [
        "the type of 'y', which is float32 and was float64",
        "'word', which is text",
    ]


def test_outputs_that_openvino_names_by_itself_are_compared_by_their_places(tmp_path):
    x = made.parameter("x", [4, 8])
    drawn = made.uniform([4, 8]), opset8.add(x, made.uniform([4, 8], 3, 4))
    for node in drawn:
        node.output(0).set_names(set())
    ov.save_model(ov.Model([*drawn], [x]), tmp_path / "original.xml", compress_to_fp16=False)
    new, original = tmp_path / "new.xml", tmp_path / "original.xml"
    rewriting.rewrite_file(original, new)
    report = law(new, original, runs=200)
    assert report.is_ok
    names = report.names.split(", ")
    assert all(name.startswith("Result_") for name in names)
    # The second output of the one has the name that the first one of the other has.
    text = original.read_text("utf-8")
    first, second = (int(name.removeprefix("Result_")) for name in names)
    text = text.replace(f'"Result_{first}"', f'"Result_{2 * first - second}"')
    text = text.replace(f'"Result_{second}"', f'"Result_{first}"')
    original.write_text(text, "utf-8")
    report = law(new, original, runs=200)
    assert report.names == f"Result_{2 * first - second}, Result_{first}"
    assert report.is_ok
    assert [round(float(each.raw[1] / 200)) for each in report.paired.outputs] in ([0, 4], [1, 4])


def test_rows_torchs_numbers_and_another_runtime_are_compared(noise):
    original, _ = noise
    for name, options in (("rows", {"per_row": True}), ("torch", {"alignment": "pytorch"})):
        rewriting.rewrite_file(original, f"{name}.onnx", **options)
        arguments = ("--original", original, "--input", *BATCH, "--runs", 200)
        assert cli.document("compare", f"{name}.onnx", *arguments)["is_ok"]
    # There the original's normals are wrong.
    given = cli.document("compare", "rows.onnx", *arguments, "--runtime", "openvino", code=1)
    how = given["runtime"], given["how"], given["is_ok"]
    assert how == ("openvino", "CPU, precision f32", False)
    (change,) = given["changes"]
    assert re.match(r"y\[\d, \d\]: \S+ or less in ", change)


FED_INPUTS = {
    "float": ("normal", "normal(0, 1.3)"),
    "double": ("uniform(-1, 1)", "uniform(-1, 1.2)"),
    "float16": ("uniform", "uniform(0.1, 1)"),
    "int64": ("uniform(0, 6)", "uniform(0, 7)"),
    "bool": ("bernoulli(0.3)", "bernoulli(0.5)"),
    "uint8": ("bernoulli(0.3)", "bernoulli(0.5)"),
    "uint32": ("bits", None),
}


@pytest.mark.parametrize("kind", FED_INPUTS)
def test_an_original_is_fed_the_noise_that_its_rewrite_draws(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = f"""g ({kind}[N,4] noise, float[N,2] x) => ({kind}[N,4] y, float[N,2] z) {{
        y = Identity (noise) z = Neg (x) }}"""
    onnx.save(parse(model), "model.onnx")
    law, other = FED_INPUTS[kind]
    arguments = ("--original", "model.onnx", "--input", "x=[[1,2],[3,4]]", "--runs", 500)
    # The model that still takes its noise is rewritten first.
    for new in ("new.onnx", "model.onnx"):
        rewriting.rewrite_file("model.onnx", "new.onnx", draw={"noise": law})
        given = cli.document("compare", new, *arguments, "--draw", f"noise={law}")
        assert (given["is_ok"], given["fed"]) == (True, [f"noise={law}"])
    if other is not None:
        drawn = ("--draw", f"noise={other}")
        assert cli.document("compare", "new.onnx", *arguments, *drawn, code=1)["is_ok"] is False


def test_an_ir_is_fed_noise_whose_shape_a_layout_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "g (float[N,4] noise, float[N,2] x) => (float[N,4] y, float[N,2] z) {"
    model = parse(f"{text} y = Identity (noise) z = Neg (x) }}")
    ir = ov.Core().read_model(model.SerializeToString())
    for parameter in ir.get_parameters():
        parameter.set_layout(ov.Layout("NC"))
    ov.save_model(ir, "model.xml")
    draw = ("--draw", "noise=normal")
    arguments = ("--original", "model.xml", "--input", "x=[[1,2],[3,4]]", "--runs", 500)
    rewriting.rewrite_file("model.xml", "new.xml", draw={"noise": "normal"})
    given = cli.document("compare", "new.xml", *arguments, *draw)
    assert (given["is_ok"], given["fed"]) == (True, ["noise=normal"])


def test_an_original_that_cannot_be_fed_is_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = "g (float[K,4] noise, float[2] x) => (float[K,4] y, float[2] z) {"
    onnx.save(parse(model + "y = Identity (noise) z = Neg (x) }"), "model.onnx")
    rewriting.rewrite_file("model.onnx", "new.onnx", draw={"noise": "normal"})
    arguments = ("compare", "new.onnx", "--original", "model.onnx", "--fill", "--runs", 200)
    shape = ("--input", "noise_shape=[3,4]")
    assert cli.document(*arguments, *shape, "--draw", "noise=normal")["is_ok"]
    without = cli.refusal(*arguments, *shape)
    assert "the original must have no inputs but the model's: got noise. If the model" in without
    unknown = cli.refusal(*arguments, *shape, "--draw", "nois=normal")
    assert "--draw must be of an input of the model (noise, x): got nois=normal" in unknown
    rewriting.rewrite_file("model.onnx", "new.onnx", draw={"noise": "normal[3, 4]"})
    unsized = cli.refusal(*arguments, "--draw", "noise=normal")
    assert "--draw noise must say the shape of an input of shape [K, 4] here" in unsized
    assert cli.document(*arguments, "--draw", "noise=normal[3, 4]")["is_ok"]


NORMALS = (
    "OpenVINO makes each normal without a seed of two equal uniforms: none is more than 1.21 "
    "standard deviations below the mean, and on average they are 0.06 above it."
)


def test_what_a_runtime_does_wrong_is_named_as_the_originals(noise):
    original, _ = noise
    cli.text("rewrite", original, "-o", "new.xml")
    arguments = ("--original", original, "--input", *BATCH)
    given = cli.document("compare", "new.xml", *arguments, "--runs", 400, code=1)
    assert (given["runtime"], given["faults"]) == ("openvino", [NORMALS])
    ov.save_model(ov.convert_model(original), "noise.xml")
    assert cli.document("inspect", "noise.xml")["faults"] == [NORMALS]
    still = MODELS / "mc_dropout.onnx"
    rewriting.rewrite_file(still, "dropout.onnx")
    arguments = ("--original", still, "--fill", "--runs", 1000)
    given = cli.document("compare", "dropout.onnx", *arguments, code=2)
    (removed,) = given["faults"]
    assert removed.endswith("nothing: the runtime removes the node when it optimizes the model.")
    subtracted = "g (float[2,4] x) => (float[2,4] y) { n = RandomNormalLike (x) y = Sub (x, n) }"
    frozen, new = saved(subtracted, "frozen")
    arguments = ("--original", frozen, "--fill", "--runs", 100, "--runtime", "openvino")
    given = cli.document("compare", new, *arguments, code=2)
    assert any("It is drawn once, when the model is compiled" in each for each in given["faults"])
    body = """g () => (float[4] y, float[4] z) {
        y = RandomUniform <seed: float = 1.0, shape = [4]> ()
        z = RandomUniform <seed: float = 2.0, shape = [4]> () }"""
    one, new = saved(body, "multiples")
    given = cli.document("compare", new, "--original", one, "--runs", 1000, code=1)
    (change,) = given["changes"]
    said = r"'y' and 'z' went together, now they do not: rank correlation \S+, was 0\.(4|5)\d"
    assert re.fullmatch(said, change)
    assert given["faults"] == [
        "the RandomUniform that gives 'y': It draws what seed 1 draws, times 1, modulo 1, as the "
        "RandomUniform that gives 'z' does times 2: their correlation is 0.50.",
        "the RandomUniform that gives 'z': It draws what seed 1 draws, times 2, modulo 1, as the "
        "RandomUniform that gives 'y' does times 1: their correlation is 0.50.",
    ]


def test_nodes_without_seeds_that_repeat_each_other_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    body = """g (float[N,8] x, bool on) => (float[N,8] y, float[N,8] z) {
        y = RandomNormalLike (x)
        z = If (on) <then_branch = t () => (float[N,8] a) { a = RandomNormalLike (x) },
                     else_branch = e () => (float[N,8] b) { b = Identity (x) }> }"""
    original, new = saved(body, "graphs")
    arguments = ("--original", original, "--fill", "--runs", 1000)
    given = cli.document("compare", new, *arguments, code=1)
    (change,) = given["changes"]
    assert re.fullmatch(
        r"'y' and 'z' went together, now they do not: rank correlation \S+, was (?:1\.00|0\.99)",
        change,
    )
    reason = "neither has a seed, and each is seeded by its position in its own graph."
    assert given["faults"] == [
        "the RandomNormalLike that gives 'y': It repeats the RandomNormalLike that gives 'a': "
        f"{reason}",
        "the RandomNormalLike that gives 'a': It repeats the RandomNormalLike that gives 'y': "
        f"{reason}",
    ]


def test_what_has_no_law_to_compare_is_refused(noise):
    original, _ = noise
    rewriting.rewrite_file(original, "seeded.onnx", seed=5)
    given = cli.document("compare", "seeded.onnx", "--original", original, "--fill", code=1)
    changes = [f"{name}: as in the run before it in 100.0%, was 0.0%" for name in "yz"]
    assert (given["seed"], given["changes"]) == (None, changes)
    old = MODELS / "next_token.onnx"
    rewriting.rewrite_file(old, "token.onnx")
    said = cli.refusal("compare", "token.onnx", "--original", old, "--fill", code=1)
    assert said.startswith("onnx-philox compare: onnxruntime does not load ")
    assert "Could not find an implementation for Multinomial(22)" in said


def test_the_page_shows_the_verdict_above_a_picture_of_each_output(noise):
    original, new = noise
    cli.text("compare", new, "--original", original, "--fill", "--runs", 300, "--html", "law.html")
    page = Path("law.html").read_text("utf-8")
    assert page.index("<h1>The same law, as far as was seen</h1>") < page.index("<figure>")
    assert re.findall("<h3>(.*)</h3>", page) == ["y", "z"]
    assert page.count('<path class="curve" d="M6.0') == 2
    said = cli.refusal("compare", new, "--fill", "--html", "law.html")
    assert said.startswith(
        "onnx-philox compare: --html must be given with --original: got law.html"
    )
    said = cli.refusal("compare", new, "--original", "law.html", "--html", "law.html")
    assert "the original" in said
