"""Which inputs of an OpenVINO model carry the batch, whose dimensions have no names there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import openvino as ov

from onnx_philox._runtimes.port import Port

_NAME = "batch"
# No model is made for batches of just these sizes, and neither is broadcast to the other.
_ROWS, _OTHER = 3, 5


def carriers(model: ov.Model, batch: str) -> set[str]:
    """The names of inputs whose first dimension must be that of the input `batch`.

    OpenVINO is asked: with it the model has shapes, and with another size it has none.
    """
    first = {
        i: port.get_partial_shape()
        for i, port in enumerate(model.inputs)
        if port.get_partial_shape().rank.is_static
        and len(port.get_partial_shape()) > 0
        and port.get_partial_shape()[0].is_dynamic
    }
    own = next((i for i in first if batch in model.inputs[i].get_names()), None)
    if own is None:
        return set()
    tied = [i for i in first if i == own or _is_tied(model, first, own, i)]
    return {name for i in tied for name in model.inputs[i].get_names()}


def named(ports: list[Port], carrying: Collection[str]) -> list[Port]:
    """Inputs whose first dimensions have a name, where they carry the batch."""
    return [
        replace(port, shape=(_NAME, *(port.shape or ())[1:])) if port.name in carrying else port
        for port in ports
    ]


def _is_tied(model: ov.Model, shapes: dict[int, ov.PartialShape], own: int, other: int) -> bool:
    unlike, alike = {own: _ROWS, other: _OTHER}, {own: _ROWS, other: _ROWS}
    return not _fits(model, shapes, unlike) and _fits(model, shapes, alike)


def _fits(model: ov.Model, shapes: dict[int, ov.PartialShape], rows: dict[int, int]) -> bool:
    """Whether the model has shapes for these first dimensions."""
    asked = {}
    for index, count in rows.items():
        shape = ov.PartialShape(shapes[index])
        shape[0] = ov.Dimension(count)
        asked[index] = shape
    try:
        model.clone().reshape(asked)
    except RuntimeError:
        return False
    return True
