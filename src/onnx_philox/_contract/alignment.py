"""The rules for `alignment`: whose numbers a node draws, and so what its state is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import choices, refusal, torch_state
from onnx_philox._contract import sentences as say
from onnx_philox._contract.declaration import Operator
from onnx_philox._contract.inputs import (
    ALIGNMENT,
    LEAST_EXPONENT,
    LEAST_TORCH_EXPONENT,
    PYTORCH,
    STATE_SHAPE_RULE,
    STATE_WORDS,
    TORCH_STATE_SHAPE_RULE,
    TORCH_STATE_WORDS,
)
from onnx_philox._contract.known import Known
from onnx_philox._contract.shown import shape_of
from onnx_philox._contract.state import is_state_shape
from onnx_philox._contract.types import U32

LARGE_PERMUTATION = (2**32 - 1) // 20
"""From so many integers on, `torch.randperm` has another rule."""


def is_pytorch(attributes: Mapping[str, Any]) -> bool:
    """Whether a node of these complete attributes draws torch's numbers."""
    return attributes.get(ALIGNMENT.name) == PYTORCH


def state_words(attributes: Mapping[str, Any]) -> int:
    """How many words a state has, by complete attributes."""
    return TORCH_STATE_WORDS if is_pytorch(attributes) else STATE_WORDS


def state_left_out(attributes: Mapping[str, Any]) -> tuple[NDArray[np.uint32], dict[str, Any]]:
    """A state that means what a node without one draws, and the attributes beside it."""
    if not is_pytorch(attributes):
        return np.zeros(STATE_WORDS, np.uint32), dict(attributes)
    state = torch_state.TorchState.from_seed(int(attributes["global_seed"]))
    return state.to_array(), {**attributes, "global_seed": 0}


def least_exponent(attributes: Mapping[str, Any]) -> float:
    """The weight exp(x) of a class counts as above 0 from this x on."""
    return LEAST_TORCH_EXPONENT if is_pytorch(attributes) else LEAST_EXPONENT


def check_state(op: Operator, what: str, known: Known, attributes: Mapping[str, Any]) -> None:
    """Refuses a state of another shape, or of words that no generator of torch's holds."""
    words = state_words(attributes)
    if known.shape is not None and not is_state_shape(known.shape, words):
        is_torch_s = is_pytorch(attributes)
        last, remedy = known.shape[-1:], say.PASS_A_STATE
        if is_torch_s:
            is_philox_s = last == (STATE_WORDS,)
            remedy = say.NOT_A_PHILOX_STATE if is_philox_s else say.PASS_A_TORCH_STATE
        elif last == (TORCH_STATE_WORDS,) and ALIGNMENT in op.attributes:
            remedy = say.NOT_A_TORCH_STATE
        allowed = TORCH_STATE_SHAPE_RULE if is_torch_s else STATE_SHAPE_RULE
        refusal.refuse(op.name, what, shape_of(known.shape), allowed, remedy)
    if is_pytorch(attributes) and known.value is not None:
        torch_state.check_states(op.name, known.value)


def check_state_type(op: Operator, what: str, known: Known, attributes: Mapping[str, Any]) -> None:
    """Refuses the bytes of torch's own `get_state()`, which are no words of ours."""
    if not is_pytorch(attributes) or known.type is None:
        return
    if known.type is not U32 and np.dtype(getattr(known.type, "dtype", known.type)) == np.uint8:
        given, remedy = known.type_name, say.TAKE_TORCH_BYTES
        refusal.refuse(op.name, what, given, U32.name, remedy, TypeError)


def check_word(owner: str, given: Any) -> None:
    """Refuses what is no alignment."""
    choices.check(owner, "alignment", given, ALIGNMENT.allowed, say.SET_TO_ONE)


def check(op: Operator, attributes: Mapping[str, Any], *, has_state: bool) -> None:
    """Refuses what torch's numbers cannot be drawn by."""
    if not is_pytorch(attributes):
        return
    if attributes["op_seed"] != 0:
        allowed, remedy = say.NO_OP_SEED, say.SET_GLOBAL_SEED
        _refuse(op, "op_seed", attributes["op_seed"], allowed, remedy)
    if has_state and attributes["global_seed"] != 0:
        allowed, remedy = say.NO_SEED_BESIDE_A_STATE, say.REMOVE_ONE_OF_BOTH
        _refuse(op, "global_seed", attributes["global_seed"], allowed, remedy)
    if attributes.get("replacement", 0) and attributes["sample_size"] > 1:
        allowed, remedy = say.ONE_SAMPLE, say.DRAW_ONE_SAMPLE
        _refuse(op, "sample_size", attributes["sample_size"], allowed, remedy)
    if not has_state and attributes["global_seed"] == 0:
        what, allowed = say.INPUT.format("state"), say.CONNECTED_WITHOUT_SEED
        refusal.refuse(op.name, what, say.NOTHING, allowed, say.NAME_A_SEED)


def check_shape(op: Operator, what: str, known: Known, attributes: Mapping[str, Any]) -> None:
    """Refuses permutations of so many integers that torch draws them by another rule."""
    if not (op.distribution == "permutation" and is_pytorch(attributes)) or known.value is None:
        return
    count = int(known.value.reshape(-1)[-1]) if known.value.size else 0
    if count >= LARGE_PERMUTATION:
        allowed = say.FEWER_INTEGERS.format(LARGE_PERMUTATION)
        refusal.refuse(op.name, what, count, allowed, say.DRAW_AS_TENSORFLOW)


def refuse_pytorch(op: Operator, attributes: Mapping[str, Any]) -> None:
    """Refuses torch's numbers where nodes of ONNX's own domain are to draw."""
    if is_pytorch(attributes):
        allowed = "'tensorflow' for standard nodes, which draw no numbers of torch's"
        _refuse(op, ALIGNMENT.name, repr(PYTORCH), allowed, "Keep the node: our runtimes draw it.")


def _refuse(op: Operator, attribute: str, given: Any, allowed: str, remedy: str) -> None:
    refusal.refuse(op.name, say.ATTRIBUTE.format(repr(attribute)), given, allowed, remedy)
