"""What it costs to begin: processor time of new processes, beside what they cannot do without.

Each process is started beside its peer in alternating pairs, and its user and system time is read
when it has ended, with that of its own processes. Editable installs find modules slowly: measure
with the package installed as users install it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import onnx
from onnx import TensorProto, helper

import onnx_philox

RUNTIMES = "import onnx, onnxruntime, openvino"
"""What whoever has models in both runtimes imports."""


class Start(NamedTuple):
    """A process, and the one that it is measured beside."""

    what: str
    ours: list[str]
    peer: str
    """As the table names it."""
    theirs: list[str]
    most: float
    """How many times its peer's processor time it may take."""


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def command(*arguments: str) -> list[str]:
    """The command as a shell runs it."""
    return [str(Path(sys.executable).with_name("onnx-philox")), *arguments]


def starts(model: Path, rewritten: Path) -> list[Start]:
    session = f"import onnxruntime as ort; ort.InferenceSession({str(model)!r}).run(None, {{}})"
    ours = (
        "from onnx_philox import PhiloxState\n"
        "from onnx_philox.onnxruntime import InferenceSession\n"
        f"InferenceSession({str(rewritten)!r}).run(None, {{'random_state': PhiloxState(0, 1)}})"
    )
    return [
        Start(
            "`onnx-philox --help`",
            command("--help"),
            "`import click`",
            python("import click"),
            2.2,
        ),
        Start(
            "`import onnx_philox`",
            python("import onnx_philox"),
            "`import numpy`",
            python("import numpy"),
            1.3,
        ),
        Start(
            "`import onnx_philox.onnxruntime`",
            python("import onnx_philox.onnxruntime"),
            "`import numpy, onnxruntime`",
            python("import numpy, onnxruntime"),
            1.5,
        ),
        Start(
            "first session and run of a rewritten model",
            python(ours),
            "ONNX Runtime's of the original",
            python(session),
            1.6,
        ),
        Start(
            "first `generate`",
            python(
                "import numpy as np; from onnx_philox import PhiloxState, generate\n"
                "generate(PhiloxState(0, 1), out=np.empty(1024, np.float32))"
            ),
            "NumPy's own Philox, first draw",
            python(
                "import numpy as np\n"
                "np.random.Generator(np.random.Philox(1)).random(1024, np.float32)"
            ),
            1.3,
        ),
        Start(
            "`onnx-philox inspect` of two nodes",
            command("inspect", str(model)),
            "`import onnx, onnxruntime, openvino`",
            python(RUNTIMES),
            1.7,
        ),
    ]


def two_nodes() -> onnx.ModelProto:
    """A model of two random nodes, which needs no input."""
    nodes = [
        helper.make_node("RandomNormal", [], ["a"], shape=[4, 8]),
        helper.make_node("RandomUniform", [], ["b"], shape=[4, 8]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])
    graph = helper.make_graph(nodes, "two_nodes", [], [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def seconds(arguments: Sequence[str], folder: Path | None = None) -> float:
    """The processor time of a new process, in a folder, and of those that it starts."""
    # Without bytecode, Python would compile each module again: hardly anybody asks for that.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, cwd=folder, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def row(start: Start, pairs: int) -> str:
    """A line of the table."""
    for arguments in (start.ours, start.theirs):
        seconds(arguments)  # once, so that the files are in the system's cache
    taken: tuple[list[float], list[float]] = ([], [])
    for pair in range(pairs):
        for which in (0, 1) if pair % 2 else (1, 0):
            taken[which].append(seconds((start.ours, start.theirs)[which]))
    ours, theirs = taken
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    best = min(ours) / min(theirs)
    times = " | ".join(f"{statistics.median(t) * 1e3:.0f} ms" for t in taken)
    cells = (start.what, start.peer, times, f"{ratio:.2f}", f"{best:.2f}", f"{start.most}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pairs", type=int, default=11)
    pairs = arguments.parse_args().pairs
    with tempfile.TemporaryDirectory() as folder:
        model, rewritten = Path(folder, "model.onnx"), Path(folder, "rewritten.onnx")
        onnx.save(two_nodes(), model)
        onnx.save(onnx_philox.make_reproducible(two_nodes()), rewritten)
        print("| what | against | ours | theirs | ratio | shortest | at most |")
        print("| --- | --- | --: | --: | --: | --: | --: |")
        for start in starts(model, rewritten):
            print(row(start, pairs), flush=True)


if __name__ == "__main__":
    main()
