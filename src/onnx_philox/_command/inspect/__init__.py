"""`onnx-philox inspect`: the random nodes of a model, and what the runtimes do with them today.

`search` finds them and what they would become, `probes` makes a small model of each, `trials` tries
it in the runtimes that are installed, each in processes of its own (`worker`), `report` prints.
`inspect` puts them together.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from onnx_philox._command.inspect import probes, search, trials
from onnx_philox._command.inspect.report import Found, Report

__all__ = ["Report", "inspect"]

Progress = Callable[[int, int, str], None]


def inspect(path: Path, *, progress: Progress | None = None) -> Report:
    """Finds the random nodes of a model and tries each in the runtimes that are installed.

    Large weights are not read.

    Args:
        path: An ONNX file.
        progress: Called as the trials go on, with how many are done, how many there are, and what
            comes next.

    Raises:
        ValueError: There is no such file, or it is no ONNX model.
        OSError: The file cannot be read.
    """
    tell = progress or (lambda *_: None)
    tell(0, 1, "reading the model")
    model = search.load(path)
    nodes = search.search(model)
    tried = [probes.build(node.node, model, nodes.type_of) for node in nodes.unrewritten]
    runtimes = trials.run(tried, tell) if tried else []
    found = [
        Found(node.record, probe.key, node.may_stay)
        for node, probe in zip(nodes.unrewritten, tried, strict=True)
    ]
    opset = model.opset_imports.get("")
    return Report(
        path,
        opset,
        found,
        nodes.rewritten,
        nodes.state,
        nodes.obstacle,
        runtimes,
        nodes.idle_dropouts,
    )
