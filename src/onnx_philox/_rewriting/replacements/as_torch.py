"""What a draw needs to be one of torch's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from onnx_philox._contract import alignment, checks
from onnx_philox._contract.operators import (
    ALIGNMENT,
    OPERATORS,
    PYTORCH,
    RANDOM_BERNOULLI,
    RANDOM_DROPOUT,
    Operator,
)
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._contract.types import F64
from onnx_philox._models.constants import constant
from onnx_philox._models.emitter import Emitter
from onnx_philox._rewriting.replacements.awaiting import AwaitingReplacement
from onnx_philox._rewriting.replacements.of_onnx import BernoulliReplacement, DropoutReplacement
from onnx_philox._rewriting.replacements.outcome import Replaceable

_AS_TORCH: dict[str, int | str] = {ALIGNMENT.name: PYTORCH}
_NUMBERS = {RANDOM_DROPOUT: "ratio", RANDOM_BERNOULLI: "p"}
"""What is a number of Python's in torch."""


def check_is_torch_s(random: Replaceable) -> None:
    """Refuses a draw that torch has no rule for.

    Raises:
        ValueError: It is one.
    """
    title, operator = random.site.title, random.replacement.operator
    if ALIGNMENT not in operator.attributes:
        names = [op.name for op in OPERATORS.values() if ALIGNMENT in op.attributes]
        allowed = f"one of {', '.join(names)}, with alignment 'pytorch'"
        remedy = "Rewrite the model without alignment: no other draws follow torch's rules."
        checks.refuse(title, "what draws in its place", operator.name, allowed, remedy)
    if isinstance(random.replacement, DropoutReplacement) and operator is not RANDOM_DROPOUT:
        allowed = "a constant, with alignment 'pytorch'"
        remedy = "Make training_mode a constant."
        checks.refuse(title, "training_mode", "one that the model computes", allowed, remedy)
    bernoulli = random.replacement
    if isinstance(bernoulli, BernoulliReplacement) and bernoulli.probabilities is F64:
        allowed = "a tensor of f32, f16 or bf16, with alignment 'pytorch'"
        remedy = "Put a Cast to f32 before it."
        checks.refuse(title, "the input", "a tensor of f64", allowed, remedy)


def as_torch(
    random: Replaceable,
    emitter: Emitter,
    op: Operator,
    inputs: Mapping[str, ir.Value],
    attributes: Mapping[str, Any],
) -> tuple[dict[str, ir.Value], dict[str, int | str]]:
    """The inputs of torch's draw, and the attribute that says whose it is.

    A Dropout's ratio, and the number p of `bernoulli_`, are doubles in torch: an f32 constant
    becomes that of its shortest decimal.

    Raises:
        ValueError: torch's numbers cannot be drawn so.
    """
    try:
        complete = checks.check_attributes(op, {**attributes, **_AS_TORCH})
        alignment.check(op, complete, has_state=True)
    except RefusalError as error:
        raise error.within(random.site.title) from error
    given = dict(inputs)
    name = _NUMBERS.get(op)
    number = None if name is None else constant(given[name])
    # In ONNX's Bernoulli, p is a tensor: `p.bernoulli()`, whatever its rank.
    is_number = op is RANDOM_DROPOUT or isinstance(random.replacement, AwaitingReplacement)
    if number is not None and is_number and number.dtype == np.float32 and number.size == 1:
        wide = np.array(float(str(number.reshape(()))), np.float64)
        if op is RANDOM_DROPOUT or number.ndim == 0:
            given[name] = emitter.constant("p_f64", wide)
    return given, _AS_TORCH
