"""The draws of chains, and how each meets a value that depends on the rows of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from onnx import numpy_helper

from tests.rows.row_builder import ONE as _ONE
from tests.rows.row_builder import Builder, Choices, Form, Size, Value, batch_axes
from tests.rows.row_steps import Step, attempt

_THREE = Size(3)
Draw = Callable[[Builder, Value, Choices, Sequence[tuple[Step, Choices]]], Value | None]


def _meet(b: Builder, v: Value, noise: str, c: Choices) -> Value:
    """An elementwise operator of a value and a draw, and both where they meet."""
    _show_meeting(b, v, noise)
    if b.form is Form.TRACED:
        return Value(b.node("Add", v.name, noise), v.dims)
    kind = c.one_of(["Add", "Mul", "Sub", "Max"])
    inputs = [v.name, noise]
    if c.below(2):
        inputs.reverse()
    return Value(b.node(kind, *inputs), v.dims)


def _show_meeting(b: Builder, value: Value, noise: str) -> None:
    if b.form is Form.TRACED:
        both = b.node("Add", value.name, noise)
        b.show(both, f"meeting{len(b.draws) - 1}", value.rank)


def _show_given(b: Builder, value: Value) -> None:
    """What a draw looks at, beside its state."""
    if b.form in (Form.SHOWN, Form.TWIN):
        b.show(value.name, f"given{len(b.draws) - 1}", value.rank)


def _drawn(b: Builder, shape_of: Value, c: Choices) -> str:
    """A draw in the shape of a value."""
    # OpenVINO reads no Bernoulli.
    how = c.below(5 if b.is_for_openvino else 6)
    name = shape_of.name
    rank = shape_of.rank
    if how == 0:
        return b.draw(rank, "RandomNormalLike", name, dtype=1)[0]
    if how == 1:
        return b.draw(rank, "RandomUniformLike", name, dtype=1)[0]
    shape = b.node("Shape", name)
    if how == 2:
        zeros = b.node("ConstantOfShape", shape)
        return b.draw(rank, "RandomNormalLike", zeros, dtype=1)[0]
    low = b.constant(np.array(0, np.float32))
    high = b.constant(np.array(1, np.float32))
    own = {"domain": "onnx_philox", "output_type": "f32"}
    if how == 3:
        return b.draw(rank, "RandomNormal", shape, low, high, **own)[0]
    if how == 4:
        return b.draw(rank, "RandomUniform", shape, low, high, **own)[0]
    half = b.constant(np.full(1, 0.5, np.float32))
    chance = b.node("Expand", half, shape)
    return b.draw(rank, "Bernoulli", chance)[0]


def noise(b: Builder, v: Value, c: Choices, steps: Sequence[tuple[Step, Choices]]) -> Value | None:
    """Like the value, or as computed of its shape; what is done to the draw keeps its shape."""
    drawn = Value(_drawn(b, v, c), v.dims)
    b.trace(drawn, "noise")
    for step, choices in steps:
        b.is_on_noise = True
        made = attempt(b, step, drawn, choices, v.dims)
        b.is_on_noise = False
        if made is not None:
            drawn = made
            b.trace(drawn, "noise")
    return _meet(b, v, drawn.name, c)


def noise_elsewhere(
    b: Builder, v: Value, c: Choices, _steps: Sequence[tuple[Step, Choices]]
) -> Value | None:
    """Drawn in one order of dimensions, and turned to that of the value."""
    axes = list(range(v.rank))
    perm = [axes.pop(c.below(len(axes))) for _ in range(v.rank)]
    back = [perm.index(axis) for axis in range(v.rank)]
    turned = Value(b.node("Transpose", v.name, perm=perm), tuple(v.dims[axis] for axis in perm))
    drawn = _drawn(b, turned, c)
    return _meet(b, v, b.node("Transpose", drawn, perm=back), c)


def noise_beside(
    b: Builder, v: Value, c: Choices, steps: Sequence[tuple[Step, Choices]]
) -> Value | None:
    """The same is done to the draw and to the value, and then they meet."""
    drawn = Value(_drawn(b, v, c), v.dims)
    b.trace(drawn, "noise")
    for step, choices in steps:
        b.is_on_noise = True
        with_draw = attempt(b, step, drawn, choices.copy())
        b.is_on_noise = False
        with_value = attempt(b, step, v, choices.copy())
        if with_draw is not None and with_value is not None:
            drawn = with_draw
            v = with_value
            b.trace(drawn, "noise")
            b.trace(v, "value")
    return _meet(b, v, drawn.name, c)


def noise_of_input(
    b: Builder, v: Value, c: Choices, _steps: Sequence[tuple[Step, Choices]]
) -> Value | None:
    """In the shape of x, which another value has."""
    if v.dims != b.origin.dims or b.scope.kind == "Scan":
        return None
    return _meet(b, v, _drawn(b, b.origin, c), c)


def broadcast_noise(
    b: Builder, v: Value, c: Choices, _steps: Sequence[tuple[Step, Choices]]
) -> Value | None:
    """One number for all of a dimension."""
    axis = c.below(v.rank)
    total = b.node("ReduceSum", v.name, b.ints(axis), keepdims=1)
    one = Value(total, (*v.dims[:axis], _ONE, *v.dims[axis + 1 :]))
    return _meet(b, v, _drawn(b, one, c), c)


def dropout(
    b: Builder, v: Value, c: Choices, _steps: Sequence[tuple[Step, Choices]]
) -> Value | None:
    own = c.below(3) == 0 or b.is_for_openvino
    half = b.constant(np.array(0.5, np.float32))
    if own:
        made = b.draw(v.rank, "RandomDropout", v.name, half, domain="onnx_philox", count=2, of=1)
    else:
        made = b.draw(v.rank, "Dropout", v.name, half, b.constant(np.array(True)), count=2, of=1)
    if b.form in (Form.TWIN, Form.TRACED):
        _show_meeting(b, v, made[1])
        if b.form is Form.TRACED:
            return Value(b.node("Add", v.name, made[1]), v.dims)
        twice = b.constant(np.array(2, np.float32))
        return Value(b.node("Mul", b.node("Mul", v.name, made[1]), twice), v.dims)
    if c.below(3) == 0 and not own:
        return Value(
            b.node(
                "Mul",
                v.name,
                b.node("Mul", b.node("Cast", made[1], to=1), b.constant(np.array(2, np.float32))),
            ),
            v.dims,
        )
    return Value(made[0], v.dims)


def coins(b: Builder, v: Value, c: Choices, _steps: Sequence[tuple[Step, Choices]]) -> Value | None:
    """Bernoulli of what the value says."""
    chance = b.node("Sigmoid", v.name)
    own = c.below(3) == 0 or b.is_for_openvino
    if own:
        drawn = b.draw(
            v.rank, "RandomBernoulli", b.node("Shape", v.name), chance, domain="onnx_philox"
        )[0]
    else:
        drawn = b.draw(v.rank, "Bernoulli", chance)[0]
    _show_meeting(b, v, drawn)
    _show_given(b, v)
    fell = b.node("Cast", drawn, to=1)
    return Value(b.node("Add", v.name, fell), v.dims)


def coins_by_place(
    b: Builder, v: Value, c: Choices, _steps: Sequence[tuple[Step, Choices]]
) -> Value | None:
    """Coins that fall as a row's place among the others says, or as how many there are."""
    axes = batch_axes(v.dims)
    if not axes:
        return None
    axis = c.one_of(axes)
    shape = b.node("Shape", v.name)
    one = numpy_helper.from_array(np.ones(1, np.float32))
    ones = b.node("ConstantOfShape", shape, value=one)
    if c.below(2):
        count = b.node("CumSum", ones, b.int(axis))
    else:
        total = b.node("ReduceSum", ones, b.ints(axis), keepdims=1)
        count = b.node("Expand", total, shape)
    chance = b.node("Mul", count, b.constant(np.array(1 / 64, np.float32)))
    drawn = b.draw(v.rank, "Bernoulli", chance, dtype=1)[0]
    b.is_by_place = True
    return _meet(b, v, drawn, c)


def noise_as_long_as_values_say(
    b: Builder, v: Value, c: Choices, _steps: Sequence[tuple[Step, Choices]]
) -> Value | None:
    """The first of as many numbers for each element as the greatest length of all rows says."""
    if b.scope.kind == "Scan":
        return None
    most = b.node("ReduceMax", "k", b.ints(0), keepdims=1)
    shape = b.node("Concat", b.node("Shape", v.name), most, axis=0)
    zeros = b.node("ConstantOfShape", shape)
    rank = v.rank + 1
    drawn = b.draw(rank, "RandomNormalLike", zeros, dtype=1)[0]
    return _meet(b, v, b.node("Gather", drawn, b.int(0), axis=v.rank), c)


def classes(
    b: Builder, v: Value, _c: Choices, _steps: Sequence[tuple[Step, Choices]]
) -> Value | None:
    """Multinomial of the logits that the value says."""
    if v.rank != 2 or v.dims[1].power:
        return None
    drawn = b.draw(2, "Multinomial", v.name, sample_size=3, dtype=6)[0]
    total = b.node("ReduceSum", v.name, b.ints(1), keepdims=1)
    whole = b.node("Cast", drawn, to=1)
    _show_meeting(b, Value(total, v.dims), whole)
    _show_given(b, v)
    return Value(b.node("Add", total, whole), (v.dims[0], _THREE))


def alone(b: Builder, v: Value, c: Choices, _steps: Sequence[tuple[Step, Choices]]) -> Value | None:
    """A draw that is an output by itself."""
    drawn = _drawn(b, v, c)
    if len(b.scopes) > 1:
        return _meet(b, v, drawn, c)
    b.answer(Value(drawn, v.dims))
    if b.form is Form.TRACED:
        b.show(drawn, f"output{len(b.draws) - 1}", v.rank)
    return v


DRAWS: dict[str, Draw] = {
    "noise": noise,
    "dropout": dropout,
    "noise of the input": noise_of_input,
    "noise and value alike": noise_beside,
    "noise elsewhere": noise_elsewhere,
    "broadcast noise": broadcast_noise,
    "coins": coins,
    "classes": classes,
    "coins by place": coins_by_place,
    "alone": alone,
    "noise as long as values say": noise_as_long_as_values_say,
}
