"""Generators: whose numbers a node draws, and all that differs between them.

A generator is a value of `Generator`. What differs between two is asked of the record, so that the
next one is one more value in `GENERATORS`, and its rule in `_numbers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import refusal
from onnx_philox._contract import sentences as say
from onnx_philox._contract.declaration import Operator
from onnx_philox._contract.inputs import (
    ALIGNMENT,
    LEAST_EXPONENT,
    LEAST_TORCH_EXPONENT,
    PYTORCH,
    STATE_SHAPE_RULE,
    STATE_WORDS,
    TENSORFLOW,
    TORCH_STATE_SHAPE_RULE,
    TORCH_STATE_WORDS,
)
from onnx_philox._contract.state import PhiloxState, integer, run_words, words_of_seeds
from onnx_philox._torch.numbers import state as torch_state
from onnx_philox._torch.numbers.state import TorchState, check_states, torch_seed


@dataclass(frozen=True, eq=False, kw_only=True)
class Generator:
    """A generator of random numbers, by which nodes may draw.

    Attributes:
        alignment: The word for it, of an attribute or an argument.
        owner: Whose numbers they are, in words.
        state: The class of its states.
        words: How many words a state has.
        shape_rule: The shapes that a state, or one for each row, may have.
        is_counter_based: Whether a state is a place to go to: a seed then has streams, runs and
            rows, by numbers. If not, one generator goes through the nodes of a model in their
            order, op_seed is 0, and each row needs a seed of its own.
        has_standard_nodes: Whether nodes of ONNX's own domain can draw its numbers.
        least_exponent: The weight exp(x) of a class counts as above 0 from this x on.
        most_integers: From so many integers on it permutes by another rule; None for any number.
        seed_bits: How many bits a seed from the operating system has.
        seed_at: The words of a state that tell its seed, the lower one first.
        check_seed: Refuses what is no seed, by the function to blame and what it calls it.
        of_seed: The words of the state at which a seed begins, by the function to blame for a
            wrong one, the seed, and the run where it counts runs.
        of_seeds: The same of many seeds that are checked, a row for each, in run 0.
        left_out: What a node without a state draws from, by its complete attributes: a state, and
            the attributes beside it.
        check_node: Refuses attributes that do not go together, by the operator, its complete
            attributes, and whether it has a state.
        check_words: Refuses words that no generator holds, by the function to blame.
        made: What makes a state.
        remedy: What to pass to a node where a state has another shape.
        mistaken: The same where it is the state of another generator, by its alignment.
        of_bytes: What to do with bytes that its library takes for its state; empty if it has none.
        seeding: What makes a state of a seed.
        also: What that also is, in words.
        says: What one state says in a rewritten model.
        row_seeding: What makes the states of the rows of a batch.
        rows_say: What these say.
    """

    alignment: str
    owner: str
    state: type[PhiloxState] | type[TorchState]
    words: int
    shape_rule: str
    is_counter_based: bool
    has_standard_nodes: bool
    least_exponent: float
    most_integers: int | None = None
    seed_bits: int
    seed_at: slice
    check_seed: Callable[[str, str, Any], int]
    of_seed: Callable[..., NDArray[np.uint32]]
    of_seeds: Callable[[NDArray[Any]], NDArray[np.uint32]]
    left_out: Callable[[Mapping[str, Any]], tuple[NDArray[np.uint32], dict[str, Any]]]
    check_node: Callable[[Operator, Mapping[str, Any], bool], None]
    check_words: Callable[[str, NDArray[np.uint32]], None]
    made: str
    remedy: str
    mistaken: Mapping[str, str] = field(default_factory=dict)
    of_bytes: str = ""
    seeding: str
    also: str = ""
    says: str
    row_seeding: str
    rows_say: str

    @property
    def is_named(self) -> bool:
        """Whether nodes and records name it. Earlier versions knew one alone, and named none."""
        return self.alignment != ALIGNMENT.default

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes of a node that draws its numbers."""
        return {ALIGNMENT.name: self.alignment} if self.is_named else {}

    @property
    def whose(self) -> str:
        """Whose numbers, as the object of a sentence."""
        return f"{self.owner}'s numbers"

    def remedy_for(self, shape: Sequence[int | None], remedy: str = "") -> str:
        """What to pass instead of a state of a wrong shape."""
        other = of_words(shape[-1]) if shape else None
        return self.mistaken.get(other.alignment if other else "", remedy or self.remedy)

    def about_input(self, name: str, *, per_row: bool) -> str:
        """What the input of a rewritten model is, in words."""
        if per_row:
            made, says = self.row_seeding, self.rows_say
            return f"The input {name} (uint32[batch, {self.words}]: {made}) {says}"
        return f"The input {name} (uint32[{self.words}]: {self.seeding}{self.also}) {self.says}"

    def seed_in(self, state: NDArray[np.uint32]) -> int:
        """The seed that a state began at.

        Raises:
            ValueError: It is no state.
        """
        low, high = self.state.from_array(state).to_array()[self.seed_at].tolist()
        return int(low | high << 32)


def _without_a_stream(op: Operator, attributes: Mapping[str, Any], has_state: bool) -> None:
    if not has_state and attributes["global_seed"] == 0 and attributes["op_seed"] == 0:
        what, allowed = say.INPUT.format("state"), say.CONNECTED_WITHOUT_SEEDS
        refusal.refuse(op.name, what, say.NOTHING, allowed, say.NAME_A_STREAM)


def _as_torch_cannot(op: Operator, attributes: Mapping[str, Any], has_state: bool) -> None:
    def refuse(name: str, allowed: str, remedy: str) -> None:
        what = say.ATTRIBUTE.format(repr(name))
        refusal.refuse(op.name, what, attributes[name], allowed, remedy)

    if attributes["op_seed"] != 0:
        refuse("op_seed", say.NO_OP_SEED, say.SET_GLOBAL_SEED)
    if has_state and attributes["global_seed"] != 0:
        refuse("global_seed", say.NO_SEED_BESIDE_A_STATE, say.REMOVE_ONE_OF_BOTH)
    if attributes.get("replacement", 0) and attributes["sample_size"] > 1:
        refuse("sample_size", say.ONE_SAMPLE, say.DRAW_ONE_SAMPLE)
    if not has_state and attributes["global_seed"] == 0:
        what, allowed = say.INPUT.format("state"), say.CONNECTED_WITHOUT_SEED
        refusal.refuse(op.name, what, say.NOTHING, allowed, say.NAME_A_SEED)


def _torch_left_out(attributes: Mapping[str, Any]) -> tuple[NDArray[np.uint32], dict[str, Any]]:
    state = TorchState.from_seed(int(attributes["global_seed"]))
    return state.to_array(), {**attributes, "global_seed": 0}


PHILOX = Generator(
    alignment=TENSORFLOW,
    owner="Philox",
    state=PhiloxState,
    words=STATE_WORDS,
    shape_rule=STATE_SHAPE_RULE,
    is_counter_based=True,
    has_standard_nodes=True,
    least_exponent=LEAST_EXPONENT,
    seed_bits=63,  # a signed column of a database holds it
    seed_at=slice(4, 6),
    check_seed=lambda owner, name, given: integer(owner, name, given, 2**64, "2^64-1"),
    of_seed=run_words,
    of_seeds=words_of_seeds,
    left_out=lambda attributes: (np.zeros(STATE_WORDS, np.uint32), dict(attributes)),
    check_node=_without_a_stream,
    check_words=lambda owner, words: None,  # noqa: ARG005, any six are a state
    made="PhiloxState(...).to_array()",
    remedy=say.PASS_A_STATE,
    mistaken={PYTORCH: say.NOT_A_TORCH_STATE},
    seeding="PhiloxState.for_run(seed, run).to_array()",
    says="says what is drawn",
    row_seeding="onnx_philox.row_states(seed, range(batch), run)",
    rows_say="says what each row of the batch draws, whatever the others are",
)
TORCH = Generator(
    alignment=PYTORCH,
    owner="torch",
    state=TorchState,
    words=TORCH_STATE_WORDS,
    shape_rule=TORCH_STATE_SHAPE_RULE,
    is_counter_based=False,
    has_standard_nodes=False,
    least_exponent=LEAST_TORCH_EXPONENT,
    most_integers=(2**32 - 1) // 20,
    seed_bits=32,  # torch draws by these of a seed
    seed_at=slice(0, 2),
    check_seed=torch_seed,
    of_seed=lambda owner, seed, _run=0: torch_state.words_of_seeds(
        np.array([torch_seed(owner, "seed", seed)], np.uint64)
    )[0],
    of_seeds=torch_state.words_of_seeds,
    left_out=_torch_left_out,
    check_node=_as_torch_cannot,
    check_words=check_states,
    made="TorchState.from_seed(seed).to_array()",
    remedy=say.PASS_A_TORCH_STATE,
    mistaken={TENSORFLOW: say.NOT_A_PHILOX_STATE},
    of_bytes=say.TAKE_TORCH_BYTES,
    seeding="TorchState.from_seed(seed).to_array()",
    also=", which is torch.manual_seed(seed)",
    says="is the generator at first",
    row_seeding="TorchState.from_seed(seed).to_array() for each row",
    rows_say="is a generator of torch's for each row of the batch",
)
GENERATORS = {generator.alignment: generator for generator in (PHILOX, TORCH)}
"""All of them, by their alignment."""


def named(alignment: Any) -> Generator:
    """The generator of an alignment; for what is none, the one that nobody names."""
    known = GENERATORS.get(alignment) if isinstance(alignment, str) else None
    return known or GENERATORS[str(ALIGNMENT.default)]


def of_words(count: Any) -> Generator | None:
    """The generator whose states have so many words."""
    return next((each for each in GENERATORS.values() if each.words == count), None)


def the_named(generators: Iterable[Generator]) -> Generator:
    """Of generators that nodes of a model draw by, the one that is named; else the other."""
    return next((each for each in generators if each.is_named), named(None))
