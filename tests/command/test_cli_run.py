"""`onnx-philox run`, on the real runtimes."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnx.compose
import pytest

import onnx_philox
from onnx_philox import PhiloxState, graphs, reference, rewriting
from tests.common import cli
from tests.common.cases import assert_same_bits
from tests.common.cli import COUNTING, INPUT, NOISY, keys_of, keys_said
from tests.common.foreign import parse
from tests.common.runtimes import save_ir

pytestmark = pytest.mark.missing_backend
RUNTIMES = [(runtime, b) for runtime in ("onnxruntime", "openvino") for b in ("native", "python")]
RUNTIMES += [("reference", "onnx")]
SEED = 2**40 + 42

invoke = partial(cli.invoke, "run")
document = partial(cli.document, "run")
text = partial(cli.text, "run")
refusal = partial(cli.refusal, "run")

MODELS = {"model": NOISY, "own": COUNTING}


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    """Models as they are rewritten, in a folder."""
    folder = tmp_path_factory.mktemp("models")
    for name, text in MODELS.items():
        model = parse(text)
        save(model, folder / f"{name}.onnx")
    for name, source, options in (
        ("noisy", "model", {}),
        ("fixed", "model", {"seed": SEED}),
        ("inside", "own", {"seed": SEED}),
        ("both", "own", {}),
    ):
        rewriting.rewrite_file(
            folder / f"{source}.onnx",
            folder / f"{name}.onnx",
            **options,
        )
    by_rows = onnx_philox.make_reproducible(parse(ROWS_OF), per_row=True)
    save(by_rows, folder / "rows.onnx")
    for dtype in ("bf16", "f32"):
        built = graphs.random_uniform([5], 0, 1, dtype, stateful=True)
        save(built, folder / f"{dtype}.onnx")
    return folder


@pytest.fixture(autouse=True)
def _own_folder(models, tmp_path, monkeypatch):
    """A folder with these models in it."""
    monkeypatch.chdir(tmp_path)
    for path in models.iterdir():
        shutil.copy(path, tmp_path)


def load(path: str) -> dict[str, np.ndarray]:
    with np.load(path) as arrays:
        return dict(arrays)


def save(model: onnx.ModelProto, name: str | Path = "model.onnx") -> str:
    onnx.save(model, name)
    return str(name)


def hash_of(array: np.ndarray) -> str:
    """The hash of an output, as it is promised: of its type, its shape and its bytes."""
    shape = list(array.shape)
    said = f"{array.dtype.name}{shape}".encode()
    return hashlib.sha256(said + array.tobytes()).hexdigest()


def noise(run: int, shape=(2, 3)) -> np.ndarray:
    """What stream 0 draws in a run."""
    state = PhiloxState.for_run(SEED, run).to_array()
    drawn_and_next = reference.random_normal(shape, 0, 1, "f32", op_seed=0, state=state)
    return drawn_and_next[0]


@pytest.mark.parametrize(("runtime", "backend"), RUNTIMES)
def test_each_run_draws_from_its_own_state_and_can_be_repeated(runtime, backend):
    how = ("--runtime", runtime, "--backend", backend, "--seed", SEED, "--drawn")
    ran = document("noisy.onnx", *how, "--input", INPUT, "--runs", 3, "-o", "./")
    keys = set(keys_of(ran))
    assert (ran["schema"], keys) == keys_said("run")
    chosen = (ran["runtime"], ran["backend"], ran["seed"])
    assert chosen == (runtime, backend, SEED)
    for number, run in enumerate(ran["runs"]):
        expected = PhiloxState.for_run(SEED, number).to_array().tolist()
        assert run["state"] == expected
        saved = load(run["file"])
        np.testing.assert_array_equal(saved["noise"], noise(number))
        following = PhiloxState.for_run(SEED, number + 1)
        np.testing.assert_array_equal(saved["next_random_state"], following.to_array())
        # The hash is of the type, the shape and the bytes: it is one in every runtime.
        drawn = hash_of(noise(number))
        by_name = {output["name"]: output for output in run["outputs"]}
        assert by_name["noise"] == {
            "name": "noise", "type": "float32", "shape": [2, 3], "sha256": drawn, "is_drawn": True,
        }  # fmt: skip
    hashes = {run["sha256"] for run in ran["runs"]}
    assert len(hashes) == 3
    alone = document("noisy.onnx", *how, "--input", INPUT, "--first-run", 2)
    (again,) = alone["runs"]
    without_file = ran["runs"][2] | {"file": None}
    assert again == without_file


def test_what_is_drawn_has_one_hash_in_every_precision():
    common = ("noisy.onnx", "--input", INPUT, "--runs", 2, "--drawn", "--seed")
    precisions_of_openvino = ("f32", "bf16", "f16")
    hints = [("--runtime", "openvino", "--precision", p) for p in precisions_of_openvino]
    all_ways = ((), *hints)
    first, *ran = [document(*common, SEED, *how) for how in all_ways]
    hashes = {each["drawn_sha256"] for each in ran}
    assert hashes == {first["drawn_sha256"]}
    # Each device has f32, few have f16.
    precisions = [each["how"] for each in ran]
    assert precisions[0] == "CPU, precision f32"
    for hint, how in zip(("bf16", "f16"), precisions[1:], strict=True):
        missing = f" ({hint} was asked for; this device does not have it)"
        assert how.endswith((f"precision {hint}", missing))
    other = document(*common, 1)
    assert other["drawn_sha256"] != first["drawn_sha256"]


def test_a_draw_from_probabilities_is_said_to_be_equal_where_they_are_equal():
    bernoulli = graphs.random_bernoulli([4], 0.5, stateful=True)
    save(bernoulli, "bernoulli.onnx")
    said = text("bernoulli.onnx", "--drawn")
    assert ", equal in every runtime that computes the same parameters" in said


def test_an_ir_draws_what_its_onnx_model_draws():
    cli.text("rewrite", "model.onnx", "-o", "noisy.xml")
    common = ("--seed", SEED, "--input", INPUT, "--drawn")
    of_ir = document("noisy.xml", *common)
    of_onnx = document("noisy.onnx", *common)
    assert of_ir["runtime"] == "openvino"
    assert of_ir["drawn_sha256"] == of_onnx["drawn_sha256"]
    names = [o["name"] for o in of_ir["runs"][0]["outputs"]]
    assert names == ["y", "next_random_state", "noise"]
    # It has no second runtime to compare with.
    assert "Compare runtimes with" not in text("noisy.xml", "--input", INPUT)


def test_weights_beside_the_model_are_found_with_drawn_too(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    model = parse(NOISY.replace("Add (x", "Add (weights"))
    weights = np.arange(3, dtype=np.float32)
    held = onnx.numpy_helper.from_array(weights, "weights")
    model.graph.initializer.append(held)
    path = folder / "weights.onnx"
    made = onnx_philox.make_reproducible(model)
    onnx.save(made, path, save_as_external_data=True, size_threshold=0)
    for runtime in ("onnxruntime", "openvino", "reference"):
        how = ("--runtime", runtime, "--seed", SEED, "--drawn", "-o", "./")
        ran = document(path, "--input", INPUT, *how)
        saved = load(ran["runs"][0]["file"])
        np.testing.assert_array_equal(saved["noise"], noise(0))


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino", "reference"])
def test_the_state_of_a_builders_model_is_carried_on(runtime):
    ran = document("bf16.onnx", "--runtime", runtime, "--runs", 2, "--seed", 7, "-o", "./")
    state = PhiloxState.from_seed(7).to_array()
    for run in ran["runs"]:
        expected, state = reference.random_uniform([5], 0, 1, "bf16", state=state)
        assert run["outputs"][0]["type"] == "bfloat16"
        saved = load(run["file"])
        assert_same_bits(saved["values"], expected.astype(np.float32))
        output = run["outputs"][0]
        assert output["sha256"] == hash_of(expected)
    said = text("bf16.onnx", "--runtime", runtime, "-o", "./")
    assert "values: saved as float32, exactly, as .npz has no bfloat16." in said


def test_a_state_of_a_builder_s_model_may_have_a_higher_rank_or_a_prefix():
    model = onnx.load("f32.onnx")
    save(onnx.compose.add_prefix(model, "a/"), "prefixed.onnx")
    (state,) = (i for i in model.graph.input if i.name == "state")
    del state.type.tensor_type.shape.dim[:]
    for size in (1, 1, 6):
        state.type.tensor_type.shape.dim.add().dim_value = size
    del model.graph.output[1], model.graph.node[0].output[1]
    save(model, "rank3.onnx")
    begin = PhiloxState.from_seed(3).to_array()
    expected, _ = reference.random_uniform([5], 0, 1, "f32", state=begin)
    for name, *given in (
        ("rank3.onnx", "--seed", 3),
        ("prefixed.onnx", "--seed", 3),
        ("prefixed.onnx", "--input", "a/state=[0,0,0,0,3,0]"),
    ):
        ran = document(name, *given, "-o", "./")
        (run,) = ran["runs"]
        prefix = "a/" * (name == "prefixed.onnx")
        saved = load(run["file"])
        np.testing.assert_array_equal(saved[f"{prefix}values"], expected)


def test_a_given_state_needs_no_seed_and_a_constant_state_repeats_its_draws():
    state = PhiloxState.for_run(SEED, 9).to_array()
    np.save("state.npy", state)
    given = ("--input", INPUT, "--input", "random_state=state.npy")
    said = text("noisy.onnx", *given)
    assert "Go on with the last next_random_state as --input random_state=FILE.npy." in said
    assert "seed" not in said
    ran = document("noisy.onnx", *given, "--drawn", "-o", "./")
    assert ran["seed"] is None
    saved = load(ran["runs"][0]["file"])
    np.testing.assert_array_equal(saved["noise"], noise(9))
    ran = document("fixed.onnx", "--input", INPUT, "--runs", 2, "--drawn", "-o", "./")
    unknown = (ran["seed"], ran["record"])
    assert unknown == (None, None)
    hashes = {run["sha256"] for run in ran["runs"]}
    assert len(hashes) == 1
    np.testing.assert_array_equal(load(ran["runs"][0]["file"])["noise"], noise(0))
    said = text("fixed.onnx", "--input", INPUT, "--runs", 2)
    assert said.endswith(" Each run gave the same numbers. Its seed is inside.")
    assert "seed" not in text("fixed.onnx", "--input", INPUT)
    # An input is a state only if random nodes read it: a user's model may have its name and type.
    made_up = text("inside.onnx", "--input", INPUT, "--fill", "--runs", 2)
    assert "Made up by --fill: state uint32[6]." in made_up
    assert "Each run gave the same numbers. Its seed is inside." in made_up
    ran = document("both.onnx", "--input", INPUT, "--fill", "--seed", SEED, "--drawn", "-o", "./")
    np.testing.assert_array_equal(load(ran["runs"][0]["file"])["noise"], noise(0))


@pytest.mark.parametrize("kind", ["ONNX", "standard nodes", "IR", "rows"])
def test_a_state_behind_a_prefix_is_made_of_the_seed(kind):
    model = onnx.load("noisy.onnx")
    if kind == "standard nodes":
        model = onnx_philox.to_standard_nodes(model)
    if kind == "rows":
        model = onnx_philox.make_reproducible(parse(NOISY), per_row=True)
    path = save(onnx.compose.add_prefix(model, "a/"), "prefixed.onnx")
    if kind == "IR":
        path = str(save_ir(path, Path("prefixed.xml")))
    given = (path, "--input", f"a/{INPUT}", "--seed", SEED)
    for runtime in ("onnxruntime", "openvino"):
        if runtime in {"IR": "onnxruntime", "standard nodes": "openvino"}.get(kind, ""):
            continue
        ran = document(*given, "--runtime", runtime, "-o", "./", "--first-run", 1, "--runs", 2)
        for number, run in zip((1, 2), ran["runs"], strict=True):
            of_rows = onnx_philox.row_states(SEED, range(2), number)
            state = of_rows if kind == "rows" else PhiloxState.for_run(SEED, number).to_array()
            assert run["state"] == state.tolist()
            x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
            drawn = reference.random_normal([2, 3], 0, 1, "f32", op_seed=0, state=state)[0]
            np.testing.assert_array_equal(load(run["file"])["a/y"], x + drawn)
    listed = refusal(path)
    assert re.search(r"^  a/random_state +uint32 +\[.*6\] +made of --seed$", listed, re.M)
    compared = cli.invoke("compare", *given)
    assert compared.exit_code == 0 or kind in ("standard nodes", "IR"), compared.output


def test_a_model_that_is_not_rewritten_is_told_apart():
    said = text(save(parse(NOISY)), "--input", INPUT, "--runs", 2)
    own = "This model has 1 random node of its own and no state."
    rewrite = "onnx-philox rewrite model.onnx -o FILE"
    assert f"Each run gave different numbers. {own} Rewrite it first: {rewrite}" in said


def test_inputs_come_from_npy_npz_and_numbers_bfloat16_as_float32_or_as_numpy_saves_it():
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    np.save("x.npy", x)
    np.savez("inputs.npz", x=x)
    arguments = (INPUT, "x=x.npy", "inputs.npz")
    assert len({document("noisy.onnx", "--input", a)["sha256"] for a in arguments}) == 1
    path = save(parse("g (bfloat16[n] x) => (bfloat16[n] y) { y = Identity(x) }"))
    x = np.array([0.5, -2, 3], ml_dtypes.bfloat16)
    np.save("raw.npy", x)
    np.save("f32.npy", x.astype(np.float32))
    for name in ("raw.npy", "f32.npy"):
        for runtime in ("onnxruntime", "openvino", "reference"):
            ran = document(path, "--runtime", runtime, "--input", f"x={name}")
            assert ran["runs"][0]["outputs"][0]["sha256"] == hash_of(x)


@pytest.mark.parametrize(("runtime", "backend"), RUNTIMES)
def test_what_a_runtime_does_not_run_ends_with_1_and_the_operator_s_words(runtime, backend):
    path = save(graphs.random_uniform(None, 0, 1, "f32", stateful=True, rank=2))
    how = ("--runtime", runtime, "--backend", backend)
    said = refusal(path, *how, "--input", "shape=[2,-3]", code=1)
    assert said.startswith(f"onnx-philox run: {runtime} does not run the model: RandomUniform: ")
    assert said.count("\n") == 1


def test_what_a_runtime_does_not_load_or_compare_does_not_run_ends_with_1():
    path = save(parse(NOISY, opset=22))
    said = refusal(path, "--runtime", "onnxruntime", "--input", INPUT, code=1)
    assert said == (
        "onnx-philox run: onnxruntime does not load model.onnx: Could not find an implementation "
        "for RandomNormalLike(22)\n"
    )
    path = save(graphs.random_uniform(None, 0, 1, "f32", stateful=True, rank=2))
    said = cli.refusal("compare", path, "--input", "shape=[2,-3]", code=1)
    assert said.startswith("onnx-philox compare: onnxruntime does not run the model: ")


def test_outputs_go_where_they_are_told(tmp_path):
    def files(*arguments):
        return [run["file"] for run in document("noisy.onnx", "--input", INPUT, *arguments)["runs"]]

    before = sorted(tmp_path.iterdir())
    assert files("--runs", 2) == [None, None]
    assert sorted(tmp_path.iterdir()) == before
    Path("new/folder").mkdir(parents=True)
    assert files("-o", "./", "--runs", 2) == ["noisy.run0.npz", "noisy.run1.npz"]
    assert files("-o", "new/folder/") == [str(Path("new/folder/noisy.run0.npz"))]
    assert files("-o", "new/folder") == [str(Path("new/folder/noisy.run0.npz"))]
    assert files("-o", "new/prefix") == [str(Path("new/prefix.run0.npz"))]
    # A whole name is the name of the only run, and without its ending the beginning of several.
    expected = [str(Path("new/whole.npz"))]
    assert files("-o", "new/whole.npz", "--first-run", 7) == expected
    assert files("-o", "new/whole.npz", "--runs", 2) == [
        str(Path("new/whole.run0.npz")),
        str(Path("new/whole.run1.npz")),
    ]
    # The same outputs are the same file, byte by byte.
    assert Path("new/prefix.run0.npz").read_bytes() == Path("noisy.run0.npz").read_bytes()
    # An output may have any name.
    text = 'g (float[2] x) => (float[2] file, float[2] "/a/b") { file = Relu(x) "/a/b" = Neg(x) }'
    path = save(parse(text))
    ran = document(path, "--input", "x=[1,-2]", "-o", "./")
    saved = load(ran["runs"][0]["file"])
    expected = {"file": [1, 0], "/a/b": [-1, 2]}
    lists = {name: saved[name].tolist() for name in saved}
    assert lists == expected


def test_an_interrupted_command_says_how_far_it_came_and_how_to_go_on():
    command = [sys.executable, "-m", "onnx_philox", "run", "noisy.onnx", "--input", INPUT]
    command += ["--seed", "5", "--first-run", "3", "--runs", "100000"]
    command += ["-o", "cut", "--record", "cut.json"]
    # What a shell starts in the background ignores interrupts, and with it what it starts itself.
    # A program does not inherit a handler: the command has Python's own.
    of_the_tests = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            # More runs than the command names one by one are done when the tenth's file is there.
            while process.poll() is None and not Path("cut.run12.npz").exists():
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
    finally:
        signal.signal(signal.SIGINT, of_the_tests)
    assert process.returncode == 130
    pattern = (
        r"onnx-philox: interrupted after (\d+) of 100000 runs\. "
        r"Saved: cut\.run3\.npz, \.\.\., cut\.run(\d+)\.npz\. cut\.json was not written\. "
        r"For the rest add --first-run (\d+) --runs (\d+)\.\n"
    )
    found = re.fullmatch(pattern, said.lstrip("\n"))
    done, last, first, rest = map(int, found.groups())
    assert done >= 9
    expected = (3 + done - 1, 3 + done, 100000 - done)
    assert (last, first, rest) == expected
    assert not Path("cut.json").exists()


def test_the_text_says_what_the_numbers_mean_and_many_runs_are_a_line_each():
    given = ("noisy.onnx", "--input", INPUT, "--seed", 5)
    two = text(*given, "--runs", 2, "--drawn", "--record", "r.json")
    run = "y float32 [2, 3] # next_random_state uint32 [6] # noise (drawn) float32 [2, 3] # all"
    assert re.sub(r"\b[0-9a-f]{12}\b|─+", "#", two).partition("; ")[2] == (
        f"seed 5 run output type shape sha256 # 0 {run} outputs # 1 {run} outputs # 2 runs, all "
        "outputs: # 2 runs, drawn in the main graph: #, equal in every runtime Each run gave "
        "different numbers, from the state that the run before it left. Go on with --first-run 2; "
        "repeat any run with --first-run N. Recorded: r.json. Run it again, here or elsewhere: "
        "onnx-philox replay r.json"
    )
    _, one, said = text(*given).partition(" 1 run, all outputs: ")
    assert one
    between = said[12:].partition(" with onnx-philox compare: the draws are equal; ")
    assert between[::2] == (
        " Go on with --first-run 1; repeat any run with --first-run N. Compare runtimes",
        "the outputs differ by each runtime's rounding.",
    )
    for runs, listed in ((3, "noisy.run0.npz, noisy.run1.npz,"), (4, "noisy.run0.npz, ...,")):
        said = text(*given, "--runs", runs, "-o", "./")
        assert f"Saved: {listed} noisy.run{runs - 1}.npz. Each run" in said
    for count in (59, 60):
        names = ", ".join(f"y{i}" for i in range(count))
        head = f"g (float[{count}] x) => ({names.replace('y', 'float[1] y')})"
        path = save(parse(f"{head} {{ {names} = Split (x) }}"))
        said = text(path, "--fill")
        assert (" 0 all outputs " in said) is (count == 60)


def test_outputs_that_are_alike_by_chance_are_not_called_the_same_numbers():
    save(parse("coin (float[1] p) => (bool[1] y) { y = Bernoulli<dtype = 9>(p) }"), "own.onnx")
    rewriting.rewrite_file("own.onnx", "coin.onnx")
    # The probability is 1, so both runs draw true, from different states.
    said = text("coin.onnx", "--input", "p=[1]", "--runs", 2, "--seed", 1)
    assert "same numbers" not in said
    assert "The outputs of all runs are equal, though each run drew from the state that" in said
    said = text("own.onnx", "--input", "p=[1]", "--runs", 2)
    assert "The outputs of all runs are equal. This model has 1 random node of its own" in said


def test_a_runtime_that_is_not_installed_is_an_error_only_if_it_was_asked_for():
    given = ("run", "noisy.onnx", "--input", INPUT)
    without = ["onnxruntime"]
    result = cli.apart(*given, "--json", without=without)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["runtime"] == "openvino"
    options = given[1:]
    result = cli.apart("compare", *options, without=without)
    assert re.search(r"\nin openvino .*\nin reference ", result.stdout), result.stderr
    result = cli.apart(*given, "--runtime", "onnxruntime", without=without)
    assert (result.returncode, result.stdout) == (2, "")
    assert "pip install 'onnx-philox[onnxruntime]'" in result.stderr


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino", "reference"])
def test_fill_makes_up_what_is_not_given_the_same_in_every_runtime(runtime):
    ran = document("rows.onnx", "--fill", "--input", "z=[1]", "--runtime", runtime, "-o", "./")
    assert ran["filled"] == ["x"]
    made = np.empty((1, 3), np.float32)
    onnx_philox.generate(PhiloxState(0, 2**63), out=made)
    states = onnx_philox.row_states(0, range(1))
    expected = [states.tolist()]
    state = np.uint32(expected[0])
    noise, _ = reference.random_normal([1, 3], 0, 1, "f32", state=state)
    assert [run["state"] for run in ran["runs"]] == expected
    saved = load(ran["runs"][0]["file"])
    assert_same_bits(saved["y"], made + noise)


FILLED = """g (float16[n, 2] h, double[n] d, int64[n] i, bool[n] b, bfloat16[3] f, float w) =>
  (float16[n, 2] o0, double[n] o1, int64[n] o2, bool[n] o3, bfloat16[3] o4) <float w = {1}> {
  o0 = Identity(h) o1 = Identity(d) o2 = Identity(i) o3 = Identity(b) o4 = Identity(f)
}"""


def test_fill_gives_floats_from_0_to_1_ones_and_dimensions_that_fit():
    path = save(parse(FILLED))
    ran = document(path, "--fill", "--input", "i=[5, 6, 7]", "-o", "./")
    assert ran["filled"] == ["h", "d", "b", "f"]
    saved = load(ran["runs"][0]["file"])
    expected = [(3, 2), (3,), (3,), (3,), (3,)]
    shapes = [saved[f"o{i}"].shape for i in range(5)]
    assert shapes == expected
    draws = ((0, 0, np.float16), (1, 1, np.float64), (3, 4, ml_dtypes.bfloat16))
    for number, i, kind in draws:
        shape = saved[f"o{i}"].shape
        made = np.empty(shape, np.float32)
        state = PhiloxState(number << 64, 2**63)
        onnx_philox.generate(state, out=made)
        np.testing.assert_array_equal(saved[f"o{i}"], made.astype(kind))
    assert saved["o2"].tolist() == [5, 6, 7]
    assert saved["o3"].all()
    said = text(path, "--fill")
    assert "Made up by --fill: h float16[1, 2], d float64[1], i int64[1]" in said
    lines = refusal(path, "--input", "i=[5]")
    said, h, *_, w = lines.split("\n")[:-1]
    assert "Pass --input h=FILE.npy --input d=FILE.npy ..., or all" in said
    assert (h, w) == ("  h  float16   [n, 2]", "  w  float32   []      optional")


ML = {"ai.onnx.ml": 2}
CITIES = """g (string[N] city) => (float[N] y) {
    code = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "b"], values_floats = [1.0, 2.0]> (city)
    n = RandomNormalLike <dtype = 1> (code)  y = Add (code, n)
}"""


def test_strings_are_an_input_by_each_way_that_is_named():
    np.save("plain.npy", np.array(["a", "b"]))
    onnx.save(parse(CITIES.replace("city)", "city, float x)", 1), **ML), "old.onnx")
    lines = cli.invoke("rewrite", "old.onnx", "-o", "new.onnx")
    *_, command, said = lines.stdout.splitlines()
    assert "--fill makes up x: give" in said
    assert command in cli.invoke("inspect", "new.onnx").stdout
    assert command == "  onnx-philox run new.onnx --seed 42 --runs 3 --input city=FILE.npy --fill"
    words = command.replace("FILE", "plain")
    cli.text(*words.split()[1:])
    path = save(onnx_philox.make_reproducible(parse(CITIES, **ML)), "m.onnx")
    objects = np.array(["a", "b"], object)
    np.save("of_objects.npy", objects.astype(str))
    pipe = onnx_philox.Pipeline(path)
    served = pipe({"city": objects}, seed=3)
    record = json.dumps(served.record())
    Path("p.json").write_text(record)
    for given in ("city=plain.npy", "city=of_objects.npy", 'city=["a", "b"]'):
        ran = document(path, "--seed", 3, "--input", given, "--record", "r.json", "-o", "./")
        saved = load(ran["runs"][0]["file"])
        assert_same_bits(saved["y"], served["y"])
        cli.text("replay", ran["record"])
        cli.text("replay", "p.json", "--model", path, "--input", given)


def test_numbers_that_openvino_misreads_are_refused_and_repaired():
    state = [7, 2**32 - 1, 0, 5, 42, 2**31]
    model = graphs.random_generator([5])
    held = onnx.helper.make_tensor(
        "state",
        onnx.TensorProto.UINT32,
        [6],
        state,
    )
    assert held.uint64_data
    model.graph.initializer.append(held)
    del model.graph.input[:]
    path = save(model, "m.onnx")
    run = ("--runtime", "openvino")
    words = "the constant 'state' must be raw data: got the field uint64_data"
    assert words in refusal(path, *run)
    (expected,) = document(path, "--runtime", "onnxruntime")["runs"]
    for name in ("n.onnx", "n.xml"):
        cli.text("rewrite", path, "-o", name)
        (drawn,) = document(name, *run)["runs"]
        assert drawn["outputs"] == expected["outputs"]


@pytest.mark.parametrize(
    ("node", "got"),
    [
        ("Cast <to: int = 1>", "float32 [6]"),
        ("Cast <to: int = 7>", "int64 [6]"),
        ("Expand", "uint32 [2, 6]"),
    ],
)
def test_a_next_state_of_another_type_or_size_is_refused(node: str, got: str) -> None:
    model = parse(
        f"""g (uint32[6] random_state) => (uint32[3] bits, next_random_state)
        <int64[1] three = {{3}}, int64[2] twice = {{2, 1}}> {{
        bits, left = onnx_philox.RandomGenerator (random_state, three)
        next_random_state = {node} (left{", twice" if node == "Expand" else ""}) }}"""
    )
    path = save(model, "cast.onnx")
    for runtime in ("onnxruntime", "reference"):
        said = refusal(path, "--runtime", runtime, "--runs", 2)
        assert (
            f"the output 'next_random_state' must be the next state, uint32 [6]: got {got}." in said
        )


ROWS_OF = NOISY.replace("x) =>", "x, float[other] z) =>")


def test_where_an_ir_has_lost_which_dimension_is_the_batch_it_must_be_told():
    zeros = np.zeros((4, 3), np.float32)
    np.save("x.npy", zeros)
    inputs = ["--input", "x=x.npy", "--input", "z=[1, 2]"]
    assert document("rows.onnx", *inputs, "--runtime", "onnxruntime")
    ir = save_ir("rows.onnx", Path("rows.xml"))
    assert document(ir, *inputs)
    ir.write_text(ir.read_text().replace("onnx_philox.streams", "lost"))
    refused = refusal("rows.xml", *inputs)
    assert (
        "the inputs must have one number of rows, since random_state has a state for each row: "
        "got 2 or 4." in refused
    )
    assert "what onnx_philox.row_states(seed, range(batch), run) gives." in refused
    states = onnx_philox.row_states(0, range(4))
    np.save("states.npy", states)
    given = [*inputs, "--input", "random_state=states.npy"]
    one, other = (
        document("rows.onnx", *given, "--runtime", runtime, "--drawn")["drawn_sha256"]
        for runtime in ("onnxruntime", "openvino")
    )
    assert one == other
