"""Where external data says that it lies in its file: beyond the end, or nowhere, is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import cli
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from cases import assert_same_bits, table
from file_cases import WEIGHTS, assert_refused_everywhere, model, succeed, tree, write
from foreign import parse
from onnx import numpy_helper

from onnx_philox import PhiloxState, Pipeline, make_reproducible, reference
from onnx_philox.rewriting import find_random_nodes


def save(folder: Path, entries: Iterable[Sequence[str]], padding: int = 0) -> Path:
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


REFUSED = table("""
offset=4 -> BEYOND 4 to 20004 SAVE
offset=4 length=20000 -> BEYOND 4 to 20004 SAVE
offset=99999999 -> BEYOND 99999999 to 100019999 SAVE
offset=99999999 length=20000 -> BEYOND 99999999 to 100019999 SAVE
length=20001 -> BEYOND 0 to 20001 SAVE
offset=abc -> offset NO_NUMBER 'abc'
offset=-5 -> offset NO_NUMBER '-5'
offset=-5 length=20000 -> offset NO_NUMBER '-5'
offset= -> offset NO_NUMBER ''
length= -> length NO_NUMBER ''
offset=NINES -> offset NO_NUMBER '99999999999999999999
length=-1 -> length NO_NUMBER '-1'
length=20000.0 -> length NO_NUMBER '20000.0'
""")
WORDS = {
    "BEYOND": "the tensor 'w' must be within the 20000 bytes that the file has: got bytes",
    "SAVE": "of 'weights.bin'. Save the model anew with onnx.save(model, path, "
    "save_as_external_data=True).",
    "NO_NUMBER": "of the tensor 'w' in its external data must be a number of bytes, 0 or more: got",
}


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_data_beyond_the_end_of_its_file_or_at_no_number_is_refused(tmp_path, given, said):
    entries = [entry.split("=") for entry in given.replace("NINES", "9" * 5000).split()]
    for name, words in WORDS.items():
        said = said.replace(name, words)
    path = save(tmp_path, entries)
    with pytest.raises(Exception, match=r"(?i)external|offset|length|invalid|parse|format"):
        session(path)
    assert_refused_everywhere(path, said, ())
    before = tree(tmp_path)
    # OpenVINO's own reader takes the digits at the beginning, and no text as 0.
    is_loose = entries[-1][1] in ("", "20000.0")
    for runtime in ("onnxruntime", "reference", *(() if is_loose else ("openvino",))):
        result = cli.invoke("run", path, "--runtime", runtime, "-o", tmp_path / "x")
        assert isinstance(result.exception, SystemExit), result.exception
        assert (result.exit_code in (1, 2), result.stdout) == (True, ""), result.output
        assert tree(tmp_path) == before


@pytest.mark.parametrize("given", ["", "offset=0", "length=20000", "offset=4096 length=20000"])
@pytest.mark.parametrize("more", [b"", b"more"])
def test_data_within_its_file_is_taken(tmp_path, given, more):
    """Without a length it has that of its type and shape."""
    entries = dict(entry.split("=") for entry in given.split())
    path = save(tmp_path, entries.items(), int(entries.get("offset", 0)))
    with (tmp_path / "weights.bin").open("ab") as file:
        file.write(more)
    session(path)
    target = tmp_path / "new" / "out.onnx"
    target.parent.mkdir()
    succeed("rewrite", path, "-o", target)
    # ONNX's own reader takes all of the file.
    for proto in (make_reproducible(path), *(() if more else (onnx.load(target),))):
        weights = numpy_helper.to_array(proto.graph.initializer[0])
        np.testing.assert_array_equal(weights, WEIGHTS)


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
    names = [f"w{i}" for i in range(count)]
    layers = " ".join(f"h{i + 1} = MatMul (h{i}, {name})" for i, name in enumerate(names))
    made = parse(f"""g (float[N, {size}] x) => (float[N, {size}] h0, float[N, {size}] h{count}) {{
        noise = RandomNormalLike (x) h0 = Add (x, noise) {layers} }}""")
    for name in names:
        matrix = made.graph.initializer.add(name=name, data_type=1, dims=[size, size])
        matrix.data_location = onnx.TensorProto.EXTERNAL
        matrix.external_data.add(key="location", value=path.with_suffix(".bin").name)
    onnx.save(made, path)
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
    own, folder = ort.SessionOptions(), "session.model_external_initializers_file_folder_path"
    own.add_session_config_entry(folder, "a user's")
    for options in ({}, {"sess_options": own}):
        found = Pipeline(given, backend=backend, **options)(feed, seed=42)
        for name, values in expected.items():
            assert_same_bits(found[name], values)
    assert own.get_session_config_entry(folder) == "a user's"


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
