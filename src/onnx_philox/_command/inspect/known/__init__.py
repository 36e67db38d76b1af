"""What runtimes are known to do with random nodes: a table with a row for each behaviour.

A row says in which releases the behaviour was seen, how to recognise a node that shows it, and what
to tell the user. Rows in `PROBED` are recognised by a trial, in which the installed runtime shows
the behaviour. All others are recognised by the structure of the model: `known_in_onnx` and
`known_in_ir`.
`ROWS` has all rows. `tests/command/test_known.py` runs each in the bare runtime, so that the table
stays true.
"""

from __future__ import annotations

from onnx_philox._command.inspect.known import faults, known_in_onnx, probed
from onnx_philox._command.inspect.known.row import KnownBehaviour, Said

__all__ = ["PROBED", "ROWS", "KnownBehaviour", "Said"]

PROBED = probed.ROWS
"""What the trial of a node shows."""

ROWS: tuple[KnownBehaviour, ...] = (*PROBED, *known_in_onnx.ROWS, *faults.ROWS)
"""Every row that does not need OpenVINO to be read; those of an IR are in `known_in_ir`."""
