"""`rewrite --standard --target web`: one file that a page can run, and show the draws of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cli
import numpy as np
import onnx
import onnxruntime
from foreign import nodes, parse
from onnx import helper

import onnx_philox
from onnx_philox import PhiloxState

MODEL = """g (float[n, 3] x, int64 count) => (float[n, 3] y, float[steps, 3] z)
<float[3] weight = {1, 2, 3}, float ratio = {0.5}, bool on = {1}> {
    noise = RandomNormalLike (x) kept = Dropout (noise, ratio, on) y = Mul (kept, weight)
    z = Loop (count, on) <body = body (int64 i, bool c) => (bool d, float[3] v) {
        d = Identity (c) v = RandomUniform <shape = [3]> () }> }"""


def rewritten(folder: Path, *options: str, code: int = 0) -> str:
    (folder / "out").mkdir(exist_ok=True)
    beside = {"save_as_external_data": True, "location": "m.bin", "size_threshold": 0}
    onnx.save(parse(MODEL, 18), folder / "m.onnx", **beside)
    given = ("rewrite", folder / "m.onnx", "-o", folder / "out" / "w.onnx", *options)
    return cli.refusal(*given) if code else cli.text(*given)


def feeds() -> dict[str, Any]:
    state = PhiloxState.for_run(42).to_array()
    return {"x": np.ones((2, 3), np.float32), "count": np.array(2), "random_state": state}


def test_one_file_has_the_draws_as_outputs(tmp_path: Path) -> None:
    said = rewritten(tmp_path, "--standard", "--target", "web")
    assert "Drop the file on the page examples/web/drop.html" in said
    (path,) = (tmp_path / "out").iterdir()
    model = onnx.load(path)
    assert not model.functions
    assert {node.domain for node in nodes(model)} == {""}
    session = onnxruntime.InferenceSession(path)  # without this package
    names = [o.name for o in session.get_outputs()]
    found = dict(zip(names, session.run(None, feeds()), strict=True))

    ours = onnx_philox.make_reproducible(tmp_path / "m.onnx")
    assert names == ["y", "z", "next_random_state", "kept/mask", "noise"]
    ours.graph.output.append(helper.make_empty_tensor_value_info("noise"))
    shared = [name for name in names if name != "kept/mask"]
    expected = onnx_philox.onnxruntime.InferenceSession(ours).run(shared, feeds())
    for name, array in zip(shared, expected, strict=True):
        np.testing.assert_array_equal(found[name], array)
    assert found["kept/mask"].dtype == bool


def test_the_metadata_name_what_draws(tmp_path: Path) -> None:
    rewritten(tmp_path, "--standard", "--target", "web")
    model = onnx.load(tmp_path / "out" / "w.onnx")
    said = json.loads({e.key: e.value for e in model.metadata_props}["onnx_philox.web"])
    assert said["version"] == 1
    assert [d["operator"] for d in said["draws"]] == ["RandomNormal", "RandomDropout"]
    every = nodes(model)
    names = [node.name for node in every]
    assert len({*names}) == len(names)
    assert {*said["nodes"]} < {*names}
    others = [node.op_type for node in every if node.name not in said["nodes"]]
    # The model's own nodes alone may run on a GPU.
    assert {"Mul", "Loop"} <= {*others}
    assert not {"BitShift", "BitwiseAnd", "BitwiseXor", "Sqrt"} & {*others}


def test_an_unknown_target_is_refused(tmp_path: Path) -> None:
    said = rewritten(tmp_path, "--standard", "--target", "wab", code=2)
    assert "--target must be 'onnxruntime', 'openvino' or 'web': got 'wab'" in said
