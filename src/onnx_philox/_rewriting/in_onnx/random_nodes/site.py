"""Where a random node stands in the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._models.graphs import Owner, label
from onnx_philox._rewriting.report import title


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
        path = [owner.label for owner in self.owners]
        return title(label(self.node), self.node.domain, self.version, path, self.function)

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
