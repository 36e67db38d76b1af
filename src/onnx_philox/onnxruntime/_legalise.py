"""Rewrites a copy of a model so that Python ops can run it.

Every node of the domain becomes one of `_python_ops`: optional inputs, outputs and attributes are
filled in, `shape` becomes int64, and the run's number goes in first. The checks that can be made
at load are made here. The user's model is never changed.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx_ir.passes.common import InlinePass, ShapeInferencePass
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox import _checks
from onnx_philox._checks import Known
from onnx_philox._element_types import BY_ONNX, I32, ElementType
from onnx_philox._operators import DOMAIN, OPERATORS, OUTPUT_TYPE, STATE_WORDS, Operator, Role
from onnx_philox.onnxruntime import _python_ops


@dataclass(frozen=True)
class Legalised:
    """A model for ONNX Runtime; with no node of the domain in it, the one that was given."""

    model: str | bytes
    run_input: str | None = None
    """The graph input for the run's number."""
    external_folder: str | None = None
    """Where external data lies that the model refers to."""


def legalise(source: Any) -> Legalised:
    """Makes a model that Python ops can run.

    Args:
        source: A path, the bytes of a model, or an `onnx.ModelProto`.

    Raises:
        InvalidArgument: A node breaks a rule of its operator.
        NotImplemented: A node's output has a type that Python ops do not carry.
    """
    proto = _read(source)
    if proto is None:
        # An ORT-format model, or nothing that ONNX can read: ONNX Runtime says what it is.
        return Legalised(source if isinstance(source, bytes) else os.fspath(source))
    version = next((o.version for o in proto.opset_import if o.domain == DOMAIN), None)
    if version is None:
        untouched = proto.SerializeToString() if source is proto else source
        return Legalised(untouched if isinstance(untouched, bytes) else os.fspath(untouched))
    try:
        _checks.check_opset(version, "onnx_philox.onnxruntime.InferenceSession")
        model = ir.from_proto(proto)
        InlinePass()(model)
        run_input = _Rewriter(model).rewrite()
    except (TypeError, ValueError) as error:
        raise ort_state.InvalidArgument(str(error)) from error
    folder = None
    if isinstance(source, (str, os.PathLike)):
        folder = os.path.dirname(os.path.abspath(source))
    legal = ir.to_proto(model)
    has_external = _has_external_data(legal)
    return Legalised(legal.SerializeToString(), run_input, folder if has_external else None)


def _read(source: Any) -> onnx.ModelProto | None:
    if isinstance(source, onnx.ModelProto):
        return source
    try:
        if isinstance(source, bytes):
            return onnx.load_model_from_string(source)
        if isinstance(source, (str, os.PathLike)) and os.path.isfile(source):
            return onnx.load_model(source, load_external_data=False)
    except Exception:
        return None
    if isinstance(source, (bytes, str, os.PathLike)):
        return None
    raise TypeError(
        "onnx_philox.onnxruntime.InferenceSession: model is of type "
        f"{type(source).__name__}; allowed: a path, bytes, an onnx.ModelProto. Pass one of these."
    )


def _has_external_data(model: onnx.ModelProto) -> bool:
    tensors = onnx.external_data_helper._get_all_tensors(model)
    return any(onnx.external_data_helper.uses_external_data(t) for t in tensors)


class _Rewriter:
    """Changes the nodes of one model, in all its graphs."""

    def __init__(self, model: ir.Model) -> None:
        self._model = model
        self._graph = model.graph
        self._names = {
            value.name
            for node in ir.traversal.RecursiveGraphIterator(model.graph)
            for value in (*node.inputs, *node.outputs)
            if value is not None
        } | {value.name for value in (*model.graph.inputs, *model.graph.initializers.values())}
        self._run = self._new_value("run", ir.DataType.INT64, [])
        self._no_state: ir.Value | None = None

    def rewrite(self) -> str | None:
        """Rewrites every node of the domain; the name of the run's input, None without nodes."""
        nodes = [
            node
            for node in ir.traversal.RecursiveGraphIterator(self._graph)
            if node.domain == DOMAIN
        ]
        if not nodes:
            return None
        if any(self._shape_type_is_unknown(node) for node in nodes):
            ShapeInferencePass()(self._model)
        self._graph.opset_imports.setdefault("", 17)
        self._graph.opset_imports[_python_ops.DOMAIN] = 1
        self._graph.inputs.append(self._run)
        for node in nodes:
            self._rewrite_node(node)
        return self._run.name

    def _rewrite_node(self, node: ir.Node) -> None:
        op = _operator(node)
        given = {name: attribute.value for name, attribute in node.attributes.items()}
        inputs = _named_inputs(op, node)
        known = {name: _known(value) for name, value in inputs.items()}
        attributes = _checks.check_node(op, known, given)
        values = _checks.output_type(op, attributes)
        self._check_type(op, values)
        shape = next(i.name for i in op.inputs if i.role is Role.SHAPE)
        known_shape = known[shape] or _checks.UNKNOWN
        if known_shape.value is not None:
            _checks.check_memory(op, known_shape.value.tolist(), values)
        if known_shape.type is I32:
            inputs[shape] = self._cast_to_int64(node, inputs[shape])

        node.resize_inputs(1 + len(op.inputs))
        node.replace_input_with(0, self._run)
        for index, declared in enumerate(op.inputs, start=1):
            value = inputs.get(declared.name)
            node.replace_input_with(index, self._zero_state() if value is None else value)
        node.resize_outputs(len(op.outputs))
        for output in node.outputs:
            self._shield(node, output)
        node.domain = _python_ops.DOMAIN
        node.op_type = _python_ops.name_of(op, values)
        for name, value in attributes.items():
            make = ir.AttrString if isinstance(value, str) else ir.AttrInt64
            node.attributes[name] = make(name, value)

    def _shield(self, node: ir.Node, output: ir.Value) -> None:
        """Keeps ONNX Runtime from giving a Python op memory that does not fit its output.

        The op would end the process then. Memory is given in advance where a graph's output is
        bound to it, or where shapes are declared: so no output of the op is a graph's own, and
        none has a declared shape. Reshape to its own shape is a copy that no optimiser removes.
        """
        graph = node.graph
        assert graph is not None
        indices = [i for i, o in enumerate(graph.outputs) if o is output]
        if indices:
            size = ir.node("Shape", [output])
            copy = ir.node("Reshape", [output, size.outputs[0]])
            size.outputs[0].name = self._new_name("size")
            (copied,) = copy.outputs
            copied.name, copied.type, copied.shape = output.name, output.type, output.shape
            output.name = None
            node.append([size, copy])
            for i in indices:
                graph.outputs[i] = copied
        output.name = output.name or self._new_name("output")
        output.shape = None

    def _check_type(self, op: Operator, values: ElementType) -> None:
        if not _python_ops.can_carry(values):
            carried = ", ".join(t.name for t in op.output_types if _python_ops.can_carry(t))
            raise ort_state.NotImplemented(
                f"{op.name}: attribute {OUTPUT_TYPE!r} is {values.name!r}; allowed with "
                f"backend='python': {carried}, since onnxruntime-extensions carries no "
                f"{values.name}. Use backend='native', or OpenVINO."
            )

    def _shape_type_is_unknown(self, node: ir.Node) -> bool:
        op = _operator(node)
        return any(
            value is not None and value.dtype is None and op.input(name).role is Role.SHAPE
            for name, value in _named_inputs(op, node).items()
        )

    def _cast_to_int64(self, node: ir.Node, value: ir.Value | None) -> ir.Value:
        cast = ir.node("Cast", [value], {"to": ir.DataType.INT64.value})
        cast.outputs[0].name = self._new_name("shape")
        node.prepend(cast)
        return cast.outputs[0]

    def _zero_state(self) -> ir.Value:
        """A state of zeros, for nodes without one."""
        if self._no_state is None:
            zeros = ir.tensor(np.zeros(STATE_WORDS, np.uint32))
            self._no_state = self._new_value("zero_state", ir.DataType.UINT32, [STATE_WORDS])
            self._no_state.const_value = zeros
            self._graph.register_initializer(self._no_state)
        return self._no_state

    def _new_value(self, name: str, dtype: ir.DataType, shape: list[int]) -> ir.Value:
        return ir.val(self._new_name(name), dtype=dtype, shape=shape)

    def _new_name(self, name: str) -> str:
        numbered = (f"{_python_ops.DOMAIN}.{name}.{i}" for i in itertools.count())
        new = next(candidate for candidate in numbered if candidate not in self._names)
        self._names.add(new)
        return new


def _operator(node: ir.Node) -> Operator:
    op = OPERATORS.get(node.op_type)
    if op is None:
        known = ", ".join(OPERATORS)
        remedy = "Upgrade onnx-philox if a newer version made the model."
        _checks.refuse(f"{DOMAIN}::{node.op_type}", "the operator", "unknown", known, remedy)
    return op


def _named_inputs(op: Operator, node: ir.Node) -> dict[str, ir.Value | None]:
    if len(node.inputs) > len(op.inputs):
        names = ", ".join(i.name for i in op.inputs)
        _checks.refuse(op, "the number of inputs", len(node.inputs), names, "Remove the others.")
    values = (*node.inputs, *[None] * len(op.inputs))
    return {i.name: value for i, value in zip(op.inputs, values, strict=False)}


def _known(value: ir.Value | None) -> Known | None:
    if value is None:
        return None
    # The default of a graph input is no constant: a run may override it.
    tensor = None if value.is_graph_input() else ir.convenience.get_const_tensor(value)
    if tensor is not None:
        return Known.array(tensor.numpy())
    shape = None
    if value.shape is not None:
        shape = tuple(d if isinstance(d, int) else None for d in value.shape)
    if value.dtype is None:
        return Known(None, shape)
    return Known(BY_ONNX.get(value.dtype.value) or np.dtype(value.dtype.numpy()), shape)
