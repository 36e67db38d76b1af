"""Starts a program in a process of its own.

A fork has NumPy already, which takes a new interpreter longer to load than a runtime needs for all
trials. It is a copy of this process, so it is only taken where nothing runs or was loaded here that
a new process would not have.
"""

from __future__ import annotations

import contextlib
import gc
import os
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Collection
from pathlib import Path
from typing import IO, NoReturn


class _Fork:
    """A copy of this process that runs a program; its methods are those of `subprocess.Popen`."""

    def __init__(self, program: Path, *arguments: str) -> None:
        given, stdin = os.pipe()
        stdout, answers = os.pipe()
        self._code: int | None = None
        self._pid = os.fork()
        if self._pid == 0:
            _become(program, arguments, given, answers)
        os.close(given)
        os.close(answers)
        self.stdin: IO[str] | None = os.fdopen(stdin, "w")
        self.stdout: IO[str] | None = os.fdopen(stdout)

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return self._wait(os.WNOHANG)

    def kill(self) -> None:
        """Ends it at once."""
        if self.poll() is None:
            os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        """Waits for its end."""
        code = self._wait(0)
        assert code is not None
        return code

    def _wait(self, options: int) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self._pid, options)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code


Process = subprocess.Popen[str] | _Fork


def start(program: Path, *arguments: str, absent: Collection[str]) -> Process:
    """Starts a Python program, which must not find the modules `absent` loaded."""
    is_forked = sys.platform == "linux" and threading.active_count() == 1
    if is_forked and not any(name in sys.modules for name in absent):
        return _Fork(program, *arguments)
    return subprocess.Popen(
        [sys.executable, str(program), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _become(program: Path, arguments: tuple[str, ...], given: int, answers: int) -> NoReturn:
    """Runs the program as a new interpreter would, and ends the process."""
    code = 1
    try:
        os.dup2(given, 0)
        os.dup2(answers, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        # Objects that are never looked at again stay in memory that is shared.
        gc.freeze()
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = [str(program), *arguments]
        runpy.run_path(str(program), run_name="__main__")
        code = 0
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(code)
