"""`onnx-philox deploy`: what it writes, in the runtimes of the servers, which are not run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest
from cases import assert_same_bits
from click.testing import CliRunner
from google.protobuf import text_format
from google.protobuf.struct_pb2 import Value
from onnx import parser
from runtimes import infer

import onnx_philox
from onnx_philox import reference
from onnx_philox._command import app

ROWS = """<ir_version: 8, opset_import: ["": 17]>
g (float[batch, 3] x, int64[batch] n) => (float[batch, 3] y, int64[batch] m) {
  noise = RandomNormalLike (x)
  y = Add (x, noise)
  m = Identity (n)
}"""
STATES = onnx_philox.row_states([3, 5])
FEED = {
    "x": np.zeros((2, 3), np.float32),
    "n": np.zeros(2, np.int64),
    "random_state": STATES,
}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def save(*, per_row: bool = True) -> str:
    model = onnx_philox.make_reproducible(parser.parse_model(ROWS), per_row=per_row)
    onnx.save(model, "noisy.onnx")
    return "noisy.onnx"


def deploy(*arguments: object) -> str:
    result = CliRunner().invoke(app.app, ["deploy", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def refusal(*arguments: object) -> str:
    result = CliRunner().invoke(app.app, ["deploy", *map(str, arguments)])
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    return result.stderr


def files() -> list[str]:
    return sorted(str(p.relative_to("models")) for p in Path("models").rglob("*") if p.is_file())


def triton_config() -> str:
    return Path("models/noisy/config.pbtxt").read_text()


def drawn() -> np.ndarray:
    return reference.random_normal([2, 3], 0, 1, "f32", op_seed=0, state=STATES)[0]


def test_triton_s_library_and_model_draw_the_numbers():
    said = deploy("triton", save(), "-o", "models")
    assert files() == ["noisy/1/model.onnx", "noisy/config.pbtxt"]
    assert said.endswith(f"  tritonserver --model-repository={Path('models').absolute()}\n")
    (library,) = re.findall('op_library_filename: "(.*)"', triton_config())
    options = ort.SessionOptions()
    options.register_custom_ops_library(library)
    session = ort.InferenceSession("models/noisy/1/model.onnx", options)
    assert_same_bits(session.run(["y"], FEED)[0], drawn())


def test_the_library_and_model_of_ovms_draw_the_numbers():
    said = deploy("ovms", save(), "-o", "models")
    assert files() == ["config.json", "noisy/1/model.onnx"]
    (library,) = re.findall(r"--cpu_extension (\S+)", said)
    (config,) = json.loads(Path("models/config.json").read_text())["model_config_list"]
    core = ov.Core()
    core.add_extension(library)
    model = core.read_model(Path(config["config"]["base_path"], "1", "model.onnx"))
    assert_same_bits(infer(core.compile_model(model, "CPU"), FEED)["y"], drawn())


def test_triton_merges_requests_where_each_row_has_a_state():
    deploy("triton", save(), "-o", "models")
    config = triton_config()
    assert "max_batch_size: 64" in config
    assert "dynamic_batching" in config
    assert 'input { name: "x" data_type: TYPE_FP32 dims: [3] }' in config
    assert 'input { name: "random_state" data_type: TYPE_UINT32 dims: [6] }' in config
    # No dimension is left: Triton takes no such shape, and drops this dimension again.
    assert "data_type: TYPE_INT64 dims: [1] reshape { shape: [ ] } }" in config


def test_triton_merges_no_requests_that_share_a_state():
    deploy("triton", save(per_row=False), "-o", "models")
    config = triton_config()
    assert "max_batch_size: 0" in config
    assert "dynamic_batching" not in config
    assert 'input { name: "x" data_type: TYPE_FP32 dims: [-1, 3] }' in config


@pytest.mark.parametrize("per_row", [True, False])
def test_triton_s_sequences_begin_at_their_number_and_go_on(per_row):
    path = save(per_row=per_row)
    deploy("triton", path, "-o", "models", "--sequences")
    config = triton_config()
    assert 'state { input_name: "random_state" output_name: "next_random_state"' in config
    assert "dynamic_batching" not in config
    assert 'input { name: "random_state"' not in config
    numbers = [-5, 2**40 + 3] if per_row else [2**40 + 3]
    seeds = [number % 2**64 for number in numbers]
    session = onnx_philox.onnxruntime.InferenceSession("models/noisy/1/model.onnx")
    rows = (len(numbers), 1) if per_row else (1,)
    # Triton has no state yet.
    state = np.full((2, 6) if per_row else 6, 77, np.uint32)
    for run in range(2):
        feed = FEED | {
            "random_state": state,
            "sequence_start": np.full(rows, run == 0),
            "sequence_id": np.array(numbers).reshape(rows),
        }
        y, state = session.run(["y", "next_random_state"], feed)
        begun = onnx_philox.row_states(seeds, 0, run)
        begun = begun if per_row else begun[0]
        assert_same_bits(y, reference.random_normal([2, 3], 0, 1, "f32", state=begun)[0])


ODD = 'a"\n}\\ # \u00e9\N{GAME DIE}'


def with_odd_names(per_row: bool) -> onnx.ModelProto:
    """The model, each name of its inputs and outputs prefixed by what a careless writer breaks."""
    model = onnx.load(save(per_row=per_row))
    infos = [*model.graph.input, *model.graph.output]
    renamed = {info.name: ODD + info.name for info in infos if "random_state" not in info.name}
    renamed |= {"random_state": ODD, "next_random_state": f"next_{ODD}"}
    for info in infos:
        info.name = renamed[info.name]
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = [renamed.get(name, name) for name in names]
    return model


@pytest.mark.parametrize("per_row", [True, False])
@pytest.mark.parametrize("options", [(), ("--sequences",)])
def test_no_name_adds_a_line_to_triton_s_configuration(per_row, options):
    deploy("triton", save(per_row=per_row), "-o", "models", "--library", "lib", *options)
    plain = triton_config()
    model = with_odd_names(per_row)
    onnx.save(model, f"{ODD}.onnx")
    deploy("triton", f"{ODD}.onnx", "-o", "models", "--library", ODD, *options)
    config = Path(f"models/{ODD}/config.pbtxt").read_text()
    assert config.count("\n") == plain.count("\n")
    texts = re.findall(r'"(?:[^"\\\n]|\\.)*"', config)
    # Without its strings, it is the other one.
    without = re.compile(r'"(?:[^"\\\n]|\\.)*"')
    assert without.sub("", config) == without.sub("", plain)
    said = [text_format.Parse(f"string_value: {t}", Value()).string_value for t in texts]
    named = [info.name for info in (*model.graph.input, *model.graph.output)]
    assert {*said} >= {*named} | {ODD}


def test_a_configuration_that_was_edited_is_not_overwritten_unless_that_is_asked_for():
    path = save()
    deploy("triton", path, "-o", "models")
    written = triton_config()
    deploy("triton", path, "-o", "models")
    edited = written.replace("64", "8")
    Path("models/noisy/config.pbtxt").write_text(edited)
    Path("models/noisy/1/model.onnx").write_bytes(b"old")
    said = refusal("triton", path, "-o", "models")
    config = Path("models", "noisy", "config.pbtxt")
    assert said == (
        f"onnx-philox deploy: {config} must be absent, or the same as before: got one that "
        "differs. Move it away, or overwrite it with --overwrite.\n"
    )
    assert triton_config() == edited
    assert Path("models/noisy/1/model.onnx").read_bytes() == b"old"
    deploy("triton", path, "-o", "models", "--overwrite")
    assert triton_config() == written


@pytest.mark.parametrize("server", ["triton", "ovms"])
def test_only_a_file_is_replaced(server):
    path = save()
    target = Path("models/noisy/1/model.onnx")
    if server == "triton":
        target = Path("models/noisy/config.pbtxt")
    target.mkdir(parents=True)
    said = refusal(server, path, "-o", "models", "--overwrite")
    must = f"onnx-philox deploy: {target} must be a file, or absent: got"
    assert said == f"{must} a folder. Move it away.\n"
    target.rmdir()
    target.symlink_to("nowhere")
    for options in ([], ["--overwrite"]):
        said = refusal(server, path, "-o", "models", *options)
        assert said == f"{must} a link to nothing. Move it away.\n"
    assert target.is_symlink()


def test_the_settings_of_a_model_in_the_configuration_of_ovms_are_kept():
    deploy("ovms", save(), "-o", "models")
    path = Path("models/config.json")
    edited = json.loads(path.read_text())
    edited["model_config_list"][0]["config"]["nireq"] = 3
    edited["monitoring"] = {}
    path.write_text(json.dumps(edited))
    deploy("ovms", "noisy.onnx", "-o", "models")
    assert json.loads(path.read_text()) == edited


@pytest.mark.parametrize(
    "content", ["[]", '{"model_config_list": [{"config": 1}]}', '{"a": ' + "[" * 100_000]
)
def test_what_is_no_configuration_of_ovms_is_refused(content):
    Path("models").mkdir()
    Path("models/config.json").write_text(content)
    assert (
        "a configuration of OpenVINO Model Server to add the model to: got something else"
        in refusal("ovms", save(), "-o", "models")
    )
    assert files() == ["config.json"]


def test_another_model_is_added_to_the_configuration_of_ovms():
    for name in ("a", "b", "a"):
        deploy("ovms", save(), "-o", "models", "--name", name, "--folder", f"/{name}")
    config = json.loads(Path("models/config.json").read_text())
    places = [model["config"] for model in config["model_config_list"]]
    assert places == [{"name": "b", "base_path": "/b/b"}, {"name": "a", "base_path": "/a/a"}]


def test_the_server_may_see_other_paths():
    said = deploy("triton", save(), "-o", "models", "--library", "/l ib.so", "--folder", "/m odels")
    assert 'op_library_filename: "/l ib.so"' in triton_config()
    assert said.endswith("--model-repository='/m odels'\n")


def test_weights_beside_the_model_are_copied_too():
    model = parser.parse_model(ROWS.replace("Add (x,", "Add (w,"))
    weights = np.arange(3, dtype=np.float32).reshape(1, 3)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    Path("in").mkdir()
    onnx.save(
        onnx_philox.make_reproducible(model),
        "in/m.onnx",
        save_as_external_data=True,
        size_threshold=0,
        location="m.bin",
    )
    deploy("triton", "in/m.onnx", "-o", "models")
    assert files() == ["m/1/m.bin", "m/1/model.onnx", "m/config.pbtxt"]
    copied = onnx.load("models/m/1/model.onnx")
    named = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in copied.graph.initializer}
    assert_same_bits(named["w"], weights)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["kserve", "noisy.onnx"], "SERVER must be triton or ovms: got 'kserve'."),
        (
            ["triton", "nowhere.onnx"],
            "deploy: no such file: nowhere.onnx. Check the path of the model.",
        ),
        (["triton", "model.xml"], "the model must be an ONNX file (.onnx): got model.xml"),
        (["triton", "raw.onnx"], "got one with 1 random node of its own"),
        (
            ["triton", "noisy.onnx", "--name", "../a"],
            "the name must be that of a file: got '../a'.",
        ),
        (["triton", "noisy.onnx", "--name", "a\udcff"], "the name must be UTF-8: got 'a\\udcff'."),
        (["triton", "taken.onnx", "--sequences"], "for a sequence: got 'sequence_id'"),
        (["ovms", "noisy.onnx", "--sequences"], "--sequences is for triton only: OpenVINO Model"),
    ],
)
def test_what_cannot_be_served_is_refused_and_nothing_written(arguments, said):
    save()
    Path("model.xml").touch()
    onnx.save(parser.parse_model(ROWS), "raw.onnx")
    taken = parser.parse_model(ROWS.replace("noise", "sequence_id"))
    onnx.save(onnx_philox.make_reproducible(taken), "taken.onnx")
    assert said in refusal(*arguments, "-o", "models")
    assert not Path("models").exists()


def test_the_folder_of_models_is_made_but_not_those_above_it():
    assert refusal("triton", save(), "-o", "a/b") == (
        "onnx-philox deploy: the output must be in a folder: got a, which does not exist. Make it, "
        "or choose another.\n"
    )
    assert not Path("a").exists()


def test_an_output_of_any_rank_is_refused_by_triton():
    path = save()
    model = onnx.load(path)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, path)
    assert "the output 'y' must be a tensor of known rank and one of " in refusal(
        "triton", path, "-o", "models"
    )


@pytest.mark.engines
def test_triton_s_own_schema_reads_its_configuration():
    from tritonclient.grpc import model_config_pb2

    for per_row in (True, False):
        path = save(per_row=per_row)
        deploy("triton", path, "-o", "models", "--library", '/a"b.so', "--overwrite")
        config = text_format.Parse(triton_config(), model_config_pb2.ModelConfig())
        assert (config.name, config.backend) == ("noisy", "onnxruntime")
        assert list(config.model_operations.op_library_filename) == ['/a"b.so']
        assert [i.name for i in config.input] == ["x", "n", "random_state"]
        assert config.input[2].data_type == model_config_pb2.TYPE_UINT32
        assert config.HasField("dynamic_batching") == per_row
        deploy("triton", path, "-o", "models", "--sequences", "--overwrite")
        config = text_format.Parse(triton_config(), model_config_pb2.ModelConfig())
        start, number = config.sequence_batching.control_input
        assert (start.name, number.name) == ("sequence_start", "sequence_id")
        assert list(start.control[0].bool_false_true) == [False, True]
        assert number.control[0].data_type == model_config_pb2.TYPE_INT64
        (state,) = config.sequence_batching.state
        assert (state.input_name, state.output_name) == ("random_state", "next_random_state")
        assert (state.data_type, list(state.dims)) == (model_config_pb2.TYPE_UINT32, [6])
        assert config.sequence_batching.HasField("oldest")
        assert [i.name for i in config.input] == ["x", "n"]
        onnx.save(with_odd_names(per_row), path)
        deploy("triton", path, "-o", "models", "--sequences", "--overwrite")
        config = text_format.Parse(triton_config(), model_config_pb2.ModelConfig())
        (state,) = config.sequence_batching.state
        assert (state.input_name, state.output_name) == (ODD, f"next_{ODD}")
        assert [i.name for i in config.input] == [f"{ODD}x", f"{ODD}n"]
