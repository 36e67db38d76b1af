"""The task pages in `docs/`: their examples, run as a reader runs them.

A page's blocks of `python` are one program, run block by block; those of `sh` are commands. Both
run in a folder that looks like the clone, and print what the block of `text` after them says; `...`
stands for what is another on another machine, and spaces do not count. Blocks of `py` and `bash`
need what the tests do without, Keras on TensorFlow for instance, and are not run: but the tests of
engines run the blocks of `py` of some pages.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
from pathlib import Path

import child
import cli
import pytest

ROOT = Path(__file__).parents[1]
PAGES = (
    *("make-my-model-reproducible", "serve-it", "mc-dropout", "install", "specification"),
    *("export-from-pytorch", "torchs-numbers", "where-no-plugin-can-go", "record-and-replay"),
    *("seeds-and-states", "exporters-and-tools", "same-numbers-and-law", "proved"),
)
# Whose blocks of `py` the tests of engines run.
ENGINES = ("export-from-pytorch", "torchs-numbers", "exporters-and-tools")
# A command of ours that no other command or expansion needs a shell for.
OURS = re.compile(r"onnx-philox [^|&;$`]*")
OTHERS = {"cpp", "js", "csharp", "pbtxt", "json"}  # languages that are read, not run
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run_commands(commands: str) -> str:
    """What the commands print on stdout. The first that fails ends them."""
    lines = commands.replace("\\\n", "").splitlines()
    return "".join(run_here(line) if OURS.fullmatch(line) else run_in_bash(line) for line in lines)


def run_here(line: str) -> str:
    """Our command in this process, which has loaded the runtimes."""
    words = shlex.split(line)
    file = words.pop() if words[-2] == ">" else None
    arguments = words[1 : -1 if file else None]
    done = cli.invoke(*arguments, env={"COLUMNS": "100"}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    if file is None:
        return done.stdout
    Path(file).write_text(done.stdout, "utf-8")
    return ""


def run_in_bash(line: str) -> str:
    scripts = Path(sys.executable).parent
    environment = {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "PYTHONWARNINGS": "error",
    }
    bash = ("bash", "-euo", "pipefail", "-c", line)
    return child.run(*bash, env=environment, timeout=300).stdout


def is_as_said(printed: str, said: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(said, printed, flags)


def blocks_of(name: str, run: set[str]) -> list[tuple[str, str]]:
    """A page's blocks of these languages, each with the block of `text` after it."""
    found, is_run = [], False
    for language, text in BLOCK.findall((ROOT / "docs" / f"{name}.md").read_text()):
        assert language in {"python", "py", "sh", "bash", "text", *OTHERS}
        is_run = is_run if language == "text" else language in run
        if is_run:
            found.append((language, text))
    return found


@pytest.mark.parametrize(
    ("name", "run"),
    [
        *(pytest.param(name, {"python", "sh"}, id=name) for name in PAGES),
        *(
            pytest.param(
                name, {"python", "sh", "py"}, marks=pytest.mark.engines, id=f"{name}, with engines"
            )
            for name in ENGINES
        ),
    ],
)
# Of PyTorch's exporter.
@pytest.mark.filterwarnings("ignore:.*(LeafSpec|training mode):Warning")
def test_a_pages_examples_print_what_it_says(
    name: str, run: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(name, run)
    assert {language for language, _ in blocks} >= run - {"sh"}
    names: dict[str, object] = {"__name__": name}
    # Of each block: what it printed, and whether the page has said so.
    printed, is_said = "", True
    for language, text in [*blocks, ("", "")]:
        if language == "text":
            assert is_as_said(printed, text), f"the page says:\n{text}\nprinted is:\n{printed}"
            is_said = True
            continue
        assert is_said or not printed, f"the page does not say that this is printed: {printed}"
        if language in ("python", "py"):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(text, f"{name}.md", "exec"), names)
            printed = out.getvalue()
        elif language == "sh":
            printed = run_commands(text)
        is_said = False


def test_every_page_for_a_task_is_tested_here() -> None:
    others = [
        *("README", "cuda", "design", "json", "limits", "operators", "promise"),
        *("torchs-calls", "troubleshooting"),
    ]
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} == {*PAGES, *others}
