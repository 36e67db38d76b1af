"""Refusals as the command prints them: in its own name, with its own options."""

from __future__ import annotations

from onnx_philox._contract.refusal import RefusalError

KEEP_UNKNOWN = "--keep-unknown"
PER_ROW = "--per-row"
PER_ROW_NODE = "--per-row-node"


def text(error: Exception, *commands: str) -> str:
    """The text of an error, which does not name the commands that the user called."""
    # Imported only if there is such an error.
    from onnx_philox._rewriting.random_nodes.may_stay import MayStayError
    from onnx_philox._rewriting.rows.not_rows import NotRowsError

    if isinstance(error, MayStayError):
        error = error.offering(KEEP_UNKNOWN)
    if isinstance(error, NotRowsError):
        error = error.naming(PER_ROW_NODE)
    if isinstance(error, RefusalError) and error.operator in commands:
        return error.sentence
    return str(error)
