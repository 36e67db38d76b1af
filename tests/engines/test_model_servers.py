"""Model servers: the configurations in `docs/serve-it.md` name what a rewritten model has; their
runtimes are run, not the servers."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest
from google.protobuf import text_format

import onnx_philox
from tests.common.cases import assert_same_bits
from tests.common.runtimes import infer
from tests.house.test_pages import BLOCK, ROOT, run_commands

PAGE = (ROOT / "docs" / "serve-it.md").read_text("utf-8")
SECTION = PAGE[PAGE.index("## Model servers") : PAGE.index("## What to log")]
TYPES = {"FP32": onnx.TensorProto.FLOAT, "UINT32": onnx.TensorProto.UINT32}
FEED = {name: np.zeros((2, 4), np.float32) for name in ("mean", "log_variance")}
STATES = onnx_philox.row_states([3, 5])

Port = tuple[str, int, tuple[int, ...]]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone in which the section's commands were run."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    (commands,) = blocks("sh")
    assert run_commands(commands) == ""


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(SECTION) if found == language]


def configured(kind: str, text: str) -> list[Port]:
    """The ports of a kind that a configuration of Triton names."""
    pattern = rf'^{kind} {{ name: "(.*?)" data_type: TYPE_(\w+) dims: \[([\d, ]*)\] }}$'
    return [
        (name, TYPES[dtype], tuple(map(int, dims.split(","))))
        for name, dtype, dims in re.findall(pattern, text, re.MULTILINE)
    ]


def ports(values: list[onnx.ValueInfoProto]) -> list[Port]:
    """What the model has, without the batch, which Triton adds."""
    found = []
    for value in values:
        first, *dims = value.type.tensor_type.shape.dim
        assert first.dim_param
        sizes = tuple(d.dim_value for d in dims)
        found.append((value.name, value.type.tensor_type.elem_type, sizes))
    return found


def with_sequences() -> onnx.ModelProto:
    """The model that the page's program puts into Triton's folder."""
    (program,) = blocks("python")
    file = Path("of_serve_it.py")
    file.write_text(program)
    runpy.run_path(str(file))
    return onnx.load("models/vae/1/model.onnx")


def test_triton_s_configuration_names_the_model_s_inputs_and_outputs():
    config, _ = blocks("pbtxt")
    graph = onnx.load("models/vae/1/model.onnx").graph
    assert configured("input", config) == ports(graph.input)
    assert configured("output", config) == ports(graph.output)
    lines = config.splitlines()
    others = [line for line in lines if not line.startswith(("input", "output"))]
    assert others == [
        'name: "vae"',
        'backend: "onnxruntime"',
        "max_batch_size: 64",
        "dynamic_batching { }",
        'model_operations { op_library_filename: "/opt/libonnx_philox_onnxruntime.so" }',
    ]


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_the_libraries_that_the_page_names_draw_the_model_s_numbers(runtime):
    library = run_commands(f"onnx-philox path {runtime}").strip()
    assert f"/opt/{Path(library).name}" in SECTION
    feed = FEED | {"random_state": STATES}
    if runtime == "onnxruntime":
        options = ort.SessionOptions()
        options.register_custom_ops_library(library)
        session = ort.InferenceSession("models/vae/1/model.onnx", options)
        state = session.run(["next_random_state"], feed)[0]
    else:
        (config,) = json.loads(blocks("json")[0])["model_config_list"]
        folder = Path(config["config"]["base_path"]).relative_to("/")
        assert config["config"]["name"] == folder.name
        core = ov.Core()
        core.add_extension(library)
        model = core.read_model(folder / "1" / "model.onnx")
        state = infer(core.compile_model(model, "CPU"), feed)["next_random_state"]
    assert_same_bits(state, onnx_philox.row_states([3, 5], 0, 1))


def test_triton_s_sequences_are_named_as_the_model_names_them():
    _, config = blocks("pbtxt")
    model = with_sequences()
    inputs = {name: (dtype, dims) for name, dtype, dims in ports(model.graph.input)}
    start, number = re.findall(r'name: "(\w+)" control {', config)
    assert inputs.pop(start) == (onnx.TensorProto.BOOL, (1,))
    assert inputs.pop(number) == (onnx.TensorProto.INT64, (1,))
    pattern = (
        r'state { input_name: "(\w+)" output_name: "(\w+)" data_type: TYPE_(\w+) dims: \[6\] }'
    )
    ((kept, following, dtype),) = re.findall(pattern, config)
    assert inputs.pop(kept) == (TYPES[dtype], (6,))
    assert (following, TYPES[dtype], (6,)) in ports(model.graph.output)
    assert [*inputs] == ["mean", "log_variance"]


def test_a_sequence_begins_at_its_number_and_goes_on():
    with_sequences()
    numbers = [-5, 2**40 + 3]
    session = onnx_philox.onnxruntime.InferenceSession("models/vae/1/model.onnx")
    plain = onnx_philox.onnxruntime.InferenceSession("vae.onnx")
    # Triton has no state yet.
    state = np.full((2, 6), 77, np.uint32)
    for run in range(2):
        feed = {
            "kept_state": state,
            "sequence_start": np.full((2, 1), run == 0),
            "sequence_id": np.array(numbers).reshape(2, 1),
        }
        images, state = session.run(["images", "next_random_state"], FEED | feed)
        begun = onnx_philox.row_states([number % 2**64 for number in numbers], 0, run)
        expected = plain.run(["images"], FEED | {"random_state": begun})[0]
        assert_same_bits(images, expected)


@pytest.mark.engines
def test_triton_s_own_schema_reads_its_configurations():
    from tritonclient.grpc import model_config_pb2

    config, sequences = blocks("pbtxt")
    read = text_format.Parse(config, model_config_pb2.ModelConfig())
    assert [i.name for i in read.input] == ["mean", "log_variance", "random_state"]
    assert read.HasField("dynamic_batching")
    without = [line for line in config.splitlines() if 'random_state" data_type' not in line]
    kept = [line for line in without if not line.startswith("dynamic_batching")]
    read = text_format.Parse("\n".join(kept) + "\n" + sequences, model_config_pb2.ModelConfig())
    assert [c.name for c in read.sequence_batching.control_input] == [
        "sequence_start",
        "sequence_id",
    ]
    (state,) = read.sequence_batching.state
    assert (state.data_type, list(state.dims)) == (model_config_pb2.TYPE_UINT32, [6])
