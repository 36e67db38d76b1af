"""Tools that change a rewritten model: quantisation (NNCF too) and float16 as in the docs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from unittest import mock

import cli
import numpy as np
import onnx
import onnx.compose
import onnxruntime as ort
import openvino as ov
import pytest
from cases import assert_all_same, assert_refused, assert_same_bits
from foreign import operators, parse
from google.protobuf import text_format
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST, convert_float_to_float16
from openvino_models import CORE
from runtimes import infer

import onnx_philox
from onnx_philox import PhiloxState, Pipeline, make_reproducible, rewriting
from onnx_philox.onnxruntime import InferenceSession

X = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
STATE = PhiloxState.for_run(42)
OURS = [op.__name__ for op in onnx_philox.onnx_reference.OPS]
DRAWS = ["mask", "noise", "next_random_state"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model = parse("""g (float[n, 8] x) => (float[n, 4] y, bool[n, 16] mask, float[n, 16] noise)
        <float ratio = {0.25}, bool training = {1}> {
            a = MatMul (x, w1) r = Relu (a) d, mask = Dropout (r, ratio, training)
            noise = RandomNormalLike (d) s = Add (d, noise) y = MatMul (s, w2) }""")
    rng = np.random.default_rng(1)
    for name, shape in (("w1", (8, 16)), ("w2", (16, 4))):
        weights = rng.normal(size=shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, name))
    path = tmp_path / "model.onnx"
    onnx.save(make_reproducible(model), path)
    return path


class Calibration(CalibrationDataReader):
    """Three runs, each of its own state."""

    def __init__(self) -> None:
        states = [PhiloxState.for_run(1, run).to_array() for run in range(3)]
        self._runs = iter([{"x": X, "random_state": state} for state in states])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._runs, None)


def draws_of(model: Path | onnx.ModelProto) -> list[np.ndarray]:
    session = InferenceSession(model)
    (given, *_) = session.get_inputs()
    x = X.astype(np.float16) if given.type == "tensor(float16)" else X
    return session.run(DRAWS, {"x": x, "random_state": STATE})


def test_a_rewritten_model_is_quantised_dynamically_or_after_calibration(
    path: Path, tmp_path: Path
) -> None:
    quantize_dynamic(path, tmp_path / "dynamic.onnx")
    assert "MatMulInteger" in operators(onnx.load(tmp_path / "dynamic.onnx"))
    assert_all_same(draws_of(tmp_path / "dynamic.onnx"), draws_of(path))
    prepared, quantised = tmp_path / "prepared.onnx", tmp_path / "quantised.onnx"
    onnx_philox.register_schemas()
    with mock.patch("onnxruntime.InferenceSession", InferenceSession):
        quant_pre_process(path, prepared, skip_symbolic_shape=True)
        quantize_static(prepared, quantised, Calibration())
    assert "QuantizeLinear" in operators(onnx.load(quantised))
    mask, noise, next_state = draws_of(path)
    quantised_mask, quantised_noise, quantised_next = draws_of(quantised)
    assert_same_bits(quantised_mask, mask)
    assert_same_bits(quantised_next, next_state)
    # Where the noise is an output, it leaves the model quantised: in one of 256 values.
    assert np.abs(quantised_noise - noise).max() <= np.ptp(noise) / 255


@pytest.mark.engines
@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_nncf_quantises_a_rewritten_model_and_it_draws_as_before(path: Path, runtime: str) -> None:
    import nncf

    model = CORE.read_model(path) if runtime == "openvino" else onnx.load(path)
    onnx_philox.register_schemas()
    with mock.patch("onnxruntime.InferenceSession", InferenceSession):
        calibration = nncf.Dataset([*iter(Calibration().get_next, None)])
        quantised = nncf.quantize(model, calibration, subset_size=3)
    given = {"x": X, "random_state": STATE}
    if runtime == "openvino":
        assert "FakeQuantize" in {op.get_type_name() for op in quantised.get_ops()}
        drawn = infer(CORE.compile_model(quantised, "CPU"), given)
        actual = [drawn[name] for name in DRAWS]
    else:
        assert "QuantizeLinear" in operators(quantised)
        actual = InferenceSession(quantised).run(DRAWS, given)
    assert_all_same(actual, draws_of(path))


@pytest.mark.parametrize("keep_io_types", [False, True])
def test_a_rewritten_model_becomes_float16_around_its_draws(
    path: Path, keep_io_types: bool
) -> None:
    model = convert_float_to_float16(
        onnx.load(path), keep_io_types=keep_io_types, op_block_list=[*DEFAULT_OP_BLOCK_LIST, *OURS]
    )
    mask, noise, next_state = draws_of(path)
    half_mask, half_noise, half_next = draws_of(model)
    assert_same_bits(half_mask, mask)
    assert_same_bits(half_next, next_state)
    half = noise.astype(np.float16)
    assert_same_bits(half_noise, half.astype(np.float32) if keep_io_types else half)


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_prefix_before_all_names_leaves_a_model_what_it_is(path: Path, runtime: str) -> None:
    model = onnx.load(path)
    renamed = onnx.compose.add_prefix(model, "first/")
    expected = Pipeline(model, runtime=runtime)({"x": X}, seed=5)["noise"]
    drawn = Pipeline(renamed, runtime=runtime)({"first/x": X}, seed=5)
    assert_same_bits(drawn["first/noise"], expected)
    stateful = CORE.read_model(renamed.SerializeToString())
    onnx_philox.openvino.make_stateful(stateful, STATE)
    assert [i.any_name for i in stateful.inputs] == ["first/x"]


@pytest.mark.parametrize("state", ["random_state", "state"])
@pytest.mark.parametrize(("first", "second"), [("a_", "b_"), ("", "b/")])
def test_a_model_that_was_merged_of_rewritten_ones_is_refused_by_the_names_of_its_states(
    path: Path, tmp_path: Path, state: str, first: str, second: str
) -> None:
    """Half of it would repeat itself: one of the states would be an input like any other."""
    model = onnx.load(path)
    text = text_format.MessageToString(model).replace("random_state", state)
    called = text_format.Parse(text, onnx.ModelProto())
    prefixes = {"prefix1": first or None, "prefix2": second}
    merged = onnx.compose.merge_models(called, called, io_map=[], **prefixes)
    names = f"got one with {first}{state} and {second}{state}"
    read = CORE.read_model(merged.SerializeToString())
    files = tmp_path / "m.onnx", tmp_path / "m.xml"
    onnx.save(merged, files[0])
    ov.save_model(read, files[1], compress_to_fp16=False)
    for given in (merged, read, files[1]):
        assert_refused(partial(make_reproducible, given), f"one state for all draws: {names}")
    for given, options in (
        (merged, {}),
        (merged, {"runtime": "openvino"}),
        (read, {"runtime": "openvino"}),
        (CORE.compile_model(read, "CPU"), {"source": merged}),
    ):
        assert_refused(partial(Pipeline, given, **options), f"Pipeline: the model ...: {names}")
    for file in files:
        said = cli.text("inspect", file)
        assert f"Their state: the inputs {names[13:]}" in said
        assert "Run it" not in said
        assert cli.document("inspect", file)["next_state"] is None
        assert names in cli.refusal("run", file, "--seed", 1, "--fill")
    assert names in cli.refusal("compare", files[0], "--fill")


def test_a_prefixed_model_with_a_new_random_node_has_two_states(path: Path) -> None:
    renamed = onnx.compose.add_prefix(onnx.load(path), "a_")
    renamed.graph.node.append(onnx.helper.make_node("RandomUniformLike", ["a_x"], ["u"]))
    words = "got one with a_random_state and random_state"
    assert_refused(lambda: make_reproducible(renamed), words)
    onnx.save(renamed, path)
    assert "as it is: onnx_philox.make_reproducible: the model must" in cli.text("inspect", path)


# ------------------------------------------------------------------ ONNX Runtime's own format

OWN_FORMAT = (
    "a file in ONNX Runtime's own format (.ort), which only ONNX Runtime reads. Pass the ONNX"
)


@pytest.fixture
def in_ort_format(path: Path, tmp_path: Path) -> Path:
    """The rewritten model as ONNX Runtime's converter saves it."""
    options = onnx_philox.onnxruntime.register(ort.SessionOptions())
    options.optimized_model_filepath = str(tmp_path / "model.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    ort.InferenceSession(path, options)
    return tmp_path / "model.ort"


COMMANDS = ["inspect MODEL", "rewrite MODEL -o new.onnx", "rewrite MODEL -o new.xml"]
COMMANDS += ["compare MODEL --fill", "run MODEL --fill --runtime openvino"]
COMMANDS += ["run MODEL --fill --runtime reference", "run MODEL --fill --drawn"]
COMMANDS += ["run MODEL --fill --record record.json", "rewrite MODEL -o new.onnx --standard"]
FUNCTIONS = [Pipeline, partial(Pipeline, runtime="openvino"), make_reproducible]
FUNCTIONS += [onnx_philox.to_standard_nodes, rewriting.find_random_nodes]


@pytest.mark.parametrize("name", ["model.ort", "renamed.onnx"])
def test_a_file_in_onnx_runtime_s_own_format_is_named_by_all_that_read_models(
    in_ort_format: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(in_ort_format.parent)
    in_ort_format.rename(name)
    for command in COMMANDS:
        said = cli.refusal(*command.replace("MODEL", name).split())
        assert OWN_FORMAT in " ".join(said.split())
    for call, given in ((Pipeline, Path(name).read_bytes()), *((f, name) for f in FUNCTIONS)):
        assert_refused(partial(call, given), OWN_FORMAT)


def test_a_file_of_tensorflow_lite_is_named_with_the_way_by_onnx(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(b"\x1c\0\0\0TFL3" + bytes(64))
    said = "got a file of TensorFlow Lite (.tflite). Make ONNX of it: python -m tf2onnx.convert"
    for command in ("inspect", "rewrite -o new.onnx", "run"):
        assert said in " ".join(cli.refusal(*command.split(), path).split())
    for given in (path, path.read_bytes()):
        assert_refused(partial(make_reproducible, given), said)


def test_onnx_runtime_runs_a_file_in_its_own_format(in_ort_format: Path, path: Path) -> None:
    for given in ([], ["--runtime", "onnxruntime"]):
        one, other = (cli.document("run", m, "--fill", *given) for m in (in_ort_format, path))
        assert one["sha256"] == other["sha256"]


# ------------------------------------------------------------------ onnxslim

MODELS = Path(__file__).with_name("models")


def drawn(model: Path, runtime: str) -> set[str]:
    """The hashes of what the model's nodes draw there; a simplifier may rename an output."""
    precision = ["--precision", "f32"] if runtime == "openvino" else []
    given = ("--fill", "--seed", 3, "--drawn", "--runtime", runtime, *precision)
    outputs = cli.document("run", model, *given)["runs"][0]["outputs"]
    found = {output["sha256"] for output in outputs if output["is_drawn"]}
    assert found
    return found


@pytest.mark.engines
@pytest.mark.parametrize("how", ["schemas", "no_shape_infer"])
@pytest.mark.parametrize(
    "name", ["mc_dropout", "vae_decoder", "bert", "diffusion_loop", "plate", "tensorflow_draws"]
)
@pytest.mark.filterwarnings("ignore:the input 'seed' is gone")
def test_onnxslim_after_a_rewrite_leaves_every_draw(name: str, how: str, tmp_path: Path) -> None:
    import onnxslim

    rewriting.rewrite_file(MODELS / f"{name}.onnx", tmp_path / "new.onnx")
    options = {how: True} if how == "no_shape_infer" else {}
    if how == "schemas":
        onnx_philox.register_schemas()
    slim = onnxslim.slim(str(tmp_path / "new.onnx"), **options)
    onnx.save(slim, tmp_path / "slim.onnx")
    assert len(slim.graph.node) < len(onnx.load(tmp_path / "new.onnx").graph.node)
    for runtime in ("onnxruntime", "openvino"):
        assert drawn(tmp_path / "slim.onnx", runtime) == drawn(tmp_path / "new.onnx", runtime)
