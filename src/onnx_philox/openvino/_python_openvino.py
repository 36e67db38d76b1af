"""The backend "python": the operators as `openvino.Op` subclasses, read from ONNX and from IR."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import openvino as ov
from openvino.frontend import NodeContext
from openvino.frontend.onnx import ConversionExtension

from onnx_philox._contract import attribute_names
from onnx_philox._contract.operators import DOMAIN, OUTPUT_TYPE, Operator
from onnx_philox._contract.types import BY_NAME
from onnx_philox._openvino_models import arrays
from onnx_philox.openvino._narrowing import with_wide_shape
from onnx_philox.openvino._openvino_ops import OPS, RandomOp


def unavailable() -> ImportError | None:
    """Why this backend cannot be used here; None, since it always can."""
    return None


def register(core: ov.Core) -> None:
    """Adds the operators and their conversion from ONNX."""
    for op_class in OPS.values():
        core.add_extension(op_class)
        core.add_extension(_conversion(op_class))


def _conversion(op_class: type[RandomOp]) -> ConversionExtension:
    op = op_class.operator

    def convert(node: NodeContext) -> list[ov.Output]:
        inputs = [node.get_input(i) for i in range(node.get_input_size())]
        while inputs and _is_left_out(inputs[-1]):
            inputs.pop()
        attributes = _attributes(op, node)
        for index, declared in enumerate(op.inputs[: len(inputs)]):
            if _is_left_out(inputs[index]):
                # OpenVINO's nodes have no inputs without a tensor.
                type_ = declared.types[0] if declared.types else BY_NAME[attributes[OUTPUT_TYPE]]
                inputs[index] = arrays.constant(np.empty(0, type_.dtype)).output(0)
        inputs = with_wide_shape(op, inputs)
        return list(op_class(inputs, **attributes).outputs())

    return ConversionExtension(op.name, DOMAIN, convert)


def _is_left_out(source: ov.Output) -> bool:
    """Whether this is what the front end hands over for an input that a node leaves out."""
    return bool(source.get_node().get_type_name() == "NullNode")


def _attributes(op: Operator, node: NodeContext) -> dict[str, Any]:
    # The front end does not list them; of those that are others' one is enough to refuse it.
    own = filter(node.has_attribute, [a.name for a in op.attributes])
    others = islice(filter(node.has_attribute, attribute_names.of_others(op)), 1)
    # If asked for a type, the front end converts any other to it, which would hide errors.
    return {name: node.get_attribute(name) for name in (*own, *others)}
