"""Refusals as the command prints them: in its own name, with its own options."""

from __future__ import annotations

from onnx_philox._contract.refusal import RefusalError

KEEP_UNKNOWN = "--keep-unknown"
KEEP_SEEDS = "--keep-seeds"
PER_ROW = "--per-row"
INVERT_BERNOULLI = "--invert-bernoulli"
BATCH = "--batch"
PER_ROW_NODE = "--per-row-node"
DRAW = "--draw"
_OPTIONS = {
    "INFERENCE_PRECISION_HINT": "--precision",
    "backend": "--backend",
    "device": "--device",
    "seed": "--seed",
    "alignment": "--alignment",
    "keep_seeds": KEEP_SEEDS,
    "per_row": PER_ROW,
    "invert_bernoulli": INVERT_BERNOULLI,
    "batch": BATCH,
    "draw": DRAW,
}


def text(error: Exception, command: str = "") -> str:
    """The text of an error, which does not name the command that the user called."""
    # Imported only if there is such an error.
    from onnx_philox._rewriting.found import MayStayError
    from onnx_philox._rewriting.not_rows import NotRowsError
    from onnx_philox._runtimes.models import SettingError

    if isinstance(error, MayStayError):
        error = error.offering(KEEP_UNKNOWN)
    if isinstance(error, NotRowsError):
        error = error.naming(PER_ROW_NODE)
    if isinstance(error, SettingError) or (
        isinstance(error, RefusalError) and (error.is_of_function or error.operator == command)
    ):
        what = _OPTIONS.get(error.what, error.what)
        given = error.given
        if what in (KEEP_SEEDS, PER_ROW) and given == "True":
            given = "it"
        return RefusalError("", what, given, error.allowed, error.remedy).sentence
    return str(error)
