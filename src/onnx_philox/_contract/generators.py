"""Generators: whose numbers a node draws, and all that differs between them.

A generator is a value of `Generator`. What differs between two is asked of the record: the house
knows Philox, and each other generator has a part that comes off (`_parts.GENERATORS`), which
answers for it.
"""

# ruff: noqa: ARG002, another generator answers by what Philox need not know
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import _parts
from onnx_philox._contract import refusal
from onnx_philox._contract import sentences as say
from onnx_philox._contract.declaration import Operator
from onnx_philox._contract.inputs import (
    ALIGNMENT,
    LEAST_EXPONENT,
    STATE_SHAPE_RULE,
    STATE_WORDS,
    TENSORFLOW,
)
from onnx_philox._contract.state import (
    GeneratorState,
    PhiloxState,
    integer,
    run_words,
    words_of_seeds,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Generator:
    """A generator of random numbers, by which nodes may draw; its methods answer for Philox.

    Attributes:
        alignment: The word for it, of an attribute or an argument.
        owner: Whose numbers they are, in words.
        state: The class of its states.
        words: How many words a state has.
        is_counter_based: Whether a state is a place to go to: a seed then has streams, runs and
            rows, by numbers. If not, one generator goes through the nodes of a model in their
            order, op_seed is 0, and each row needs a seed of its own.
        least_exponent: The weight exp(x) of a class counts as above 0 from this x on.
        seed_bits: How many bits a seed from the operating system has.
        seed_at: The words of a state that tell its seed, the lower one first.
        made: What makes a state.
        remedy: What to pass to a node where a state has another shape.
        mistaken: The same where it is the state of this one, and Philox draws.
        of_bytes: What to do with bytes that its library takes for its state; empty if it has none.
        seeding: What makes a state of a seed.
    """

    alignment: str
    owner: str
    state: type[GeneratorState]
    words: int
    is_counter_based: bool
    least_exponent: float
    seed_bits: int
    seed_at: slice
    made: str
    remedy: str
    mistaken: str = ""
    of_bytes: str = ""
    seeding: str

    @property
    def is_named(self) -> bool:
        """Whether nodes and records name it. Earlier versions knew one alone, and named none.

        Nodes of ONNX's own domain draw the numbers of that one alone.
        """
        return self.alignment != ALIGNMENT.default

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes of a node that draws its numbers."""
        return {ALIGNMENT.name: self.alignment} if self.is_named else {}

    @property
    def whose(self) -> str:
        """Whose numbers, as the object of a sentence."""
        return f"{self.owner}'s numbers"

    @property
    def shape_rule(self) -> str:
        """The shapes that a state, or one for each row, may have."""
        return STATE_SHAPE_RULE.replace(f"{STATE_WORDS}]", f"{self.words}]")

    def seed_in(self, state: NDArray[np.uint32]) -> int:
        """The seed that a state began at.

        Raises:
            ValueError: It is no state.
        """
        low, high = self.state.from_array(state).to_array()[self.seed_at].tolist()
        return int(low | high << 32)

    def left_out(self, attributes: Mapping[str, Any]) -> tuple[NDArray[np.uint32], dict[str, Any]]:
        """What a node without a state draws from: a state, and the attributes beside it."""
        if self.is_counter_based:
            return np.zeros(self.words, np.uint32), dict(attributes)
        state = self.of_seed("", attributes["global_seed"])
        return state, {**attributes, "global_seed": 0}

    def check_seed(self, owner: str, name: str, given: Any) -> int:
        """Refuses what is no seed, by the function to blame and what it calls it."""
        return integer(owner, name, given, 2**64)

    def of_seed(self, owner: str, seed: Any, run: int = 0) -> NDArray[np.uint32]:
        """The words of the state at which a seed begins, in a run where it counts runs."""
        return run_words(owner, seed, run)

    def of_seeds(self, seeds: NDArray[Any]) -> NDArray[np.uint32]:
        """The states of many checked seeds in run 0, a row for each."""
        return words_of_seeds(seeds)

    def check_node(self, op: Operator, attributes: Mapping[str, Any], has_state: bool) -> None:
        """Refuses complete attributes of a node that do not go together."""
        if not has_state and attributes["global_seed"] == 0 and attributes["op_seed"] == 0:
            what, allowed = say.INPUT.format("state"), say.CONNECTED_WITHOUT_SEEDS
            refusal.refuse(op, what, say.NOTHING, allowed, say.NAME_A_STREAM)

    def check_words(self, owner: str, words: NDArray[np.uint32]) -> None:
        """Refuses words that no generator holds."""

    def check_integers(self, op: Operator, what: str, count: int) -> None:
        """Refuses permutations of so many integers that it has another rule for them."""

    def remedy_for(self, shape: Sequence[int | None], remedy: str = "") -> str:
        """What to pass instead of a state of a wrong shape."""
        other = of_words(shape[-1]) if shape else None
        return (other.mistaken if other else "") or remedy or self.remedy

    def about_input(self, name: str, *, per_row: bool) -> str:
        """What the input of a rewritten model is, in words."""
        if per_row:
            made = "onnx_philox.row_states(seed, range(batch), run)"
            says = "what each row of the batch draws, whatever the others are"
            return f"The input {name} (uint32[batch, {self.words}]: {made}) says {says}"
        return f"The input {name} (uint32[{self.words}]: {self.seeding}) says what is drawn"

    def take_bytes(self, count: int | None) -> str:
        """What to do with so many bytes, which its library takes for its state; else empty."""
        return ""

    def fill_from(self) -> Any:
        """What fills arrays from its state, as `_numbers.call.fill_from` does; None for that."""

    def rewriting(self) -> Any:
        """What a rewrite of ONNX models does in its own way: a `OneGenerator`; None for nothing."""

    def after_words(self, seed: int, words: int) -> Any:
        """The state, by another implementation, after so many words; None where none is known."""

    def names_random(self, domain: str, name: str) -> bool:
        """Whether an operator without a schema is a random function of its library."""
        return False

    def noise(
        self,
        owner: str,
        seed: Any,
        like: Any,
        gpu: Any,
    ) -> Any:
        """Normals outside of a model, by the word for whose they are; None for another's."""


PHILOX = Generator(
    alignment=TENSORFLOW,
    owner="Philox",
    state=PhiloxState,
    words=STATE_WORDS,
    is_counter_based=True,
    least_exponent=LEAST_EXPONENT,
    seed_bits=63,  # a signed column of a database holds it
    seed_at=slice(4, 6),
    made="PhiloxState(...).to_array()",
    remedy=say.PASS_A_STATE,
    seeding="PhiloxState.for_run(seed, run).to_array()",
)


@cache
def registered() -> dict[str, Generator]:
    """The installed generators, by their alignment. Parts are loaded at the first question."""
    found = {PHILOX.alignment: PHILOX}
    for alignment, record in _parts.GENERATORS.items():
        with suppress(_parts.PartNotInstalledError):
            found[alignment] = record.get(alignment)
    return found


def named(alignment: str | None) -> Generator:
    """The generator of an alignment; for nothing, the one that nobody names.

    Raises:
        PartNotInstalledError: The part that draws by it is not installed.
        KeyError: None is declared for the word, which is to be checked before.
    """
    word = alignment or TENSORFLOW
    found = registered().get(word)
    if found is not None:
        return found
    missing: Generator = _parts.GENERATORS[word].get(f"alignment {word!r}")
    return missing


def missing() -> list[_parts.OptionalPart]:
    """The parts that are not installed, of those that draw by a generator of theirs."""
    words = _parts.GENERATORS.keys() - registered().keys()
    return [_parts.GENERATORS[word].part for word in sorted(words)]


def of_words(count: Any) -> Generator | None:
    """The generator whose states have so many words."""
    return next((each for each in registered().values() if each.words == count), None)


def is_state(given: Any) -> bool:
    """Whether a value is a state of one of them, and not its words."""
    return isinstance(given, tuple(each.state for each in registered().values()))


def the_named(generators: Iterable[Generator]) -> Generator:
    """The named generator among those of a model's nodes; Philox where none is named."""
    return next((each for each in generators if each.is_named), named(None))
