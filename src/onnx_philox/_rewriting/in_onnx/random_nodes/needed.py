"""What the readers of several random nodes have to read, and refuse alike."""

from __future__ import annotations

from typing import Protocol

import onnx_ir as ir

from onnx_philox._contract.declaration import listed
from onnx_philox._contract.types import ElementType
from onnx_philox._rewriting.in_onnx.random_nodes.site import Site


class TypeOf(Protocol):
    """What a model says of a value, inferred where it is not declared."""

    def __call__(self, value: ir.Value) -> ir.DataType | None:
        """The element type."""

    def shape(self, value: ir.Value) -> ir.Shape | None:
        """The dimensions."""


def required_input(site: Site, index: int) -> ir.Value:
    """An input that the node must have.

    Raises:
        ValueError: It has none.
    """
    value = site.node.inputs[index] if index < len(site.node.inputs) else None
    if value is None:
        site.refuse(f"input {index}", "nothing", "connected", "Connect it.")
    return value


def allowed_type(
    site: Site, dtype: ir.DataType | None, types: tuple[ElementType, ...], remedy: str
) -> ElementType:
    """The element type of this package that a type of ONNX is; the type may be unknown.

    Raises:
        TypeError: It is not one of the allowed types.
    """
    for type in types:
        if dtype is not None and type.onnx == dtype.value:
            return type
    given = "an unknown one" if dtype is None else dtype.name
    names = listed([ir.DataType(type.onnx).name for type in types])
    return site.refuse("the element type", given, names, remedy, TypeError)
