"""Where a random node stands in a model of OpenVINO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import openvino as ov

from onnx_philox._contract import checks
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._openvino_models.graphs import (
    Owner,
    is_ours,
    label,
    opset_of,
    own_seeds,
)
from onnx_philox._rewriting.report import RandomNode, title


@dataclass(frozen=True)
class Site:
    """A random node and its place."""

    node: ov.Node
    owners: tuple[Owner, ...]
    """From the main graph inwards."""

    @property
    def path(self) -> tuple[str, ...]:
        """See `RandomNode`."""
        return tuple(owner.label for owner in self.owners)

    @property
    def domain(self) -> str:
        """See `RandomNode`: for an operator of others, what OpenVINO calls its version."""
        if is_ours(self.node):
            return DOMAIN
        if opset_of(self.node) is not None:
            return ""
        return str(self.node.get_type_info().version_id)

    @property
    def title(self) -> str:
        """What messages call it."""
        return title(label(self.node), self.domain, opset_of(self.node), self.path)

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

    def record(
        self,
        output: ov.Output,
        output_type: str | None,
        replacement: str | None,
        stream: int | None,
        error: Exception | None,
    ) -> RandomNode:
        """The line of a report."""
        return RandomNode(
            name=self.node.get_friendly_name(),
            op_type=self.node.get_type_name(),
            domain=self.domain,
            version=opset_of(self.node),
            path=self.path,
            function=None,
            outputs=tuple(sorted(output.get_names())) or (output.get_node().get_friendly_name(),),
            output_type=output_type,
            replacement=replacement,
            stream=stream,
            problem=None if error is None else str(error),
            seeds=own_seeds(self.node),
        )
