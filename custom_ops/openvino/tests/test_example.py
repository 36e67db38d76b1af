"""The C++ example: built as its README says, run on ONNX and on IR."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import openvino.utils
import pytest
from onnx_philox import PhiloxState, graphs, reference

from native import LIBRARY, native_core

EXAMPLES = Path(
    os.environ.get("ONNX_PHILOX_EXAMPLES", Path(__file__).resolve().parents[3] / "examples")
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cmake") is None:
        pytest.skip("needs cmake")
    build = tmp_path_factory.mktemp("build")
    source = EXAMPLES / "cpp_openvino"
    cmake_path = openvino.utils.get_cmake_path()
    for command in (
        ["cmake", "-S", source, "-B", build, f"-DOpenVINO_DIR={cmake_path}"],
        ["cmake", "--build", build],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return build / "cpp_openvino"


def run(program: Path, model: Path) -> list[str]:
    done = subprocess.run([program, LIBRARY, model], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_it_prints_the_documented_numbers(program: Path, tmp_path: Path) -> None:
    model = graphs.random_uniform([2, 3], 50, 100, "i32", global_seed=80, op_seed=100)
    onnx.save(model, tmp_path / "model.onnx")
    ov.save_model(native_core().read_model(tmp_path / "model.onnx"), tmp_path / "model.xml")
    for name in ("model.onnx", "model.xml"):
        assert run(program, tmp_path / name) == ["values: 65 70 56 59 82 92"]


def test_it_carries_a_state(program: Path, tmp_path: Path) -> None:
    onnx.save(graphs.random_generator([4]), tmp_path / "model.onnx")
    bits, after = reference.random_generator(PhiloxState.from_seed(42).to_array(), [4])
    assert run(program, tmp_path / "model.onnx") == [line("bits", bits), line("next_state", after)]


def test_it_says_what_is_wrong(program: Path, tmp_path: Path) -> None:
    model = graphs.random_generator([4])
    (seed,) = (a for a in model.graph.node[0].attribute if a.name == "op_seed")
    seed.i = -1
    onnx.save(model, tmp_path / "model.onnx")
    done = subprocess.run(
        [program, LIBRARY, tmp_path / "model.onnx"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "RandomGenerator: attribute 'op_seed' is -1" in done.stderr


def line(name: str, array: np.ndarray) -> str:
    return f"{name}: " + " ".join(str(x) for x in array.tolist())
