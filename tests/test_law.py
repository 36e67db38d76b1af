"""`onnx-philox compare --original`: foreign models and their rewrites, and the statistics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import cli
import numpy as np
import onnx
import openvino as ov
import openvino_models as made
import pytest
import scipy
from foreign import parse
from openvino import opset8

from onnx_philox import rewriting
from onnx_philox._command.compare.law import ComparedLaws, compare_laws, statistics
from onnx_philox._command.wanted import WantedRuns

MODELS = Path(__file__).with_name("models")
# Where a runtime draws by another law than the model says, and what the command then tells.
INVERTED = "ONNX Runtime's Bernoulli is true with probability 1 - p", r"^y(\[.*\])?: true in"
DROPOUT = (
    "ONNX Runtime's Dropout begins a small generator anew in each run, from the next seed: one "
    "process drops the first element in each run, or keeps it, and other elements go together",
    r"^\w+\[0(, 0)?\]: (0|true) in .*, was (100|0)\.",
)
SHARED = "its nodes share a seed", "^'loss' and 'w_gradient' went together, now they do not"
# No value of 64,000 is below -2, their skewness is 1.
NO_NORMAL = "OpenVINO draws both uniforms of a normal without a seed alike", r"^y\b.*: .*up to "
SAME_EACH_RUN = "OpenVINO's Multinomial gives the same in each run", ""
ONE_BRANCH = "OpenVINO takes one branch alone of an If whose condition is drawn", r"^y\["

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
        r"^y\[0, 0\]: up to \S+ in (0|100)\.0%, was (0|100)\.0% \(\d+ of 32 values differ\)$",
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
    (folder := Path(name)).mkdir()
    return pair(body, folder)[::-1]


@pytest.fixture
def noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.chdir(tmp_path)
    return saved(NOISE.format(""), "noise")


def test_the_document_has_the_keys_of_its_page(noise):
    original, new = noise
    given = cli.document("compare", new, "--original", original, "--fill", "--runs", 100)
    assert (given["schema"], set(cli.keys_of(given))) <= cli.keys_said("compare --original")
    assert (given["is_ok"], given["runs"], given["outputs"]) == (True, 100, ["y", "z"])
    # Of 20 columns, at 5e-7 of all.
    assert given["least_share"] == pytest.approx(np.sqrt(np.log(np.e * 20 / 5e-7) / 100))
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
    said = "Nothing is proved: so few runs show no difference. Raise --runs and --seconds."
    assert (few.exit_code, few.stdout.splitlines()[-1]) == (2, said)
    once = cli.document("compare", new, "--original", original, "--fill", "--runs", 1, code=2)
    assert (once["is_ok"], once["repeats"], once["nodes"]) == (None, False, [])
    still, new = saved("g (float[4] x) => (float[4] y) { y = Neg (x) }", "still")
    given = cli.document("compare", new, "--original", still, "--fill", "--runs", 100, code=2)
    assert (given["is_ok"], given["repeats"], given["changes"]) == (None, True, [])
    timed = cli.invoke("compare", new, "--original", still, "--fill", "--seconds", 0)
    assert (timed.exit_code, "\n1 run of each; compared: y\n" in timed.stdout) == (2, True)


def test_rows_torchs_numbers_and_another_runtime_are_compared(noise):
    original, _ = noise
    for name, options in (("rows", {"per_row": True}), ("torch", {"alignment": "pytorch"})):
        rewriting.rewrite_file(original, f"{name}.onnx", **options)
        arguments = ("--original", original, "--input", *BATCH, "--runs", 200)
        assert cli.document("compare", f"{name}.onnx", *arguments)["is_ok"]
    given = cli.document("compare", "rows.onnx", *arguments, "--runtime", "openvino")
    how = given["runtime"], given["how"], given["is_ok"]
    assert how == ("openvino", "CPU, precision f32", True)
    cli.text("rewrite", original, "-o", "new.xml")
    given = cli.document("compare", "new.xml", *arguments[:-1], 2500, code=1)
    assert given["runtime"] == "openvino"
    normals = given["nodes"][-1]
    assert normals.startswith("OpenVINO draws both uniforms of a normal without a seed alike")
    ov.save_model(ov.convert_model(original), "noise.xml")
    assert cli.document("inspect", "noise.xml")["faults"] == [normals]
    still = MODELS / "mc_dropout.onnx"
    rewriting.rewrite_file(still, "dropout.onnx")
    given = cli.document("compare", "dropout.onnx", "--original", still, "--fill", code=2)
    does, removed = given["nodes"]
    assert does.endswith(": draws nothing")
    assert removed.endswith(": The runtime removes the node when it optimizes the model.")


def test_what_has_no_law_to_compare_is_refused(noise):
    original, _ = noise
    rewriting.rewrite_file(original, "seeded.onnx", seed=5)
    given = cli.document("compare", "seeded.onnx", "--original", original, "--fill", code=1)
    changes = [f"{name}: as in the run before it in 99.9%, was 0.0%" for name in "yz"]
    assert (given["seed"], given["changes"]) == (None, changes)
    old = MODELS / "next_token.onnx"
    rewriting.rewrite_file(old, "token.onnx")
    said = cli.refusal("compare", "token.onnx", "--original", old, "--fill", code=1)
    assert said.startswith("onnx-philox compare: onnxruntime does not load ")
    assert "Could not find an implementation for Multinomial(22)" in said


RANDOM = np.random.default_rng(43)


def test_both_tests_are_those_of_scipy():
    runs = 300
    one, other = RANDOM.normal(size=runs), RANDOM.normal(0.3, size=runs)
    found, known = statistics.apart(one, other), scipy.stats.ks_2samp(one, other, method="exact")
    assert found.bound == pytest.approx(np.e * np.exp(-runs * known.statistic**2))
    assert found.bound > known.pvalue
    assert (found.is_up_to, found.value) == (True, known.statistic_location)
    assert found.share(one) - found.share(other) == pytest.approx(known.statistic)
    dice, coins = (RANDOM.integers(0, sides, runs).astype(float) for sides in (3, 2))
    found = statistics.apart(dice, coins)
    tables = ([[(x == v).sum(), (x != v).sum()] for x in (dice, coins)] for v in range(3))
    squares = [scipy.stats.chi2_contingency(table, correction=False).statistic for table in tables]
    assert found.bound == pytest.approx(6 * np.exp(-max(squares) / 2))
    columns = np.stack([one, np.round(one + other), dice, one**2], axis=1)
    _, was, now = statistics.together(columns, columns + 100)
    assert was == pytest.approx(scipy.stats.spearmanr(columns).statistic)
    assert now == pytest.approx(was)
    assert statistics.ranks(dice) * runs + 0.5 == pytest.approx(scipy.stats.rankdata(dice))


@pytest.mark.parametrize("kind", ["normal", "rare", "with atoms"])
def test_samples_of_one_law_seldom_differ_however_their_values_go_together(kind):
    runs, tries = 200, 2000
    x = RANDOM.normal(size=(2, runs, tries))
    # A value and its square go together without a rank correlation.
    x, y = {
        "normal": (x, x**2),
        "rare": ((x > 2).astype(float), (x > 1.5).astype(float)),
        "with atoms": (np.maximum(x, 0), np.abs(x)),
    }[kind]
    apart = [statistics.apart(*x[:, :, i]).bound for i in range(tries)]
    pairs = [
        statistics.together(*np.stack([x[:, :, i], y[:, :, i]], axis=2))[0][0, 1]
        for i in range(tries)
    ]
    for bounds in (apart, pairs):
        for level in (0.3, 0.1, 0.03, 0.01):
            # Three standard deviations.
            assert np.mean(np.array(bounds) < level) < level + 3 * np.sqrt(level / tries)


def test_values_near_known_ones_are_these_and_others_stay():
    known = np.array([0, 1, np.nan, 2000])
    values = np.array([0.00005, 0.9995, 1.002, 1999, 5, np.nan, np.inf])
    moved = statistics.near(known, values, 1e-3, 1e-4)
    np.testing.assert_array_equal(moved, [0, 1, 1.002, 2000, 5, np.nan, np.inf])
    np.testing.assert_array_equal(statistics.near(np.full(4, np.nan), values, 1, 1), values)


def test_the_places_of_outputs_of_equally_many_rows_share_rows():
    assert statistics.spread((), 64) == [()]
    assert statistics.spread((0, 3), 64) == []
    rows = {place[0] for place in statistics.spread((5000, 2), 64)}
    assert len(rows) == 32
    assert rows <= {place[0] for place in statistics.spread((5000,), 64)}
    assert len(statistics.spread((3, 224, 224), 64)) == 48
