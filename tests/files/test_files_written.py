"""What is read is never written over, and what is written appears whole or not at all."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from onnx_philox import PhiloxState, graphs, reference
from onnx_philox._command import compare, inspect, rewritten_file, run
from onnx_philox._command.run import loading
from onnx_philox._command.run.output_files import OutputFiles
from onnx_philox._runtimes.stated_model import StatedModel
from onnx_philox.rewriting import rewrite_file
from tests.common import child, cli
from tests.common.cases import assert_refused, table
from tests.common.file_cases import WEIGHTS, refusal, tree, write
from tests.common.foreign import parse
from tests.common.signals import handle

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, signals and limits of POSIX")


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
    of_a_model = "TypeError: Save the model, and pass the path."
    assert_refused(lambda: rewrite_file(onnx.ModelProto(), source), of_a_model)
    assert tree(tmp_path) == before
    rewrite_file(source, source)
    assert "RandomNormal" in {node.op_type for node in onnx.load(source).graph.node}


def test_an_ir_of_a_model_with_external_data_of_the_names_of_its_own_files(tmp_path):
    for location in ("out.bin", "out.xml", "model.onnx"):
        source = write(tmp_path / location / "source.onnx", location)
        folder = tmp_path / f"of-{location}"
        folder.mkdir()
        cli.text("rewrite", source, "-o", folder / "out.xml", "--seed", 1)
        assert sorted(tree(folder)) == ["out.bin", "out.xml"]
        cli.text("run", folder / "out.xml", "-o", tmp_path / "ran")
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
    cli.text("run", tmp_path / "m.onnx", *options)
    cli.text("run", tmp_path / "m.onnx", "--input", given, "--runs", 2)


def test_two_outputs_of_one_name_are_refused_and_not_written_over_each_other(tmp_path):
    text = """g (float[2] x) => (seq(float[1]) y, float[2] z) {
        y = SplitToSequence (x)  z = Identity (x) }"""
    path = tmp_path / "m.onnx"
    made = parse(text)
    made.graph.node[1].output[0] = made.graph.output[1].name = "y[0]"
    onnx.save(made, path)
    before = tree(tmp_path)
    for runtime in ("onnxruntime", "reference"):
        given = ("--runtime", runtime, "--input", "x=[1,2]", "-o", tmp_path / "out")
        said = cli.refusal("run", path, *given, code=1)
        assert "after the name: got 'y[0]' twice." in said
        assert tree(tmp_path) == before


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[bool]:
    """A file system of its own, where one can be mounted; else it says that it is none."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    try:
        is_there = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        is_there = False
    try:
        yield is_there
    finally:
        if is_there:
            subprocess.run(["umount", folder], check=True)


LIMITED = """
import resource, sys
sys.dont_write_bytecode = True  # which would be cut
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
from onnx_philox._command.app import app
sys.argv[1:] = sys.argv[2:]
app()
"""

# In KiB: for nothing; for the ONNX file on the way but not for the IR; for its .bin, not its .xml.
ROOM = (("out.onnx", 8), ("out.xml", 8), ("out.xml", 28), ("out.xml", 44))


@pytest.mark.parametrize(
    ("way", "name", "room"), [*(("disk", *r) for r in ROOM), *(("limit", *r) for r in ROOM[:2])]
)
def test_a_full_disk_leaves_what_was_there(tmp_path, way, name, room):
    source = write(tmp_path / "model.onnx")
    out = tmp_path / "out"
    out.mkdir()
    command = ["rewrite", str(source), "-o", str(out / name)]
    old = dict.fromkeys(("out.onnx", "out.xml", "out.bin"), b"old")
    # What was there takes a page of each file.
    disk = small_disk(out, f"{room + 12}k") if way == "disk" else contextlib.nullcontext(False)
    with disk as is_small:
        for file, content in old.items():
            (out / file).write_bytes(content)
        # The limit is of each file, so one that ends the .onnx file.
        errors = cli.refusal(*command) if is_small else limited(min(room, 16) * 1024, *command)
        assert {p.name: p.read_bytes() for p in out.iterdir()} == old
    said = "No space left on device" if is_small else "File too large"
    assert errors.startswith(f"onnx-philox rewrite: {out / name}: {said}. "), errors
    assert "Traceback" not in errors


def limited(size: int, *command: object) -> str:
    """What a command refuses in a process whose files have a maximum size."""
    return child.forked(LIMITED, size, *command, code=2).stderr


def test_a_run_on_a_full_disk_leaves_what_was_there(tmp_path):
    source = write(tmp_path / "model.onnx")
    rewrite_file(source, source)
    target = tmp_path / "out.run0.npz"
    target.write_bytes(b"old")
    before = tree(tmp_path)
    errors = limited(8192, "run", source, "-o", tmp_path / "out", "--runtime", "reference")
    assert errors.startswith(f"onnx-philox run: {target}: File too large. ")
    assert tree(tmp_path) == before


# Says when it is in the middle, and goes on slowly.
SLOW = """
import signal, sys, time
from onnx_philox._command import app, rewritten_file
name = sys.argv.pop(1)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, and pytest hands that on

def wait(*_, **__):
    print("here", flush=True)
    time.sleep(60)

if name == "onnx":
    original = rewritten_file.rewrite
    rewritten_file.rewrite = lambda *a, **k: original(*a, **{**k, "progress": wait})
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
    command = [
        name,
        "rewrite",
        str(source),
        "-o",
        str(folder / f"out.{name}"),
    ]
    with subprocess.Popen([sys.executable, "-c", SLOW, *command], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"here\n"
        assert tree(tmp_path) != before
        child.send_signal(number)
        # As `timeout` does.
        child.send_signal(number)
        assert child.wait(30) == -number
    assert tree(tmp_path) == before


# After which call in the second run an interruption comes, and how many runs are then saved.
INTERRUPTED_AFTER = [
    (StatedModel, "run", 1),
    (run, "hashes", 1),
    (tempfile, "mkstemp", 2),
    (zipfile.ZipFile, "open", 2),
    (np.lib.format, "write_array", 2),
    (zipfile.ZipFile, "__exit__", 2),
    (os, "replace", 2),
    (OutputFiles, "save", 2),
]


@contextlib.contextmanager
def interrupted_after(monkeypatch, owner, name, call):
    """A block in which this process is interrupted once: when a call of a function is done.

    It is in no other way: an interruption that comes to pytest ends a worker, and those of others,
    which a worker started in the background ignores, are ignored here, too. See `signals.handle`
    for why no signal is sent.
    """
    original = getattr(owner, name)
    calls = itertools.count(1)
    is_sent = False

    def called(*arguments, **options):
        nonlocal is_sent
        done = original(*arguments, **options)
        if next(calls) == call:
            is_sent = True
            handle(signal.SIGINT)
        return done

    def interrupt(*_):
        nonlocal is_sent
        if is_sent:
            is_sent = False
            raise KeyboardInterrupt

    of_the_tests = signal.signal(signal.SIGINT, interrupt)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, called)
            yield
    except KeyboardInterrupt as escaped:
        raise AssertionError("the command did not handle the interruption") from escaped
    finally:
        signal.signal(signal.SIGINT, of_the_tests)


@pytest.mark.parametrize(("owner", "name", "saved"), INTERRUPTED_AFTER)
def test_an_interrupted_run_says_which_files_are_there(tmp_path, monkeypatch, owner, name, saved):
    model = tmp_path / "new.onnx"
    onnx.save(graphs.random_normal([2], 0.0, 1.0, "f32", global_seed=1), model)
    monkeypatch.chdir(tmp_path)
    with interrupted_after(monkeypatch, owner, name, call=2):
        said = cli.refusal("run", model.name, "--runs", 3, "-o", "cut", code=130)
    files = ["cut.run0.npz", "cut.run1.npz"][:saved]
    assert tree(tmp_path).keys() == {"new.onnx", *files}
    expected = f"\nonnx-philox: interrupted after {saved} of 3 runs. Saved: {', '.join(files)}.\n"
    assert said == expected


def in_place_of_an_interruption(error):
    """A function that fails as Python does where it is interrupted within an import in C."""

    def fail(*_, **__):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interruption:
            raise error from interruption

    return fail


@pytest.mark.parametrize(
    "error",
    [ValueError("half"), ImportError("half"), OSError(5, "half", "x")],
    ids=["ValueError", "ImportError", "OSError"],
)
@pytest.mark.parametrize(
    ("owner", "name", "command"),
    [
        (run, "look", "run"),
        (loading, "load_model", "run"),
        (StatedModel, "run", "run"),
        (rewritten_file, "rewrite", "rewrite -o made.onnx"),
        (compare, "compare", "compare"),
        (inspect, "inspect", "inspect"),
    ],
    ids=["run-look", "run-load", "run-run", "rewrite", "compare", "inspect"],
)
def test_an_error_that_an_interruption_led_to_is_an_interruption(
    tmp_path, monkeypatch, owner, name, command, error
):
    model = tmp_path / "new.onnx"
    onnx.save(graphs.random_normal([2], 0.0, 1.0, "f32", stateful=True), model)
    monkeypatch.setattr(owner, name, in_place_of_an_interruption(error))
    said = cli.refusal(*command.split(), model, code=130)
    assert said == "\nonnx-philox: interrupted.\n"


def test_a_signal_within_a_member_of_an_archive_ends_the_process(tmp_path):
    model = tmp_path / "new.onnx"
    onnx.save(graphs.random_normal([2], 0.0, 1.0, "f32", stateful=True), model)
    command = ["run", model, "--seed", "1", "-o", tmp_path / "cut", "--runtime", "reference"]
    child.forked(TERMINATED, *command, code=-signal.SIGTERM)
    assert tree(tmp_path).keys() == {"new.onnx"}


# Ends within a member of the file that it writes.
TERMINATED = """
import signal, zipfile
from onnx_philox._command import app
original = zipfile.ZipFile.open

def open(*arguments, **options):
    member = original(*arguments, **options)
    signal.raise_signal(signal.SIGTERM)
    return member

zipfile.ZipFile.open = open
app.app()
"""


# Interrupts the import of a library, and says at the end whether Python has it.
IMPORTING = """
import atexit, signal, sys
from onnx_philox.__main__ import main
library = sys.argv.pop(1)

class Interrupting:
    @staticmethod
    def find_spec(name, *_):
        if name == library:
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting)
atexit.register(lambda: print(library in sys.modules))
main()
"""


@pytest.mark.parametrize("library", ["click.core", "onnx", "onnxruntime"])
def test_an_import_goes_to_its_end_before_an_interruption_ends_the_command(tmp_path, library):
    model = tmp_path / "new.onnx"
    onnx.save(graphs.random_normal([2], 0.0, 1.0, "f32", global_seed=1), model)
    done = child.python("-c", IMPORTING, library, "run", model, code=130)
    said = (done.stdout, done.stderr.strip())
    assert said == ("True\n", "onnx-philox: interrupted.")


@pytest.mark.parametrize("name", ["m.onnx", "m.xml"])
def test_two_files_take_their_places_together_or_not_at_all(tmp_path, monkeypatch, name):
    source = write(tmp_path / "in" / "m.onnx", "data/weights.bin")
    last = tmp_path / "out" / name
    last.parent.mkdir()
    for old in (last, last.with_suffix(".bin")):
        old.write_bytes(b"old")
    replace = os.replace

    def fail(written, target):
        if Path(target) == last and Path(written).read_bytes() != b"old":
            # Beside weights that were there and are replaced, it would be of another time.
            assert last.exists() == (name == "m.onnx")
            raise PermissionError(13, "denied", str(target))
        replace(written, target)

    monkeypatch.setattr(os, "replace", fail)
    assert f"{last}: denied" in refusal(tmp_path, "rewrite", source, "-o", last)
