"""Where a random node stands in the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._models.graphs import Owner, label
from onnx_philox._rewriting.report import MAIN_GRAPH


@dataclass(frozen=True)
class Site:
    """A random node, its version, and its place in the model."""

    node: ir.Node
    version: int | None
    """As in `RandomNode`."""
    opset: int
    """Of the model, in ONNX's own domain."""
    owners: tuple[Owner, ...]
    """From the main graph inwards."""
    function: str | None = None
    """The model-local function that it was inlined from."""

    @property
    def title(self) -> str:
        """What messages call it."""
        place = " > ".join((MAIN_GRAPH, *(owner.label for owner in self.owners)))
        domain = f"{self.node.domain} " if self.node.domain else ""
        origin = f", from function {self.function}" if self.function else ""
        opset = "opset not imported" if self.version is None else f"opset {self.version}"
        return f"{domain}{label(self.node)} ({opset}, {place}{origin})"

    def refuse(
        self,
        what: str,
        given: Any,
        allowed: str,
        remedy: str,
        error: type[ValueError | TypeError] = ValueError,
    ) -> NoReturn:
        """Raises an error of four parts that names the node."""
        checks.refuse(self.title, what, given, allowed, remedy, error)
