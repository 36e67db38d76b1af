"""One registry of runtimes: a module and a line there, and every command knows another one."""

from __future__ import annotations

import sys
from pathlib import Path

import cli
import onnx
import pytest
from cli import document
from onnx import parser

from onnx_philox import _runtimes as runtimes
from onnx_philox import graphs
from onnx_philox._command.verify import cases
from onnx_philox._runtimes import RUNTIMES, Runtime

# ONNX's reference once more, under another name.
IN_OTHER = """
from onnx_philox._runtimes import in_reference

class OtherModel(in_reference.ReferenceModel):
    runtime = "other"
    version = "1.2.3"
"""
BARE_OTHER = """
def prepare():
    import other
    return lambda model: lambda feeds: other.draw()
"""
OTHER = "def draw(): return bytes(256)"


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another runtime, as a module and a line of the registry."""
    for name, text in (("in_other", IN_OTHER), ("bare_other", BARE_OTHER), ("other", OTHER)):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(runtimes, "__path__", [*runtimes.__path__, str(tmp_path)])
    monkeypatch.setitem(RUNTIMES, "other", Runtime("other", None))
    # Of the process that `inspect` starts, too.
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop(f"{runtimes.__name__}.in_other", None)


@pytest.mark.usefixtures("other")
def test_run_knows_another_runtime() -> None:
    onnx.save(graphs.random_uniform([5], 0, 1, "f32", stateful=True), "m.onnx")
    ran = document("run", "m.onnx", "--runtime", "other")
    assert (ran["runtime"], ran["version"], ran["backend"]) == ("other", "1.2.3", "onnx")
    ours = document("run", "m.onnx", "--runtime", "openvino")
    assert ran["sha256"] == ours["sha256"]


@pytest.mark.usefixtures("other")
def test_verify_knows_another_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    some = cases.load_cases()[:3]
    monkeypatch.setattr(cases, "load_cases", lambda: some)
    found = document("verify", "--runtime", "other")["cases"]
    assert {(c["runtime"], c["version"], c["backend"]) for c in found} == {
        ("other", "1.2.3", "onnx")
    }
    assert {c["verdict"] for c in found} == {"same bits"}


@pytest.mark.usefixtures("other")
def test_inspect_knows_another_runtime() -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g () => (float[4] y) '
        "{ y = RandomUniform<shape = [4]>() }"
    )
    onnx.save(model, "m.onnx")
    found = document("inspect", "m.onnx")
    assert list(found["runtimes"]) == ["onnxruntime", "openvino", "other"]
    today = found["random_nodes"][0]["today"]["other"]
    assert today == {"does": "same numbers every run", "reason": "it never draws others"}


@pytest.mark.usefixtures("other")
def test_the_commands_list_another_runtime() -> None:
    Path("m.onnx").touch()
    for command in (["run", "m.onnx"], ["compare", "m.onnx"], ["verify"]):
        result = cli.invoke(*command, "--runtime", "none", env={"COLUMNS": "200"})
        assert result.exit_code == 2
        assert "onnxruntime, openvino" in " ".join(result.output.split())
        assert "other" in result.output


@pytest.mark.usefixtures("other")
def test_the_help_and_a_shell_name_the_runtimes() -> None:
    for command, names in (
        ("verify", "[reference|other|onnxruntime|openvino|standard]"),
        ("run", "[onnxruntime|openvino|reference|standard|other]"),
        ("compare", "[onnxruntime|openvino|reference|standard|other]"),
    ):
        assert names in cli.invoke(command, "--help").output
        asked = {
            "_ONNX_PHILOX_COMPLETE": "bash_complete",
            "COMP_WORDS": f"onnx-philox {command} --runtime o",
            "COMP_CWORD": "3",
        }
        said = cli.invoke(env=asked).output
        assert sorted(said.split()) == ["plain,onnxruntime", "plain,openvino", "plain,other"]
