"""Small draws in OpenVINO, beside its own RandomUniform, as a program in C++ sees them.

    python benchmarks/openvino_cpp.py [--pairs N] [--library FILE] [--older FILE] [--markdown FILE]

An inference takes 35 microseconds more in Python, which hides most of a difference. So this builds
`openvino_cpp/main.cpp` for the OpenVINO that is installed, in a temporary folder: it needs CMake
and a C++ compiler. With --older the peer is the same model, drawn by an older build of the library.
`chrt -f 50` before the command keeps other jobs away (on Linux, as root).
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset8
from openvino.utils import get_cmake_path
from paired import Row, gigabytes, markdown_table, microseconds, rich_table, summarise
from rich.console import Console

import onnx_philox
from onnx_philox import graphs

SIZES_LOG2 = (10, 16)
THREADS = (1, 2)
PART = "OpenVINO in C++"
SEEDS = {"global_seed": 7, "op_seed": 1}

TARGETS = {
    ("seeds", 10, 1): 0.85,
    ("state", 10, 1): 0.70,
    ("state, the shape a constant", 10, 1): 1.10,
    ("seeds", 16, 1): 1.2,
    ("state", 16, 1): 1.2,
    ("state", 16, 2): 1.10,
}


def own_state() -> tuple[ov.Node, ov.Node]:
    """A state that goes in, is computed with and comes out, as an application would have it."""
    state = opset8.parameter([6], np.uint32, "state")
    added = opset8.add(opset8.convert(state, "i32"), np.array([1], np.int32))
    return state, opset8.convert(added, "u32")


def own(elements: int | None, *, stateful: bool) -> ov.Model:
    """OpenVINO's RandomUniform; what is constant altogether would be computed only once."""
    bounds = [opset8.constant(np.array([x], np.float32)) for x in (0, 1)]
    if elements is None:
        shape = first = opset8.parameter([1], np.int64, "shape")
    else:
        shape = opset8.constant(np.array([elements]))
        first = bounds[1] = opset8.parameter([1], np.float32, "maxval")
    parameters = [first]
    outputs = [opset8.random_uniform(shape, *bounds, "f32", **SEEDS)]
    if stateful:
        state, next_state = own_state()
        parameters.append(state)
        outputs.append(next_state)
    return ov.Model(outputs, parameters, "own")


def ours(elements: int | None, *, stateful: bool) -> ov.Model:
    shape = None if elements is None else [elements]
    model = graphs.random_uniform(shape, 0, 1, "f32", stateful=stateful, rank=1, **SEEDS)
    core = onnx_philox.openvino.register(ov.Core(), backend="native")
    return core.read_model(model.SerializeToString())


def both_builds(log2: int) -> Iterator[tuple[str, str, ov.Model, ov.Model]]:
    """The same for two builds of the library: each model beside itself."""
    for shape, constant in ((None, ""), (1 << log2, ", the shape a constant")):
        for what, stateful in (("seeds", False), ("state", True)):
            if shape is None or stateful:  # a draw of constants is drawn once
                model = ours(shape, stateful=stateful)
                yield what + constant, "the older build", model, model


def contenders(log2: int) -> Iterator[tuple[str, str, ov.Model, ov.Model]]:
    """What is measured, beside what, and the two models."""
    with_state = "its RandomUniform, and a sum of the state"
    state = ours(None, stateful=True)
    yield "seeds", "its RandomUniform", ours(None, stateful=False), own(None, stateful=False)
    yield "state", "its RandomUniform", state, own(None, stateful=False)
    yield "state", with_state, state, own(None, stateful=True)
    made = [make(1 << log2, stateful=True) for make in (ours, own)]
    yield "state, the shape a constant", with_state, *made


def program(folder: Path) -> Path:
    source = Path(__file__).parent / "openvino_cpp"
    build = folder / "build"
    given = ["-DCMAKE_BUILD_TYPE=Release", f"-DOpenVINO_DIR={get_cmake_path()}"]
    subprocess.run(["cmake", "-S", source, "-B", build, *given], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", build], check=True, capture_output=True)
    return build / "openvino_cpp"


def timed(
    run: Path,
    library: Path,
    models: list[Path],
    threads: int,
    elements: int,
    pairs: int,
    older: Path | None = None,
) -> list[tuple[float, float]]:
    """Seconds an inference of the first model and of the second, in pairs."""
    given = [library, threads, elements, pairs, *models]
    if older is not None:
        given.append(older)
    done = subprocess.run([run, *map(str, given)], capture_output=True, text=True, check=True)
    taken = []
    for line in done.stdout.splitlines():
        mine, theirs = map(float, line.split())
        taken.append((mine, theirs))
    return taken


def rows(library: Path, older: Path | None, pairs: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = program(folder)
        for log2 in SIZES_LOG2:
            for what, peer, *models in (both_builds if older else contenders)(log2):
                files = [folder / f"{side}.xml" for side in ("ours", "theirs")]
                for file, model in zip(files, models, strict=True):
                    ov.save_model(model, file, compress_to_fp16=False)
                for threads in THREADS:
                    row = Row(PART, f"f32, {what}", peer, threads, f"2^{log2}")
                    if older is None and (peer == "its RandomUniform" or "constant" in what):
                        row.target = TARGETS.get((what, log2, threads))
                    row.pairs = timed(run, library, files, threads, 1 << log2, pairs, older)
                    yield summarise(row, microseconds if log2 == 10 else gigabytes(4 << log2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=31)
    parser.add_argument("--library", type=Path, default=onnx_philox.openvino.library_path())
    parser.add_argument("--older", type=Path)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    measured = list(rows(given.library, given.older, given.pairs))
    if given.markdown is not None:
        given.markdown.write_text(markdown_table(measured) + "\n", encoding="utf-8")
    Console(width=180).print(rich_table(PART, measured))


if __name__ == "__main__":
    main()
