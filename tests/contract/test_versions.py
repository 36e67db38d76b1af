"""Runtimes that are too old or missing are refused, and the lowest are declared once."""

from __future__ import annotations

import re
import tomllib
from functools import partial
from pathlib import Path

import onnxruntime as ort
import openvino as ov
import pytest

from onnx_philox import _parts, _versions
from tests.common import child, missing_part

pytestmark = [pytest.mark.lowest, pytest.mark.missing_backend]
ROOT = Path(__file__).parents[2]
OLD = "2025.3.0-19807-44526285f24-releases/2025/3"


@pytest.mark.parametrize(
    ("runtime", "version", "said"),
    [
        ("openvino", OLD, "OpenVINO must be 2025.4 or newer: got 2025.3.0-19807"),
        ("openvino", "2024.6.0", "OpenVINO must be 2025.4 or newer: got 2024.6.0"),
        ("onnxruntime", "1.18.1", "ONNX Runtime must be 1.19 or newer: got 1.18.1"),
        ("onnxruntime", "1.9.0", "pip install --upgrade 'onnx-philox[onnxruntime]'"),
    ],
)
def test_an_old_runtime_is_refused(runtime: str, version: str, said: str) -> None:
    with pytest.raises(_versions.OldRuntimeError, match=re.escape(said)):
        _versions.check_version(runtime, version)


NEWER = [
    *(("onnxruntime", version) for version in ("1.19.0", "1.100", ort.__version__)),
    *(("openvino", version) for version in ("2030.0", "custom_HEAD_0123abc", ov.__version__)),
    ("openvino", "2025.4.0-20398-8fdad55727d-releases/2025/4"),
]


@pytest.mark.parametrize(("runtime", "version"), NEWER)
def test_a_newer_runtime_is_accepted(runtime: str, version: str) -> None:
    _versions.check_version(runtime, version)


def said_without(module: str, call: str) -> str:
    """What a call says where a module cannot be imported."""
    code = f"import sys; sys.modules['{module}'] = None; import onnx_philox; onnx_philox.{call}"
    return str(child.forked(code, code=1).stderr)


def test_the_extra_of_torch_is_named_where_torch_is_missing() -> None:
    missing_part.needs(_parts.TORCH_PART)
    said = "onnx_philox.torch needs torch: pip install 'onnx-philox[torch]'"
    assert said in said_without("torch", "torch.translations()")


def test_the_extra_of_genai_is_named_where_genai_is_missing() -> None:
    said = "OpenVINO GenAI: pip install 'onnx-philox[genai]'"
    assert said in said_without("openvino_genai", "openvino.genai_generator(1)")


def test_what_is_declared_and_documented_is_what_is_checked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest = _versions.LOWEST["onnxruntime"]
    assert f"onnxruntime>={lowest}" in project["optional-dependencies"]["onnxruntime"]
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"ONNX Runtime {lowest} and OpenVINO {_versions.LOWEST['openvino']} or newer" in readme
    library = (ROOT / "custom_ops" / "onnxruntime" / "library.cpp").read_text()
    assert f'"{lowest} or newer"' in library


def test_on_free_threaded_python_the_command_names_what_has_a_wheel() -> None:
    # onnxruntime-extensions, which the extra onnxruntime brings, has none there.
    command = partial(_versions.install_command, free_threaded=True)
    assert command("onnxruntime") == "pip install 'onnxruntime>=1.19'"
    assert command("onnxruntime", upgrade=True) == "pip install --upgrade 'onnxruntime>=1.19'"
    assert command("openvino") == "pip install 'onnx-philox[openvino]'"
