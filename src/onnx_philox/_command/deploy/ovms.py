"""OpenVINO Model Server."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from onnx_philox._command.deploy.served import Served
from onnx_philox._command.runtimes.port import ArgumentError

_LIST = "model_config_list"
NO_SEQUENCES = (
    "--sequences is for triton only: OpenVINO Model Server begins each sequence with the same "
    "state, so all would draw the same numbers. Leave it out, and send the state with each request."
)


def configuration(served: Served, models: Path) -> tuple[Path, str]:
    """The server's `config.json`: what is there, and this model.

    Raises:
        ArgumentError: There is a file of this name that is no such configuration.
    """
    path = models / "config.json"
    content = _content(path)
    model = {"config": {"name": served.name, "base_path": str(served.folder / served.name)}}
    others = [m for m in content.get(_LIST, []) if m.get("config", {}).get("name") != served.name]
    text = json.dumps({**content, _LIST: [*others, model]}, indent=2)
    return path, text + "\n"


def start(served: Served) -> str:
    """The command that starts it: one library of operators for all models."""
    words = ["ovms", "--config_path", str(served.folder / "config.json")]
    words += ["--cpu_extension", str(served.library), "--port", "9000", "--rest_port", "8000"]
    return shlex.join(words)


def _content(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        content: Any = json.loads(path.read_text())
    except ValueError as error:
        content = str(error)
    models = content.get(_LIST, []) if isinstance(content, dict) else None
    if not (isinstance(models, list) and all(isinstance(model, dict) for model in models)):
        raise ArgumentError(
            f"{path} is no configuration of OpenVINO Model Server; allowed: one to add the model "
            "to, or no file. Choose another folder."
        )
    return dict(content)
