"""Which values of a model depend on the batch: on how many rows it has, or on what is in them."""

from __future__ import annotations

from collections.abc import Collection

import onnx_ir as ir

from onnx_philox._contract.operators import DOMAIN
from onnx_philox._models.graphs import STANDARD_DOMAINS, Owner, input_of, subgraphs
from onnx_philox._rewriting.in_onnx.rows.symbolic_shapes import SymbolicShapes


class BatchDependence:
    """The values that depend on the batch, or may.

    Each row of what the nodes `drawing` draw has a state of its own.
    """

    def __init__(
        self, model: ir.Model, shapes: SymbolicShapes, batch: str, drawing: Collection[ir.Node]
    ) -> None:
        self._shapes = shapes
        self._batch = batch
        self._drawing = drawing
        self._dependent = {value for value in model.graph.inputs if self._has_batch(value)}
        # What a Loop carries may come to depend on the batch after it has been read.
        before: set[ir.Value] = set()
        while before != self._dependent:
            before = set(self._dependent)
            self._follow(model.graph)

    def of_how_often(self, owner: Owner) -> bool:
        """Whether how often a subgraph runs may depend on the batch."""
        node, body = owner.node, owner.graph
        if node.op_type == "If":
            return self._is_any(node.inputs)
        if node.op_type == "Loop":
            return self._is_any([*node.inputs[:2], body.outputs[0]])
        count = node.attributes["num_scan_inputs"].as_int()
        scanned = node.inputs[len(node.inputs) - count :]
        axes = node.attributes.get_ints("scan_input_axes", [0] * count)
        return any(
            value in self._dependent and self._has_batch(value, axis, axis + 1 or None)
            for value, axis in zip(scanned, axes, strict=True)
            if value is not None
        )

    def _has_batch(self, value: ir.Value, start: int | None = None, end: int | None = None) -> bool:
        """Whether the batch is, or may be, among the dimensions of a value, or among some."""
        shape = self._shapes.of(value)
        return shape is None or any(
            self._shapes.may_depend(d, self._batch) for d in shape[start:end]
        )

    def _is_any(self, values: Collection[ir.Value | None]) -> bool:
        return any(value in self._dependent for value in values)

    def _mark(self, value: ir.Value, *sources: ir.Value | None) -> None:
        if self._is_any(sources):
            self._dependent.add(value)

    def _follow(self, graph: ir.Graph) -> None:
        for node in graph:
            inner = list(subgraphs(node))
            kind = node.op_type if node.domain in STANDARD_DOMAINS else ""
            if kind == "If":
                self._follow_if(node, [branch for _, branch in inner])
            elif kind in ("Loop", "Scan"):
                ((name, body),) = inner
                self._follow_loop(Owner(node, name, body))
            elif inner or node in self._drawing or node.domain == DOMAIN:
                # Nothing is known of another operator's subgraphs.
                self._dependent.update(node.outputs)
            elif self._is_any(node.inputs) and (kind != "Shape" or self._is_given_batch(node)):
                self._dependent.update(node.outputs)

    def _is_given_batch(self, shape: ir.Node) -> bool:
        """Whether the batch is, or may be, among the dimensions that a Shape gives."""
        of = shape.attributes.get_int
        return self._has_batch(input_of(shape, 0), of("start"), of("end"))

    def _follow_if(self, node: ir.Node, branches: list[ir.Graph]) -> None:
        for branch in branches:
            self._follow(branch)
            for outer, inner in zip(node.outputs, branch.outputs, strict=False):
                self._mark(outer, inner, node.inputs[0])

    def _follow_loop(self, owner: Owner) -> None:
        node, body = owner.node, owner.graph
        initial, given, returned = node.inputs, body.inputs, body.outputs
        if node.op_type == "Loop":
            # It gives its body the iteration too, and gets the condition back.
            self._mark(given[1], *initial[1:2], returned[0])
            initial, given, returned = initial[2:], given[2:], returned[1:]
        carried = given[: len(given) - node.attributes.get_int("num_scan_inputs", 0)]
        for inside, outside in zip(given, initial, strict=False):
            self._mark(inside, outside)
        for inside, again in zip(carried, returned, strict=False):
            self._mark(inside, again)
        self._follow(body)
        is_counted_by_batch = self.of_how_often(owner)
        for outer, inner in zip(node.outputs, returned, strict=False):
            if is_counted_by_batch or inner in self._dependent:
                self._dependent.add(outer)
        # Without an iteration it gives what it was given.
        for outer, outside, _ in zip(node.outputs, initial, carried, strict=False):
            self._mark(outer, outside)
