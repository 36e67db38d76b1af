"""Shapes in terms of the names of the inputs' dimensions.

`shape_walk.py` finds them, except what a Loop carries: that is found by induction, since a body
may change the shapes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType

import onnx_ir as ir

from onnx_philox._models import onnx_graphs
from onnx_philox._rewriting.in_onnx.random_nodes.site import check_schemas
from onnx_philox._rewriting.in_onnx.rows.shape_walk import Assumed, Walk
from onnx_philox._rewriting.in_onnx.rows.shapes_of_outputs import common
from onnx_philox._rewriting.places import Dimension, Dimensions, Products

_AS_THEY_ARE: Mapping[tuple[str, int], str] = MappingProxyType({})


class SymbolicShapes:
    """The shape of each value of a model; leaves the model itself as it is.

    Shapes that it declares count as far as they use names of its inputs' dimensions; all other
    names say nothing.

    Args:
        model: The model.
        renamed: What to call dimensions of inputs instead: by the input's name, and which one.

    Raises:
        TypeError, ValueError: A node is not as its operator declares it.
    """

    def __init__(self, model: ir.Model, renamed: Mapping[tuple[str, int], str] = _AS_THEY_ARE):
        check_schemas(model)
        self._inputs = _inputs(model, renamed)
        names = {d for dims in self._inputs.values() for d in dims if isinstance(d, str)}
        self._products = Products(names)
        walk = functools.partial(Walk, model, self._inputs, self._products)
        self._walk = _by_induction(walk)

    def of(self, value: ir.Value) -> Dimensions | None:
        """The dimensions of a value; None where not even their number is known."""
        dims = self._walk.dimensions(value)
        return None if dims is None else tuple(map(self._products.of_inputs, dims))

    @property
    def products(self) -> Products:
        """Those of the inputs' dimensions."""
        return self._products

    @property
    def walk(self) -> Walk:
        """What is known of the values of a graph or function: see `Walk.enter`."""
        return self._walk

    def has(self, dimension: Dimension, name: str) -> bool:
        """Whether a dimension is a product with that of an input."""
        return self._products.has(dimension, name)


def _inputs(model: ir.Model, renamed: Mapping[tuple[str, int], str]) -> dict[ir.Value, Dimensions]:
    """The shapes of the inputs, each of whose dimensions has a number or a name."""
    taken = {
        d.value
        for graph in model.graphs()
        for value in onnx_graphs.values(graph)
        for d in value.shape or ()
        if isinstance(d, ir.SymbolicDim)
    }
    shapes = {}
    for value in model.graph.inputs:
        if value.shape is None:
            continue
        dims: list[Dimension] = []
        for axis, d in enumerate(value.shape):
            name = renamed.get((value.name or "", axis), d if isinstance(d, int) else d.value)
            if name is None:
                name = f"{value.name}.shape[{axis}]"
                while name in taken:
                    name += "_"
            dims.append(name)
        shapes[value] = tuple(dims)
    return shapes


def _by_induction(walk: Callable[[Assumed], Walk]) -> Walk:
    """Finds what Loops carry.

    It assumes first that no Loop changes a dimension. Then, as long as what goes into a Loop or
    what its body returns does not bear this out, it forgets that dimension and walks again.
    """
    assumed: dict[ir.Value, Dimensions] = {}
    found = walk(assumed)
    loops = found.carried
    # What goes into a Loop in a Loop is known only after the outer one's is assumed.
    for _ in loops:
        before = assumed
        shapes = [(c.given, found.dimensions(c.initial)) for c in loops]
        assumed = {given: dims for given, dims in shapes if dims is not None}
        if assumed == before:
            break
        found = walk(assumed)
    while assumed:
        kept = {
            c.given: common(
                assumed[c.given],
                found.dimensions(c.initial),
                found.dimensions(c.returned),
            )
            for c in loops
            if c.given in assumed
        }
        if kept == assumed:
            break
        assumed = kept
        found = walk(assumed)
    return found
