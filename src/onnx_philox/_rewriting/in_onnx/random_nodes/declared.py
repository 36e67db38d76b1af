"""Refuses a node whose output the model declares as another type than the node draws.

Converters to float16 leave a node's `dtype` as it was beside such a declaration. Then no runtime
loads the model, and only its author knows which of the two is meant.
"""

from __future__ import annotations

import onnx_ir as ir

from onnx_philox._contract.refusal import TypeRefusalError
from onnx_philox._rewriting.in_onnx.random_nodes.site import Site


class DeclaredTypeError(TypeRefusalError):
    """A refusal of a node whose output is declared as another type than it draws."""


def check_declared(site: Site, drawn: ir.DataType) -> None:
    """Refuses a node that draws another type than its first output is declared to have.

    Raises:
        DeclaredTypeError: It does.
    """
    output = site.node.outputs[0]
    declared = output.dtype
    if declared in (None, ir.DataType.UNDEFINED, drawn):
        return
    op = site.node.op_type
    remedy = f"Declare it {drawn.name}"
    if op != "Dropout":
        remedy = f"Set dtype to {declared.value} ({declared.name})"
    remedy += (
        f", or put {op!r} into the op_block_list of the float16 converter: no runtime loads the "
        "model as it is."
    )
    raise DeclaredTypeError(
        site.title,
        f"the type of output {output.name!r}",
        f"one that is declared {declared.name}",
        f"{drawn.name}, which the node draws",
        remedy,
    )
