"""The rules for rows, and for operators that draw whole ones: along the last of one or two axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnx_philox._contract import refusal
from onnx_philox._contract import sentences as say
from onnx_philox._contract.declaration import Operator
from onnx_philox._contract.state import rows_of_states
from onnx_philox._contract.types import ElementType


def check_rank(op: Operator, what: str, rank: int) -> None:
    """Refuses a shape of other than one or two dimensions."""
    if op.draws_rows and rank not in (1, 2):
        refusal.refuse(op.name, what, say.DIMENSIONS.format(rank), say.ROWS, say.PASS_ROWS)


def check_indices(op: Operator, what: str, dimensions: Sequence[int], values: ElementType) -> None:
    """Refuses rows of more elements than a type has indices."""
    if not op.draws_rows:
        return
    most = int(np.iinfo(values.dtype).max) + 1
    if dimensions[-1] > most:
        allowed = say.ROWS_OF_INDICES.format(most, values.name)
        refusal.refuse(op.name, what, list(dimensions), allowed, say.DRAW_I64)


def unlike_states(
    op: Operator | str, state: tuple[int | None, ...] | None, output: Sequence[int | None] | None
) -> str | None:
    """How many rows an output has, as messages say it, if it has more or fewer than states."""
    states = None if state is None else rows_of_states(state)
    if states is None or output is None:
        return None
    if not output:
        return "a scalar"
    is_one = isinstance(op, Operator) and op.draws_rows and len(output) == 1
    rows = 1 if is_one else output[0]
    return None if rows in (None, states) else f"{rows} row{'s' * (rows != 1)}"
