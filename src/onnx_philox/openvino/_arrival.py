"""What the CPU plugin hands an operator: refused where it is not what the model declares."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov

from onnx_philox._contract import checks
from onnx_philox._contract import sentences as say
from onnx_philox._contract.openvino_plugin import MAX_ELEMENTS, Past
from onnx_philox._contract.operators import Input, Operator, Role
from onnx_philox._contract.types import F16, F32, F64, I64, U32, ElementType
from onnx_philox._openvino_models.upstream import Upstream
from onnx_philox.openvino import _exact_words, _narrowing

# The types that the plugin narrows: only captured constants arrive exactly.
_CONSTANT_ONLY = (I64, F64)
_SMALL_CONSTANT = say.SMALL_CONSTANT.format(MAX_ELEMENTS)

Arrived = ElementType | np.dtype[Any] | None
"""The type of an input as the plugin hands it over; None for one that is not known."""


def check_type(
    op: Operator,
    declared: Input,
    values: ElementType,
    arrived: Arrived,
) -> None:
    """Refuses an input that is no constant, of a type that the plugin narrows.

    A top_k beyond int32 is a stated limit, as a dimension is.
    """
    types = _narrowing.types_of(declared, values)
    type_ = types[0]
    if isinstance(arrived, ElementType) and arrived in types:
        type_ = arrived
    if type_ not in _CONSTANT_ONLY or declared.role is Role.ROW_NUMBERS:
        return
    constant = say.A_CONSTANT
    remedy = say.SCALE_IN_GRAPH
    if declared.types:
        constant = _SMALL_CONSTANT
        remedy = say.CAST_TO_F32
    checks.refuse(
        op,
        say.INPUT.format(declared.name),
        say.NOT_CONSTANT.format(type_.name),
        say.ROUNDED_INPUTS.format(constant),
        remedy.format(declared.name),
    )


def check_state(
    op: Operator,
    state: ov.Output,
    arrived: Arrived,
    upstream: Upstream,
    past: Past,
) -> None:
    """Refuses a state whose words the plugin would compute differently.

    Once the plugin has changed the nodes, they tell nothing of the model's.
    """
    is_unchanged = arrived is U32
    if Past.SIGNED_STATE in past:
        is_unchanged = Past.CLONED not in past
    if not is_unchanged or Past.ASKED in past:
        return
    altered = _exact_words.altered_part(state, upstream)
    if altered is not None:
        remedy = say.WHOLE_STATE.format(_SMALL_CONSTANT)
        checks.refuse(op, say.INPUT.format("state"), *altered, remedy)


def type_of_numbers(
    op: Operator,
    declared: Input,
    types: tuple[ElementType, ...],
    was: ElementType | None,
    arrived: Arrived,
    source: ov.Type,
) -> ElementType:
    """The type in which the model declares numbers that the plugin hands over in another.

    Args:
        op: The operator.
        declared: The input.
        types: The types that a model may declare for it.
        was: The one that it declares, where that is noted.
        arrived: The type in which they arrive.
        source: The type of the node's input.
    """
    type_ = was
    if type_ is None:
        fitting = [t for t in types if arrived in _narrowing.ARRIVES_AS[t]]
        type_ = fitting[0] if fitting else types[0]
    # Only for what the plugin computed in f16, where it declares f16.
    is_half = type_ is F32 and arrived is F16 and source == ov.Type.f16
    is_rounded = declared.role is Role.DATA and type_ is F64 and arrived is F32
    is_whole = arrived in _narrowing.ARRIVES_AS[type_]
    if not (is_half or is_rounded or is_whole):
        names = " or ".join(t.name for t in types)
        checks.refuse(
            op,
            say.INPUT.format(declared.name),
            say.HANDED_OVER.format(getattr(arrived, "name", arrived)),
            say.UNCHANGED.format(names),
            say.COMPILE_IN_F32,
        )
    return type_
