"""What a person waits for beside the kernels: calls of `generate`, the commands, a rewrite.

    python benchmarks/around_the_kernels.py [PART ...] [--other PYTHON] [--turns N] [--tests]

PYTHON is the interpreter of another checkout's environment, such as that of an older commit: then
the table shows both, measured by turns in one run. Without it the table shows this one alone. With
--tests, the last row is the README's second command, once in each checkout: it takes minutes. Its
first command is timed by `first_minute.py`.

Every figure is processor time, with the garbage collector off, the shortest of all turns; of a
command, with that of the processes that it starts. "times as fast" divides the peer's time by ours:
more is better. "times" divides ours by the peer's, and what has no peer is in a unit of time: less
is better. "wanted" is the project's own target. Draws in OpenVINO are timed in C++, by the clock.
Needs the extra `all`; CMake and a compiler for `openvino`, and torch for rows that are beside
torch's: where it is missing, they say so.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from starting import RUNTIMES, command, python, two_nodes
from starting import seconds as seconds_of_process

Call = Callable[[], object]

ROUNDS = 3
"""So often each environment is started again, by turns."""
SAMPLES = 1000
NODES = 4000
FEW_NODES, MANY_NODES = 500, 8000
COMMAND_NODES = 3001
SMALL_LOG2 = 10
INFERENCES = 31
"""So many pairs of bursts of inferences are one measurement."""

FASTER = "times as fast"
TIMES = "times"
MICROSECONDS = "µs"
SECONDS = "s"


@dataclass(frozen=True)
class Contest:
    """Something that is measured, and its peer."""

    what: str
    unit: str
    ours: Call
    theirs: Call | None = None
    calls: int = 1
    """So many calls are one measurement, since one alone is too short."""
    our_units: int = 1
    """What the time of a call is divided by: so many nodes, for instance."""
    their_units: int = 1
    is_timed: bool = False
    """Whether a call returns the seconds that it has measured, such as those of a process."""
    wanted: float | None = None
    """None where only less than before is asked for."""
    missing: str = ""
    """The library that the peer needs, where it is not installed."""


def torch_if_there() -> Any:
    """The module torch, of one thread; None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    return torch


def of_generate() -> Iterator[Contest]:
    """Draws of one element: what a call takes beside its kernel."""
    from onnx_philox import PhiloxState, generate

    state = PhiloxState(0, key=42)
    alpha = np.full(1, 2.5, np.float32)
    gamma = np.zeros(1, np.float32)
    one = np.zeros(1, np.int64)
    yield Contest(
        "generate, RandomGamma of an array of one",
        MICROSECONDS,
        lambda: generate(state, operator="RandomGamma", out=gamma, alpha=alpha),
        calls=500,
        wanted=5,
    )
    yield Contest(
        "generate, RandomPermutation of 1",
        MICROSECONDS,
        lambda: generate(state, operator="RandomPermutation", out=one),
        calls=500,
        wanted=5,
    )


def of_permutations() -> Iterator[Contest]:
    """Permutations, beside torch's."""
    from onnx_philox import PhiloxState, generate

    torch = torch_if_there()
    state = PhiloxState(0, key=42)
    for size, wanted in ((1000, 1.5), (10_000, 1.5), (100_000, 1.0)):
        out = np.zeros(size, np.int64)
        yield Contest(
            f"RandomPermutation of {size:,}, torch.randperm",
            FASTER,
            lambda out=out: generate(state, operator="RandomPermutation", out=out),
            lambda size=size: torch.randperm(size),
            calls=max(5, 200_000 // size),
            wanted=wanted,
            missing="" if torch else "torch",
        )


def of_classes() -> Iterator[Contest]:
    """Tokens and samples of classes, beside what torch computes for them."""
    from onnx_philox import PhiloxState, generate

    torch = torch_if_there()
    missing = "" if torch else "torch"
    state = PhiloxState(0, key=42)
    numbers = np.random.default_rng(0)

    def first_of(logits: Any, count: int) -> Any:
        values, indices = torch.topk(logits, count)
        chosen = torch.multinomial(torch.softmax(values, -1), 1)
        return indices.gather(-1, chosen)

    token = np.zeros((1, 1), np.int64)
    for classes in (32_000, 128_256):
        logits = (numbers.normal(size=(1, classes)) * 3).astype(np.float32)
        theirs = torch and torch.from_numpy(logits)
        yield Contest(
            f"RandomToken, top_k 50 of {classes:,}, torch's topk, softmax, multinomial",
            FASTER,
            lambda logits=logits: generate(
                state, operator="RandomToken", out=token, logits=logits, top_k=50
            ),
            lambda theirs=theirs: first_of(theirs, 50),
            calls=30,
            wanted=2,
            missing=missing,
        )
    logits = (numbers.normal(size=(1, 32_000)) * 3).astype(np.float32)
    theirs = torch and torch.from_numpy(logits)
    yield Contest(
        "RandomToken, plain, of 32,000, torch's softmax, multinomial",
        FASTER,
        lambda: generate(state, operator="RandomToken", out=token, logits=logits),
        lambda: torch.multinomial(torch.softmax(theirs, -1), 1),
        calls=30,
        wanted=4,
        missing=missing,
    )
    samples = np.zeros((1, SAMPLES), np.int64)
    for classes in (1000, 50_000):
        rows = numbers.normal(size=(1, classes)).astype(np.float32)
        weights = torch and torch.softmax(torch.from_numpy(rows), -1)
        yield Contest(
            f"RandomCategorical, {SAMPLES:,} samples of {classes:,}, torch.multinomial",
            FASTER,
            lambda rows=rows: generate(
                state,
                operator="RandomCategorical",
                out=samples,
                logits=rows,
                sample_size=SAMPLES,
            ),
            lambda weights=weights: torch.multinomial(weights, SAMPLES, replacement=True),
            calls=30,
            wanted=2,
            missing=missing,
        )


def of_gammas() -> Iterator[Contest]:
    """Gammas, beside NumPy's."""
    from onnx_philox import PhiloxState, generate

    state = PhiloxState(0, key=42)
    numpy_s = np.random.Generator(np.random.Philox(42))
    out = np.zeros(2**18, np.float32)
    yield Contest(
        "RandomGamma(2.5) f32 of 2^18, NumPy's",
        FASTER,
        lambda: generate(state, operator="RandomGamma", out=out, alpha=2.5),
        lambda: numpy_s.standard_gamma(2.5, out=out, dtype=np.float32),
        wanted=4,
    )


def of_inspect(folder: Path) -> Iterator[Contest]:
    """The command, beside the imports of onnx and of both runtimes."""
    import onnx

    model = folder / "two_nodes.onnx"
    onnx.save(two_nodes(), model)
    yield Contest(
        "inspect of two nodes, imports of onnx and both runtimes",
        TIMES,
        lambda: seconds_of_process(command("inspect", str(model))),
        lambda: seconds_of_process(python(RUNTIMES)),
        is_timed=True,
        wanted=1.7,
    )


def of_rewriting(folder: Path) -> Iterator[Contest]:
    """A file into a file, beside onnx-ir's reading and writing of it; and the command."""
    import onnx
    import onnx_ir
    from rewriting_many import in_onnx

    from onnx_philox.rewriting import rewrite_file

    def saved(count: int) -> Path:
        path = folder / f"{count}.onnx"
        onnx.save(in_onnx(count), path)
        return path

    def rewrite(path: Path, **asked: Any) -> None:
        rewrite_file(path, folder / "rewritten.onnx", **asked)

    model = saved(NODES)
    few, many = saved(FEW_NODES), saved(MANY_NODES)

    def read_and_write() -> None:
        onnx_ir.save(onnx_ir.load(model), folder / "written.onnx")

    what = f"rewrite of {NODES:,} random nodes"
    yield Contest(
        f"{what}, onnx-ir's read and write",
        TIMES,
        lambda: rewrite(model),
        read_and_write,
        wanted=5,
    )
    yield Contest(
        f"{what} with torch's numbers, onnx-ir's read and write",
        TIMES,
        lambda: rewrite(model, alignment="pytorch"),
        read_and_write,
        wanted=7,
    )
    yield Contest(
        f"a node of {MANY_NODES:,}, a node of {FEW_NODES}",
        TIMES,
        lambda: rewrite(many),
        lambda: rewrite(few),
        our_units=MANY_NODES,
        their_units=FEW_NODES,
        wanted=1.05,
    )
    asked = command("rewrite", str(saved(COMMAND_NODES)), "-o", str(folder / "new.onnx"))
    yield Contest(
        f"the command rewrite of {COMMAND_NODES:,} nodes",
        SECONDS,
        lambda: seconds_of_process(asked),
        is_timed=True,
    )


def of_pipelines(folder: Path) -> Iterator[Contest]:
    """A Pipeline of a file of many nodes; calls with a seed for each row."""
    import onnx
    from pipeline import by_rows
    from rewriting_many import in_onnx

    from onnx_philox import Pipeline

    model = folder / "nodes.onnx"
    onnx.save(in_onnx(COMMAND_NODES), model)
    yield Contest(f"Pipeline(m.onnx) of {COMMAND_NODES:,} nodes", SECONDS, lambda: Pipeline(model))
    for what, (ours, theirs) in by_rows().items():
        yield Contest(
            f"a Pipeline's call, {what}, its session", TIMES, ours, theirs, calls=50, wanted=1.6
        )


def of_openvino(folder: Path) -> Iterator[Contest]:
    """Small draws from a state, as C++ sees them, beside OpenVINO's own RandomUniform."""
    import openvino as ov
    from openvino_cpp import ours, own, program, timed

    import onnx_philox

    models = [folder / "ours.xml", folder / "own.xml"]
    ov.save_model(ours(None, stateful=True), models[0], compress_to_fp16=False)
    ov.save_model(own(None, stateful=False), models[1], compress_to_fp16=False)
    run = program(folder)
    library = onnx_philox.openvino.library_path()

    def inference(which: int) -> float:
        taken = timed(run, library, models, 1, 1 << SMALL_LOG2, INFERENCES)
        return min(pair[which] for pair in taken)

    yield Contest(
        f"RandomUniform of 2^{SMALL_LOG2} from a state in OpenVINO, its own",
        FASTER,
        lambda: inference(0),
        lambda: inference(1),
        is_timed=True,
        wanted=0.85,
    )


def of_tests() -> Iterator[Contest]:
    """The README's second command, without what it installs."""
    import onnx_philox

    checkout = Path(onnx_philox.__file__).parents[2]
    tests = [sys.executable, "-m", "pytest", "-q", "-n", "auto"]
    yield Contest(
        "pytest -n auto, processor time",
        SECONDS,
        lambda: seconds_of_process(tests, checkout),
        is_timed=True,
    )


PARTS: dict[str, Callable[[Path], Iterator[Contest]]] = {
    "generate": lambda _: of_generate(),
    "permutations": lambda _: of_permutations(),
    "classes": lambda _: of_classes(),
    "gammas": lambda _: of_gammas(),
    "inspect": of_inspect,
    "rewriting": of_rewriting,
    "pipelines": of_pipelines,
    "openvino": of_openvino,
}
TESTS = "tests"


def seconds(call: Call, contest: Contest) -> float:
    """The processor time of a call."""
    if contest.is_timed:
        return float(call())  # type: ignore[arg-type]
    gc.collect()
    gc.disable()
    start = time.process_time()
    for _ in range(contest.calls):
        call()
    taken = (time.process_time() - start) / contest.calls
    gc.enable()
    return taken


def figures(contest: Contest, turns: int) -> dict[str, Any]:
    """The shortest of some turns, ours and the peer's, which goes first by turns."""
    said = {"what": contest.what, "unit": contest.unit, "wanted": contest.wanted}
    if contest.missing:
        return {**said, "missing": contest.missing}
    calls = [contest.ours]
    if contest.theirs is not None:
        calls.append(contest.theirs)
    if turns > 1:
        for call in calls:
            call()
    taken: list[list[float]] = [[] for _ in calls]
    for turn in range(turns):
        order = range(len(calls)) if turn % 2 else reversed(range(len(calls)))
        for which in order:
            taken[which].append(seconds(calls[which], contest))
    ours = min(taken[0]) / contest.our_units
    theirs = min(taken[1]) / contest.their_units if contest.theirs is not None else None
    return {**said, "ours": ours, "theirs": theirs}


def measure(parts: list[str], turns: int) -> None:
    """Measures in this process, and prints the figures as JSON, a line each."""
    with tempfile.TemporaryDirectory() as folder:
        for part in parts:
            contests = of_tests() if part == TESTS else PARTS[part](Path(folder))
            for contest in contests:
                print(json.dumps(figures(contest, turns)), flush=True)


def measured_by(interpreter: str, parts: list[str], turns: int) -> list[dict[str, Any]]:
    """The figures of an environment, from a process of its own."""
    asked = [interpreter, __file__, *parts, "--turns", str(turns), "--measure"]
    printed = subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]


def shortest(rounds: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The shortest times of all rounds."""
    best = rounds[0]
    for each in rounds[1:]:
        for kept, other in zip(best, each, strict=True):
            if "missing" in kept:
                continue
            kept["ours"] = min(kept["ours"], other["ours"])
            if kept["theirs"] is not None:
                kept["theirs"] = min(kept["theirs"], other["theirs"])
    return best


def shown(figure: dict[str, Any]) -> str:
    """A figure in its unit."""
    if "missing" in figure:
        return f"skipped: {figure['missing']} is not installed"
    ours, theirs = figure["ours"], figure["theirs"]
    if figure["unit"] == FASTER:
        return f"{theirs / ours:.2f}"
    if figure["unit"] == TIMES:
        return f"{ours / theirs:.2f}"
    if figure["unit"] == MICROSECONDS:
        return f"{ours * 1e6:.1f}"
    return f"{ours:.2f}"


def main() -> None:
    """Prints the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    arguments.add_argument("--other", metavar="PYTHON")
    arguments.add_argument("--turns", type=int, default=3, help=f"in each of {ROUNDS} rounds")
    arguments.add_argument("--tests", action="store_true", help="pytest -n auto, too: minutes")
    arguments.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    parts = given.parts or list(PARTS)
    if given.measure:
        measure(parts, given.turns)
        return
    if not set(parts) <= set(PARTS):
        arguments.error(f"the parts are {', '.join(PARTS)}")
    if given.tests:
        parts = [*parts, TESTS]
    interpreters = [sys.executable]
    columns = ["this"]
    if given.other is not None:
        interpreters.insert(0, given.other)
        columns.insert(0, "other")
    print(f"| what, its peer | unit | {' | '.join(columns)} | wanted |")
    print(f"| --- | --- |{' --: |' * len(columns)} --: |")
    for part in parts:
        # Once, since it takes minutes.
        times = 1 if part == TESTS else ROUNDS
        turns = 1 if part == TESTS else given.turns
        rounds: list[list[list[dict[str, Any]]]] = [[] for _ in interpreters]
        for _ in range(times):
            for which, interpreter in enumerate(interpreters):
                rounds[which].append(measured_by(interpreter, [part], turns))
        best = [shortest(each) for each in rounds]
        for row in zip(*best, strict=True):
            cells = " | ".join(map(shown, row))
            wanted = "" if row[0]["wanted"] is None else f"{row[0]['wanted']:g}"
            what, unit = row[0]["what"], row[0]["unit"]
            print(f"| {what} | {unit} | {cells} | {wanted} |", flush=True)


if __name__ == "__main__":
    main()
