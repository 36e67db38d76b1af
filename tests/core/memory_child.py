"""A program that limits its own memory and draws, for test_memory; it imports no pytest."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import onnx_philox

STATE = onnx_philox.PhiloxState(1, 2).to_array()


def runner(backend: str, *, constant: bool) -> Callable[[int], Any]:
    """Draws so many float32 numbers; the length is a constant of the model, or its input."""
    name, _, kind = backend.partition("-")
    if name == "reference":
        return lambda n: onnx_philox.reference.random_uniform([n], 0, 1, "f32", global_seed=1)

    from onnx_philox import graphs

    def model(n: int) -> Any:
        shape = [n] if constant else None
        return graphs.random_uniform(shape, 0, 1, "f32", stateful=True, rank=1)

    def feeds(n: int) -> dict[str, Any]:
        return {"state": STATE} | ({} if constant else {"shape": np.array([n])})

    if name == "ort":
        import onnxruntime

        session = partial(onnx_philox.onnxruntime.InferenceSession, backend=kind)
        once = None if constant else session(model(1))

        def run(n: int) -> Any:
            # No copies of the output as arrays.
            values = {k: onnxruntime.OrtValue.ortvalue_from_numpy(v) for k, v in feeds(n).items()}
            return (once or session(model(n))).run_with_ort_values(["values"], values)

        return run

    import openvino as ov

    core = onnx_philox.openvino.register(ov.Core(), backend=kind)

    def compiled(n: int) -> Any:
        return core.compile_model(core.read_model(model(n).SerializeToString()), "CPU")

    kept = None if constant else compiled(1).create_infer_request()

    def infer(n: int) -> Any:
        request = kept or compiled(n).create_infer_request()
        request.start_async(feeds(n))
        request.wait()
        return request.get_output_tensor(0)

    return infer


Step = dict[str, Any]
"""`size`: the output's bytes; `constant`: whether its length is one. Before it: `limit` and `room`,
a limit of the process and the bytes that it leaves; `ballast`, memory to fill."""


def say_what_happens(backend: str, group: str, steps: list[Step]) -> None:
    """Prints a line of JSON for each step: what was raised, or null; then for a small draw."""
    draws = {kind: runner(backend, constant=kind) for kind in {s["constant"] for s in steps}}
    for draw in draws.values():
        draw(1000)
    if group:
        Path(group, "cgroup.procs").write_text(str(os.getpid()))
    kept = []
    for step in steps:
        kept.append(np.ones(step.get("ballast", 0), np.uint8))
        with limited(step.get("limit"), step.get("room", 0)):
            for length in (step["size"] // 4, 1000):
                raised = None
                try:
                    draws[step["constant"]](length)
                except Exception as error:
                    raised = f"{type(error).__name__}: {error}"
                print(json.dumps(raised), flush=True)


@contextlib.contextmanager
def limited(limit: str | None, room: int) -> Iterator[None]:
    if limit is None:
        yield
        return
    field = {"RLIMIT_AS": "VmSize:", "RLIMIT_DATA": "VmData:"}[limit]
    lines = Path("/proc/self/status").read_text().splitlines()
    used = next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))
    before = resource.getrlimit(getattr(resource, limit))
    resource.setrlimit(getattr(resource, limit), (used + room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(getattr(resource, limit), before)


if __name__ == "__main__":
    say_what_happens(*json.loads(sys.argv[1]))
