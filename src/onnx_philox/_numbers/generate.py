"""`generate`: draws random numbers straight into an array, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onnx_philox import _native
from onnx_philox._contract import alignment as alignments
from onnx_philox._contract import (
    checks,
    choices,
    float_environment,
    generators,
    given_arrays,
    operators,
)
from onnx_philox._contract.arguments import parameter_array
from onnx_philox._contract.declaration import OUTPUT_TYPE
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.inputs import ALIGNMENT, SEEDS, TENSORFLOW
from onnx_philox._contract.shown import listed
from onnx_philox._contract.state import GeneratorState, PhiloxState, is_state_shape, states_array
from onnx_philox._contract.types import BOOL, BY_DTYPE, U32, ElementType
from onnx_philox._numbers import call, fill_native, kept_draws
from onnx_philox._numbers.draw import Distribution, distribution_of
from onnx_philox._numbers.uniform import Bits, Uniform

_NAME = "generate"
_WORD = np.dtype(np.uint32)
_STATE = (operators.STATE_WORDS,)
_State = TypeVar("_State", bound=GeneratorState)


@overload
def generate(state: _State, *, out: NDArray[Any], **given: Any) -> _State: ...


@overload
def generate(
    state: NDArray[np.uint32],
    *,
    out: NDArray[Any],
    **given: Any,
) -> GeneratorState | NDArray[np.uint32]: ...


def generate(
    state: GeneratorState | NDArray[np.uint32],
    *,
    out: NDArray[Any],
    operator: str | None = None,
    minval: ArrayLike | None = None,
    maxval: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    p: ArrayLike | None = None,
    alignment: str = TENSORFLOW,
    **given: Any,
) -> GeneratorState | NDArray[np.uint32]:
    """Fills an array with what the operators would draw from a state; returns the next state.

    It uses one thread, and the native core if the package has it. Other threads can run meanwhile:
    to use them, cut an array into parts of whole blocks, `state.advance` to each, and fill the
    parts at the same time.

    Args:
        state: A state, or its six words. Or an array [B, 6], a state for each row of `out`, whose
            first dimension is B: row b becomes what state[b] alone draws for a shape of one row.
            B = 1 is one state for all of `out`.
        out: A C-contiguous, writable array of any shape. Its type says what is drawn: uint32 the
            bits of RandomGenerator; float16, `ml_dtypes.bfloat16`, float32, float64, int32 and
            int64 the values of RandomUniform; bool those of RandomBernoulli. With a mean or a
            scale, floats are those of RandomNormal.
        operator: The name of the operator that draws, where the type does not say it, such as
            "RandomGamma". It takes the inputs and attributes of its node by their names.
        minval: The lower bound, included; 0 for floats if left out. Integers need it.
        maxval: The upper bound, not included; 1 for floats if left out. Integers need it.
        mean: The mean of normals; 0 if only `scale` is given.
        scale: Their standard deviation; 1 if only `mean` is given.
        p: The probability of true, for bool: a number, or an array as RandomBernoulli takes it.
        alignment: Whose numbers. With "pytorch", and with a TorchState, those that torch draws with
            its CPU generator; the state is then that generator, a TorchState, its 632 words, or
            [B, 632], and uint32 is refused. See `TorchState`.
        given: What else the operator takes, such as `alpha`, `logits` or `sample_size`; and memory
            for its other output, such as `mask`.

    Returns:
        The next state; for an array of rank 2, the next states in an array of its shape.

    Raises:
        TypeError: An argument has a wrong type.
        ValueError: The memory cannot be filled, or a number is wrong.

    Examples:
        >>> values = np.empty(4, np.float32)
        >>> generate(PhiloxState(0, key=42), out=values)
        PhiloxState(counter=1, key=42)
        >>> values
        array([0.8354591 , 0.9162973 , 0.49464953, 0.5211133 ], dtype=float32)
        >>> generate(PhiloxState(0, key=42), out=values, mean=0, scale=1)
        PhiloxState(counter=1, key=42)
        >>> values
        array([-0.3010158 ,  0.5185915 , -0.15693986, -1.1760874 ], dtype=float32)
        >>> generate(PhiloxState(0, key=42), out=values, operator="RandomNormal")
        PhiloxState(counter=1, key=42)
        >>> generate(PhiloxState(0, key=42), out=values, operator="RandomGamma", alpha=2.5)
        PhiloxState(counter=128, key=42)
    """
    # The words of one state, as `states_array` takes them: its checks cost ten small draws.
    one = state
    if type(state) is np.ndarray and state.dtype == _WORD and state.shape == _STATE:
        one = PhiloxState.of_words(state)
    numbers: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()
    # What was left out is not looked at again: that takes a microsecond.
    are_left_out = (
        minval is None and maxval is None and mean is None and scale is None and p is None
    )
    if not are_left_out:
        numbers = (minval, maxval, mean, scale, p)
        names = _NAMES
    if given:
        numbers = (*numbers, *given.values())
        names = (*names, *given)
    is_operator_text = operator is None or type(operator) is str
    is_of_philox = type(alignment) is str and alignment == TENSORFLOW
    can_be_kept = is_operator_text and is_of_philox
    # A subclass of arrays may have masked values, which are refused below.
    if can_be_kept and isinstance(one, PhiloxState) and type(out) is np.ndarray:
        ready = None
        if not numbers or all(map(kept_draws.is_plain, numbers)):
            row: tuple[int, ...] = ()
            if operator in operators.DRAW_ROWS:
                row = out.shape
                if len(row) > 1:
                    row = _one_row(row)
            ready = _prepared(out.dtype, row, operator, names, *numbers)
        if ready is not None:
            try:
                return ready(one, out)
            except (TypeError, ValueError):
                pass  # what is wrong with the memory is said below
        elif _native.IS_THERE:
            return _as_before(one, out, operator, names, numbers)
    return _as_first(state, out, operator, alignment, names, numbers)


def _one_row(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a single row: a draw of rows depends on how long they are, not on how many."""
    others = (1,) * (len(shape) - 1)
    return (*others, shape[-1])


def _as_before(
    state: PhiloxState,
    out: NDArray[Any],
    operator: str | None,
    names: tuple[str, ...],
    numbers: tuple[Any, ...],
) -> GeneratorState | NDArray[np.uint32]:
    """Draws what depends on arrays, or on the shape of the memory."""
    given = (*numbers, out)
    alike = kept_draws.key_of(operator, names, given)
    if alike is None:
        return _as_first(state, out, operator, TENSORFLOW, names, numbers)
    known = kept_draws.KEPT.get(alike)
    if known is not None:
        key = state.key
        counter = known.run(state.counter, key, given)
        if counter is not None:
            return PhiloxState.of(counter, key)
        # The core refused, and nothing was drawn: what is wrong is said below.
    result = _as_first(state, out, operator, TENSORFLOW, names, numbers)
    if alike not in kept_draws.KEPT:
        kept_draws.keep(alike, _to_keep(out, operator, names, numbers))
    return result


def _to_keep(
    out: NDArray[Any],
    operator: str | None,
    names: tuple[str, ...],
    numbers: tuple[Any, ...],
) -> _native.Call | None:
    """What is kept of a draw that was carried out; None if the core does not read all of it."""
    arguments = _given(names, numbers)
    values = BY_DTYPE[out.dtype]
    with float_environment.kept():
        distribution, others = _asked(values, out.shape, operator, arguments)
    inputs = []
    places = []
    for place, (name, number) in enumerate(zip(names, numbers, strict=True)):
        if isinstance(number, np.ndarray) and name not in others:
            inputs.append(number)
            places.append(place)
    # `out` is given after all of them.
    outs: list[NDArray[Any] | None] = [out]
    places.append(len(numbers))
    for output in distribution.operator.values_outputs[1:]:
        outs.append(others.get(output.name))
        if output.name in others:
            places.append(names.index(output.name))
    try:
        return kept_draws.packed(values, distribution, inputs, outs, places)
    except ValueError:
        return None


def _asked(
    values: ElementType,
    shape: tuple[int, ...],
    operator: str | None,
    arguments: dict[str, Any],
) -> tuple[Distribution, dict[str, Any]]:
    """What is drawn from one state of Philox's, and the memory for other outputs than the first.

    Raises:
        TypeError: An argument has a wrong type.
        ValueError: A number is wrong.
    """
    if operator is None:
        return _distribution(values, shape, arguments), {}
    op = _operator(operator)
    inputs, attributes, others = _parted(op, generators.PHILOX, values, arguments)
    if op.has_shape:
        inputs["shape"] = shape
    inputs["state"] = np.zeros(operators.STATE_WORDS, np.uint32)
    arrays, attributes, *_ = call.checked(op, inputs, attributes)
    distribution = distribution_of(op, arrays, attributes)
    return distribution, others


def _as_first(
    state: GeneratorState | NDArray[np.uint32],
    out: NDArray[Any],
    operator: str | None,
    alignment: str,
    names: tuple[str, ...],
    numbers: tuple[Any, ...],
) -> GeneratorState | NDArray[np.uint32]:
    """Checks all that was given, and draws."""
    arguments = _given(names, numbers)
    alignments.check_word(_NAME, alignment)
    generator = generators.named(alignment)
    if not generator.is_named:
        for registered in generators.registered().values():
            if type(state) is registered.state:
                generator = registered
                break
    with float_environment.kept():
        return _generate(generator, state, out, operator, arguments)


def _given(names: Sequence[str], numbers: Sequence[Any]) -> dict[str, Any]:
    """The arguments that were not left out, by their names."""
    pairs = zip(names, numbers, strict=True)
    return {name: number for name, number in pairs if number is not None}


_NAMES = ("minval", "maxval", "mean", "scale", "p")
_LEFT_OUT = {
    "RandomUniform": {"minval": 0, "maxval": 1},
    "RandomNormal": {"mean": 0, "scale": 1},
}
"""What numbers of floats are where they are left out."""


@lru_cache(maxsize=256, typed=True)
def _prepared(
    dtype: Any,
    shape: tuple[int, ...],
    operator: str | None,
    names: tuple[str, ...],
    *numbers: Any,
) -> fill_native.Prepared | None:
    """What is drawn into an array of a type, ready to be drawn from any state.

    The shape is () but for operators that draw rows. None without the native core, for draws by
    arrays, and for what `generate` refuses.
    """
    values = BY_DTYPE.get(dtype)
    if values is None or not _native.IS_THERE:
        return None
    arguments = _given(names, numbers)
    op = operators.OPERATORS.get(operator or "")
    if op is not None and not op.has_shape:
        return None
    try:
        with float_environment.kept():
            distribution, _ = _asked(values, shape, operator, arguments)
            return fill_native.prepared(values, distribution)
    except (TypeError, ValueError):
        return None


def _generate(
    generator: Generator,
    state: GeneratorState | NDArray[np.uint32],
    out: NDArray[Any],
    operator: str | None,
    arguments: dict[str, Any],
) -> GeneratorState | NDArray[np.uint32]:
    before = given_arrays.array_of(_NAME, "state", state)
    remedy = generator.remedy_for(before.shape, f"Pass {generator.made}.")
    is_allowed = partial(is_state_shape, words=generator.words)
    before = states_array(
        _NAME,
        "state",
        before,
        is_allowed,
        generator.shape_rule,
        remedy,
    )
    generator.check_words(_NAME, before)
    values = _memory("out", out)
    if np.may_share_memory(before, out):
        # The next state is made of it once `out` has been filled.
        before = before.copy()
    if operator is not None:
        op = _operator(operator)
        after = _drawn_by(op, generator, before, values, out, arguments)
        if before.ndim == 2:
            return after
        return generator.state.from_array(after)
    checks.check_rows_of_states(_NAME, "state", before.shape, out.shape)
    if generator.is_named and values is U32:
        remedy = "RandomGenerator's bits are Philox's: leave alignment out, and pass a PhiloxState."
        allowed = "of floats, int32, int64 or bool"
        checks.refuse(_NAME, "out", "uint32", allowed, remedy, TypeError)
    distribution = _distribution(values, out.shape, arguments)
    fill = fill_native.fastest_fill
    fill_by = generator.fill_from() or call.fill_from
    flat = out.reshape(-1)
    after = fill_by(before, (0, 0), values, distribution, fill, flat)
    if before.ndim == 2:
        return after
    return generator.state.from_array(after)


def _operator(name: Any) -> operators.Operator:
    choices.check_choice(_NAME, "operator", name, operators.OPERATORS)
    return operators.OPERATORS[name]


def _parted(
    op: operators.Operator,
    generator: Generator,
    values: ElementType,
    arguments: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The inputs, the attributes, and the memory for other outputs than the first."""
    own = {OUTPUT_TYPE, ALIGNMENT.name, *(seed.name for seed in SEEDS)}
    roles = (operators.Role.SHAPE, operators.Role.STATE)
    inputs = [declared.name for declared in op.inputs if declared.role not in roles]
    attributes = [a.name for a in op.attributes if a.name not in own]
    outputs = [output.name for output in op.values_outputs[1:]]
    unknown = arguments.keys() - {*inputs, *attributes, *outputs}
    if unknown:
        what = f"the arguments for {op.name}"
        allowed = listed([*inputs, *attributes, *outputs])
        checks.refuse(_NAME, what, min(unknown), allowed, "Leave it out.", TypeError)
    if values not in op.output_types:
        types = [str(each.dtype) for each in op.output_types]
        allowed = f"an array of {' or '.join(types)}"
        checks.refuse(op.name, "out", values.dtype, allowed, "Pass such an array.", TypeError)
    if generator.is_named and ALIGNMENT not in op.attributes:
        remedy = "Pass a PhiloxState, and no alignment: there is no rule of torch's for it."
        its_own = repr(generator.alignment)
        checks.refuse(op.name, "alignment", its_own, repr(TENSORFLOW), remedy)
    said = generator.attributes
    if any(a.name == OUTPUT_TYPE for a in op.attributes):
        said = {OUTPUT_TYPE: values.name, **said}
    given = {name: arguments[name] for name in inputs if name in arguments}
    others = {name: arguments[name] for name in outputs if name in arguments}
    said |= {name: arguments[name] for name in attributes if name in arguments}
    if values.is_float:
        given = _LEFT_OUT.get(op.name, {}) | given
    return given, said, others


def _drawn_by(
    op: operators.Operator,
    generator: Generator,
    before: NDArray[np.uint32],
    values: ElementType,
    out: NDArray[Any],
    arguments: dict[str, Any],
) -> NDArray[np.uint32]:
    """What a node of an operator draws into memory; returns the next state, or states."""
    inputs, attributes, others = _parted(op, generator, values, arguments)
    for name, other in others.items():
        _memory(name, other)
    outs = {op.outputs[0].name: out, **others}
    for name, given in inputs.items():
        if any(np.may_share_memory(given, memory) for memory in outs.values()):
            inputs[name] = np.array(given)
    if op.has_shape:
        inputs["shape"] = out.shape
    inputs["state"] = before
    *_, after = call.run(op, fill_native.fastest_fill, inputs, attributes, outs=outs)
    return after


def _memory(name: str, out: NDArray[Any]) -> ElementType:
    """The type of an array that can be filled."""
    if isinstance(out, np.ndarray):
        given_arrays.check_output(_NAME, name, out)
    values = BY_DTYPE.get(getattr(out, "dtype", None))  # type: ignore[arg-type]
    if not isinstance(out, np.ndarray) or values is None:
        types = ", ".join(str(dtype) for dtype in BY_DTYPE)
        allowed = f"an array of one of {types}"
        given = getattr(out, "dtype", type(out).__name__)
        checks.refuse(_NAME, name, given, allowed, "Pass such an array.", TypeError)
    if not (out.flags.c_contiguous and out.flags.writeable):
        given = "read-only memory"
        if out.flags.writeable:
            given = "memory that is not contiguous"
        remedy = "Fill a copy, then assign it."
        checks.refuse(_NAME, name, given, "C-contiguous and writable memory", remedy)
    return values


def _distribution(
    values: ElementType,
    shape: tuple[int, ...],
    arguments: dict[str, Any],
) -> Distribution:
    """What to draw into an array of that type and shape, with the given arguments."""
    op = None
    choices = []
    for choice in _choices(values):
        parameters = [declared.name for declared in choice.parameters]
        choices.append(parameters)
        if op is None and arguments.keys() <= {*parameters}:
            op = choice
    if op is None:
        given = " and ".join(arguments)
        sets = [" and ".join(parameters) or "none" for parameters in choices]
        allowed = " or ".join(sets)
        what = f"the arguments for an array of {values.dtype}"
        remedy = "Leave it out, or pass operator, which says what else is taken."
        checks.refuse(_NAME, what, given, allowed, remedy)
    if values is U32:
        return Bits()
    if not arguments and values.is_float:
        return _UNIT[values]
    if not arguments and values is BOOL:
        checks.refuse(_NAME, "p", "nothing", "a probability, for bool", "Pass one.")
    is_integer = op is operators.RANDOM_UNIFORM and not values.is_float
    if is_integer and len(arguments) < 2:
        what = "the arguments for integers"
        passed = " and ".join(arguments) or "none"
        checks.refuse(_NAME, what, passed, "minval and maxval", "Pass both.")
    left_out = _LEFT_OUT.get(op.name, {})
    return _checked(op, values, shape, left_out | arguments)


def _choices(values: ElementType) -> list[operators.Operator]:
    """What draws into a type, chosen by the arguments; the first is the default."""
    if values is U32:
        return [operators.RANDOM_GENERATOR]
    if values is BOOL:
        return [operators.RANDOM_BERNOULLI]
    choices = [operators.RANDOM_UNIFORM]
    if values.is_float:
        choices.append(operators.RANDOM_NORMAL)
    return choices


def _checked(
    op: operators.Operator,
    values: ElementType,
    shape: tuple[int, ...],
    given: dict[str, Any],
) -> Distribution:
    """What an operator draws into an array of that type and shape, by its parameters."""
    arrays = {}
    for declared in op.parameters:
        number = given[declared.name]
        arrays[declared.name] = parameter_array(_NAME, declared, number, values)
    checks.check_parameters(_NAME, op, arrays, values, shape)
    return distribution_of(op, arrays, {})


_UNIT = {
    t: Uniform(np.zeros((), t.dtype), np.ones((), t.dtype)) for t in BY_DTYPE.values() if t.is_float
}
