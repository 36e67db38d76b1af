"""Writes docs/known-behaviours.md from the table that inspect reads.

python docs/make_known_page.py          write it
python docs/make_known_page.py --check  exit 1 if it is not what would be written
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from onnx_philox._command.inspect.known import ROWS, KnownBehaviour, known_in_ir

PAGE = Path(__file__).with_name("known-behaviours.md")
_NAMES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
HEAD = """\
# What runtimes do with random nodes

Each row is a behaviour of a runtime without this package, on a valid model, and the release in
which it was seen, on Linux and a CPU. `onnx-philox inspect` names the rows that a model meets, the
worst first; so do its page, its JSON, `rewrite` and `compare --original`. A test runs the bare
runtime for each row, and fails where a release that the row names does otherwise. After a rewrite
none of them is met.

This page is made from the table that the commands read (`python docs/make_known_page.py`). Words in
capitals stand for what is in the model.
"""
_WRONG = """\
## Numbers that the model does not ask for

They are constant, of another law, or depend on each other.
"""
_OTHERS = """\
## Numbers that may surprise
"""
_COLUMNS = """\
| behaviour | runtime | what inspect says | known by | a rewritten node |
|---|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    every = (*ROWS, *known_in_ir.ROWS)
    wrong = [row for row in every if row.is_wrong]
    others = [row for row in every if not row.is_wrong]
    return f"{HEAD}\n{_WRONG}\n{_table(wrong)}\n{_OTHERS}\n{_table(others)}"


def _table(rows: list[KnownBehaviour]) -> str:
    lines = [
        f"| {row.name} | {_runtimes(row)} | {_says(row)} | {row.met_by} | {row.after} |\n"
        for row in rows
    ]
    return _COLUMNS + "".join(lines)


def _runtimes(row: KnownBehaviour) -> str:
    return ", ".join(f"{_NAMES[name]} {release}" for name, release in row.seen_in.items())


def _says(row: KnownBehaviour) -> str:
    """The sentence, with what is in the model in capitals."""
    return re.sub(r"\{(\w+)\}", lambda name: name[1].upper(), row.says)


def main() -> None:
    """Writes the page, or checks that it is what would be written."""
    if "--check" in sys.argv:
        if PAGE.read_text("utf-8") != page():
            sys.exit(f"{PAGE.name} is not what its script makes: run {Path(__file__).name}")
        return
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
