"""Tools that change a rewritten model: quantisation (NNCF too) and float16 as in the docs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import onnx
import onnx.compose
import onnxruntime as ort
import openvino as ov
import pytest
from google.protobuf import text_format
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST, convert_float_to_float16

import onnx_philox
from onnx_philox import PhiloxState, Pipeline, make_reproducible, rewriting
from onnx_philox.onnxruntime import InferenceSession
from tests.common import cli
from tests.common.cases import assert_all_same, assert_refused, assert_same_bits
from tests.common.file_cases import RUNS, assert_refused_everywhere
from tests.common.foreign import operators, parse
from tests.common.openvino_models import CORE
from tests.common.runtimes import infer

X = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
STATE = PhiloxState.for_run(42)
OURS = [op.__name__ for op in onnx_philox.onnx_reference.OPS]
DRAWS = ["mask", "noise", "next_random_state"]
THREE_RUNS = [{"x": X, "random_state": PhiloxState.for_run(1, run).to_array()} for run in range(3)]


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
    def __init__(self) -> None:
        self._runs = iter(THREE_RUNS)

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
    prepared = tmp_path / "prepared.onnx"
    quantised = tmp_path / "quantised.onnx"
    onnx_philox.register_schemas()
    with mock.patch("onnxruntime.InferenceSession", InferenceSession):
        quant_pre_process(path, prepared, skip_symbolic_shape=True)
        quantize_static(prepared, quantised, Calibration())
    assert "QuantizeLinear" in operators(onnx.load(quantised))
    mask, noise, *after = draws_of(path)
    quantised_mask, quantised_noise, *quantised_after = draws_of(quantised)
    assert_all_same([quantised_mask, *quantised_after], [mask, *after])
    # Where the noise is an output, it leaves the model quantised: in one of 256 values.
    assert np.abs(quantised_noise - noise).max() <= np.ptp(noise) / 255


@pytest.mark.engines
@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_nncf_quantises_a_rewritten_model_and_it_draws_as_before(path: Path, runtime: str) -> None:
    import nncf

    model = CORE.read_model(path) if runtime == "openvino" else onnx.load(path)
    onnx_philox.register_schemas()
    with mock.patch("onnxruntime.InferenceSession", InferenceSession):
        quantised = nncf.quantize(model, nncf.Dataset(THREE_RUNS), subset_size=3)
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
    half = noise.astype(np.float16)
    half = half.astype(np.float32) if keep_io_types else half
    assert_all_same(draws_of(model), [mask, half, next_state])


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
    # With a new random node it has two states.
    renamed.graph.node.append(onnx.helper.make_node("RandomUniformLike", ["first/x"], ["u"]))
    words = "got one with first/random_state and random_state"
    assert_refused(lambda: make_reproducible(renamed), words)
    onnx.save(renamed, path)
    assert "as it is: onnx_philox.make_reproducible: the model must" in cli.text("inspect", path)


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


MORE = ("compare MODEL --fill", "run MODEL --drawn", "run MODEL --record r.json")
MORE += ("rewrite MODEL -o new.onnx --standard", *RUNS[1:])


@pytest.mark.parametrize("name", ["model.ort", "renamed.onnx"])
def test_a_file_in_onnx_runtime_s_own_format_is_named_by_all_others_that_read_models(
    in_ort_format: Path, name: str, path: Path
) -> None:
    for given in ([], ["--runtime", "onnxruntime"]):
        one, other = (cli.document("run", m, "--fill", *given) for m in (in_ort_format, path))
        assert one["sha256"] == other["sha256"]
    renamed = in_ort_format.rename(path.with_name(name))
    assert_refused_everywhere(renamed, OWN_FORMAT, MORE)
    in_openvino = partial(Pipeline, runtime="openvino")
    for call in (Pipeline, in_openvino, onnx_philox.to_standard_nodes):
        assert_refused(partial(call, renamed), OWN_FORMAT)
    assert_refused(partial(Pipeline, renamed.read_bytes()), OWN_FORMAT)


def test_a_file_of_tensorflow_lite_is_named_with_the_way_by_onnx(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(b"\x1c\0\0\0TFL3" + bytes(64))
    said = "got a file of TensorFlow Lite (.tflite). Make ONNX of it: python -m tf2onnx.convert"
    assert_refused_everywhere(path, said)
    assert_refused(partial(make_reproducible, path.read_bytes()), said)


MODELS = Path(__file__).parents[1] / "models"


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
        expected = drawn(tmp_path / "new.onnx", runtime)
        assert drawn(tmp_path / "slim.onnx", runtime) == expected
