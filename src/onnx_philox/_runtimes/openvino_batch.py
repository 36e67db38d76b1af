"""Which dimensions of a model's inputs carry the batch, as OpenVINO shows them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import openvino as ov

from onnx_philox._runtimes.port import Port

_NAME = "batch"
# No model is made for batches of just these sizes, and neither is broadcast to the other.
_ROWS = 3
_OTHER = 5


Place = tuple[int, int]
"""The number of an input, and a dimension of it."""
Carrier = tuple[str, int]
"""The name of an input, and its dimension that carries the batch."""


def carriers(model: ov.Model, batch: str, axis: int) -> set[Carrier]:
    """The dimensions of inputs that must be this one of the input `batch`.

    OpenVINO is asked: with it the model has shapes, and with another size it has none.
    """
    shapes = {}
    for i, port in enumerate(model.inputs):
        shape = port.get_partial_shape()
        if shape.rank.is_static:
            shapes[i] = shape
    open_ = []
    for i, shape in shapes.items():
        for d, dimension in enumerate(shape):
            if dimension.is_dynamic:
                open_.append((i, d))
    own = None
    for i, d in open_:
        if d == axis and batch in model.inputs[i].get_names():
            own = i, d
            break
    if own is None:
        return set()

    def is_tied(other: Place) -> bool:
        unlike = {own: _ROWS, other: _OTHER}
        alike = {own: _ROWS, other: _ROWS}
        return not _fits(model, shapes, unlike) and _fits(model, shapes, alike)

    carrying = set()
    for place in open_:
        if place == own or is_tied(place):
            index, tied_axis = place
            for name in model.inputs[index].get_names():
                carrying.add((name, tied_axis))
    return carrying


def named(ports: list[Port], carrying: Collection[Carrier]) -> list[Port]:
    """Inputs whose dimensions have a name, where they carry the batch."""
    named = []
    for port in ports:
        shape = port.shape
        if shape:
            sizes = list(shape)
            for axis in range(len(sizes)):
                if (port.name, axis) in carrying:
                    sizes[axis] = _NAME
            shape = tuple(sizes)
        named.append(replace(port, shape=shape))
    return named


def _fits(
    model: ov.Model,
    shapes: dict[int, ov.PartialShape],
    sizes: dict[Place, int],
) -> bool:
    """Whether the model has shapes with these sizes."""
    asked: dict[int, ov.PartialShape] = {}
    for (index, axis), size in sizes.items():
        shape = asked.setdefault(index, ov.PartialShape(shapes[index]))
        shape[axis] = ov.Dimension(size)
    try:
        model.clone().reshape(asked)
    except RuntimeError:
        return False
    return True
