"""make_reproducible(per_row=True): what operators of OpenVINO alone do to rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import openvino as ov
import pytest
from openvino import opset5, opset8, opset15

from onnx_philox import make_reproducible
from tests.common.openvino_models import model as model_of
from tests.common.openvino_models import parameter

Between = Callable[[ov.Output], ov.Node]


def ints(*numbers: int) -> ov.Node:
    return opset8.constant(np.array(numbers, np.int64))


def noisy(between: Between, shape: list[int]) -> ov.Model:
    """What an operator makes of x, and noise of its shape."""
    x = parameter("x", shape)
    value = between(x.output(0))
    low, high = (opset8.constant(np.float32(bound)) for bound in (0, 1))
    noise = opset8.random_uniform(opset8.shape_of(value), low, high, "f32")
    return model_of({"y": opset8.add(value, noise)}, [x])


def rows_of_two(x: ov.Output) -> ov.Node:
    """[2 * batch, 4] of [batch, 8]."""
    return opset8.reshape(x, ints(-1, 4), False)


def indices_like(x: ov.Output) -> ov.Node:
    """[..., 1] of all but the last dimension of x."""
    first_two = opset8.gather(opset8.shape_of(x), ints(0, 1), opset8.constant(0))
    shape = opset8.concat([first_two, ints(1)], 0)
    return opset8.broadcast(opset8.constant(np.zeros((1, 1, 1), np.int64)), shape)


def of_unknown_rank(x: ov.Output) -> ov.Node:
    """The mean of x, in a shape of as many dimensions as x has numbers that are not 0."""
    shape = opset8.gather(opset8.non_zero(x), opset8.constant(0), opset8.constant(0))
    return opset8.reshape(opset8.reduce_mean(x, ints(0, 1), True), shape, False)


# -- What moves rows -------------------------------------------------------------------------------

NO_DIMENSION = "the shape of what it draws must be one of which a dimension is proved to be"
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
        "(RandomUniform) has an input whose shape nobody knows",
    ),
}


@pytest.mark.parametrize("name", MOVED)
def test_what_moves_rows_is_refused(name: str) -> None:
    between, shape, said = MOVED[name]
    with pytest.raises(ValueError, match=r"what (it|each) draws must be") as error:
        make_reproducible(noisy(between, shape), per_row=True, batch=f"x:{shape.index(-1)}")
    assert said in str(error.value)


# -- What leaves them in place ---------------------------------------------------------------------

IN_PLACE: dict[str, tuple[Between, list[int]]] = {
    "shuffled along another dimension": (
        lambda x: opset8.shuffle_channels(x, 1, 2),
        [-1, 4, 2, 2],
    ),
    "shuffled, the batch second": (lambda x: opset8.shuffle_channels(x, 0, 2), [4, -1, 2, 2]),
    "rolled along another dimension": (lambda x: opset8.roll(x, ints(1), ints(-1)), [-1, 8]),
    "depth to space": (lambda x: opset8.depth_to_space(x, "blocks_first", 2), [-1, 4, 4, 4]),
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
    low, high = (opset8.constant(np.float32(bound)) for bound in (0, 1))
    zeros = opset8.broadcast(low, shape)
    past = opset8.read_value(zeros, "past", ov.Type.f32, ov.PartialShape([-1, 4]))
    assigned = opset8.assign(stored(x.output(0)), "past")
    noise = opset8.random_uniform(shape, low, high, "f32")
    result = opset8.result(opset8.add(opset8.add(past, noise), x))
    return ov.Model([result], [assigned], [x], "model")


def test_rows_that_an_earlier_run_has_left_in_place_are_accepted() -> None:
    make_reproducible(remembering(opset8.relu), per_row=True, batch="x:0")


def test_rows_that_an_earlier_run_has_left_out_of_order_are_refused() -> None:
    model = remembering(lambda x: opset8.roll(x, ints(1), ints(0)))
    with pytest.raises(ValueError, match=r"\(Roll\) moves the rows of"):
        make_reproducible(model, per_row=True, batch="x:0")
