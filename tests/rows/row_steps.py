"""The operators of chains, but for draws: each makes a value of a value, where it can."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.rows.row_builder import (
    ONE,
    ROWS,
    Builder,
    Choices,
    Dims,
    Form,
    Size,
    Value,
    batch_axes,
    factor_of,
    fixed_axes,
)

Step = Callable[[Builder, Value, Choices], Value | None]
LARGEST = 400
END = 2**63 - 1


def attempt(b: Builder, step: Step, v: Value, c: Choices, dims: Dims | None = None) -> Value | None:
    """What a step makes, with no trace of it where it makes nothing, or not these dimensions."""
    before = len(b.scope.nodes)
    was_bookless = b.has_bookless
    was_by_place = b.is_by_place
    made = step(b, v, c)
    if made is not None and factor_of(made.dims) <= LARGEST and dims in (None, made.dims):
        return made
    del b.scope.nodes[before:]
    b.has_bookless = was_bookless
    b.is_by_place = was_by_place
    return None


def of_one(b: Builder, v: Value, c: Choices) -> Value:
    kind = c.one_of(["Neg", "Abs", "Tanh", "Sigmoid", "Relu", "Softplus", "Erf", "Floor"])
    return b.kept(v, lambda: b.node(kind, v.name))


def with_constant(b: Builder, v: Value, c: Choices) -> Value | None:
    kind = c.one_of(["Add", "Mul", "Sub", "Max"])
    shape = [size.factor if size.is_fixed else 1 for size in v.dims]
    axes = fixed_axes(v.dims)
    if axes and c.below(2):
        shape[c.one_of(axes)] = 1
    constant = b.floats(*shape)
    turned = c.below(2)
    inputs = [constant, v.name] if turned else [v.name, constant]
    return b.kept(v, lambda: b.node(kind, *inputs))


def with_input(b: Builder, v: Value, c: Choices) -> Value | None:
    """A skip connection."""
    if v.dims != b.origin.dims or b.scope.kind == "Scan":
        return None
    return Value(b.node(c.one_of(["Add", "Sub"]), v.name, "x"), v.dims)


def _along(b: Builder, v: Value, numbers: str) -> str:
    """Numbers, one for each row, along the batch of a value."""
    (axis,) = _simple_batch(v)
    return b.node(
        "Reshape", numbers, b.ints(*[-1 if each == axis else 1 for each in range(v.rank)])
    )


def _has_rows(b: Builder, v: Value) -> bool:
    return len(_simple_batch(v)) == 1 and b.scope.kind != "Scan"


def with_lengths(b: Builder, v: Value, c: Choices) -> Value | None:
    """What another input holds for the row; or, of another meaning, the most that it holds."""
    if not _has_rows(b, v):
        return None
    numbers = b.node("Cast", "k", to=1)
    if c.below(3):
        # What noise meets there is its row's own.
        b.has_bookless = True
        lengths = _along(b, v, numbers)
        return b.kept(v, lambda: b.node("Add", v.name, lengths))
    most = b.node("ReduceMax", numbers, b.ints(0), keepdims=0)
    b.is_by_place |= b.is_on_noise
    return b.kept(v, lambda: b.node("Mul", v.name, most))


def with_places(b: Builder, v: Value, c: Choices) -> Value | None:
    """The number of the row, or how many there are."""
    if not _has_rows(b, v):
        return None
    (axis,) = _simple_batch(v)
    b.is_by_place |= b.is_on_noise
    if c.below(2):
        numbers = _along(b, v, b.node("Cast", _range(b, v, axis), to=1))
    else:
        numbers = b.node("Cast", b.node("Shape", v.name, start=axis, end=axis + 1), to=1)
    kind = c.one_of(["Add", "Mul"])
    return b.kept(v, lambda: b.node(kind, v.name, numbers))


def pick(b: Builder, v: Value, c: Choices) -> Value | None:
    """Of the second dimension the element that another input says: of the row, or of another."""
    if not _has_rows(b, v) or v.rank < 2 or v.dims[0] != ROWS or not v.dims[1].is_fixed:
        return None
    rows = _range(b, v, 0)
    if c.below(4) == 0:
        rows = b.node("Slice", rows, b.ints(-1), b.ints(-END), b.ints(0), b.ints(-1))
    column = b.node("Mod", "k", b.int(v.dims[1].factor))
    pair = [b.node("Unsqueeze", each, b.ints(1)) for each in (rows, column)]
    made = b.node("GatherND", v.name, b.node("Concat", *pair, axis=1))
    return Value(made, (v.dims[0], *v.dims[2:]))


def where(b: Builder, v: Value, _c: Choices) -> Value:
    shape = [size.factor if size.is_fixed else 1 for size in v.dims]
    mask = b.constant(np.arange(int(np.prod(shape))).reshape(shape) % 3 > 0)
    return b.kept(v, lambda: b.node("Where", mask, v.name, b.floats(1)))


def cast(b: Builder, v: Value, _c: Choices) -> Value:
    double = b.node("Cast", v.name, to=11)
    return Value(b.node("Cast", double, to=1), v.dims)


def _reduced(b: Builder, v: Value, axis: int, kind: str, keep: int) -> Value:
    if b.form is Form.TRACED:
        kind = "ReduceSum"
    made = b.node(kind, v.name, b.ints(axis), keepdims=keep)
    rest = (ONE,) if keep else ()
    return Value(made, (*v.dims[:axis], *rest, *v.dims[axis + 1 :]))


KINDS = ["ReduceSum", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceL1"]


def reduce(b: Builder, v: Value, c: Choices) -> Value | None:
    axes = fixed_axes(v.dims)
    if not axes or v.rank < 2:
        return None
    axis = c.one_of(axes)
    return _reduced(b, v, axis, c.one_of(KINDS), c.below(2))


def mean_of_rows(b: Builder, v: Value, c: Choices) -> Value | None:
    """Less what the rows are on average, which keeps them in place."""
    axes = batch_axes(v.dims)
    if not axes:
        return None
    axis = c.one_of(axes)
    return b.kept(v, lambda: b.node("Sub", v.name, b.node("ReduceMean", v.name, b.ints(axis))))


def spread_mean(b: Builder, v: Value, c: Choices) -> Value | None:
    """The sum of all rows, in the place of each."""
    axes = batch_axes(v.dims)
    if not axes:
        return None
    total = b.node("ReduceSum", v.name, b.ints(c.one_of(axes)), keepdims=1)
    return Value(b.node("Expand", total, b.node("Shape", v.name)), v.dims)


def arg_max(b: Builder, v: Value, c: Choices) -> Value | None:
    axes = fixed_axes(v.dims)
    if not axes or v.rank < 2:
        return None
    axis = c.one_of(axes)
    if b.form is Form.TRACED:
        return _reduced(b, v, axis, "ReduceSum", 0)
    found = b.node("ArgMax", v.name, axis=axis, keepdims=0)
    return Value(b.node("Cast", found, to=1), (*v.dims[:axis], *v.dims[axis + 1 :]))


def transpose(b: Builder, v: Value, c: Choices) -> Value:
    axes = list(range(v.rank))
    perm = [axes.pop(c.below(len(axes))) for _ in range(v.rank)]
    if perm == list(range(v.rank)):
        perm.reverse()
    return Value(b.node("Transpose", v.name, perm=perm), tuple(v.dims[axis] for axis in perm))


def _reshaped(b: Builder, v: Value, dims: tuple[Size, ...]) -> Value | None:
    batches = batch_axes(dims)
    if len(batches) > 1 or any(dims[axis].power > 1 for axis in batches):
        return None
    target = [size.factor if size.is_fixed else -1 for size in dims]
    return Value(b.node("Reshape", v.name, b.ints(*target)), dims)


def merge(b: Builder, v: Value, c: Choices) -> Value | None:
    """Two neighbours become one dimension."""
    if v.rank < 2:
        return None
    at = c.below(v.rank - 1)
    dims = (*v.dims[:at], v.dims[at] * v.dims[at + 1], *v.dims[at + 2 :])
    return _reshaped(b, v, dims)


def split(b: Builder, v: Value, c: Choices) -> Value | None:
    """A dimension becomes two, its batch in the first or in the second."""
    divisible = [
        (axis, factor)
        for axis, size in enumerate(v.dims)
        for factor in (2, 3, 4)
        if size.factor % factor == 0
    ]
    if not divisible or v.rank > 4:
        return None
    axis, factor = c.one_of(divisible)
    size = v.dims[axis]
    parts = [Size(size.factor // factor, size.power), Size(factor)]
    if c.below(2):
        parts.reverse()
    return _reshaped(b, v, (*v.dims[:axis], *parts, *v.dims[axis + 1 :]))


def regroup(b: Builder, v: Value, c: Choices) -> Value | None:
    """A Reshape to other dimensions, which need not have anything to do with these."""
    total = factor_of(v.dims)
    divisors = [factor for factor in (1, 2, 3, 4, 6, 8, 12) if total % factor == 0]
    first = c.one_of(divisors)
    rest = total // first
    dims = c.one_of(
        [
            (ROWS, Size(total)),
            (ROWS, Size(first), Size(rest)),
            (Size(first), ROWS, Size(rest)),
            (Size(first, 1), Size(rest)),
            (Size(first), Size(rest, 1)),
        ]
    )
    if sum(size.power for size in v.dims) != 1:
        return None
    return _reshaped(b, v, dims)


def like_shape(b: Builder, v: Value, _c: Choices) -> Value | None:
    """A Reshape by the shape of x."""
    if b.scope.kind == "Scan" or factor_of(v.dims) != factor_of(b.origin.dims):
        return None
    if sum(size.power for size in v.dims) != 1:
        return None
    return Value(b.node("Reshape", v.name, b.node("Shape", "x")), b.origin.dims)


def flatten(b: Builder, v: Value, c: Choices) -> Value:
    axis = c.below(v.rank + 1)
    sides = []
    for part in (v.dims[:axis], v.dims[axis:]):
        size = ONE
        for each in part:
            size = size * each
        sides.append(size)
    return Value(b.node("Flatten", v.name, axis=axis), tuple(sides))


def unsqueeze(b: Builder, v: Value, c: Choices) -> Value | None:
    if v.rank > 4:
        return None
    ones = [axis for axis, size in enumerate(v.dims) if size == ONE]
    if ones and v.rank > 2:
        axis = c.one_of(ones)
        made = b.node("Squeeze", v.name, b.ints(axis))
        return Value(made, (*v.dims[:axis], *v.dims[axis + 1 :]))
    axis = c.below(v.rank + 1)
    made = b.node("Unsqueeze", v.name, b.ints(axis))
    return Value(made, (*v.dims[:axis], ONE, *v.dims[axis:]))


def cut(b: Builder, v: Value, c: Choices) -> Value | None:
    """A Slice that leaves the first or the last of a fixed dimension out."""
    axes = [axis for axis in fixed_axes(v.dims) if v.dims[axis].factor > 1]
    if not axes:
        return None
    axis = c.one_of(axes)
    size = v.dims[axis].factor
    start, end = c.one_of([(1, END), (0, size - 1), (-1, END), (0, -1)])
    made = b.node("Slice", v.name, b.ints(start), b.ints(end), b.ints(axis))
    left = 1 if start == -1 else size - 1
    return Value(made, (*v.dims[:axis], Size(left), *v.dims[axis + 1 :]))


def whole_slice(b: Builder, v: Value, c: Choices) -> Value:
    axis = c.below(v.rank)
    return Value(b.node("Slice", v.name, b.ints(0), b.ints(END), b.ints(axis)), v.dims)


def flip(b: Builder, v: Value, c: Choices) -> Value:
    axis = c.below(v.rank)
    made = b.node("Slice", v.name, b.ints(-1), b.ints(-END), b.ints(axis), b.ints(-1))
    return Value(made, v.dims)


def roll(b: Builder, v: Value, c: Choices) -> Value:
    """The last of a dimension goes to its front."""
    axis = b.ints(c.below(v.rank))
    last = b.node("Slice", v.name, b.ints(-1), b.ints(END), axis)
    others = b.node("Slice", v.name, b.ints(0), b.ints(-1), axis)
    at = int(np.frombuffer(_value_of(b, axis), np.int64)[0])
    return Value(b.node("Concat", last, others, axis=at), v.dims)


def _value_of(b: Builder, name: str) -> bytes:
    (node,) = [node for node in b.scope.nodes if name in node.output]
    return bytes(node.attribute[0].t.raw_data)


def gather(b: Builder, v: Value, c: Choices) -> Value | None:
    """Along a fixed dimension, one or a few."""
    axes = fixed_axes(v.dims)
    if not axes or v.rank < 2:
        return None
    axis = c.one_of(axes)
    size = v.dims[axis].factor
    if c.below(2):
        made = b.node("Gather", v.name, b.int(c.below(size)), axis=axis)
        return Value(made, (*v.dims[:axis], *v.dims[axis + 1 :]))
    taken = [(size - 1 - i) % size for i in range(min(size, 3))]
    made = b.node("Gather", v.name, b.ints(*taken), axis=axis)
    return Value(made, (*v.dims[:axis], Size(len(taken)), *v.dims[axis + 1 :]))


def _simple_batch(v: Value) -> list[int]:
    return [axis for axis, size in enumerate(v.dims) if size == ROWS]


def _range(b: Builder, v: Value, axis: int) -> str:
    count = b.node("Squeeze", b.node("Shape", v.name, start=axis, end=axis + 1))
    return b.node("Range", b.int(0), count, b.int(1))


def gather_rows(b: Builder, v: Value, c: Choices) -> Value | None:
    """Along the batch: by its own numbers, from the end, or sorted by k."""
    axes = _simple_batch(v)
    if not axes:
        return None
    axis = c.one_of(axes)
    how = c.below(3)
    if how == 0 and b.scope.kind != "Scan":
        count = b.node("Shape", "k")
        order = b.nodes("TopK", "k", count, count=2)[1]
    elif how == 1:
        b.has_bookless = True
        order = _range(b, v, axis)
    else:
        numbers = _range(b, v, axis)
        order = b.node("Slice", numbers, b.ints(-1), b.ints(-END), b.ints(0), b.ints(-1))
    return Value(b.node("Gather", v.name, order, axis=axis), v.dims)


def sort(b: Builder, v: Value, c: Choices) -> Value | None:
    """GatherElements by what TopK says, along any dimension."""
    axis = c.below(v.rank)
    if v.dims[axis].power > 1:
        return None
    count = b.node("Shape", v.name, start=axis, end=axis + 1)
    values, order = b.nodes("TopK", v.name, count, count=2, axis=axis, largest=c.below(2))
    if c.below(2):
        return Value(values, v.dims)
    return Value(b.node("GatherElements", v.name, order, axis=axis), v.dims)


def top(b: Builder, v: Value, c: Choices) -> Value | None:
    axes = [axis for axis in fixed_axes(v.dims) if v.dims[axis].factor > 1]
    if not axes:
        return None
    axis = c.one_of(axes)
    values = b.nodes("TopK", v.name, b.ints(2), count=2, axis=axis)[0]
    return Value(values, (*v.dims[:axis], Size(2), *v.dims[axis + 1 :]))


def scatter(b: Builder, v: Value, c: Choices) -> Value | None:
    """Each of the first dimension goes to another place of it; or some of another are replaced."""
    if c.below(2):
        numbers = _range(b, v, 0)
        turned = b.node("Slice", numbers, b.ints(-1), b.ints(-END), b.ints(0), b.ints(-1))
        indices = b.node("Unsqueeze", c.one_of([turned, turned, numbers]), b.ints(1))
        if b.scope.kind != "Scan":
            b.has_bookless = True
        return Value(b.node("ScatterND", v.name, indices, v.name), v.dims)
    axes = fixed_axes(v.dims)
    if not axes:
        return None
    axis = c.one_of(axes)
    some = b.node("Slice", v.name, b.ints(0), b.ints(1), b.ints(axis))
    zeros = b.node("Mul", some, b.constant(np.zeros(1, np.float32)))
    indices = b.node("Cast", zeros, to=7)
    made = b.node("ScatterElements", v.name, indices, some, axis=axis)
    return Value(made, v.dims)


def concat(b: Builder, v: Value, c: Choices) -> Value | None:
    """With itself, along any dimension."""
    if factor_of(v.dims) * 2 > LARGEST:
        return None
    axis = c.below(v.rank)
    other = b.node("Neg", v.name)
    dims = (*v.dims[:axis], v.dims[axis] * Size(2), *v.dims[axis + 1 :])
    return Value(b.node("Concat", v.name, other, axis=axis), dims)


def halve(b: Builder, v: Value, c: Choices) -> Value | None:
    """Split in two, along any dimension, of which one is taken or both are added."""
    axes = [axis for axis, size in enumerate(v.dims) if size.factor % 2 == 0]
    if not axes:
        return None
    axis = c.one_of(axes)
    half = Size(v.dims[axis].factor // 2, v.dims[axis].power)
    first, second = b.nodes("Split", v.name, count=2, axis=axis, num_outputs=2)
    how = c.below(3)
    dims = (*v.dims[:axis], half, *v.dims[axis + 1 :])
    if how == 2:
        return Value(b.node("Add", first, second), dims)
    return Value([first, second][how], dims)


def tile(b: Builder, v: Value, c: Choices) -> Value | None:
    axis = c.below(v.rank)
    times = c.one_of([1, 2])
    if factor_of(v.dims) * times > LARGEST:
        return None
    repeats = [times if each == axis else 1 for each in range(v.rank)]
    dims = (*v.dims[:axis], v.dims[axis] * Size(times), *v.dims[axis + 1 :])
    return Value(b.node("Tile", v.name, b.ints(*repeats)), dims)


def pad(b: Builder, v: Value, c: Choices) -> Value | None:
    axes = fixed_axes(v.dims)
    if not axes:
        return None
    axis = c.one_of(axes)
    begins = [1 if each == axis else 0 for each in range(v.rank)]
    ends = [0] * v.rank
    made = b.node("Pad", v.name, b.ints(*begins, *ends), mode=c.one_of(["constant", "edge"]))
    size = Size(v.dims[axis].factor + 1)
    return Value(made, (*v.dims[:axis], size, *v.dims[axis + 1 :]))


def expand(b: Builder, v: Value, c: Choices) -> Value | None:
    if v.rank > 4 or factor_of(v.dims) * 3 > LARGEST:
        return None
    axis = c.below(v.rank + 1)
    wide = b.node("Unsqueeze", v.name, b.ints(axis))
    sizes = [1] * (v.rank + 1)
    sizes[axis] = 3
    made = b.node("Expand", wide, b.ints(*sizes))
    return Value(made, (*v.dims[:axis], Size(3), *v.dims[axis:]))


def reverse_sequence(b: Builder, v: Value, c: Choices) -> Value | None:
    if v.rank < 2:
        return None
    axis = c.below(2)
    time, batch = v.dims[1 - axis], v.dims[axis]
    count = b.node("Shape", v.name, start=axis, end=axis + 1)
    if batch == ROWS and time.is_fixed and b.scope.kind != "Scan":
        lengths = b.node("Add", b.node("Mod", "k", b.int(time.factor)), b.int(1))
    else:
        whole = b.node("Shape", v.name, start=1 - axis, end=2 - axis)
        lengths = b.node("Expand", whole, count)
    made = b.node("ReverseSequence", v.name, lengths, batch_axis=axis, time_axis=1 - axis)
    return Value(made, v.dims)
