"""What is known of a random node before the rows are followed: its shape, and whose that is."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, replace

from onnx_philox._rewriting.places import Dimensions, Place
from onnx_philox._rewriting.rows.known import Culprit, InPlace, Knowledge, Rows
from onnx_philox._rewriting.rows.step import Step


@dataclass(frozen=True)
class DrawnShape:
    """What a random node draws, and where in it the batch may stand."""

    key: Hashable
    """What tells it from other draws."""
    shape: Dimensions | None
    """As far as it is made of inputs' dimensions."""
    is_said: bool = False
    """Whether its user says that it draws rows of its first dimension."""
    is_of_logits: bool = False
    """Whether it draws classes for each row of logits."""

    def has_unknown(self, place: Place) -> bool:
        """Whether nobody knows the size of another dimension than that with the batch."""
        others = [d for axis, d in enumerate(self.shape or ()) if axis != place.axis]
        return self.shape is None or None in others

    def places(self, step: Step, like: Knowledge) -> list[tuple[Place, InPlace]]:
        """Where the batch stands in it: in one place, or it draws no rows.

        By the sizes, and where nobody knows these by the rows of the tensor whose shape it has.
        """
        dims, products = step.made[0], step.products
        standing = like.places
        if self.is_of_logits:
            # The classes are no dimension of what is drawn.
            standing = frozenset(place for place in standing if place.axis == 0)
        if like.resized is not None and self.shape is not None:
            # Of an unknown size nobody knows that it is still that of the batch.
            shape = self.shape
            standing = frozenset(p for p in standing if shape[p.axis] is not None)
        if like.lost is None and standing:
            return self._like(step, standing)
        if self.shape is None or dims is None:
            return []
        rank = len(dims)
        found = []
        for axis, dimension in enumerate(self.shape):
            for _ in range(products.count(dimension, step.batch)):
                inner = products.quotient((dimension,), (step.batch,))
                place = Place(axis, rank, dimension != step.batch)
                found.append((place, InPlace(axis, 1, inner)))
        if found and any(products.is_computed_of(d, step.batch) for d in dims):
            # Another one is made of the batch, too.
            found *= 2
        if self.is_said and self.shape and not isinstance(self.shape[0], int) and len(found) == 1:
            return [each for each in found if each[0].is_first]
        return found

    def _like(self, step: Step, standing: Collection[InPlace]) -> list[tuple[Place, InPlace]]:
        """The places of a tensor whose shape it has."""
        dims = step.made[0] if self.shape is None else self.shape
        if dims is None:
            return []
        found = []
        for axis, dimension in enumerate(dims):
            there = [place for place in standing if place.axis == axis]
            found += [(Place(axis, len(dims), p.inner != 1), p) for p in there]
            # Those that have the size of the batch, in whatever order.
            more = step.products.count(dimension, step.batch) - len(there)
            if any(step.products.is_computed_of(d, step.batch) for d in step.made[0] or ()):
                more = max(more, 1)
            found += [(Place(axis, len(dims)), InPlace(axis))] * more
        if len(found) == 1 and found[0][1].outer != 1:
            return []
        if self.is_said and len(found) == 1 and not isinstance(dims[0], int):
            return [each for each in found if each[0].is_first]
        return found

    def noise(self, place: InPlace) -> Knowledge:
        """What is known of the numbers alone."""
        known = Knowledge(frozenset({place}), is_of_batch=True, is_alike=True)
        if self.is_said:
            return replace(known, rows=Rows.MAYBE)
        return replace(known, noise=frozenset({self.key}))


def drawn_by_place(step: Step, parameters: Iterable[int]) -> Culprit | None:
    """What is wrong with inputs that say what a random node draws; None where nothing is.

    Args:
        step: The node.
        parameters: The indices of these inputs; a node may leave some out.
    """
    for index in parameters:
        known = step.known[index] if index < len(step.known) else None
        if known is not None and known.is_by_place:
            return step.by_place("draws by", index)
    return None
