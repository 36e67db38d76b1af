"""Finds the random nodes of a model of OpenVINO, and reads what they say."""

from __future__ import annotations

from dataclasses import replace

import openvino as ov

from onnx_philox._openvino_models import openvino_graphs
from onnx_philox._rewriting.found import Irreplaceable, MayStayError
from onnx_philox._rewriting.in_openvino import openvino_patterns, replacements
from onnx_philox._rewriting.in_openvino.draw_openvino_inputs import drawn_input_number
from onnx_philox._rewriting.in_openvino.openvino_site import Site, site_of
from onnx_philox._rewriting.in_openvino.replacements import NewDraw, UniformNode
from onnx_philox._rewriting.random_names import randomness_of
from onnx_philox._rewriting.shares import INLINED

_UNIFORM = "RandomUniform"
_MULTINOMIAL = "Multinomial"
RANDOM_OPERATORS = (_UNIFORM, _MULTINOMIAL)
"""All of OpenVINO's own."""


Found = NewDraw | Irreplaceable


def find_nodes(model: ov.Model, *, keep_seeds: bool = False) -> list[Found]:
    """What becomes of each random node of a model, in the order of their streams; changes nothing.

    First those that converters made, in the order of the program, then others, depth first. Of a
    draw that is made of several nodes the first is listed. With `keep_seeds` uniform numbers keep
    their own seeds.
    """
    sites = []
    for node, owners in openvino_graphs.walk(model):
        if _is_random(node):
            sites.append(site_of(node, owners))
    sites.sort(key=_order)
    read = [_read(site, keep_seeds=keep_seeds) for site in sites]
    # A pair that keeps its seeds stays two uniforms: their numbers are documented, a normal's not.
    others = []
    for each in read:
        if isinstance(each, UniformNode) and each.seeds is None:
            if not openvino_graphs.awaits_state(each.site.node):
                others.append(each)
    normals = openvino_patterns.normals(others)
    found: list[Found] = []
    covered: set[str] = set()
    for site, each in zip(sites, read, strict=True):
        name = site.node.get_name()
        if name in covered:
            continue
        if isinstance(each, UniformNode):
            normal = normals.get(name)
            each = _of_one(each) if normal is None else replace(normal, site=site)
        if isinstance(each, NewDraw):
            if replacements.inlined_comparison(site.node) is not None:
                each = replace(each, share=INLINED)
            covered |= each.covered
            each = replace(each, same=site.seeded if keep_seeds else None)
        found.append(each)
    return found


def _of_one(uniform: UniformNode) -> NewDraw:
    """What a uniform number becomes that is no part of a normal one."""
    if uniform.generator.is_named:
        # It draws booleans by another rule.
        return uniform.draw()
    draw = openvino_patterns.comparison(uniform)
    if uniform.seeds is not None:
        # The same words, and so the same booleans; integers would be others.
        if draw is None:
            return uniform.draw()
        return replace(draw, seeds=uniform.seeds)
    if draw is None and not openvino_graphs.awaits_state(uniform.site.node):
        # A module's own integers are rounded floats, as in its file of ONNX.
        draw = openvino_patterns.integers(uniform)
    return draw or uniform.draw()


def _is_random(node: ov.Node) -> bool:
    kind = node.get_type_name()
    if openvino_graphs.opset_of(node) is not None:
        return kind in RANDOM_OPERATORS
    if openvino_graphs.is_ours(node):
        return openvino_graphs.lacks_state(node) or (
            openvino_graphs.awaits_state(node) and not openvino_graphs.is_shape_alone(node)
        )
    return randomness_of(kind) is not None


def _order(site: Site) -> tuple[int, int]:
    """What sorts a random node.

    1. Those that a conversion numbered, in its order.
    2. Those of the model.
    3. Inputs that have become draws, in the order of the option.
    """
    number = drawn_input_number(site.node)
    if number is not None:
        return 3, number
    if openvino_graphs.awaits_state(site.node):
        return 1, int(site.node.get_attributes()["op_seed"])
    return 2, 0


def _read(site: Site, *, keep_seeds: bool) -> UniformNode | Found:
    """What a node says, or why it cannot be replaced."""
    node = site.node
    kind = node.get_type_name()
    try:
        if openvino_graphs.lacks_state(node):
            return replacements.without_state(site)
        if openvino_graphs.is_ours(node) and kind != _UNIFORM:
            return replacements.awaiting(site)
        if openvino_graphs.is_ours(node):
            replacements.refuse_wide_bernoulli(site)
        elif openvino_graphs.opset_of(node) is None:
            given = f"{kind}, {randomness_of(kind)}"
            allowed = f"a random operator of OpenVINO ({', '.join(RANDOM_OPERATORS)})"
            remedy = "Convert the model with one of these"
            raise MayStayError(site.title, "the operator", given, allowed, remedy)
        elif kind == _MULTINOMIAL:
            return replacements.categorical(site)
        return UniformNode.read(site, keep_seeds=keep_seeds)
    except (TypeError, ValueError) as error:
        return Irreplaceable.of(site, error)
