"""What all commands share: their help, its examples, their errors, completion."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import sys
from pathlib import Path

import child
import click
import pytest
from cli import invoke

from onnx_philox._command import app, frame, pages
from onnx_philox._command.verify import cases

MODEL = Path(__file__).with_name("models") / "vae_decoder.onnx"
COMMANDS = list(app.app.commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_is_the_same_by_both_names_and_fits(command: str) -> None:
    said = invoke(command, "-h").stdout
    assert said == invoke(command, "--help").stdout
    assert max(map(len, said.splitlines())) <= 80
    assert not any(line.endswith(" ") for line in said.splitlines())
    assert "<" not in said
    for line in ("Usage: onnx-philox ", "\nExample:\n  onnx-philox ", "\nExit code: 0, "):
        assert line in said


def test_the_help_of_all_lists_every_command_whole() -> None:
    said = invoke("-h").stdout
    assert invoke().stdout == said
    for command in COMMANDS:
        assert f"\n  {command} " in said
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


def test_a_file_that_may_not_be_read_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    # The root user may read every file.
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.R_OK)
    result = invoke("inspect", str(MODEL))
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"inspect: MODEL must be a file that you may read: got {MODEL}" in result.stderr


@pytest.mark.usefixtures("untried")
def test_a_page_that_cannot_be_written_does_not_lose_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "page.html")

    monkeypatch.setattr(pages, "render", full)
    result = invoke("inspect", str(MODEL), "--html", str(tmp_path / "page.html"))
    assert result.exit_code == 2
    assert "1 random node" in result.stdout
    assert "page.html: No space left" in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="paths are UTF-8 there")
@pytest.mark.usefixtures("untried")
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
        *("rewrite {} -o new.onnx", "rewrite {} -o new.xml", "run {} --fill -o new"),
        *("inspect {} --html x.html", "verify --html x.html"),
    ],
)
def test_a_working_directory_that_was_deleted_is_named(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = invoke(*shlex.split(command.format(MODEL)))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(
        ": the working directory has been deleted. Change to another, or give absolute paths.\n"
    )


def test_the_package_is_the_command_too() -> None:
    done = child.python("-m", "onnx_philox", "path", "x", code=None, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "onnx-philox path: RUNTIME must be onnxruntime, openvino or cmake: got 'x'"
    )


def test_an_interrupt_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(frame, "check_stdout", interrupt)
    result = invoke("path", "onnxruntime")
    assert (result.exit_code, result.stderr) == (130, "\nonnx-philox: interrupted.\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell: str) -> None:
    said = invoke("completion", shell).stdout
    assert f"_ONNX_PHILOX_COMPLETE={shell}_complete" in said


def test_bash_completes_commands_options_and_names(tmp_path: Path) -> None:
    script = tmp_path / "complete.bash"
    script.write_text(invoke("completion", "bash").stdout)
    for words, expected in (
        ("onnx-philox comp", {"compare", "completion"}),
        ("onnx-philox run --fi", {"--first-run", "--fill"}),
        ("onnx-philox rewrite --target op", {"openvino"}),
    ):
        command = (
            f"source {shlex.quote(str(script))}; COMP_WORDS=({words}); "
            "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _onnx_philox_completion onnx-philox; "
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = child.run("bash", "-c", command, timeout=120)
        assert set(done.stdout.split()) == expected


def test_colours_are_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    said = invoke("run").stderr
    assert said == click.unstyle(said)
    monkeypatch.setenv("FORCE_COLOR", "1")
    said = invoke("run").stderr
    assert said != click.unstyle(said)
