"""The refusal of a random node that may also stay as it is."""

from __future__ import annotations

import warnings
from typing import Any

from onnx_philox._contract import frames
from onnx_philox._contract.refusal import ValueRefusalError

LEAVE_IT = ", or leave the node as it is with {}"
"""What the remedy offers beside its own, given the name of the option that does it."""


class MayStayError(ValueRefusalError):
    """A random node cannot be replaced, and `keep_unknown` lets it stay as it is.

    Args:
        operator: The node.
        what: What is wrong with it.
        given: What that is.
        allowed: What it may be.
        way_out: What to do, a sentence without its full stop.
        note: What to know of the way out, one or more sentences, each after a space.
        option: What the option is called; empty where the remedy is not to offer it.
    """

    def __init__(
        self,
        operator: str,
        what: str,
        given: Any,
        allowed: str,
        way_out: str,
        note: str = "",
        option: str = "keep_unknown",
    ) -> None:
        offer = LEAVE_IT.format(option) if option else ""
        super().__init__(operator, what, given, allowed, f"{way_out}{offer}.{note}")
        self.parts = (operator, what, self.given, allowed, way_out, note, option)

    def offering(self, option: str) -> MayStayError:
        """The same refusal to those who know the option by another name, or by none."""
        operator, what, given, allowed, way_out, note, _ = self.parts
        return MayStayError(operator, what, given, allowed, way_out, note, option)


def leave(error: ValueError | TypeError, *, keep_unknown: bool) -> None:
    """Warns of a random node that stays as it is; raises what is wrong with any other."""
    if not (isinstance(error, MayStayError) and keep_unknown):
        raise error
    warnings.warn(f"left as it is: {error.offering('')}", stacklevel=frames.stacklevel())
