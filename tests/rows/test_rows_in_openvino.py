"""make_reproducible(per_row=True): what operators of OpenVINO alone do to rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import openvino as ov
import pytest
from openvino import opset1, opset5, opset8, opset9, opset15
from openvino.utils.node_factory import NodeFactory

from onnx_philox import make_reproducible
from tests.common.openvino_models import model as model_of
from tests.common.openvino_models import parameter

Between = Callable[[ov.Output], ov.Node]


def ints(*numbers: int) -> ov.Node:
    return opset8.constant(np.array(numbers, np.int64))


def uniform(shape: ov.Output | ov.Node) -> ov.Node:
    """Noise of a shape."""
    low, high = (opset8.constant(np.float32(bound)) for bound in (0, 1))
    return opset8.random_uniform(shape, low, high, "f32")


def noisy(between: Between, shape: list[int]) -> ov.Model:
    """What an operator makes of x, and noise of its shape."""
    x = parameter("x", shape)
    value = between(x.output(0))
    return model_of({"y": opset8.add(value, uniform(opset8.shape_of(value)))}, [x])


def rows_of_two(x: ov.Output) -> ov.Node:
    """[2 * batch, 4] of [batch, 8]."""
    return opset8.reshape(x, ints(-1, 4), False)


def indices_like(x: ov.Output) -> ov.Node:
    """[..., 1] of all but the last dimension of x."""
    first_two = opset8.gather(opset8.shape_of(x), ints(0, 1), opset8.constant(0))
    shape = opset8.concat([first_two, ints(1)], 0)
    return opset8.broadcast(opset8.constant(np.zeros((1, 1, 1), np.int64)), shape)


def transformed(kind: str) -> Between:
    """A Fourier transform along the last of the dimensions, of which two parts are none."""
    make = getattr(opset9, kind)
    return lambda x: make(x, ints(-1))


def sizes(x: ov.Output, *axes: int) -> ov.Node:
    """The sizes of some dimensions of x."""
    return opset8.gather(opset8.shape_of(x), ints(*axes), opset8.constant(0))


def summed_like(x: ov.Output, value: ov.Node, axis: int) -> ov.Node:
    """x, and the transposed of what is left of a value of two dimensions, or more of 1."""
    summed = opset8.reduce_sum(value, ints(axis), True)
    return opset8.add(x, opset8.reshape(summed, ints(-1, 1), False))


def placed(kind: str, data: ov.Output, lesser: ov.Node, axis: int) -> ov.Node:
    """An operator of two inputs that are broadcast as PaddlePaddle does."""
    said = {"auto_broadcast": "pdpd", "auto_broadcast.auto_broadcast_axis": axis}
    return NodeFactory("opset1").create(kind, [data, lesser.output(0)], said)


def placed_on_square(kind: str, x: ov.Output) -> ov.Node:
    """A draw for each row, beside the first dimension of [batch, batch]; its sums."""
    zeros = opset8.broadcast(opset8.constant(np.float32(0)), sizes(x, 0, 0))
    return summed_like(x, placed(kind, zeros.output(0), uniform(sizes(x, 0)), 0), 0)


def slopes_of_the_second(x: ov.Output) -> ov.Node:
    """A slope for each row, of the second dimension of [1, batch, batch]; its sums."""
    negative = opset8.broadcast(opset8.constant(np.float32(-1)), sizes(x, 0, 0))
    data = opset8.unsqueeze(negative, ints(0))
    sloped = opset8.prelu(data, uniform(sizes(x, 0)))
    return summed_like(x, sloped, 1)


def single(x: ov.Output) -> ov.Node:
    """The number of rows, without a dimension."""
    return opset8.gather(opset8.shape_of(x), opset8.constant(0), opset8.constant(0))


def as_long_as(x: ov.Output, number: ov.Output | ov.Node) -> ov.Node:
    """x [batch, 2, 4], where what is drawn has [batch, 2, number]."""
    noise = uniform(opset8.concat([sizes(x, 0, 1), number], 0))
    return opset8.add(x, opset8.reduce_sum(noise, ints(2), True))


def bound_without_a_rank(x: ov.Output) -> ov.Node:
    """Noise like x, above a number of as many dimensions of one element as there are rows."""
    shape = opset8.broadcast(ints(1), sizes(x, 0))
    low = opset8.reshape(opset8.constant(np.float32(0)), shape, False)
    return opset8.random_uniform(opset8.shape_of(x), low, opset8.constant(np.float32(1)), "f32")


def greatest(x: ov.Output) -> ov.Node:
    """The greatest of all elements, int64 of [1]."""
    found = opset8.convert(opset8.reduce_max(x, ints(0, 1, 2), False), "i64")
    return opset8.unsqueeze(found, ints(0))


def branched(condition: ov.Node, x: ov.Output, *branches: Between) -> ov.Output:
    """What one of two branches makes of x [batch, 2, 4]."""
    node = opset8.if_op(condition.output(0))
    inner, ends = [], []
    for branch in branches:
        given = opset8.parameter([-1, 2, 4], np.float32)
        inner.append(given)
        ends.append(opset8.result(branch(given.output(0))))
    node.set_then_body(ov.Model([ends[0]], [inner[0]], "then"))
    node.set_else_body(ov.Model([ends[1]], [inner[1]], "else"))
    node.set_input(x, *inner)
    return node.set_output(*ends)


def of_many(x: ov.Output) -> ov.Node:
    """Whether there are many rows."""
    return opset8.greater(single(x), opset8.constant(2))


def twice(x: ov.Output) -> ov.Node:
    """x and x, along the last dimension."""
    return opset8.concat([x, x], 2)


def grown(x: ov.Output, count: ov.Node) -> ov.Output:
    """x [batch, 2, 4], to which a Loop adds as many again along the last dimension."""
    past = opset8.parameter([-1, 2, -1], np.float32)
    own = opset8.parameter([-1, 2, 4], np.float32)
    end = opset8.result(opset8.concat([past, own], 2))
    goes_on = opset8.result(opset8.constant(np.array(True)))
    node = opset8.loop(count, opset8.constant(np.array(True)))
    node.set_function(ov.Model([end, goes_on], [past, own], "body"))
    node.set_special_body_ports([-1, 1])
    node.set_merged_input(past, x, end.output(0))
    node.set_invariant_input(own, x)
    return node.get_iter_value(end.output(0), -1)


def stacked_slices(x: ov.Output) -> ov.Node:
    """x [batch, 2, 4], longer by what a TensorIterator gives for each of as many zeros as rows."""
    zeros = opset8.broadcast(opset8.constant(np.float32(0)), sizes(x, 0))
    own = opset8.parameter([1], np.float32)
    end = opset8.result(opset8.relu(own))
    node = opset8.tensor_iterator()
    node.set_body(ov.Model([end], [own], "body"))
    node.set_sliced_input(own, zeros.output(0), 0, 1, 1, -1, 0)
    made = node.get_concatenated_slices(end.output(0), 0, 1, 1, -1, 0)
    one = opset8.reduce_sum(x, ints(2), True)
    return opset8.add(one, made)


def of_unknown_rank(x: ov.Output) -> ov.Node:
    """The mean of x, in a shape of as many dimensions as x has numbers that are not 0."""
    shape = opset8.gather(opset8.non_zero(x), opset8.constant(0), opset8.constant(0))
    return opset8.reshape(opset8.reduce_mean(x, ints(0, 1), True), shape, False)


# -- What moves rows -------------------------------------------------------------------------------

NO_DIMENSION = "the shape of what it draws must be one that is proved to have"
RESIZES = "makes a dimension that may be as long as the number of rows says"
MOVED: dict[str, tuple[Between, list[int], str]] = {
    "shuffled along the batch": (
        lambda x: opset8.shuffle_channels(rows_of_two(x), 0, 2),
        [-1, 8],
        "(ShuffleChannels) moves the rows of",
    ),
    "shuffled along the batch, counted from the end": (
        lambda x: opset8.shuffle_channels(rows_of_two(x), -2, 2),
        [-1, 8],
        "(ShuffleChannels) moves the rows of",
    ),
    "shuffled where the batch is second": (
        lambda x: opset8.shuffle_channels(x, 1, 1),
        [4, -1, 2, 2],
        NO_DIMENSION,
    ),
    "rolled": (
        lambda x: opset8.roll(x, ints(1), ints(0)),
        [-1, 8],
        "(Roll) moves the rows of",
    ),
    "rolled, counted from the end": (
        lambda x: opset8.roll(x, ints(1), ints(-2)),
        [-1, 8],
        "(Roll) moves the rows of",
    ),
    "blocks of the batch": (
        lambda x: opset8.batch_to_space(x, ints(1, 1, 2, 1), ints(0, 0, 0, 0), ints(0, 0, 0, 0)),
        [-1, 3, 4, 4],
        "(BatchToSpace) is an operator of which nobody knows what it does to rows",
    ),
    "blocks to the batch": (
        lambda x: opset8.space_to_batch(x, ints(1, 1, 2, 1), ints(0, 0, 0, 0), ints(0, 0, 0, 0)),
        [-1, 3, 4, 4],
        "(SpaceToBatch) is an operator of which nobody knows what it does to rows",
    ),
    "depth to space, the batch second": (
        lambda x: opset8.depth_to_space(x, "blocks_first", 2),
        [3, -1, 4, 4],
        NO_DIMENSION,
    ),
    "space to depth, the batch last": (
        lambda x: opset8.space_to_depth(x, "blocks_first", 2),
        [3, 4, 4, -1],
        NO_DIMENSION,
    ),
    "reversed by lengths": (
        lambda x: opset8.reverse_sequence(x, ints(2, 3, 1, 1), 1, 0),
        [-1, 4],
        "(ReverseSequence) turns the rows of",
    ),
    "picked, of two dimensions that become one": (
        lambda x: opset5.gather_nd(x, indices_like(x), 2),
        [4, -1, 6],
        NO_DIMENSION,
    ),
    "picked, of two dimensions of which the batch is the first": (
        lambda x: opset5.gather_nd(x, indices_like(x), 2),
        [-1, 4, 6],
        "(GatherND) makes one dimension of several",
    ),
    **{
        f"{kind} along the batch, counted from the end": (transformed(kind), shape, deed)
        for kind, shape, deed in [
            ("dft", [4, -1, 2], "(DFT) puts the rows of its input into another order"),
            ("idft", [4, -1, 2], "(IDFT) puts the rows of its input into another order"),
            ("irdft", [4, -1, 2], NO_DIMENSION),
            ("rdft", [4, -1], NO_DIMENSION),
        ]
    },
    **{
        f"{kind} along the first dimension, and summed along it": (
            partial(placed_on_square, kind),
            [-1, 4],
            f"({kind}) broadcasts rows in a way of which runtimes have several",
        )
        for kind in ("Add", "Subtract")
    },
    "slopes of the second dimension, summed along it": (
        slopes_of_the_second,
        [-1, 4],
        "(ReduceSum) mixes what was drawn for different rows",
    ),
    "slopes of a dimension that only a run knows": (
        lambda x: opset8.add(x, opset8.prelu(x, uniform(sizes(x, 0)))),
        [-1, 3, 4],
        "(PRelu) has slopes of which only a run knows to which dimension they belong",
    ),
    "as long as a branch says that depends on the number of rows": (
        lambda x: branched(of_many(x), x, twice, opset8.relu),
        [-1, 2, 4],
        f"(If) {RESIZES}",
    ),
    "as long as the number of a branch that depends on that of the rows": (
        lambda x: as_long_as(x, branched(of_many(x), x, lambda _: ints(3), lambda _: ints(5))),
        [-1, 2, 4],
        f"(If) {RESIZES}",
    ),
    "as long as a Loop makes it, an iteration for each row": (
        lambda x: grown(x, single(x)),
        [-1, 2, 4],
        f"(Loop) {RESIZES}",
    ),
    "as long as a TensorIterator has iterations": (
        stacked_slices,
        [-1, 2, 4],
        f"(TensorIterator) {RESIZES}",
    ),
    "as long as the greatest element of all rows says": (
        lambda x: as_long_as(x, greatest(x)),
        [-1, 2, 4],
        "(RandomUniform) draws in a shape that depends on what the inputs' rows hold",
    ),
    "above a bound without a rank": (
        bound_without_a_rank,
        [-1, 4],
        ", whose shape nobody knows",
    ),
    "blocks without a batch": (
        lambda x: opset15.col2im(x, ints(3, 3), ints(2, 2)),
        [-1, 4],
        "(Col2Im) has an input without a dimension for the batch",
    ),
    "frames of a signal without a batch": (
        lambda x: opset15.stft(
            x,
            opset8.constant(np.ones(4, np.float32)),
            opset8.constant(4),
            opset8.constant(2),
            False,
        ),
        [-1],
        "(STFT) has an input without a dimension for the batch",
    ),
    "a bound of an unknown rank": (
        lambda x: opset8.random_uniform(
            opset8.shape_of(x), of_unknown_rank(x), opset8.constant(np.float32(9)), "f32"
        ),
        [-1, 4],
        ", whose shape nobody knows",
    ),
}


@pytest.mark.parametrize("name", MOVED)
def test_what_moves_rows_is_refused(name: str) -> None:
    between, shape, said = MOVED[name]
    with pytest.raises(ValueError, match=r"what (it|each) draws must be") as error:
        make_reproducible(noisy(between, shape), per_row=True, batch=f"x:{shape.index(-1)}")
    assert said in str(error.value)


# -- What leaves them in place ---------------------------------------------------------------------


def column_shape(x: ov.Output) -> ov.Node:
    """[batch, 1], of which OpenVINO knows symbols, but no bounds."""
    return opset8.concat([sizes(x, 0), ints(1)], 0)


def ones_of_an_if(x: ov.Output) -> ov.Node:
    """x [batch, 4] and as many ones, which a branch makes of their shape."""
    node = opset8.if_op(opset8.constant(np.array(True)).output(0))
    given, ends = [], []
    for number in (1, 2):
        shape = opset8.parameter([2], np.int64)
        given.append(shape)
        ends.append(opset8.result(opset8.broadcast(opset8.constant(np.float32(number)), shape)))
    node.set_then_body(ov.Model([ends[0]], [given[0]], "then"))
    node.set_else_body(ov.Model([ends[1]], [given[1]], "else"))
    node.set_input(column_shape(x).output(0), *given)
    return opset8.add(x, node.set_output(*ends))


def ones_of_a_loop(x: ov.Output) -> ov.Node:
    """x [batch, 4] and as many ones, which a Loop makes of their shape."""
    shape = opset8.parameter([2], np.int64)
    end = opset8.result(opset8.broadcast(opset8.constant(np.float32(1)), shape))
    goes_on = opset8.result(opset8.constant(np.array(True)))
    node = opset8.loop(opset8.constant(1), opset8.constant(np.array(True)))
    node.set_function(ov.Model([end, goes_on], [shape], "body"))
    node.set_special_body_ports([-1, 1])
    node.set_invariant_input(shape, column_shape(x).output(0))
    return opset8.add(x, node.get_iter_value(end.output(0), -1))


def columns_below_each_other(x: ov.Output) -> ov.Node:
    """[2 * batch, 1]: a number as often as there are rows, and then another one."""
    numbers = opset8.constant(np.array([[1], [100]], np.float32))
    number, shape = opset8.parameter([1, 1], np.float32), opset8.parameter([2], np.int64)
    end = opset8.result(opset8.broadcast(number, shape))
    node = opset8.tensor_iterator()
    node.set_body(ov.Model([end], [number, shape], "body"))
    node.set_sliced_input(number, numbers.output(0), 0, 1, 1, -1, 0)
    node.set_invariant_input(shape, column_shape(x).output(0))
    return node.get_concatenated_slices(end.output(0), 0, 1, 1, -1, 0)


IN_PLACE: dict[str, tuple[Between, list[int]]] = {
    "shuffled along another dimension": (
        lambda x: opset8.shuffle_channels(x, 1, 2),
        [-1, 4, 2, 2],
    ),
    "with ones of a shape that a branch is given": (ones_of_an_if, [-1, 4]),
    "with ones of a shape that a Loop is given": (ones_of_a_loop, [-1, 4]),
    "shuffled, the batch second": (lambda x: opset8.shuffle_channels(x, 0, 2), [4, -1, 2, 2]),
    "rolled along another dimension": (lambda x: opset8.roll(x, ints(1), ints(-1)), [-1, 8]),
    "depth to space": (lambda x: opset8.depth_to_space(x, "blocks_first", 2), [-1, 4, 4, 4]),
    "of one shape in branches that depend on the number of rows": (
        lambda x: branched(of_many(x), x, opset8.exp, opset8.relu),
        [-1, 2, 4],
    ),
    "longer by a Loop of three iterations": (
        lambda x: grown(x, opset8.constant(3)),
        [-1, 2, 4],
    ),
    "as long as a branch says, whatever the batch": (
        lambda x: branched(opset8.greater(sizes(x, 2), ints(2)), x, twice, opset8.relu),
        [-1, 2, 4],
    ),
    "added along the last dimension": (
        lambda x: placed("Add", x, uniform(sizes(x, 1)), 1),
        [4, -1],
    ),
    "broadcast to a new first dimension": (
        lambda x: opset1.broadcast(x, opset8.concat([ints(3), sizes(x, 0)], 0), ints(0), "NUMPY"),
        [-1],
    ),
    "a bias of the first dimension": (
        lambda x: placed("Add", x, opset8.constant(np.ones(4, np.float32)), 0),
        [4, -1],
    ),
    "slopes of the second dimension": (
        lambda x: opset8.prelu(x, uniform(sizes(x, 1))),
        [4, -1, 3],
    ),
    "the same slopes for all rows": (
        lambda x: opset8.prelu(x, opset8.constant(np.ones(3, np.float32))),
        [-1, 3, 3],
    ),
    "transformed along another dimension": (lambda x: opset9.dft(x, ints(-2)), [4, -1, 2]),
    "transformed along another dimension of numbers without two parts": (
        lambda x: opset9.rdft(x, ints(-1)),
        [-1, 4],
    ),
    "reversed along time": (
        lambda x: opset8.reverse_sequence(x, ints(2, 3, 1, 1), 0, 1),
        [4, 6, -1],
    ),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_what_leaves_rows_in_place_is_accepted(name: str) -> None:
    between, shape = IN_PLACE[name]
    axis = shape.index(-1)
    make_reproducible(noisy(between, shape), per_row=True, batch=f"x:{axis}")


# -- What an earlier run has left -----------------------------------------------------------------


def remembering(stored: Between) -> ov.Model:
    """Noise for x and for what the run before has stored of its own x; 0 at first."""
    x = parameter("x", [-1, 4])
    shape = opset8.shape_of(x)
    zeros = opset8.broadcast(opset8.constant(np.float32(0)), shape)
    past = opset8.read_value(zeros, "past", ov.Type.f32, ov.PartialShape([-1, 4]))
    assigned = opset8.assign(stored(x.output(0)), "past")
    result = opset8.result(opset8.add(opset8.add(past, uniform(shape)), x))
    return ov.Model([result], [assigned], [x], "model")


def as_long_as_stored(first: ov.Node, shape: list[int], stored: Between, read: Between) -> ov.Model:
    """Noise of [batch, 2, n], where n is read of what the run before has stored."""
    x = parameter("x", [-1, 2, 4])
    past = opset8.read_value(first, "past", first.get_element_type(), ov.PartialShape(shape))
    made = stored(x.output(0))
    assigned = opset8.assign(made, "past")
    result = opset8.result(as_long_as(x.output(0), read(past.output(0))))
    return ov.Model([result], [assigned], [x], "model")


def cached() -> ov.Model:
    """Noise like the scores of one position with all that earlier runs have stored."""
    x = parameter("x", [-1, 1, 4])
    empty = opset8.broadcast(
        opset8.constant(np.float32(0)), opset8.multiply(opset8.shape_of(x), ints(1, 0, 1))
    )
    past = opset8.read_value(empty, "past", ov.Type.f32, ov.PartialShape([-1, -1, 4]))
    keys = opset8.concat([past, x], 1)
    scores = opset8.matmul(x, keys, False, True)
    noise = uniform(opset8.shape_of(scores))
    result = opset8.result(opset8.add(scores, noise))
    return ov.Model([result], [opset8.assign(keys, "past")], [x], "model")


IN_ORDER: dict[str, Callable[[], ov.Model]] = {
    "rows in place": lambda: remembering(opset8.relu),
    "a cache of all positions": cached,
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_rows_that_an_earlier_run_has_left_in_place_are_accepted(name: str) -> None:
    make_reproducible(IN_ORDER[name](), per_row=True, batch="x:0")


STORED: dict[str, tuple[Callable[[], ov.Model], str]] = {
    "rows out of order": (
        lambda: remembering(lambda x: opset8.roll(x, ints(1), ints(0))),
        r"\(Roll\) moves the rows of",
    ),
    "the number of rows, as a length": (
        lambda: as_long_as_stored(
            opset8.constant(np.zeros(1, np.float32)),
            [-1],
            lambda x: opset8.broadcast(opset8.constant(np.float32(0)), sizes(x, 0)),
            opset8.shape_of,
        ),
        r"\(Assign\) stores the number of rows, by which a later run may draw",
    ),
    "the number of rows": (
        lambda: as_long_as_stored(ints(1), [1], lambda x: sizes(x, 0), opset8.relu),
        r"\(Assign\) stores the number of rows, by which a later run may draw",
    ),
    "the greatest element of all rows": (
        lambda: as_long_as_stored(ints(1), [1], greatest, opset8.relu),
        r"\(RandomUniform\) draws in a shape that depends on what the inputs' rows hold",
    ),
}


@pytest.mark.parametrize("name", STORED)
def test_what_an_earlier_run_has_left_of_all_rows_is_refused(name: str) -> None:
    make, said = STORED[name]
    with pytest.raises(ValueError, match=said):
        make_reproducible(make(), per_row=True, batch="x:0")


# -- What depends on how many rows there are -------------------------------------------------------


def causal(queries: ov.Output | ov.Node) -> ov.Node:
    """A causal attention of [rows, 4] to six keys."""
    keys = opset8.constant(np.full((1, 6, 4), 0.1, np.float32))
    values = opset8.constant(np.repeat(np.arange(6, dtype=np.float32), 4).reshape(1, 6, 4))
    places = opset8.unsqueeze(queries, opset8.constant(0))
    made = opset15.scaled_dot_product_attention(places, keys, values, causal=True)
    return opset8.squeeze(made, ints(0))


def causal_noise(x: ov.Output) -> ov.Node:
    return opset8.add(x, causal(uniform(opset8.shape_of(x))))


def causal_share(x: ov.Output) -> ov.Node:
    shape = opset8.shape_of(x)
    ones = opset8.broadcast(opset8.constant(np.float32(1)), shape)
    share = opset8.divide(causal(ones), opset8.constant(np.float32(6)))
    return opset8.convert(opset8.less(uniform(shape), share), "f32")


def padded_noise(x: ov.Output) -> ov.Node:
    """Noise with the number of rows behind it."""
    rows = opset8.squeeze(opset8.convert(sizes(x, 0), "f32"), ints(0))
    return opset8.pad(uniform(opset8.shape_of(x)), ints(0, 0), ints(0, 1), "constant", rows)


def as_often_as_values_say(x: ov.Output) -> ov.Node:
    """Noise that is doubled as often as the greatest element of all rows says."""
    length = opset8.concat([greatest(opset8.unsqueeze(x, ints(2))), ints(4)], 0)
    slices = opset8.broadcast(opset8.constant(np.float32(1)), length)
    part, noise = (opset8.parameter(shape, np.float32) for shape in ([1, 4], [-1, 4]))
    doubled, next_part = (opset8.result(opset8.add(each, each)) for each in (noise, part))
    loop = opset8.tensor_iterator()
    loop.set_body(ov.Model([doubled, next_part], [part, noise], "body"))
    loop.set_sliced_input(part, slices.output(0), 0, 1, 1, -1, 0)
    made = uniform(opset8.shape_of(x)).output(0)
    loop.set_merged_input(noise, made, doubled.output(0))
    return opset8.add(loop.get_iter_value(doubled.output(0), -1), x)


def noise_by_columns(x: ov.Output) -> ov.Node:
    """Noise of each row, beside the columns that a TensorIterator puts below each other."""
    noise = opset8.reshape(uniform(opset8.concat([sizes(x, 0), ints(2)], 0)), ints(-1, 1), False)
    many = opset8.multiply(noise, columns_below_each_other(x))
    pairs = opset8.reshape(many, opset8.concat([sizes(x, 0), ints(2)], 0), False)
    return opset8.add(x, opset8.reduce_sum(pairs, ints(1), True))


def stored_noise() -> ov.Model:
    """The padded noise of the run before, and x."""
    x = parameter("x", [-1, 4])
    zeros = opset8.broadcast(opset8.constant(np.float32(0)), opset8.shape_of(x))
    past = opset8.read_value(zeros, "past", ov.Type.f32, ov.PartialShape([-1, 4]))
    cut = opset8.slice(padded_noise(x.output(0)), ints(1), ints(5), ints(1), ints(1))
    assigned = opset8.assign(cut, "past")
    return ov.Model([opset8.result(opset8.add(past, x))], [assigned], [x], "model")


def of_rows(between: Between) -> ov.Model:
    x = parameter("x", [-1, 4])
    return model_of({"y": between(x.output(0))}, [x])


DEPENDING: dict[str, tuple[Callable[[], ov.Model], str]] = {
    "a causal attention of noise": (
        lambda: of_rows(causal_noise),
        r"\(ScaledDotProductAttention\) keeps of each row what its number says",
    ),
    "a share out of a causal attention": (
        lambda: of_rows(causal_share),
        r"\(Less\) compares them with '.*', numbers that depend on how many rows there are",
    ),
    "noise in a TensorIterator that runs as often as values of all rows say": (
        lambda: of_rows(as_often_as_values_say),
        r"\(TensorIterator\) runs its body as often as is said by '.*', numbers that depend on how",
    ),
    "noise and columns that a TensorIterator puts below each other": (
        lambda: of_rows(noise_by_columns),
        r"\(Multiply\) combines them with '.*', numbers that depend on how many rows there are",
    ),
    "noise and the number of rows, as an output": (
        lambda: of_rows(padded_noise),
        r"\(Pad\) treats them by '.*', numbers that depend on how many rows there are",
    ),
    "noise and the number of rows, in a variable": (
        stored_noise,
        r"\(Pad\) treats them by '.*', numbers that depend on how many rows there are",
    ),
}


@pytest.mark.parametrize("name", DEPENDING)
def test_noise_by_how_many_rows_there_are_is_refused(name: str) -> None:
    make, said = DEPENDING[name]
    with pytest.raises(ValueError, match=said):
        make_reproducible(make(), per_row=True)
