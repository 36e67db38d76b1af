"""Which inputs of an OpenVINO model carry the batch, whose dimensions have no names there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import openvino as ov

from onnx_philox._runtimes.port import Port

_NAME = "batch"
# No model is made for batches of just these sizes, and neither is broadcast to the other.
_ROWS, _OTHER = 3, 5


Carrier = tuple[str, int]
"""The name of an input, and its dimension that carries the batch."""


def carriers(model: ov.Model, batch: str) -> set[Carrier]:
    """The dimensions of inputs that must be the first one of the input `batch`.

    OpenVINO is asked: with it the model has shapes, and with another size it has none.
    """
    shapes = {
        i: port.get_partial_shape()
        for i, port in enumerate(model.inputs)
        if port.get_partial_shape().rank.is_static
    }
    open_ = [(i, axis) for i, s in shapes.items() for axis in range(len(s)) if s[axis].is_dynamic]
    own = next((place for place in open_ if batch in model.inputs[place[0]].get_names()), None)
    if own is None or own[1]:
        return set()
    tied = [place for place in open_ if place == own or _is_tied(model, shapes, own, place)]
    return {(name, axis) for i, axis in tied for name in model.inputs[i].get_names()}


def named(ports: list[Port], carrying: Collection[Carrier]) -> list[Port]:
    """Inputs whose dimensions have a name, where they carry the batch."""
    return [
        replace(
            port,
            shape=tuple(
                _NAME if (port.name, axis) in carrying else size
                for axis, size in enumerate(port.shape)
            ),
        )
        if port.shape
        else port
        for port in ports
    ]


Place = tuple[int, int]


def _is_tied(model: ov.Model, shapes: dict[int, ov.PartialShape], own: Place, other: Place) -> bool:
    unlike, alike = {own: _ROWS, other: _OTHER}, {own: _ROWS, other: _ROWS}
    return not _fits(model, shapes, unlike) and _fits(model, shapes, alike)


def _fits(model: ov.Model, shapes: dict[int, ov.PartialShape], sizes: dict[Place, int]) -> bool:
    """Whether the model has shapes with these sizes."""
    asked: dict[int, ov.PartialShape] = {}
    for (index, axis), size in sizes.items():
        asked.setdefault(index, ov.PartialShape(shapes[index]))[axis] = ov.Dimension(size)
    try:
        model.clone().reshape(asked)
    except RuntimeError:
        return False
    return True
