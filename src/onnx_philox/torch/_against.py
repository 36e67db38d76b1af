"""Compares what a model draws and computes with torch's draws, or with the reference's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.operators import (
    RANDOM_EXPONENTIAL,
    RANDOM_NORMAL,
    RANDOM_UNIFORM,
    Operator,
)
from onnx_philox._contract.torch_state import TorchState
from onnx_philox._contract.types import BF16, F16
from onnx_philox.torch._check import fitting
from onnx_philox.torch._seen import Seen, reference_of
from onnx_philox.torch._verdict import ULPS

if TYPE_CHECKING:
    from onnx_philox.torch._eager import EagerCall

# docs/specification.md, "torch's numbers": f64 normals and exponentials are sequences of our own.
_OWN_IN_F64 = (RANDOM_NORMAL, RANDOM_EXPONENTIAL)


@dataclass(frozen=True)
class TorchTolerances:
    """How far an output may be from torch's `y`: atol + rtol * |y|."""

    rtol: float = 1e-3
    atol: float = 1e-4


@dataclass(frozen=True)
class Drawn:
    """What a node drew by alignment pytorch."""

    operator: Operator
    values: NDArray[Any]
    after: TorchState
    bounds: tuple[NDArray[Any], ...] = ()
    """Of a uniform, its two."""

    @property
    def title(self) -> str:
        """It in words."""
        return f"{self.operator.name} of {list(self.values.shape)}"


def drawn_by(seen: Seen, row: int | None) -> list[Drawn]:
    """What the nodes drew; of one row of the batch, if it has a generator of its own."""
    drawn = []
    for called in seen.drawn:
        before, after, values = called.state, called.result[-1], called.values
        if row is not None and after.ndim > 1:
            rows = len(after)
            # A draw that is not rows of the batch is refused, so that this is exact.
            values = values.reshape(rows, -1)[row].reshape(1, *values.shape[1:])
            before, after = before[row], after[row]
        if not np.array_equal(before, after):
            state = TorchState.from_array(after)
            names = ("minval", "maxval") if called.operator is RANDOM_UNIFORM else ()
            bounds = tuple(b for name in names if (b := called.inputs[name]) is not None)
            drawn.append(Drawn(called.operator, values, state, bounds))
    return drawn


def with_torch(
    calls: Sequence[EagerCall], drawn: Sequence[Drawn], *, is_whole: bool
) -> tuple[int, int, str | None]:
    """How many draws are equal, how many of those are close alone, and the first difference.

    Args:
        calls: Torch's.
        drawn: The model's.
        is_whole: Whether these are all; else torch's calls between them are passed over.
    """
    left, close = list(drawn), 0
    for number, call in enumerate(calls):
        name = f"Draw {number + 1} of torch's, {call.title}"
        counts = f"torch made {len(calls)} draws, and the model {len(drawn)}"
        if call.values is None:
            # What it drew is not seen: the state shows how much of the model's it is.
            ends = [i for i, mine in enumerate(left) if mine.after == call.after]
            if not ends:
                return number, close, f"{name}, takes other words in the model; {counts}."
            del left[: ends[0] + 1]
            continue
        if not is_whole and all(mine.after != call.after for mine in left):
            continue
        if not left:
            return number, close, f"{name}, is not in the model: {counts}."
        mine = left.pop(0)
        if call.kind == "multinomial" and mine.operator in (RANDOM_EXPONENTIAL, RANDOM_UNIFORM):
            # The race of weights that are transposed in memory, or the search of samples with
            # replacement: torch shows the classes alone.
            if mine.after != call.after:
                return number, close, f"{name}, takes other words in the model; {counts}."
            continue
        mine = _rounded(call, mine, left)
        allowed = fitting(call.kind)
        is_kind = allowed is None or mine.operator.name in allowed
        if not is_kind or mine.values.size != call.values.size:
            said = f"{name}, is not what the model draws there, {mine.title}"
            return number, close, f"{said}: {counts}."
        difference, is_close = _difference(call, mine)
        if difference is not None:
            return number, close, f"{name}, differs from {mine.title}: {difference}."
        close += is_close
    if left:
        said = f"The model draws {left[0].title} after torch's last draw"
        counts = f"torch made {len(calls)} draws, and the model {len(drawn)}"
        return len(calls), close, f"{said}: {counts}."
    return len(calls), close, None


def _rounded(call: EagerCall, mine: Drawn, left: list[Drawn]) -> Drawn:
    """What `export` writes floats of 16 bits with, as it rounds and joins them; else the draw."""
    assert call.values is not None
    dtype, operator = call.values.dtype, mine.operator
    is_single = mine.values.dtype == np.float32 and dtype in (F16.dtype, BF16.dtype)
    if not is_single or operator not in (RANDOM_UNIFORM, RANDOM_NORMAL):
        return mine
    values, after = mine.values, mine.after
    if operator is RANDOM_NORMAL and after != call.after and left and left[0].after == call.after:
        anew = left.pop(0)
        values = np.concatenate([values[: call.values.size - anew.values.size], anew.values])
        after = anew.after
    values = values.astype(dtype)
    if mine.bounds:
        low, high = (bound.astype(dtype) for bound in mine.bounds)
        values = np.where(values == high, low, values)
    return Drawn(operator, values, after)


def _wide(array: NDArray[Any]) -> list[int]:
    """Its dimensions but those of 1: that of a row may stand elsewhere."""
    return [size for size in array.shape if size != 1]


def _difference(call: EagerCall, mine: Drawn) -> tuple[str | None, bool]:
    """How two draws differ, in words; None if they do not, and whether they are only close."""
    assert call.values is not None
    torchs = call.values
    if call.order is not None and len(call.order) == torchs.ndim:
        in_memory = torchs.transpose(call.order)
        torchs = in_memory if _wide(in_memory) == _wide(mine.values) else torchs
    torchs = torchs.reshape(-1)
    ours = mine.values.reshape(-1).astype(torchs.dtype)
    bits = np.dtype(f"u{torchs.dtype.itemsize}")
    unequal = int(np.count_nonzero(torchs.view(bits) != ours.view(bits)))
    if not unequal:
        if mine.after == call.after:
            return None, False
        return "the values are equal, and the generator's states after it are not", False
    wide, other = torchs.astype(np.float64), ours.astype(np.float64)
    apart = np.abs(wide - other)
    if (
        mine.operator in _OWN_IN_F64
        and torchs.dtype == np.float64
        and mine.after == call.after
        and np.all(apart <= ULPS * np.spacing(np.abs(wide)))
    ):
        return None, True
    said = f"{unequal:,} of {torchs.size:,} values, by up to {apart.max():.2g}"
    is_permuted = mine.after == call.after and np.array_equal(np.sort(torchs), np.sort(ours))
    if is_permuted or call.order is not None:
        said += ", the same in another order" if is_permuted else ""
        said += "; torch fills memory, by the strides of its tensor, and the model draws by others"
    return said, False


def with_reference(seen: Seen, states: NDArray[np.uint32] | None) -> tuple[int, str | None]:
    """How many draws are the reference's, and the first that is not, in words.

    Args:
        seen: What the model drew.
        states: The state that it was given, or the states of rows; None of one with a seed inside.
    """
    for number, called in enumerate(seen.drawn):
        op, stream = called.operator, called.attributes["op_seed"]
        title = f"{op.name} of {list(called.values.shape)}, stream {stream},"
        for ours, one in zip(called.result, reference_of(called).result, strict=True):
            if ours.tobytes() != one.tobytes():
                unequal = int(np.count_nonzero(ours != one))
                said = f"{unequal:,} of {ours.size:,} values"
                return number, f"{title} differs from the reference: {said}."
        # Word 0 and 1 are the position, which a Loop moves; the others tell runs and keys apart.
        begun = (
            None
            if states is None
            else np.broadcast_to(states[..., 2:], (*called.state.shape[:-1], 4))
        )
        if begun is not None and not np.array_equal(called.state[..., 2:], begun):
            return number, f"{title} does not draw from the state of the model."
    return len(seen.drawn), seen.problem


def outputs(
    computed: Mapping[str, NDArray[Any]], expected: Sequence[NDArray[Any]], by: TorchTolerances
) -> str | None:
    """The first output that differs, in words."""
    if len(computed) != len(expected):
        return f"The model has {len(computed)} outputs, and the module {len(expected)}."
    for (name, ours), torchs in zip(computed.items(), expected, strict=True):
        if ours.shape != torchs.shape:
            shapes = f"{list(ours.shape)}, and torch's {list(torchs.shape)}"
            return f"The output {name!r} has the shape {shapes}."
        one, other = ours.astype(np.float64), torchs.astype(np.float64)
        rounding = _rounding(ours.dtype)
        if not np.allclose(
            one, other, rtol=max(by.rtol, rounding), atol=max(by.atol, rounding), equal_nan=True
        ):
            with np.errstate(invalid="ignore"):
                most = np.nanmax(np.abs(one - other))
            said = f"{most:.2g}, beyond rtol {by.rtol:g}, atol {by.atol:g}"
            if np.array_equal(np.sort(one, axis=None), np.sort(other, axis=None)):
                said += "; its numbers are torch's in another order, as by other strides of a draw"
            return f"The output {name!r} differs by up to {said}."
    return None


def _rounding(dtype: np.dtype[Any]) -> float:
    """What a few roundings of a type of 16 bits make of a number; 0 for other types."""
    return {F16.dtype: 2.0**-8, BF16.dtype: 2.0**-5}.get(dtype, 0.0)
