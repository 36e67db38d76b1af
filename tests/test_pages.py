"""The task pages in `docs/`: their examples, run as a reader runs them.

A page's blocks of `python` are one program, run block by block; those of `sh` are commands. Both
run in a folder that looks like the clone, and print what the block of `text` after them says; `...`
stands for what is another on another machine, and spaces do not count. Blocks of `py` and `bash`
need what the tests do without, Keras on TensorFlow for instance, and are not run: but the tests of
engines run the blocks of `py` of some pages.

And the pictures: `docs/make_pictures.py --check`, which test_layout.py runs, says that all are
there, small, and drawn from what the repository holds now. Drawing them takes half a minute, and is
not tested.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
import xml.etree.ElementTree as ET
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


# The pictures of README and docs: shown light and dark, and described.

PICTURES = ROOT / "docs" / "pictures"
NAMES = sorted({path.stem.rpartition("-")[0] for path in PICTURES.iterdir()})
ALL_PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]
PICTURE = re.compile(
    r"""<picture>
  <source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">
  <img alt="([^"]+)" src="([^"]+)" width="800">
</picture>"""
)


def shown() -> dict[str, Path]:
    """Each picture that a page shows, and the page."""
    found = {}
    for page in ALL_PAGES:
        text = page.read_text()
        blocks = PICTURE.findall(text)
        assert len(blocks) == text.count("<img") == text.count("<picture"), page
        for dark, alt, light in blocks:
            name = Path(light).stem.removesuffix("-light")
            assert (page.parent / light).resolve() == PICTURES / f"{name}-light.svg", page
            assert (page.parent / dark).resolve() == PICTURES / f"{name}-dark.svg", page
            assert len(alt) > 40, f"{page} does not describe {name}"
            found[name] = page
    return found


def test_every_picture_is_on_a_page_and_every_page_s_picture_is_there() -> None:
    assert sorted(shown()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_dark_picture_says_what_the_light_one_says(name: str) -> None:
    def texts(shade: str) -> list[str]:
        tree = ET.parse(PICTURES / f"{name}-{shade}.svg")
        return ["".join(e.itertext()) for e in tree.iter("{http://www.w3.org/2000/svg}text")]

    assert texts("dark") == texts("light") != []


def test_the_sentence_above_the_equal_images_says_that_they_are_equal() -> None:
    before, _, _ = (ROOT / "README.md").read_text().partition("docs/pictures/after-dark.svg")
    last = before.rpartition("<picture>")[0].rstrip().rpartition("\n\n")[2]
    assert "the same" in last
    assert "no image" not in last


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 100
