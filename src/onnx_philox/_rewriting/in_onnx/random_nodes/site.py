"""Where a random node stands in a model of ONNX."""

from __future__ import annotations

import onnx_ir as ir

from onnx_philox._models.graphs import Owner, label
from onnx_philox._rewriting import site

Site = site.Site[ir.Node, Owner]


def site_of(
    node: ir.Node,
    owners: tuple[Owner, ...],
    *,
    version: int | None,
    opset: int,
    function: str | None,
) -> Site:
    """The place of a node, given what it does not say itself: see `site.Site`."""
    return Site(
        node,
        owners,
        label(node),
        name=node.name or "",
        op_type=node.op_type,
        domain=node.domain,
        version=version,
        outputs=tuple(value.name or "" for value in node.outputs),
        opset=opset,
        function=function,
    )
