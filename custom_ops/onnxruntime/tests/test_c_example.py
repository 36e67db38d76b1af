"""The C example is built, and prints OpenVINO's documented numbers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import onnx
import onnxruntime as ort
import pytest

from onnx_philox import graphs

LIBRARY = os.environ.get("ONNX_PHILOX_ORT_LIBRARY", "")
EXAMPLE = Path(__file__).parents[3] / "examples" / "c_onnxruntime"
DOCUMENTED = [0.7011236, 0.30539632, 0.93931055, 0.9456035, 0.11694777]
DOCUMENTED += [0.50770056, 0.5197197, 0.22727466, 0.991374]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = tmp_path_factory.mktemp("c_onnxruntime")
    flags = "-DCMAKE_C_FLAGS=-Wall -Wextra -Wconversion -Werror -pedantic"
    subprocess.run(["cmake", "-S", str(EXAMPLE), "-B", str(build), flags], check=True)
    subprocess.run(["cmake", "--build", str(build)], check=True)
    return build / "c_onnxruntime"


def run(program: Path, model: Path, library: str = LIBRARY) -> subprocess.CompletedProcess:
    (runtime,) = (Path(ort.__file__).parent / "capi").glob("libonnxruntime.so*")
    arguments = [str(program), str(runtime), library, str(model)]
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


def test_it_prints_the_documented_numbers(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(graphs.random_uniform([3, 3], 0, 1, "f32", global_seed=150, op_seed=10), path)
    done = run(program, path)
    assert done.returncode == 0, done.stderr
    assert done.stdout in (EXAMPLE / "README.md").read_text()
    values = [float(text) for text in done.stdout.removeprefix("values: ").split()]
    assert values == pytest.approx(DOCUMENTED, abs=5e-8)


def test_it_prints_the_error_of_a_bad_node(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    model = graphs.random_uniform([3, 3], 0, 1, "f32", global_seed=150)
    (seed,) = (a for a in model.graph.node[0].attribute if a.name == "global_seed")
    seed.i = -1
    onnx.save(model, path)
    done = run(program, path)
    assert done.returncode == 1
    assert "RandomUniform: attribute 'global_seed' is -1; allowed:" in done.stderr


def test_without_the_library_it_says_so(program: Path, tmp_path: Path) -> None:
    done = run(program, tmp_path / "model.onnx", str(tmp_path / "none.so"))
    assert done.returncode == 1
    assert "none.so" in done.stderr
