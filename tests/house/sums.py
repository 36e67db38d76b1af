"""Prints how large each room is, in tokens and characters, beside a commit that you name.

    python -m tests.house.sums              the working tree
    python -m tests.house.sums 857f6fe7     each room beside what it was in that commit

Nothing reads these numbers: no test, no bound. They are for whoever asks what a change made larger.
A room is a folder or a module of src/onnx_philox, the tests, the C++ of a folder of custom_ops,
or the pages. Comments and docstrings are in neither number of Python; generated files are left out.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
GENERATED = (
    "custom_ops/core/kernels/coefficients.h",
    "custom_ops/core/kernels/declared_names.h",
    "custom_ops/core/operators_table.h",
    "custom_ops/core/torch/mt19937_jumps.h",
    "src/onnx_philox/graphs.py",
    "src/onnx_philox/openvino/_factories.py",
    "src/onnx_philox/reference.py",
)
_CPP_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CPP_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\w+|[^\w\s]')
_SILENT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def sums(commit: str | None = None) -> dict[str, tuple[int, int]]:
    """Tokens and characters (no spaces) of each room, of the working tree or of a commit."""
    tokens: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    for name, text in _files(commit):
        words = _words(name, text)
        room = _room(name)
        tokens[room] += len(words)
        characters[room] += sum(len(re.sub(r"\s", "", word)) for word in words)
    return {room: (tokens[room], characters[room]) for room in sorted(tokens)}


def _files(commit: str | None) -> Iterator[tuple[str, str]]:
    """Name and text of each file of Python, C++ and Markdown that is checked in, or would be."""
    if commit is None:
        listed = _git("ls-files", "--cached", "--others", "--exclude-standard")
    else:
        listed = _git("ls-tree", "-r", "--name-only", commit)
    for name in listed.splitlines():
        is_ours = name.endswith((".py", ".cpp", ".h", ".md"))
        if not is_ours or name in GENERATED:
            continue
        if commit is not None:
            yield name, _git("show", f"{commit}:{name}")
        elif (ROOT / name).is_file():
            yield name, (ROOT / name).read_text()


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def _room(name: str) -> str:
    parts = PurePosixPath(name).parts
    if name.endswith(".md"):
        return "pages"
    if name.startswith("src/onnx_philox/"):
        return f"src {parts[2].removesuffix('.py')}"
    if name.startswith("custom_ops/"):
        is_tests = "tests" in parts
        return f"C++ {parts[1]}{' (tests)' if is_tests else ''}"
    return parts[0]


def _words(name: str, text: str) -> list[str]:
    """The tokens of a file: words, where it is a page."""
    if name.endswith(".py"):
        return _python_tokens(text)
    if name.endswith(".md"):
        return text.split()
    return _CPP_TOKEN.findall(_CPP_COMMENT.sub("", text))


def _python_tokens(text: str) -> list[str]:
    docstrings = {
        (node.lineno, node.col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    return [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _SILENT and token.start not in docstrings
    ]


def main() -> None:
    commit = sys.argv[1] if len(sys.argv) > 1 else None
    now = sums()
    before = sums(commit) if commit else {}
    beside = f"   beside {commit}" if commit else ""
    print(f"{'room':28} {'tokens':>9} {'characters':>11}{beside}")
    for room in sorted(now | before):
        tokens, characters = now.get(room, (0, 0))
        line = f"{room:28} {tokens:9,} {characters:11,}"
        if commit:
            old_tokens, old_characters = before.get(room, (0, 0))
            line += f"   {tokens - old_tokens:+9,} {characters - old_characters:+11,}"
        print(line)


if __name__ == "__main__":
    main()
