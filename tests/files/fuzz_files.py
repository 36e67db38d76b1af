"""Damaged files: whatever is in them, a command says what is wrong and leaves the disk as it was.

    python -m tests.files.fuzz_files [SECONDS] [--seed SEED]         60 seconds from seed 1
    python -m tests.files.fuzz_files --only NUMBER [--seed SEED]     a case again, and what it said

Each case damages a model, its external data or its IR, and runs a command on it in a process of its
own. It may succeed, or refuse. A traceback, a signal, a hang, something left on the disk after a
failure and a changed source are findings, and end with exit code 1.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from onnx import numpy_helper

from onnx_philox import rewriting
from onnx_philox._command.app import app
from tests.common.cases import parse
from tests.common.file_cases import tree

MODELS = Path(__file__).parents[1] / "models"

LIMIT_SECONDS = 60
LIMIT_OF_TRIALS_SECONDS = 300
LIMIT_BYTES = 4 * 2**30
# What inspect tries in other processes takes seconds: every so many cases.
TRIALS_EVERY = 60

TEXTS = {
    "flat": """flat () => (float[4] y, float[4] b)
<float[4] w = {1.0, 2.0, 3.0, 4.0}, float ratio = {0.5}, bool on = {1}> {
  n = RandomNormalLike <mean: float = 1.0, seed: float = 3.0> (w)
  u = RandomUniform <shape = [4], high: float = 2.0> ()
  d, m = Dropout (w, ratio, on)  s = Add (n, u)  y = Add (s, d)  p = Sigmoid (w)  b = Bernoulli (p)
}""",
    "nested": """nested () => (float[4] y)
<float[4] w = {1.0, 2.0, 3.0, 4.0}, bool c = {1}, int64 n = {3}> {
  a = If (c) <then_branch = g1 () => (float[4] t) { t = RandomNormalLike (w) },
              else_branch = g2 () => (float[4] e) { e = RandomUniformLike (w) }>
  y = Loop (n, c, a) <body = g3 (int64 i, bool k, float[4] x) => (bool l, float[4] z) {
    l = Identity (k)  r = RandomNormalLike (x)  z = Add (x, r) }>
}""",
    "functions": """functions () => (float[4] y) <float[4] w = {1.0, 2.0, 3.0, 4.0}> {
  a = local.noisy (w)  y = local.twice (a) }
<domain: "local", opset_import: ["": 17]>
noisy (x) => (y) { n = RandomNormalLike (x)  y = Add (x, n) }
<domain: "local", opset_import: ["": 17, "local": 1]>
twice (x) => (y) { a = local.noisy (x)  y = local.noisy (a) }""",
}


def make_corpus(folder: Path) -> list[Path]:
    """Folders with a model each, and what belongs to it."""
    large = numpy_helper.from_array(np.arange(8192, dtype=np.float32), "large")
    models = {
        **TEXTS,
        "large": TEXTS["flat"],
        "external": TEXTS["flat"],
    }
    for name, text in models.items():
        model = parse(text)
        model.graph.initializer.extend([large] * (name not in TEXTS))
        beside = {"save_as_external_data": name == "external", "size_threshold": 0}
        (folder / name).mkdir()
        onnx.save(
            model,
            folder / name / "m.onnx",
            location="w.bin",
            **beside,
        )
        (folder / f"{name}-rewritten").mkdir()
        rewriting.rewrite_file(folder / name / "m.onnx", folder / f"{name}-rewritten" / "m.onnx")
    for path in MODELS.glob("*.onnx"):
        (folder / path.stem).mkdir()
        shutil.copy(path, folder / path.stem / "m.onnx")
    return sorted(folder.iterdir())


def make_ir(corpus: Path) -> None:
    """An IR, made in a separate process: OpenVINO starts threads, which do not survive a fork."""
    (corpus / "ir").mkdir()
    app(
        [
            "rewrite",
            f"{corpus}/large/m.onnx",
            "-o",
            f"{corpus}/ir/m.xml",
        ],
        standalone_mode=False,
    )


class Case(NamedTuple):
    """A damaged model and a command."""

    name: str
    command: list[str]
    has_trials: bool


def damage(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """The bytes, flipped, cut or spliced, once or a few times."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        size = len(changed)
        at = rng.randrange(size + 1)
        length = min(size - at, rng.choice((1, 2, 8, 64, 1024)))
        # What keeps its length more often than not: the other ways mostly end the parsing.
        way = rng.choice((0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7))
        if way == 0 and at < size:
            changed[at] ^= 1 << rng.randrange(8)
        elif way <= 2 and at < size:
            changed[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFE, 0xFF, rng.randrange(256)))
        elif way == 3:
            del changed[at:]
        elif way == 4:
            del changed[at : at + length]
        elif way == 5:
            other = rng.choice(others)
            begin = rng.randrange(len(other) + 1)
            changed[at : at + rng.choice((0, length))] = other[begin : begin + length]
        elif way == 6:
            changed[at:at] = changed[at : at + length] * rng.choice((1, 1, 3))
        else:
            changed[at : at + rng.choice((0, length))] = rng.choice((b"\xff", b"\0")) * length
    return bytes(changed)


def make_case(
    number: int,
    rng: random.Random,
    corpus: list[Path],
    work: Path,
) -> Case:
    """Puts a damaged model into a folder, and the files that the command is to overwrite."""
    base = rng.choice(corpus)
    shutil.copytree(base, work / "in")
    (work / "out").mkdir()
    for name in ("o.onnx", "o.xml", "o.bin", "o.run0.npz"):
        (work / "out" / name).write_bytes(b"was there")
    others = [path.read_bytes() for folder in corpus for path in sorted(folder.iterdir())]
    path = rng.choice(sorted((work / "in").iterdir()))
    path.write_bytes(damage(path.read_bytes(), others, rng))
    model = str(work / "in" / ("m.xml" if base.name == "ir" else "m.onnx"))
    out = work / "out"
    options = []
    has_trials = number % TRIALS_EVERY == 0
    commands = ("inspect", "rewrite", "rewrite", "run", "run")
    what = "inspect" if has_trials else rng.choice(commands)
    if what == "rewrite":
        target = out / rng.choice(("o.onnx", "o.onnx", "o.xml"))
        options = [
            "-o",
            f"{target}",
            *rng.choice(([], ["--seed", "1"], ["--keep-unknown"])),
        ]
    elif what == "run":
        runtime = rng.choice(("onnxruntime", "openvino", "reference"))
        options = [
            "--runtime",
            runtime,
            "-o",
            f"{out / 'o'}",
            *rng.choice(([], ["--drawn"])),
        ]
    return Case(
        f"{base.name}/{path.name}",
        [what, model, *options],
        has_trials,
    )


def run_apart(
    action: Callable[[], None],
    log: Path,
    seconds: float,
    limit: int,
) -> int | None:
    """The exit code of an action in its own process; negative for a signal, None for a hang."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 99
        with contextlib.suppress(BaseException):
            # With all that it starts, to be ended together.
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
            os.dup2(1, 2)
            sys.stdout, sys.stderr = (
                io.TextIOWrapper(io.FileIO(n, "w"), "utf-8", write_through=True) for n in (1, 2)
            )
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            try:
                action()
                code = 0
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 0
            except BaseException:
                traceback.print_exc()
        os._exit(code)
    end = time.monotonic() + seconds
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.002)
    # And what the command has started, and left behind.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not ended[0]:
        os.waitpid(child, 0)
        return None
    return os.waitstatus_to_exitcode(ended[1])


def hide_runtimes() -> None:
    """Lets `inspect` find no runtime to try nodes in."""
    for name in ("onnxruntime", "openvino"):
        for module in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
            del sys.modules[module]
        sys.modules[name] = None  # type: ignore[assignment]


def problems(
    case: Case,
    work: Path,
) -> tuple[list[str], int | None, str]:
    """Returns what is wrong with how a command ended, its exit code, and what it printed."""
    before_in = tree(work / "in")
    before_out = tree(work / "out")
    log = work / "log"
    is_inspect = case.command[0] == "inspect"
    seconds = LIMIT_OF_TRIALS_SECONDS if case.has_trials else LIMIT_SECONDS

    def action() -> None:
        if is_inspect and not case.has_trials:
            hide_runtimes()
        os.chdir(work)
        app(case.command)

    code = run_apart(action, log, seconds, LIMIT_BYTES)
    said = log.read_text(errors="replace") if log.exists() else ""
    found = []
    if code is None:
        found.append(f"does not end in {seconds} s")
    elif code < 0:
        found.append(f"ends by signal {-code}")
    elif code not in ((0, 2) if is_inspect else (0, 1, 2)):
        found.append(f"exit code {code}")
    words = ("Traceback (most recent call last)", "terminate called", "Exception ignored")
    found += [f"prints {word!r}" for word in words if word in said]
    if code != 0 and not said.strip():
        found.append("fails without a word")
    if tree(work / "in") != before_in:
        found.append("changes its source")
    after = tree(work / "out")
    # A rewrite that ends with 1 has written a file, which no runtime loads.
    if code not in (0, *[1] * (case.command[0] == "rewrite")) and after != before_out:
        found.append(f"leaves {sorted(after.items() - before_out.items())}")
    hidden = [name for name in after if Path(name).name.startswith(".")]
    if hidden:
        found.append(f"leaves {hidden}")
    if sorted(path.name for path in work.iterdir() if path.name != "log") != ["in", "out"]:
        found.append("writes elsewhere")
    return found, code, said


def try_case(
    number: int, seed: int, corpus: list[Path], is_shown: bool = False
) -> tuple[str, bool]:
    """Tries a case; says what it was, how it ended, and whether that is a finding."""
    rng = random.Random(f"{seed}/{number}")
    with tempfile.TemporaryDirectory(prefix="onnx-philox-fuzz-") as folder:
        work = Path(folder)
        case = make_case(number, rng, corpus, work)
        found, code, said = problems(case, work)
        if is_shown:
            print(f"case {number}: {case.name}: {' '.join(case.command)}: exit code {code}\n{said}")
        if not found:
            return f"{case.command[0]} {code}", False
        words = [Path(w).name if w.startswith(folder) else w for w in case.command]
        last = said.strip().splitlines()[-1:] or [""]
        return f"case {number}, {case.name}: {' '.join(words)}: {'; '.join(found)}: {last[0]}", True


def load_commands() -> None:
    """Imports what the commands import, so that a child starts quickly."""
    # It would fork at import.
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]


def work_through(
    first: int,
    step: int,
    seed: int,
    corpus: list[Path],
    end: float,
) -> list[tuple[str, bool]]:
    """Tries every so many cases from the first one on, until the time is over."""
    tried = []
    while time.monotonic() < end:
        tried.append(try_case(first, seed, corpus))
        first += step
    return tried


def main() -> int:
    """Tries cases for a time; 1 if one is a finding."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("seconds", nargs="?", type=float, default=60)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", type=int, metavar="NUMBER")
    arguments.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = arguments.parse_args()
    load_commands()
    with tempfile.TemporaryDirectory(prefix="onnx-philox-corpus-") as folder:
        root = Path(folder) / "corpus"
        root.mkdir()
        make_corpus(root)
        log = Path(folder) / "log"
        if run_apart(lambda: make_ir(root), log, LIMIT_SECONDS, LIMIT_BYTES) != 0:
            raise SystemExit(log.read_text())
        corpus = sorted(root.iterdir())
        if given.only is not None:
            _, is_finding = try_case(given.only, given.seed, corpus, is_shown=True)
            return int(is_finding)
        print(f"{given.seconds:g} seconds from seed {given.seed}", flush=True)
        end = time.monotonic() + given.seconds
        fork = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(given.workers, mp_context=fork) as pool:
            ways = (given.workers, given.seed, corpus, end)
            parts = [pool.submit(work_through, 1 + i, *ways) for i in range(given.workers)]
        tried = [case for part in parts for case in part.result()]
    findings = [line for line, is_finding in tried if is_finding]
    ended = Counter(line for line, is_finding in tried if not is_finding)
    summary = ", ".join(f"{what}: {count}" for what, count in sorted(ended.items()))
    print(f"{len(tried)} cases; command and exit code: {summary}")
    for finding in findings:
        print(f"FOUND (seed {given.seed}) {finding}")
    if findings:
        print(f"Again: python -m tests.files.fuzz_files --only NUMBER --seed {given.seed}")
    return int(bool(findings) or not tried)


if __name__ == "__main__":
    sys.exit(main())
