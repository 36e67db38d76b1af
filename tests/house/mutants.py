"""Changes the source in one place at a time, and says which changes no test notices.

    python -m tests.house.mutants
        sixty changes of src, ten of custom_ops/core
    python -m tests.house.mutants --seed 7 --python 200 --cpp 30 [ROOM ...]
        others; rooms as _rewriting
    python -m tests.house.mutants --coverage .coverage
        with what `pytest --cov --cov-context=test` has left

Needs `pip install pytest-cov tree-sitter-python tree-sitter-cpp`. A change: a comparison becomes
its neighbour, `and` becomes `or`, a `not` goes, an integer grows by one, a condition turns round.
One of src is tried by a case of each of 25 functions that reach its line, the narrowest first;
what they leave alive, by all functions that reach it. One of the core is tried by the core's
programs, then by what calls the library from Python. All of it happens in copies of the commit
that is checked out. It ends with 1 if more than one change in twenty lives; `mutants.toml` lists
those that nobody can see.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import importlib.metadata
import importlib.util
import multiprocessing
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import coverage
import pytest
import tree_sitter
import tree_sitter_cpp
import tree_sitter_python

ROOT = Path(__file__).parents[2]
UNSEEN = tomllib.loads((ROOT / "tests" / "house" / "mutants.toml").read_text())["change"]
LISTED = {(listed["file"], listed["line"]) for listed in UNSEEN}
"""The changes that nobody can see: a file, and the text of the change."""
SRC = Path("src/onnx_philox")
CORE = Path("custom_ops/core")
OTHERS = {
    "neon.h",
    "tests",
    "bench",
    "operators_table.h",
    "mt19937_jumps.h",
    "coefficients.h",
    "declared_names.h",
}
"""What no processor of this kind runs, and what scripts write."""
FEW, LIMIT, LONGER = 25, 900, 1800
HEAVY = ["numpy", "onnx", "onnx_ir", "onnxruntime", "openvino", "scipy.stats"]
"""What each process would import anew; forks of one process share it."""
SWAPPED = {
    "==": "!=",
    "<": "<=",
    ">": ">=",
    "is": "is not",
    "in": "not in",
    "and": "or",
}
SWAPPED = {
    "&&": "||",
    **SWAPPED,
    **{after: before for before, after in SWAPPED.items()},
}
NATIVE = (
    "tests/torch_numbers/test_alignment.py",
    "tests/contract/test_bad_input.py",
    "tests/core/test_c_interface.py",
    "tests/numbers/test_distributions_bits.py",
    "tests/contract/test_every_operator.py",
    "tests/core/test_memory.py",
    "tests/core/test_native.py",
    "tests/in_onnxruntime/test_onnxruntime.py",
    "tests/numbers/test_permutation.py",
    "tests/numbers/test_token.py",
    "tests/torch_numbers/test_torch_numbers.py",
    "tests/torch_numbers/test_torch_state.py",
)
"""Files of tests that draw by the library for ONNX Runtime."""
BINARY = {"comparison_operator", "boolean_operator", "binary_expression"}
CONDITIONAL = {"if_statement", "elif_clause", "conditional_expression"}

Cases = dict[str, dict[int, set[str]]]
"""By file and line, the cases that reach it, as `tests/core/test_x.py::test_y[z]|run`."""


@dataclasses.dataclass(frozen=True)
class Change:
    """Bytes of a file, and what they become; its line, and those of what it is part of."""

    file: Path
    lines: tuple[int, ...]
    start: int
    end: int
    after: str
    text: str
    """The line with the change in it, as `if a [< -> <=] b:`."""

    def __str__(self) -> str:
        return f"{self.file}:{self.lines[0]}  {self.text}"

    @property
    def room(self) -> str:
        """The folder in the package or the core, or the package."""
        return "/".join(self.file.parts[1 : max(len(self.file.parts) - 1, 2)][:2])


def changes(root: Path, file: Path) -> Iterator[Change]:
    python = file.suffix == ".py"
    language = tree_sitter_python if python else tree_sitter_cpp
    source = (root / file).read_bytes()
    texts = source.decode().splitlines()
    tree = tree_sitter.Parser(tree_sitter.Language(language.language())).parse(source)
    waiting: list[tuple[Any, tuple[int, ...]]] = [(tree.root_node, ())]
    while waiting:
        node, lines = waiting.pop()
        # An expression is run by the line that it or its statement begins on.
        lines = (node.start_point.row + 1, *(() if node.type == "block" else lines))
        waiting += [(child, lines) for child in node.children]
        for place, after in changed(node, "not " if python else "!"):
            (row, column), line = place.start_point, texts[place.start_point.row]
            before = place.text.decode().partition("\n")[0]
            change = f"[{before} -> {'not ...' if len(after) > 20 else after}]"
            text = f"{line[:column]}{change}{line[column + len(before) :]}".strip()
            # To NumPy any number below 0 is a reshape's -1.
            if "TYPE_CHECKING" not in text and not re.search(r"\.reshape\((\w+, )?-\[1 ->", text):
                at = (row + 1, *lines)
                yield Change(file, at, place.start_byte, place.end_byte, after, text)


def changed(
    node: Any,
    negation: str,
) -> Iterator[tuple[Any, str]]:
    """What can change in a node, its own word or its condition."""
    word = node.text.decode()
    above = node.parent
    if node.type == "integer" or (node.type == "number_literal" and not set(word) & set(".p")):
        yield node, f"({word} + 1)"
    elif not node.is_named and above.type in BINARY and word in SWAPPED:
        yield node, SWAPPED[word]
    elif word == negation.strip() and above.type in ("not_operator", "unary_expression"):
        yield node, ""
    elif node.type in CONDITIONAL:
        condition = node.child_by_field_name("condition") or node.named_children[1]
        condition = condition.child_by_field_name("value") or condition
        if condition.type not in ("declaration", "condition_clause"):
            yield condition, f"{negation}({condition.text.decode()})"


def copied(folder: Path) -> Path:
    """A copy of the commit, with what a build adds to the package, which imports from there."""
    subprocess.run(
        ["git", "-c", "advice.detachedHead=false", "clone", "-qs", ROOT, folder], check=True
    )
    for file in importlib.metadata.files("onnx-philox") or ():
        target = folder / "src" / file
        if file.parts[0] == "onnx_philox" and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), target)
    # Of an editable install, which would find the original.
    finders = "[f for f in sys.meta_path if '_editable' not in type(f).__module__]"
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.meta_path[:] = {finders}\n")
    return folder


@contextlib.contextmanager
def made(folder: Path, change: Change) -> Iterator[None]:
    """The change, for as long as it lasts."""
    path = folder / change.file
    source = path.read_bytes()
    compiled = Path(importlib.util.cache_from_source(str(path)))
    path.write_bytes(source[: change.start] + change.after.encode() + source[change.end :])
    try:
        compiled.unlink(missing_ok=True)
        yield
    finally:
        path.write_bytes(source)
        compiled.unlink(missing_ok=True)


class Pytest:
    """Runs cases in a copy, in a process that has imported the runtimes already."""

    def __init__(self, marks: str) -> None:
        os.environ |= {"OPENBLAS_NUM_THREADS": "1", "JENKINS_URL": "none"}
        self.marks, self.left_out = marks, set[str]()
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["__main__", *HEAVY])

    def __call__(self, folder: Path, limit: float, *arguments: str) -> list[str]:
        """Which cases are red, or how it ended."""
        left_out = (f"--deselect={case}" for case in self.left_out)
        arguments = ("-qm", self.marks, "-pno:cacheprovider", *left_out, *arguments)
        said = folder / "red"
        said.write_text("")
        process = self.context.Process(target=forked, args=(folder, said, arguments))
        process.start()
        assert process.pid is not None
        process.join(limit)
        code = process.exitcode
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.join()
        if code in (0, pytest.ExitCode.NO_TESTS_COLLECTED, *((None,) if limit == LONGER else ())):
            return []
        last = (folder / "log").read_text(errors="replace").splitlines()[-1:]
        return said.read_text().splitlines() or [f"(ended with {code})", *last]

    def first_red(
        self,
        folder: Path,
        limit: float,
        tests: Iterable[str],
    ) -> list[str]:
        red = self(folder, limit, "-x", *tests)
        if red[:1] == [f"(ended with {pytest.ExitCode.USAGE_ERROR})"]:
            # A file is not read any more, or its cases have other names.
            red = self(folder, limit, "-x", *{test.partition("::")[0] for test in tests})
        return red


def forked(folder: Path, said: Path, arguments: Sequence[str]) -> None:
    """Ends with the exit code of pytest."""

    class Said:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                with said.open("a") as file:
                    file.write(f"{report.nodeid}\n")

    os.setsid()
    os.chdir(folder)
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    paths = [str(folder), str(folder / "src")]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    sys.path[:0] = paths
    sys.meta_path[:] = [f for f in sys.meta_path if "_editable" not in type(f).__module__]
    os._exit(pytest.main(list(arguments), plugins=[Said()]))


def function_of(case: str) -> str:
    """A case's function; its file, where a fixture runs the line: others may have that too."""
    name, _, phase = case.partition("|")
    return name.partition("::" if phase == "setup" else "[")[0]


class Python:
    def __init__(self, run: Pytest, cases: Cases) -> None:
        self.run, self.reached = run, cases
        self.width = collections.Counter(
            case for lines in cases.values() for found in lines.values() for case in found
        )

    def cases(self, change: Change) -> list[str]:
        """Those that reach it, the narrowest first; if imports alone do, any of its folder's."""
        lines = self.reached.get(str(change.file), {})
        found = next((lines[line] for line in change.lines if lines.get(line)), set())
        if found != {""}:
            return sorted(found - {""}, key=lambda case: (self.width[case], case))
        folder = change.file.parent
        near = (lines for name, lines in self.reached.items() if Path(name).parent == folder)
        every = sorted(set().union(*(cases for lines in near for cases in lines.values())) - {""})
        random.Random(change.start).shuffle(every)
        return every

    def __call__(self, change: Change, folder: Path) -> list[str]:
        few: dict[str, str] = {}
        for case in self.cases(change):
            few.setdefault(case.partition("[")[0].partition("|")[0], case.partition("|")[0])
        # What scripts write of the source is fresh, another process says.
        every = [*dict.fromkeys(map(function_of, self.cases(change))), "tests/house/test_layout.py"]
        with made(folder, change):
            return self.run.first_red(folder, LIMIT, [*few.values()][:FEW]) or self.run.first_red(
                folder, LONGER, every
            )


class Cpp:
    """Tries changes of the core: by its own programs, then through the library for ONNX Runtime."""

    def __init__(self, run: Pytest, folder: Path) -> None:
        self.run, self.build = run, folder / "build"
        options = ["-DONNX_PHILOX_BUILD_TESTS=ON", "-DONNX_PHILOX_WERROR=OFF"]
        options += ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"]
        source = [
            "-S",
            str(folder / "custom_ops"),
            "-B",
            str(self.build),
        ]
        if not (quiet("cmake", "-GNinja", *source, *options) and self.builds()):
            raise SystemExit("the core does not build")
        self.tests = list(NATIVE)
        run.left_out |= set(run(folder, LONGER, *self.tests))

    def builds(self) -> bool:
        programs = (
            f"test_{name}" for name in ("dispatch", "kernels", "operators", "torch", "vectors")
        )
        targets = ("onnx_philox_onnxruntime", *programs)
        return quiet("cmake", "--build", str(self.build), "--target", *targets)

    def __call__(self, change: Change, folder: Path) -> list[str] | None:
        """Likewise; None if it does not compile."""
        with made(folder, change):
            if not self.builds():
                return None
            ctest = ("ctest", "--test-dir", str(self.build / "core"), "--stop-on-failure")
            if not quiet(*ctest, "--timeout", "600", "--exclude-regex", "isolation"):
                return ["(the core's programs)"]
            made_library = self.build / "onnxruntime" / "libonnx_philox_onnxruntime.so"
            library = folder / SRC / "lib" / made_library.name
            kept = library.read_bytes()
            shutil.copy(made_library, library)
            red = self.run.first_red(folder, LONGER, self.tests)
            library.write_bytes(kept)
            return red


def quiet(*command: str) -> bool:
    """Whether a command succeeds."""
    return not subprocess.run(command, capture_output=True, check=False).returncode


def covered(folder: Path, marks: str) -> Path:
    """Runs all tests in a copy, and remembers which case reaches which line."""
    print("runs the tests, and looks what each reaches", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-m", marks, "--cov-report="]
    command += ["--cov=onnx_philox", "--cov-context=test"]
    paths = os.pathsep.join((str(folder), str(folder / "src")))
    # A red test is not this script's affair.
    subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
    )
    return folder / ".coverage"


def reached(data: Path) -> Cases:
    """What a run with contexts says, of files as they are named in the repository."""
    read = coverage.CoverageData(str(data))
    found = {}
    read.read()
    for file in read.measured_files():
        lines = read.contexts_by_lineno(file)
        name = SRC / file.rpartition("/onnx_philox/")[2]
        found[str(name)] = {line: set(cases) for line, cases in lines.items()}
    return found


def unseen(change: Change) -> bool:
    return (str(change.file), change.text) in LISTED


Tried = dict[Change, list[str] | None]


def tried(
    run: Pytest,
    folders: Sequence[Path],
    waiting: Sequence[Change],
    attempt: Any,
) -> Tried:
    """Tries each; once more if what was red is red without the change, too."""
    free: queue.Queue[Path] = queue.Queue()
    results: Tried = {}
    for folder in folders:
        free.put(folder)

    def one(change: Change) -> None:
        folder = free.get()
        results[change] = red = attempt(change, folder)
        free.put(folder)
        word = "lives" if red == [] else "not compiled" if red is None else "noticed"
        print(f"{word:12} {change}", *red or (), sep="  ", flush=True)

    while waiting:
        with concurrent.futures.ThreadPoolExecutor(len(folders)) as pool:
            list(pool.map(one, waiting))
        cases = {case for change in waiting for case in results[change] or () if "::" in case}
        run.left_out |= set(
            run(
                folders[0],
                LONGER,
                *sorted(cases),
            )
            if cases
            else ()
        )
        waiting = [change for change in waiting if run.left_out & set(results[change] or ())]
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", type=int, default=60)
    parser.add_argument("--cpp", type=int, default=10)
    parser.add_argument("--coverage", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--marks", default="not exhaustive and not engines and not web and not gpu")
    given = parser.parse_args()

    def drawn(folder: Path, *suffixes: str) -> list[Change]:
        files = sorted((folders[0] / folder).rglob("*"))
        names = [path.relative_to(folders[0]) for path in files if path.suffix in suffixes]
        names = [name for name in names if not {*name.parts} & OTHERS]
        all_ = [change for name in names for change in changes(folders[0], name)]
        all_ = [c for c in all_ if not given.rooms or any(r in c.file.parts for r in given.rooms)]
        random.Random(given.seed).shuffle(all_)
        return all_

    files = {file for file, _ in LISTED}
    stands = {(file, change.text) for file in files for change in changes(ROOT, Path(file))}
    if gone := LISTED - stands:
        raise SystemExit(f"mutants.toml lists what is no change any more: {sorted(gone)}")
    with tempfile.TemporaryDirectory() as scratch:
        folders = [copied(Path(scratch, str(i))) for i in range(given.jobs)]
        run = Pytest(given.marks)
        if red := run(folders[0], LIMIT, "tests/numbers/test_state.py"):
            raise SystemExit(f"red without a change: {red}")
        listed = list[Change]()
        results = Tried()
        if given.python:
            python = Python(run, reached(given.coverage or covered(folders[0], given.marks)))
            places = drawn(SRC, ".py")
            found = [change for change in places if python.cases(change)]
            print(f"seed {given.seed}; of {len(places)} places in src tests reach {len(found)}")
            listed += filter(unseen, found[: given.python])
            some = [change for change in found[: given.python] if change not in listed]
            results |= tried(run, folders, some, python)
        if given.cpp:
            cpp = Cpp(run, folders[0])
            places = drawn(CORE, ".h", ".cpp")
            while given.cpp > (compiled := sum(c.file.suffix != ".py" for c in results)) and places:
                some = [places.pop() for _ in range(min(given.cpp - compiled, len(places)))]
                listed += filter(unseen, some)
                some = [change for change in some if change not in listed]
                compiled_ = tried(run, folders[:1], some, cpp).items()
                results |= {change: red for change, red in compiled_ if red is not None}
    by_room = collections.Counter((change.room, bool(red)) for change, red in results.items())
    for room in sorted({room for room, _ in by_room}):
        print(f"{room:32} {by_room[room, True]:4} noticed {by_room[room, False]:4} live")
    live = [change for change, red in results.items() if not red]
    print(f"{len(results)} changes tried, {len(live)} live; {len(listed)} listed as unseen")
    print(*map(str, live), sep="\n")
    raise SystemExit(20 * len(live) > len(results) + len(listed))


if __name__ == "__main__":
    main()
