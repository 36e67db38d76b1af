"""`onnx-philox compare --original`: which difference is known of the original, and which is not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

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

ORT = "onnxruntime"
IR = "openvino"
FIRST_ELEMENT = faults.FIRST_ELEMENT.says
SEEDS_IN_ORDER = faults.SEEDS_IN_ORDER.says
INVERTED = "Bernoulli-15: It is inverted: where p is 0.1, "
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

# Of equal seeds a rewrite warns.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

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
        {("y", "y"): (SEEDS_IN_ORDER,)},
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
            ("y", "z"): ("modulo 1, as (gives y) does times 1: their correlation is 0.50.",),
            ("y", "v"): ("modulo 1, as (gives y) does times 1: their correlation is 0.33.",),
        },
        # One sixth, of which each node says only its strongest correlation.
        {("z", "v"): ("their correlation is 0.50.",)},
    ),
    "an inverted Bernoulli": Case(COINS, {("y",): (INVERTED,), ("z",): (INVERTED,)}, inputs=SHARES),
    "an inverted Bernoulli of another share": Case(
        COINS, {("y",): (), ("z",): (INVERTED,)}, new=OTHER_COINS, inputs=SHARES
    ),
    "a spread beside an inverted Bernoulli": Case(
        COINS,
        {("y",): (INVERTED,), ("z",): (INVERTED,), ("v",): ()},
        new=WIDER_COINS,
        inputs=SHARES,
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
        assert all(any(word in fault for word in words) for fault in each.known)
        assert bool(each.known) is bool(words)


def test_a_fault_of_two_nodes_that_explains_a_difference_is_said_once(tmp_path: Path) -> None:
    report = law_of(CASES["seeds that are multiples"], tmp_path)
    assert len(report.faults) == 3
    assert report.other_faults == []


def test_the_page_shows_what_goes_together_otherwise(tmp_path: Path) -> None:
    report = law_of(CASES["seeds that are multiples"], tmp_path)
    write_page(report, tmp_path / "law.html")
    page = (tmp_path / "law.html").read_text("utf-8")
    shown = page.partition('id="together"')[2]
    assert re.findall(r"<h3>(\w)\[\d\] and (\w)\[\d\]</h3>", shown)[:2] == [("y", "v"), ("y", "z")]
    # The bar reaches from 0 to the original's correlation: a half, or a third.
    ends = [float(end) for end in re.findall(r'class="bar" d="M160.0 12H(\d+\.\d)V', shown)]
    assert ends[0] == pytest.approx(160 + 154 / 3, abs=15)
    assert ends[1] == pytest.approx(160 + 154 / 2, abs=15)
    assert "Known faults of the original explain each difference." in page


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
    (fault,) = explained.known
    assert fault.startswith("RandomUniform-8: OpenVINO draws it and ")
    assert fault.endswith(" once, as one node: they read the same, and their seeds are 0.")


def test_a_report_says_what_is_known_beside_a_difference_and_other_faults_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    original, new = saved(WIDER_COINS, "wider")
    original, _ = saved(COINS, "coins")
    arguments = ("compare", new, "--original", original, "--input", *SHARES, "--runs", 1000)
    lines = cli.invoke(*arguments).stdout.splitlines()
    start = lines.index("Another law. Known faults of the original explain 3 of 4 differences:")
    told = lines[start + 1 : start + 8]
    assert [line.partition(":")[0] for line in told] == [
        "  y",
        "    known",
        "  z",
        "    known",
        "  z",
        "    known",
        "  v",
    ]
    assert "Known faults" not in "".join(lines[start + 1 :])
    given = cli.document(*arguments, code=1)
    of_y, *_, of_v = given["differences"]
    assert (of_y["outputs"], of_v["outputs"], of_v["known"]) == (["y"], ["v"], [])
    assert of_y["known"] == given["faults"]
    assert abs(of_y["now"] + of_y["was"] - 1) < 0.1


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
