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
    RANDOM_DROPOUT,
    Operator,
)
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._models.constants import constant
from onnx_philox._models.emitter import Emitter
from onnx_philox._rewriting.replacements.of_onnx import DropoutReplacement
from onnx_philox._rewriting.replacements.outcome import Replaceable

_AS_TORCH: dict[str, int | str] = {ALIGNMENT.name: PYTORCH}


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


def as_torch(
    random: Replaceable,
    emitter: Emitter,
    op: Operator,
    inputs: Mapping[str, ir.Value],
    attributes: Mapping[str, Any],
) -> tuple[dict[str, ir.Value], dict[str, int | str]]:
    """The inputs of torch's draw, and the attribute that says whose it is.

    A ratio of Dropout is a double in torch: an f32 constant becomes that of its shortest decimal.

    Raises:
        ValueError: torch's numbers cannot be drawn so.
    """
    try:
        complete = checks.check_attributes(op, {**attributes, **_AS_TORCH})
        alignment.check(op, complete, has_state=True)
    except RefusalError as error:
        raise error.within(random.site.title) from error
    given = dict(inputs)
    ratio = constant(given["ratio"]) if op is RANDOM_DROPOUT else None
    if ratio is not None and ratio.dtype == np.float32:
        wide = np.array(float(str(ratio.reshape(()))), np.float64)
        given["ratio"] = emitter.constant("p_f64", wide)
    return given, _AS_TORCH
