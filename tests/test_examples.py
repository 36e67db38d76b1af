"""The examples in C and C++: built and run by the commands of their READMEs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import child
import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest

import onnx_philox
from onnx_philox import PhiloxState, graphs, reference

ROOT = Path(__file__).resolve().parents[1]
F32 = {"INFERENCE_PRECISION_HINT": "f32"}
WARNINGS = "-Wall -Wextra -Wconversion -Werror"
# Of OpenVINO's documentation.
UNIFORM = [0.7011236, 0.30539632, 0.93931055, 0.9456035, 0.11694777]
UNIFORM += [0.50770056, 0.5197197, 0.22727466, 0.991374]


def environment() -> dict[str, str]:
    """This interpreter's programs first: `python`, and the extra `test`'s `cmake` and `ninja`."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    flags = {"CFLAGS": WARNINGS + " -pedantic", "CXXFLAGS": WARNINGS}
    return flags | {"PATH": path, "CMAKE_GENERATOR": "Ninja"}


def blocks_of(example: Path) -> tuple[str, str]:
    """What the README says to run, and what it says is printed."""
    commands, printed = (example / "README.md").read_text().split("```")[1:4:2]
    return commands.removeprefix("sh\n"), printed.removeprefix("text").removeprefix("\n")


class Example:
    """One of the examples, in a copy of its folder alone: it needs nothing else of the clone."""

    def __init__(self, name: str, where: Path) -> None:
        folder = where / "examples" / name
        ignored = shutil.ignore_patterns("build*", "node_modules")
        shutil.copytree(ROOT / "examples" / name, folder, ignore=ignored)
        commands, self.documented = blocks_of(folder)
        bash = ("bash", "-euo", "pipefail", "-c", commands)
        self.readme = child.run(*bash, cwd=folder, env=environment())
        self.program = folder / "build" / name

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [self.program, *arguments]
        return child.run(*command, code=None)


@pytest.fixture(scope="module")
def c_onnxruntime(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return Example("c_onnxruntime", tmp_path_factory.mktemp("c"))


@pytest.fixture(scope="module")
def c_without_session(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return Example("c_without_session", tmp_path_factory.mktemp("draws"))


@pytest.fixture(scope="module")
def cpp_openvino(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return Example("cpp_openvino", tmp_path_factory.mktemp("cpp"))


def onnxruntime_itself() -> Path:
    (library,) = (Path(ort.__file__).parent / "capi").glob("libonnxruntime.so*")
    return library


def numbers(printed: str) -> list[float]:
    return [float(text) for text in printed.removeprefix("values: ").split()]


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


def with_a_negative_seed(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model that no builder would make."""
    (seed,) = (a for a in model.graph.node[0].attribute if a.name == "op_seed")
    seed.i = -1
    return model


def test_the_c_example_prints_the_documented_numbers(c_onnxruntime: Example) -> None:
    assert c_onnxruntime.readme.stdout.endswith(c_onnxruntime.documented)
    assert numbers(c_onnxruntime.documented) == pytest.approx(UNIFORM, abs=5e-8)


def hash_of(data: bytes) -> str:
    """FNV-1a."""
    value = 14695981039346656037
    for byte in data:
        value = (value ^ byte) * 1099511628211 % 2**64
    return f"{value:016x}"


def latent(seed: int) -> np.ndarray:
    drawn = np.empty((1, 4, 64, 64), np.float32)
    onnx_philox.generate(PhiloxState.for_run(seed), out=drawn, mean=0, scale=1)
    return drawn


def test_c_without_a_session_draws_what_generate_draws(c_without_session: Example) -> None:
    assert c_without_session.readme.stdout.endswith(c_without_session.documented)
    for seed in (0, 42, 2**64 - 1):
        told = c_without_session(str(seed)).stdout
        assert told.split()[-1] == hash_of(latent(seed).tobytes())


@pytest.mark.web
def test_node_without_a_session_draws_what_generate_draws(tmp_path: Path) -> None:
    for name in ("draw.mjs", "package.json"):
        shutil.copy(ROOT / "examples" / "c_without_session" / name, tmp_path)
    child.run("npm", "install", "--no-audit", "--no-fund", cwd=tmp_path)
    library = onnx_philox.onnxruntime.library_path()
    done = child.run("node", "draw.mjs", library, "42", cwd=tmp_path)
    assert done.stdout.split()[-1] == hash_of(latent(42).tobytes())


@pytest.fixture(params=["c_onnxruntime", "cpp_openvino"])
def example(request: pytest.FixtureRequest) -> tuple[Example, list[Any]]:
    """An example, and the libraries that it is given before its model."""
    if request.param == "cpp_openvino":
        libraries = [onnx_philox.openvino.library_path()]
    else:
        libraries = [onnxruntime_itself(), onnx_philox.onnxruntime.library_path()]
    return request.getfixturevalue(request.param), libraries


def test_an_example_says_what_is_wrong_with_a_model_or_which_library_is_not_there(
    example: tuple[Example, list[Any]], tmp_path: Path
) -> None:
    run, libraries = example
    model = graphs.random_uniform([3, 3], 0, 1, "f32", op_seed=7)
    for at in range(len(libraries)):
        given = [*libraries]
        given[at] = tmp_path / "none.so"
        done = run(*given, saved(model, tmp_path))
        assert done.returncode == 1
        assert "none.so" in done.stderr
    done = run(*libraries, saved(with_a_negative_seed(model), tmp_path))
    assert done.returncode == 1
    words = "RandomUniform: attribute 'op_seed' must be an integer from 0 to 2^63-1: got -1"
    assert words in done.stderr


def test_the_cpp_example_prints_the_documented_numbers(cpp_openvino: Example) -> None:
    assert cpp_openvino.readme.stdout.endswith(cpp_openvino.documented)
    assert numbers(cpp_openvino.documented) == [65, 70, 56, 59, 82, 92]


def test_the_cpp_example_runs_ir(cpp_openvino: Example, tmp_path: Path) -> None:
    model = graphs.random_uniform([2, 3], 50, 100, "i32", global_seed=80, op_seed=100)
    core = onnx_philox.openvino.register(ov.Core(), backend="native")
    ov.save_model(core.read_model(model.SerializeToString()), tmp_path / "model.xml")
    done = cpp_openvino(onnx_philox.openvino.library_path(), tmp_path / "model.xml")
    assert done.returncode == 0, done.stderr
    assert done.stdout == cpp_openvino.documented


def test_the_cpp_example_carries_a_state(cpp_openvino: Example, tmp_path: Path) -> None:
    model = saved(graphs.random_generator([4]), tmp_path)
    done = cpp_openvino(onnx_philox.openvino.library_path(), model)
    assert done.returncode == 0, done.stderr
    bits, after = reference.random_generator(PhiloxState.from_seed(42).to_array(), [4])
    assert done.stdout.splitlines() == [line("bits", bits), line("next_state", after)]


def test_a_voice_draws_the_same_noise_in_python_and_cpp(tmp_path: Path) -> None:
    models = tmp_path / "tests" / "models"
    models.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "models" / "voice.onnx", models)
    voice = Example("voice", tmp_path)
    assert voice.readme.stdout.endswith(2 * voice.documented)
    one, other = (
        np.fromfile(voice.program.parents[1] / f"{name}.raw", np.float32)
        for name in ("python", "cpp")
    )
    np.testing.assert_array_equal(one, other)
    # OpenVINO rounds in its own way after the same draws.
    feed = {"text": np.array([[3, 1, 4, 1, 5, 9]]), "scales": np.float32([0.667, 1, 0.8])}
    pipeline = onnx_philox.Pipeline(models / "voice.onnx", runtime="openvino", config=F32)
    wav = pipeline(feed, seed=42)["wav"]
    np.testing.assert_allclose(wav.ravel(), one, rtol=0, atol=1e-6)


def line(name: str, array: np.ndarray) -> str:
    return f"{name}: " + " ".join(str(x) for x in array.tolist())
