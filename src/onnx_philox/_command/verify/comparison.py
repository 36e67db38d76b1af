"""Compares a runner's outputs with a vector's, bit for bit; and what came of each case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.verify.cases import NORMAL_TOLERANCES, Case, Vector
from onnx_philox._command.verify.runners.interface import Absent, Runner
from onnx_philox._contract.types import F64
from onnx_philox._runtimes.port import Arrays


@dataclass(frozen=True)
class FirstDifference:
    """The first element that differs: its place, the expected value and the actual one."""

    parameters: str
    output: str
    index: tuple[int, ...] | None
    """None where type or shape differ already."""
    element: int | None
    """The index in the flat output."""
    expected: str
    expected_hex: str | None
    got: str
    got_hex: str | None


@dataclass(frozen=True)
class Comparison:
    """How many elements have the expected bits, and the first one that has not."""

    equal: int
    total: int
    first: FirstDifference | None
    differs: bytes = b""
    """For each element, whether it differs."""

    def __add__(self, other: Comparison) -> Comparison:
        return Comparison(
            self.equal + other.equal,
            self.total + other.total,
            self.first or other.first,
            self.differs + other.differs,
        )


NOTHING = Comparison(0, 0, None)


def compare(vector: Vector, got: Arrays, outputs: Sequence[str]) -> Comparison:
    """Compares the named outputs, and what a page prints of the values."""
    result = NOTHING
    for name in outputs:
        result += _compare_output(vector, name, got.get(name))
    if vector.printed is not None and result.first is None:
        difference = _compare_printed(vector, got["values"])
        if difference is not None:
            result = Comparison(
                result.equal - 1,
                result.total,
                difference,
                result.differs,
            )
    if vector.near is not None and result.first is None:
        result = _compare_near(vector, vector.near, got["values"], result)
    return result


def _compare_output(vector: Vector, name: str, got: NDArray[Any] | None) -> Comparison:
    expected = vector.expected[name]
    wanted = f"{expected.dtype} of shape {list(expected.shape)}"
    came = "nothing" if got is None else f"{got.dtype} of shape {list(got.shape)}"
    size = expected.size
    if got is None or wanted != came:
        form = FirstDifference(
            str(vector.example),
            name,
            None,
            None,
            wanted,
            None,
            came,
            None,
        )
        return Comparison(0, size, form, b"\1" * size)
    differs = _bits(expected) != _bits(got)
    differs = differs.reshape(-1)
    equal = size - int(differs.sum())
    difference = None
    if equal < size:
        element = int(differs.argmax())
        number = str(expected.flat[element])
        bits = _hex(expected, element)
        difference = _difference(vector, name, element, got, number, bits)
    return Comparison(equal, size, difference, differs.tobytes())


def _compare_printed(vector: Vector, got: NDArray[Any]) -> FirstDifference | None:
    """Compares with a page, as precisely as the page prints.

    It prints f64 rounded to some digits. It prints f32 as the shortest decimal whose nearest float
    is the value, which determines every bit. It prints integers in full.
    """
    printed = np.array(vector.printed, dtype=object).reshape(-1)
    pairs = zip(printed, got.flat, strict=True)
    for element, (decimal, value) in enumerate(pairs):
        if vector.example.type is F64:
            rounded = Decimal(float(value)).quantize(decimal)
            is_equal = rounded == decimal
        else:
            nearest = got.dtype.type(str(decimal))
            is_equal = bool(nearest == value)
        if not is_equal:
            wanted = f"{decimal} (as printed)"
            return _difference(vector, "values", element, got, wanted, None)
    return None


def _compare_near(
    vector: Vector,
    near: NDArray[Any],
    got: NDArray[Any],
    same: Comparison,
) -> Comparison:
    """Compares with numbers that need not have the same bits."""
    tolerance = NORMAL_TOLERANCES[vector.example.type]
    distance = np.abs(got.astype(np.float64) - near)
    is_near = distance <= tolerance
    if is_near.all():
        return same
    element = int(is_near.reshape(-1).argmin())
    wanted = f"{near.flat[element]} within {tolerance}"
    bits = _hex(near, element)
    difference = _difference(vector, "values", element, got, wanted, bits)
    far = int((~is_near).sum())
    return Comparison(same.equal - far, same.total, difference, same.differs)


def _difference(
    vector: Vector,
    name: str,
    element: int,
    got: NDArray[Any],
    expected: str,
    expected_hex: str | None,
) -> FirstDifference:
    """The difference of an element."""
    places = np.unravel_index(element, got.shape)
    index = tuple(int(place) for place in places)
    value = str(got.flat[element])
    bits = _hex(got, element)
    return FirstDifference(
        str(vector.example),
        name,
        index,
        element,
        expected,
        expected_hex,
        value,
        bits,
    )


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    contiguous = np.ascontiguousarray(array)
    return contiguous.view(f"u{array.dtype.itemsize}")


def _hex(array: NDArray[Any], element: int) -> str:
    number = int(_bits(array).flat[element])
    digits = 2 * array.dtype.itemsize
    return f"0x{number:0{digits}x}"


class CaseVerdict(Enum):
    """The outcome of a case."""

    SAME = "same bits"
    MISMATCH = "mismatch"
    ERROR = "error"
    NOT_CARRIED = "not carried"
    NOT_INSTALLED = "not installed"
    OTHER = "other bits"
    """What a mismatch is for a peer: something to know, no failure."""


@dataclass(frozen=True)
class CaseResult:
    """A case in a backend, or a missing runtime or backend (which has no case)."""

    by: Runner | Absent
    case: Case | None = None
    verdict: CaseVerdict = CaseVerdict.NOT_INSTALLED
    reason: str | None = None
    """Why there are no numbers to compare."""
    draw: str | None = None
    """The draw that ended in an error."""
    compared: Comparison = NOTHING

    @property
    def is_failure(self) -> bool:
        """Whether the command must fail."""
        has_failed = self.verdict in (CaseVerdict.MISMATCH, CaseVerdict.ERROR)
        return has_failed and not self.by.is_peer

    @property
    def kind(self) -> tuple[str, str]:
        """The operator and the type of its case."""
        assert self.case is not None, "what is not installed is not compared"
        operator = self.case.vectors[0].example.operator
        return operator.name, self.case.type.name

    @property
    def vectors(self) -> int:
        """How many vectors the verdict covers."""
        return len(self.case.vectors) if self.case else 0


def groups(results: Iterable[CaseResult]) -> dict[Runner | Absent, list[CaseResult]]:
    """The results of each runner."""
    found: dict[Runner | Absent, list[CaseResult]] = {}
    for result in results:
        found.setdefault(result.by, []).append(result)
    return found
