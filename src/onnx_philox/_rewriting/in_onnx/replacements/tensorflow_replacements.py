"""What TensorFlow's random nodes become, where tf2onnx leaves them in a model.

TensorFlow's stateless operators take a seed as an input, or the key, the counter and the algorithm
made from one. The others have seeds as attributes. As with ONNX's own nodes, the state of the model
replaces the seeds: the draws have the same distribution, but are not TensorFlow's numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract import checks
from onnx_philox._contract.arguments import number_array, shape_array
from onnx_philox._contract.known_input import UNKNOWN, Known
from onnx_philox._contract.operators import (
    MAX_RANK,
    OUTPUT_TYPE,
    RANDOM_GAMMA,
    RANDOM_NORMAL,
    RANDOM_PERMUTATION,
    RANDOM_POISSON,
    RANDOM_UNIFORM,
    Operator,
)
from onnx_philox._contract.types import BF16, F16, F32, F64, I32, I64, ElementType
from onnx_philox._models.constants import constant
from onnx_philox._models.emitter import Emitter
from onnx_philox._models.onnx_graphs import input_of
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.random_nodes.onnx_random_nodes import WITH_BF16
from onnx_philox._rewriting.in_onnx.random_nodes.site import Site, allowed_type, required_input
from onnx_philox._rewriting.in_onnx.random_nodes.tensorflow_random_nodes import element_type
from onnx_philox._rewriting.in_onnx.replacements import onnx_replacements

_FLOATS = (F16, BF16, F32, F64)
_INTEGERS = (I32, I64)
_INT32 = ir.DataType.INT32
_INT64 = ir.DataType.INT64
_BOOL = ir.DataType.BOOL


@dataclass(frozen=True)
class TensorFlowReplacement(onnx_replacements.TypedReplacement):
    """Uniforms, standard normals or uniform integers, of the shape in the first input."""

    operator: Operator
    values: ElementType
    parameters: dict[str, NDArray[Any] | int]
    """The array of a constant; else the index of the input that tells it."""
    shape: NDArray[np.int64] | None
    """None where a run tells it."""

    @classmethod
    def read_uniform(cls, site: Site, _: Types) -> TensorFlowReplacement:
        """Floats in [0, 1)."""
        values = _float_type(site)
        zero = np.zeros((), values.dtype)
        one = np.ones((), values.dtype)
        parameters: dict[str, NDArray[Any] | int] = {"minval": zero, "maxval": one}
        return cls._checked(site, RANDOM_UNIFORM, values, parameters)

    @classmethod
    def read_normal(cls, site: Site, _: Types) -> TensorFlowReplacement:
        """Standard normals."""
        values, parameters = _standard_normal(_float_type(site))
        return cls._checked(site, RANDOM_NORMAL, values, {**parameters})

    @classmethod
    def read_integers(cls, site: Site, types: Types) -> TensorFlowReplacement:
        """Integers from the last input but one up to, but not including, the last."""
        first = max(len(site.node.inputs) - 2, 1)
        # tf2onnx drops the attribute that gives RandomUniformInt its type.
        dtype = _attribute(site, "dtype")
        if not dtype:
            dtype = types(required_input(site, first))
        values = _allowed(site, dtype, _INTEGERS)
        parameters: dict[str, NDArray[Any] | int] = {}
        for index, name in enumerate(("minval", "maxval"), first):
            known = constant(required_input(site, index))
            parameters[name] = index
            if known is not None:
                flat = known.reshape(-1)
                parameters[name] = number_array(RANDOM_UNIFORM, name, flat, values)
        return cls._checked(site, RANDOM_UNIFORM, values, parameters)

    @classmethod
    def _checked(
        cls,
        site: Site,
        op: Operator,
        values: ElementType,
        parameters: dict[str, Any],
    ) -> TensorFlowReplacement:
        shape = _shape(site, op)
        known = {"state": UNKNOWN}
        for name, given in {**parameters, "shape": shape}.items():
            known[name] = Known.array(given) if isinstance(given, np.ndarray) else UNKNOWN
        checks.check_node(op, known, {OUTPUT_TYPE: values.name})
        return cls(op, values, parameters, shape)

    def emit(
        self,
        node: ir.Node,
        emitter: Emitter,
        draw: onnx_replacements.EmitDraw,
    ) -> list[ir.Value]:
        """See `Replacement`."""
        shape = 0 if self.shape is None else self.shape
        given = {"shape": shape, **self.parameters}
        inputs = {}
        for name, what in given.items():
            if isinstance(what, int):
                inputs[name] = input_of(node, what)
            else:
                inputs[name] = emitter.constant(name, what)
        attributes: dict[str, int | str] = {OUTPUT_TYPE: self.values.name}
        drawn = draw(self.operator, self.dtype, inputs, attributes)
        return [drawn]


@dataclass(frozen=True)
class TruncatedNormalReplacement(onnx_replacements.TypedReplacement):
    """Standard normals within two deviations; those further away are drawn again.

    TensorFlow draws again until one is near enough. Here each element has eight candidates, along
    a last axis, and takes the first that is near enough, so how much is drawn never depends on the
    numbers. If none is near enough, once in 5e10 elements, it takes a quarter of the last, which
    always is: no normal of this package reaches 6. The comparison is one of integers, the whole
    parts of the numbers, so that no runtime's precision of floats decides it.
    """

    values: ElementType
    shape: NDArray[np.int64] | None
    """None where a run tells it."""
    operator: Operator = RANDOM_NORMAL

    _CANDIDATES = 8
    _BOUND = 2
    # The first opset in which Less takes int32, and that has Where.
    _OPSET = 9

    @property
    def _work(self) -> ElementType:
        """The type to draw and choose in, as TensorFlow does: f32 also for 16 bits."""
        return F64 if self.values is F64 else F32

    @classmethod
    def read(cls, site: Site, _: Types) -> TruncatedNormalReplacement:
        """Truncated normals."""
        read = cls(_float_type(site), _shape(site, RANDOM_NORMAL))
        _check_opset(site, cls._OPSET)
        if read.shape is not None:
            # The candidates are one more dimension.
            rank = len(read.shape)
            checks.check_rank(site.title, "input 'shape'", rank, MAX_RANK - 1)
            dimensions = [*read.shape.tolist(), cls._CANDIDATES]
            checks.check_dimensions(RANDOM_NORMAL, "input 'shape'", dimensions, read._work)
        return read

    def emit(
        self,
        node: ir.Node,
        emitter: Emitter,
        draw: onnx_replacements.EmitDraw,
    ) -> list[ir.Value]:
        """See `Replacement`."""
        work, parameters = _standard_normal(self._work)
        work_type = ir.DataType(work.onnx)
        inputs = {name: emitter.constant(name, array) for name, array in parameters.items()}
        inputs["shape"] = self._shape_of_candidates(node, emitter)
        drawn = draw(self.operator, work_type, inputs, {OUTPUT_TYPE: work.name})
        whole = emitter.cast("whole", drawn, _INT32)
        size = emitter.emit("Abs", "size", [whole], _INT32)
        bound = emitter.constant("bound", np.array(self._BOUND, np.int32))
        are_near = emitter.emit("Less", "are_near", [size, bound], _BOOL)
        indices = []
        for i in range(self._CANDIDATES):
            indices.append(emitter.constant(f"candidate_{i}", np.array(i)))

        def pick(
            what: str,
            value: ir.Value,
            index: ir.Value,
            dtype: ir.DataType,
        ) -> ir.Value:
            return emitter.emit("Gather", what, [value, index], dtype, None, {"axis": -1})

        quarter = emitter.constant("quarter", np.array(0.25, work.dtype))
        last = pick("last", drawn, indices[-1], work_type)
        chosen = emitter.elementwise("Mul", "in_need", last, quarter, work_type)
        for index in reversed(indices):
            choices = [
                pick("is_near", are_near, index, _BOOL),
                pick("value", drawn, index, work_type),
                chosen,
            ]
            chosen = emitter.emit("Where", "chosen", choices, work_type)
        if work is not self.values:
            chosen = emitter.cast("rounded", chosen, self.dtype)
        return [chosen]

    def _shape_of_candidates(self, node: ir.Node, emitter: Emitter) -> ir.Value:
        if self.shape is not None:
            shape_of_all = np.append(self.shape, self._CANDIDATES)
            return emitter.constant("shape", shape_of_all)
        shape = [
            emitter.cast("shape", input_of(node, 0), _INT64),
            emitter.constant("candidates", np.array([self._CANDIDATES])),
        ]
        return emitter.emit("Concat", "shapes", shape, _INT64, None, {"axis": 0})


@dataclass(frozen=True)
class RejectingReplacement(onnx_replacements.TypedReplacement):
    """Gammas or Poisson counts: of the first input's shape for each number of the second input."""

    operator: Operator
    values: ElementType
    """The type of the node's output; what it is drawn in may be another."""
    shape: NDArray[np.int64] | None
    """None where a run tells it."""

    # The first opset in which Expand exists.
    _OPSET = 8

    @classmethod
    def read_gamma(cls, site: Site, types: Types) -> RejectingReplacement:
        """Gammas of the scale 1, of the type of alpha."""
        dtype = types(required_input(site, 1)) or site.node.outputs[0].dtype
        values = _allowed(site, dtype, _FLOATS)
        return cls._read(site, RANDOM_GAMMA, values)

    @classmethod
    def read_poisson(cls, site: Site, _: Types) -> RejectingReplacement:
        """Counts, of floats where the node says so."""
        dtype = _attribute(site, "dtype") or site.node.outputs[0].dtype
        values = _allowed(site, dtype, (*_INTEGERS, *_FLOATS))
        return cls._read(site, RANDOM_POISSON, values)

    @classmethod
    def _read(cls, site: Site, op: Operator, values: ElementType) -> RejectingReplacement:
        _check_opset(site, cls._OPSET)
        (parameter,) = op.parameters
        known = constant(required_input(site, 1))
        if known is not None and known.dtype in (np.float32, np.float64):
            flat = np.asarray(known).reshape(-1)
            numbers = {parameter.name: flat}
            checks.check_parameters(
                site.title,
                op,
                numbers,
                op.output_types[0],
                (known.size,),
            )
        return cls(op, values, _shape(site, op))

    def emit(
        self,
        node: ir.Node,
        emitter: Emitter,
        draw: onnx_replacements.EmitDraw,
    ) -> list[ir.Value]:
        """See `Replacement`."""
        (parameter,) = self.operator.parameters
        given = input_of(node, 1)
        dtype = ir.DataType.FLOAT
        if given.dtype is ir.DataType.DOUBLE:
            dtype = ir.DataType.DOUBLE
        numbers = given
        if given.dtype is not dtype:
            numbers = emitter.cast(parameter.name, given, dtype)
        of_numbers = emitter.emit("Shape", "shape", [numbers], _INT64)
        if self.shape is None:
            first = emitter.cast("shape", input_of(node, 0), _INT64)
        else:
            first = emitter.constant("shape", self.shape)
        dimensions = [first, of_numbers]
        shape = emitter.emit("Concat", "shape", dimensions, _INT64, None, {"axis": 0})
        each = emitter.emit("Expand", parameter.name, [numbers, shape], dtype)
        is_drawn = self.values in self.operator.output_types
        type_ = self.values if is_drawn else self.operator.output_types[0]
        inputs = {"shape": shape, parameter.name: each}
        dtype = ir.DataType(type_.onnx)
        drawn = draw(self.operator, dtype, inputs, {OUTPUT_TYPE: type_.name})
        if not is_drawn:
            drawn = emitter.cast("rounded", drawn, self.dtype)
        return [drawn]


@dataclass(frozen=True)
class ShuffleReplacement:
    """RandomShuffle: the input, whatever its type, with what lies along its first axis permuted."""

    dtype: ir.DataType
    operator: Operator = RANDOM_PERMUTATION

    @classmethod
    def read(cls, site: Site, types: Types) -> ShuffleReplacement:
        """RandomShuffle."""
        given = required_input(site, 0)
        if given.shape is not None and not len(given.shape):
            site.refuse(
                "input 0",
                "a scalar",
                "of 1 dimension or more",
                "Shuffle nothing.",
            )
        dtype = types(given) or site.node.outputs[0].dtype
        if dtype is None:
            remedy = "Declare it, by onnx.shape_inference for instance."
            site.refuse("the element type", "an unknown one", "known", remedy, TypeError)
        return cls(dtype)

    def emit(
        self,
        node: ir.Node,
        emitter: Emitter,
        draw: onnx_replacements.EmitDraw,
    ) -> list[ir.Value]:
        """See `Replacement`."""
        given = input_of(node, 0)
        first = emitter.constant("first", np.array([0]))
        sizes = [emitter.shape(given), first]
        shape = emitter.emit("Gather", "shape", sizes, _INT64, [1], {"axis": 0})
        order = draw(self.operator, _INT64, {"shape": shape}, {OUTPUT_TYPE: "i64"})
        inputs = [given, order]
        shuffled = emitter.emit("Gather", "shuffled", inputs, self.dtype, given.shape, {"axis": 0})
        return [shuffled]


def _read_multinomial(site: Site, types: Types) -> onnx_replacements.Replacement:
    """Classes by log-probabilities; the second input says how many of each row."""
    samples = constant(required_input(site, 1))
    what = "input 1, num_samples"
    allowed = "one constant int32"
    remedy = "Export it as one."
    if samples is None:
        site.refuse(what, "one that is not constant", allowed, remedy)
    if samples.size != 1:
        site.refuse(what, samples.tolist(), allowed, remedy)
    # Exporters widen integers.
    if samples.dtype not in (np.int32, np.int64):
        given = f"{ir.DataType.from_numpy(samples.dtype).name}"
        site.refuse(what, given, allowed, remedy, TypeError)
    dtype = _attribute(site, "output_dtype") or _INT64
    values = _allowed(site, dtype, _INTEGERS)
    return onnx_replacements.MultinomialReplacement.checked(
        site,
        WITH_BF16,
        types,
        int(samples.item()),
        values,
    )


REPLACEMENT_OF: dict[str, Callable[[Site, Types], onnx_replacements.Replacement]] = {
    "categorical": _read_multinomial,
    "gamma": RejectingReplacement.read_gamma,
    "integers": TensorFlowReplacement.read_integers,
    "normal": TensorFlowReplacement.read_normal,
    "poisson": RejectingReplacement.read_poisson,
    "shuffle": ShuffleReplacement.read,
    "truncated": TruncatedNormalReplacement.read,
    "uniform": TensorFlowReplacement.read_uniform,
}


def _check_opset(site: Site, least: int) -> None:
    if site.opset < least:
        newer = f"{least} or newer"
        site.refuse(
            "the model's opset",
            site.opset,
            newer,
            f"Export the model with opset {newer}.",
        )


def _standard_normal(values: ElementType) -> tuple[ElementType, dict[str, NDArray[Any]]]:
    mean = np.zeros((), values.dtype)
    scale = np.ones((), values.dtype)
    return values, {"mean": mean, "scale": scale}


def _shape(site: Site, op: Operator) -> NDArray[np.int64] | None:
    known = constant(required_input(site, 0))
    if known is None:
        return None
    if known.ndim != 1:
        given = f"{known.ndim} dimensions"
        site.refuse(
            "input 'shape'",
            given,
            "1-D, with one entry for each dimension",
            "Reshape it to 1-D.",
        )
    return shape_array(op, known)


def _float_type(site: Site) -> ElementType:
    dtype = _attribute(site, "dtype") or site.node.outputs[0].dtype
    return _allowed(site, dtype, _FLOATS)


def _allowed(
    site: Site,
    dtype: ir.DataType | None,
    types: tuple[ElementType, ...],
) -> ElementType:
    return allowed_type(site, dtype, types, "Export it in one of these.")


def _attribute(site: Site, name: str) -> ir.DataType | None:
    attribute = site.node.attributes.get(name)
    if attribute is None:
        return None
    dtype = element_type(attribute)
    if dtype is None:
        allowed = "the number of an element type of ONNX"
        remedy = "Export it as one."
        site.refuse(
            f"attribute {name!r}",
            attribute.value,
            allowed,
            remedy,
            TypeError,
        )
    return dtype
