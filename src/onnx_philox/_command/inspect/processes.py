"""Processes that run a program of Python: copies of this one where these are as good as new ones.

A new process imports NumPy, and a copy has it: that is most of what a runtime's import takes.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import IO, NoReturn, Protocol

_THREADS = Path("/proc/self/task")
# Those of stdin and stdout, and the first of all others.
_STDIN, _STDOUT, _OTHERS = 0, 1, 3
_MOST_FILES = 2**20


class Process(Protocol):
    """A process that reads lines and writes lines."""

    stdin: IO[str]
    stdout: IO[str]

    def poll(self) -> int | None:
        """Its exit code, or the negative number of the signal that ended it; None while it runs."""

    def kill(self) -> None:
        """Ends it, unless it has ended."""

    def wait(self) -> int:
        """Waits for its end, and returns what `poll` does."""


def start(arguments: Sequence[str], unwanted: Collection[str]) -> Process:
    """Starts a program: a file and its arguments. It writes its errors nowhere.

    Args:
        arguments: The file and its arguments.
        unwanted: The modules that it must load itself: where this process has one, the program
            runs in a new process, and never in a copy.
    """
    if _is_bare(unwanted):
        return _Copy(arguments)
    return _New(arguments)


def _is_bare(unwanted: Collection[str]) -> bool:
    """Whether a copy of this process is as good as a new one: on Linux alone.

    A copy has the modules of this process, and of its threads only the one that copies it: what
    another one has locked then stays so.
    """
    if sys.platform != "linux" or not _THREADS.is_dir():
        return False
    has_unwanted = any(name in sys.modules for name in unwanted)
    return not has_unwanted and len(list(_THREADS.iterdir())) == 1


class _New:
    """A new process."""

    def __init__(self, arguments: Sequence[str]) -> None:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.poll = process.poll
        self.kill = process.kill
        self.wait = process.wait


class _Copy:
    """A copy of this process."""

    def __init__(self, arguments: Sequence[str]) -> None:
        asked, ask = os.pipe()
        answer, answered = os.pipe()
        self._id = os.fork()
        if self._id == 0:
            _run(arguments, asked, answered)
        os.close(asked)
        os.close(answered)
        self.stdin: IO[str] = os.fdopen(ask, "w")
        self.stdout: IO[str] = os.fdopen(answer)
        self._code: int | None = None

    def poll(self) -> int | None:
        """See `Process`."""
        return self._ended(os.WNOHANG)

    def kill(self) -> None:
        """See `Process`."""
        if self.poll() is None:
            os.kill(self._id, signal.SIGKILL)

    def wait(self) -> int:
        """See `Process`."""
        code = self._ended(0)
        assert code is not None
        return code

    def _ended(self, options: int) -> int | None:
        if self._code is None:
            ended, status = os.waitpid(self._id, options)
            if ended:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code


def _run(arguments: Sequence[str], asked: int, answered: int) -> NoReturn:
    """Runs a program in a copy, and ends it without what this process does at its end."""
    code = 1
    try:
        os.dup2(asked, _STDIN)
        os.dup2(answered, _STDOUT)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        # Also the pipes of other copies, which end when nobody can write into them.
        os.closerange(_OTHERS, _MOST_FILES)
        sys.stdin = os.fdopen(_STDIN)
        sys.argv = [*arguments]
        runpy.run_path(arguments[0], run_name="__main__")
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    finally:
        os._exit(code)
