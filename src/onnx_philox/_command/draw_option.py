"""The option `--draw` of commands that run a model: they rewrite it first, into a passing file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from onnx_philox._backends import AUTO
from onnx_philox._command import refusals
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._files.given import Given
from onnx_philox._rewriting.api import write_rewritten
from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.look import AnyLook, look
from onnx_philox._runtimes.port import ArgumentError


@contextmanager
def with_draws(
    seen: AnyLook,
    draw: Mapping[str, str],
    backend: str = AUTO,
) -> Iterator[AnyLook]:
    """The model whose inputs have become draws, for as long as it runs; itself without `draw`.

    `backend` is that with which OpenVINO reads it, if it is an IR.

    Raises:
        ArgumentError: A word is none that is known, or not for that input.
        ValueError: The model cannot be rewritten.
    """
    if not draw:
        yield seen
        return
    with tempfile.TemporaryDirectory(prefix="onnx-philox-") as folder:
        target = Path(folder, seen.given.path.name)
        try:
            write_rewritten(seen, target, Asked(draw=draw))
        except RefusalError as error:
            raise ArgumentError(refusals.text(error)) from error
        # The file is closed before its folder goes.
        given = Given.of(seen.given.owner, target)
        with given.kept_open():
            yield look(given, backend)
