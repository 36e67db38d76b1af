"""`onnx-philox compare` and `onnx-philox path`, on the real runtimes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click
import ml_dtypes
import numpy as np
import onnx
import pytest

import onnx_philox
from onnx_philox import _runtimes as runtimes
from onnx_philox import graphs, rewriting
from onnx_philox._command.compare import Tolerances, comparison_printed, differences
from onnx_philox._command.verify import cases
from onnx_philox._runtimes import RUNTIMES, Runtime
from tests.common import cli
from tests.common.cli import keys_of, keys_said
from tests.common.foreign import parse

NOISY = """noisy (float[batch, 3] x) => (float[batch, 3] y) {
    noise = RandomNormalLike(x)  big = Exp(noise)  y = Add(x, big) }"""
INPUT = ("--input", "x=[[1,2,3],[4,5,6]]")
# A runtime that makes something else of an output: its last bit wrong, or another array.
WRONG = """
import numpy as np
from onnx_philox._runtimes import in_reference

class WrongModel(in_reference.ReferenceModel):
    runtime = "wrong"

    def values_of(self, feeds):
        values = [*super().values_of(feeds)]
        wrong = self.outputs.index({name!r})
        array = np.array(values[wrong])
        {change}
        values[wrong] = array
        return values
"""
WITHIN = "outputs within rtol 0.001, atol 0.0001."
LAST_BIT = "array.reshape(-1)[-1:].view(np.uint32)[...] ^= {}"

text = partial(cli.text, "compare", env={"COLUMNS": "120"})
document = partial(cli.document, "compare")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def noisy() -> str:
    onnx.save(parse(NOISY), "model.onnx")
    rewriting.rewrite_file("model.onnx", "noisy.onnx")
    return "noisy.onnx"


@pytest.fixture
def registered(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[str], None]]:
    """Lets a runtime be in the registry, whose module is in the folder."""
    monkeypatch.setattr(runtimes, "__path__", [*runtimes.__path__, str(tmp_path)])
    yield lambda name: monkeypatch.setitem(RUNTIMES, name, Runtime(name, None))
    for name in ("wrong", "other"):
        sys.modules.pop(f"{runtimes.__name__}.in_{name}", None)


@pytest.fixture
def wrong(
    tmp_path: Path,
    registered: Callable[[str], None],
) -> Callable[[str, str], None]:
    """Writes the module of a runtime of that name."""
    registered("wrong")

    def write(name: str, change: str) -> None:
        (tmp_path / "in_wrong.py").write_text(WRONG.format(name=name, change=change))

    return write


@pytest.mark.parametrize(
    "pair", [(), ("onnxruntime", "openvino"), ("openvino", "reference")], ids=str
)
def test_runtimes_agree_over_several_runs(noisy, pair):
    named = [word for name in pair for word in ("--runtime", name)]
    given = document(noisy, *INPUT, "--seed", 2**40, "--first-run", 7, "--runs", 3, *named)
    expected = list(pair or ("onnxruntime", "openvino"))
    assert [r["runtime"] for r in given["runtimes"]] == expected
    assert (given["seed"], given["is_ok"]) == (2**40, True)
    assert [run["run"] for run in given["runs"]] == [7, 8, 9]
    for run in given["runs"]:
        kinds = {output["name"]: output["kind"] for output in run["outputs"]}
        assert kinds == {"y": "computed", "next_random_state": "state", "noise": "drawn"}
        assert all(o["unequal"] == 0 for o in run["outputs"] if o["kind"] != "computed")


def test_a_dropout_of_computed_data_is_compared_by_what_it_keeps():
    model = parse("""g (float[64, 64] x) => (float[64, 64] y, float[64, 64] w, bool[64, 64] kept) {
            half = Constant <value: tensor = float {0.5}> ()
            yes = Constant <value: tensor = bool {1}> ()
            z = Exp (x)
            y = Dropout (z, half, yes)
            w, kept = Dropout (z, half, yes)
        }""")
    onnx.save(model, "model.onnx")
    rewriting.rewrite_file("model.onnx", "new.onnx")
    outputs = document("new.onnx", "--fill")["runs"][0]["outputs"]
    kinds = {"y": "computed", "w": "computed", "y/mask": "drawn", "kept": "drawn"}
    assert {o["name"]: o["kind"] for o in outputs} == kinds | {"next_random_state": "state"}
    assert any(o["unequal"] for o in outputs), "the runtimes' Exp are equal: choose another"


@pytest.mark.parametrize("name", ["noise", "next_random_state"])
def test_one_bit_of_a_draw_or_a_state_is_a_difference(noisy, wrong, name):
    wrong(name, LAST_BIT.format(1))
    pair = ("--runtime", "onnxruntime", "--runtime", "wrong")
    said = text(noisy, *INPUT, *pair, code=1)
    assert said.endswith(f"Different: {name} not equal to the last bit.")
    assert "of parameters that the model computes" not in said
    (run,) = document(noisy, *INPUT, *pair, code=1)["runs"]
    unequal = {o["name"]: o["unequal"] for o in run["outputs"] if o["kind"] != "computed"}
    assert unequal == {"noise": 0, "next_random_state": 0} | {name: 1}


def test_an_output_may_differ_within_the_tolerances_only_and_in_no_type_or_shape(noisy, wrong):
    wrong("y", "array[1, 2] += np.float32(2**-16)")
    pair = ("--runtime", "reference", "--runtime", "wrong")
    others = "next_random_state uint32 [6] 0 equal noise (drawn) float32 [2, 3] 0 equal"
    assert text(noisy, "--fill", "--input", "x=[[1,2,3],[4,5,6]]", *pair, "--runs", 2).endswith(
        f"─ 0 y float32 [2, 3] 1 1.5e-05 within {others} 1 y float32 [2, 3] 1 1.5e-05 within "
        f"{others} Equal: draws and states equal to the last bit, {WITHIN}"
    )
    said = text(noisy, *INPUT, *pair, "--rtol", 0, "--atol", 0, code=1)
    assert "Different: y not within rtol 0, atol 0." in said
    wrong("y", "array = array.astype(np.float64)[:1]")
    sys.modules.pop(f"{runtimes.__name__}.in_wrong")
    (y, *_) = document(noisy, *INPUT, *pair, code=1)["runs"][0]["outputs"]
    assert [y[key] for key in ("type", "shape")] == ["float32", [2, 3]]
    assert [y[key] for key in ("other_type", "other_shape")] == ["float64", [1, 3]]
    said = text(noisy, *INPUT, *pair, code=1)
    assert "y float32 / float64 [2, 3] / [1, 3] 6 different" in said
    onnx.save(graphs.random_bernoulli([4], 0.5, stateful=True), "coins.onnx")
    assert text("coins.onnx").endswith("equal Equal: draws and states equal to the last bit.")
    wrong("values", "array = ~array")
    sys.modules.pop(f"{runtimes.__name__}.in_wrong")
    said = text("coins.onnx", *pair, code=1)
    assert (
        "equal Where the model computes the parameters of a draw, each runtime rounds them" in said
    )
    assert said.endswith("Different: values not equal to the last bit.")


def test_the_text_has_one_verdict_which_names_only_what_the_model_has(noisy):
    assert "backend native, HETERO:CPU" in text(noisy, *INPUT, "--device", "HETERO:CPU")
    said = text(noisy, *INPUT, "--seed", 5)
    assert said.startswith("noisy.onnx; seed 5 in onnxruntime ")
    assert "precision f32" in said
    assert said.endswith(f"Equal: draws and states equal to the last bit, {WITHIN}")
    onnx.save(parse(NOISY.replace("RandomNormalLike", "Neg")), "plain.onnx")
    notes = (
        "Made up by --fill: x float32[1, 3]. Give your own with --input NAME=FILE.npy. No node of "
        "onnx-philox is in the main graph: other draws, in subgraphs for instance, are compared "
        "only by the outputs and the next state."
    )
    assert text("plain.onnx", "--fill").endswith(f"{notes} Equal: {WITHIN}")


@pytest.mark.parametrize("command", ["compare", "run", "run --runtime openvino", "rewrite"])
def test_what_is_said_fits_the_terminal_which_is_never_too_narrow_for_the_names(
    noisy, monkeypatch, command
):
    monkeypatch.setenv("FORCE_COLOR", "1")
    name, *options = command.split()
    more = {"run": ["--drawn", "--runs", 2], "rewrite": ["-o", "out.onnx"]}.get(name, [])
    given = ["model.onnx"] if name == "rewrite" else [noisy, *INPUT]
    for width in (44, 60, 80, 120):
        said = cli.invoke(name, *given, *options, *more, env={"COLUMNS": str(width)}).stdout
        assert "…" not in said
        lines = click.unstyle(said).splitlines()
        # A command is one line, to be copied.
        longest = max(len(line) for line in lines if "  onnx-philox run" not in line)
        assert longest <= (width if name == "rewrite" else max(width, 80))
        for output in () if name == "rewrite" else ("y  ", "next_random_state  ", "noise  (drawn)"):
            found = [line for line in lines if output in line]
            assert len(found) == 1 + (name == "run")
            assert all("float32" in line or "uint32" in line for line in found)


def difference(x, y, operators=()):
    given = {} if y is None else {"a": y}
    (found,) = differences.of_run(
        {"a": x},
        given,
        dict(operators),
        Tolerances(),
    )
    return found


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_floats_are_compared_by_their_bits_or_by_their_values(kind):
    x, y, infinite = (
        np.array([zero, np.nan, inf, 1.0], kind)
        for zero, inf in ((0.0, np.inf), (-0.0, np.inf), (0.0, -np.inf))
    )
    drawn = difference(x, y, {"a": "RandomNormal"})
    assert (drawn.unequal, drawn.is_ok) == (1, False)
    computed = difference(x, y)
    assert (computed.unequal, computed.largest, computed.is_ok) == (1, 0.0, True)
    computed = difference(x, infinite)
    assert (computed.largest, computed.is_ok) == (np.inf, False)
    # JSON knows no infinity.
    assert comparison_printed._output_json(computed)["largest"] is None


def test_other_types_shapes_and_elements_that_are_no_floats_differ():
    x = np.zeros(3, np.float32)
    for one, other, *expected in (
        *((x, x.astype(np.float64), 3, None), (x, x[:, None], 3, None), (x, None, 3, None)),
        (np.array([3, 2**40]), np.array([3, 2**40 + 1]), 1, 1.0),
        (np.array(["x", "y"]), np.array(["x", "z"]), 1, None),
    ):
        found = difference(one, other)
        assert [found.unequal, found.largest, found.is_ok] == [*expected, False]


def test_the_json_document_has_the_keys_of_its_page_and_shapes_are_lists(noisy):
    given = document(noisy, *INPUT)
    assert (given["schema"], set(keys_of(given))) == keys_said("compare")
    shapes = {output["name"]: output["shape"] for output in given["runs"][0]["outputs"]}
    expected = {
        "y": [2, 3],
        "next_random_state": [6],
        "noise": [2, 3],
    }
    assert shapes == expected
    # A given state has no seed.
    np.save("state.npy", onnx_philox.PhiloxState(5).to_array())
    assert document(noisy, *INPUT, "--input", "random_state=state.npy")["seed"] is None


def test_filled_inputs_are_the_same_in_both_and_standard_nodes_where_they_may_run(noisy):
    by_rows = onnx_philox.make_reproducible(parse(NOISY), per_row=True)
    onnx.save(by_rows, "rows.onnx")
    for path in (noisy, "rows.onnx"):
        given = document(path, "--fill", "--seed", 3)
        assert (given["filled"], given["is_ok"]) == (["x"], True)
    onnx.save(rewriting.to_standard_nodes(onnx.load(noisy)), "standard.onnx")
    chosen = ("--runtime", "onnxruntime", "--runtime", "reference")
    assert document("standard.onnx", "--fill", *chosen)["is_ok"]
    source = Path(__file__).parents[1] / "models" / "mc_dropout.onnx"
    rewriting.to_standard_file(source, "standard.onnx", target="openvino")
    given = document("standard.onnx", "--fill")
    assert [runtime["runtime"] for runtime in given["runtimes"]] == ["onnxruntime", "openvino"]


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_path_prints_where_the_native_library_is_and_needs_no_runtime(runtime):
    done = cli.apart("path", runtime, without=["onnxruntime", "openvino"])
    printed = done.stdout.removesuffix("\n")
    assert Path(printed).is_file()
    assert printed == getattr(onnx_philox, runtime).library_path()


# One registry of runtimes: a module and a line there, and every command knows another one, which
# is ONNX's reference once more, under another name.
IN_OTHER = """
from onnx_philox._runtimes import in_reference

class OtherModel(in_reference.ReferenceModel):
    runtime = "other"
    version = "1.2.3"
"""
BARE_OTHER = """
def prepare():
    import other
    return lambda model: lambda feeds: other.draw()
"""
OTHER = "def draw(): return [bytes(256)]"


@pytest.fixture
def other(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    registered: Callable[[str], None],
) -> None:
    for name, text in (("in_other", IN_OTHER), ("bare_other", BARE_OTHER), ("other", OTHER)):
        (tmp_path / f"{name}.py").write_text(text)
    registered("other")
    # Of the process that `inspect` starts, too.
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.usefixtures("other")
def test_run_verify_and_inspect_know_another_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(graphs.random_uniform([5], 0, 1, "f32", stateful=True), "m.onnx")
    ran, ours = (cli.document("run", "m.onnx", "--runtime", name) for name in ("other", "openvino"))
    assert (ran["runtime"], ran["version"], ran["backend"]) == ("other", "1.2.3", "onnx")
    assert ran["sha256"] == ours["sha256"]
    some = cases.load_cases()[:3]
    monkeypatch.setattr(cases, "load_cases", lambda: some)
    keys = ("runtime", "version", "backend", "verdict")
    found = cli.document("verify", "--runtime", "other")["cases"]
    assert {tuple(c[key] for key in keys) for c in found} == {
        ("other", "1.2.3", "onnx", "same bits")
    }
    onnx.save(parse("g () => (float[4] y) { y = RandomUniform<shape = [4]>() }"), "m.onnx")
    shown = cli.document("inspect", "m.onnx")
    assert list(shown["runtimes"]) == ["onnxruntime", "openvino", "other"]
    today = shown["random_nodes"][0]["today"]["other"]
    assert today == {
        "does": "same numbers every run",
        "reason": "it never draws others",
        "known": [],
    }


@pytest.mark.usefixtures("other")
def test_the_commands_and_their_help_list_another_runtime() -> None:
    Path("m.onnx").touch()
    for command, names, *model in (
        ("verify", "[reference|other|onnxruntime|openvino|standard]"),
        ("run", "[onnxruntime|openvino|reference|standard|other]", "m.onnx"),
        ("compare", "[onnxruntime|openvino|reference|standard|other]", "m.onnx"),
    ):
        said = cli.refusal(command, *model, "--runtime", "none", env={"COLUMNS": "200"})
        assert "onnxruntime, openvino" in said
        assert "other" in said
        assert names in cli.invoke(command, "--help").output
