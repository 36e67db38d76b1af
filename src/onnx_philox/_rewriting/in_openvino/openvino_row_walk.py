"""A walk through a model of OpenVINO that follows the rows of its batch.

Node by node, by the rule of each operator (`dimension_rules.py`), and into the bodies of If, Loop
and TensorIterator. Shapes are those that `symbols.py` has named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import openvino as ov
from openvino.op import util

from onnx_philox._contract.operators import OPERATORS
from onnx_philox._openvino_models.openvino_graphs import (
    Owner,
    bodies,
    is_ours,
    name_of,
    state_of,
)
from onnx_philox._rewriting.in_openvino import dimension_rules
from onnx_philox._rewriting.in_openvino.openvino_drawn import DrawnRows, parameters_of
from onnx_philox._rewriting.in_openvino.openvino_steps import step_of
from onnx_philox._rewriting.in_openvino.symbols import Symbols, descriptions
from onnx_philox._rewriting.in_openvino.tensor_numbers import is_small
from onnx_philox._rewriting.random_names import randomness_of
from onnx_philox._rewriting.rows import moves
from onnx_philox._rewriting.rows.following import TOO_LONG, Followed, not_in_rows
from onnx_philox._rewriting.rows.known import (
    BY_PLACE,
    FREE,
    Culprit,
    Knowledge,
    Remedy,
    counted,
    each_own,
    either,
    lost,
    of_several_sizes,
)
from onnx_philox._rewriting.rows.meetings import Part
from onnx_philox._rewriting.rows.step import Step

_STORES_SIZE = "stores the number of rows, by which a later run may draw"


class RowWalk(Followed[ov.Output]):
    """Where the rows of the batch are in each tensor, and which draws are out of order.

    Args:
        model: The model.
        symbols: The names of its dimensions.
        batch: That of the batch.
        drawings: What is known of each random node, by `get_name`.
        unclear: The inputs of which nobody knows where they have the batch.
    """

    def __init__(
        self,
        model: ov.Model,
        symbols: Symbols,
        batch: str,
        drawings: Mapping[str, DrawnRows],
        unclear: Collection[str] = (),
    ) -> None:
        super().__init__(batch, unclear)
        self._symbols = symbols
        self._drawings = drawings
        for parameter in model.get_parameters():
            output = parameter.output(0)
            self._known[output] = self._of_input(name_of(parameter), symbols.of(output))
        # What runs before this one have left in the variables.
        self._stored: dict[str, Knowledge] = {}
        for _ in self._rounds(len(model.get_variables())):
            before = dict(self._stored)
            self._body(model)
            if self._stored == before:
                break
        else:
            for name, known in self._stored.items():
                culprit = Culprit(f"the variable {name!r}", TOO_LONG)
                self._stored[name] = self._noted(partial(lost, culprit, [known]))
            self._body(model)
        self._leave((name_of(result), result.input_value(0)) for result in model.get_results())

    def of_how_often(self, owner: Owner) -> bool:
        """Whether how often a body runs may depend on the batch."""
        node, kind = owner.node, owner.node.get_type_name()
        if kind == "If":
            return self._of(node.input_value(0)).is_of_batch
        if kind == "Loop":
            return self._is_counted(node, owner.body)
        cut = [
            each
            for each in node.get_input_descriptions()
            if isinstance(each, util.SliceInputDescription)
        ]
        return any(self._has_batch(node.input_value(c.input_index), c.axis) for c in cut)

    def goes_along_batch(self, node: ov.Node) -> bool:
        """Whether a loop takes slices along a dimension that is made of the batch."""
        if node.get_type_name() == "If":
            return False
        for each in node.get_input_descriptions():
            if not isinstance(each, util.SliceInputDescription):
                continue
            dims = self._symbols.of(node.input_value(each.input_index))
            if dims is None or each.axis not in range(-len(dims), len(dims)):
                continue
            if self._batch in (self._symbols.products.made_of(dims[each.axis]) or ()):
                return True
        return False

    def _is_counted(self, node: ov.Node, body: ov.Model) -> bool:
        _, condition = node.get_special_body_ports()
        goes_on = body.get_results()[condition].input_value(0)
        values = [node.input_value(0), node.input_value(1), goes_on]
        return any(self._of(value).is_of_batch for value in values)

    def _has_batch(self, value: ov.Output, axis: int) -> bool:
        dims = self._symbols.of(value)
        if dims is None or axis not in range(-len(dims), len(dims)):
            return True
        return self._symbols.products.may_depend(dims[axis], self._batch)

    def _body(self, model: ov.Model) -> None:
        for node in model.get_ordered_ops():
            self._node(node)

    def _node(self, node: ov.Node) -> None:
        kind = node.get_type_name()
        if kind in ("Constant", "Parameter", "Result"):
            return
        if kind == "Assign":
            self._store(node)
        elif kind == "ReadValue":
            self._say(node.output(0), partial(self._read, node))
        elif node.get_name() in self._drawings:
            self._draw(node)
        elif bodies(node):
            self._go_inside(node)
        elif is_ours(node):
            self._ours(node)
        else:
            self._plain(node, kind)

    def _store(self, node: ov.Node) -> None:
        name = _variable(node)
        culprit = Culprit(_label(node), "stores rows in another place than an earlier run did")
        given = self._of(node.input_value(0))
        stored = self._stored.get(name, given)
        self._say(node.output(0), partial(either, [stored, given], culprit))
        by_place = Culprit(_label(node), f"stores them with {BY_PLACE}", Remedy.NUMBERS)
        self._say(node.output(0), partial(each_own, self._of(node.output(0)), by_place))
        kept = self._of(node.output(0))
        if kept.resized is None and self._is_sized_by_batch(node.input_value(0), kept):
            kept = replace(kept, resized=Culprit(_label(node), _STORES_SIZE))
        self._stored[name] = kept

    def _is_sized_by_batch(self, value: ov.Output, known: Knowledge) -> bool:
        """Whether the number of rows is a number in a tensor, or the size of another dimension."""
        along = {place.axis for place in known.places}
        dims = self._symbols.of(value) or ()
        said = [d for axis, d in enumerate(dims) if axis not in along]
        if not known.is_placed:
            said += self._symbols.contents(value) or ()
        made_of = self._symbols.products.made_of
        return any(self._batch in (made_of(each) or ()) for each in said)

    def _read(self, node: ov.Node) -> Knowledge:
        """What is known of a variable: of its first value, or of what an earlier run has stored."""
        initial = [self._of(value) for value in node.input_values()]
        name = _variable(node)
        if name not in self._stored:
            return initial[0] if initial else FREE
        culprit = Culprit(_label(node), "has rows in another place than an earlier run stored")
        return either([*initial, self._stored[name]], culprit)

    def _plain(self, node: ov.Node, kind: str) -> None:
        given = [self._of(value) for value in node.input_values()]
        if all(known is FREE for known in given) and kind != "ShapeOf":
            is_random = randomness_of(kind) is not None
            for output in node.outputs():
                self._known.pop(output, None)
                if is_random:
                    self._known[output] = replace(FREE, is_of_batch=True)
            return
        step = self._step(node)
        rule = dimension_rules.RULES.get(kind)
        for index, output in enumerate(node.outputs()):
            if rule is None:
                self._say(output, partial(self._unknown, step))
                continue
            meeting = dimension_rules.meeting_of(kind)
            first = node.input_value(0).get_node().get_friendly_name()
            deed = dimension_rules.deed_of(kind, first)
            self._say(output, partial(moves.apply, rule, step, index, meeting, deed))
            known = self._of(output)
            if known.is_of_batch and not known.is_placed and self._is_without_batch(output):
                self._known[output] = replace(known, is_of_batch=False)

    def _is_without_batch(self, value: ov.Output) -> bool:
        """Whether a tensor is numbers of which it is known that none is made of the batch."""
        made = self._symbols.contents(value)
        if made is None:
            return False
        may_depend = self._symbols.products.may_depend
        return not any(may_depend(each, self._batch) for each in made if isinstance(each, str))

    def _step(self, node: ov.Node) -> Step:
        known = [self._of(value) for value in node.input_values()]
        return step_of(node, known, self._symbols.sizes, self._batch, self._is_alike, self._at_home)

    def _draw(self, node: ov.Node) -> None:
        name = node.get_name()
        drawing = self._drawings[name]
        step = self._step(node)
        like = FREE if drawing.like is None else self._of(drawing.like)
        said = step.known[0] or FREE
        resized = None
        if drawing.is_said_unknown and not said.is_placed and said.rows:
            resized = step.culprit("draws in a shape that depends on what the inputs' rows hold")
        places = self._judge(drawing, step, like, resized)
        self.places[name] = [place for place, _ in places]
        for index, output in enumerate(node.outputs()):
            if index and not drawing.is_mask(index):
                self._known[output] = replace(FREE, is_of_batch=True)
            elif len(places) != 1:
                self._known[output] = not_in_rows(step)
            else:
                ((place, standing),) = places
                noise = drawing.noise(standing)
                parts = _no_parts if index else partial(drawing.parameters, step, place.rank)
                self._say(output, partial(self._met, step, noise, place.rank, parts))
        self._draws(drawing, step, drawing.numbers)

    def _ours(self, node: ov.Node) -> None:
        """A node of this package that has a state: it draws a row for each."""
        step = self._step(node)
        declared = OPERATORS[node.get_type_name()].inputs
        given = state_of(node)
        state = FREE if given is None else self._of(given)

        def parts() -> Sequence[Part]:
            return parameters_of(step, declared, step.rank_made(0))

        *outputs, next_state = node.outputs()
        for output in outputs:
            self._say(output, partial(self._drawn_by_states, step, state, parts))
        self._known[next_state] = state

    def _go_inside(self, node: ov.Node) -> None:
        if node.get_type_name() == "If":
            self._if(node)
        else:
            self._loop(node)

    def _if(self, node: ov.Node) -> None:
        is_of_batch = self._of(node.input_value(0)).is_of_batch
        culprit = Culprit(_label(node), "has rows in different places in its branches")
        ends: dict[int, list[ov.Output]] = {}
        for index, (_, body) in enumerate(bodies(node)):
            given, made = descriptions(node, index)
            inner, results = body.get_parameters(), body.get_results()
            for each in given:
                value = node.input_value(each.input_index)
                parameter = inner[each.body_parameter_index].output(0)
                self._known[parameter] = self._of(value)
                self._outside[parameter] = value
            self._body(body)
            for each in made:
                end = results[each.body_value_index].input_value(0)
                ends.setdefault(each.output_index, []).append(end)
        for index, values in ends.items():
            output = node.output(index)
            self._say(output, partial(either, [self._of(value) for value in values], culprit))
            self._size(node, output, values)
            if is_of_batch:
                self._count(node, output, values)

    def _size(self, node: ov.Node, value: ov.Output, before: Iterable[ov.Output]) -> None:
        """Notes that a value that is one of some may have a dimension as long as the batch."""
        dims = self._symbols.of
        products = self._symbols.products
        shapes = [dims(each) for each in before]
        known = self._of(value)
        known = of_several_sizes(known, dims(value), shapes, products, self._batch, _label(node))
        if known is not FREE:
            self._known[value] = known

    def _count(self, node: ov.Node, output: ov.Output, before: Iterable[ov.Output]) -> None:
        """Notes that the batch says which branch gives an output, or how often a body runs."""
        known, label = self._of(output), _label(node)
        is_number = is_small(output) and not known.is_placed
        known = counted(
            known,
            self._symbols.of(output),
            [self._symbols.of(value) for value in before],
            self._symbols.products,
            label,
            says_sizes=is_number and self._symbols.contents(output) is None,
        )
        self._say(output, partial(self._goes_by, known, label, *_deciding(node)))

    def _loop(self, node: ov.Node) -> None:
        ((_, body),) = bodies(node)
        given, made = descriptions(node, 0)
        inner, results = body.get_parameters(), body.get_results()
        one_by_one = Culprit(_label(node), "goes through the rows one by one")
        moved = Culprit(_label(node), "has rows in another place after an iteration")
        carried: dict[int, tuple[ov.Output, ov.Output]] = {}
        for each in given:
            value = node.input_value(each.input_index)
            parameter = inner[each.body_parameter_index].output(0)
            if isinstance(each, util.SliceInputDescription):
                self._say(parameter, partial(self._slice, value, each.axis, one_by_one))
            else:
                self._known[parameter] = self._of(value)
            if isinstance(each, util.InvariantInputDescription):
                self._outside[parameter] = value
            if isinstance(each, util.MergedInputDescription):
                carried[each.body_value_index] = (parameter, value)
        for _ in self._rounds(len(carried)):
            for index, (parameter, value) in carried.items():
                self._size(node, parameter, [value, results[index].input_value(0)])
            self._body(body)
            is_same = True
            for index, (parameter, _) in carried.items():
                before = self._of(parameter)
                back = results[index].input_value(0)
                pair = [before, self._of(back)]
                self._say(parameter, partial(either, pair, moved))
                is_same = is_same and self._of(parameter) == before
            if is_same:
                break
        else:
            self._give_up(_label(node), [parameter for parameter, _ in carried.values()])
            self._body(body)
            self._give_up(_label(node), [results[index].input_value(0) for index in carried])
        # A TensorIterator takes as many slices as there are.
        sliced = [each for each in given if isinstance(each, util.SliceInputDescription)]
        values = [(node.input_value(each.input_index), each.axis) for each in sliced]
        is_counted = any(self._of(v).is_of_batch and self._has_batch(v, axis) for v, axis in values)
        if node.get_type_name() == "Loop":
            is_counted = self._is_counted(node, body)
        for each in made:
            output = node.output(each.output_index)
            end = results[each.body_value_index].input_value(0)
            if isinstance(each, util.ConcatOutputDescription):
                # The body gives one slice, or the rank tells no more than that.
                self._say(output, partial(self._slice, end, each.axis, one_by_one))
            elif each.body_value_index in carried:
                _, initial = carried[each.body_value_index]
                pair = [self._of(initial), self._of(end)]
                self._say(output, partial(either, pair, moved))
                self._size(node, output, [initial, end])
            else:
                self._known[output] = self._of(end)
            if is_counted:
                self._count(node, output, node.input_values())

    def _slice(self, value: ov.Output, axis: int, culprit: Culprit) -> Knowledge:
        """What is known of slices of one element along a dimension, which stays, or of all."""
        known = self._of(value)
        dims = self._symbols.of(value)
        if known.places and axis < 0 and dims is None:
            # Nobody knows which dimension that is.
            return lost(culprit, [known])
        along = axis if dims is None or axis >= 0 else axis + len(dims)
        if any(place.axis == along for place in known.places):
            return lost(culprit, [known])
        if known.is_of_batch and not known.is_placed and self._has_batch(value, axis):
            # How many slices come before a row's element then depends on the batch.
            known = known.counted()
        return replace(known, lines=frozenset(), margins=frozenset())


def _deciding(node: ov.Node) -> tuple[str, list[tuple[str, ov.Output | None]]]:
    """What an If or a loop does by numbers, and the tensors that are these, with their names."""
    if node.get_type_name() == "If":
        return "chooses a branch by", [_with_name(node.input_value(0))]
    values = node.input_values()
    if node.get_type_name() == "Loop":
        ((_, body),) = bodies(node)
        _, condition = node.get_special_body_ports()
        goes_on = body.get_results()[condition].input_value(0)
        values = [node.input_value(0), node.input_value(1), goes_on]
    return "runs its body as often as is said by", [_with_name(value) for value in values]


def _with_name(value: ov.Output) -> tuple[str, ov.Output | None]:
    return value.get_node().get_friendly_name(), value


def _no_parts() -> Sequence[Part]:
    """A mask meets no input of its node."""
    return []


def _label(node: ov.Node) -> str:
    return f"{node.get_friendly_name()!r} ({node.get_type_name()})"


def _variable(node: ov.Node) -> str:
    """The variable that a node reads or writes."""
    return str(node.get_attributes()["variable_id"])
