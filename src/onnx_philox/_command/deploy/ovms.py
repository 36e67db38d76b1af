"""OpenVINO Model Server."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from onnx_philox._command.deploy.served import Served
from onnx_philox._runtimes.port import ArgumentError

_LIST = "model_config_list"
NO_SEQUENCES = (
    "--sequences is for triton only: OpenVINO Model Server begins each sequence with the same "
    "state, so all would draw the same numbers. Leave it out, and send the state with each request."
)


def configuration(served: Served, folder: Path) -> tuple[Path, str]:
    """The server's `config.json`: what is there, and this model, which keeps its settings.

    Raises:
        ArgumentError: There is a file of this name that is no such configuration.
    """
    path = folder / "config.json"
    content = _content(path)
    place = {"name": served.name, "base_path": str(served.folder / served.name)}
    models = content.get(_LIST, [])
    others = [m for m in models if m.get("config", {}).get("name") != served.name]
    before: dict[str, Any] = next((m for m in models if m not in others), {})
    model = {**before, "config": {**before.get("config", {}), **place}}
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
        content: Any = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        content = None
    models = content.get(_LIST, []) if isinstance(content, dict) else None
    if not (isinstance(models, list) and all(map(_is_entry, models))):
        raise ArgumentError(
            f"{path} must be absent, or a configuration of OpenVINO Model Server to add the model "
            "to: got something else. Choose another folder."
        )
    return dict(content)


def _is_entry(model: Any) -> bool:
    return isinstance(model, dict) and isinstance(model.get("config", {}), dict)
