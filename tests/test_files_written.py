"""What is read is never written over, and what is written appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import child
import cli
import numpy as np
import onnx
import pytest
from cases import assert_refused, table
from file_cases import WEIGHTS, refusal, succeed, tree, write
from foreign import parse

from onnx_philox import PhiloxState, reference
from onnx_philox._files import new_files
from onnx_philox.rewriting import rewrite_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, signals and limits of POSIX")

# ------------------------------------------------------------------ nothing is written over


# The name of the model's external data, a link to it or to the model's folder, a command, and what
# is refused: the same file as what.
SAME = table("""
model.bin | | rewrite in/m.onnx -o in/model.xml -> the weights file of the output | DATA
weights.onnx | | rewrite in/m.onnx -o in/weights.onnx -> the output | DATA
weights.xml | | rewrite in/m.onnx -o in/weights.xml -> the output | DATA
data/weights.onnx | | rewrite in/m.onnx -o in/data/weights.onnx -> the output | DATA
data/weights.onnx | | rewrite in/m.onnx -o in/data/../data/weights.onnx -> the output | DATA
weights.bin | symlink out.onnx | rewrite in/m.onnx -o out.onnx -> the output | DATA
weights.bin | link out.onnx | rewrite in/m.onnx -o out.onnx -> the output | DATA
weights.bin | symlink o.bin | rewrite in/m.onnx -o o.xml -> the weights file of the output | DATA
weights.bin | link o.bin | rewrite in/m.onnx -o o.xml -> the weights file of the output | DATA
weights.onnx | | rewrite in/m.onnx -o out/weights.onnx -> the output | DATA beside it
m.run0.npz | | run in/m.onnx -o in/ -> the output | DATA
 | folder | rewrite in/m.bin -o folder/m.xml -> the weights file of the output | MODEL
 | | rewrite in/m.bin -o in/m.xml -> the weights file of the output | MODEL
""")


@pytest.mark.parametrize(("given", "said"), SAME)
def test_what_is_read_is_not_overwritten(tmp_path, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    location, link, command = (part.strip() for part in given.split("|"))
    write(Path("in/m.onnx"), location or None)
    write(Path("in/m.bin"))
    Path("out").mkdir()
    if link == "folder":
        Path(link).symlink_to("in")
    elif link:
        getattr(os, link.split()[0])(f"in/{location}", link.split()[1])
    said = said.replace("DATA", f"the external data '{location}'")
    what, same = said.replace("MODEL", "the model 'in/m.bin'").split(" | ")
    refused = refusal(tmp_path, *command.split())
    assert refused.startswith(f"onnx-philox {command.split()[0]}: {what} '")
    rule = "' must be a file that is neither read nor written twice: got the same file as "
    assert refused.endswith(f"{rule}{same}. Choose another name or folder.\n")


def test_a_function_may_write_the_model_itself_but_not_its_external_data(tmp_path):
    source = write(tmp_path / "model.onnx", "weights.bin")
    before = tree(tmp_path)
    words = "the same file as the external data 'weights.bin'"
    assert_refused(lambda: rewrite_file(source, tmp_path / "weights.bin"), words)
    assert tree(tmp_path) == before
    rewrite_file(source, source)
    assert "RandomNormal" in {node.op_type for node in onnx.load(source).graph.node}


def test_an_ir_of_a_model_with_external_data_of_the_names_of_its_own_files(tmp_path):
    for location in ("out.bin", "out.xml", "model.onnx"):
        source = write(tmp_path / location / "source.onnx", location)
        folder = tmp_path / f"of-{location}"
        folder.mkdir()
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
    onnx.save(parse("g (float[3] x) => (float[3] y) { y = Relu(x) }"), tmp_path / "m.onnx")
    if link is not None:
        given = given.rename(tmp_path / "given.npz")
        link(given, tmp_path / "out.run1.npz")
    options = ("-o", tmp_path / "out", "--input", given)
    said = refusal(tmp_path, "run", tmp_path / "m.onnx", *options, "--runs", 2)
    assert "out.run1.npz' must be a file that is neither read nor written twice: " in said
    assert "got the same file as the input '" in said
    succeed("run", tmp_path / "m.onnx", *options)
    succeed("run", tmp_path / "m.onnx", "--input", given, "--runs", 2)


def test_two_outputs_of_one_name_are_refused_and_not_written_over_each_other(tmp_path):
    text = """g (float[2] x) => (seq(float[1]) y, float[2] z) {
        y = SplitToSequence (x)  z = Identity (x) }"""
    path = tmp_path / "m.onnx"
    made = parse(text)
    made.graph.node[1].output[0] = made.graph.output[1].name = "y[0]"
    onnx.save(made, path)
    before = tree(tmp_path)
    for runtime in ("onnxruntime", "reference"):
        command = ["run", path, "--runtime", runtime, "--input", "x=[1,2]", "-o", tmp_path / "out"]
        result = cli.invoke(*command)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "after the name: got 'y[0]' twice." in result.stderr
        assert tree(tmp_path) == before


# ------------------------------------------------------------------ whole or not at all


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    child.run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)
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


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
from onnx_philox.__main__ import app
sys.argv[1:] = sys.argv[2:]
app()
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
            run, said = in_this_process, "No space left on device"
        else:
            # Of each file, so one that ends the .onnx file.
            run, said = limited_to(min(room, 16) * 1024), "File too large"
        for file, content in old.items():
            (out / file).write_bytes(content)
        code, errors = run(command)
        assert {p.name: p.read_bytes() for p in out.iterdir()} == old
    assert code == 2, errors
    assert errors.startswith(f"onnx-philox rewrite: {out / name}: {said}. "), errors
    assert "Traceback" not in errors


def in_this_process(command: list[str]) -> tuple[int, str]:
    """Runs a command here; returns its exit code and its errors."""
    result = cli.invoke(*command)
    return result.exit_code, result.stderr


def limited_to(size: int) -> Callable[[list[str]], tuple[int, str]]:
    """Makes a function that runs a command in a process whose files have a maximum size."""

    def run(command: list[str]) -> tuple[int, str]:
        # Without files of code, which it would cut.
        done = child.python("-Bc", LIMITED, str(size), *command, code=None)
        return done.returncode, done.stderr

    return run


def test_a_run_on_a_full_disk_leaves_what_was_there(tmp_path):
    source = write(tmp_path / "model.onnx")
    rewrite_file(source, source)
    target = tmp_path / "out.run0.npz"
    target.write_bytes(b"old")
    before = tree(tmp_path)
    command = ["run", str(source), "-o", str(tmp_path / "out"), "--runtime", "reference"]
    code, errors = limited_to(8192)(command)
    assert code == 2, errors
    assert errors.startswith(f"onnx-philox run: {target}: File too large. ")
    assert tree(tmp_path) == before


# Says when it is in the middle, and goes on slowly.
SLOW = """
import signal, sys, time
from onnx_philox._command import app, rewrite
name = sys.argv.pop(1)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, and pytest hands that on

def wait(*_, **__):
    print("here", flush=True)
    time.sleep(60)

if name == "onnx":
    original = rewrite.rewrite
    rewrite.rewrite = lambda *a, **k: original(*a, **{**k, "progress": wait})
else:
    import openvino
    original = openvino.save_model

    def save_model(*arguments, **options):
        original(*arguments, **options)
        wait()

    openvino.save_model = save_model
app.app()
"""


@pytest.mark.parametrize("name", ["onnx", "xml"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_signal_leaves_what_was_there(tmp_path, name, number, is_there):
    source = write(tmp_path / "model.onnx", "weights.bin")
    folder = tmp_path / "folder"
    folder.mkdir()
    if is_there:
        for file in ("out.onnx", "out.xml", "out.bin"):
            (folder / file).write_bytes(b"old")
    before = tree(tmp_path)
    command = [name, "rewrite", str(source), "-o", str(folder / f"out.{name}")]
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
            assert not Path(target).exists(), "it would lead to files of another time"
            raise PermissionError(13, "denied", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)

    def write_all():
        with new_files.NewFiles() as files:
            for name in ("a", "new/c", "b"):
                with files.open(tmp_path / name) as file:
                    file.write(b"young")

    with pytest.raises(PermissionError):
        write_all()
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"a": b"old", "b": b"old"}
