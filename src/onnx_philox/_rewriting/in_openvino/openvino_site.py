"""Where a random node stands in a model of OpenVINO."""

from __future__ import annotations

import math

import openvino as ov

from onnx_philox._contract.operators import DOMAIN, OPSET_VERSION
from onnx_philox._openvino_models.openvino_graphs import Owner, is_ours, label, opset_of, own_seeds
from onnx_philox._rewriting import found
from onnx_philox._rewriting.kept_seeds import seeds_in_words
from onnx_philox._rewriting.seeded import Seeded, Size

Site = found.Site[ov.Node, Owner]


def site_of(node: ov.Node, owners: tuple[Owner, ...]) -> Site:
    """The place of a node."""
    opset = opset_of(node)
    domain = ""
    seeds = own_seeds(node)
    if is_ours(node):
        opset = OPSET_VERSION
        domain = DOMAIN
    elif opset is None:
        # Of an operator of others, what OpenVINO calls its version.
        domain = str(node.get_type_info().version_id)
    return Site(
        node,
        owners,
        label(node),
        name=node.get_friendly_name(),
        op_type=node.get_type_name(),
        domain=domain,
        version=opset,
        outputs=names_of(node.output(0)),
        seeds=seeds,
        explicit_seed=None if seeds is None or is_ours(node) else seeds_in_words(*seeds),
        seeded=None if seeds is None or is_ours(node) else _seeded(node, owners, seeds),
    )


def _seeded(
    node: ov.Node,
    owners: tuple[Owner, ...],
    seeds: tuple[int, int],
) -> Seeded:
    """What OpenVINO makes of the seeds of a node; they are compared as they are."""
    said = node.get_attributes()
    place = tuple(owner.label for owner in owners)
    if node.get_type_name() == "Multinomial":
        # Each run draws the same; the first samples agree, whatever their number and type.
        way = "with" if said["with_replacement"] else "without"
        return Seeded(seeds, f"Multinomials {way} replacement", "Multinomials", place)
    kind = f"uniforms of {node.get_element_type().get_type_name()}"
    return Seeded(seeds, f"{kind}, {said['alignment']}", kind, place, _size(node))


def _size(node: ov.Node) -> Size:
    """How many elements a RandomUniform draws."""
    shape = node.get_output_partial_shape(0)
    if shape.is_static:
        return Size(math.prod(shape.to_shape()))
    told = node.input_value(0)
    while told.get_node().get_type_name() == "Convert":
        told = told.get_node().input_value(0)
    is_shape = told.get_node().get_type_name() == "ShapeOf"
    what = "the elements of" if is_shape else "the product of"
    value = told.get_node().input_value(0) if is_shape else told
    return Size(1, (f"{what} {value.get_node().get_friendly_name()}.{value.get_index()}",))


def names_of(output: ov.Output) -> tuple[str, ...]:
    """What a report calls an output."""
    return tuple(sorted(output.get_names())) or (output.get_node().get_friendly_name(),)
