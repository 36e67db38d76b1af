"""`onnx-philox verify`, on the real runtimes.

The vectors come with the package; where a test needs wrong ones, it alters a copy of them.
"""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from cases import load_vectors
from typer.testing import CliRunner

from onnx_philox._command import app
from onnx_philox._command.runtimes import RUNTIMES, in_onnxruntime
from onnx_philox._command.verify import Report, Verdict, _verify, cases, comparison, run, runners

pytestmark = pytest.mark.slow

BACKENDS = [
    ("reference", "numpy"),
    ("reference", "onnx"),
    ("onnxruntime", "native"),
    ("onnxruntime", "python"),
    ("openvino", "native"),
    ("openvino", "python"),
]
PEERS = [("openvino", "built-in"), ("openvino", "evaluate")]


def invoke(*arguments: str):
    return CliRunner().invoke(app.app, ["verify", *arguments])


@pytest.fixture(scope="module")
def document():
    result = invoke("--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def table():
    """The command as a shell runs it, its output piped."""
    command = [sys.executable, "-c", "from onnx_philox._command.app import app; app()", "verify"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


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
        is_half = case["case"].split(" in ")[0].endswith("f16")
        is_refused = case["runtime"] == "onnxruntime" and case["backend"] == "python" and is_half
        assert case["verdict"] == ("not carried" if is_refused else "same bits"), case


def test_every_case_is_there_for_every_backend(document):
    expected = {case.name for case in cases.load()}
    against_numpy = {case.name for case in cases.load() if case.is_numpy_the_standard}
    for runtime, backend in BACKENDS:
        is_numpy = backend == "numpy"
        names = set(cases_of(document, runtime, backend))
        assert names == (expected - against_numpy if is_numpy else expected)
    for runtime, backend in PEERS:
        assert set(cases_of(document, runtime, backend)) == {
            case.name for case in cases.load() if case.has_seeds_alone
        }


def test_no_case_has_the_name_of_another():
    names = [case.name for case in cases.load()]
    assert len(names) == len(set(names))


def test_every_vector_of_the_files_is_in_a_case():
    known = json.loads((cases.VECTORS / "known.json").read_text("utf-8"))
    tensorflow = json.loads((cases.VECTORS / "tensorflow.json").read_text("utf-8"))
    counts: dict[str, int] = {}
    for case in cases.load():
        counts[case.family] = counts.get(case.family, 0) + len(case.vectors)
    assert counts["OpenVINO documentation"] == len(known["openvino_documented"]["rows"]) == 3
    assert counts["Random123 known answers"] == len(known["random123_philox4x32_10"]["rows"]) == 3
    assert counts["DirectML counter example"] == 2
    assert counts["TensorFlow bits"] == len(tensorflow["bits"]) == 14
    assert counts["TensorFlow uniform"] == len(tensorflow["uniform"]) == 36
    runs = sum(len(row["runs_hex"]) for row in tensorflow["stateful_uniform"])
    assert counts["TensorFlow stateful runs"] == runs == 12
    assert counts["TensorFlow normal"] == len(tensorflow["normal"]) == 6
    ours = [row["operator"] for row in load_vectors("distributions")["rows"]]
    for operator in ("RandomNormal", "RandomBernoulli", "RandomCategorical"):
        assert counts[f"Promised {operator}"] == ours.count(operator) > 0


def test_the_json_document_keeps_its_keys(document):
    assert set(document) == {"ok", "versions", "cases", "summary"}
    assert {"onnx-philox", "python", "numpy", "onnx", "onnxruntime", "openvino"} <= set(
        document["versions"]
    )
    for case in document["cases"]:
        assert set(case) == {
            *("runtime", "version", "backend", "is_peer", "case", "vectors", "verdict", "detail"),
        }
        assert set(case["detail"]) == {
            *("reason", "draw", "equal_elements", "elements", "first_difference"),
        }


@pytest.mark.parametrize("party", ["ours", "peer"])
def test_the_counts_of_the_json_document_add_up(document, party):
    counts = document["summary"][party]
    chosen = [c for c in document["cases"] if c["is_peer"] is (party == "peer")]
    assert counts["cases"] == len(chosen) == sum(counts["verdicts"].values()) > 0
    assert counts["vectors"] == sum(c["vectors"] for c in chosen)
    for verdict, count in counts["verdicts"].items():
        assert count == sum(c["verdict"] == verdict for c in chosen)


def test_half_floats_that_are_not_carried_are_counted_by_that_name(document):
    refused = [c for c in document["cases"] if c["verdict"] == "not carried"]
    assert {(c["runtime"], c["backend"]) for c in refused} == {("onnxruntime", "python")}
    assert document["summary"]["ours"]["verdicts"]["not carried"] == len(refused) == 8
    assert all("onnxruntime-extensions carries no" in c["detail"]["reason"] for c in refused)


def test_openvinos_own_operator_has_i64_wrong_on_cpu_and_right_in_evaluate(document):
    on_cpu = cases_of(document, *PEERS[0])
    in_evaluate = cases_of(document, *PEERS[1])
    for name in ("Seeded draws i64 in [-2600,3700)", "Seeded draws i64 over 2^63 apart"):
        assert on_cpu[name]["verdict"] == "other bits"
        assert in_evaluate[name]["verdict"] == "same bits"


def test_openvinos_own_operator_has_the_documented_f64_wrong_on_cpu_only(document):
    name = "OpenVINO documentation f64"
    assert cases_of(document, *PEERS[0])[name]["verdict"] == "other bits"
    assert cases_of(document, *PEERS[1])[name]["verdict"] == "same bits"


@pytest.mark.parametrize(
    "name",
    [
        "Seeded draws f32 in [0,1)",
        "Seeded draws i32 in [-2600,3700)",
        "TensorFlow stateful runs f32",
        "OpenVINO documentation f32",
        "OpenVINO documentation i32",
    ],
)
def test_openvinos_own_operator_on_cpu_has_f32_and_i32_right(document, name):
    assert cases_of(document, *PEERS[0])[name]["verdict"] == "same bits"


def test_the_table_fits_a_pipe_of_80_columns_uncut(table):
    assert table.returncode == 0
    assert table.stderr == ""
    assert max(map(len, table.stdout.splitlines())) <= 80
    assert "…" not in table.stdout
    assert "other bits (first at 0; 0 of 287 equal)" in table.stdout


def test_the_table_ends_with_the_erratum_the_counts_and_the_meaning(table, document):
    text = " ".join(table.stdout.split())
    assert "DirectML: the page's example prints the counter before minus 324,855" in text
    ours = document["summary"]["ours"]
    assert f"Ours: {ours['cases']} cases, {ours['vectors']} vectors; " in text
    assert f"{ours['verdicts']['same bits']} same bits, 0 mismatches, 8 not carried." in text
    assert text.endswith("to the last bit, in every type that they carry.")


def test_a_wide_terminal_gets_five_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    first, *_ = invoke("--runtime", "openvino").stdout.strip().splitlines()
    assert first.split() == ["runtime", "version", "backend", "case", "verdict"]


def test_runtime_chooses_the_runtimes():
    document = json.loads(
        invoke("--json", "--runtime", "reference", "--runtime", "onnxruntime").stdout
    )
    assert {c["runtime"] for c in document["cases"]} == {"reference", "onnxruntime"}


def test_backend_chooses_the_backends_and_leaves_the_peers_out():
    document = json.loads(invoke("--json", "--backend", "python").stdout)
    found = {(c["runtime"], c["backend"]) for c in document["cases"]}
    assert found == {("onnxruntime", "python"), ("openvino", "python")}


def test_backend_auto_is_one_backend_of_each_runtime():
    chosen = [(r.runtime, r.backend) for r in runners.select((), ("auto",))]
    assert sorted(runtime for runtime, _ in chosen) == sorted(RUNTIMES)


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["--runtime", "tensorrt"], "allowed: reference, onnxruntime, openvino"),
        (["--backend", "fortran"], "allowed: auto, numpy, onnx, native, python"),
        (["--runtime", "reference", "--backend", "python"], "allowed: auto, numpy, onnx"),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_allowed(arguments, allowed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert allowed in result.output
    assert repr(arguments[-1]) in result.output


def without(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process that cannot import a module."""
    app = "from onnx_philox._command.app import app; app()"
    script = f"import sys; sys.modules[{module!r}] = None; {app}"
    command = [sys.executable, "-c", script, "verify", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_runtime_that_is_not_installed_has_a_row_that_says_how_to_install_it(runtime):
    result = without(runtime)
    assert result.returncode == 0, result.stderr
    (row,) = (line for line in result.stdout.splitlines() if line.startswith("not installed"))
    assert row.split(maxsplit=2)[2] == f"pip install 'onnx-philox[{runtime}]'"
    assert f"Not tried: {runtime}." in " ".join(result.stdout.split())


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_runtime_that_was_asked_for_and_is_not_installed_is_an_error(runtime):
    result = without(runtime, "--runtime", runtime, "--json")
    assert result.returncode == 2
    assert result.stdout == ""
    assert f"'onnx-philox[{runtime}]'" in result.stderr


def change_a_value(data):
    row = next(r for r in data["uniform"] if r["output_type"] == "f32")
    row["values_hex"] = row["values_hex"][:-1] + ("0" if row["values_hex"][-1] != "0" else "1")


def change_a_normal(data):
    row = data["normal"][0]
    # The other sign.
    row["values_hex"] = row["values_hex"][:22] + "3f" + row["values_hex"][24:]


def change_a_boolean(data):
    row = next(r for r in data["rows"] if r["operator"] == "RandomBernoulli")
    row["values_hex"] = f"0{1 - int(row['values_hex'][:2], 16)}" + row["values_hex"][2:]


def change_a_word(data):
    data["bits"][1]["bits"][7] ^= 1


def change_a_decimal(data):
    data["openvino_documented"]["rows"][0]["output"][1][2] += 1e-7


def change_a_rounded_decimal(data):
    data["openvino_documented"]["rows"][1]["output"][0][1] += 1e-8


def change_an_answer(data):
    data["random123_philox4x32_10"]["rows"][1][2][3] = "6d5451fc"


def follow_the_erratum(data):
    page = data["directml_documented"]
    page["after_by_the_rule"] = page["printed"]["after"]


CHANGES = {
    "tensorflow.json": (change_a_value, change_a_word, change_a_normal),
    "distributions.json": (change_a_boolean,),
    "known.json": (
        change_a_decimal,
        change_a_rounded_decimal,
        change_an_answer,
        follow_the_erratum,
    ),
}
CHANGED = [
    ("TensorFlow uniform f32", "values[16]"),
    ("TensorFlow bits u32", "bits[7]"),
    ("TensorFlow normal f32", "values[2]"),
    ("Promised RandomBernoulli bool with f32 p", "values[0]"),
    ("OpenVINO documentation f32", "values[1, 2]"),
    ("OpenVINO documentation f64", "values[0, 1]"),
    ("Random123 known answers u32", "bits[3]"),
    ("DirectML counter example u32", "next_state[0]"),
]


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    """The command with vectors of which one of every kind is wrong: its table and its document."""
    folder = tmp_path_factory.mktemp("vectors")
    for name, changes in CHANGES.items():
        data = json.loads((cases.VECTORS / name).read_text("utf-8"))
        for change in changes:
            change(data)
        (folder / name).write_text(json.dumps(data), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "VECTORS", folder)
        return invoke(), invoke("--json", "--runtime", "openvino")


def test_a_table_with_mismatches_fits_80_columns_too(altered):
    assert max(map(len, altered[0].stdout.splitlines())) <= 80
    assert re.search(r"mismatch, first at \d+ \(see below\)\s*$", altered[0].stdout, re.M)


def test_a_mismatch_exits_1(altered):
    table, document = altered
    assert (table.exit_code, document.exit_code) == (1, 1)
    assert "Do not rely on reference numpy, reference onnx" in table.stdout


@pytest.mark.parametrize(("case", "where"), CHANGED)
def test_a_mismatch_names_the_case_and_the_place_in_every_backend(altered, case, where):
    text = " ".join(altered[0].stdout.split())
    for runtime, backend in BACKENDS:
        pattern = rf"Mismatch: {case} in {runtime} [0-9.]+, backend {backend} draw: "
        assert re.search(pattern, text), pattern
    # A peer that differs is no failure and has no lines of its own.
    assert text.count(f"where: {where};") == len(BACKENDS)


def test_nothing_but_the_altered_is_a_mismatch(altered):
    document = json.loads(altered[1].stdout)
    mismatches = {c["case"] for c in document["cases"] if c["verdict"] == "mismatch"}
    assert mismatches == {case for case, _ in CHANGED}
    assert document["ok"] is False


def test_a_mismatch_shows_what_was_expected_and_what_came_in_bits(altered):
    document = json.loads(altered[1].stdout)
    detail = cases_of(document, "openvino", "python")["TensorFlow bits u32"]["detail"]
    assert detail["first_difference"] == {
        "parameters": "RandomGenerator u32; shape [44]; counter 0xfffffffe, key 0xf7436b46cfe11228",
        "output": "bits",
        "index": [7],
        "element": 7,
        "expected": "3104377089",
        "expected_hex": "0xb9090901",
        "got": "3104377088",
        "got_hex": "0xb9090900",
    }
    assert detail["elements"] - detail["equal_elements"] == 1


def test_an_operator_that_draws_other_bits_the_second_time_is_a_mismatch():
    class Stateful(runners.NumpyRunner):
        def prepare(self, example):
            after = dataclasses.replace(example, state=example.state.advance(4))
            states = iter([example, after])
            return lambda: next(states).in_numpy()

    case = next(c for c in cases.load() if c.family == "TensorFlow bits")
    assert _verify(Stateful(), case).verdict is Verdict.MISMATCH


def test_what_a_runtime_raises_is_an_error_of_that_case_and_fails():
    class Broken(runners.NumpyRunner):
        def prepare(self, example):  # noqa: ARG002
            raise RuntimeError("the library does not load")

    result = _verify(Broken(), cases.load()[0])
    assert result.verdict is Verdict.ERROR
    assert result.reason == "RuntimeError: the library does not load"
    assert not Report([result]).is_ok


def test_a_refusal_of_a_type_that_must_be_carried_is_an_error(monkeypatch):
    monkeypatch.setattr(in_onnxruntime.Model, "not_carried", {})
    expected = [c for c in cases.load() if c.name == "TensorFlow uniform f16"]
    (result,) = run(["onnxruntime"], ["python"], expected=expected).results
    assert result.verdict is Verdict.ERROR


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (np.array([1.0], np.float32), np.array([1.0], np.float64)),
        (np.array([1.0], np.float32), np.array([[1.0]], np.float32)),
        (np.array([0.0], np.float32), np.array([-0.0], np.float32)),
        (np.array([1.0], np.float16), np.array([1.0], ml_dtypes.bfloat16)),
        (np.array(3, np.uint32), np.array(3, np.int32)),
    ],
)
def test_another_type_shape_or_sign_of_zero_is_a_difference(expected, got):
    case = next(c for c in cases.load() if c.has_seeds_alone)
    vector = dataclasses.replace(case.vectors[0], expected={"values": expected}, printed=None)
    assert comparison.compare(vector, {"values": got}, ["values"]).first is not None
    assert comparison.compare(vector, {"values": expected}, ["values"]).first is None


@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_a_value_too_far_from_a_peer_s_is_a_difference(type_name: str):
    case = next(c for c in cases.load() if c.name == f"TensorFlow normal {type_name}")
    vector = case.vectors[0]
    got = vector.expected["values"]

    def compared(off_by: float) -> comparison.Comparison:
        moved = got.astype(np.float64)
        moved[3] += off_by
        peer = cases.Peer(moved, vector.peer.tolerance)
        return comparison.compare(
            dataclasses.replace(vector, peer=peer), {"values": got}, ["values"]
        )

    assert compared(0.9 * vector.peer.tolerance).first is None
    far = compared(1.1 * vector.peer.tolerance)
    assert (far.first.index, far.equal, far.total) == ((3,), got.size - 1, got.size)
    assert f"within {vector.peer.tolerance}" in far.first.expected


def test_an_output_that_is_missing_is_a_difference():
    case = next(c for c in cases.load() if c.has_seeds_alone)
    assert comparison.compare(case.vectors[0], {}, ["values"]).first.got == "nothing"


def test_the_command_is_a_subcommand_and_tells_its_version():
    import onnx_philox

    result = CliRunner().invoke(app.app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"onnx-philox {onnx_philox.__version__}\n")
    assert "verify" in CliRunner().invoke(app.app, ["--help"]).stdout


def test_the_script_of_the_package_is_this_command():
    script = Path(sys.executable).with_name("onnx-philox")
    command = [script, "verify", "--runtime", "reference", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert json.loads(result.stdout)["ok"] is True
