"""The rules for rows: of logits, of numbers, and of operators that draw whole ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import sentences as say
from onnx_philox._contract.declaration import Operator
from onnx_philox._contract.known_input import Known
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.shown import shape_of
from onnx_philox._contract.types import ElementType


def check_logits(op: Operator | str, what: str, known: Known) -> None:
    if known.shape is not None:
        given = shape_of(known.shape)
        if len(known.shape) != 2:
            refuse(op, what, given, say.TWO_D, say.RESHAPE_TO_2_D)
        rows, classes = known.shape
        if classes == 0 and rows not in (0, None):
            refuse(op, what, given, say.ONE_CLASS, say.DRAW_FROM_SOMETHING)
    if known.value is not None:
        _check_rows(op, what, known.value)


def _check_rows(op: Operator | str, what: str, logits: NDArray[Any]) -> None:
    """Refuses the first row from which no class can be drawn."""
    wrong = ~(logits < np.inf)
    has_wrong = wrong.any(axis=1)
    has_no_class = np.isneginf(logits).all(axis=1)
    row_is_wrong = has_wrong | has_no_class
    if not row_is_wrong.any():
        return
    row = int(row_is_wrong.argmax())
    given = say.IN_ALL_OF_ROW.format(row)
    if wrong[row].any():
        place = int(wrong[row].argmax())
        number = logits[row, place].item()
        given = say.IN_ROW.format(number, row)
    refuse(op, what, given, say.LOGITS, say.CORRECT_LOGITS)


def check_samples(
    op: Operator,
    logits: Known,
    samples: int,
    least: float,
) -> None:
    """Refuses more samples without replacement than a row has classes that can be drawn.

    The weight exp(x) of a class counts if x is at least `least`.
    """
    given = None
    if logits.value is not None and logits.value.size:
        numbers = logits.value.astype(np.float64)
        largest = numbers.max(axis=1, keepdims=True)
        is_drawn = numbers - largest >= least
        drawn = is_drawn.sum(axis=1)
        row = int((drawn < samples).argmax())
        if drawn[row] < samples:
            given = say.SAMPLES_IN_ROW.format(samples, drawn[row], row)
    if logits.shape is not None:
        rows, classes = logits.shape
        if rows != 0 and samples > (classes or samples):
            given = say.SAMPLES_OF_CLASSES.format(samples, classes)
    if given is not None:
        what = say.ATTRIBUTE.format("'sample_size'")
        refuse(op, what, given, say.NOT_MORE_THAN_CLASSES, say.DRAW_FEWER)


def check_one_or_rows(
    op: Operator | str,
    what: str,
    known: Known,
    output: tuple[int | None, ...] | None,
) -> None:
    """Refuses an array that is neither one number nor one for each row of the output.

    An empty one is left out.
    """
    if known.shape is None or known.shape == (0,):
        return
    if is_one_element(known.shape):
        return
    rows = output[0] if output else None
    if len(known.shape) == 1 and rows in (None, known.shape[0]):
        return
    number_of_rows = "" if rows is None else f" ({rows})"
    allowed = say.ONE_NUMBER_OR_ROWS.format(number_of_rows)
    refuse(op, what, shape_of(known.shape), allowed, say.PASS_ONE_OR_ROWS)


def is_one_element(shape: tuple[int | None, ...]) -> bool:
    """Whether a shape may be that of a scalar, or of one element in 1-D."""
    return shape in ((), (1,), (None,))


def check_rank(op: Operator, what: str, rank: int) -> None:
    """Refuses a shape of other than one or two dimensions."""
    if op.draws_rows and rank not in (1, 2):
        given = say.DIMENSIONS.format(rank)
        refuse(op, what, given, say.ROWS, say.PASS_ROWS)


def check_indices(
    op: Operator,
    what: str,
    dimensions: Sequence[int],
    values: ElementType,
) -> None:
    """Refuses rows of more elements than a type has indices."""
    if not op.draws_rows:
        return
    limits = np.iinfo(values.dtype)
    most = int(limits.max) + 1
    if dimensions[-1] > most:
        allowed = say.ROWS_OF_INDICES.format(most, values.name)
        refuse(op, what, list(dimensions), allowed, say.DRAW_I64)
