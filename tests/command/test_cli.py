"""What all commands share: their help, its examples, their errors."""

from __future__ import annotations

import errno
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import numpy as np
import onnx
import pytest

import onnx_philox
from onnx_philox._command import app, frame, pages
from onnx_philox._command.verify import cases
from tests.common import child, cli
from tests.common.cli import invoke
from tests.common.foreign import parse

MODEL = Path(__file__).parents[1] / "models" / "vae_decoder.onnx"
COMMANDS = list(app.app.commands)


def test_the_help_is_the_same_by_both_names_fits_and_lists_every_command_whole() -> None:
    for command in COMMANDS:
        said = invoke(command, "-h").stdout
        assert said == invoke(command, "--help").stdout
        assert max(map(len, said.splitlines())) <= 80
        assert not any(line.endswith(" ") for line in said.splitlines())
        assert "<" not in said
        for line in ("Usage: onnx-philox ", "\nExample:\n  onnx-philox ", "\nExit code: 0, "):
            assert line in said
    said = " ".join(invoke("compare", "-h").stdout.split())
    defaults = re.findall(r"--\w+ [NX] .*?default: (.*?)\]", said)
    assert defaults == ["10", "0", "1", "0.001", "0.0001"]
    assert "in as many runs in one runtime as --seconds allow, at most 100,000" in said
    said = invoke("-h").stdout
    assert invoke().stdout == said
    assert [command for command in COMMANDS if f"\n  {command} " not in said] == []
    assert "..." not in said.partition("Commands:")[2]
    steps = [said.index(f"onnx-philox {step}") for step in ("inspect", "rewrite", "run")]
    assert steps == sorted(steps)


def test_the_example_of_each_help_runs_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(MODEL, "model.onnx")
    # The command with all vectors is long.
    some = cases.load_cases()[:3]
    monkeypatch.setattr(cases, "load_cases", lambda: some)
    for command in COMMANDS:
        _, _, after = invoke(command, "-h").stdout.partition("\nExample:\n")
        program, *arguments = shlex.split(after.splitlines()[0])
        assert (program, arguments[0]) == (frame.NAME, command)
        result = invoke(*arguments)
        assert result.exit_code == 0, (arguments, result.output)
        assert result.stdout
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"model.onnx", "new.onnx", "record.json", "report.html"}


def test_a_file_that_may_not_be_read_is_one_line_and_a_page_not_written_loses_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        # The root user may read every file.
        patch.setattr(os, "access", lambda _, mode: mode != os.R_OK)
        words = f"inspect: MODEL must be a file that you may read: got {MODEL}"
        assert words in cli.refusal("inspect", MODEL)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "page.html")

    monkeypatch.setattr(pages, "render", full)
    result = invoke(
        "inspect",
        str(MODEL),
        "--html",
        str(tmp_path / "page.html"),
    )
    assert result.exit_code == 2
    assert "1 random node" in result.stdout
    assert "page.html: No space left" in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="paths are UTF-8 there")
def test_a_path_need_not_be_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"m\xff.onnx")
    shutil.copy(MODEL, name)
    result = invoke("inspect", name, "--html", "page.html")
    assert result.exit_code == 0, result.output
    # The bytes themselves, so that the line can be copied.
    assert b"onnx-philox rewrite 'm\xff.onnx' -o 'm\xff.reproducible.onnx'\n" in result.stdout_bytes
    assert r"inspect m\udcff.onnx" in Path("page.html").read_text("utf-8")


@pytest.mark.skipif(os.name != "posix", reason="no folder that is in use can be deleted there")
@pytest.mark.parametrize(
    "command",
    [
        "rewrite {} -o new.onnx",
        "rewrite {} -o new.xml",
        "run {} --fill -o new",
        "inspect {} --html x.html",
        "verify --html x.html",
    ],
)
def test_a_working_directory_that_was_deleted_is_named(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert cli.refusal(*shlex.split(command.format(MODEL))).endswith(
        ": the working directory has been deleted. Change to another, or give absolute paths.\n"
    )


def test_the_package_is_the_command_too_and_an_interrupt_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = child.python("-m", "onnx_philox", "path", "x", code=2, timeout=120)
    words = "onnx-philox path: RUNTIME must be onnxruntime, openvino or cmake: got 'x'"
    assert (done.stdout, done.stderr.startswith(words)) == ("", True)

    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(frame, "check_stdout", interrupt)
    said = cli.refusal("path", "onnxruntime", code=130)
    assert said == "\nonnx-philox: interrupted.\n"


def test_colours_are_for_terminals_only() -> None:
    for environment, is_coloured in (({}, False), ({"FORCE_COLOR": "1"}, True)):
        said = invoke("run", env=environment).stderr
        assert (said != click.unstyle(said)) is is_coloured


# What no machine can take: one line, no traceback, nothing written.

COMMAND = [sys.executable, "-m", "onnx_philox"]
DEVICE = "/dev/full"
LAST_RUN = 2**32 - 1


@pytest.fixture
def noisy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A rewritten model whose input is x, alone in the working directory."""
    monkeypatch.chdir(tmp_path)
    model = parse("g (float[N] x) => (float[N] y) { n = RandomNormalLike(x) y = Add(x, n) }")
    onnx.save(onnx_philox.make_reproducible(model), "noisy.onnx")
    return "noisy.onnx"


def refused(given: str) -> str:
    """What is said of a bad input, which must be one line."""
    said = cli.refusal("run", "noisy.onnx", "--input", given)
    assert len(said.strip().splitlines()) == 1, said
    return said


@pytest.mark.usefixtures("noisy")
def test_an_input_nested_too_deep_is_refused_and_a_long_argument_not_echoed_whole() -> None:
    for depth in (100, 2000, 200_000):
        said = refused(f"x={'[' * depth}1{']' * depth}")
        assert "got '[[[[" in said
        assert "must be a file that ends in .npy, or numbers" in said
        assert len(said) < 500
    for argument in ("{}", "{}=1", "x={}.npy", "{}.npy", "{}.npz", "z={}", "{}=x.npy"):
        given = argument.format("[" * 2000 + "1" + "]" * 2000)
        assert len(cli.refusal("run", "noisy.onnx", "--input", given)) < 500
    for count, given in ((100, "{}=1"), (101, "{}=1"), (1020, "x={}.npy"), (1021, "x={}.npy")):
        said = cli.refusal("run", "noisy.onnx", "--input", given.format("z" * count))
        assert ("z..." in said) is (count in (101, 1021))
        assert count > 101 or "z" * 101 not in said


@pytest.mark.usefixtures("noisy")
def test_a_header_that_is_too_long_or_claims_more_than_memory_holds_is_refused() -> None:
    for elements in (2**40, 2**60, 2**62, 2**70):
        header = {"descr": "<f4", "fortran_order": False, "shape": (elements,)}
        member = io.BytesIO()
        np.lib.format.write_array_header_1_0(member, header)
        Path("x.npy").write_bytes(member.getvalue() + b"\0" * 64)
        said = refused("x=x.npy")
        words = "x.npy cannot be read: its header tells of more numbers than memory can hold. If "
        assert words in said
        assert said.endswith("damaged: write it again with numpy.save or numpy.savez.\n")
        with zipfile.ZipFile("x.npz", "w") as archive:
            archive.writestr("x.npy", member.getvalue())
        assert "x.npz cannot be read: " in refused("x.npz")
    fields = {"descr": [(f"f{i}", "<f4") for i in range(3000)]}
    with open("x.npy", "wb") as file:
        np.lib.format.write_array_header_2_0(file, fields | {"fortran_order": False, "shape": (2,)})
    said = refused("x=x.npy")
    assert "x.npy cannot be read: Header info length (" in said
    assert said.endswith(" numpy.save or numpy.savez, one of strings as array.astype(str).\n")
    assert not re.search("max_header_size|allow_pickle", said)


@pytest.mark.usefixtures("noisy")
@pytest.mark.skipif(not Path(DEVICE).exists(), reason=f"this system has no {DEVICE}")
@pytest.mark.parametrize(
    "words",
    [
        "rewrite noisy.onnx -o new.onnx",
        "rewrite noisy.onnx -o new.onnx --json",
        "rewrite noisy.onnx -o new.xml",
        "run noisy.onnx --input x=[1,2] -o out",
        "inspect noisy.onnx",
        "verify --runtime reference",
        "--help",
        "--version",
    ],
)
def test_a_full_standard_output_is_an_error_of_one_line(words: str, tmp_path: Path) -> None:
    for target, why in ((f">{DEVICE}", "No space left on device"), (">&-", "Bad file descriptor")):
        line = f"{shlex.join(COMMAND)} {words} {target}"
        done = subprocess.run(
            ["sh", "-c", line],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr == (
            f"onnx-philox: standard output cannot be written: {why}. "
            "Free space there, or print elsewhere.\n"
        )
    assert [p.name for p in tmp_path.iterdir()] == ["noisy.onnx"]


@pytest.mark.usefixtures("noisy")
def test_after_the_last_run_of_a_seed_another_seed_is_advised() -> None:
    run = ("run", "noisy.onnx", "--input", "x=[1]", "--first-run")
    assert f"Go on with --first-run {LAST_RUN};" in cli.text(*run, LAST_RUN - 1)
    words = "Go on with another seed; repeat any run with --first-run N."
    assert words in cli.text(*run, LAST_RUN)
