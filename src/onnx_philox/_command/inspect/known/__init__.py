"""What runtimes are known to make of random nodes: a table with a row for each behaviour.

A row says in which releases a behaviour was seen, how a node is recognised that meets it, and what
to say of it. A trial recognises some: `PROBED`, where the runtime that is installed has shown it.
The structure of the model recognises the others: `known_in_onnx` and `known_in_ir`. `ROWS` has
them all, and `tests/command/test_known.py` runs each in the bare runtime, so that the table stays
true.
"""

from __future__ import annotations

from onnx_philox._command.inspect.known import faults, known_in_onnx, probed
from onnx_philox._command.inspect.known.row import KnownBehaviour, Said

__all__ = ["PROBED", "ROWS", "KnownBehaviour", "Said"]

PROBED = probed.ROWS
"""What the trial of a node shows."""

ROWS: tuple[KnownBehaviour, ...] = (*PROBED, *known_in_onnx.ROWS, *faults.ROWS)
"""Every row that does not need OpenVINO to be read; those of an IR are in `known_in_ir`."""
