"""What a rewrite is asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypedDict

from onnx_philox._contract import alignment, checks, generators
from onnx_philox._contract.arguments import check_bool
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.operators import INT64_MAX
from onnx_philox._contract.state import index_of
from onnx_philox._contract.streams import STATE
from onnx_philox._rewriting import drawn_inputs
from onnx_philox._rewriting.drawn_inputs import OWNER as OWNER
from onnx_philox._rewriting.drawn_inputs import DrawnInput

THE_ORIGINAL = "Rewrite the model that this one was made from."
"""The remedy where an earlier rewrite is in the way."""

PerRow = bool | Collection[str]
"""Whether a model gets a state for each row; names are of nodes that draw rows without proof."""
Inverted = bool | Collection[str]
"""The Bernoullis that draw their complement.

True means those of which a rewrite is in doubt. False means none, of which a rewrite warns where
that moves the share of ones; an empty tuple means none, without that warning.
"""


Draws = Mapping[str, str]
"""Inputs that become draws, by their names, and their laws in words."""


class AskedWords(TypedDict, total=False):
    """The words of an `Asked`, each with its default left out."""

    seed: int | None
    keep_seeds: bool
    per_row: PerRow
    batch: str | None
    alignment: str
    keep_unknown: bool
    invert_bernoulli: Inverted
    draw: Draws


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a rewrite is asked for; see `onnx_philox.make_reproducible` for each word.

    Raises:
        TypeError: A word is of another type.
        ValueError: The seed is out of its range, the alignment is none, a seed is asked for
            beside a state for each row, or a batch without one.
    """

    seed: int | None = None
    keep_seeds: bool = False
    per_row: PerRow = False
    batch: str | None = None
    alignment: str = TENSORFLOW
    keep_unknown: bool = False
    invert_bernoulli: Inverted = False
    draw: Draws = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.seed is not None:
            allowed = "an integer from 0 to 2^63-1, or left out"
            seed = index_of(self.seed)
            if seed is None:
                checks.refuse(
                    OWNER,
                    "seed",
                    repr(self.seed),
                    allowed,
                    "Pass an int.",
                    TypeError,
                )
            if not 0 <= seed <= INT64_MAX:
                checks.refuse(OWNER, "seed", seed, allowed, "Choose another seed.")
            object.__setattr__(self, "seed", seed)
        for name in ("keep_seeds", "keep_unknown"):
            check_bool(OWNER, name, getattr(self, name))
        for name, what in _NAMED.items():
            given = getattr(self, name)
            if not isinstance(given, bool):
                names = _names(name, given, what)
                object.__setattr__(self, name, names)
        drawn_inputs.read_all(OWNER, self.draw)
        # One of its own, which can be pickled.
        object.__setattr__(self, "draw", dict(self.draw))
        alignment.check_word(OWNER, self.alignment)
        if self.batch is not None:
            _check_batch(self.batch, is_per_row=self.named is not None)
        if self.seed is not None and self.named is not None:
            checks.refuse(
                OWNER,
                "seed",
                self.seed,
                "left out for a model with a state for each row, since a constant would have the "
                "rows of one batch",
                f"Pass onnx_philox.row_states(seed, range(batch)) as the input {STATE!r}, or with "
                "alignment 'pytorch' TorchState.from_seed(seed) for each row.",
            )

    @property
    def named(self) -> frozenset[str] | None:
        """The nodes that draw rows without proof; None for a model with one state."""
        if isinstance(self.per_row, bool):
            return frozenset() if self.per_row else None
        return frozenset(self.per_row)

    @property
    def drawn_inputs(self) -> tuple[DrawnInput, ...]:
        """The inputs that become draws, in the order of the option."""
        return drawn_inputs.read_all(OWNER, self.draw)

    @property
    def generator(self) -> generators.Generator:
        """The generator whose numbers are asked for."""
        return generators.named(self.alignment)

    @property
    def again(self) -> Self:
        """The same for a model that was rewritten before, whose shares need not be told again."""
        if self.invert_bernoulli is not False:
            return self
        return replace(self, invert_bernoulli=())

    def check_onnx(self) -> None:
        """Refuses what a model of ONNX cannot be given.

        Raises:
            ValueError: It is asked for equal draws of one generator that has no streams.
        """
        if self.keep_seeds and not self.generator.is_counter_based:
            allowed = f"left out with alignment {self.alignment!r}, which has one generator"
            remedy = "Leave one of the two out."
            checks.refuse(OWNER, "keep_seeds", True, allowed, remedy)

    def check_openvino(self) -> None:
        """Refuses what a model of OpenVINO that never was ONNX cannot be given.

        Raises:
            ValueError: It is asked for torch's numbers.
        """
        if not self.generator.is_counter_based:
            whose = self.generator.owner
            allowed = (
                f"{TENSORFLOW!r} for a model of OpenVINO, which has lost the order of {whose}'s "
                "calls"
            )
            remedy = "Export the module with onnx_philox.torch.export, or rewrite that ONNX file."
            checks.refuse(
                OWNER,
                "alignment",
                repr(self.alignment),
                allowed,
                remedy,
            )


_NAMED = {
    "per_row": "random nodes that draw rows of the batch",
    "invert_bernoulli": "Bernoullis that draw the complement",
}


def _check_batch(given: Any, *, is_per_row: bool) -> None:
    allowed = "the name of a dimension of an input, such as 'batch', or 'input:1', its dimension 1"
    if not isinstance(given, str):
        what = f"{given!r}, of type {type(given).__name__}"
        checks.refuse(
            OWNER,
            "batch",
            what,
            allowed,
            "Pass one of these.",
            TypeError,
        )
    if not is_per_row:
        allowed = "left out for a model with one state for the whole batch"
        checks.refuse(
            OWNER,
            "batch",
            repr(given),
            allowed,
            "Pass per_row=True beside it.",
        )


def _names(name: str, given: Any, meaning: str) -> frozenset[str]:
    is_list = isinstance(given, Collection) and not isinstance(given, str | bytes)
    if not is_list or not all(isinstance(each, str) for each in given):
        allowed = f"True, False, or the names of {meaning}"
        what = f"{given!r}, of type {type(given).__name__}"
        checks.refuse(OWNER, name, what, allowed, "Pass one of these.", TypeError)
    return frozenset(given)
