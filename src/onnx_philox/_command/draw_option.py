"""The option `--draw` of commands that run a model: they rewrite it first, into a passing file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from onnx_philox._command import refusals
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._files.given import Given
from onnx_philox._runtimes.port import ArgumentError


@contextmanager
def with_draws(given: Given, draw: Mapping[str, str]) -> Iterator[Given]:
    """The model whose inputs have become draws, for as long as it runs; itself without `draw`.

    Raises:
        ArgumentError: A word is none that is known, or not for that input.
        ValueError: The model cannot be rewritten.
    """
    if not draw:
        yield given
        return
    # It loads onnx-ir, which a rewritten model is run without.
    from onnx_philox._rewriting.api import write_rewritten
    from onnx_philox._rewriting.asked import Asked

    with tempfile.TemporaryDirectory(prefix="onnx-philox-") as folder:
        target = Path(folder, given.path.name)
        try:
            write_rewritten(given, target, Asked(draw=draw))
        except RefusalError as error:
            raise ArgumentError(refusals.text(error)) from error
        yield Given.of(given.owner, target)
