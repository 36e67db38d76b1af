"""Programs in processes of their own."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}
"""The variable with this interpreter's programs first: `python`, `cmake`, `onnx-philox`."""


def run(
    *command: object,
    code: int | None = 0,
    env: Mapping[str, str] | None = None,
    **options: Any,
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


def again(source: Path, *arguments: object) -> int:
    """The exit code of this program in a process that preloads what a C++ file is compiled to."""
    compiler = [os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-shared", "-fPIC"]
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/lib{source.stem}.so"
        subprocess.run([*compiler, "-o", library, source, "-ldl"], check=True)
        command = [
            sys.executable,
            sys.argv[0],
            *map(str, arguments),
        ]
        path = os.pathsep.join(sys.path)
        preloading = {**os.environ, "LD_PRELOAD": library, "PYTHONPATH": path}
        return subprocess.run(command, env=preloading, check=False).returncode


def python(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs this Python, as `run` does."""
    return run(sys.executable, *arguments, **options)


SERVER = """
import contextlib, ctypes, importlib, json, multiprocessing, os, runpy, signal, sys
sys.modules["openvino_telemetry"] = None
ctypes.CDLL(None).mallopt(1, 0)  # as conftest
for name in ("pytest", "onnx_ir", "onnxruntime", "openvino", "onnxruntime_extensions"):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
assert len(os.listdir("/proc/self/task")) == 1, "a fork has no other thread"

def run(command, files, env, cwd):
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_RDWR), number)
    os.environ |= env
    os.chdir(cwd)
    signal.alarm(1200)
    sys.argv = command
    if os.path.exists(command[0]):
        sys.path[0] = os.path.dirname(command[0])
        runpy.run_path(command[0], run_name="__main__")
    else:
        exec(command[0], {"__name__": "__main__"})  # as `python -c`

for line in sys.stdin:
    process = multiprocessing.get_context("fork").Process(target=run, args=json.loads(line))
    process.start()
    process.join()
    print(process.exitcode, flush=True)
"""


@functools.cache
def _server() -> subprocess.Popen[str]:
    # Neither may start threads.
    without = {"OPENBLAS_NUM_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"}
    env = os.environ | without | {"PYTHONPATH": os.pathsep.join(sys.path)}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)
    return server


def forked(
    *command: object,
    code: int | None = 0,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a program or a script, as `python` does, in a fork that has imported the runtimes.

    They take longer than most programs. Our package is imported anew. Variables that the loader of
    libraries or Python itself reads come too late.
    """
    if sys.platform != "linux":
        how = [] if os.path.exists(command[0]) else ["-c"]
        env = {"PYTHONPATH": os.pathsep.join(sys.path), **(env or {})}
        return python(*how, *command, code=code, env=env, cwd=cwd)
    sys.audit("child.forked")  # as Python says of a process that it starts
    server = _server()
    command = [*map(str, command)]
    with tempfile.NamedTemporaryFile("r+") as out, tempfile.NamedTemporaryFile("r+") as error:
        asked = (
            command,
            (out.name, error.name),
            {**os.environ, **(env or {})},
            str(cwd or Path.cwd()),
        )
        print(json.dumps(asked), file=server.stdin, flush=True)
        ended = int(server.stdout.readline())
        done = subprocess.CompletedProcess(command, ended, out.read(), error.read())
    assert code in (None, done.returncode), f"{done.returncode}: {done.stdout}{done.stderr}"
    return done
