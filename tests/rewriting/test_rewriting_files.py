"""rewrite_file: from file to file, the weights in a stream."""

from __future__ import annotations

import itertools
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnx_philox import PhiloxState, make_reproducible, reference
from onnx_philox._files import model_file, without_weights
from onnx_philox._files.tensors import tensors
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import rewrite_file
from tests.common import child
from tests.common.cases import assert_all_same, assert_refused, assert_same_bits
from tests.common.foreign import parse
from tests.common.runtimes import OpenVino

STATE = PhiloxState.for_run(42).to_array()
ROWS = 200
COUNT = 20_000
LARGE = np.arange(ROWS * 100, dtype=np.float32).reshape(ROWS, 100)
assert LARGE.nbytes > without_weights.LARGE

DECLARED = f"float[{ROWS}, 100]"
BODY = f"""g (bool c) => ({DECLARED} y, int64[{COUNT}] z) {{
    noise = RandomNormalLike (w0) w1 = Constant () a = Add (w0, noise) b = Add (a, w1)
    d = If (c) <then_branch = t () => ({DECLARED} t) {{ t_0 = Add (b, b) t = Add (t_0, t_local) }},
        else_branch = e () => ({DECLARED} e) {{
            e_0 = RandomNormalLike (b) e = Add (e_0, e_local) }}>
    y = FUNCTION  z = Add (typed, small) }}"""
HEAVY = """<domain: "local", opset_import: ["": 17]>
    heavy (x) => (y) { k = Constant () y = Sub (x, k) }"""


def model_with_weights(*, has_function: bool = True) -> onnx.ModelProto:
    """Large tensors as initializers, in a Constant, in a branch, in a function; and small ones."""
    # OpenVINO reads no functions of a model's own.
    call = "local.heavy (d)" if has_function else "Sub (d, w1)"
    model = parse(BODY.replace("FUNCTION", call) + HEAVY * has_function)
    graph = model.graph
    large = numpy_helper.from_array
    for node in (*graph.node, *(node for function in model.functions for node in function.node)):
        if node.op_type == "Constant":
            node.attribute.append(helper.make_attribute("value", large(LARGE + 2)))
        for branch in (a.g for a in node.attribute if a.HasField("g")):
            branch.initializer.append(large(LARGE + 3, f"{branch.name}_local"))
    # The last not as raw_data, and of another type than floats.
    typed = helper.make_tensor("typed", TensorProto.INT64, [COUNT], list(range(COUNT)))
    graph.initializer.extend(
        [
            large(LARGE, "w0"),
            large(np.array([7]), "small"),
            typed,
        ]
    )
    model.doc_string = "Weights."
    return model


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "model.onnx"
    path.parent.mkdir()
    onnx.save(model_with_weights(), path)
    return path


def external(path: Path, location: str | None = "weights.bin") -> Path:
    """A model beside its weights; in files of their own without a location."""
    path.parent.mkdir(exist_ok=True)
    beside = {"all_tensors_to_one_file": location is not None, "location": location}
    beside |= {"save_as_external_data": True, "size_threshold": 0, "convert_attribute": True}
    onnx.save(model_with_weights(has_function=False), path, **beside)
    return path


FEEDS = {"random_state": STATE, "c": np.array(False)}


def run(path: Path) -> list[np.ndarray]:
    return InferenceSession(path).run(None, FEEDS)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["out.onnx", "model.onnx"])
def test_the_file_is_the_model_that_make_reproducible_makes(
    source: Path, name: str, tmp_path: Path
) -> None:
    """The source itself may be the target."""
    target = source.with_name(name)
    expected = make_reproducible(onnx.load(source))
    calls: list[tuple[int, int, str]] = []
    report = rewrite_file(source, target, progress=lambda *call: calls.append(call))
    assert [n.stream for n in report.replaced] == [0, 1]
    assert onnx.load(target) == expected
    # As onnx.save writes it, to the byte, with the permissions of any new file.
    assert target.read_bytes() == onnx.load(target).SerializeToString()
    (plain := tmp_path / "plain").write_bytes(b"")
    assert target.stat().st_mode == plain.stat().st_mode
    assert names(source.parent) == {"model.onnx", name}
    size = target.stat().st_size
    assert {(total, what) for _, total, what in calls} == {(size, name)}
    done = [done for done, _, _ in calls]
    assert done == sorted(done)
    assert done[-1] == size


def test_both_runtimes_read_the_file_and_one_without_random_nodes_is_copied(
    tmp_path: Path, openvino: OpenVino
) -> None:
    source = tmp_path / "model.onnx"
    target = tmp_path / "out.onnx"
    model = model_with_weights(has_function=False)
    onnx.save(model, source)
    rewrite_file(source, target)
    y, z, _ = run(target)
    noise, _ = reference.random_normal([ROWS, 100], 0, 1, "f32", op_seed=1, state=STATE)
    expected = noise + (LARGE + 3) - (LARGE + 2)
    np.testing.assert_allclose(y, expected, atol=1e-2)
    assert_same_bits(z, np.arange(COUNT) + 7)
    np.testing.assert_allclose(openvino(target, FEEDS)[0], y, atol=1e-2)
    del model.graph.node[4:5], model.graph.node[0]
    source.write_bytes(model.SerializeToString())
    assert not rewrite_file(source, target).is_changed
    assert target.read_bytes() == source.read_bytes()


def test_large_tensors_are_never_read_and_a_file_comes_back_from_its_pieces(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_file.ModelFile(source, "test") as file:
        stretches = [t for t in tensors(file.proto) if without_weights.stretch_of(t) is not None]
        assert len(stretches) == 6
        assert file.proto.ByteSize() < without_weights.LARGE
        assert not any(tensor.raw_data for tensor in stretches)
    monkeypatch.setattr(without_weights, "LARGE", 2**40)
    with model_file.ModelFile(source, "test") as file:
        assert file.proto == onnx.load(source)
    data = source.read_bytes()
    for threshold in (0, 1, 100, 1000, 2**14):
        monkeypatch.setattr(without_weights, "LARGE", threshold)
        pieces = without_weights.expand(without_weights.thin(data))
        whole = b"".join(
            data[p.start : p.end] if isinstance(p, without_weights.Stretch) else p for p in pieces
        )
        assert whole == data
        assert len(whole) == without_weights.size_of(pieces)


@pytest.mark.parametrize("location", ["weights.bin", "data/weights.bin", None])
def test_external_data_is_copied_beside_the_target(
    tmp_path: Path, location: str | None, openvino: OpenVino
) -> None:
    folder = tmp_path / "in"
    target = tmp_path / "out" / "new.onnx"
    (folder / "data").mkdir(parents=True)
    source = external(folder / "model.onnx", location)
    target.parent.mkdir()
    rewrite_file(source, target)
    data = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    del data[Path("model.onnx")]
    assert (len(data) > 3) == (location is None)
    copied = [p for p in target.parent.rglob("*") if p.is_file() and p != target]
    assert {p.relative_to(target.parent): p.read_bytes() for p in copied} == data
    rewrite_file(source, folder / "here.onnx")
    expected = run(folder / "here.onnx")
    shutil.rmtree(folder)
    outputs = run(target)
    assert_all_same(outputs, expected)
    np.testing.assert_allclose(
        openvino(target, FEEDS)[0],
        outputs[0],
        atol=1e-2,
    )


def test_external_data_of_one_folder_is_used_by_both_and_another_file_of_its_name_is_left(
    tmp_path: Path,
) -> None:
    source = external(tmp_path / "in" / "model.onnx")
    other = tmp_path / "out"
    weights = source.with_name("weights.bin")
    before = weights.stat()
    rewrite_file(source, source.with_name("new.onnx"))
    after = weights.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert names(source.parent) == {"model.onnx", "new.onnx", "weights.bin"}
    run(source.with_name("new.onnx"))
    other.mkdir()
    (other / "weights.bin").write_bytes(b"of another model")
    words = "weights.bin' must be absent, or the external data of that name itself: got another"
    assert_refused(lambda: rewrite_file(source, other / "new.onnx"), words)
    assert names(other) == {"weights.bin"}
    # The very same is fine: a second rewrite into a folder.
    shutil.copy(weights, other)
    rewrite_file(source, other / "new.onnx")
    run(other / "new.onnx")


def test_external_data_that_is_not_in_the_folder_is_refused(tmp_path: Path) -> None:
    source = external(tmp_path / "in" / "model.onnx")
    model = onnx.load(source, load_external_data=False)
    for location, words, folder in (
        ("../w", "must be a path inside of the model's folder", tmp_path),
        ("/w", "must be a path inside of the model's folder", tmp_path),
        ("none", "'none' must be a file in the folder of ...: got no file", source.parent),
    ):
        model.graph.initializer[0].external_data[0].value = location
        onnx.save(model, source)
        assert_refused(partial(rewrite_file, source, folder / "new.onnx"), words)
        assert not (folder / "new.onnx").exists()


def test_a_ratio_that_is_external_data_is_read(tmp_path: Path) -> None:
    model = parse("g (float[10] x) => (float[10] y) { y = Dropout (x, ratio, mode) }")
    for array, name in ((np.float32(1), "ratio"), (np.array(True), "mode")):
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    source = tmp_path / "model.onnx"
    target = tmp_path / "new.onnx"
    onnx.save(model, source, save_as_external_data=True, size_threshold=0)
    rewrite_file(source, target)
    feeds = {"random_state": STATE, "x": np.ones(10, np.float32)}
    y = InferenceSession(target).run(None, feeds)[0]
    assert_same_bits(y, np.zeros(10, np.float32))


def test_an_error_leaves_no_file(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = source.with_name("out.onnx")
    target.write_bytes(b"before")
    steps = itertools.count()

    def fail(*_: object) -> None:
        if next(steps) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rewrite_file(source, target, progress=fail)
    assert names(source.parent) == {"model.onnx", "out.onnx"}
    assert target.read_bytes() == b"before"
    monkeypatch.setattr(model_file, "_LARGEST_FILE", 1000)
    words = "must be at most 1,000 bytes, the most that protobuf reads"
    assert_refused(lambda: rewrite_file(source, target), words)
    assert target.read_bytes() == b"before"


CHILD = """
import sys
import onnx_philox.rewriting

def anonymous(*_):
    with open("/proc/self/status") as lines:
        fields = dict(line.split(":", 1) for line in lines)
    held.append(int(fields["RssAnon"].split()[0]) * 1024)

held = []
anonymous()
onnx_philox.rewriting.rewrite_file(sys.argv[1], sys.argv[2], progress=anonymous)
anonymous()
print(max(held) - held[0])
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
    used = int(child.forked(CHILD, source, target).stdout)
    assert sum(array.nbytes for array in weights) == 2**25
    assert used < 2**24
    loaded = {t.name: t for t in onnx.load(target).graph.initializer}
    for i, array in enumerate(weights):
        assert_same_bits(numpy_helper.to_array(loaded[f"large{i}"]), array)


@pytest.mark.slow
def test_a_model_over_2_gb_is_rewritten(tmp_path: Path) -> None:
    # Sparse files: no disk is needed for the zeros.
    size = 2**31 + 2**20
    source = tmp_path / "model.onnx"
    model = model_with_weights()
    huge = model.graph.initializer.add(
        name="huge",
        dims=[size],
        data_type=TensorProto.UINT8,
    )
    huge.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "huge.bin"), ("length", str(size))):
        huge.external_data.add(key=key, value=value)
    onnx.save(model, source)
    with open(tmp_path / "huge.bin", "wb") as file:
        file.truncate(size)
    rewrite_file(source, tmp_path / "new.onnx")
    rewritten = onnx.load(tmp_path / "new.onnx", load_external_data=False)
    assert huge in rewritten.graph.initializer
