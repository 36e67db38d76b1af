"""The form of a row that the structure of an ONNX model meets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onnx_philox._command.inspect.known.met_nodes import Met, MetNodes
from onnx_philox._command.inspect.known.row import KnownBehaviour

Details = Mapping[str, str]
"""What stands in the sentence of a row."""


@dataclass(frozen=True)
class Structural:
    """A row, and how a node that meets it is recognised."""

    known: KnownBehaviour
    meets: Callable[[Met, MetNodes], Details | None]
    """The details of a node among those of its model; None where it does not meet the row."""
    of_loaded: bool = True
    """Whether it concerns a runtime that draws the node, or one that does not load it."""
