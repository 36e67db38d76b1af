"""Programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


def run(
    *command: object, code: int | None = 0, env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs a program, which must end with a code; None is any.

    Args:
        command: The program and its arguments.
        code: The exit code.
        env: Variables beside those of this process.
        **options: Those of `subprocess.run`.
    """
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


def python(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs this Python, as `run` does."""
    return run(sys.executable, *arguments, **options)
