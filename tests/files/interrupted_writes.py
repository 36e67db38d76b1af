"""Ends a command at each of its changes to the disk, or lets the disk be full from there on.

python -m tests.files.interrupted_writes [WORDS]     the cases whose names have all these words

What is preloaded (interrupted_writes.cpp) counts the changes. At number n, for every n, it ends the
process by SIGKILL, what is written then by half, or says from n on that the disk is full. Then each
file must be the old one or the new one, whole, and a model beside its own data, or not be there. A
full disk must be said in words, and leave all as it was.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from onnx_philox import rewriting
from onnx_philox._command.app import app
from tests.common import child
from tests.common.file_cases import tree, write
from tests.files import fuzz_files

SOURCE = Path(__file__).with_suffix(".cpp")
KILL, FULL = 1, 2
Tree = dict[str, str]

_libc = ctypes.CDLL(None)
_at = getattr(_libc, "interrupt_at", None)


class Case(NamedTuple):
    """A command, and which files stand where it writes."""

    name: str
    prepare: Callable[[Path], None]
    words: str
    """The command: what is in `in/` is read, what is in `out/` is written."""
    leader: str = ""
    """Of several files, the one that leads to the others: it may be missing between the old and the
    new one, and not stand beside files of another time."""

    def command(self, folder: Path) -> list[str]:
        words = self.words.split()
        return [f"{folder}/{word}" if "/" in word else word for word in words]


def _olds(
    *names: str,
    location: str | None = None,
) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        write(folder / "in" / "model.onnx", location)
        rewriting.rewrite_file(folder / "in" / "model.onnx", folder / "in" / "drawn.onnx")
        (folder / "out").mkdir()
        for name in names:
            (folder / "out" / name).write_bytes(f"the old {name}".encode())

    return prepare


def _in_place(folder: Path) -> None:
    write(folder / "out" / "model.onnx")


REWRITE = "rewrite in/model.onnx -o out/o.onnx"
RUN = "run --runtime reference --seed 1 in/drawn.onnx"
CASES = (
    Case("rewrite", _olds("o.onnx"), REWRITE),
    Case("rewrite, a new file", _olds(), REWRITE),
    Case("rewrite, in place", _in_place, "out/model.onnx"),
    Case(
        "rewrite, external data",
        _olds("o.onnx", location="w.bin"),
        REWRITE,
        "o.onnx",
    ),
    Case(
        "rewrite, standard nodes",
        _olds("o.onnx"),
        f"{REWRITE} --standard --target onnxruntime",
    ),
    Case(
        "rewrite, a page's model",
        _olds("o.onnx"),
        f"{REWRITE} --standard --target web",
    ),
    Case(
        "rewrite, an IR",
        _olds("o.xml", "o.bin"),
        "rewrite in/model.onnx -o out/o.xml",
        "o.xml",
    ),
    Case(
        "run, a record",
        _olds("record.json"),
        f"{RUN} --record out/record.json",
    ),
    Case(
        "run, arrays",
        _olds("o.run0.npz"),
        f"{RUN} -o out/o",
    ),
    Case("inspect, a page", _olds("o.html"), "inspect in/model.onnx --html out/o.html"),
)


def _do(words: list[str]) -> None:
    """Runs a command; a file alone is rewritten in place, which no command does."""
    if len(words) > 1:
        app(words)
    try:
        rewriting.rewrite_file(*words, *words)
    except OSError as error:
        print(error)
        raise SystemExit(2) from None


def _tried(
    case: Case,
    number: int,
    how: int,
) -> tuple[int | None, int, Tree, Tree, str]:
    """How it ended, how many changes there were, the files before and after, and what was said."""
    with tempfile.TemporaryDirectory(prefix="onnx-philox-writes-") as name:
        folder = Path(name)
        case.prepare(folder)
        files = partial(tree, folder / "out", folder.name.encode())  # records and pages name it
        before = files()
        count = folder / "count"
        count.write_bytes(b"")

        def action() -> None:
            words = case.command(folder)
            if words[0] == "inspect":
                fuzz_files.hide_runtimes()
            _libc.interrupt_at(
                os.fsencode(folder / "out"),
                ctypes.c_long(number),
                how,
            )
            try:
                _do(words)
            finally:
                count.write_text(str(_libc.interrupt_end()))

        code = fuzz_files.run_apart(action, folder / "log", 120, 2**34)
        said = (folder / "log").read_text(errors="replace")
        return code, int(count.read_text() or 0), before, files(), said


def _is_whole(case: Case, before: Tree, after: Tree, new: Tree) -> bool:
    """Whether each file is an old or a new one, and what the leader leads to is of its time."""
    after = {n: x for n, x in after.items() if not any(p.startswith(".") for p in Path(n).parts)}
    if after == new:
        return True
    if any(content not in (before.get(name), new[name]) for name, content in after.items()):
        return False
    if not case.leader or case.leader not in after:
        return True
    is_old = after[case.leader] == before.get(case.leader)
    return is_old and all(after.get(name) == content for name, content in before.items())


def _wrong(case: Case) -> tuple[int, list[str]]:
    """How many changes it makes, and what is wrong where they are interrupted."""
    code, changes, before, new, said = _tried(case, 0, KILL)
    if code != 0 or changes == 0:
        return 0, [f"it ends by {code} without an interruption: {said}"]
    found = []
    for number in range(1, changes + 1):
        code, _, _, after, said = _tried(case, number, KILL)
        what = f"killed at change {number}"
        if code != -signal.SIGKILL:
            found.append(f"{what}: it ends by {code}: {said[-300:]}")
        elif not _is_whole(case, before, after, new):
            found.append(f"{what}: {sorted(after)}, not whole")
        code, _, _, after, said = _tried(case, number, FULL)
        what = f"a full disk from change {number} on"
        if code == 0:
            if after != new:
                found.append(f"{what}: it succeeds, with other files: {sorted(after)}")
        elif code != 2 or "No space left on device" not in said or "Traceback" in said:
            found.append(f"{what}: it ends by {code}: {said[-300:]}")
        elif after != before:
            found.append(f"{what}: it leaves {sorted(after.items() ^ before.items())}")
    return changes, found


def main() -> int:
    """Tries all; 1 if something is wrong."""
    chosen = [case for case in CASES if all(word in case.name for word in sys.argv[1:])]
    if not chosen:
        sys.exit(f"{__doc__}\nThe cases: {'; '.join(case.name for case in CASES)}")
    if _at is None:
        return child.again(SOURCE, *sys.argv[1:])
    fuzz_files.load_commands()
    np.zeros(1)
    is_wrong = False
    for case in chosen:
        changes, found = _wrong(case)
        print(f"{case.name}: {changes} changes", *found, sep="\n  FOUND ", flush=True)
        is_wrong = is_wrong or bool(found)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
