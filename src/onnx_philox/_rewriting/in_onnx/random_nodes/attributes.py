"""Refuses attributes of a wrong type, which ONNX's reader lets through, before they are read."""

from __future__ import annotations

import onnx

from onnx_philox._rewriting.in_onnx.random_nodes.of_onnx import Version
from onnx_philox._rewriting.in_onnx.random_nodes.site import Site


def check_types(site: Site, version: Version) -> None:
    """Refuses a node of ONNX with an attribute of another type than its operator declares.

    Raises:
        TypeError: There is one.
    """
    node = site.node
    declared = onnx.defs.get_schema(node.op_type, version.since, "").attributes
    for name, attribute in node.attributes.items():
        if name not in declared or attribute.is_ref():
            continue
        given, wanted = attribute.type.name, str(declared[name].type).rpartition(".")[2]
        if given != wanted:
            remedy = "Give it that type, or remove it."
            site.refuse(f"attribute {name!r}", given, wanted, remedy, TypeError)
