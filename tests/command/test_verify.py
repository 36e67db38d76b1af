"""`onnx-philox verify` in the real runtimes, with few vectors of each case: CI runs it with all."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from rich.console import Console

import onnx_philox
from onnx_philox._command import terminal
from onnx_philox._command.pages import pictures
from onnx_philox._command.verify import (
    CaseResult,
    CaseVerdict,
    Verification,
    _verify,
    cases,
    comparison,
    run,
    write_page,
)
from onnx_philox._command.verify.runners import choice, openvino_own
from onnx_philox._command.verify.shown import samples
from onnx_philox._command.verify.shown.matrix import matrix
from onnx_philox._contract.inputs import ALIGNMENT
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._runtimes import RUNTIMES, in_onnxruntime
from tests.common import child, cli, missing_backend
from tests.common.cases import table
from tests.common.cli import keys_of, keys_said
from tests.common.half_precision import rounds_once

pytestmark = pytest.mark.slow

BACKENDS = [("reference", "numpy"), ("reference", "onnx")]
BACKENDS += [(runtime, b) for runtime in ("onnxruntime", "openvino") for b in ("native", "python")]
# A model takes longest to load there, and the first case of each operator and type is enough.
IN_PART = ("openvino", "python")
PEERS = [("openvino", "built-in"), ("openvino", "evaluate")]

invoke = partial(cli.invoke, "verify")

ONE_CASE = """from onnx_philox._command.verify import cases
load = cases.load_cases; cases.load_cases = lambda: load()[:1]"""


def few_vectors() -> dict[str, dict]:
    """The files of vectors, with the first vectors of each case."""
    files = {p.name: json.loads(p.read_text("utf-8")) for p in cases.VECTORS.iterdir()}
    for file in files.values():
        for case in file["cases"]:
            # OpenVINO's own operator repeats the first run of a stateful one.
            del case["vectors"][1 + ("run" in case["vectors"][0]) :]
    return files


def written(
    files: dict[str, dict],
    folder: Path,
) -> list[cases.Case]:
    """The cases of these files, as they are read."""
    for name, data in files.items():
        (folder / name).write_text(json.dumps(data), "utf-8")
    return cases.load_cases(folder)


@pytest.fixture
def takes_few(monkeypatch) -> None:
    """Makes the command take few cases in this process; two have no standard nodes."""
    found = cases.load_cases()
    gamma = next(c for c in found if c.vectors[0].example.operator.name == "RandomGamma")
    of_torch = next(c for c in found if c.generator.is_named)
    monkeypatch.setattr(cases, "load_cases", lambda: [*found[:3], gamma, of_torch])


def first_of_each(found: list[cases.Case]) -> set[str]:
    """The names of the first case of each operator and type."""
    return set({(c.vectors[0].example.operator, c.type): c.name for c in reversed(found)}.values())


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Verification:
    """All cases, and few vectors of each."""
    found = written(few_vectors(), tmp_path_factory.mktemp("few"))
    expected = [c.name for c in cases.load_cases()]
    assert [c.name for c in found] == expected
    part = first_of_each(found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            choice.ModelRunner,
            "takes",
            lambda runner, case: (runner.runtime, runner.backend) != IN_PART or case.name in part,
        )
        return run(expected=found)


@pytest.fixture(scope="module")
def document(report):
    return json.loads(report.to_json())


def printed(report: Verification, width: int | None = None) -> str:
    """A report on a terminal so wide; without a width, in a pipe."""
    if width is not None:
        report.print(Console(file=(file := io.StringIO()), width=width))
        return file.getvalue()
    with contextlib.redirect_stdout(io.StringIO()) as file:
        terminal.show(report)
    return file.getvalue()


def cases_of(document, runtime, backend):
    return {
        c["case"]: c
        for c in document["cases"]
        if (c["runtime"], c["backend"]) == (runtime, backend)
    }


def test_every_backend_has_the_same_bits_or_says_that_it_does_not_carry_the_type(document):
    assert document["ok"] is True
    for case in document["cases"]:
        if case["is_peer"]:
            continue
        # Data of RandomDropout go to the Python ops in f32.
        name = case["case"].split(" in ")[0]
        is_half = name.endswith("f16") and "RandomDropout" not in name
        is_refused = case["runtime"] == "onnxruntime" and case["backend"] == "python" and is_half
        assert case["verdict"] == ("not carried" if is_refused else "same bits"), case
        reason = case["detail"]["reason"]
        assert not is_refused or "onnxruntime-extensions carries no" in reason
    assert document["summary"]["ours"]["verdicts"]["not carried"] == 22


def test_every_case_is_there_for_every_backend(document):
    expected = {case.name for case in cases.load_cases()}
    against_numpy = {case.name for case in cases.load_cases() if case.is_numpy_the_standard}
    for runtime, backend in BACKENDS:
        is_numpy = backend == "numpy"
        names = set(cases_of(document, runtime, backend))
        if (runtime, backend) == IN_PART:
            assert names == first_of_each(cases.load_cases())
        else:
            assert names == (expected - against_numpy if is_numpy else expected)
    for runtime, backend in PEERS:
        assert set(cases_of(document, runtime, backend)) == {
            case.name for case in cases.load_cases() if case.has_seeds_alone
        }


def test_every_vector_of_the_files_is_in_a_case_and_no_two_cases_have_one_name():
    found = cases.load_cases()
    names = [case.name for case in found]
    assert len(names) == len(set(names))
    assert {p.name for p in cases.VECTORS.iterdir()} == set(cases.FILES)
    counts: Counter[str] = Counter()
    for case in found:
        counts[case.family] += len(case.vectors)
    for name in cases.FILES:
        for case in json.loads((cases.VECTORS / name).read_text("utf-8"))["cases"]:
            counts[case["family"]] -= len(case["vectors"])
    rows = [f"Rows of {operator}" for operator in OPERATORS]
    assert {family for family, left in counts.items() if left} == {*rows, cases.SEEDED_DRAWS}
    # Those that no file has are what they were, too.
    digest = hashlib.sha256()
    for vector in (v for case in found if counts[case.family] for v in case.vectors):
        digest.update(b"".join([str(vector.example).encode(), *vector.expected.values()]))
    assert digest.hexdigest()[:16] == "62a12c3eb40e5c3a"
    of_torch = {f"torch {op.name}" for op in OPERATORS.values() if ALIGNMENT in op.attributes}
    assert of_torch <= counts.keys()


def test_the_json_document_keeps_its_keys_and_its_counts_add_up(document):
    assert (document["schema"], set(keys_of(document))) == keys_said("verify")
    assert {"onnx-philox", "python", "numpy", "onnx", *RUNTIMES} - {"reference", "standard"} <= set(
        document["versions"]
    )
    keys = {"reason", "draw", "equal_elements", "elements", "first_difference"}
    assert all(set(case["detail"]) == keys for case in document["cases"])
    for party, counts in document["summary"].items():
        chosen = [c for c in document["cases"] if c["is_peer"] is (party == "peer")]
        assert counts["cases"] == len(chosen) > 0
        expected = sum(c["vectors"] for c in chosen)
        assert counts["vectors"] == expected
        found = Counter(c["verdict"] for c in chosen)
        assert {verdict: n for verdict, n in counts["verdicts"].items() if n} == found


def test_openvinos_own_operator_is_wrong_on_cpu_alone_and_where_it_is_known_to_be(document):
    on_cpu, in_evaluate = (cases_of(document, *peer) for peer in PEERS)
    wrong = ("OpenVINO documentation f64", "torch seeds f64")
    wrong += ("Seeded draws i64 in [-2600,3700)", "Seeded draws i64 over 2^63 apart")
    right = ("Seeded draws f32 in [0,1)", "Seeded draws i32 in [-2600,3700)")
    right += ("TensorFlow stateful runs f32", "OpenVINO documentation f32")
    right += ("OpenVINO documentation i32", "torch seeds f32")
    # Without FMA (SSE4.1) OpenVINO divides torch's integers in another way.
    by_processor = "torch seeds i32"
    assert {on_cpu[name]["verdict"] for name in wrong} == {"other bits"}
    assert {on_cpu[name]["verdict"] for name in right} == {"same bits"}
    assert (on_cpu[by_processor]["verdict"] == "same bits") == rounds_once()
    of_both = (*wrong, "torch seeds f32", by_processor)
    assert {in_evaluate[name]["verdict"] for name in of_both} == {"same bits"}


MATRIX = """\
                  reference       onnxruntime     openvino        openvino's own
                  numpy   onnx    native  python  native  python  CPU     eval
Generator   u32   same    same    same    same    same    same
Uniform     i32   same    same    same    same    same    same    some    same
            i64   same    same    same    same    same    same    other   same
            f16   same    same    same    n/a     same    same    other   same
            bf16  same    same    same    n/a     same    same    {cpu:7} some
            f32   same    same    same    same    same    same    {f32:7} some
            f64   same    same    same    same    same    same    other   same
Normal      f16   same    same    same    n/a     same    same
"""


@pytest.mark.skipif(missing_backend.is_missing("onnxruntime", "python"), reason="a column less")
def test_the_verdict_comes_first_then_the_matrix_which_fits_80_columns(report, document):
    # OpenVINO's own bf16 is another with another instruction set.
    on_cpu = {c["verdict"] for n, c in cases_of(document, *PEERS[0]).items() if "bf16" in n}
    verdict, *_ = said = printed(report, 80).splitlines()
    assert verdict == "All is well: all 6 backends draw the published numbers, to the last bit."
    two = [r for r in report.results if r.by.runtime == "reference" and not r.by.is_peer]
    meaning = dataclasses.replace(report, results=two).meaning
    assert meaning == "All is well: both backends draw the published numbers, to the last bit."
    # Without FMA its scaled f32 are the documented ones.
    cpu = "other" if on_cpu == {"other bits"} else "some"
    matrix = MATRIX.format(cpu=cpu, f32="some" if rounds_once() else "same").splitlines()
    begin = said.index(matrix[0])
    assert said[begin : begin + len(matrix)] == matrix
    # All is the same from there on, and types that are not carried are known above.
    said_of = "onnxruntime's backend python refuses {}f16 and bf16 when it loads a model."
    assert said_of.format("") in " ".join(" ".join(said).split())
    of_one = [r for r in report.results if r.by.backend == "python" and r.kind[0] == "RandomNormal"]
    assert (
        dataclasses.replace(report, results=of_one)
        .notes[-1]
        .endswith(said_of.format("RandomNormal "))
    )
    after = [line.split() for line in said[begin + len(matrix) : said.index("", begin)]]
    assert len(after) == 21
    assert {cell for line in after for cell in line[-6:]} == {"same", "n/a"}
    assert max(map(len, said)) <= 80


def test_a_narrow_terminal_has_the_matrix_in_parts_and_a_pipe_lines_as_they_are(report):
    said = printed(report, 50).splitlines()
    assert max(map(len, said)) <= 50
    assert sum(line.startswith("Generator") for line in said) > 1
    said = printed(report).splitlines()
    assert not any(line.endswith(" ") for line in said)
    (note,) = (line for line in said if line.startswith("some, other: "))
    assert len(note) > 100
    assert note.endswith(".")


@pytest.mark.usefixtures("takes_few")
@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [
        (
            "--runtime reference --runtime onnxruntime",
            {("reference", "numpy"), *BACKENDS[1:4]},
        ),
        (
            "--backend native",
            {("onnxruntime", "native"), ("openvino", "native")},
        ),
        # A device is OpenVINO's alone.
        ("--device HETERO:CPU", set(BACKENDS[4:])),
        (
            "--runtime standard",
            {("standard", "onnxruntime"), ("standard", "openvino")},
        ),
    ],
)
def test_options_choose_the_runtimes_and_backends(arguments, chosen):
    found = cli.document("verify", *arguments.split())["cases"]
    assert {(c["runtime"], c["backend"]) for c in found} == chosen
    # Standard nodes do not draw torch's numbers.
    assert any(c["case"].startswith("torch") for c in found) is ("standard" not in arguments)


@pytest.mark.usefixtures("takes_few")
def test_a_device_is_told_and_backend_auto_is_one_of_each_runtime():
    assert "All is well" in invoke("--verbose", "--device", "CPU", "--backend", "native").output
    usual = [name for name, runtime in RUNTIMES.items() if not runtime.is_only_asked_for]
    assert sorted(runner.runtime for runner in choice.select((), ("auto",))) == sorted(usual)


@pytest.mark.parametrize("runtimes", ["openvino", "onnxruntime openvino"])
def test_a_runtime_that_is_not_installed_is_named_with_what_installs_it(runtimes):
    missing = tuple(runtimes.split())
    apart = partial(cli.apart, "verify", without=missing, first=ONE_CASE)
    result = apart()
    assert result.returncode == 0, result.stderr
    rows = [line for line in result.stdout.splitlines() if line.startswith("not installed")]
    how = [f"pip install 'onnx-philox[{runtime}]'" for runtime in missing]
    assert [row.split(maxsplit=2)[2] for row in rows] == how
    assert f"Not tried: {' and '.join(missing)}." in " ".join(result.stdout.split())
    # An error where it was asked for.
    result = apart("--runtime", missing[0], "--json")
    assert (result.returncode, result.stdout) == (2, "")
    assert f"'onnx-philox[{missing[0]}]'" in result.stderr


def flip(
    name: str,
    at: int,
) -> Callable[[dict[str, Any]], None]:
    """A change of one bit: the lowest of a byte of an output, as hexadecimal digits hold it."""

    def change(vector: dict[str, Any]) -> None:
        content = bytearray.fromhex(vector["outputs"][name])
        content[at] ^= 1
        vector["outputs"][name] = content.hex()

    return change


def add_to_printed(
    row: int,
    column: int,
    difference: float,
) -> Callable[[dict[str, Any]], None]:
    """A change of one number of a page."""

    def change(vector: dict[str, Any]) -> None:
        vector["printed"][row][column] += difference

    return change


def negate_third_normal(vector: dict[str, Any]) -> None:
    """Sets a bit of its exponent and its sign, which stand in two digits."""
    vector["near"] = vector["near"][:22] + "3f" + vector["near"][24:]


def print_the_page_s_erratum(vector: dict[str, Any]) -> None:
    """What the page printed before it was corrected: the counter minus 324855 blocks."""
    words = vector["state"]
    counter = sum(word << 32 * place for place, word in enumerate(words)) - 324855
    vector["next_state"][:4] = [counter >> 32 * place & 0xFFFFFFFF for place in range(4)]


@dataclasses.dataclass(frozen=True)
class Changed:
    """A change of a published vector, and the place that the report names for it."""

    change: Callable[[dict[str, Any]], None]
    place: str


CHANGED = {
    "TensorFlow uniform f32": Changed(flip("values", -4), "values[16]"),
    "TensorFlow bits u32": Changed(flip("bits", 28), "bits[7]"),
    "TensorFlow normal f32": Changed(negate_third_normal, "values[2]"),
    "torch bits u32": Changed(flip("bits", 8), "bits[2]"),
    "Promised RandomBernoulli bool with f32 p": Changed(flip("values", 0), "values[0]"),
    "OpenVINO documentation f32": Changed(add_to_printed(1, 2, 1e-7), "values[1, 2]"),
    "OpenVINO documentation f64": Changed(add_to_printed(0, 1, 1e-8), "values[0, 1]"),
    "Random123 known answers u32": Changed(flip("bits", -4), "bits[3]"),
    "DirectML counter example u32": Changed(print_the_page_s_erratum, "next_state[0]"),
}


@pytest.fixture(scope="module")
def altered(tmp_path_factory) -> Verification:
    """A report of vectors of which one of every kind is wrong, and of some that are right."""
    files = few_vectors()
    for case in (case for file in files.values() for case in file["cases"]):
        name = " ".join(filter(None, (case["family"], case["type"], case.get("part", ""))))
        if name in CHANGED:
            CHANGED[name].change(case["vectors"][0])
    found = written(files, tmp_path_factory.mktemp("altered"))
    right = ("torch seeds", "Seeded draws i64")
    chosen = [c for c in found if c.name in CHANGED or c.name.startswith(right)]
    return run(expected=chosen)


# Results of every verdict, by backend.
OF_EVERY_KIND = table("""
standard onnxruntime -> NOT_INSTALLED: pip install x
reference numpy -> SAME: TensorFlow bits u32, DirectML counter example u32, TensorFlow normal f32,
-> Promised RandomCategorical i32 from f16 logits, Promised RandomCategorical i64 from f16 logits
onnxruntime native -> NOT_INSTALLED:
onnxruntime python -> SAME: TensorFlow bits u32, TensorFlow uniform f32, TensorFlow uniform f16,
-> Promised RandomNormal f32
onnxruntime python -> NOT_CARRIED: Rows of RandomUniform f16, Promised RandomNormal f16, Promised
-> RandomNormal bf16, Rows of RandomExponential f16, Rows of RandomGamma f32, Rows of
-> RandomPoisson i32
onnxruntime python -> MISMATCH: TensorFlow normal f64
onnxruntime python -> ERROR: DirectML counter example u32, Rows of RandomGenerator u32
openvino native -> NOT_CARRIED: Rows of RandomUniform f16, Promised RandomNormal f16, Rows of
-> RandomExponential f16, Rows of RandomGamma f32, Rows of RandomPoisson i32, torch bits u32
openvino built-in -> SAME: Seeded draws f32 in [0,1), OpenVINO documentation i32
openvino built-in -> OTHER: Seeded draws f32 in [-27.5,205), OpenVINO documentation f32
openvino evaluate -> SAME: Seeded draws i32 in [-2600,3700), Seeded draws i64 in [-2600,3700)
""")


def results_of(case: cases.Case, by: choice.Runner, verdict: str) -> CaseResult:
    """As if the runner had drawn so: of each vector another bit is wrong."""
    if verdict in ("ERROR", "NOT_CARRIED"):
        return CaseResult(
            by,
            case,
            CaseVerdict[verdict],
            "no luck",
            str(case.vectors[0].example),
        )
    compared = comparison.NOTHING
    for i, vector in enumerate(case.vectors):
        got = {name: array.copy() for name, array in vector.expected.items()}
        if verdict != "SAME":
            next(iter(got.values())).reshape(-1).view(np.uint8)[4 * i + 5] ^= 2
        compared += comparison.compare(vector, got, list(got))
    return CaseResult(by, case, CaseVerdict[verdict], compared=compared)


@pytest.mark.skipif(missing_backend.is_missing("onnxruntime", "python"), reason="it draws")
def test_a_report_of_every_verdict_reads_as_it_did(tmp_path):
    models = {name: RUNTIMES[name].models() for name in ("onnxruntime", "openvino")}
    runners = [choice.NumpyRunner(), choice.ModelRunner(models["onnxruntime"], "python")]
    runners += [choice.ModelRunner(models["openvino"], "native", "CPU"), *openvino_own.runners()]
    found, results = {c.name: c for c in cases.load_cases()}, []
    for who, row in OF_EVERY_KIND:
        verdict, _, names = row.partition(":")
        if verdict == "NOT_INSTALLED":
            by = choice.Absent(
                *who.split(),
                "It does not load.",
                names.strip() or None,
            )
            results.append(CaseResult(by, reason=by.reason))
            continue
        (by,) = (r for r in runners if (r.runtime, r.backend) == tuple(who.split()))
        by.version = "1.2"
        results += [results_of(found[n], by, verdict) for n in names.strip().split(", ")]
    report, good = Verification(results), Verification([r for r in results if not r.is_failure])
    verbose = dataclasses.replace(report, is_verbose=True)
    # What fits these widths exactly; in colours a column is one too many.
    report.print(
        Console(
            file=(file := io.StringIO()),
            width=39,
            force_terminal=True,
        )
    )
    cli.assert_as_said("verify, in colours", file.getvalue().replace("\x1b", "^"))
    cli.assert_as_said("verify, all is well", printed(good, 40))
    cli.assert_as_said("verify --verbose", printed(verbose, 123))
    cli.assert_as_said("verify --verbose, narrow", printed(verbose, 82))
    told = json.loads(report.to_json())
    shown = [json.dumps(part) for part in (*told["cases"], *told["summary"].values())]
    cli.assert_as_said("verify --json", "\n".join(shown))
    write_page(report, tmp_path / "page.html")
    cli.assert_page_as_said("verify --html", tmp_path / "page.html")


def test_a_mismatch_names_the_case_and_the_place_in_every_backend(altered):
    said = printed(altered)
    assert said.startswith("Do not rely on reference numpy, reference onnx")
    assert "what came was numbers that differ from the documented ones." in said
    text = " ".join(said.split())
    for case, changed in CHANGED.items():
        for runtime, backend in BACKENDS:
            pattern = rf"Mismatch: {case} in {runtime} [0-9.]+, backend {backend} draw: "
            assert re.search(pattern, text), pattern
        # A peer that differs is no failure and has no lines of its own.
        assert text.count(f"where: {changed.place};") == len(BACKENDS), case


@pytest.mark.usefixtures("takes_few")
def test_a_mismatch_exits_1(altered, monkeypatch):
    monkeypatch.setattr("onnx_philox._command.verify.run", lambda *_, **__: altered)
    document = cli.document("verify", code=1)
    mismatches = {c["case"] for c in document["cases"] if c["verdict"] == "mismatch"}
    assert (document["ok"], mismatches) == (False, {*CHANGED})


def test_what_a_runtime_raises_or_draws_the_second_time_fails():
    class Stateful(choice.NumpyRunner):
        def prepare(self, example):
            after = dataclasses.replace(example, state=example.state.advance(4))
            states = iter([example, after])
            return lambda: next(states).in_numpy()

    class Broken(choice.NumpyRunner):
        def prepare(self, example):  # noqa: ARG002
            raise RuntimeError("the library does not load")

    case = next(c for c in cases.load_cases() if c.family == "TensorFlow bits")
    assert _verify(Stateful(), case).verdict is CaseVerdict.MISMATCH
    result = _verify(Broken(), case)
    assert result.verdict is CaseVerdict.ERROR
    assert result.reason == "RuntimeError: the library does not load"
    assert not Verification([result]).is_ok


def test_a_refusal_of_a_type_that_must_be_carried_is_an_error(monkeypatch):
    monkeypatch.setattr(in_onnxruntime.OnnxruntimeModel, "not_carried", {})
    expected = [c for c in cases.load_cases() if c.name == "TensorFlow uniform f16"]
    (result,) = run(["onnxruntime"], ["python"], expected=expected).results
    assert result.verdict is CaseVerdict.ERROR


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (
            np.array([1.0], np.float32),
            np.array([1.0], np.float64),
        ),
        (
            np.array([1.0], np.float32),
            np.array([[1.0]], np.float32),
        ),
        (
            np.array([0.0], np.float32),
            np.array([-0.0], np.float32),
        ),
        (
            np.array([1.0], np.float16),
            np.array([1.0], ml_dtypes.bfloat16),
        ),
        (
            np.array(3, np.uint32),
            np.array(3, np.int32),
        ),
    ],
)
def test_another_type_shape_or_sign_of_zero_or_nothing_is_a_difference(expected, got):
    case = next(c for c in cases.load_cases() if c.has_seeds_alone)
    vector = dataclasses.replace(
        case.vectors[0],
        expected={"values": expected},
        printed=None,
    )
    assert comparison.compare(vector, {"values": got}, ["values"]).first is not None
    assert comparison.compare(vector, {"values": expected}, ["values"]).first is None
    nothing = comparison.compare(vector, {}, ["values"]).first
    assert nothing.got == "nothing"
    assert nothing.parameters.endswith("; global_seed 80, op_seed 100")


@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_a_value_too_far_from_a_peer_s_is_a_difference(type_name: str):
    case = next(c for c in cases.load_cases() if c.name == f"TensorFlow normal {type_name}")
    got = case.vectors[0].expected["values"]
    tolerance = cases.NORMAL_TOLERANCES[case.type]
    off_by = np.eye(got.size)[3].reshape(got.shape) * tolerance
    near, far = (
        comparison.compare(
            dataclasses.replace(case.vectors[0], near=got.astype(np.float64) + share * off_by),
            {"values": got},
            ["values"],
        )
        for share in (0.9, 1.1)
    )
    assert near.first is None
    expected = ((3,), got.size - 1, got.size)
    assert (far.first.index, far.equal, far.total) == expected
    assert f"within {tolerance}" in far.first.expected


def test_a_page_has_the_matrix_and_the_pictures(report, tmp_path):
    write_page(report, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    cells = re.findall(r'data-standing="(\w+)"', text)
    found = [cell.standing for row in matrix(report.results) for cell in row.cells]
    assert cells == [standing.name for standing in found if standing is not None]
    others = sum(
        result.verdict is CaseVerdict.OTHER and result.case.family == "Seeded draws"
        for result in report.results
    )
    assert others in (10, 11)  # by the instruction set
    expected = len(samples._PLOTS) + others
    assert len(re.findall(r"<figure>", text)) == expected
    assert text.count(" as documented. The first that is not should be ") == others
    assert pictures.normal_density(1) == pytest.approx(0.2419707)
    assert "Every number of onnx-philox is the published one" in text
    # It loads nothing.
    assert not re.findall(r"(?:src|href)=[\"'](?!data:)|url\(|@import", text)


def test_a_picture_has_a_square_for_each_number_that_differs():
    picture = pictures.grid(b"\0\1\0" + b"\1" * 46)
    assert picture.count("h.88") == 47
    assert picture.count("a.22.22 0 1 0 .44 0a") == 2
    # The first of the second row.
    assert "M0.06 1.06h.88" in picture
    # One of many numbers begins in the row of the first that differs.
    assert "shown are" not in pictures.grid(b"\0" * (pictures._SHOWN - 1) + b"\1")
    picture = pictures.grid(b"\0" * 100_000 + b"\1" + b"\0" * 10**6)
    assert "1 of 1100001 numbers differ; shown are 1920, from number 99984" in picture
    assert picture.count("h.88") == 1
    assert len(picture) < 200_000


def test_the_script_of_the_package_is_this_command():
    said = child.run(Path(sys.executable).with_name("onnx-philox"), "--version").stdout
    assert said == cli.invoke("--version").stdout == f"onnx-philox {onnx_philox.__version__}\n"
