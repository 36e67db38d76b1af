"""Lists the files that a run reads, and so must not overwrite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from onnx_philox._files.model_file import opened
from onnx_philox._files.openvino_ir import is_ir, weights_of


def files(model: Path, inputs: Sequence[str]) -> dict[Path, str]:
    """Lists the files that a run reads, and what each is.

    The name of an input may contain a "=", so each "=" is tried as the end of the name.
    """
    read = {model: f"the model {str(model)!r}"}
    if is_ir(model):
        weights = weights_of(model)
        read[weights] = f"the weights {str(weights)!r}"
    else:
        try:
            with opened(model, "run") as file:
                read |= file.reads
        except (OSError, ValueError):
            # Not a file that runtimes load with external data; they report what is wrong with it.
            pass
    for argument in inputs:
        words = argument.split("=")
        for i in range(len(words)):
            path = Path("=".join(words[i:]))
            if path.is_file():
                read[path] = f"the input {str(path)!r}"
    return read
