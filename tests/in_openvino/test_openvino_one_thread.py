"""Refusals in OpenVINO where it has one thread, on which its own `infer()` loses them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import onnx_philox
from onnx_philox import Pipeline
from tests.common import child
from tests.common.cases import parse
from tests.common.runtimes import ONE_THREAD

ROOT = Path(__file__).parents[2]
# What a request adds is that of another one, if its own run is not whole.
SECRET = parse("""g (float[N, 3] p, float[N, 3] secret) => (float[N, 3] y) {
    b = Bernoulli (p) y = Add (secret, b) }""")
# Where a node stands, with a body of its own in OpenVINO: the refusal crosses it.
PLACES = {
    "main": "y = Bernoulli (p)",
    "If": "t = CastLike (one, one) c = Cast <to = 9> (t) y = If (c) <"
    "then_branch = t () => (float[N, 3] a) { a = Bernoulli (p) },"
    "else_branch = e () => (float[N, 3] d) { d = Identity (p) }>",
    "Loop": "y = Loop (trips, , p) <body = b (int64 i, bool goes_on, float[N, 3] x) => "
    "(bool still, float[N, 3] z) { still = Identity (goes_on) z = Bernoulli (x) }>",
}


def feed(
    p: float,
    secret: float = 0,
    rows: int = 2,
) -> dict[str, np.ndarray]:
    each = {"p": p, "secret": secret}
    return {name: np.full((rows, 3), value, np.float32) for name, value in each.items()}


@pytest.mark.parametrize("backend", list(onnx_philox.openvino.BACKENDS))
def test_a_refused_request_is_not_answered_with_the_one_before_it(backend: str) -> None:
    pipe = Pipeline(SECRET, runtime="openvino", backend=backend, config=ONE_THREAD)
    request = pipe.request(seed=1)
    request(feed(0.5, secret=777))
    before = request.checkpoint()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="RandomBernoulli: input 'p' must be from 0 to 1"):
            request(feed(2))
    assert request.checkpoint() == before
    after = request(feed(0.5))
    expected = Pipeline(SECRET, runtime="onnxruntime").request(resume=before)(feed(0.5))
    np.testing.assert_array_equal(after["y"], expected["y"])


@pytest.mark.parametrize("backend", list(onnx_philox.openvino.BACKENDS))
@pytest.mark.parametrize("place", PLACES)
def test_a_refusal_leaves_every_place_of_a_model(place: str, backend: str) -> None:
    given = "float[N, 3] p, int64 trips, float one"
    model = parse(f"g ({given}) => (float[N, 3] y) {{ {PLACES[place]} }}", ir_version=9)
    pipe = Pipeline(model, runtime="openvino", backend=backend, config=ONE_THREAD)
    others = {"trips": np.array(2), "one": np.array(1, np.float32)}
    good, bad = ({**others, "p": feed(p)["p"]} for p in (0.5, 2))
    pipe(good, seed=1)
    with pytest.raises(RuntimeError, match="input 'p' must be from 0 to 1"):
        pipe(bad, seed=1)


PROGRAM = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import sys
import numpy as np
import onnx_philox
from onnx_philox._files.given import Given
from onnx_philox._runtimes import RUNTIMES
from onnx_philox._runtimes.models import ToOpen
from tests.in_openvino.test_openvino_one_thread import SECRET, feed

model = onnx_philox.make_reproducible(SECRET)
state = {"random_state": onnx_philox.PhiloxState.for_run(1).to_array()}
runs = []
for backend in onnx_philox.openvino.BACKENDS:
    pipe = onnx_philox.Pipeline(SECRET, runtime="openvino", backend=backend)
    runs.append(lambda given, pipe=pipe: pipe(given, seed=1))
    # What the commands run.
    asked = ToOpen(Given.of("test", model), RUNTIMES["openvino"].options.of(backend))
    loaded = RUNTIMES["openvino"].models().open(asked)
    runs.append(lambda given, loaded=loaded: loaded.outputs_of({**given, **state}))
for run in runs:
    assert run(feed(0.5, 777))["y"].min() >= 777
    try:
        print("answered:", run(feed(2)))
    except Exception as error:
        assert "RandomBernoulli: input 'p' must be from 0 to 1" in str(error), error
    else:
        sys.exit(1)
    assert run(feed(0.5))["y"].max() <= 1
"""


def test_a_process_of_one_processor_refuses_as_others_do() -> None:
    child.forked(PROGRAM)


def _calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Calls of `infer`, and of what a `compile_model` or `import_model` made."""
    nodes = list(ast.walk(tree))
    made = [node for node in nodes if isinstance(node, ast.Assign) and _is_compiling(node.value)]
    compiled = {ast.unparse(target) for node in made for target in node.targets}
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in ("infer", "infer_new_request"):
            yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and (
            _is_compiling(node.func) or ast.unparse(node.func) in compiled
        ):
            yield node.lineno, "a compiled model"


def _is_compiling(node: ast.expr) -> bool:
    ends = ("compile_model", "import_model")
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith(ends)


# They try what users call, with input that is right.
ALLOWED = {
    "tests/common/half_precision.py": "asks the bare runtime what it computes in",
    "tests/rewriting/test_equal_seeds.py": "asks the bare runtime which nodes go together",
    "tests/command/bare.py": "asks the bare runtime what it does",
    "benchmarks/pipeline.py": "measures what it costs",
    "tests/in_openvino/test_openvino.py": "takes a PhiloxState; computes in the calling thread",
}


def test_everything_runs_a_request_by_the_one_function_that_loses_nothing() -> None:
    found = {}
    for folder in ("src", "tests", "examples", "benchmarks"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            text = file.read_text()
            if re.search("infer|compile_model|import_model", text) and (
                calls := list(_calls(ast.parse(text)))
            ):
                found[file.relative_to(ROOT).as_posix()] = calls
    for name in ALLOWED:
        found.pop(name, None)
    assert not found, "start the request and wait for it: onnx_philox._openvino_models.requests.run"
