"""The command `onnx-philox`, also `python -m onnx_philox`; or a sentence where it is missing."""

from __future__ import annotations

import atexit
import gc
import sys
from importlib.util import find_spec
from typing import NoReturn

from onnx_philox import _parts
from onnx_philox._files.signals import held_back

LIBRARIES = ("click", "jinja2", "rich")
"""What the extra `command` brings."""
# What is imported makes about half as many, of which none is garbage: to search through them took
# a sixth of the time of a short command.
_OBJECTS_BEFORE_COLLECTION = 200_000
_INTERRUPTED = 130  # what shells report for Ctrl-C


def main() -> None:
    """Runs the command; where it is not installed, says what to do and exits with 2."""
    try:
        _run()
    except KeyboardInterrupt:
        # Before the command itself can say so, or after.
        _end("onnx-philox: interrupted.", _INTERRUPTED)


def _run() -> None:
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        needed = " and ".join(missing)
        _end(f"onnx-philox: the command needs {needed}: pip install 'onnx-philox[command]'")
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTION, *gc.get_threshold()[1:])
    # Nor at the end, where Python searches through them three times: that took a tenth of a second.
    atexit.register(gc.freeze)
    try:
        with held_back(), _parts.COMMAND_PART.importing("onnx-philox"):
            from onnx_philox._command.app import app
    except _parts.PartNotInstalledError as error:
        _end(str(error))
    app()


def _end(reason: str, code: int = 2) -> NoReturn:
    print(reason, file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
