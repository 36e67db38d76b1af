"""The interface by which the meaning of a call becomes nodes of a runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, Protocol

from onnx_philox._contract.operators import Operator
from onnx_philox._contract.types import BF16, F16, F32, F64, ElementType
from onnx_philox._torch.calls.table import TorchCall

_RENAMED = {
    **{"self": "x", "input": "x"},
    **{"from": "low", "lower": "low", "to": "high", "upper": "high"},
}


class Writer(Protocol):
    """The verbs. A value is what the runtime's nodes read; a kind is a type, be it unknown."""

    def kind(self, dtype: Any, like: Any = None) -> Any:
        """The type asked for: this one, else a tensor's, else torch's default for floats."""

    def element(self, kind: Any) -> ElementType | None:
        """A kind as a type of ours; None for one that is unknown, or not ours."""

    def float_type(self, kind: Any) -> ElementType:
        """The type to draw floats in; a refusal if it is none."""

    def cast(self, x: Any, kind: Any) -> Any:
        """A value in another type."""

    def number(self, number: Any, kind: Any) -> Any:
        """A number, or one that the model computes, in a type."""

    def ints(self, numbers: Sequence[int]) -> Any:
        """A constant row of integers."""

    def dims(self, size: Any) -> Any:
        """Dimensions, some of which the model computes."""

    def shape(self, x: Any) -> Any:
        """The dimensions of a value."""

    def features(self, x: Any) -> Any:
        """The first two dimensions, then 1 for each other."""

    def rank(self, x: Any) -> int | None:
        """How many dimensions it has; None if that is unknown."""

    def expanded(self, p: Any, shape: Any, x: Any) -> Any:
        """Numbers broadcast to a shape, which is that of `x`."""

    def draw(self, operator: Operator, *inputs: Any, **attributes: Any) -> Any:
        """A node of this package, whose state is still to come: its outputs but the last."""

    def op(self, name: str, *inputs: Any, **attributes: Any) -> Any:
        """An operator, by its name in ONNX."""

    def attention(self, *inputs_and_options: Any) -> Any:
        """The runtime's own attention, without dropout.

        Of query, key, value and mask; then come is_causal, scale and enable_gqa.
        """

    def width(self, x: Any) -> Any:
        """The last dimension of a value, as a row of one or a number."""

    def products(self, x: Any, y: Any, _rank: int | None) -> Any:
        """The products of the rows of two tensors, both of this rank."""

    def repeated(self, x: Any, query: Any) -> Any:
        """Keys or values, each as often as queries share it."""

    def triangle(self, query: Any, key: Any) -> Any:
        """Which key each query sees, if none that comes after it."""


def written(
    call: TorchCall,
    meaning: Callable[..., Any],
    w: Writer,
    given: Mapping[str, Any],
) -> Any:
    """The nodes of a call.

    Args:
        call: Its entry.
        meaning: Its function.
        w: What writes it.
        given: Its arguments by torch's names, with torch's defaults.
    """
    if given.get("generator") is not None:
        remedy = "Leave it out: the model's state says what is drawn."
        call.refuse("generator", "a torch.Generator", "None", remedy)
    named = {_RENAMED.get(name, name): value for name, value in given.items()}
    wanted = list(signature(meaning).parameters)[1:]
    return meaning(w, **{name: named[name] for name in wanted if name in named})


def float_type(call: TorchCall, known: ElementType | None, given: str) -> ElementType:
    """A type to draw floats in; refuses another, which may have no name of ours."""
    floats = (F16, BF16, F32, F64)
    if known is None or known not in floats:
        names = f"one of {', '.join(each.name for each in floats)}"
        given = known.name if known is not None else given
        call.refuse("the type", given, names, "Draw one of these.", TypeError)
    return known
