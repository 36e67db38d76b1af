"""The command as the tests call it, and the keys of its documents by the page that users read."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click.testing

from onnx_philox._command.app import app
from tests.common import child

NOISY = """noisy (float[batch, 3] x) => (float[batch, 3] y) {
    noise = RandomNormalLike (x)  y = Add (x, noise) }"""
# An input and an output like a state and the next, which no random node reads.
COUNTING = NOISY.replace("x) =>", "x, uint32[6] state) =>").replace(
    "y) {", "y, uint32[6] next_state) { next_state = Identity (state)"
)
INPUT = "x=[[1,2,3],[4,5,6]]"
PAGE = Path(__file__).parents[2] / "docs" / "json.md"
REPORTS = Path(__file__).parents[1] / "command" / "reports.txt"


def invoke(*arguments: object, **options: Any) -> click.testing.Result:
    """Runs it in this process."""
    return click.testing.CliRunner().invoke(app, [*map(str, arguments)], **options)


def apart(
    *arguments: object, without: Iterable[str] = (), first: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs it in a process that cannot import some modules, after a line; its output is piped."""
    missing = f"import runpy, sys; sys.modules |= dict.fromkeys({(*without,)!r}); {first}"
    program = f"{missing}\nrunpy.run_module('onnx_philox', run_name='__main__')"
    return child.forked(program, *arguments, code=None)


def document(*arguments: object, code: int = 0) -> dict[str, Any]:
    """The document that it prints."""
    result = invoke(*arguments, "--json")
    assert result.exit_code == code, result.output
    return dict(json.loads(result.stdout))


def text(*arguments: object, code: int = 0, **options: Any) -> str:
    """What it says, its lines joined."""
    result = invoke(*arguments, **options)
    assert result.exit_code == code, result.output
    return " ".join(result.stdout.split())


def refusal(*arguments: object, code: int = 2, **options: Any) -> str:
    """What it refuses, with nothing else said."""
    result = invoke(*arguments, **options)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    return result.stderr


def assert_as_said(name: str, text: str) -> None:
    """The text is what `reports.txt` has under the name, but for spaces at the ends of lines.

    `WRITE_REPORTS=1 pytest tests/command` writes it there.
    """
    reports = REPORTS.read_text("utf-8")
    (said,) = re.finditer(
        rf"^### {name}\n(.*?)(?=^###|\Z)",
        reports,
        re.S | re.M,
    )
    lines = [line.rstrip() for line in text.splitlines()]
    if "WRITE_REPORTS" in os.environ:
        written = "".join(f"{line}\n" for line in lines)
        REPORTS.write_text(reports[: said.start(1)] + written + reports[said.end(1) :], "utf-8")
    else:
        assert lines == said[1].splitlines()


def assert_page_as_said(name: str, page: Path) -> None:
    """Likewise a page, but for its frame; its pictures by their hashes."""
    text = " ".join(page.read_text("utf-8").split())
    text = text[text.index("<section") : text.rindex("<section")]
    text = re.sub("<svg.*?</svg>", lambda svg: hashlib.md5(svg[0].encode()).hexdigest(), text)
    assert_as_said(name, re.sub("(?<=/tr>|/ul>|ure>|ion>) ", "\n", text))


def keys_said(command: str) -> tuple[int, set[str]]:
    """The schema of a command's document, and its keys, as the page has them."""
    section = _section(rf"`{command} --json`, schema 1")
    nodes = set(_keys(_section("A random node")))
    lists = re.findall(r"^- `(\w+)` .*\(#a-random-node\)", section, re.MULTILINE)
    return 1, {*_keys(section), *(f"{each}[].{key}" for each in lists for key in nodes)}


def _section(heading: str) -> str:
    pattern = rf"^## {heading}\n(.*?)(?=^## |\Z)"
    (text,) = re.findall(
        pattern,
        PAGE.read_text("utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    return str(text)


def _keys(section: str) -> Iterator[str]:
    """Those of its list: a line may have several, of which `.name` has the parent of the first."""
    for cell in re.findall(r"^- (`.+?`)(?: \([^`]*?\))?: ", section, re.MULTILINE):
        parent = cell[1:].partition("`")[0].rpartition(".")[0]
        yield from (
            parent + key if key.startswith(".") else key for key in re.findall("`(.+?)`", cell)
        )


def keys_of(
    document: dict[str, Any],
    prefix: str = "",
) -> Iterator[str]:
    """All keys of a document; those of the objects in a list after the list's."""
    for key, value in document.items():
        yield f"{prefix}{key}"
        for each in value if isinstance(value, list) else ():
            if isinstance(each, dict):
                yield from keys_of(each, f"{prefix}{key}[].")
