"""What declarations of operators have in common: limits, inputs, outputs and seeds."""

from __future__ import annotations

from onnx_philox._contract.declaration import OUTPUT_TYPE, Attribute, Input, Numbers, Output, Role
from onnx_philox._contract.types import I32, I64, U32, ElementType

INT64_MAX = 2**63 - 1
MAX_RANK = 8
STATE_WORDS = 6
LEAST_EXPONENT = -708.0
"""The weight exp(x) of a class is 0 where x is below this."""
ULP_ABOVE_ONE = 4
"""How far above 1 a probability may be, which the sum of a softmax can reach: as true as 1."""

ONE_STATE_RULE = f"[{STATE_WORDS}], or [1, ..., 1, {STATE_WORDS}] up to rank {MAX_RANK}"
STATE_SHAPE_RULE = f"{ONE_STATE_RULE}, or [B, {STATE_WORDS}], a state for each row of the output"
STATE_ROWS_RULE = "one state for all of the output, or one for each of its rows"
RANK_RULE = "of 0 to {} dimensions"
PROBABILITY_RULE = f"from 0 to 1, or at most {ULP_ABOVE_ONE} ulp above 1"


def state_input(*, optional: bool) -> Input:
    """Where in the stream to draw."""
    doc = (
        "Where in the stream to draw: counter words c0 to c3 and key words k0 and k1, least "
        "significant word first. Last dimension 6, all others 1, rank 1 to 8 (DirectML: 4 at "
        "feature level 3.0, 1 to 8 at 4.0): one state for all of the output. Or [B, 6], for any B "
        "but 1: a state for each row of an output whose first dimension is B. Row b is what "
        "state[b] alone draws for the shape [1, d1, d2, ...]."
    )
    if optional:
        doc += " Left out, it is a state of zeros, and one of the seeds must not be 0."
    return Input("state", Role.STATE, doc, types=(U32,), optional=optional)


def bound_input(name: str, doc: str, note: str = "") -> Input:
    """A bound of a range."""
    numbers = Numbers("a finite number", "Pass a finite bound.")
    form = "A scalar or one element, of the output's type."
    return Input(name, Role.NUMBER, f"{doc} {form}", numbers=numbers, brief=doc + note)


def moment_input(name: str, doc: str) -> Input:
    """A mean or a scale."""
    numbers = Numbers("a finite number", f"Pass a finite {name}.")
    form = "Finite; a scalar or one element, of the output's type."
    return Input(name, Role.NUMBER, f"{doc} {form}", numbers=numbers, brief=doc)


def type_attribute(doc: str, *types: ElementType, default: str | None = None) -> Attribute:
    """The attribute that names the type of the first output."""
    return Attribute(OUTPUT_TYPE, doc, default, allowed=tuple(t.name for t in types))


def row_numbers_input(
    name: str,
    brief: str,
    type_: ElementType,
    numbers: Numbers,
    absent: int,
) -> Input:
    """A number, or one for each row; `absent` is what it means to leave it out."""
    doc = (
        f"{brief} A scalar or one element for all rows, or 1-D with one for each row. Left out, or "
        f"an empty 1-D tensor: {absent}."
    )
    return Input(name, Role.ROW_NUMBERS, doc, (type_,), True, absent, numbers, brief)


SHAPE_INPUT = Input(
    "shape",
    Role.SHAPE,
    "The dimensions of the output, 1-D with 0 to 8 entries; no entries mean a scalar.",
    types=(I64, I32),
)
NEXT_STATE = Output(
    "next_state",
    "The state advanced by what this call used, in the state's shape; the seeds are not "
    "folded in. A state for each row: each advanced by what its row used. Without a state: six "
    "words, zeros advanced.",
    type=U32,
    is_state=True,
    optional=True,
)
FOREIGN_ATTRIBUTES = {"dtype", "high", "low", "mean", "ratio", "scale", "seed"}
"""Attributes of ONNX's own random operators, which a node of ours may have been given by mistake.

Runtimes that show an operator only the attributes that it asks for are asked for these too.
"""
SEEDS = (
    Attribute("global_seed", "Added to the state's 64-bit key.", 0),
    Attribute("op_seed", "Added to the upper 64 bits of the state's 128-bit counter.", 0),
)
TENSORFLOW, PYTORCH = "tensorflow", "pytorch"
ALIGNMENT = Attribute(
    "alignment",
    "Whose numbers: with pytorch those that torch draws with its CPU generator. The state is then "
    "that generator, of 632 words (see TorchState); global_seed is torch's seed, for a node "
    "without a state; and op_seed is 0.",
    TENSORFLOW,
    allowed=(TENSORFLOW, PYTORCH),
    is_written=False,
)
