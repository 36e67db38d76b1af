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

Load = Callable[[bytes], Any]
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
    probe: dict[str, Any],
    what: str,
) -> dict[str, str]:
    """Hashes of the numbers that two runs, another session and another seed draw.

    With "requests", another request of the same session draws too, by `anew` of what the file
    returns. With a count, it also returns the share of ones in the first run. Of twins it returns
    what each of the two nodes draws in one run. With "clock", the first two runs are in one second
    of the clock, and one more is in another. With "loads", it only loads the model.
    """
    stage = "load"
    try:
        model, *others = (base64.b64decode(model) for model in probe["models"])
        run = load(model)
        if "loads" in probe:
            return {"loads": "yes"}
        stage = "run"
        is_by_clock = what == "all" and "clock" in probe
        if is_by_clock:
            _wait_for_a_second()
        drawn = run(probe["feeds"])
        if "twins" in probe:
            half = len(drawn) // 2
            return {"first": _hash(drawn[:half]), "second": _hash(drawn[half:])}
        answer = {"first": _hash(drawn)}
        if what == "all":
            second = run(probe["feeds"])
            if second == drawn:
                # ONNX Runtime's Dropout of seed 0 draws its first numbers twice, and then others.
                second = run(probe["feeds"])
            answer["second"] = _hash(second)
            if is_by_clock:
                _wait_for_a_second()
                answer["later"] = _hash(run(probe["feeds"]))
            if "requests" in probe:
                answer["request"] = _hash(run.anew(probe["feeds"]))
            if not others:
                # Of a seed, another seed says whether a session reads it.
                answer["session"] = _hash(load(model)(probe["feeds"]))
            for other_seed in others:
                answer["other_seed"] = _hash(load(other_seed)(probe["feeds"]))
    except Exception as error:
        return {"failed": stage, "reason": str(error)}
    if probe["count"]:
        # The share of so many elements, of whatever type, that are not 0.
        elements = np.frombuffer(drawn, np.uint8).reshape(probe["count"], -1)
        answer["ones"] = str(float(elements.any(axis=1).mean()))
    return answer


def _wait_for_a_second() -> None:
    """Waits until the next second of the clock has begun."""
    time.sleep(1 - time.time() % 1 + _CLOCK_SECONDS)


def _hash(drawn: bytes) -> str:
    return hashlib.sha256(drawn).hexdigest()


if __name__ == "__main__":
    main(*sys.argv[1:])
