"""A walk through a model of ONNX that follows the rows of its batch.

Node by node, by the rule of each operator (`onnx_row_rules.py`); into functions as they are called,
into the bodies of If, Loop, Scan and SequenceMap, and through sequences, of which is known what is
known of each of their tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import onnx_ir as ir

from onnx_philox._contract.operators import DOMAIN, OPERATORS
from onnx_philox._contract.streams import STATE
from onnx_philox._models.onnx_graphs import (
    STANDARD_DOMAINS,
    Owner,
    attributes_of_call,
    input_of,
    is_wanted,
    opset_of,
    subgraphs,
)
from onnx_philox._models.ours import state_of
from onnx_philox._rewriting.in_onnx.rows import onnx_row_rules, sequence_rules
from onnx_philox._rewriting.in_onnx.rows.drawn import DrawnRows
from onnx_philox._rewriting.in_onnx.rows.step_of_node import label_of, step_of
from onnx_philox._rewriting.in_onnx.rows.symbolic_shapes import SymbolicShapes
from onnx_philox._rewriting.places import Dimension
from onnx_philox._rewriting.rows import moves, rules
from onnx_philox._rewriting.rows.following import Followed, not_in_rows
from onnx_philox._rewriting.rows.known import (
    BY_PLACE,
    FREE,
    Culprit,
    Knowledge,
    Remedy,
    counted,
    each_own,
    either,
    of_several_sizes,
    slices_of,
    stacked_along,
)
from onnx_philox._rewriting.rows.meetings import Part
from onnx_philox._rewriting.rows.step import Step

_SAME = ("Identity", "Optional", "OptionalGetElement")
"""Operators whose output is the first input, or what is in it."""


class RowWalk(Followed[ir.Value]):
    """Where the rows of the batch are in each value, and which draws are out of order.

    Args:
        model: The model; functions that draw have been inlined.
        shapes: Those of its values.
        batch: The name of the dimension that is the batch.
        drawings: What is known of each random node, before the rows are followed.
        unclear: The inputs of which nobody knows where they have the batch.
    """

    def __init__(
        self,
        model: ir.Model,
        shapes: SymbolicShapes,
        batch: str,
        drawings: Mapping[ir.Node, DrawnRows],
        unclear: Collection[str] = (),
    ) -> None:
        super().__init__(batch, unclear)
        self._model = model
        self._shapes = shapes
        self._drawings = drawings
        self._imports: Mapping[str, int] = model.opset_imports
        self._attributes: Mapping[str, ir.Attr] = {}
        self._calls: tuple[ir.Node, ...] = ()
        for value in model.graph.inputs:
            name = value.name or ""
            dims = shapes.of(value)
            self._known[value] = self._of_input(name, dims, is_state=name == STATE)
        self._graph(model.graph)
        self._leave((value.name or "", value) for value in model.graph.outputs)

    def is_of_batch(self, value: ir.Value | None) -> bool:
        """Whether a value of a graph may be another one for another batch."""
        return self._of(value).is_of_batch

    def has_batch(self, value: ir.Value | None, axis: int) -> bool:
        """Whether a dimension of a value is, or may be, made of the batch."""
        shape = None if value is None else self._shapes.of(value)
        if shape is None or axis not in range(-len(shape), len(shape)):
            return True
        return self._may_depend(shape[axis])

    def _may_depend(self, dimension: Dimension) -> bool:
        return self._shapes.products.may_depend(dimension, self._batch)

    def _graph(self, graph: ir.Graph) -> None:
        for node in graph:
            self._node(node)

    def _node(self, node: ir.Node) -> None:
        kind = node.op_type if node.domain in STANDARD_DOMAINS else ""
        if node in self._drawings:
            self._draw(node)
        elif node.op_identifier() in self._model.functions:
            self._call(node, self._model.functions[node.op_identifier()])
        elif node.domain == DOMAIN and node.op_type in OPERATORS:
            self._ours(node)
        elif kind in _BODIES:
            _BODIES[kind](self, node)
        elif kind in _SAME:
            self._say(node.outputs[0], partial(self._of, input_of(node, 0)))
        elif kind in sequence_rules.RULES:
            self._sequence(node, sequence_rules.RULES[kind])
        else:
            self._plain(node)

    def _plain(self, node: ir.Node) -> None:
        inner = [body for _, body in subgraphs(node)]
        for body in inner:
            self._graph(body)
        if not inner and all(self._of(value) is FREE for value in node.inputs):
            for output in node.outputs:
                self._known.pop(output, None)
            return
        step = self._step(node)
        rule = None if inner else onnx_row_rules.rule_of(node.domain, node.op_type)
        if rule is None:
            for index in range(len(node.outputs)):
                self._say(node.outputs[index], partial(self._unknown, step, has_bodies=bool(inner)))
            return
        meeting = rules.meeting_of(node.op_type, onnx_row_rules.ELEMENTWISE)
        for index, output in enumerate(node.outputs):
            if is_wanted(output):
                deed = onnx_row_rules.deed_of(node.op_type, _name_of_first(node))
                apply = partial(moves.apply, rule, step, index, meeting, deed)
                self._say(output, apply)
                known = self._of(output)
                if known.is_of_batch and not known.is_placed and self._is_without_batch(output):
                    self._known[output] = replace(known, is_of_batch=False)

    def _is_without_batch(self, value: ir.Value) -> bool:
        """Whether a value is numbers of which it is known that none is made of the batch."""
        numbers = self._shapes.walk.numbers.of(value)
        return numbers is not None and not any(map(self._may_depend, numbers.reshape(-1)))

    def _step(self, node: ir.Node) -> Step:
        return step_of(
            node,
            [None if value is None else self._of(value) for value in node.inputs],
            self._shapes,
            self._batch,
            self._attributes,
            opset_of(self._imports, node.domain) or 1,
            self._is_alike,
            self._at_home,
        )

    def _draw(self, node: ir.Node) -> None:
        drawing = self._drawings[node]
        step = self._step(node)
        like = self._of(drawing.like)
        places = self._judge(drawing, step, like)
        self.places[node] = [place for place, _ in places]
        for index, output in enumerate(node.outputs):
            if index and not drawing.is_mask(index):
                self._known[output] = replace(FREE, is_of_batch=True)
            elif len(places) != 1:
                self._known[output] = not_in_rows(step)
            else:
                ((place, standing),) = places
                noise = drawing.noise(standing)
                parts = _no_parts if index else partial(drawing.parameters, step)
                self._say(output, partial(self._met, step, noise, place.rank, parts))
        self._draws(drawing, step, drawing.numbers)

    def _ours(self, node: ir.Node) -> None:
        """A node of this package that has a state: it draws a row for each."""
        step = self._step(node)
        declared = OPERATORS[node.op_type]
        state = self._of(state_of(node))
        drawing = DrawnRows.of(node, None, is_said=False)
        made = partial(self._drawn_by_states, step, state, partial(drawing.parameters, step))
        for index, output in enumerate(node.outputs):
            if declared.outputs[index].is_state:
                self._known[output] = state
            else:
                self._say(output, made)

    def _call(self, node: ir.Node, function: ir.Function) -> None:
        if node in self._calls:
            return
        given = [self._of(value) for value in node.inputs]
        outer = (self._known, self._imports, self._attributes, self._calls)
        self._known = dict(zip(function.inputs, given, strict=False))
        for inner, value in zip(function.inputs, node.inputs, strict=False):
            if value is not None:
                self._outside[inner] = value
        self._imports = function.opset_imports
        self._attributes = attributes_of_call(node, function, self._attributes)
        self._calls = (*self._calls, node)
        self._shapes.walk.enter(self._calls)
        self._graph(function.graph)
        made = [self._of(value) for value in function.outputs]
        self._known, self._imports, self._attributes, self._calls = outer
        self._shapes.walk.enter(self._calls)
        self._known.update(zip(node.outputs, made, strict=False))

    def _if(self, node: ir.Node) -> None:
        branches = [branch for _, branch in subgraphs(node)]
        for branch in branches:
            self._graph(branch)
        is_of_batch = self.is_of_batch(node.inputs[0])
        culprit = Culprit(label_of(node), "has rows in different places in its branches")
        ends = zip(*(branch.outputs for branch in branches), strict=False)
        for output, values in zip(node.outputs, ends, strict=False):
            self._say(output, partial(either, [self._of(value) for value in values], culprit))
            self._size(node, output, values)
            if is_of_batch:
                self._count(node, output, values)

    def _loop(self, node: ir.Node) -> None:
        ((name, body),) = subgraphs(node)
        carried = len(node.inputs) - 2
        if len(node.inputs) > 1:
            self._known[body.inputs[1]] = self._of(node.inputs[1])
        self._go_round(node, node.inputs[2:], body, body.inputs[2:], body.outputs[1 : 1 + carried])
        is_counted = self.of_how_often(Owner(node, name, body))
        self._stack(node, body.outputs[1 + carried :], carried, [0] * len(node.outputs), is_counted)

    def _scan(self, node: ir.Node) -> None:
        ((name, body),) = subgraphs(node)
        count = node.attributes["num_scan_inputs"].as_int()
        carried = len(node.inputs) - count
        axes = node.attributes.get_ints("scan_input_axes", [0] * count)
        scanned = zip(node.inputs[carried:], body.inputs[carried:], axes, strict=False)
        culprit = Culprit(label_of(node), "goes through the rows one by one")
        for outer, inner, axis in scanned:
            rank = len(self._shapes.walk.dimensions(outer) or ())
            self._say(inner, partial(slices_of, self._of(outer), rank, axis, culprit))
        self._go_round(node, node.inputs[:carried], body, body.inputs, body.outputs[:carried])
        stacked = body.outputs[carried:]
        axes = node.attributes.get_ints("scan_output_axes", [0] * len(stacked))
        is_counted = self.of_how_often(Owner(node, name, body))
        self._stack(node, stacked, carried, axes, is_counted)

    def goes_along_batch(self, node: ir.Node) -> bool:
        """Whether a node is a Scan along a dimension that is made of the batch."""
        if node.op_type != "Scan":
            return False
        count = node.attributes["num_scan_inputs"].as_int()
        axes = node.attributes.get_ints("scan_input_axes", [0] * count)
        scanned = zip(node.inputs[len(node.inputs) - count :], axes, strict=True)
        for value, axis in scanned:
            dims = self._shapes.walk.dimensions(value)
            if dims is None or axis not in range(-len(dims), len(dims)):
                continue
            if self._batch in (self._shapes.products.made_of(dims[axis]) or ()):
                return True
        return False

    def of_how_often(self, owner: Owner) -> bool:
        """Whether how often a subgraph runs may depend on the batch."""
        node, body = owner.node, owner.graph
        if node.op_type == "If":
            return self.is_of_batch(node.inputs[0])
        if node.op_type == "Loop":
            return any(map(self.is_of_batch, [*node.inputs[:2], body.outputs[0]]))
        count = node.attributes["num_scan_inputs"].as_int()
        scanned = node.inputs[len(node.inputs) - count :]
        axes = node.attributes.get_ints("scan_input_axes", [0] * count)
        return any(
            self.is_of_batch(value) and self.has_batch(value, axis)
            for value, axis in zip(scanned, axes, strict=True)
        )

    def _go_round(
        self,
        node: ir.Node,
        initial: Sequence[ir.Value | None],
        body: ir.Graph,
        given: Sequence[ir.Value],
        returned: Sequence[ir.Value],
    ) -> None:
        """Follows what a loop carries until nothing more is forgotten."""
        culprit = Culprit(label_of(node), "has rows in another place after an iteration")
        carried = [self._of(value) for value in initial]
        for _ in self._rounds(len(carried)):
            before = carried
            for value, known, outer, back in zip(given, carried, initial, returned, strict=False):
                self._known[value] = known
                self._size(node, value, [outer, back])
            if node.op_type == "Loop" and self.is_of_batch(body.outputs[0]):
                self._known[body.inputs[1]] = replace(FREE, is_of_batch=True)
            self._graph(body)
            pairs = zip(before, returned, strict=False)
            carried = [self._joined([known, self._of(value)], culprit) for known, value in pairs]
            if carried == before:
                break
        else:
            self._give_up(label_of(node), given[: len(carried)])
            self._graph(body)
            self._give_up(label_of(node), returned)
        for output, outside, value in zip(node.outputs, initial, returned, strict=False):
            ends = [self._of(outside), self._of(value)]
            self._say(output, partial(either, ends, culprit))
            self._size(node, output, [outside, value])

    def _size(self, node: ir.Node, value: ir.Value, before: Iterable[ir.Value | None]) -> None:
        """Notes that a value that is one of some may have a dimension as long as the batch."""
        dims = self._shapes.walk.dimensions
        products = self._shapes.products
        shapes = [dims(each) for each in before]
        label = label_of(node)
        known = self._of(value)
        known = of_several_sizes(known, dims(value), shapes, products, self._batch, label)
        if known is not FREE:
            self._known[value] = known

    def _joined(self, values: Sequence[Knowledge], culprit: Culprit) -> Knowledge:
        """What is known of either, of which the draws are noted that are out of order."""
        return self._noted(partial(either, values, culprit))

    def _stack(
        self,
        node: ir.Node,
        ends: Iterable[ir.Value],
        first: int,
        axes: Sequence[int],
        is_counted: bool,
    ) -> None:
        """What a loop gives for all its iterations, along a new dimension."""
        if is_counted:
            for output in node.outputs[:first]:
                self._count(node, output, node.inputs)
        for inner, output, axis in zip(ends, node.outputs[first:], axes, strict=False):
            known = self._of(inner)
            rank = len(self._shapes.walk.dimensions(inner) or ())
            self._known[output] = stacked_along(known, rank, axis)
            if is_counted:
                self._count(node, output, [*node.inputs, inner])

    def _count(self, node: ir.Node, output: ir.Value, before: Iterable[ir.Value | None]) -> None:
        """Notes that the batch says which branch gives an output, or how often a body runs."""
        made = self._shapes.walk.dimensions(output)
        shapes = [self._shapes.walk.dimensions(value) for value in before]
        products = self._shapes.products
        known = counted(self._of(output), made, shapes, products, label_of(node))
        self._say(output, partial(self._goes_by, known, label_of(node), *_deciding(node)))

    def _sequence(self, node: ir.Node, rule: sequence_rules.Rule) -> None:
        """A node that makes a sequence, or takes one."""
        known = [None if v is None or _is_empty(v) else self._of(v) for v in node.inputs]
        step = replace(self._step(node), known=known)
        deed = onnx_row_rules.deed_of(node.op_type, _name_of_first(node))
        self._say(node.outputs[0], partial(rule, step, deed))

    def _sequence_map(self, node: ir.Node) -> None:
        ((_, body),) = subgraphs(node)
        for value, inner in zip(node.inputs, body.inputs, strict=False):
            self._known[inner] = self._of(value)
        self._graph(body)
        # The first input is a sequence, and as long as what comes out.
        sequence = self._of(node.inputs[0])
        for output, inner in zip(node.outputs, body.outputs, strict=False):
            known = self._of(inner)
            if sequence.resized is not None:
                known = replace(known.counted(), resized=known.resized or sequence.resized)
                deed = f"makes of as many of them as {_name_of_first(node)!r} has {BY_PLACE}"
                culprit = Culprit(label_of(node), deed, Remedy.NUMBERS)
                self._say(output, partial(each_own, known, culprit))
            else:
                self._known[output] = known


_BODIES: dict[str, Callable[[RowWalk, ir.Node], None]] = {
    "If": RowWalk._if,
    "Loop": RowWalk._loop,
    "Scan": RowWalk._scan,
    "SequenceMap": RowWalk._sequence_map,
}


def _deciding(node: ir.Node) -> tuple[str, list[tuple[str, ir.Value | None]]]:
    """What an If or a loop does by numbers, and the values that are these, with their names."""
    if node.op_type == "If":
        return "chooses a branch by", [_with_name(node.inputs[0])]
    values = list(node.inputs)
    if node.op_type == "Loop":
        ((_, body),) = subgraphs(node)
        values = [*node.inputs[:2], body.outputs[0]]
    return "runs its body as often as is said by", [_with_name(value) for value in values]


def _with_name(value: ir.Value | None) -> tuple[str, ir.Value | None]:
    return "" if value is None else value.name or "", value


def _no_parts() -> Sequence[Part]:
    """A mask meets no input of its node."""
    return []


def _name_of_first(node: ir.Node) -> str:
    """The name of a node's first input."""
    first = node.inputs[0] if node.inputs else None
    return "" if first is None else first.name or ""


def _is_empty(value: ir.Value) -> bool:
    """Whether a value is a sequence that has nothing yet."""
    node = value.producer()
    return node is not None and node.op_type in ("SequenceEmpty", "Optional") and not node.inputs
