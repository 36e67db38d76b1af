"""What decides whether nodes of equal explicit seeds draw the same in a runtime."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Size:
    """A number of elements: a factor times numbers that each run decides."""

    factor: int
    of: tuple[str, ...] = ()
    """The names of these numbers, sorted: dimensions, or a tensor that has so many elements."""

    def times(self, other: Size) -> Size:
        """The product of two sizes."""
        factors = sorted((*self.of, *other.of))
        return Size(self.factor * other.factor, tuple(factors))

    def differs_from(self, other: Size) -> bool:
        """Whether the two are different in every run, but for tensors without elements."""
        return self.of == other.of and self.factor != other.factor

    def __str__(self) -> str:
        if not self.of:
            elements = "element" if self.factor == 1 else "elements"
            return f"{self.factor} {elements}"
        factors = list(self.of)
        if self.factor != 1:
            factors.insert(0, str(self.factor))
        return f"{' * '.join(factors)} elements"


OF_TENSORFLOW = "TensorFlow's "
"""What `Seeded.numbers` begins with where no runtime here draws the node."""


@dataclass(frozen=True)
class Seeded:
    """What a runtime makes of a node's explicit seed.

    Two nodes repeat each other, in every run, if all of it is equal.
    """

    seed: Hashable
    """The seed, by the runtime's own rule."""
    numbers: str
    """The numbers that the runtime draws for the node: those of others are never its own."""
    kind: str = field(compare=False)
    """What draws them, in words and in the plural, such as "uniforms of f32"."""
    place: Hashable = ()
    """The loops and branches around it, which say how often it draws in a run."""
    size: Size | None = None
    """None where the first elements of all nodes agree, however many they have."""

    def may_repeat(self, other: Seeded) -> bool:
        """Whether the two repeat each other where their sizes are equal, which they may be."""
        own = self.seed, self.numbers, self.place
        is_one = own == (other.seed, other.numbers, other.place)
        if self.size is None or other.size is None:
            return is_one
        return is_one and not self.size.differs_from(other.size)
