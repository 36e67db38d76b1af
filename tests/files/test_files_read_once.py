"""A model is read once: its file opened, made into onnx-ir, or read by OpenVINO.

What a runtime opens itself is not counted: it is given the path of what it loads.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx_ir as ir
import openvino as ov
import pytest
from openvino import opset13

import onnx_philox
from tests.common import cli

TEXT = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[N, 3] x) => (float[N, 3] y) {
      n = RandomNormalLike (x)
      y = Add (x, n)
    }
"""
FEED = {"x": np.ones((2, 3), np.float32)}
OF_A_RUNTIME = str(Path("onnx_philox", "onnxruntime"))
FILLED = ("--fill", "--seed", 1)


class Readings:
    """How often the models of a folder are read, while it watches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.is_watching = False

    def opens(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Hears of every file that Python opens."""
        if event != "open" or not self.is_watching:
            return
        path = arguments[0]
        if not isinstance(path, str | os.PathLike):
            return
        file = Path(path)
        if file.suffix not in (".onnx", ".xml") or file.absolute().parent != self.folder:
            return
        frames = traceback.extract_stack()
        if not any(OF_A_RUNTIME in frame.filename for frame in frames):
            self.counts[f"opened {file.name}"] += 1

    def of(self, do: Callable[[], object]) -> dict[str, int]:
        """What is read while something is done."""
        self.counts.clear()
        self.is_watching = True
        try:
            do()
        finally:
            self.is_watching = False
        return dict(self.counts)


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readings]:
    """A folder with models and records of each form, and a count of what is read there."""
    folder = tmp_path_factory.mktemp("read")
    counted = Readings(folder)
    # It cannot be taken away again.
    sys.addaudithook(counted.opens)
    from_proto = ir.from_proto
    read_model = ov.Core.read_model

    def made_into_onnx_ir(given: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(given, onnx.ModelProto):
            counted.counts["onnx-ir"] += 1
        return from_proto(given, *arguments, **options)

    def read_by_openvino(self: ov.Core, given: Any, *arguments: Any, **options: Any) -> Any:
        if Path(str(given)).suffix == ".xml":
            counted.counts["read by OpenVINO"] += 1
        return read_model(self, given, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(ir, "from_proto", made_into_onnx_ir)
        patch.setattr(ov.Core, "read_model", read_by_openvino)
        onnx.save(onnx.parser.parse_model(TEXT), "m.onnx")
        onnx_philox.rewriting.rewrite_file("m.onnx", "r.onnx")
        ov.save_model(_of_openvino(), "m.xml")
        onnx_philox.rewriting.rewrite_file("m.xml", "r.xml")
        cli.text("run", "r.onnx", *FILLED, "--record", "onnx.json")
        cli.text("run", "r.xml", *FILLED, "--record", "ir.json")
        result = onnx_philox.Pipeline("m.onnx")
        Path("pipeline.json").write_text(json.dumps(result(FEED, seed=1).record()))
        yield counted


def _of_openvino() -> ov.Model:
    x = opset13.parameter([-1, 3], np.float32, name="x")
    low, high = (opset13.constant(np.float32(bound)) for bound in (0, 1))
    drawn = opset13.random_uniform(opset13.shape_of(x), low, high, "f32")
    return ov.Model([opset13.add(x, drawn)], [x], "g")


ONCE = [
    ("rewrite", "m.onnx", "-o", "new.onnx"),
    ("rewrite", "m.onnx", "-o", "new.xml"),
    ("inspect", "m.onnx"),
    ("inspect", "r.onnx"),
    ("run", "r.onnx", *FILLED, "--runtime", "onnxruntime"),
    ("run", "r.onnx", *FILLED, "--runtime", "openvino"),
    ("run", "r.onnx", *FILLED, "--record", "again.json"),
    ("compare", "r.onnx", *FILLED),
    ("rewrite", "m.xml", "-o", "new.xml"),
    ("inspect", "m.xml"),
    ("inspect", "r.xml"),
    ("run", "r.xml", *FILLED),
    ("run", "r.xml", *FILLED, "--record", "again.json"),
    ("compare", "r.xml", *FILLED),
]


def once(model: str) -> dict[str, int]:
    """What is read of a model in this file, where it is read once."""
    if model.endswith(".xml"):
        return {f"opened {model}": 1, "read by OpenVINO": 1}
    return {f"opened {model}": 1, "onnx-ir": 1}


@pytest.mark.parametrize("words", ONCE, ids=lambda words: " ".join(map(str, words)))
def test_a_command_reads_its_model_once(readings: Readings, words: tuple[Any, ...]) -> None:
    assert readings.of(lambda: cli.invoke(*words)) == once(words[1])


@pytest.mark.parametrize(
    ("record", "model"),
    [("onnx.json", "r.onnx"), ("ir.json", "r.xml"), ("pipeline.json", "m.onnx")],
)
def test_replay_reads_the_model_of_its_record_once(
    readings: Readings, record: str, model: str
) -> None:
    assert readings.of(lambda: cli.text("replay", record)) == once(model)


def test_compare_reads_a_model_and_its_original_once(readings: Readings) -> None:
    words = ("compare", "r.onnx", "--original", "m.onnx", *FILLED, "--runs", 20)
    read = {"opened r.onnx": 1, "opened m.onnx": 1, "onnx-ir": 2}
    assert readings.of(lambda: cli.invoke(*words)) == read


@pytest.mark.parametrize("model", ["m.onnx", "r.onnx", "m.xml", "r.xml"])
def test_a_pipeline_reads_its_model_once(readings: Readings, model: str) -> None:
    runtime = "openvino" if model.endswith(".xml") else "onnxruntime"
    opened = []

    def do() -> None:
        opened.append(onnx_philox.Pipeline(model, runtime=runtime))

    assert readings.of(do) == once(model)
    if model == "m.xml":
        return
    (pipe,) = opened
    result = pipe(FEED, seed=1)
    assert readings.of(result.record) == once(model)


@pytest.mark.parametrize("model", ["m.onnx", "m.xml"])
@pytest.mark.parametrize(
    "call", [onnx_philox.make_reproducible, onnx_philox.rewriting.find_random_nodes]
)
def test_a_rewrite_in_memory_reads_the_file_once(
    readings: Readings, model: str, call: Callable[[str], object]
) -> None:
    assert readings.of(lambda: call(model)) == once(model)
