"""`onnx-philox compare --original`: which difference is known of the original, and which is not."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from pathlib import Path

import onnx
import openvino as ov
import pytest
from openvino import opset8

from onnx_philox import rewriting
from onnx_philox._command.compare.law import ComparedLaws, compare_laws, write_page
from onnx_philox._command.compare.law.change import Change, GoTogether
from onnx_philox._command.inspect.known import faults
from onnx_philox._command.wanted import WantedRuns
from tests.command.test_law import ONES, RECOMPUTED, pair, saved
from tests.common import cli
from tests.common import openvino_models as made
from tests.common.foreign import parse

ORT = "onnxruntime"
IR = "openvino"
FIRST_ELEMENT = faults.FIRST_ELEMENT.says
SEEDS_IN_ORDER = faults.SEEDS_IN_ORDER.says
SEEDS_OF_ONE = faults.SEEDS_OF_ONE.says
INVERTED = "Bernoulli (opset 15): It is inverted: where p is 0.1, "
NORMALS = faults.NORMALS.says
READ_THE_SAME = "once, as one node: they read the same, and neither has a seed."

DROPOUTS = """g (float[1,16] x, float[16,2] w) => (float[1,16] y, float[1,16] z, float[1,2] h)
    <float r = {0.4}, bool on = {1}> {
    y = Dropout (x, r, on)
    d = Dropout <seed: int = 7> (x, r, on)
    z = Neg (d)
    h = MatMul (y, w) }"""
ONE_DROPOUT = """g (float[1,16] x) => (float[1,16] y) <float r = {0.4}, bool on = {1}> {
    y = Dropout (x, r, on) }"""
# OpenVINO draws the condition once, and takes one branch alone.
BRANCHES = """g (float[4,8] x) => (float[4,8] y) <float half = {0.5}> {
    u = RandomUniform <shape = [1]> () less = Less (u, half) c = Squeeze (less)
    y = If (c) <
        then_branch = a () => (float[4,8] t) { t = RandomNormalLike <mean = 4.> (x) },
        else_branch = b () => (float[4,8] e) { e = RandomUniformLike (x) }> }"""
NOISES = """g (float[4,8] x) => (float[4,8] y, float[4,8] z, float[4,8] v)
    { a = RandomUniformLike (x) b = RandomUniformLike (x) c = RandomNormalLike (x)
    y = Add (a, x) z = Mul (b, x) v = Mul (c, x) }"""
MULTIPLES = """g () => (float[4] y, float[4] z, float[4] v, float[4] w) {
    y = RandomUniform <seed: float = 1.0, shape = [4]> ()
    z = RandomUniform <seed: float = 2.0, shape = [4]> ()
    v = RandomUniform <seed: float = 3.0, shape = [4]> ()
    w = RandomUniform <seed: float = 8191.0, shape = [4]> () }"""
COINS = """g (float[N,8] p) => (bool[N,8] y, float[N,8] z, float[N,8] v) <float one = {1}> {
    y = Bernoulli <dtype: int = 9> (p)
    k = Cast <to: int = 1> (y)
    n = RandomNormalLike (p)
    z = Mul (k, n)
    v = RandomNormalLike <scale: float = 1.0> (p) }"""
# What a rewrite could have done wrong.
OTHER_COINS = COINS.replace(
    "y = Bernoulli <dtype: int = 9> (p)", "q = Mul (p, p) y = Bernoulli <dtype: int = 9> (q)"
)
WIDER_COINS = COINS.replace("scale: float = 1.0", "scale: float = 1.4")
SHARES = (f"p={[[0.2] * 8]}",)
COIN = """g () => (bool[8] y) {{
    p = Constant <value = float[8] {{{}}}> () y = Bernoulli <dtype: int = 9> (p) }}"""


def coin(*probabilities: float) -> str:
    """A model of 8 tosses."""
    return COIN.format(", ".join(map(str, probabilities)))


RISING = (0.1, 0.1, 0.1, 0.1, 0.4, 0.4, 0.4, 0.4)
# z reads what decides how a coin of y falls, and no coin.
DRAWN_SHARES = """g (float[N,8] x) => (bool[N,8] y, float[N,8] z, float[N,8] v) {
    u = RandomUniformLike (x) y = Bernoulli <dtype: int = 9> (u) z = Add (u, x)
    w = RandomUniformLike (x) v = Add (w, x) }"""
# All 8 fall alike.
ONE_COIN = """g () => (bool[8] y) <int64[1] of_all = {8}> {
    p = Constant <value = float[1] {0.3}> () k = Bernoulli <dtype: int = 9> (p)
    y = Expand (k, of_all) }"""
TWO_COINS = """g () => (float[8] s) {
    p = Constant <value = float[8] {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}> ()
    a = Bernoulli (p) b = Bernoulli (p) s = Add (a, b) }"""
ONE_SEED = """g () => (float[4] a, float[4] b, float[4] c) {
    a = RandomNormal <seed: float = 4.0, shape = [4]> ()
    b = RandomNormal <seed: float = 4.0, shape = [4]> ()
    c = RandomNormal <seed: float = 4.5, shape = [4]> () }"""
REPEAT = "It may repeat another of its kind: two of them alone drew the same numbers."
ARE_ONE_SEED = (
    "It repeats the RandomNormal that gives 'c': seed 4 and seed 4.5 are the same seed there."
)

# Of equal seeds a rewrite warns.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

OF_ITS_OWN = "a difference of the rewrite's own may stand behind them"

Known = dict[tuple[str, ...], tuple[str, ...]]
"""By the outputs of a difference, in which words its faults are told; none of what is not known."""


@dataclass(frozen=True)
class Case:
    """An original, and which differences of its rewrite are known."""

    original: str
    told: Known
    """What is told."""
    may_be_told: Known = field(default_factory=dict)
    """What the seeds of the process decide."""
    new: str = ""
    """What is rewritten, where it is not the original."""
    runtime: str = ORT
    inputs: tuple[str, ...] = ()
    tested: frozenset[tuple[str, ...]] = frozenset()
    """Of which of them a test says that a fault explains them."""


CASES = {
    "Dropouts": Case(
        DROPOUTS,
        {("y",): (FIRST_ELEMENT,), ("z",): (FIRST_ELEMENT,)},
        {
            ("y", "y"): (SEEDS_IN_ORDER,),
            ("z", "z"): (SEEDS_IN_ORDER,),
            # All elements of a mask are in one number of h.
            ("h",): (FIRST_ELEMENT, SEEDS_IN_ORDER),
            ("y", "z"): (FIRST_ELEMENT, SEEDS_IN_ORDER),
            ("y", "h"): (FIRST_ELEMENT, SEEDS_IN_ORDER),
            ("z", "h"): (FIRST_ELEMENT, SEEDS_IN_ORDER),
        },
    ),
    "a Dropout of another ratio": Case(
        ONE_DROPOUT,
        {("y",): ()},
        {("y", "y"): (SEEDS_OF_ONE,)},
        new=ONE_DROPOUT.replace("0.4", "0.6"),
    ),
    # A rewrite that keeps no seeds parts them.
    "Dropouts of one seed": Case(
        RECOMPUTED,
        {("loss", "w_gradient"): (), ("w_gradient",): (FIRST_ELEMENT, SEEDS_IN_ORDER)},
        {
            ("w_gradient", "w_gradient"): (FIRST_ELEMENT, SEEDS_IN_ORDER),
            ("loss",): (FIRST_ELEMENT, SEEDS_IN_ORDER),
        },
        inputs=ONES,
    ),
    "nodes without seeds that are merged": Case(
        NOISES, {("y", "z"): (READ_THE_SAME,), ("v",): (NORMALS,)}, runtime=IR
    ),
    "normals of two equal uniforms, and values that go together": Case(
        BRANCHES, {("y",): (NORMALS,), ("y", "y"): ()}, runtime=IR
    ),
    "seeds that are multiples": Case(
        MULTIPLES,
        {
            ("y", "z"): (
                "as the RandomUniform that gives 'z' does times 2: their correlation is 0.50.",
            ),
            ("y", "v"): (
                "as the RandomUniform that gives 'y' does times 1: their correlation is 0.33.",
            ),
        },
        # Each node says only its strongest correlation, and this is another one.
        {
            ("z", "v"): (
                "as the RandomUniform that gives 'v' does times 3: their correlation is 0.17.",
            )
        },
    ),
    "an inverted Bernoulli": Case(
        COINS,
        {("y",): (INVERTED,), ("z",): (INVERTED,)},
        inputs=SHARES,
        tested=frozenset({("y",)}),
    ),
    "an inverted coin of 0.3": Case(
        coin(*[0.3] * 8), {("y",): (INVERTED,)}, tested=frozenset({("y",)})
    ),
    "0.37 in the place of 0.3": Case(coin(*[0.3] * 8), {("y",): ()}, new=coin(*[0.37] * 8)),
    "0.4 in the place of 0.3": Case(coin(*[0.3] * 8), {("y",): ()}, new=coin(*[0.4] * 8)),
    "0.57 in the place of 0.5": Case(coin(*[0.5] * 8), {("y",): ()}, new=coin(*[0.57] * 8)),
    "probabilities in another order": Case(coin(*RISING), {("y",): ()}, new=coin(*RISING[::-1])),
    # Beside it the inverted share is known.
    "one toss for all": Case(
        coin(*[0.3] * 8),
        {("y", "y"): ()},
        {("y",): (INVERTED,)},
        new=ONE_COIN,
        tested=frozenset({("y",)}),
    ),
    "equal Bernoullis of a half that are merged": Case(TWO_COINS, {("s",): (REPEAT,)}),
    "seeds that are one": Case(
        ONE_SEED, {("a", "b"): (), ("a", "c"): (ARE_ONE_SEED,), ("b", "c"): (ARE_ONE_SEED,)}
    ),
    "an inverted Bernoulli of drawn probabilities": Case(DRAWN_SHARES, {("y", "z"): (INVERTED,)}),
    "another draw that goes with an inverted Bernoulli": Case(
        DRAWN_SHARES,
        {("y", "z"): (INVERTED,), ("y", "v"): (), ("z", "v"): ()},
        new=DRAWN_SHARES.replace("v = Add (w, x)", "v = Add (u, x)"),
    ),
    "an inverted Bernoulli of another share": Case(
        COINS, {("y",): (), ("z",): (INVERTED,)}, new=OTHER_COINS, inputs=SHARES
    ),
    "a spread beside an inverted Bernoulli": Case(
        COINS,
        {("y",): (INVERTED,), ("z",): (INVERTED,), ("v",): ()},
        new=WIDER_COINS,
        inputs=SHARES,
        tested=frozenset({("y",)}),
    ),
}


def law_of(case: Case, folder: Path, runs: int = 1000) -> ComparedLaws:
    (folder / "new").mkdir()
    new, original = pair(case.original, folder)
    if case.new:
        new, _ = pair(case.new, folder / "new")
    wanted = WantedRuns(1, runs=runs, inputs=case.inputs, fills=True)
    return compare_laws(new, original, wanted, runtimes=[case.runtime])


def about(change: Change) -> tuple[str, ...]:
    """The output of a difference, or of each of two values that go together."""
    return change.both if isinstance(change, GoTogether) else change.outputs


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_known_fault_stands_beside_what_it_explains_alone(case: Case, tmp_path: Path) -> None:
    report = law_of(case, tmp_path)
    told = {about(each.change) for each in report.explained}
    allowed = {**case.told, **case.may_be_told}
    assert set(case.told) <= told <= set(allowed)
    for each in report.explained:
        words = allowed[about(each.change)]
        faults_told = each.known + each.may_come_of
        assert all(any(word in fault for word in words) for fault in faults_told)
        assert bool(faults_told) is bool(words)
        assert bool(each.known) is (about(each.change) in case.tested)


def test_a_fault_of_two_nodes_that_explains_a_difference_is_said_once(tmp_path: Path) -> None:
    report = law_of(CASES["seeds that are multiples"], tmp_path)
    assert len(report.faults) == 3
    assert report.other_faults == []


def test_nodes_of_one_seed_that_a_rewrite_parted_are_named_with_the_option(tmp_path: Path) -> None:
    report = law_of(CASES["seeds that are one"], tmp_path)
    named = ", ".join(f"the RandomNormal that gives '{name}'" for name in "abc")
    said = (
        f"{named}: seed 4 and seed 4.5 (the same seed there): in the runtimes they repeat each "
        "other. A rewrite gives each numbers of its own; --keep-seeds lets them draw the same."
    )
    assert report.notes[0] == said
    # Of a difference that is not about two of them it is not said.
    (tmp_path / "kept").mkdir()
    (tmp_path / "wider").mkdir()
    wider = ONE_SEED.replace("a = RandomNormal <", "a = RandomNormal <scale: float = 2.0, ")
    new, _ = pair(wider, tmp_path / "wider", keep_seeds=True)
    _, original = pair(ONE_SEED, tmp_path / "kept")
    report = compare_laws(new, original, WantedRuns(1, runs=1000), runtimes=[ORT])
    assert [each.outputs for each in report.differences] == [("a",)]
    assert said not in report.notes


def test_the_page_shows_what_goes_together_otherwise(tmp_path: Path) -> None:
    report = law_of(CASES["seeds that are multiples"], tmp_path)
    write_page(report, tmp_path / "law.html")
    page = html.unescape((tmp_path / "law.html").read_text("utf-8"))
    shown = page.partition('id="together"')[2]
    assert re.findall(r"<h3>(\w)\[\d\] and (\w)\[\d\]</h3>", shown)[:2] == [("y", "v"), ("y", "z")]
    # The bar reaches from 0 to the original's correlation: a half, or a third.
    ends = [float(end) for end in re.findall(r'class="bar" d="M160.0 12H(\d+\.\d)V', shown)]
    assert ends[0] == pytest.approx(160 + 154 / 3, abs=15)
    assert ends[1] == pytest.approx(160 + 154 / 2, abs=15)
    assert f"Known faults of the original may explain each difference; {OF_ITS_OWN}." in page
    assert "may come of: the RandomUniform that gives 'y': It draws what seed 1 draws" in page


def test_zero_seeds_that_openvino_merges_are_known_of_an_ir(tmp_path: Path) -> None:
    x = made.parameter("x", [4, 8])
    drawn = {
        "y": opset8.add(x, made.uniform(opset8.shape_of(x))),
        "z": opset8.multiply(x, made.uniform(opset8.shape_of(x))),
        "v": opset8.multiply(x, made.uniform(opset8.shape_of(x), 0, 2)),
    }
    original = tmp_path / "original.xml"
    new = tmp_path / "new.xml"
    ov.save_model(made.model(drawn, [x]), original)
    rewriting.rewrite_file(original, new)
    report = compare_laws(new, original, WantedRuns(1, runs=1000, fills=True))
    (explained,) = report.explained
    assert explained.change.outputs == ("y", "z")
    (fault,) = explained.may_come_of
    one, other = re.findall(r"RandomUniform_\d+", fault)
    assert one != other
    assert fault.startswith(f"{one}: OpenVINO draws it and {other} once, as one node: ")
    assert fault.endswith(" once, as one node: they read the same, and their seeds are 0.")


def test_a_report_says_what_is_known_beside_a_difference_and_other_faults_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    original, new = saved(WIDER_COINS, "wider")
    original, _ = saved(COINS, "coins")
    arguments = ("compare", new, "--original", original, "--input", *SHARES, "--runs", 1000)
    lines = cli.invoke(*arguments).stdout.splitlines()
    start = lines.index(
        "Another law. Known faults of the original may explain 3 of 4 differences; a difference of "
        "the rewrite's own may stand behind them:"
    )
    told = lines[start + 1 : start + 8]
    assert [line.partition(":")[0] for line in told] == [
        "  y",
        "    known",
        "  z",
        "    may come of",
        "  z",
        "    may come of",
        "  v",
    ]
    assert "Known faults" not in "".join(lines[start + 1 :])
    given = cli.document(*arguments, code=1)
    of_y, *_, of_v = given["differences"]
    assert (of_y["outputs"], of_v["outputs"], of_v["known"]) == (["y"], ["v"], [])
    assert of_y["known"] == given["faults"]
    assert abs(of_y["now"] + of_y["was"] - 1) < 0.1


def test_a_difference_that_a_test_says_is_the_faults_is_explained(tmp_path: Path) -> None:
    report = law_of(CASES["an inverted coin of 0.3"], tmp_path)
    assert report.about == ". Known faults of the original explain each difference:"
    (told,) = report.told
    (cause,) = told.causes
    assert cause.startswith(f"known: {INVERTED}")


def test_of_many_outputs_that_differ_alike_the_first_few_are_told(tmp_path: Path) -> None:
    names = [f"y{number}" for number in range(9)]
    outputs = ", ".join(f"bool[2] {name}" for name in names)
    drawn = " ".join(f"{name} = Bernoulli <dtype: int = 9> (p)" for name in names)
    model = f"g () => ({outputs}) {{ p = Constant <value = float[2] {{0.2, 0.2}}> () {drawn} }}"
    report = law_of(Case(model, {}), tmp_path)
    assert len(report.differences) == 9
    told = [each.text for each in report.told]
    assert [text.partition(":")[0] for text in told[:3]] == ["y0", "y1", "y2"]
    assert told[3:] == ["and 6 outputs likewise"]
    assert len(report.differing) == 7


def test_why_an_original_repeats_itself_is_said(tmp_path: Path) -> None:
    relu = tmp_path / "relu.onnx"
    onnx.save(parse("g (float[4] x) => (float[4] y) { y = Relu (x) }"), relu)
    noise = tmp_path / "noise.onnx"
    onnx.save(
        parse("g (float[N,4] x, float[N,4] noise) => (float[N,4] y) { y = Add (x, noise) }"), noise
    )
    why = ": each run of the original gives the same values, since it has no random nodes"
    for model, more in (
        (relu, ""),
        (noise, " (its input may be noise: rewrite and compare it with --draw noise=normal)"),
    ):
        report = compare_laws(model, model, WantedRuns(None, runs=5, fills=True))
        assert report.is_ok is None
        assert report.about == f"{why}{more}. One run of each:"


def test_an_output_without_elements_has_no_values(tmp_path: Path) -> None:
    model = "g (float[0,4] x) => (float[0,4] y) { y = RandomNormalLike (x) }"
    report = law_of(Case(model, {}), tmp_path, runs=5)
    assert report.differing == ["y has no values: its shape is [0, 4]"]


@pytest.mark.parametrize(("runs", "verdict"), [(31, None), (40, None), (300, True)])
def test_too_few_runs_for_a_useful_verdict_prove_nothing(
    runs: int, verdict: bool | None, tmp_path: Path
) -> None:
    normals = "g (float[8] x) => (float[8] y) { y = RandomNormalLike (x) }"
    report = law_of(Case(normals, {}), tmp_path, runs=runs)
    assert report.is_ok is verdict
    if verdict is None:
        assert report.about == (
            f": {runs} runs show neither a shift of 1 standard deviation nor a share that is off "
            "by 0.5, and 1000 tell more. Raise --runs to 1000."
        )


def test_an_output_about_which_too_few_runs_prove_nothing_is_named(tmp_path: Path) -> None:
    normals = """g (float[1] w, float[64] x) => (float[1] y, float[64] z) {
        y = RandomNormalLike (w) z = RandomNormalLike (x) }"""
    report = law_of(Case(normals, {}), tmp_path, runs=50)
    assert report.is_ok is None
    assert report.about == (
        ": 50 runs show of 'y' neither a shift of 1 standard deviation nor a share that is off by "
        "0.5, and 1000 tell more. Raise --runs to 1000."
    )


def test_a_larger_batch_is_proposed_where_the_model_takes_one_and_never_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    noise = "g (float[{},8] x) => (float[{},8] y) {{ n = RandomUniformLike (x) y = Add (x, n) }}"
    for size, is_proposed in (("N", True), ("1", False)):
        original, new = saved(noise.format(size, size), f"of_{size}")
        said = cli.text("compare", new, "--original", original, "--fill", "--runs", 1000)
        assert ("'x' has 1 row here, and the model takes more" in said) is is_proposed
        assert "x float32[1, 8]" in said


def test_the_document_has_each_quantile_of_the_value_that_differs_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    normals = "g (float[2,4] x) => (float[2,4] y) { y = RandomNormalLike (x) }"
    # Of the same mean and spread.
    uniforms = normals.replace("Normal", "Uniform").replace(
        "Like", "Like <low = -1.7320508, high = 1.7320508>"
    )
    original, _ = saved(normals, "normals")
    _, new = saved(uniforms, "uniforms")
    arguments = ("--fill", "--runs", 1000)
    given = cli.document("compare", new, "--original", original, *arguments, code=1)
    (of_y,) = given["differences"]
    apart = [abs(now - was) for _, now, was in of_y["quantiles"]]
    assert len(apart) == 13
    assert 0.04 < abs(of_y["now"] - of_y["was"]) <= max(apart)
    place = "".join(str(of_y["element"]))
    assert of_y["text"].startswith(f"y{place}: ")
