"""Refusals as the command says them: of itself, and of its own options."""

from __future__ import annotations

from onnx_philox._contract.refusal import RefusalError

KEEP_UNKNOWN = "--keep-unknown"


def text(error: Exception, *commands: str) -> str:
    """The text of an error, for those who know the options of the command.

    Args:
        error: The error.
        commands: Who needs not be named as the one that refuses: the reader called it.
    """
    # What it needs is loaded where there is such an error.
    from onnx_philox._rewriting.nodes.may_stay import MayStayError

    if isinstance(error, MayStayError):
        error = error.offering(KEEP_UNKNOWN)
    if isinstance(error, RefusalError) and error.operator in commands:
        return error.sentence
    return str(error)
