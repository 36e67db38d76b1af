"""Rewrites a copy of a model so that Python ops can run it.

Every node of the domain becomes one of `_onnxruntime_ops`: it gets all optional inputs, outputs and
attributes, casts for inputs of types that no Python op has, and the run's number as its first
input. This module also makes all checks that are possible at load. It never changes the user's
model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
from numpy.typing import NDArray
from onnx_ir.passes.common import ShapeInferencePass
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox import _runtime_errors
from onnx_philox._contract import alignment, checks
from onnx_philox._contract.operators import OUTPUT_TYPE, Input, Operator, Role
from onnx_philox._contract.types import BY_ONNX, ElementType
from onnx_philox._models import ours
from onnx_philox._models.emitter import Names
from onnx_philox.onnxruntime import _extension_options, _onnxruntime_ops, _source, _surgery
from onnx_philox.onnxruntime._plan import SessionPlan
from onnx_philox.onnxruntime._python_plan import PythonPlan


def plan(source: Any, options: ort.SessionOptions | None) -> SessionPlan:
    """Makes a model that Python ops can run, and options that hold them.

    A model without a node of the domain stays as it is.

    Args:
        source: A path, the bytes of a model, or an `onnx.ModelProto`.
        options: The user's, if there are any.

    Raises:
        InvalidArgument: A node breaks a rule of its operator.
        NotImplemented: A node's output has a type that Python ops do not carry, or the type of an
            input that decides what is drawn is unknown.
    """
    loaded = _source.source_of(source)
    untouched = SessionPlan(loaded.untouched, options)
    if not loaded.is_ours:
        return untouched
    try:
        opened = _surgery.open_model(loaded)
        run_input = _Rewriter(opened).rewrite()
    except _surgery.UnreadableError as error:
        raise ort_state.NotImplemented(
            "onnx_philox.onnxruntime: the model must be one that onnx-ir writes whole with "
            f"backend='python': got one with {error}. Use backend='native'."
        ) from error
    except ir.serde.SerdeError:
        # The model is invalid, with two values of one name for example: ONNX Runtime reports it.
        return untouched
    except (TypeError, ValueError) as error:
        raise _runtime_errors.refused(str(error), ort_state.InvalidArgument) from error
    if run_input is None:
        return untouched
    graph = opened.model.graph
    read = set()
    for node in graph.all_nodes():
        if node.domain == _onnxruntime_ops.DOMAIN:
            read |= {value.name for value in node.inputs if value is not None}
    own = {value.name for value in graph.inputs if value.name}
    own.discard(run_input)
    options = _extension_options.with_python_ops(options)
    hidden = frozenset([run_input])
    copied = frozenset(own & read)
    return PythonPlan(opened.whole(), options, loaded.folder, hidden, copied)


class _Rewriter:
    """Rewrites the nodes of one model, in all its graphs."""

    def __init__(self, opened: _surgery.Opened) -> None:
        self._opened = opened
        self._model = opened.model
        self._graph = opened.model.graph
        self._names = Names(opened.model)
        name = self._new_name("run")
        self._run = ir.val(name, dtype=ir.DataType.INT64, shape=[])
        self._absent: dict[tuple[ElementType, bytes], ir.Value] = {}

    def rewrite(self) -> str | None:
        """Rewrites every node of the domain; returns the name of the run's input, or None."""
        nodes = list(ours.of_model(self._model))
        if not nodes:
            return None
        if any(self._a_type_is_unknown(node) for node in nodes):
            # ONNX does not know the types of our nodes' outputs.
            for node in nodes:
                ours.declare_output_types(node)
            ShapeInferencePass()(self._model)
        self._graph.opset_imports.setdefault("", 17)
        self._graph.opset_imports[_onnxruntime_ops.DOMAIN] = 1
        self._graph.inputs.append(self._run)
        for node in nodes:
            self._rewrite_node(node)
        return self._run.name

    def _rewrite_node(self, node: ir.Node) -> None:
        checked = ours.checked_node(node, self._opened.known)
        op = checked.operator
        inputs = dict(checked.inputs)
        attributes = checked.attributes
        types = checked.types()
        values = checked.values_type
        if values is None:
            assert op.type_input is not None, "else an attribute names it"
            # A rewrite declares it where ONNX's inference knows no more than the data's operator.
            values = self._declared_type(node, op)
            types[op.type_input.name] = values
        self._check_type(op, values)
        for declared in op.inputs:
            allowed = _onnxruntime_ops.types_of(declared, values)
            if types[declared.name] is None and len(allowed) > 1:
                self._refuse_unknown(op, declared, allowed)
        dimensions = checked.dimensions()
        if dimensions is not None:
            checks.check_memory(op, dimensions, values, is_copied=True)
        python = _onnxruntime_ops.python_op(op, values, types)
        generator = alignment.generator_of(attributes)
        state, with_state = generator.left_out(attributes)
        if "state" not in inputs:
            attributes = with_state
        for declared, wanted in zip(op.inputs, python.inputs, strict=True):
            if types[declared.name] not in (None, wanted):
                before = inputs[declared.name]
                inputs[declared.name] = self._cast(node, before, wanted)

        node.resize_inputs(1 + len(op.inputs))
        node.replace_input_with(0, self._run)
        for index, declared in enumerate(op.inputs, start=1):
            value = inputs.get(declared.name)
            given = value
            if given is None:
                given = self._left_out(python, declared, state)
            node.replace_input_with(index, given)
        node.resize_outputs(len(op.outputs))
        if _onnxruntime_ops.carried(op, values) is not values:
            self._cast_back(node, values)
        for output in node.outputs:
            self._shield(node, output)
        node.domain = _onnxruntime_ops.DOMAIN
        node.op_type = python.name
        for name, value in attributes.items():
            make = ir.AttrString if isinstance(value, str) else ir.AttrInt64
            node.attributes[name] = make(name, value)

    def _cast_back(self, node: ir.Node, values: ElementType) -> None:
        """Gives the first output, which goes over in f32, its own type again."""
        output = node.outputs[0]
        cast = ir.node("Cast", [output], {"to": values.onnx})
        (own,) = cast.outputs
        own.name = output.name
        own.shape = output.shape
        own.type = ir.TensorType(ir.DataType(values.onnx))
        output.name = None
        output.type = None
        output.replace_all_uses_with(own, replace_graph_outputs=True)
        cast.replace_input_with(0, output)
        own.name = own.name or self._new_name("cast")
        node.append(cast)

    def _shield(self, node: ir.Node, output: ir.Value) -> None:
        """Keeps ONNX Runtime from giving a Python op memory that does not fit its output.

        The op would then end the process. ONNX Runtime assigns memory in advance if it is bound to
        a graph's output, or if a shape is declared. So no output of the op is an output of the
        graph, and none has a declared shape, but a rank, which a Scan needs. A Reshape to the same
        shape is a copy that no optimiser removes.
        """
        graph = node.graph
        assert graph is not None
        indices = [i for i, o in enumerate(graph.outputs) if o is output]
        if indices:
            size = ir.node("Shape", [output])
            copy = ir.node("Reshape", [output, size.outputs[0]])
            size.outputs[0].name = self._new_name("size")
            (copied,) = copy.outputs
            copied.name = output.name
            copied.type = output.type
            copied.shape = output.shape
            output.name = None
            node.append([size, copy])
            for i in indices:
                graph.outputs[i] = copied
        output.name = output.name or self._new_name("output")
        if output.shape is not None:
            output.shape = ir.Shape([None] * len(output.shape))

    def _check_type(self, op: Operator, values: ElementType) -> None:
        if not _onnxruntime_ops.can_carry(_onnxruntime_ops.carried(op, values)):
            names = [type_.name for type_ in op.output_types if _onnxruntime_ops.can_carry(type_)]
            carried = ", ".join(names)
            raise ort_state.NotImplemented(
                f"{op.name}: attribute {OUTPUT_TYPE!r} must be one of {carried} with "
                f"backend='python', since onnxruntime-extensions carries no {values.name}: got "
                f"{values.name!r}. Use backend='native', or OpenVINO."
            )

    def _refuse_unknown(
        self,
        op: Operator,
        declared: Input,
        allowed: Sequence[ElementType],
    ) -> NoReturn:
        carried = []
        for type_ in allowed:
            if _onnxruntime_ops.can_carry(_onnxruntime_ops.carried(op, type_)):
                carried.append(type_.name)
        types = " or ".join(carried)
        raise ort_state.NotImplemented(
            f"{op.name}: input {declared.name!r} must be {types}, known when the model is loaded, "
            "with backend='python': got a type that the model does not tell. Declare its type in "
            "the model, or use backend='native'."
        )

    def _declared_type(self, node: ir.Node, op: Operator) -> ElementType:
        """The type that the model declares for what has the type of an input."""
        dtype = node.outputs[0].dtype
        declared = None if dtype is None else BY_ONNX.get(dtype.value)
        if declared not in op.output_types:
            assert op.type_input is not None, "the caller has seen it"
            self._refuse_unknown(op, op.type_input, op.output_types)
        return declared

    def _a_type_is_unknown(self, node: ir.Node) -> bool:
        """Whether an input that may have several types has an unknown one."""
        op = ours.operator_of(node)
        return any(
            value.dtype is None and len(op.input(name).types) > 1
            for name, value in ours.inputs_of(node).items()
        )

    def _cast(self, node: ir.Node, value: ir.Value, wanted: ElementType) -> ir.Value:
        cast = ir.node("Cast", [value], {"to": wanted.onnx})
        cast.outputs[0].name = self._new_name("cast")
        node.prepend(cast)
        return cast.outputs[0]

    def _left_out(
        self,
        python: _onnxruntime_ops.PythonOp,
        declared: Input,
        state: NDArray[np.uint32],
    ) -> ir.Value:
        """What stands for an input that a node leaves out: this state, or an empty tensor."""
        index = python.operator.inputs.index(declared)
        type_ = python.inputs[index]
        array = state if declared.role is Role.STATE else np.zeros(0, type_.dtype)
        key = (type_, array.tobytes())
        if key not in self._absent:
            name = self._new_name(f"no_{type_.name}")
            value = ir.val(name, const_value=ir.tensor(array))
            self._graph.register_initializer(value)
            self._absent[key] = value
        return self._absent[key]

    def _new_name(self, name: str) -> str:
        return self._names.unique(f"{_onnxruntime_ops.DOMAIN}.{name}")
