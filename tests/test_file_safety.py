"""Files: what is read is never written over, and what is written appears whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from typer.testing import CliRunner

from onnx_philox import PhiloxState, _cli, _new_files, make_reproducible, reference
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import find_random_nodes, rewrite_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, signals and limits of POSIX")

WEIGHTS = np.arange(5000, dtype=np.float32)


def model(location: str | None = None) -> onnx.ModelProto:
    """`w + noise`, its weights inside or at a location."""
    weights = numpy_helper.from_array(WEIGHTS, "w")
    if location is not None:
        weights.ClearField("raw_data")
        weights.data_location = TensorProto.EXTERNAL
        weights.external_data.add(key="location", value=location)
    graph = helper.make_graph(
        [
            helper.make_node("RandomNormalLike", ["w"], ["noise"]),
            helper.make_node("Add", ["w", "noise"], ["y"]),
        ],
        "g",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, WEIGHTS.shape)],
        initializer=[weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(path: Path, location: str | None = None) -> Path:
    """A model, and its external data where the location says, but for links that are there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model(location).SerializeToString())
    if location is not None:
        data = path.parent / location
        data.parent.mkdir(parents=True, exist_ok=True)
        if not data.exists():
            data.write_bytes(WEIGHTS.tobytes())
    return path


def tree(folder: Path) -> dict[str, str]:
    """Everything in a folder, and what it holds."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file()
        else "folder"
        for path in folder.rglob("*")
    }


def refusal(folder: Path, *arguments: object) -> str:
    """What a command says that fails and leaves all files as they were."""
    before = tree(folder)
    result = CliRunner().invoke(_cli.app, list(map(str, arguments)))
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert tree(folder) == before
    return result.stderr


def succeed(*arguments: object) -> None:
    result = CliRunner().invoke(_cli.app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output


# ------------------------------------------------------------------ nothing is written over


@pytest.mark.parametrize(
    ("location", "target", "what"),
    [
        ("model.bin", "model.xml", "the weights of the output"),
        ("weights.onnx", "weights.onnx", "the output"),
        ("weights.xml", "weights.xml", "the output"),
        ("data/weights.onnx", "data/weights.onnx", "the output"),
        ("data/weights.onnx", "data/../data/weights.onnx", "the output"),
    ],
)
def test_the_external_data_of_the_source_is_not_overwritten(tmp_path, location, target, what):
    source = write(tmp_path / "model.onnx", location)
    said = refusal(tmp_path, "rewrite", source, "-o", tmp_path / target)
    same = f"is the same file as the external data '{location}'; allowed: a file that is not read"
    assert said.startswith(f"onnx-philox rewrite: {what} '")
    assert same in said
    assert said.endswith("Choose another name or folder.\n")


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_links_to_what_is_read_are_seen_through(tmp_path, link):
    source = write(tmp_path / "in" / "model.onnx", "weights.bin")
    link(tmp_path / "in" / "weights.bin", tmp_path / "out.onnx")
    assert "the same file as the external data" in refusal(
        tmp_path, "rewrite", source, "-o", tmp_path / "out.onnx"
    )
    link(tmp_path / "in" / "weights.bin", tmp_path / "other.bin")
    assert "the weights of the output '" in refusal(
        tmp_path, "rewrite", source, "-o", tmp_path / "other.xml"
    )
    (tmp_path / "folder").symlink_to("in")
    assert "the same file as the model" in refusal(
        tmp_path, "rewrite", write(tmp_path / "in" / "m.bin"), "-o", tmp_path / "folder" / "m.xml"
    )


def test_the_model_is_not_overwritten_by_the_weights_of_its_ir(tmp_path):
    source = write(tmp_path / "model.bin")
    said = refusal(tmp_path, "rewrite", source, "-o", tmp_path / "model.xml")
    assert f"is the same file as the model '{source}'" in said


@pytest.mark.parametrize("is_command", [True, False])
def test_the_target_does_not_take_the_place_of_external_data_beside_it(tmp_path, is_command):
    source = write(tmp_path / "in" / "model.onnx", "weights.onnx")
    target = tmp_path / "out" / "weights.onnx"
    if is_command:
        said = refusal(tmp_path, "rewrite", source, "-o", target)
    else:
        before = tree(tmp_path)
        with pytest.raises(ValueError, match="the same file") as refused:
            rewrite_file(source, target)
        said = str(refused.value)
        assert tree(tmp_path) == before
    assert "is the same file as the external data 'weights.onnx'" in said


def test_a_function_may_write_the_model_itself_but_not_its_external_data(tmp_path):
    source = write(tmp_path / "model.onnx", "weights.bin")
    before = tree(tmp_path)
    with pytest.raises(ValueError, match=r"the same file as the external data 'weights.bin'"):
        rewrite_file(source, tmp_path / "weights.bin")
    assert tree(tmp_path) == before
    rewrite_file(source, source)
    assert "RandomNormal" in {node.op_type for node in onnx.load(source).graph.node}


def test_an_ir_of_a_model_with_external_data_of_the_names_of_its_own_files(tmp_path):
    for location in ("out.bin", "out.xml", "model.onnx"):
        source = write(tmp_path / location / "source.onnx", location)
        folder = tmp_path / f"of-{location}"
        succeed("rewrite", source, "-o", folder / "out.xml", "--seed", 1)
        assert sorted(tree(folder)) == ["out.bin", "out.xml"]
        succeed("run", folder / "out.xml", "-o", tmp_path / "ran")
        state = PhiloxState.for_run(1).to_array()
        noise, _ = reference.random_normal(WEIGHTS.shape, 0, 1, "f32", op_seed=0, state=state)
        y = np.load(tmp_path / "ran.run0.npz")["y"]
        np.testing.assert_allclose(y, WEIGHTS + noise, rtol=1e-2, atol=0.1)


@pytest.mark.parametrize("link", [None, os.symlink, os.link])
def test_a_run_does_not_write_over_its_input(tmp_path, link):
    given = tmp_path / "out.run1.npz"
    np.savez(given, x=np.zeros(3, np.float32))
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[3] x) => (float[3] y) {y = Relu(x)}'
    onnx.save(parser.parse_model(text), tmp_path / "m.onnx")
    if link is not None:
        given = given.rename(tmp_path / "given.npz")
        link(given, tmp_path / "out.run1.npz")
    options = ("-o", tmp_path / "out", "--input", given)
    said = refusal(tmp_path, "run", tmp_path / "m.onnx", *options, "--runs", 2)
    assert "out.run1.npz' is the same file as the input '" in said
    succeed("run", tmp_path / "m.onnx", *options)
    succeed("run", tmp_path / "m.onnx", *options, "--runs", 2, "--hashes-only")


def test_a_run_does_not_write_over_the_weights_of_its_model(tmp_path):
    source = write(tmp_path / "m.onnx", "m.run0.npz")
    said = refusal(tmp_path, "run", source, "-o", f"{tmp_path}/")
    assert "is the same file as the external data 'm.run0.npz'" in said


def test_two_outputs_of_one_name_are_refused_and_not_written_over_each_other(tmp_path):
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[2] x) => (seq(float[1]) y, float[2] z) {
        y = SplitToSequence (x)
        z = Identity (x)
    }"""
    path = tmp_path / "m.onnx"
    made = parser.parse_model(text)
    made.graph.node[1].output[0] = made.graph.output[1].name = "y[0]"
    onnx.save(made, path)
    before = tree(tmp_path)
    for runtime in ("onnxruntime", "reference"):
        command = ["run", path, "--runtime", runtime, "--input", "x=[1,2]", "-o", tmp_path / "out"]
        result = CliRunner().invoke(_cli.app, list(map(str, command)))
        assert (result.exit_code, result.stdout) == (1, "")
        assert "two outputs are named 'y[0]'" in result.stderr
        assert tree(tmp_path) == before


# ------------------------------------------------------------------ whole or not at all


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def may_mount(tmp_path_factory) -> bool:
    folder = tmp_path_factory.mktemp("mount")
    try:
        with small_disk(folder, "64k"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@pytest.fixture(scope="module")
def disk_or_limit(tmp_path_factory) -> str:
    """A file system of its own where one can be mounted; else a limit of the size of files."""
    return "disk" if may_mount(tmp_path_factory) else "limit"


COMMAND = "from onnx_philox import _cli; _cli.app()"
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
from onnx_philox import _cli
sys.argv[1:] = sys.argv[2:]
_cli.app()
"""

# In KiB: for nothing; for the ONNX file on the way but not for the IR; for its .bin, not its .xml.
ROOM = (("out.onnx", 8), ("out.xml", 8), ("out.xml", 28), ("out.xml", 44))


@pytest.mark.parametrize(
    ("way", "name", "room"), [*(("disk", *r) for r in ROOM), *(("limit", *r) for r in ROOM[:2])]
)
def test_a_full_disk_leaves_what_was_there(tmp_path, disk_or_limit, way, name, room):
    source = write(tmp_path / "model.onnx")
    out = tmp_path / "out"
    out.mkdir()
    command = ["rewrite", str(source), "-o", str(out / name)]
    old = dict.fromkeys(("out.onnx", "out.xml", "out.bin"), b"old")
    with contextlib.ExitStack() as stack:
        if way == "disk" and disk_or_limit == "disk":
            # What was there takes a page of each file.
            stack.enter_context(small_disk(out, f"{room + 12}k"))
            start, said = (
                ["-c", "from onnx_philox import _cli; _cli.app()"],
                "No space left on device",
            )
        else:
            # Of each file, so one that ends the .onnx file.
            start, said = ["-c", LIMITED, str(min(room, 16) * 1024)], "File too large"
        for file, content in old.items():
            (out / file).write_bytes(content)
        result = subprocess.run(
            [sys.executable, *start, *command], capture_output=True, text=True, check=False
        )
        assert {p.name: p.read_bytes() for p in out.iterdir()} == old
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith(f"onnx-philox rewrite: {out / name}: {said}. "), result.stderr
    assert "Traceback" not in result.stderr


def test_a_run_on_a_full_disk_leaves_what_was_there(tmp_path):
    source = write(tmp_path / "model.onnx")
    rewrite_file(source, source)
    target = tmp_path / "out.run0.npz"
    target.write_bytes(b"old")
    before = tree(tmp_path)
    command = ["run", str(source), "-o", str(tmp_path / "out"), "--runtime", "reference"]
    result = subprocess.run(
        [sys.executable, "-c", LIMITED, "8192", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith(f"onnx-philox run: {target}: File too large. ")
    assert tree(tmp_path) == before


# Says when it is in the middle, and goes on slowly.
SLOW = """
import sys, time
from onnx_philox import _cli, _rewrite_command
name, step = sys.argv[1:3]
del sys.argv[1:3]

def wait(*_, **__):
    print("here", flush=True)
    time.sleep(60)

if name == "onnx":
    original = _rewrite_command.rewrite
    _rewrite_command.rewrite = lambda *a, **k: original(*a, **{**k, "progress": wait})
else:
    import openvino
    original = openvino.save_model

    def save_model(*arguments, **options):
        original(*arguments, **options)
        wait()

    openvino.save_model = save_model
_cli.app()
"""


@pytest.mark.parametrize("name", ["onnx", "xml"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_signal_leaves_what_was_there(tmp_path, name, number, is_there):
    source = write(tmp_path / "model.onnx", "weights.bin")
    folder = tmp_path / "new" / "folder"
    if is_there:
        folder.mkdir(parents=True)
        for file in ("out.onnx", "out.xml", "out.bin"):
            (folder / file).write_bytes(b"old")
    before = tree(tmp_path)
    command = [name, "", "rewrite", str(source), "-o", str(folder / f"out.{name}")]
    with subprocess.Popen([sys.executable, "-c", SLOW, *command], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"here\n"
        assert tree(tmp_path) != before
        child.send_signal(number)
        # As `timeout` does.
        child.send_signal(number)
        assert child.wait(30) == -number
    assert tree(tmp_path) == before


def test_two_files_take_their_places_together_or_not_at_all(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).write_bytes(b"old")
    replace = os.replace

    def fail(source, target):
        if Path(target).name == "b" and "old" not in Path(source).read_text():
            raise PermissionError(13, "denied", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)

    def write_all():
        with _new_files.NewFiles() as files:
            for name in ("a", "new/c", "b"):
                with files.open(tmp_path / name) as file:
                    file.write(b"young")

    with pytest.raises(PermissionError):
        write_all()
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"a": b"old", "b": b"old"}


# ------------------------------------------------------------------ links out of the folder


def link_file(root: Path) -> tuple[Path, str]:
    (root / "in").mkdir()
    write(root / "other" / "m.onnx", "weights.bin")
    (root / "in" / "weights.bin").symlink_to("../other/weights.bin")
    return root / "in" / "m.onnx", "weights.bin"


def link_folder(root: Path) -> tuple[Path, str]:
    (root / "in").mkdir()
    write(root / "other" / "m.onnx", "weights.bin")
    (root / "in" / "data").symlink_to("../other")
    return root / "in" / "m.onnx", "data/weights.bin"


def link_inside(root: Path) -> tuple[Path, str]:
    write(root / "in" / "m.onnx", "data/weights.bin")
    (root / "in" / "weights.bin").symlink_to("data/weights.bin")
    return root / "in" / "m.onnx", "weights.bin"


def link_to_model(root: Path) -> tuple[Path, str]:
    """As the Hugging Face hub keeps them: both are links to files beside each other."""
    write(root / "blobs" / "m", "w")
    write(root / "blobs" / "0", "weights.bin").unlink()
    (root / "blobs" / "m").write_bytes(model("weights.bin").SerializeToString())
    (root / "in").mkdir()
    (root / "in" / "m.onnx").symlink_to("../blobs/m")
    (root / "in" / "weights.bin").symlink_to("../blobs/w")
    return root / "in" / "m.onnx", "weights.bin"


def link_of_model_only(root: Path) -> tuple[Path, str]:
    write(root / "real" / "m.onnx", "data.bin")
    (root / "real" / "m.onnx").write_bytes(model("weights.bin").SerializeToString())
    write(root / "other" / "m.onnx", "weights.bin")
    (root / "in").mkdir()
    (root / "in" / "m.onnx").symlink_to("../real/m.onnx")
    (root / "in" / "weights.bin").symlink_to("../other/weights.bin")
    return root / "in" / "m.onnx", "weights.bin"


def hard_link(root: Path) -> tuple[Path, str]:
    write(root / "other" / "m.onnx", "weights.bin")
    (root / "in").mkdir()
    os.link(root / "other" / "weights.bin", root / "in" / "weights.bin")
    return root / "in" / "m.onnx", "weights.bin"


@pytest.mark.parametrize(
    ("layout", "is_inside"),
    [
        (link_file, False),
        (link_folder, False),
        (link_of_model_only, False),
        (link_inside, True),
        (link_to_model, True),
        (hard_link, True),
    ],
)
def test_links_are_refused_where_onnxruntime_refuses_them(tmp_path, layout, is_inside):
    path, location = layout(tmp_path)
    if not path.exists():
        write(path, location)
    plain = tmp_path / "plain.onnx"
    plain.write_bytes(path.read_bytes())
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if is_inside:
        ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        target = tmp_path / "new" / "out.onnx"
        rewrite_file(path, target)
        assert not (target.parent / location).is_symlink()
        weights = {t.name: t for t in onnx.load(target).graph.initializer}["w"]
        np.testing.assert_array_equal(numpy_helper.to_array(weights), WEIGHTS)
        made = make_reproducible(path)
        np.testing.assert_array_equal(numpy_helper.to_array(made.graph.initializer[0]), WEIGHTS)
        assert len(find_random_nodes(path)) == 1
        return
    with pytest.raises(Exception, match="escapes model directory"):
        ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    said = (
        rf"the external data '{location}' is a link to '.*'; allowed: a file in the model's folder"
    )
    for call in (
        lambda: rewrite_file(path, tmp_path / "new" / "out.onnx"),
        lambda: make_reproducible(path),
        lambda: find_random_nodes(path),
    ):
        with pytest.raises(ValueError, match=said):
            call()
    for command in (
        ("inspect", path),
        ("rewrite", path, "-o", tmp_path / "new" / "out.onnx"),
        ("rewrite", path, "-o", tmp_path / "new" / "out.xml"),
    ):
        assert "is a link to" in refusal(tmp_path, *command)
    before = tree(tmp_path)
    for runtime in ("onnxruntime", "openvino", "reference"):
        command = ["run", str(path), "--runtime", runtime, "-o", str(tmp_path / "new" / "out")]
        result = CliRunner().invoke(_cli.app, command)
        assert (result.exit_code, result.stdout) == (1, ""), result.output
        assert tree(tmp_path) == before


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_link_out_of_the_targets_folder_is_not_written_through(tmp_path, is_folder):
    source = write(tmp_path / "in" / "m.onnx", "data/weights.bin")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    if is_folder:
        (tmp_path / "out" / "data").symlink_to("../elsewhere")
    else:
        (tmp_path / "out" / "data").mkdir()
        (tmp_path / "out" / "data" / "weights.bin").symlink_to("../../in/data/weights.bin")
    said = refusal(tmp_path, "rewrite", source, "-o", tmp_path / "out" / "m.onnx")
    assert "the external data 'data/weights.bin' beside the output is a link to" in said
    # An IR has its weights in a file of its own.
    succeed("rewrite", source, "-o", tmp_path / "out" / "m.xml")


def test_external_data_that_is_a_pipe_is_refused_and_not_waited_for(tmp_path):
    source = write(tmp_path / "m.onnx", "weights.bin")
    (tmp_path / "weights.bin").unlink()
    os.mkfifo(tmp_path / "weights.bin")
    for call in (make_reproducible, find_random_nodes):
        with pytest.raises(ValueError, match=r"'weights.bin' is no plain file; allowed: a file in"):
            call(source)


# ------------------------------------------------------------------ files made to mislead


def test_a_forged_mark_is_a_name_like_any_other(tmp_path):
    location = "onnx_philox.stretch:0-100"
    source = write(tmp_path / "m.onnx", location)
    (tmp_path / location).unlink()
    for name in ("out.onnx", "out.xml"):
        said = refusal(tmp_path, "rewrite", source, "-o", tmp_path / "new" / name)
        assert f"the external data '{location}' is not there" in said
    with pytest.raises(ValueError, match="is not there"):
        make_reproducible(source)


def test_a_tensor_with_data_inside_and_outside_is_what_lies_outside(tmp_path):
    made = model("weights.bin")
    made.graph.initializer[0].raw_data = bytes(WEIGHTS.nbytes)
    source = tmp_path / "m.onnx"
    source.write_bytes(made.SerializeToString())
    assert "'weights.bin' is not there" in refusal(
        tmp_path, "rewrite", source, "-o", tmp_path / "new" / "out.onnx"
    )
    (tmp_path / "weights.bin").write_bytes(WEIGHTS.tobytes())
    rewrite_file(source, tmp_path / "new" / "out.onnx")
    assert (tmp_path / "new" / "weights.bin").read_bytes() == WEIGHTS.tobytes()
    weights = make_reproducible(source).graph.initializer[0]
    np.testing.assert_array_equal(numpy_helper.to_array(weights), WEIGHTS)


def test_a_place_that_means_nothing_is_no_external_data(tmp_path):
    made = model()
    made.graph.initializer[0].external_data.add(key="location", value="../left over")
    source = tmp_path / "m.onnx"
    source.write_bytes(made.SerializeToString())
    rewrite_file(source, tmp_path / "out.onnx")
    assert made.graph.initializer[0] in onnx.load(tmp_path / "out.onnx").graph.initializer


@pytest.mark.parametrize("data", [b"\xff" * 2**20, b"\x08" + b"\xff" * 2**20, b"\x3a\x80\x80\x01"])
def test_a_number_that_does_not_end_is_refused_at_once(tmp_path, data):
    source = tmp_path / "m.onnx"
    source.write_bytes(data)
    begin = time.monotonic()
    said = refusal(tmp_path, "rewrite", source, "-o", tmp_path / "out.onnx")
    assert time.monotonic() - begin < 10
    assert "m.onnx' is not a serialised ONNX model (" in said


def functions(depth: int, calls: int = 2) -> onnx.ModelProto:
    """Functions that each call the next so many times; the last one draws."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    made = []
    for i in range(depth + 1):
        names = ["x", *(f"v{j}" for j in range(calls - 1)), "y"]
        nodes = [
            helper.make_node(f"f{i + 1}", [a], [b], domain="local")
            for a, b in itertools.pairwise(names)
        ]
        if i == depth:
            nodes = [helper.make_node("RandomNormalLike", ["x"], ["y"])]
        made.append(helper.make_function("local", f"f{i}", ["x"], ["y"], nodes, opsets))
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy"]
    call = helper.make_node("f0", ["x"], ["y"], domain="local")
    graph = helper.make_graph([call], "g", info[:1], info[1:])
    return helper.make_model(graph, functions=made, opset_imports=opsets, ir_version=8)


def test_functions_that_call_each_other_twice_are_bounded(tmp_path):
    source = tmp_path / "m.onnx"
    onnx.save(functions(25), source)
    begin = time.monotonic()
    said = refusal(tmp_path, "rewrite", source, "-o", tmp_path / "out.onnx")
    assert time.monotonic() - begin < 10
    assert "they are 67,108,863 calls, and at most 16,384 are inlined" in said
    assert "cannot be inlined" in refusal(tmp_path, "inspect", source)
    # As many as there may be in earnest.
    assert len(make_reproducible(functions(3, 4)).graph.node) >= 64
    assert len(make_reproducible(functions(300, 1)).graph.node) >= 1


def test_functions_of_our_own_operators_are_bounded_in_a_session():
    made = functions(25)
    node = made.functions[25].node[0]
    constants = helper.make_node("Constant", [], ["shape"], value_ints=[3])
    limits = [
        helper.make_node("Constant", [], [name], value_float=value)
        for name, value in (("low", 0.0), ("high", 1.0))
    ]
    node.CopyFrom(
        helper.make_node(
            "RandomUniform",
            ["shape", "low", "high"],
            ["y"],
            domain="onnx_philox",
            output_type="f32",
            global_seed=1,
        )
    )
    nodes = [constants, *limits, made.functions[25].node[0]]
    del made.functions[25].node[:]
    made.functions[25].node.extend(nodes)
    for opsets in (made.opset_import, made.functions[25].opset_import):
        opsets.add(domain="onnx_philox", version=1)
    for backend in ("native", "python"):
        with pytest.raises(
            Exception, match=r"functions cannot be inlined: they are 67,108,863 calls"
        ):
            InferenceSession(made, backend=backend)


def test_functions_that_call_themselves_are_refused(tmp_path):
    made = functions(3)
    made.functions[3].node.append(helper.make_node("f1", ["x"], ["z"], domain="local"))
    onnx.save(made, tmp_path / "m.onnx")
    for command in (("inspect",), ("rewrite", "-o", tmp_path / "out.onnx")):
        said = refusal(tmp_path, command[0], tmp_path / "m.onnx", *command[1:])
        assert "a function calls itself: local::f" in said


NAMED = """<ir_version: 8, opset_import: ["": 17]> graphNAME (float[4] xNAME) => (float[4] yNAME)
<float wNAME = {1.0}> { nNAME = RandomNormalLike (xNAME)  yNAME = Add (nNAME, wNAME) }"""


@pytest.mark.parametrize("prefix", ["graph", "x", "y", "w", "n", "node", "doc"])
def test_names_that_are_no_utf_8_are_refused(tmp_path, prefix):
    made = parser.parse_model(NAMED)
    made.graph.node[0].name = "nodeNAME"
    made.graph.doc_string = "docNAME"
    for name in ("graph", "x", "y", "w", "n", "node", "doc"):
        if name != prefix:
            made = onnx.ModelProto.FromString(
                made.SerializeToString().replace(f"{name}NAME".encode(), f"{name}Name".encode())
            )
    source = tmp_path / "m.onnx"
    source.write_bytes(made.SerializeToString().replace(b"NAME", b"N\xff\xfeE"))
    for command in (
        ("inspect", source),
        ("rewrite", source, "-o", tmp_path / "new" / "out.onnx"),
        ("rewrite", source, "-o", tmp_path / "new" / "out.xml"),
        ("run", source, "--runtime", "reference", "-o", tmp_path / "out"),
    ):
        said = refusal(tmp_path, *command)
        assert r"N\xff\xfeE'" in said
        assert "UTF-8" in said


def test_a_ratio_that_was_left_in_the_file_is_left_to_the_run(tmp_path):
    nodes = [helper.make_node("Dropout", ["x", "ratio", "on"], ["y"])]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    weights = [numpy_helper.from_array(WEIGHTS, "ratio"), numpy_helper.from_array(np.True_, "on")]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, tmp_path / "m.onnx")
    rewrite_file(tmp_path / "m.onnx", tmp_path / "out.onnx")
    assert made.graph.initializer[0] in onnx.load(tmp_path / "out.onnx").graph.initializer
    command = ["run", str(tmp_path / "out.onnx"), "--input", "x=[1,2,3,4]", "--hashes-only"]
    result = CliRunner().invoke(_cli.app, command)
    assert result.exit_code == 1
    assert "RandomBernoulli: input 'p' " in result.stderr


def test_a_node_that_reads_what_nothing_gives_is_no_traceback(tmp_path):
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y) {
        y = Bernoulli (nothing)
    }"""
    onnx.save(parser.parse_model(text), tmp_path / "m.onnx")
    said = refusal(tmp_path, "rewrite", tmp_path / "m.onnx", "-o", tmp_path / "out.onnx")
    assert "'nothing'" in said
    result = CliRunner().invoke(_cli.app, ["inspect", str(tmp_path / "m.onnx")])
    assert result.exit_code == 0, result.output
    assert "cannot be rewritten" in result.stdout
