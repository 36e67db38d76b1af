"""Comparisons of models of the tests by `compare --original`, in this process.

`law.py --rewrites` and `law.py --originals` call these. The models are those of the tests
`rewriting/test_rewritten_graphs.py` and `command/test_law.py`, so it needs what the tests need.
"""

from __future__ import annotations

import collections
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from onnx_philox._command.compare.law import ComparedLaws, compare_laws
from onnx_philox._command.wanted import WantedRuns
from onnx_philox._runtimes.models import RunError

ROOT = Path(__file__).parents[1]
RUNS = 1000
MOST_MODELS = 20
"""So many models take turns in comparisons of one model with itself."""
FAR = 1_000_000
"""Runs from this number on share no number with the first ones."""
TITLE = "{:>5}  {}"


@dataclass(frozen=True)
class Original:
    """A model of the tests, and how it is rewritten and run."""

    name: str
    model: Any
    """ONNX's, a file of it, or what makes one of OpenVINO."""
    options: dict[str, Any]
    inputs: tuple[str, ...] = ()
    runtime: str = "onnxruntime"


def originals() -> Iterator[Original]:
    """The models of the tests that draw."""
    sys.path.insert(0, str(ROOT))
    from tests.command import test_law
    from tests.rewriting import test_rewritten_graphs

    for name, foreign in test_law.FOREIGN.items():
        model = test_law.parse(foreign.model) if isinstance(foreign.model, str) else foreign.model
        for runtime in foreign.runtimes:
            options = dict(foreign.options)
            yield Original(f"{name}, {runtime}", model, options, foreign.inputs, runtime)
    for name, made in test_rewritten_graphs.GRAPHS.items():
        model, options = made()
        yield Original(name, model, {**options, "seed": None})
    whole_tables = {
        "rows": test_rewritten_graphs.rows.PROVED,
        "rows elsewhere": test_rewritten_graphs.anywhere.STANDING,
        "pattern": test_rewritten_graphs.PATTERNS,
        "program": test_rewritten_graphs.flow.PROGRAMS,
    }
    for table, models in whole_tables.items():
        make, of_graphs = test_rewritten_graphs.TABLES[table]
        for name in models:
            if name not in of_graphs:
                model, options = make(name)
                yield Original(f"{table}, {name}", model, {**options, "seed": None})


def files_of(original: Original, folder: Path) -> tuple[Path, Path]:
    """The files of a model's rewrite and of the model.

    Raises:
        ValueError: It is refused, or nothing of it is random.
    """
    from tests.command import test_law

    with warnings.catch_warnings():
        # Of equal seeds, and of shares that an exporter made up for.
        warnings.simplefilter("ignore")
        files = test_law.pair(original.model, folder, **original.options)
    new, _ = files
    if new.suffix == ".onnx" and not _draws(onnx.load(new, load_external_data=False)):
        raise ValueError("nothing of it is random")
    return files


def _draws(model: onnx.ModelProto) -> bool:
    return any(each.domain == "onnx_philox" for each in model.opset_import)


def compared(files: tuple[Path, Path], original: Original, **wanted: Any) -> ComparedLaws:
    """The report of two files.

    Raises:
        ArgumentError: They cannot be compared.
        RunError: A runtime does not load or run them.
    """
    asked = WantedRuns(inputs=original.inputs, fills=True, runs=RUNS, **wanted)
    return compare_laws(*files, asked, runtimes=[original.runtime])


def of_rewrites(seeds: range) -> int:
    """In how many comparisons of a rewrite with other runs of itself a law differs."""
    alarms = 0
    with tempfile.TemporaryDirectory() as folder:
        models = list(_comparable(Path(folder)))
        began = time.process_time()
        for done, seed in enumerate(seeds, 1):
            new, original = models[seed % len(models)]
            report = compared((new, new), original, seed=seed, first_run=FAR)
            if report.is_ok is not True:
                alarms += 1
                print(seed, original.name, report.verdict, *report.changes, sep="\n  ", flush=True)
            if done % 50 == 0:
                each = (time.process_time() - began) / done
                print(f"{done}: {alarms} alarms, {each:.2f} s of processor each", flush=True)
    print(f"of {len(models)} models: {', '.join(each.name for _, each in models)}")
    return alarms


def _comparable(folder: Path) -> Iterator[tuple[Path, Original]]:
    """Rewrites of which runs can be compared with later ones; the first of each kind by turns."""
    kinds: dict[str, list[Original]] = collections.defaultdict(list)
    for original in originals():
        if original.runtime == "onnxruntime" and "alignment" not in original.options:
            kinds[original.name.partition(",")[0]].append(original)
    in_turn = [each for of_kind in _by_turns(list(kinds.values())) for each in of_kind]
    found = 0
    for number, original in enumerate(in_turn):
        if found == MOST_MODELS:
            return
        place = folder / str(number)
        place.mkdir()
        try:
            new, _ = files_of(original, place)
            report = compared((new, new), original, seed=0, first_run=FAR)
        except (TypeError, ValueError, RunError):
            continue
        if report.repeats:
            continue
        found += 1
        yield new, original


def _by_turns(kinds: list[list[Original]]) -> Iterator[list[Original]]:
    for turn in range(max(map(len, kinds))):
        yield [of_kind[turn] for of_kind in kinds if turn < len(of_kind)]


def of_originals() -> None:
    """Prints of each original of the tests, beside its rewrite, which law differs and why."""
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number, original in enumerate(originals()):
            place = Path(folder, str(number))
            place.mkdir()
            try:
                report = compared(files_of(original, place), original, seed=1)
            except (TypeError, ValueError) as error:
                counts["refused"] += 1
                print(f"{original.name}: refused: {str(error)[:160]}", flush=True)
                continue
            except RunError as error:
                counts["not loaded by the runtime"] += 1
                print(f"{original.name}: {str(error)[:160]}", flush=True)
                continue
            verdict = report.verdict
            if report.is_ok is False:
                unknown = sum(not each.causes for each in report.explained)
                verdict += ", all known of the original" if unknown == 0 else ", not all known"
            counts[verdict] += 1
            print(f"{original.name}: {verdict}", flush=True)
            for title, lines in (
                ("differs", report.differing),
                ("fault", report.other_faults),
                ("not judged", report.not_judged),
            ):
                for line in lines:
                    print(f"    {title}: {line}", flush=True)
    for verdict, count in counts.items():
        print(TITLE.format(count, verdict))
