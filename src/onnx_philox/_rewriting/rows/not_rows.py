"""The refusal of random nodes that are not proved to draw rows of the batch."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from onnx_philox._contract.refusal import ValueRefusalError

# How many nodes of one shape a message names.
_FEW = 3


class NotRowsError(ValueRefusalError):
    """A random node may draw something other than rows of the batch, which its user may rule out.

    Args:
        operator: The node.
        what: What is not proved.
        given: What is known instead.
        allowed: What it has to be.
        names: What the user calls the nodes to name, this one and any other.
        option: The option of a command that takes one name; empty for Python's `per_row`.
    """

    def __init__(
        self,
        operator: str,
        what: str,
        given: str,
        allowed: str,
        names: tuple[str, ...],
        option: str = "",
    ) -> None:
        draws = "it draws" if len(names) == 1 else "they draw"
        said = f"per_row={list(names)!r}"
        if option:
            said = " ".join(f"{option} {shlex.quote(name)}" for name in names)
        super().__init__(
            operator,
            what,
            given,
            allowed,
            f"If {draws} rows of the batch all the same, say so with {said}; or rewrite the model "
            "with one state for the whole batch.",
        )
        self.names = names
        self.parts = (operator, what, given, allowed, names, option)

    def naming(self, option: str) -> NotRowsError:
        """The same refusal to those who know the option by another name."""
        operator, what, given, allowed, names, _ = self.parts
        return NotRowsError(operator, what, given, allowed, names, option)


def of_all(errors: Sequence[NotRowsError], named: Sequence[str]) -> NotRowsError:
    """One refusal for those of several nodes, beside the nodes that the user has named already."""
    names = (*named, *(name for error in errors for name in error.names))
    operator, what, given, allowed, *_ = errors[0].parts
    if len(errors) > 1:
        operator, what = f"{len(errors)} random nodes", "the shape of what each draws"
        by_shape: dict[str, list[str]] = {}
        for error in errors:
            by_shape.setdefault(error.given, []).append(repr(error.names[0]))
        given = ", ".join(f"{shape} of {_few(alike)}" for shape, alike in by_shape.items())
    return NotRowsError(operator, what, given, allowed, names)


def _few(names: Sequence[str]) -> str:
    """The first of many names: all of them are in the list to paste."""
    if len(names) <= _FEW:
        return ", ".join(names)
    return f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more"
