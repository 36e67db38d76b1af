"""Tries probes in one runtime: a program of its own, `python worker.py RUNTIME`.

A runtime may end its process, and prints to where it likes; so this one reads probes as lines of
JSON from stdin, and writes a line for each to stdout. It imports nothing of this package, to begin
at once.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

Load = Callable[[bytes], Callable[[list[dict[str, Any]]], bytes]]


def main(runtime: str) -> None:
    """Answers every line of stdin."""
    answers = os.fdopen(os.dup(1), "w")
    # What the runtime prints goes nowhere.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    load = _loader(runtime)
    for line in sys.stdin:
        answers.write(json.dumps(_try(load, json.loads(line))) + "\n")
        answers.flush()


def _loader(runtime: str) -> Load:
    try:
        return _RUNTIMES[runtime]()
    except Exception as error:
        reason = f"{runtime} is installed, but cannot be imported: {error}"

    def refuse(_: bytes) -> NoReturn:
        raise RuntimeError(reason)

    return refuse


def _try(load: Load, probe: dict[str, Any]) -> dict[str, str]:
    """The numbers that two runs, another session and another seed draw, as hashes.

    With a count, also the share of ones in the first.
    """
    stage = "load"
    try:
        models = [base64.b64decode(model) for model in probe["models"]]
        run = load(models[0])
        stage = "run"
        drawn = run(probe["feeds"])
        first, second = _hash(drawn), _hash(run(probe["feeds"]))
        sessions = [_hash(load(model)(probe["feeds"])) for model in (models[0], models[-1])]
    except Exception as error:
        return {"failed": stage, "reason": str(error)}
    session, other_seed = sessions
    answer = {"first": first, "second": second, "session": session, "other_seed": other_seed}
    if probe["count"]:
        answer["ones"] = str(_ones(drawn, probe["count"]))
    return answer


def _ones(drawn: bytes, count: int) -> float:
    """Of so many elements, whatever their type, the share of those that are not 0."""
    elements = np.frombuffer(drawn, np.uint8).reshape(count, -1)
    return float(elements.any(axis=1).mean())


def _hash(drawn: bytes) -> str:
    return hashlib.sha256(drawn).hexdigest()


def _onnxruntime() -> Load:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4

    def load(model: bytes) -> Callable[[list[dict[str, Any]]], bytes]:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]

        def run(feeds: list[dict[str, Any]]) -> bytes:
            arrays = dict(zip(names, map(_array, feeds), strict=True))
            return b"".join(np.asarray(output).tobytes() for output in session.run(None, arrays))

        return run

    return load


def _openvino() -> Load:
    # Its telemetry forks a process at every import, which may hang when this one is killed, and
    # would then hold its pipes open. Where it cannot be imported, OpenVINO goes without.
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    import openvino as ov

    core = ov.Core()

    def load(model: bytes) -> Callable[[list[dict[str, Any]]], bytes]:
        compiled = core.compile_model(core.read_model(model), "CPU")
        request = compiled.create_infer_request()

        def run(feeds: list[dict[str, Any]]) -> bytes:
            for i, feed in enumerate(feeds):
                type_ = compiled.input(i).get_element_type()
                tensor = ov.Tensor(type_, ov.Shape(feed["shape"]))
                memory = tensor.data.reshape(-1).view(np.uint8)
                memory[...] = np.frombuffer(base64.b64decode(feed["bytes"]), np.uint8)
                request.set_input_tensor(i, tensor)
            request.infer()
            outputs = range(len(compiled.outputs))
            return b"".join(request.get_output_tensor(i).data.tobytes() for i in outputs)

        return run

    return load


def _array(feed: dict[str, Any]) -> Any:
    array = np.frombuffer(base64.b64decode(feed["bytes"]), feed["type"])
    return array.reshape(feed["shape"])


_RUNTIMES: dict[str, Callable[[], Load]] = {"onnxruntime": _onnxruntime, "openvino": _openvino}

if __name__ == "__main__":
    main(sys.argv[1])
