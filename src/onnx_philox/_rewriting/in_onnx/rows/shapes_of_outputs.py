"""The shapes that integers say: what ONNX's own inference does not follow."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as ir

from onnx_philox._contract.declaration import Role
from onnx_philox._contract.operators import DOMAIN, OPERATORS
from onnx_philox._models import onnx_graphs
from onnx_philox._models.constants import constant
from onnx_philox._rewriting.in_onnx.random_nodes import tensorflow_random_nodes
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import MICROSOFT, input_at
from onnx_philox._rewriting.in_onnx.rows import fused_rules, node_rules
from onnx_philox._rewriting.in_onnx.rows.dimensions import Arithmetic
from onnx_philox._rewriting.places import Dimension, Dimensions, Products
from onnx_philox._rewriting.rows.rules import is_whole

# What TensorFlow draws of a shape for each number of another input.
_FOR_EACH_NUMBER = ("gamma", "poisson")
# What a Resize says that makes its sizes depend on a part that it takes, or on each other.
_CROPS = "tf_crop_and_resize"


class ShapeRules:
    """Finds the shape of a node's first output by the integers that it is given."""

    def __init__(
        self,
        products: Products,
        numbers: Arithmetic,
        dimensions: Callable[[ir.Value | None], Dimensions | None],
    ) -> None:
        self._products = products
        self._numbers = numbers
        self._dimensions = dimensions

    def of(self, node: ir.Node) -> Dimensions | None:
        """The shape of an output that integers say; None for other nodes."""
        if node.domain == MICROSOFT:
            given = [self._dimensions(value) for value in node.inputs]
            return fused_rules.shape_of(
                node.op_type,
                given,
                lambda name: node.attributes.get_int(name, 0),
            )
        is_standard = node.domain in onnx_graphs.STANDARD_DOMAINS
        if not is_standard or tensorflow_random_nodes.is_known(node):
            return self._of_draw(node)
        match node.op_type:
            case "ConstantOfShape":
                return self._said_by(node.inputs[0])
            case "Concat":
                return self._joined(node)
            case "Expand":
                return self._expanded(node)
            case "OneHot":
                return self._one_hot(node)
            case "Reshape":
                return self._reshaped(node)
            case "Flatten":
                return self._flattened(node)
            case "Range":
                return self._counted(node)
            case "Pad":
                return self._padded(node)
            case "Resize" | "Upsample":
                return self._resized(node)
            case "ConcatFromSequence":
                return self._put_together(node)
            case "Slice":
                return self._sliced(node)
            case "Tile":
                return self._tiled(node)
        return None

    def _said_by(self, shape: ir.Value | None) -> Dimensions | None:
        """The dimensions that a vector of integers says; below 0 one means nothing."""
        if shape is None:
            return None
        numbers = self._numbers.of(shape)
        if numbers is not None and numbers.ndim == 1:
            return tuple(None if isinstance(d, int) and d < 0 else d for d in numbers)
        match self._dimensions(shape):
            case (int(length),):
                return (None,) * length
        return None

    def _of_draw(self, node: ir.Node) -> Dimensions | None:
        """The shape of a draw that ONNX does not know, ours or TensorFlow's."""
        if not node.inputs:
            return None
        if node.domain == DOMAIN and node.op_type in OPERATORS:
            operator = OPERATORS[node.op_type]
            logits = node.inputs[operator.inputs.index(operator.size_input)]
            if operator.has_shape:
                return self._said_by(logits)
            if operator.size_input.role is Role.DATA:
                return self._dimensions(logits)
            samples: Dimension = node.attributes.get_int("sample_size", 1)
        elif tensorflow_random_nodes.is_known(node):
            if tensorflow_random_nodes.is_shuffle(node):
                return self._dimensions(node.inputs[0])
            kind = tensorflow_random_nodes.KINDS[node.op_type]
            if kind in _FOR_EACH_NUMBER:
                return self._for_each_number(node)
            if kind != "categorical":
                return self._said_by(node.inputs[0])
            logits = node.inputs[0]
            count = input_at(node, 1)
            array = None if count is None else constant(count)
            samples = None if array is None or array.size != 1 else int(array.item())
        else:
            return None
        rows = self._dimensions(logits)
        return (rows[0] if rows else None, samples)

    def _for_each_number(self, node: ir.Node) -> Dimensions | None:
        """The first input's shape, once for each number of the second."""
        said = self._said_by(node.inputs[0])
        numbers = self._dimensions(input_at(node, 1))
        return None if said is None or numbers is None else (*said, *numbers)

    def _expanded(self, node: ir.Node) -> Dimensions | None:
        shape = self._said_by(node.inputs[1])
        given = self._dimensions(onnx_graphs.input_of(node, 0))
        if shape is None or given is None:
            return None
        rank = max(len(shape), len(given))
        columns = [(1,) * (rank - len(dims)) + dims for dims in (given, shape)]
        return tuple(self._broadcast(d, e) for d, e in zip(*columns, strict=True))

    def _broadcast(self, d: Dimension, e: Dimension) -> Dimension:
        """The dimension that two give together."""
        if d == e or e == 1:
            return d
        if d == 1:
            return e
        numbers = [n for n in (d, e) if isinstance(n, int)]
        return numbers[0] if numbers else self._products.computed(("Expand", d, e), [d, e])

    def _reshaped(self, node: ir.Node) -> Dimensions | None:
        shape = self._said_by(input_at(node, 1))
        given = self._dimensions(onnx_graphs.input_of(node, 0))
        if shape is None:
            return None
        known = dict(enumerate(given or ()))
        copies = not node.attributes.get_int("allowzero", 0)
        dims = [known.get(axis) if copies and d == 0 else d for axis, d in enumerate(shape)]
        if given is not None and None in dims:
            # That of -1, or of what is not known: all others leave only one.
            rest = dims.index(None)
            others = (d for axis, d in enumerate(dims) if axis != rest)
            dims[rest] = self._products.quotient(given, others)
        return tuple(dims)

    def _flattened(self, node: ir.Node) -> Dimensions | None:
        given = self._dimensions(onnx_graphs.input_of(node, 0))
        axis = node.attributes.get_int("axis", 1)
        if given is None or axis not in range(-len(given), len(given) + 1):
            return None
        if axis < 0:
            axis += len(given)
        return self._products.of(given[:axis]), self._products.of(given[axis:])

    def _counted(self, node: ir.Node) -> Dimensions | None:
        """Of 0, 1, 2 ... up to a dimension; ONNX knows the other ones."""
        numbers = [self._numbers.of(value) for value in node.inputs]
        start, limit, step = (None if n is None else n.item() for n in numbers)
        return (limit,) if (start, step) == (0, 1) and isinstance(limit, str) else None

    def _joined(self, node: ir.Node) -> Dimensions | None:
        """Of a Concat: the sum of what it joins."""
        shapes = [self._dimensions(value) for value in node.inputs]
        given = [shape for shape in shapes if shape is not None]
        axis = node.attributes.get_int("axis", 1)
        if len(given) < len(node.inputs) or len({len(dims) for dims in given}) != 1:
            return None
        rank = len(given[0])
        if axis not in range(-rank, rank):
            return None
        dims: list[Dimension] = list(common(*given))
        dims[axis] = self._products.sum([each[axis] for each in given])
        return tuple(dims)

    def _one_hot(self, node: ir.Node) -> Dimensions | None:
        given = self._dimensions(node.inputs[0])
        depth = self._numbers.of(input_at(node, 1))
        if given is None or depth is None or depth.size != 1:
            return None
        axis = node.attributes.get_int("axis", -1) % (len(given) + 1)
        return (*given[:axis], depth.reshape(-1)[0], *given[axis:])

    def _padded(self, node: ir.Node) -> Dimensions | None:
        """Of a Pad of all dimensions: those to which it adds nothing."""
        given = self._dimensions(onnx_graphs.input_of(node, 0))
        pads = self._numbers.said_by(input_at(node, 1))
        if given is None or pads is None or len(pads) != 2 * len(given):
            return None
        sums = zip(given, pads[: len(given)], pads[len(given) :], strict=True)
        return tuple(self._products.sum([d, before + behind]) for d, before, behind in sums)

    def _resized(self, node: ir.Node) -> Dimensions | None:
        """Of a Resize: the dimensions that it leaves as they are, or whose size it is given."""
        given = self._dimensions(onnx_graphs.input_of(node, 0))
        if given is None or node.attributes.get_string("coordinate_transformation_mode") == _CROPS:
            return None
        axes = list(node.attributes.get_ints("axes", range(len(given))))
        if any(axis not in range(-len(given), len(given)) for axis in axes):
            return None
        dims = list(given)
        for axis in axes:
            # ONNX says how long it is, if it can.
            dims[axis] = None
        policy = node.attributes.get_string(node_rules.ASPECT_RATIO)
        sizes = None
        if not node_rules.is_in_proportion(policy):
            sizes = self._numbers.of(input_at(node, 3))
        scales = _scales_of(node)
        if sizes is not None and sizes.shape == (len(axes),):
            for axis, size in zip(axes, sizes, strict=True):
                dims[axis] = size
        elif scales is not None and len(scales) == len(axes):
            for axis, scale in zip(axes, scales, strict=True):
                if scale == 1:
                    dims[axis] = given[axis]
        return tuple(dims)

    def _put_together(self, node: ir.Node) -> Dimensions | None:
        """Of all parts of a tensor, in order: its own."""
        parts = onnx_graphs.input_of(node, 0).producer()
        if parts is None or parts.op_type != "SplitToSequence":
            return None
        given = self._dimensions(parts.inputs[0])
        is_new = node.attributes.get_int("new_axis", 0)
        if given is None or is_new or not parts.attributes.get_int("keepdims", 1):
            return None
        axes = [parts.attributes.get_int("axis", 0), node.attributes["axis"].as_int()]
        if any(axis not in range(-len(given), len(given)) for axis in axes):
            return None
        return given if axes[0] % len(given) == axes[1] % len(given) else None

    def _tiled(self, node: ir.Node) -> Dimensions | None:
        given = self._dimensions(onnx_graphs.input_of(node, 0))
        repeats = self._numbers.of(input_at(node, 1))
        if given is None or repeats is None or repeats.shape != (len(given),):
            return None
        pairs = zip(given, repeats, strict=True)
        return tuple(self._products.of((d, repeat)) for d, repeat in pairs)

    def _sliced(self, node: ir.Node) -> Dimensions | None:
        """Of a Slice: the axes that it leaves whole."""
        given = self._dimensions(onnx_graphs.input_of(node, 0))
        cuts = self._numbers.cuts(node)
        if given is None or cuts is None:
            return None
        dims = list(given)
        for axis, (start, end, step) in cuts.items():
            if axis not in range(-len(dims), len(dims)):
                return None
            d = dims[axis]
            if is_whole(start, end, step, d):
                continue
            if all(isinstance(each, int) for each in (d, start, end)):
                # ONNX says how long it is.
                dims[axis] = None
            else:
                made = ("Slice", d, start, end, step)
                dims[axis] = self._products.computed(made, [d, start, end])
        return tuple(dims)


def _scales_of(node: ir.Node) -> list[float] | None:
    """The scales of a Resize or Upsample that are the same in every run."""
    if "scales" in node.attributes:
        return list(node.attributes.get_floats("scales"))
    # A Resize has had a region before them since opset 11.
    is_behind = node.op_type == "Resize" and len(node.inputs) > 2
    value = input_at(node, 2 if is_behind else 1)
    array = None if value is None else constant(value)
    return None if array is None else array.reshape(-1).tolist()


def common(assumed: Dimensions, *others: Dimensions | None) -> Dimensions:
    """The dimensions that all have."""
    for other in others:
        if other is None or len(other) != len(assumed):
            return (None,) * len(assumed)
        assumed = tuple(d if d == e else None for d, e in zip(assumed, other, strict=True))
    return assumed
