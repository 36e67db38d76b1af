"""The rules for the operators' inputs and attributes: this module words every refusal.

A backend knows more of a node at load than at build, and more at run than at load. It calls
`check_node` each time with what it knows by then, so that a refusal comes as early as possible.
`check_node` raises TypeError for a wrong type and ValueError for a wrong value; a runtime's backend
passes the text on as that runtime's own exception.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import (
    alignment,
    attribute_names,
    float_environment,
    memory,
    rows_of_numbers,
)
from onnx_philox._contract import sentences as say
from onnx_philox._contract.known_input import UNKNOWN, Known
from onnx_philox._contract.operators import (
    DOMAIN,
    INT64_MAX,
    MAX_RANK,
    OPSET_VERSION,
    OUTPUT_TYPE,
    RANK_RULE,
    SEEDS,
    STATE_ROWS_RULE,
    Attribute,
    Input,
    Operator,
    Role,
    type_names,
)
from onnx_philox._contract.refusal import refuse as refuse
from onnx_philox._contract.rows_of_numbers import is_one_element
from onnx_philox._contract.shown import dims, shape_of
from onnx_philox._contract.state import rows_of_states
from onnx_philox._contract.types import BY_DTYPE, BY_NAME, ElementType


@float_environment.kept()
def check_node(
    op: Operator, inputs: Mapping[str, Known | None], attributes: Mapping[str, Any]
) -> dict[str, Any]:
    """Checks all that is known of a node.

    Args:
        op: The operator.
        inputs: What is known of each input; None or absent if the node omits it.
        attributes: The attributes that the node has.

    Returns:
        All attributes, defaults filled in.

    Raises:
        TypeError: An input or attribute of a wrong type.
        ValueError: A wrong value or shape, or a missing or surplus input or attribute.
    """
    complete = check_attributes(op, attributes)
    for declared in op.inputs:
        known = inputs.get(declared.name)
        if known is not None:
            _check_input(op, declared, inputs, complete)
        elif not declared.optional:
            _refuse_missing(op, declared)
    has_state = inputs.get("state") is not None
    alignment.generator_of(complete).check_node(op, complete, has_state)
    _check_range(op, inputs.get("minval"), inputs.get("maxval"))
    state = inputs.get("state") or UNKNOWN
    output = output_dimensions(op, inputs, complete)
    check_rows_of_states(op, say.INPUT.format("state"), state.shape, output)
    return complete


def check_parameters(
    owner: str,
    op: Operator,
    given: Mapping[str, NDArray[Any]],
    values: ElementType,
    shape: tuple[int, ...],
) -> None:
    """Checks parameters as those of a node, for an output of that type and shape."""
    known = {name: Known.array(array) for name, array in given.items()}
    for declared in op.parameters:
        _check_parameter(owner, declared, known[declared.name], values, shape)
    _check_range(owner, known.get("minval"), known.get("maxval"))


def check_given(op: Operator, inputs: Mapping[str, Any]) -> None:
    """Refuses an input that is None or absent and not optional."""
    for declared in op.inputs:
        if inputs.get(declared.name) is None and not declared.optional:
            _refuse_missing(op, declared)


def check_counts(op: Operator, inputs: int, outputs: int) -> None:
    """Refuses more inputs or outputs than the operator has."""
    for what, given, names in (
        ("inputs", inputs, [i.name for i in op.inputs]),
        ("outputs", outputs, [o.name for o in op.outputs]),
    ):
        if given > len(names):
            allowed = say.AT_MOST.format(len(names), ", ".join(names))
            refuse(op, say.NUMBER_OF.format(what), given, allowed, say.REMOVE_THE_OTHERS)


def _check_type(
    op: Operator | str,
    what: str,
    known: Known,
    types: Sequence[ElementType],
    allowed: str | None = None,
) -> None:
    if known.type is not None and known.type not in types:
        allowed = allowed or type_names(types)
        remedy = say.CAST.format(types[0].name)
        refuse(op, what, known.type_name, allowed, remedy, TypeError)


def known_output_type(
    op: Operator, attributes: Mapping[str, Any], inputs: Mapping[str, Known | None]
) -> ElementType | None:
    """The element type of the first output, from complete attributes; None if it is not known."""
    if op.type_input is None:
        return op.outputs[0].type or BY_NAME[attributes[OUTPUT_TYPE]]
    known = inputs.get(op.type_input.name) or UNKNOWN
    given = known.type
    if isinstance(given, ElementType) and given in op.output_types:
        return given
    return None


def output_type(
    op: Operator, attributes: Mapping[str, Any], inputs: Mapping[str, Known | None]
) -> ElementType:
    """The element type of the first output; any that it may have, if it is not known."""
    return known_output_type(op, attributes, inputs) or op.output_types[0]


def check_attributes(op: Operator, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the attributes with defaults; refuses unknown, missing and wrong ones."""
    check_attribute_names(op, given)
    checked = {}
    for attribute in op.attributes:
        value = given.get(attribute.name, attribute.default)
        checked[attribute.name] = _check_attribute(op, attribute, value)
    return checked


def check_attribute_names(op: Operator, given: Iterable[str]) -> None:
    """Refuses unknown ones."""
    names = [a.name for a in op.attributes]
    for name in given:
        if name not in names:
            remedy = attribute_names.remedy(op, name)
            allowed = say.ONE_OF.format(op.attribute_names)
            refuse(op, say.ATTRIBUTES, repr(name), allowed, remedy)


def _check_attribute(op: Operator, attribute: Attribute, value: Any) -> Any:
    what = say.ATTRIBUTE.format(repr(attribute.name))
    if attribute.allowed:
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        if value not in attribute.allowed:
            given = say.NOTHING if value is None else repr(value)
            refuse(op, what, given, attribute.rule, say.SET_TO_ONE)
        return value
    return _check_integer(op, attribute, value)


_SEED_OF = {seed.name: seed for seed in SEEDS}


def check_seed(op: Operator | str, name: str, value: Any) -> int:
    """Checks a seed by the rules for a node's attributes."""
    return _check_integer(op, _SEED_OF[name], value)


def _check_integer(op: Operator | str, attribute: Attribute, value: Any) -> int:
    if type(value) is int and attribute.minimum <= value <= attribute.maximum:
        return value
    what = say.ATTRIBUTE.format(repr(attribute.name))
    if isinstance(value, tuple):  # a list of a model's
        value = list(value)
    is_seed = attribute in SEEDS
    try:
        is_flag = is_seed and isinstance(value, bool | np.bool_)
        number = None
        if not is_flag:
            number = int(operator.index(value))
    except TypeError:
        number = None
    if number is None:
        refuse(op, what, repr(value), attribute.rule, say.PASS_AN_INT, TypeError)
    if not attribute.minimum <= number <= attribute.maximum:
        kind = "seed" if is_seed else "number"
        refuse(op, what, number, attribute.rule, say.CHOOSE_ANOTHER.format(kind))
    return number


def _check_input(
    op: Operator, declared: Input, inputs: Mapping[str, Known | None], attributes: Mapping[str, Any]
) -> None:
    known = inputs[declared.name]
    what = say.INPUT.format(declared.name)
    assert known is not None
    values = output_type(op, attributes, inputs)
    match declared.role:
        case Role.STATE:
            alignment.check_state_type(op, what, known, attributes)
            _check_type(op, what, known, declared.types)
            alignment.check_state(op, what, known, attributes)
        case Role.SHAPE:
            _check_type(op, what, known, declared.types)
            _check_shape(op, what, known, values)
            alignment.check_shape(op, what, known, attributes)
        case _:
            if declared.role is Role.ROW_NUMBERS:
                output = output_dimensions(op, inputs, attributes)
            else:
                shape = inputs.get("shape") or UNKNOWN
                output = _dimensions(shape)
            _check_parameter(op, declared, known, values, output)
            if declared.role is Role.LOGITS and not attributes.get("replacement", 1):
                samples = attributes["sample_size"]
                least = alignment.generator_of(attributes).least_exponent
                rows_of_numbers.check_samples(op, known, samples, least)
    if declared is op.size_input and declared.role is not Role.SHAPE:
        dimensions = output_dimensions(op, inputs, attributes)
        if dimensions is not None and None not in dimensions:
            whole = cast("tuple[int, ...]", dimensions)
            check_dimensions(op, say.THE_OUTPUT, whole, values)


def _check_parameter(
    op: Operator | str,
    declared: Input,
    known: Known,
    values: ElementType,
    output: tuple[int | None, ...] | None,
) -> None:
    """Checks numbers that say what is drawn, by what is known of them and of the output's shape."""
    what = say.INPUT.format(declared.name)
    types = declared.types or (values,)
    rule = None
    if not declared.types:
        rule = values.name
        if isinstance(op, Operator):
            rule = say.AS_OUTPUT_TYPE.format(values.name)
    _check_type(op, what, known, types, rule)
    match declared.role:
        case Role.NUMBER:
            _check_one(op, what, declared, known)
            _check_numbers(op, what, declared, known)
        case Role.NUMBERS:
            _check_one_or_each(op, what, known, output)
            _check_numbers(op, what, declared, known)
        case Role.ROW_NUMBERS:
            rows_of_numbers.check_one_or_rows(op, what, known, output)
            _check_numbers(op, what, declared, known)
        case Role.LOGITS:
            rows_of_numbers.check_logits(op, what, known)
        case Role.DATA if known.shape is not None:
            check_rank(op, what, len(known.shape))


def check_rows_of_states(
    op: Operator | str,
    what: str,
    state: tuple[int | None, ...] | None,
    output: tuple[int | None, ...] | None,
) -> None:
    """Refuses more or fewer states than the output has rows, by what is known of both shapes."""
    if state is None or output is None:
        return
    states = rows_of_states(state)
    if states is None:
        return
    shown = "a scalar"
    if output:
        is_one = isinstance(op, Operator) and op.draws_rows and len(output) == 1
        rows = 1 if is_one else output[0]
        if rows in (None, states):
            return
        shown = "1 row" if rows == 1 else f"{rows} rows"
    given = say.STATES_FOR_ROWS.format(states, dims(state), shown, dims(output))
    refuse(op, what, given, STATE_ROWS_RULE, say.PASS_ROW_STATES)


def output_dimensions(
    op: Operator, inputs: Mapping[str, Known | None], attributes: Mapping[str, Any]
) -> tuple[int | None, ...] | None:
    """The first output's dimensions, as far as they are known, from complete attributes."""
    known = inputs.get(op.size_input.name) or UNKNOWN
    if op.has_shape:
        return _dimensions(known)
    if known.shape is None or op.size_input.role is Role.DATA:
        return known.shape
    return known.shape[0], attributes.get("sample_size", 1)


def _check_shape(op: Operator, what: str, known: Known, values: ElementType) -> None:
    if known.shape is not None and len(known.shape) != 1:
        refuse(op, what, shape_of(known.shape), say.ONE_D, say.RESHAPE_TO_1_D)
    length = known.shape[0] if known.shape else None
    if length is not None:
        check_rank(op, what, length)
        rows_of_numbers.check_rank(op, what, length)
    if known.value is not None:
        dimensions = known.value.tolist()
        check_dimensions(op, what, dimensions, values)
        rows_of_numbers.check_indices(op, what, dimensions, values)


def check_rank(op: Operator | str, what: str, rank: int, most: int = MAX_RANK) -> None:
    """Refuses more dimensions than an output may have."""
    if rank > most:
        allowed = RANK_RULE.format(most)
        refuse(op, what, say.DIMENSIONS.format(rank), allowed, say.MERGE_DIMENSIONS)


def check_dimensions(
    op: Operator | str, what: str, dimensions: Sequence[int], values: ElementType
) -> None:
    """Refuses dimensions that are negative or whose elements or bytes pass int64."""
    if any(d < 0 for d in dimensions):
        refuse(op, what, dims(dimensions), say.NOT_NEGATIVE, say.GIVE_THE_SIZE)
    # Runtimes multiply dimension by dimension: a later 0 does not undo an overflow.
    elements = math.prod(d for d in dimensions if d)
    if elements * values.dtype.itemsize > INT64_MAX:
        refuse(op, what, dims(dimensions), say.BYTES_OF.format(values.name), say.DRAW_IN_PARTS)


def check_memory(
    op: Operator | str, dimensions: Sequence[int], values: ElementType, *, is_copied: bool = False
) -> None:
    """Refuses an output that memory cannot hold; trying it might end the process.

    A runtime that copies the result of a Python operator holds the output twice.
    """
    size = math.prod(dimensions) * values.dtype.itemsize
    if is_copied:
        size *= 2
    reach = memory.short_of(size)
    if reach is not None:
        given = _output(dimensions, values)
        if is_copied:
            given += ", held 2 times"
        allowed = say.FREE_MEMORY.format(f"{reach:,}")
        refuse(op, output_size(op), given, allowed, say.DRAW_FROM_STATE_TO_STATE)


def refuse_out_of_memory(
    op: Operator | str, dimensions: Sequence[int] | None = None, values: ElementType | None = None
) -> NoReturn:
    """Refuses an output whose allocation failed; without arguments, any other failed allocation."""
    if dimensions is None or values is None:
        refuse(op, say.THE_DRAW, say.TOO_LARGE, say.MEMORY_NOW, say.DRAW_FROM_STATE_TO_STATE)
    given = _output(dimensions, values)
    refuse(op, output_size(op), given, say.MEMORY_NOW, say.DRAW_FROM_STATE_TO_STATE)


def _output(dimensions: Sequence[int], values: ElementType) -> str:
    size = math.prod(dimensions) * values.dtype.itemsize
    return say.OUTPUT_OF.format(dims(dimensions), f"{size:,}", values.name)


def output_size(op: Operator | str) -> str:
    """What messages blame for an output that is too large."""
    if isinstance(op, str):
        return say.INPUT.format("shape")
    return op.size_source


def _check_one(op: Operator | str, what: str, declared: Input, known: Known) -> None:
    """Refuses more than one number, and none where it may not be left out."""
    is_left_out = declared.optional and known.shape == (0,)
    if known.shape is None or is_left_out:
        return
    if not is_one_element(known.shape):
        refuse(op, what, shape_of(known.shape), say.ONE_NUMBER, say.PASS_ONE_NUMBER)


def _check_one_or_each(
    op: Operator | str, what: str, known: Known, output: tuple[int | None, ...] | None
) -> None:
    """Refuses an array that is neither one number nor one for each element of the output."""
    if known.shape is None:
        return
    check_rank(op, what, len(known.shape))
    if output is None or is_one_element(known.shape):
        return
    if _can_be_equal(known.shape, output):
        return
    allowed = say.ONE_NUMBER_OR_EACH.format(dims(output))
    refuse(op, what, shape_of(known.shape), allowed, say.PASS_ONE_OR_EXPAND)


def _check_numbers(op: Operator | str, what: str, declared: Input, known: Known) -> None:
    """Refuses the first number that is not within the declared limits."""
    if known.value is None:
        return
    assert declared.numbers is not None, "for its role"
    low, high = declared.numbers.limits(BY_DTYPE[known.value.dtype])
    # Not `x < low or x > high`: NaN is neither.
    is_right = (known.value >= low) & (known.value <= high)
    wrong = ~is_right
    if wrong.any():
        first = int(wrong.argmax())
        index = np.unravel_index(first, wrong.shape)
        given = repr(known.value[index].item())
        if wrong.size > 1:
            place = [int(i) for i in index]
            given += f" at {dims(place)}"
        refuse(op, what, given, declared.numbers.rule, declared.numbers.remedy)


def _dimensions(shape: Known) -> tuple[int | None, ...] | None:
    """The output's dimensions, as far as the input `shape` is known."""
    if shape.value is not None:
        return tuple(shape.value.tolist())
    length = shape.shape[0] if shape.shape else None
    if length is None:
        return None
    return (None,) * length


def _can_be_equal(
    shape: tuple[int | None, ...],
    other: tuple[int | None, ...],
) -> bool:
    if len(shape) != len(other):
        return False
    pairs = zip(shape, other, strict=True)
    return all(None in (a, b) or a == b for a, b in pairs)


def _check_range(
    op: Operator | str,
    minval: Known | None,
    maxval: Known | None,
) -> None:
    """Refuses bounds in the wrong order, or so far apart that their difference overflows."""
    if minval is None or minval.value is None:
        return
    if maxval is None or maxval.value is None:
        return
    low = minval.value.reshape(())
    high = maxval.value.reshape(())
    what = say.INPUT.format("minval")
    given = say.WITH_MAXVAL.format(low.item(), high.item())
    if BY_DTYPE[low.dtype].is_float:
        if low > high:
            refuse(op, what, given, say.NOT_ABOVE, say.SWAP)
        with np.errstate(over="ignore"):
            width = np.subtract(high, low, dtype=low.dtype)
        if not np.isfinite(width):
            name = BY_DTYPE[low.dtype].name
            refuse(op, what, given, say.WIDTH.format(name), say.BRING_CLOSER)
    elif low >= high:
        refuse(op, what, given, say.BELOW, say.RAISE_MAXVAL)


OPSET_OF_NO_NODES = 1000
"""What ONNX Runtime writes for every custom domain it knows, into each model that it saves.

A model that uses the domain says which version: this one only means that a library with the
domain was registered in the process that saved it.
"""


def check_opset(version: int, where: str) -> None:
    """Refuses a model that a newer version of the domain saved."""
    if OPSET_VERSION < version != OPSET_OF_NO_NODES:
        what = f"the model's opset of the domain {DOMAIN!r}"
        remedy = (
            "The model was saved by a newer onnx-philox: upgrade with "
            "'pip install --upgrade onnx-philox'."
        )
        versions = range(1, OPSET_VERSION + 1)
        refuse(where, what, version, " or ".join(map(str, versions)), remedy)


def _refuse_missing(op: Operator, declared: Input) -> NoReturn:
    what = say.INPUT.format(declared.name)
    remedy = say.CONNECT.format(op.input_names)
    refuse(op, what, say.NOTHING, say.CONNECTED, remedy)
