"""The refusal of a random node that is not proved to draw rows of the batch."""

from __future__ import annotations

from onnx_philox._contract.refusal import ValueRefusalError

OPTION = "per_row=[{!r}]"


class NotRowsError(ValueRefusalError):
    """A random node may draw something other than rows of the batch, which its user may rule out.

    Args:
        operator: The node.
        what: What is not proved.
        given: What is known instead.
        allowed: What it has to be.
        name: What the user calls the node.
        option: How to say that it draws rows all the same, with a place for the name.
    """

    def __init__(
        self, operator: str, what: str, given: str, allowed: str, name: str, option: str = OPTION
    ) -> None:
        super().__init__(
            operator,
            what,
            given,
            allowed,
            f"If it draws rows of the batch all the same, say so with {option.format(name)}; or "
            "rewrite the model with one state for the whole batch.",
        )
        self.parts = (operator, what, given, allowed, name, option)

    def naming(self, option: str) -> NotRowsError:
        """The same refusal to those who know the option by another name."""
        operator, what, given, allowed, name, _ = self.parts
        return NotRowsError(operator, what, given, allowed, name, option)
