"""Whether how often a body of a model of OpenVINO's runs depends on the batch, or may."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import openvino as ov
from openvino.op import util

from onnx_philox._openvino_models.graphs import Owner, bodies, is_ours
from onnx_philox._rewriting.in_openvino.symbols import Symbols, descriptions, known_numbers
from onnx_philox._rewriting.random_names import randomness_of

_Placed = tuple[ov.Output, int]
"""A tensor, and how many bodies it is in."""


class BatchDependence:
    """What depends on the dimension of a name, for nodes in the bodies of `owners`."""

    def __init__(self, symbols: Symbols, batch: str, owners: Sequence[Owner]) -> None:
        self._symbols = symbols
        self._batch = batch
        self._owners = owners

    def of_how_often(self, index: int) -> bool:
        """Whether how often the body of an owner runs may depend on it."""
        owner = self._owners[index]
        node, kind = owner.node, owner.node.get_type_name()
        if kind == "TensorIterator":
            given = node.get_input_descriptions()
            cut = [each for each in given if isinstance(each, util.SliceInputDescription)]
            return any(self._has_batch(node.input_value(c.input_index), c.axis) for c in cut)
        left = [(node.input_value(0), index)]
        if kind == "Loop":
            _, condition = node.get_special_body_ports()
            goes_on = owner.body.get_results()[condition].input_value(0)
            left += [(node.input_value(1), index), (goes_on, index + 1)]
        seen: set[_Placed] = set()
        while left:
            each = left.pop()
            if each in seen:
                continue
            seen.add(each)
            before = self._before(*each)
            if before is None:
                return True
            left += before
        return False

    def _before(self, value: ov.Output, depth: int) -> list[_Placed] | None:
        """What a tensor is computed from; None where it may depend on the batch."""
        node = value.get_node()
        kind = node.get_type_name()
        if _is_random(node):
            return None
        if known_numbers(value) is not None:
            return []
        if kind == "Parameter" and depth:
            return list(self._given(self._owners[depth - 1], node, depth))
        if kind in ("Parameter", "ShapeOf"):
            given = value if kind == "Parameter" else node.input_value(0)
            return None if self._has_batch(given) else []
        # What bodies compute, they compute of these inputs and of their sizes.
        if bodies(node) and any(map(self._has_batch, node.input_values())):
            return None
        return [(given, depth) for given in node.input_values()]

    def _given(self, owner: Owner, parameter: ov.Node, depth: int) -> Iterator[_Placed]:
        """What a body is given from outside, and by the iteration before."""
        inner, results = owner.body.get_parameters(), owner.body.get_results()
        for each in descriptions(owner.node, owner.index)[0]:
            if inner[each.body_parameter_index].get_name() == parameter.get_name():
                yield owner.node.input_value(each.input_index), depth - 1
                if isinstance(each, util.MergedInputDescription):
                    yield results[each.body_value_index].input_value(0), depth

    def _has_batch(self, value: ov.Output, *axes: int) -> bool:
        dims = self._symbols.of(value)
        if dims is None:
            return True
        chosen = [dims[axis] for axis in axes] if axes else dims
        return any(self._symbols.products.may_depend(d, self._batch) for d in chosen)


def _is_random(node: ov.Node) -> bool:
    """Whether a node draws, or one in its bodies does."""
    is_one = is_ours(node) or randomness_of(node.get_type_name()) is not None
    return is_one or any(_is_random(n) for _, body in bodies(node) for n in body.get_ops())
