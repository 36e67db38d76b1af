"""The versions of the domains that a model imports."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

STANDARD_DOMAINS = ("", "ai.onnx")
"""The two names of ONNX's own domain."""


_ADDED = 13
"""The version that a model gets which has no nodes of ONNX's own yet."""


def needs_onnx(model: ir.Model) -> bool:
    """Whether a model neither imports ONNX's own domain nor has nodes of it."""
    if any(name in model.opset_imports for name in STANDARD_DOMAINS):
        return False
    return all(node.domain not in STANDARD_DOMAINS for node in model.graph.all_nodes())


def onnx_opset_for(model: ir.Model) -> int:
    """The version of ONNX's own domain for nodes to come: see `import_onnx`."""
    return _ADDED if needs_onnx(model) else onnx_opset_of(model.opset_imports)


def import_onnx(model: ir.Model) -> None:
    """Imports ONNX's own domain where a model has only nodes of others."""
    if needs_onnx(model):
        model.opset_imports[""] = _ADDED


def opset_of(imports: Mapping[str, int], domain: str) -> int | None:
    """The version of a domain; None for another's that is not imported.

    ONNX's own goes by two names, and is 1 where a model does not say it.
    """
    if domain not in STANDARD_DOMAINS:
        return imports.get(domain)
    return onnx_opset_of(imports)


def onnx_opset_of(imports: Mapping[str, int]) -> int:
    """The version of ONNX's own domain."""
    return next((imports[name] for name in STANDARD_DOMAINS if name in imports), 1)
