"""The versions of the domains that a model imports."""

from __future__ import annotations

from collections.abc import Mapping

STANDARD_DOMAINS = ("", "ai.onnx")
"""The two names of ONNX's own domain."""


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
