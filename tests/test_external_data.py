"""Where external data says that it lies in its file: beyond the end, or nowhere, is refused."""

from __future__ import annotations

from pathlib import Path

import cli
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from cases import assert_same_bits
from file_cases import WEIGHTS, model, refusal, succeed, tree, write
from onnx import numpy_helper

from onnx_philox import PhiloxState, Pipeline, make_reproducible, reference
from onnx_philox.rewriting import find_random_nodes, rewrite_file

TYPES = ("onnx", "xml")
SIZE = WEIGHTS.nbytes  # of the file, if nothing is padded


def save(folder: Path, entries: list[tuple[str, str]], padding: int = 0) -> Path:
    """A model whose weights are in `weights.bin` after a number of bytes, with these entries."""
    path = write(folder / "m.onnx", "weights.bin")
    (folder / "weights.bin").write_bytes(b"\xff" * padding + WEIGHTS.tobytes())
    made = model("weights.bin")
    for key, value in entries:
        made.graph.initializer[0].external_data.add(key=key, value=value)
    path.write_bytes(made.SerializeToString())
    return path


def session(path: Path) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def beyond(begin: int, end: int) -> str:
    return (
        f"the tensor 'w' must be within the {SIZE} bytes that the file has: got bytes {begin}"
        f" to {end} of 'weights.bin'. Save the model anew with onnx.save(model, path, "
        "save_as_external_data=True)."
    )


def no_number(key: str, given: str) -> str:
    return (
        f"the {key} of the tensor 'w' in its external data must be a number of bytes, 0 or more: "
        f"got {given}. Save the model anew with onnx.save("
    )


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([("offset", "4")], beyond(4, SIZE + 4)),
        ([("offset", "4"), ("length", str(SIZE))], beyond(4, SIZE + 4)),
        ([("offset", "99999999")], beyond(99999999, 99999999 + SIZE)),
        ([("offset", "99999999"), ("length", str(SIZE))], beyond(99999999, 99999999 + SIZE)),
        ([("length", str(SIZE + 1))], beyond(0, SIZE + 1)),
        ([("offset", "abc")], no_number("offset", "'abc'")),
        ([("offset", "-5")], no_number("offset", "'-5'")),
        ([("offset", "-5"), ("length", str(SIZE))], no_number("offset", "'-5'")),
        ([("offset", "")], no_number("offset", "''")),
        ([("length", "")], no_number("length", "''")),
        ([("offset", "9" * 5000)], no_number("offset", f"'{'9' * 60}'...")),
        ([("length", "-1")], no_number("length", "'-1'")),
        ([("length", "20000.0")], no_number("length", "'20000.0'")),
    ],
)
def test_data_beyond_the_end_of_its_file_or_at_no_number_is_refused(tmp_path, entries, said):
    path = save(tmp_path, entries)
    with pytest.raises(Exception, match=r"(?i)external|offset|length|invalid|parse|format"):
        session(path)
    (tmp_path / "new").mkdir()
    before = tree(tmp_path)
    for call in (
        lambda: rewrite_file(path, tmp_path / "new" / "out.onnx"),
        lambda: make_reproducible(path),
        lambda: find_random_nodes(path),
    ):
        with pytest.raises(ValueError, match=r"onnx_philox.* the ") as caught:
            call()
        assert said in str(caught.value)
    assert tree(tmp_path) == before
    for command in (("inspect",), *(("rewrite", "-o", tmp_path / f"new/out.{x}") for x in TYPES)):
        assert said in refusal(tmp_path, *command, path)
    # OpenVINO's own reader takes the digits at the beginning, and no text as 0.
    is_loose = entries[-1][1] in ("", "20000.0")
    for runtime in ("onnxruntime", "reference", *(() if is_loose else ("openvino",))):
        result = cli.invoke("run", path, "--runtime", runtime, "-o", tmp_path / "new" / "x")
        assert isinstance(result.exception, SystemExit), result.exception
        assert (result.exit_code in (1, 2), result.stdout) == (True, ""), result.output
        assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("entries", "padding"),
    [
        ([], 0),
        ([("offset", "0")], 0),
        ([("length", str(SIZE))], 0),
        ([("offset", "4096"), ("length", str(SIZE))], 4096),
        ([("offset", "4096")], 4096),
    ],
)
def test_data_that_ends_with_its_file_is_taken(tmp_path, entries, padding):
    path = save(tmp_path, entries, padding)
    session(path)
    target = tmp_path / "new" / "out.onnx"
    target.parent.mkdir()
    succeed("rewrite", path, "-o", target)
    for proto in (make_reproducible(path), onnx.load(target)):
        weights = numpy_helper.to_array(proto.graph.initializer[0])
        np.testing.assert_array_equal(weights, WEIGHTS)


def test_without_a_length_data_has_that_of_its_type_and_shape(tmp_path):
    path = save(tmp_path, [("offset", "8")], padding=8)
    with (tmp_path / "weights.bin").open("ab") as file:
        file.write(b"more")
    made = make_reproducible(path)
    np.testing.assert_array_equal(numpy_helper.to_array(made.graph.initializer[0]), WEIGHTS)


@pytest.mark.parametrize("data_type", [onnx.TensorProto.INT4, onnx.TensorProto.UINT4])
def test_numbers_of_four_bits_take_half_a_byte(tmp_path, data_type):
    path = save(tmp_path, [])
    made = onnx.load(path, load_external_data=False)
    made.ir_version = 10
    made.opset_import[0].version = 21
    packed = made.graph.initializer.add(name="packed", data_type=data_type, dims=[5])
    packed.data_location = onnx.TensorProto.EXTERNAL
    packed.external_data.add(key="location", value="packed.bin")
    path.write_bytes(made.SerializeToString())
    (tmp_path / "packed.bin").write_bytes(b"\x12\x34\x05")
    assert len(find_random_nodes(path)) == 1
    (tmp_path / "packed.bin").write_bytes(b"\x12\x34")
    with pytest.raises(ValueError, match=r"'packed' must be .*: got bytes 0 to 3 of 'packed.bin'"):
        find_random_nodes(path)


def _with_matrices(path: Path, count: int, size: int) -> Path:
    """A model whose weights, `count` times the same matrix of a sparse file, are external data."""
    with open(path.with_suffix(".bin"), "wb") as file:
        file.truncate(size * size * 4)
        file.write(np.ones(size, np.float32).tobytes())
    nodes = [
        onnx.helper.make_node("RandomNormalLike", ["x"], ["noise"]),
        onnx.helper.make_node("Add", ["x", "noise"], ["h0"]),
    ]
    matrices, ends = [], []
    for i in range(count):
        matrix = onnx.TensorProto(name=f"w{i}", data_type=1, dims=[size, size])
        matrix.data_location = onnx.TensorProto.EXTERNAL
        matrix.external_data.add(key="location", value=path.with_suffix(".bin").name)
        matrices.append(matrix)
        nodes.append(onnx.helper.make_node("MatMul", [f"h{i}", f"w{i}"], [f"h{i + 1}"]))
    for name in ("x", "h0", f"h{count}"):
        ends += [onnx.helper.make_tensor_value_info(name, 1, ["N", size])]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], matrices)
    opsets = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def _linked(path: Path) -> Path:
    """The model as a cache of downloads has it: links that lead out of its folder."""
    folder = path.parent / "snapshot"
    folder.mkdir()
    for file in (path, path.with_suffix(".bin")):
        (folder / file.name).symlink_to(file)
    return folder / path.name


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize("is_linked", [False, True])
def test_a_pipeline_reads_external_data_where_it_is(
    tmp_path: Path, backend: str, *, is_linked: bool
) -> None:
    path = _with_matrices(tmp_path / "model.onnx", 2, 128)
    feed = {"x": np.ones((3, 128), np.float32)}
    expected = Pipeline(make_reproducible(path), backend=backend)(feed, seed=42)
    given = _linked(path) if is_linked else path
    for options in ({}, {"sess_options": ort.SessionOptions()}):
        found = Pipeline(given, backend=backend, **options)(feed, seed=42)
        for name, values in expected.items():
            assert_same_bits(found[name], values)


@pytest.mark.parametrize("has_room", [True, False])
def test_openvino_reads_external_data_where_it_is_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_room: bool
) -> None:
    path = _with_matrices(tmp_path / "model.onnx", 2, 128)
    before = sorted(tmp_path.iterdir())

    def no_room(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    if not has_room:
        monkeypatch.setattr("tempfile.mkstemp", no_room)
    drawn = Pipeline(path, runtime="openvino")({"x": np.zeros((1, 128), np.float32)}, seed=42)
    assert_same_bits(drawn["h0"].reshape(-1), normals(128))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_pipeline_serves_a_model_above_2_gb(tmp_path: Path, runtime: str) -> None:
    path = _with_matrices(tmp_path / "model.onnx", 34, 4096)
    drawn = Pipeline(path, runtime=runtime)({"x": np.zeros((1, 4096), np.float32)}, seed=42)
    assert_same_bits(drawn["h0"].reshape(-1), normals(4096))


def normals(count: int) -> np.ndarray:
    """What the first node of a model draws in run 0 of the seed 42."""
    state = PhiloxState.for_run(42).to_array()
    return reference.random_normal([count], 0.0, 1.0, "f32", state=state)[0]
