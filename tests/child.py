"""Programs in processes of their own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}
"""The variable with this interpreter's programs first: `python`, `cmake`, `onnx-philox`."""


def run(
    *command: object, code: int | None = 0, env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs a program, which must end with a code, None being any; with more variables."""
    done = subprocess.run(
        [*map(str, command)],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    assert code in (None, done.returncode), f"{done.returncode}: {done.stdout}{done.stderr}"
    return done


@contextlib.contextmanager
def preloading(source: Path) -> Iterator[dict[str, str]]:
    """The variables of a process that preloads what a C++ file is compiled to."""
    compiler = [os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-shared", "-fPIC"]
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/lib{source.stem}.so"
        subprocess.run([*compiler, "-o", library, source, "-ldl"], check=True)
        yield {**os.environ, "LD_PRELOAD": library}


def python(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs this Python, as `run` does."""
    return run(sys.executable, *arguments, **options)
