"""How often a Bernoulli is true: with probability p, or in some runtimes with 1 - p."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Share:
    """The share of ones of a node that is a Bernoulli, or was one before a tool inlined it."""

    today: str
    """What draws the ones of 1 - p."""
    new: str
    """The probability in the rewritten model."""
    doubt: str = ""
    """What says that the model may mean the other share; empty where nothing does."""
    is_inverted: bool = False
    """Whether somebody has asked for the complement."""
    p: float | None = None
    """The probability that the node is given, where it is one constant."""

    @property
    def moves(self) -> bool:
        """Whether the rewritten model surely draws another share of ones than today."""
        return self.new == "p" and not self.doubt and self.p != 0.5

    @property
    def numbers(self) -> str:
        """Both shares in numbers, such as "0.9 becomes 0.1"; empty where p is not constant."""
        if self.p is None:
            return ""
        return f"{1 - self.p:.3g} becomes {self.p:.3g}"

    @property
    def inverted(self) -> Share:
        """The share of the complement."""
        new = "1 - p" if self.new == "p" else "p"
        return Share(self.today, new, is_inverted=True)

    def __str__(self) -> str:
        shares = f"1 with probability 1 - p, the rewritten model with {self.new}"
        doubt = f"; {self.doubt}" if self.doubt else ""
        return f"{self.today} draws {shares}{doubt}"


BERNOULLI = Share("ONNX Runtime", "p")
MADE_UP_FOR = replace(
    BERNOULLI, doubt="p is computed as 1 - x, by which an exporter may have made up for that"
)
INLINED = Share(
    "the comparison",
    "1 - p",
    "a tool inlined a Bernoulli, which ONNX says is 1 with probability p",
)
INLINED_NAME = "X_random"
"""In the name of the uniform number, as the body that ONNX publishes calls it."""
