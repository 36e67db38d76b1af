"""Where a random node stands in a model of OpenVINO."""

from __future__ import annotations

import openvino as ov

from onnx_philox._contract.operators import DOMAIN, OPSET_VERSION
from onnx_philox._openvino_models.graphs import Owner, is_ours, label, opset_of, own_seeds
from onnx_philox._rewriting import found
from onnx_philox._rewriting.kept_seeds import seeds_in_words

Site = found.Site[ov.Node, Owner]


def site_of(node: ov.Node, owners: tuple[Owner, ...]) -> Site:
    """The place of a node."""
    opset, domain, seeds = opset_of(node), "", own_seeds(node)
    if is_ours(node):
        opset, domain = OPSET_VERSION, DOMAIN
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
    )


def names_of(output: ov.Output) -> tuple[str, ...]:
    """What a report calls an output."""
    return tuple(sorted(output.get_names())) or (output.get_node().get_friendly_name(),)
