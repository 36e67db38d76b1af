"""Tries probes in one runtime: a program of its own, `python worker.py RUNTIME FILE WHAT`.

A runtime may end its process, and may print anywhere. So this program reads probes as lines of JSON
from stdin, and writes one line for each to stdout. To begin at once, it imports nothing of this
package, and runs the file that knows the runtime by its path.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import runpy
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

# Returns what each output is, in bytes.
Run = Any
Load = Callable[[bytes], Run]
# Longer than the runtimes' clock may lag.
_CLOCK_SECONDS = 0.02


def main(runtime: str, file: str, what: str) -> None:
    """Answers every line of stdin, by a `bare_` module of `onnx_philox._runtimes`.

    `what` is "all" that can be drawn, or the "first" run alone.
    """
    answers = os.fdopen(os.dup(1), "w")
    # Discards what the runtime prints.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    load = _loader(runtime, file)
    for line in sys.stdin:
        answers.write(json.dumps(_try(load, json.loads(line), what)) + "\n")
        answers.flush()


def _loader(runtime: str, file: str) -> Load:
    try:
        load: Load = runpy.run_path(file)["prepare"]()
    except Exception as error:
        reason = f"{runtime} is installed, but cannot be imported: {error}"
    else:
        return load

    def refuse(_: bytes) -> NoReturn:
        raise RuntimeError(reason)

    return refuse


def _try(
    load: Load,
    asked: dict[str, Any],
    what: str,
) -> dict[str, Any]:
    """Hashes of the numbers that two runs, another session and another seed draw.

    Of twins it returns what each of the two nodes draws in one run. With "loads", it only loads the
    model. With "parts", several probes are in one model, of so many outputs each, and it returns
    the answer of each.
    """
    stage = "load"
    try:
        models = [base64.b64decode(model) for model in asked["models"]]
        run = load(models[0])
        if "loads" in asked:
            return {"loads": "yes"}
        stage = "run"
        if "twins" in asked:
            drawn = run(asked["feeds"])
            half = len(drawn) // 2
            return {"first": _hash(drawn[:half]), "second": _hash(drawn[half:])}
        answers = _answers(run, lambda: load(models[-1]), asked, what)
    except Exception as error:
        return {"failed": stage, "reason": str(error)}
    return {"of": answers} if "parts" in asked else answers[0]


def _answers(
    run: Run,
    load_other: Callable[[], Run],
    asked: dict[str, Any],
    what: str,
) -> list[dict[str, str]]:
    """The answer of each part of a model.

    With "requests", another request of the same session draws too, by `anew` of what the file
    returns. With a count, it also returns the share of ones in the first run. With "clock", the
    first two runs are in one second of the clock, and one more is in another.
    """
    feeds = asked["feeds"]
    parts = asked.get("parts", [asked])
    is_by_clock = what == "all" and any("clock" in part for part in parts)
    if is_by_clock:
        _wait_for_a_second()
    first = _apart(run(feeds), parts)
    answers = [{"first": _hash(drawn)} for drawn in first]
    for answer, part, drawn in zip(answers, parts, first, strict=True):
        if part["count"]:
            answer["ones"] = _share_of_ones(drawn, part["count"])
    if what != "all":
        return answers
    second = _apart(run(feeds), parts)
    if any(once == again for once, again in zip(first, second, strict=True)):
        # ONNX Runtime's Dropout of seed 0 draws its first numbers twice, and then others.
        third = _apart(run(feeds), parts)
        for index, drawn in enumerate(third):
            if second[index] == first[index]:
                second[index] = drawn
    _add(answers, "second", second)
    if is_by_clock:
        _wait_for_a_second()
        later = _apart(run(feeds), parts)
        for answer, part, drawn in zip(answers, parts, later, strict=True):
            if "clock" in part:
                answer["later"] = _hash(drawn)
    if "requests" in asked:
        _add(answers, "request", _apart(run.anew(feeds), parts))
    other = _apart(load_other()(feeds), parts)
    for answer, part, drawn in zip(answers, parts, other, strict=True):
        # Of a seed, another seed says whether a session reads it.
        answer["other_seed" if part["has_seed"] else "session"] = _hash(drawn)
    return answers


def _apart(drawn: list[bytes], parts: list[dict[str, Any]]) -> list[list[bytes]]:
    """The outputs of each part; a part alone has them all."""
    if len(parts) == 1:
        return [drawn]
    apart = []
    start = 0
    for part in parts:
        end = start + part["outputs"]
        apart.append(drawn[start:end])
        start = end
    return apart


def _add(answers: list[dict[str, str]], name: str, drawn: list[list[bytes]]) -> None:
    for answer, of_part in zip(answers, drawn, strict=True):
        answer[name] = _hash(of_part)


def _share_of_ones(drawn: list[bytes], count: int) -> str:
    """The share of so many elements, of whatever type, that are not 0."""
    elements = np.frombuffer(b"".join(drawn), np.uint8).reshape(count, -1)
    return str(float(elements.any(axis=1).mean()))


def _wait_for_a_second() -> None:
    """Waits until the next second of the clock has begun."""
    time.sleep(1 - time.time() % 1 + _CLOCK_SECONDS)


def _hash(drawn: list[bytes]) -> str:
    return hashlib.sha256(b"".join(drawn)).hexdigest()


if __name__ == "__main__":
    main(*sys.argv[1:])
