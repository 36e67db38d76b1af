"""Lists the files that a run reads, and so must not overwrite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from onnx_philox._files.given import Given


def files(model: Given, inputs: Sequence[str]) -> dict[Path, str]:
    """Lists the files that a run reads, and what each is.

    The name of an input may contain a "=", so each "=" is tried as the end of the name.
    """
    try:
        read = model.reads
    except (OSError, ValueError):
        # Not a file that runtimes load with external data; they report what is wrong with it.
        read = {model.path: f"the model {model.name!r}"}
    for argument in inputs:
        words = argument.split("=")
        for i in range(len(words)):
            path = Path("=".join(words[i:]))
            if path.is_file():
                read[path] = f"the input {str(path)!r}"
    return read
