"""Sums of the house that may only fall, each beside its bound.

    python tests/sums.py            prints them

The bounds are in bounds.toml; test_layout.py fails above one. To raise one is a commit of its own,
which says who gains. `.ci/run` prints the processor time of pytest beside its bound.
"""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
GENERATED = (
    *("custom_ops/core/kernels/coefficients.h", "custom_ops/core/kernels/declared_names.h"),
    *("custom_ops/core/torch/mt19937_jumps.h", "custom_ops/core/operators_table.h"),
    *("src/onnx_philox/graphs.py", "src/onnx_philox/openvino/_factories.py"),
    "src/onnx_philox/reference.py",
)
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SILENT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def bounds() -> dict[str, int]:
    return tomllib.loads((ROOT / "tests/bounds.toml").read_text())


def sums() -> dict[str, int]:
    """All but the processor time of pytest."""
    pages = list(_files("docs", ".md"))
    others = [file for file in _files(".", ".md") if file not in pages]
    by_hand = [f for f in _files("custom_ops", ".h", ".cpp") if not _is_apart(f)]
    return {
        "src": sum(map(_code, _files("src", ".py"))),
        "tests": sum(map(_code, _files("tests", ".py"))),
        "tests_data": sum(map(_lines, _files("tests", ".json", ".txt", ".xml", ".toml"))),
        "cpp": sum(_lines(file, _COMMENTS) for file in by_hand),
        "docs_words": sum(len(file.read_text().split()) for file in pages),
        "other_words": sum(len(file.read_text().split()) for file in others),
        "pages": len(pages),
    }


def _files(folder: str, *endings: str) -> Iterator[Path]:
    """Those that are checked in, or would be."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = (ROOT / name for name in names.split("\0") if name.endswith(endings))
    return (file for file in files if file.is_file())


def _is_apart(file: Path) -> bool:
    """Whether C++ is a test's, generated, of NVIDIA's cards, or a benchmark's."""
    name = file.relative_to(ROOT).as_posix()
    return name in GENERATED or bool({"tests", "bench"} & {*file.parts}) or "cuda" in name


def _lines(file: Path, comments: re.Pattern[str] | None = None) -> int:
    text = file.read_text()
    text = text if comments is None else comments.sub("", text)
    return sum(not line.isspace() for line in text.splitlines() if line)


def _code(file: Path) -> int:
    """The lines of Python without blanks, comments and docstrings."""
    found: set[int] = set()
    statement: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(file.read_text()).readline):
        if token.type not in _SILENT:
            statement.append(token)
        elif token.type == tokenize.NEWLINE:
            if any(part.type != tokenize.STRING for part in statement):
                found.update(*(range(t.start[0], t.end[0] + 1) for t in statement))
            statement = []
    return len(found)


if __name__ == "__main__":
    for what, much in sums().items():
        print(f"{what:14} {much:9,} of {bounds()[what]:9,}")
