"""Sessions of models with large weights: left to ONNX Runtime, read where a check needs them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper

from onnx_philox import PhiloxState, graphs, reference
from onnx_philox.onnxruntime import InferenceSession
from tests.common import child
from tests.common.cases import SEED, assert_same_bits, parse

InvalidArgument = ort.capi.onnxruntime_pybind11_state.InvalidArgument

STATE = PhiloxState(3, 5).to_array()
# More than a reader of models keeps of a tensor.
SIZE = 20_000


def saved(model: onnx.ModelProto, folder: Path, **options: Any) -> Path:
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    onnx.save(copy, folder / "model.onnx", **options)
    return folder / "model.onnx"


GIVEN: dict[str, Callable[[onnx.ModelProto, Path], Any]] = {
    "file": saved,
    "external data": partial(saved, save_as_external_data=True, location="w.bin"),
    "bytes": lambda model, _: model.SerializeToString(),
    "model": lambda model, _: model,
}
WAYS = pytest.mark.parametrize("give", GIVEN.values(), ids=GIVEN)


def weight(name: str, factor: float) -> onnx.TensorProto:
    return numpy_helper.from_array(np.arange(SIZE, dtype=np.float32) * np.float32(factor), name)


def with_weights(text: str, **factors: float) -> onnx.ModelProto:
    """A model whose Constants of these names are weights."""
    model = parse(text)
    for node in (*model.graph.node, *(node for f in model.functions for node in f.node)):
        if node.output[0] in factors:
            node.attribute[0].t.CopyFrom(weight(node.output[0], factors[node.output[0]]))
    return model


def noise_model() -> onnx.ModelProto:
    """Noise, and weights in an initializer and in a Constant."""
    text = f"""g () => (float[{SIZE}] values, float[{SIZE}] y)
    <int64[1] n = {{{SIZE}}}, float low = {{0}}, float high = {{1}}> {{
        values = onnx_philox.RandomUniform
            <output_type = "f32", global_seed = 7, op_seed = 3> (n, low, high)
        b = Constant <value = float {{0}}> ()
        y = Sum (values, a, b)
    }}"""
    model = with_weights(text, b=2)
    model.graph.initializer.append(weight("a", 1))
    # A field of a fixed size beside the large one.
    (attribute,) = next(n.attribute for n in model.graph.node if n.op_type == "Constant")
    attribute.f = 1
    return model


def function_model() -> onnx.ModelProto:
    """A function that draws, with weights in it and in its branches; called twice."""
    text = f"""g (uint32[6] state, bool yes, bool no) => (float[{SIZE}] y, float[{SIZE}] z) {{
        y, s = mine.draw (state, yes)
        z, t = mine.draw (s, no)
    }}
    <domain: "mine", opset_import: ["": 17, "onnx_philox": 1]>
    draw (state, which) => (out, next) {{
        shape = Constant <value_ints = [{SIZE}]> ()
        zero = Constant <value = float {{0}}> ()
        one = Constant <value = float {{1}}> ()
        c = Constant <value = float {{0}}> ()
        noise, next =
            onnx_philox.RandomUniform <output_type = "f32"> (shape, zero, one, state)
        weighted = If (which) <
            then_branch = t () => (float[{SIZE}] u) {{ u = Add (noise, v) }},
            else_branch = e () => (float[{SIZE}] x) {{ x = Add (noise, w) }}>
        out = Add (weighted, c)
    }}"""
    model = with_weights(text, c=0.5)
    branches = [a.g for node in model.functions[0].node for a in node.attribute if a.HasField("g")]
    for branch, (name, factor) in zip(branches, (("v", 1), ("w", -3)), strict=True):
        branch.initializer.append(weight(name, factor))
    return model


@WAYS
def test_large_weights_arrive_in_initializers_and_constants(
    tmp_path: Path, ort_backend: str, give: Callable[..., Any]
) -> None:
    session = InferenceSession(give(noise_model(), tmp_path), backend=ort_backend)
    expected, _ = reference.random_uniform([SIZE], 0, 1, "f32", **SEED)
    a = np.arange(SIZE, dtype=np.float32)
    assert_same_bits(session.run(["y"], {})[0], expected + a + a * np.float32(2))


@WAYS
def test_large_weights_arrive_in_functions_that_are_inlined(
    tmp_path: Path, ort_backend: str, give: Callable[..., Any]
) -> None:
    session = InferenceSession(give(function_model(), tmp_path), backend=ort_backend)
    feed = {
        "state": STATE,
        "yes": np.array(True),
        "no": np.array(False),
    }
    state = STATE
    for actual, factor in zip(session.run(None, feed), (1, -3), strict=True):
        noise, state = reference.random_uniform([SIZE], 0, 1, "f32", state=state)
        a = np.arange(SIZE, dtype=np.float32)
        expected = noise + a * np.float32(factor) + a * np.float32(0.5)
        assert_same_bits(actual, expected)


@WAYS
@pytest.mark.parametrize("is_constant_node", [False, True])
def test_a_large_probability_is_read_and_checked_when_the_session_is_made(
    tmp_path: Path,
    ort_backend: str,
    give: Callable[..., Any],
    is_constant_node: bool,
) -> None:
    probability = np.full(SIZE, 0.25, np.float32)
    for last in (0.5, 1.5):
        model = graphs.random_bernoulli([SIZE], probability, **SEED)
        graph = model.graph
        (p,) = (t for t in graph.initializer if t.name == "p")
        probability[-1] = last
        p.CopyFrom(numpy_helper.from_array(probability, "p"))
        if is_constant_node:
            graph.node.insert(0, onnx.helper.make_node("Constant", [], ["p"], value=p))
            graph.initializer.remove(p)
        given = give(model, tmp_path)
        if last > 1:
            with pytest.raises(
                InvalidArgument, match=r"input 'p' must be from 0 to 1, .*: got 1\.5 at"
            ):
                InferenceSession(given, backend=ort_backend)
        else:
            values = InferenceSession(given, backend=ort_backend).run(None, {})[0]
            expected, _ = reference.random_bernoulli([SIZE], probability, **SEED)
            assert_same_bits(values, expected)


MEGABYTES = 96
PLANS = """
import sys
from pathlib import Path
from onnx_philox.onnxruntime import _native_onnxruntime

def memory(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith(field))
    return int(kilobytes)

_, path, warm, how = sys.argv
_native_onnxruntime.plan(warm, None)
given = Path(path).read_bytes() if how == "bytes" else path
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = memory("VmRSS")
plan = _native_onnxruntime.plan(given, None)
print(memory("VmHWM") - before)
assert plan.model is given
"""


@pytest.mark.parametrize("how", ["path", "bytes"])
def test_the_native_backend_neither_reads_nor_copies_weights(tmp_path: Path, how: str) -> None:
    warm = saved(noise_model(), tmp_path)
    model = noise_model()
    large = np.zeros((MEGABYTES, 2**18), np.float32)
    model.graph.initializer.append(numpy_helper.from_array(large, "large"))
    path = tmp_path / "large.onnx"
    onnx.save(model, path)
    done = child.python(
        "-c",
        PLANS,
        str(path),
        str(warm),
        how,
    )
    assert int(done.stdout) < MEGABYTES * 1024 / 8
