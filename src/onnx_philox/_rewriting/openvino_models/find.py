"""Finds the random nodes of a model of OpenVINO, and reads what they say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import openvino as ov

from onnx_philox._contract.refusal import TypeRefusalError, ValueRefusalError
from onnx_philox._rewriting.openvino_models import patterns, replacements
from onnx_philox._rewriting.openvino_models.graphs import (
    awaits_state,
    is_ours,
    opset_of,
    walk,
)
from onnx_philox._rewriting.openvino_models.replacements import Draw, Uniform
from onnx_philox._rewriting.openvino_models.site import Site
from onnx_philox._rewriting.random_nodes.foreign import randomness_of
from onnx_philox._rewriting.random_nodes.may_stay import MayStayError
from onnx_philox._rewriting.report import RandomNode

_UNIFORM, _MULTINOMIAL = "RandomUniform", "Multinomial"
RANDOM_OPERATORS = (_UNIFORM, _MULTINOMIAL)
"""All of OpenVINO's own."""


@dataclass(frozen=True)
class Found:
    """A random node, and what replaces it or why nothing does."""

    site: Site
    draw: Draw | None
    error: ValueError | TypeError | None = None

    def record(self, stream: int | None = None) -> RandomNode:
        """The line of a report."""
        if self.draw is None:
            output = self.site.node.output(0)
            return self.site.record(output, None, None, None, self.error)
        operator, type_ = self.draw.operator.name, self.draw.output_type
        return self.site.record(self.draw.output, type_, operator, stream, None)


def find_nodes(model: ov.Model) -> list[Found]:
    """What becomes of each random node of a model, in the order of their streams; changes nothing.

    First those that converters made, in the order of the program, then others, depth first. Of a
    draw that is made of several nodes the first is listed.
    """
    sites = [Site(node, owners) for node, owners in walk(model) if _is_random(node)]
    sites.sort(key=_order)
    read = [_read(site) for site in sites]
    others = (each for each in read if isinstance(each, Uniform))
    normals = patterns.normals(u for u in others if not awaits_state(u.site.node))
    return list(_without_repeats(sites, read, normals))


def _without_repeats(
    sites: list[Site], read: list[Uniform | Draw | Exception], normals: dict[str, Draw]
) -> Iterator[Found]:
    covered: set[str] = set()
    for site, each in zip(sites, read, strict=True):
        name = site.node.get_name()
        if name in covered:
            continue
        if isinstance(each, (ValueError, TypeError)):
            yield Found(site, None, each)
            continue
        if isinstance(each, Uniform):
            draw = normals.get(name) or patterns.comparison(each)
            if draw is None and not awaits_state(site.node):
                # A module's own integers are rounded floats, as in its file of ONNX.
                draw = patterns.integers(each)
            draw = draw or each.draw()
        else:
            assert isinstance(each, Draw)
            draw = each
        covered |= draw.covered
        yield Found(site, draw)


def _is_random(node: ov.Node) -> bool:
    kind = node.get_type_name()
    if opset_of(node) is not None:
        return kind in RANDOM_OPERATORS
    if is_ours(node):
        return awaits_state(node)
    return randomness_of(kind, is_of_torch=False) is not None


def _order(site: Site) -> tuple[bool, int]:
    """What sorts a random node: the number of its conversion, if it has one."""
    if not awaits_state(site.node):
        return True, 0
    return False, int(site.node.get_attributes()["op_seed"])


def _read(site: Site) -> Uniform | Draw | Exception:
    """What a node says; an error that says why it cannot be replaced."""
    node = site.node
    kind = node.get_type_name()
    if not is_ours(node) and opset_of(node) is None:
        said = randomness_of(kind, is_of_torch=False)
        return MayStayError(
            site.title,
            "the operator",
            f"{kind}, {said}",
            f"a random operator of OpenVINO ({', '.join(RANDOM_OPERATORS)})",
            "Convert the model with one of these",
        )
    try:
        if kind == _UNIFORM:
            return Uniform.read(site)
        return replacements.awaiting(site) if is_ours(node) else replacements.categorical(site)
    except (TypeRefusalError, ValueRefusalError) as error:
        # The declaration's own checks do not know the node's place.
        return error if error.operator == site.title else error.within(site.title)
    except (TypeError, ValueError) as error:
        return type(error)(f"{site.title}: {error}")
