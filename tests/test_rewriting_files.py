"""rewrite_file: from file to file, the weights in a stream."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from cases import assert_all_same, assert_same_bits
from onnx import TensorProto, helper, numpy_helper
from runtimes import OpenVino

from onnx_philox import PhiloxState, make_reproducible, reference
from onnx_philox._files import model_file, without_weights
from onnx_philox._files.tensors import tensors
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import rewrite_file

STATE = PhiloxState.for_run(42).to_array()
ROWS = 200
COUNT = 20_000
LARGE = np.arange(ROWS * 100, dtype=np.float32).reshape(ROWS, 100)
assert LARGE.nbytes > without_weights.LARGE


def model_with_weights(*, has_function: bool = True) -> onnx.ModelProto:
    """Large tensors as initializers, in a Constant, in a branch, in a function; and small ones."""

    def constant(name: str) -> onnx.NodeProto:
        return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(LARGE + 2))

    def branch(name: str, node: onnx.NodeProto) -> onnx.GraphProto:
        info = helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, 100])
        local = numpy_helper.from_array(LARGE + 3, f"{name}_local")
        add = helper.make_node("Add", [f"{name}_0", f"{name}_local"], [name])
        return helper.make_graph([node, add], name, [], [info], initializer=[local])

    # Not raw_data, and of another type than floats.
    typed = helper.make_tensor("typed", TensorProto.INT64, [COUNT], list(range(COUNT)))
    graph = helper.make_graph(
        [
            helper.make_node("RandomNormalLike", ["w0"], ["noise"]),
            constant("w1"),
            helper.make_node("Add", ["w0", "noise"], ["a"]),
            helper.make_node("Add", ["a", "w1"], ["b"]),
            helper.make_node(
                "If",
                ["c"],
                ["d"],
                then_branch=branch("t", helper.make_node("Add", ["b", "b"], ["t_0"])),
                else_branch=branch("e", helper.make_node("RandomNormalLike", ["b"], ["e_0"])),
            ),
            helper.make_node("heavy", ["d"], ["y"], domain="local")
            if has_function
            # OpenVINO reads no functions of a model's own.
            else helper.make_node("Sub", ["d", "w1"], ["y"]),
            helper.make_node("Add", ["typed", "small"], ["z"]),
        ],
        "g",
        [helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [ROWS, 100]),
            helper.make_tensor_value_info("z", TensorProto.INT64, [COUNT]),
        ],
        initializer=[
            numpy_helper.from_array(LARGE, "w0"),
            numpy_helper.from_array(np.array([7]), "small"),
            typed,
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    function = helper.make_function(
        "local",
        "heavy",
        ["x"],
        ["y"],
        [constant("k"), helper.make_node("Sub", ["x", "k"], ["y"])],
        opsets[:1],
    )
    functions = [function] if has_function else []
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=8, functions=functions, doc_string="Weights."
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "model.onnx"
    path.parent.mkdir()
    onnx.save(model_with_weights(), path)
    return path


def external(path: Path, **given: object) -> Path:
    onnx.save(
        model_with_weights(has_function=False),
        path,
        save_as_external_data=True,
        size_threshold=0,
        convert_attribute=True,
        **given,
    )
    return path


def run(path: Path) -> list[np.ndarray]:
    return InferenceSession(path).run(None, {"random_state": STATE, "c": np.array(False)})


# ------------------------------------------------------------------ weights inside


def test_the_file_is_the_model_that_make_reproducible_makes(source: Path) -> None:
    target = source.with_name("out.onnx")
    report = rewrite_file(source, target)
    assert [n.stream for n in report.replaced] == [0, 1]
    assert onnx.load(target) == make_reproducible(onnx.load(source))
    # As onnx.save writes it, to the byte.
    assert target.read_bytes() == onnx.load(target).SerializeToString()


def test_both_runtimes_read_the_file(tmp_path: Path, openvino: OpenVino) -> None:
    source, target = tmp_path / "model.onnx", tmp_path / "out.onnx"
    onnx.save(model_with_weights(has_function=False), source)
    rewrite_file(source, target)
    y, z, _ = run(target)
    noise, _ = reference.random_normal([ROWS, 100], 0, 1, "f32", op_seed=1, state=STATE)
    np.testing.assert_allclose(y, noise + (LARGE + 3) - (LARGE + 2), atol=1e-2)
    assert_same_bits(z, np.arange(COUNT) + 7)
    feeds = {"random_state": STATE, "c": np.array(False)}
    np.testing.assert_allclose(openvino(target, feeds)[0], y, atol=1e-2)


def test_large_tensors_are_never_read(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_file.ModelFile(source, "test") as file:
        stretches = [t for t in tensors(file.proto) if without_weights.stretch_of(t) is not None]
        assert len(stretches) == 6
        assert file.proto.ByteSize() < without_weights.LARGE
        for tensor in stretches:
            assert not tensor.raw_data
    monkeypatch.setattr(without_weights, "LARGE", 2**40)
    with model_file.ModelFile(source, "test") as file:
        assert file.proto == onnx.load(source)


@pytest.mark.parametrize("threshold", [0, 1, 100, 1000, 2**14])
def test_a_file_comes_back_from_its_pieces_whatever_is_large(
    source: Path, threshold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(without_weights, "LARGE", threshold)
    data = source.read_bytes()
    pieces = without_weights.expand(without_weights.thin(data))
    whole = b"".join(
        data[p.start : p.end] if isinstance(p, without_weights.Stretch) else p for p in pieces
    )
    assert whole == data
    assert len(whole) == without_weights.size_of(pieces)


def test_the_source_may_be_the_target(source: Path) -> None:
    expected = make_reproducible(onnx.load(source))
    rewrite_file(source, source)
    assert onnx.load(source) == expected
    assert [p.name for p in source.parent.iterdir()] == ["model.onnx"]


def test_a_model_without_random_nodes_is_copied(tmp_path: Path) -> None:
    source, target = tmp_path / "a.onnx", tmp_path / "b.onnx"
    model = model_with_weights()
    del model.graph.node[4:5], model.graph.node[0]
    source.write_bytes(model.SerializeToString())
    report = rewrite_file(source, target)
    assert not report.is_changed
    assert target.read_bytes() == source.read_bytes()


def test_progress_counts_all_bytes(source: Path) -> None:
    target = source.with_name("out.onnx")
    calls: list[tuple[int, int, str]] = []
    rewrite_file(source, target, progress=lambda *call: calls.append(call))
    assert {(total, what) for _, total, what in calls} == {(target.stat().st_size, "out.onnx")}
    done = [done for done, _, _ in calls]
    assert done == sorted(done)
    assert done[-1] == target.stat().st_size


# ------------------------------------------------------------------ weights beside


@pytest.mark.parametrize("location", ["weights.bin", "data/weights.bin"])
def test_external_data_is_copied_beside_the_target(
    tmp_path: Path, location: str, openvino: OpenVino
) -> None:
    folder = tmp_path / "in"
    (folder / location).parent.mkdir(parents=True)
    source = external(folder / "model.onnx", location=location)
    target = tmp_path / "out" / "new.onnx"
    target.parent.mkdir()
    rewrite_file(source, target)
    assert (target.parent / location).read_bytes() == (folder / location).read_bytes()
    rewrite_file(source, folder / "here.onnx")
    expected = run(folder / "here.onnx")
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()
    outputs = run(target)
    assert_all_same(outputs, expected)
    feeds = {"random_state": STATE, "c": np.array(False)}
    np.testing.assert_allclose(openvino(target, feeds)[0], outputs[0], atol=1e-2)


def test_external_data_of_one_folder_is_used_by_both(tmp_path: Path) -> None:
    source = external(tmp_path / "model.onnx", location="weights.bin")
    before = (tmp_path / "weights.bin").stat()
    rewrite_file(source, tmp_path / "new.onnx")
    after = (tmp_path / "weights.bin").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "new.onnx", "weights.bin"]
    run(tmp_path / "new.onnx")


def test_external_data_in_many_files(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    source = external(folder / "model.onnx", all_tensors_to_one_file=False)
    target = tmp_path / "out" / "new.onnx"
    target.parent.mkdir()
    rewrite_file(source, target)
    names = {p.name for p in folder.iterdir()} - {"model.onnx"}
    assert len(names) > 3
    assert {p.name for p in target.parent.iterdir()} == names | {"new.onnx"}
    run(target)


def test_another_file_of_the_name_of_the_external_data_is_not_overwritten(tmp_path: Path) -> None:
    folder, other = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    other.mkdir()
    source = external(folder / "model.onnx", location="weights.bin")
    (other / "weights.bin").write_bytes(b"of another model")
    with pytest.raises(
        ValueError,
        match=r"weights.bin' must be absent, or the external data of that name itself: got another",
    ):
        rewrite_file(source, other / "new.onnx")
    assert [p.name for p in other.iterdir()] == ["weights.bin"]
    # The very same is fine: a second rewrite into a folder.
    (other / "weights.bin").write_bytes((folder / "weights.bin").read_bytes())
    rewrite_file(source, other / "new.onnx")
    run(other / "new.onnx")


@pytest.mark.parametrize("location", ["../weights.bin", "/weights.bin"])
def test_external_data_outside_of_the_folder_is_refused(tmp_path: Path, location: str) -> None:
    source = external(tmp_path / "model.onnx", location="weights.bin")
    model = onnx.load(source, load_external_data=False)
    model.graph.initializer[0].external_data[0].value = location
    onnx.save(model, source)
    (tmp_path / "out").mkdir()
    with pytest.raises(ValueError, match="must be a path inside of the model's folder"):
        rewrite_file(source, tmp_path / "out" / "new.onnx")


def test_external_data_that_is_not_there_is_refused(tmp_path: Path) -> None:
    source = external(tmp_path / "model.onnx", location="weights.bin")
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(
        ValueError,
        match=r"external data 'weights.bin' must be a file in the folder of .*: got no file",
    ):
        rewrite_file(source, tmp_path / "new.onnx")
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]


def test_a_ratio_that_is_external_data_is_read(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Dropout", ["x", "ratio", "mode"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [10])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [10])],
        initializer=[
            numpy_helper.from_array(np.float32(1), "ratio"),
            numpy_helper.from_array(np.array(True), "mode"),
        ],
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    source, target = tmp_path / "model.onnx", tmp_path / "new.onnx"
    onnx.save(model, source, save_as_external_data=True, size_threshold=0)
    rewrite_file(source, target)
    session = InferenceSession(target)
    y = session.run(None, {"random_state": STATE, "x": np.ones(10, np.float32)})[0]
    assert_same_bits(y, np.zeros(10, np.float32))


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    "data", [b"", b"no model at all", b"\x08\x07", b"\x3a\xff\xff\xff\xff\x07"]
)
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, data: bytes) -> None:
    source = tmp_path / "model.onnx"
    source.write_bytes(data)
    with pytest.raises(ValueError, match=r"model.onnx' must be a serialised ONNX model.*: got .*"):
        rewrite_file(source, tmp_path / "new.onnx")


def test_an_error_leaves_no_file(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = source.with_name("out.onnx")
    target.write_bytes(b"before")
    steps = itertools.count()

    def fail(*_: object) -> None:
        if next(steps) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rewrite_file(source, target, progress=fail)
    assert sorted(p.name for p in source.parent.iterdir()) == ["model.onnx", "out.onnx"]
    assert target.read_bytes() == b"before"
    monkeypatch.setattr(model_file, "_LARGEST_FILE", 1000)
    with pytest.raises(
        ValueError, match="must be at most 1,000 bytes, the most that protobuf reads"
    ):
        rewrite_file(source, target)
    assert target.read_bytes() == b"before"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_target_has_the_permissions_of_a_new_file(source: Path) -> None:
    target, plain = source.with_name("out.onnx"), source.with_name("plain")
    rewrite_file(source, target)
    plain.write_bytes(b"")
    assert target.stat().st_mode == plain.stat().st_mode


# ------------------------------------------------------------------ size

CHILD = """
import sys
import onnx_philox.rewriting

def anonymous():
    with open("/proc/self/status") as lines:
        fields = dict(line.split(":", 1) for line in lines)
    return int(fields["RssAnon"].split()[0]) * 1024

peak = before = anonymous()
def watch(*_):
    global peak
    peak = max(peak, anonymous())

onnx_philox.rewriting.rewrite_file(sys.argv[1], sys.argv[2], progress=watch)
watch()
print(peak - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux' /proc")
@pytest.mark.parametrize("is_external", [False, True])
def test_the_weights_are_never_held_in_memory(tmp_path: Path, is_external: bool) -> None:
    weights = [np.full((1024, 1024, 2), i, np.float32) for i in range(4)]
    model = model_with_weights()
    for i, array in enumerate(weights):
        model.graph.initializer.append(numpy_helper.from_array(array, f"large{i}"))
    source = tmp_path / "model.onnx"
    onnx.save(model, source, save_as_external_data=is_external, location="weights.bin")
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / "new.onnx"
    command = [sys.executable, "-c", CHILD, str(source), str(target)]
    used = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert sum(array.nbytes for array in weights) == 2**25
    assert used < 2**24
    loaded = {t.name: t for t in onnx.load(target).graph.initializer}
    for i, array in enumerate(weights):
        assert_same_bits(numpy_helper.to_array(loaded[f"large{i}"]), array)


@pytest.mark.slow
def test_a_model_over_2_gb_is_rewritten(tmp_path: Path) -> None:
    # Sparse files: no disk is needed for the zeros.
    size = 2**31 + 2**20
    model = model_with_weights()
    model.graph.initializer.append(
        TensorProto(
            name="huge",
            dims=[size],
            data_type=TensorProto.UINT8,
            data_location=TensorProto.EXTERNAL,
            external_data=[
                onnx.StringStringEntryProto(key=key, value=value)
                for key, value in (("location", "huge.bin"), ("length", str(size)))
            ],
        )
    )
    source = tmp_path / "model.onnx"
    onnx.save(model, source)
    with open(tmp_path / "huge.bin", "wb") as file:
        file.truncate(size)
    rewrite_file(source, tmp_path / "new.onnx")
    rewritten = onnx.load(tmp_path / "new.onnx", load_external_data=False)
    assert model.graph.initializer[-1] in rewritten.graph.initializer


def test_onnx_is_not_written_as_what_openvino_would_take_for_an_ir(tmp_path: Path) -> None:
    target = tmp_path / "model.xml"
    with pytest.raises(ValueError, match=r"the output must be a name that does not end in \.xml"):
        rewrite_file(Path(__file__).parent / "models" / "vae_decoder.onnx", target)
    assert not target.exists()
