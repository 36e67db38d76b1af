"""What a draw needs to be one of torch's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
from onnx_philox._contract.types import F64
from onnx_philox._models.constants import constant
from onnx_philox._models.emitter import Emitter
from onnx_philox._rewriting.replacements import torch_calls
from onnx_philox._rewriting.replacements.of_onnx import BernoulliReplacement, DropoutReplacement
from onnx_philox._rewriting.replacements.outcome import Replaceable
from onnx_philox._rewriting.types import Types

_AS_TORCH: dict[str, int | str] = {ALIGNMENT.name: PYTORCH}


def drawn_as_torch(random: Replaceable, types: Types) -> Replaceable:
    """A draw by torch's own rule: the same one, or that of the call which the model stands for.

    Raises:
        ValueError: torch has no rule for it, or draws the call by another one than the model shows.
    """
    if random.kept is not None:
        allowed = "left out with alignment 'pytorch', since they say numbers of Philox"
        remedy = "Remove them, or rewrite the model without alignment."
        checks.refuse(random.site.title, "the seeds", str(random.kept), allowed, remedy)
    random = torch_calls.read(random, types)
    title, replacement = random.site.title, random.replacement
    if isinstance(replacement, DropoutReplacement):
        if not replacement.is_mode_known:
            allowed = "a constant, with alignment 'pytorch'"
            remedy = "Make training_mode a constant."
            checks.refuse(title, "training_mode", "one that the model computes", allowed, remedy)
        replacement = replace(replacement, keeps_double=True)
        random = replace(random, replacement=replacement)
    operator = replacement.operator
    if ALIGNMENT not in operator.attributes:
        names = [op.name for op in OPERATORS.values() if ALIGNMENT in op.attributes]
        allowed = f"one of {', '.join(names)}, with alignment 'pytorch'"
        remedy = "Rewrite the model without alignment: no other draws follow torch's rules."
        checks.refuse(title, "what draws in its place", operator.name, allowed, remedy)
    if isinstance(replacement, BernoulliReplacement) and replacement.probabilities is F64:
        allowed = "a tensor of f32, f16 or bf16, with alignment 'pytorch'"
        remedy = "Put a Cast to f32 before it."
        checks.refuse(title, "the input", "a tensor of f64", allowed, remedy)
    return random


def as_torch(
    random: Replaceable,
    emitter: Emitter,
    op: Operator,
    inputs: Mapping[str, ir.Value],
    attributes: Mapping[str, Any],
) -> tuple[dict[str, ir.Value], dict[str, int | str]]:
    """The inputs of torch's draw, and the attribute that says whose it is.

    A Dropout's ratio, and the number p of `bernoulli_`, are doubles in torch: an f32 constant
    becomes the one that torch's exporter noted, else that of its shortest decimal.

    Raises:
        ValueError: torch's numbers cannot be drawn so.
    """
    try:
        complete = checks.check_attributes(op, {**attributes, **_AS_TORCH})
        alignment.check(op, complete, has_state=True)
    except RefusalError as error:
        raise error.within(random.site.title) from error
    given = dict(inputs)
    name = "ratio" if op is RANDOM_DROPOUT else "p" if torch_calls.has_number(random) else None
    number = None if name is None else constant(given[name])
    if name is not None and number is not None and number.dtype == np.float32 and number.size == 1:
        wide = torch_calls.double_of(random.site.node, number)
        narrow = given[name].producer()
        given[name] = emitter.constant(f"{name}_f64", wide)
        if narrow in emitter.nodes:
            emitter.nodes.remove(narrow)
    return given, _AS_TORCH
