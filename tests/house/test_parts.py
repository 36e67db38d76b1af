"""The package without torch's numbers, the command, cards and GPU: the rest works, and says so.

`.ci/parts` deletes each of them in an install, and runs the other tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnx_philox import _parts
from tests.common import child, missing_part
from tests.house.without_parts import IS_REFUSED, WORKS

pytestmark = pytest.mark.installed
PROGRAM = Path(__file__).with_name("without_parts.py")
NO_TORCH = (
    "torch's numbers are not installed, since the folder onnx_philox/_torch is missing: "
    "pip install --force-reinstall --no-deps onnx-philox"
)
SAID = {
    "graphs": f"PartNotInstalledError: alignment 'pytorch': {NO_TORCH}",
    "reference": f"PartNotInstalledError: alignment 'pytorch': {NO_TORCH}",
    "make_reproducible": f"PartNotInstalledError: alignment 'pytorch': {NO_TORCH}",
    "Pipeline": f"PartNotInstalledError: alignment 'pytorch': {NO_TORCH}",
    "diffusers": f"PartNotInstalledError: diffusers.generator: like 'torch': {NO_TORCH}",
    "TorchState": f"AttributeError: onnx_philox.TorchState: {NO_TORCH}",
    "import of TorchState": f"PartNotInstalledError: onnx_philox.TorchState: {NO_TORCH}",
    "torch": f"PartNotInstalledError: onnx_philox.torch: {NO_TORCH}",
    "pytorch_extensions": f"PartNotInstalledError: openvino.pytorch_extensions: {NO_TORCH}",
    "compile_model on a GPU": (
        "PartNotInstalledError: openvino.compile_model for GPU: the kernels for OpenVINO's device "
        "GPU are not installed, since the folder onnx_philox/_experimental/openvino_gpu is "
        "missing: pip install --force-reinstall --no-deps onnx-philox"
    ),
    "progress": (
        "NotInstalledError: Pipeline.map with progress=True needs rich: "
        "pip install 'onnx-philox[command]'"
    ),
    "command": "SystemExit: 2",
}


@pytest.fixture(scope="module")
def without() -> dict[str, dict[str, str]]:
    """What became of each call, in one process that has none of the parts."""
    done = child.forked(PROGRAM)
    needed = "onnx-philox: the command needs click and jinja2 and rich: "
    assert f"{needed}pip install 'onnx-philox[command]'\n" in done.stderr
    return dict(json.loads(done.stdout))


def test_without_the_parts_every_door_of_the_core_works(
    without: dict[str, dict[str, str]],
) -> None:
    assert without["works"] == dict.fromkeys(WORKS, "works")


@pytest.mark.parametrize("name", IS_REFUSED)
def test_who_asks_for_a_part_that_is_missing_is_told_so(
    without: dict[str, dict[str, str]], name: str
) -> None:
    assert without["is refused"][name] == SAID[name]


@pytest.mark.parametrize(
    ("hidden", "arguments", "said"),
    [
        pytest.param(
            "onnx_philox._command",
            ["verify"],
            "onnx-philox: the command is not installed, since the folder onnx_philox/_command is "
            "missing: pip install --force-reinstall --no-deps onnx-philox\n",
            id="the command",
        ),
        pytest.param(
            "rich",
            ["--version"],
            "onnx-philox: the command needs rich: pip install 'onnx-philox[command]'\n",
            id="a library of the command",
        ),
        pytest.param(
            "onnx_philox._experimental.cuda",
            ["verify", "--device", "cuda"],
            "onnx-philox verify: --device cuda: sessions on NVIDIA's cards alone are not "
            "installed, since the folder onnx_philox/_experimental/cuda is missing: "
            "pip install --force-reinstall --no-deps onnx-philox\n",
            id="cards",
        ),
    ],
)
def test_the_command_says_what_is_missing(hidden: str, arguments: list[str], said: str) -> None:
    program = (
        f"import runpy, sys; sys.modules[{hidden!r}] = None\n"
        "runpy.run_module('onnx_philox', run_name='__main__')"
    )
    done = child.forked(program, *arguments, code=2)
    assert done.stderr == said


def test_verify_compares_the_rest_where_torchs_numbers_are_missing() -> None:
    missing_part.needs(_parts.COMMAND_PART)
    program = (
        "import runpy, sys; sys.modules['onnx_philox._torch'] = None\n"
        "runpy.run_module('onnx_philox', run_name='__main__')"
    )
    done = child.forked(program, "verify", "--runtime", "reference")
    assert done.stdout.startswith("All is well: ")
    assert f"not compared: {NO_TORCH}" in " ".join(done.stdout.split())
