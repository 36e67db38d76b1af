"""What is known of a value before any run."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract.refusal import refuse
from onnx_philox._files import without_weights
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, source

_NUMBERS = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}


def small_constant(value: ir.Value, most: int) -> NDArray[Any] | None:
    """The array that a value is in every run, if it has at most so many elements.

    A larger one is not read: it may be the model's weights, in a file that need not be there.
    """
    tensor = value.const_value
    node = value.producer()
    if tensor is None:
        if node is None or node.op_type != "Constant":
            return None
        given = node.attributes.get("value")
        tensor = None if given is None or given.is_ref() else tensor_in(given)
    if tensor is not None and tensor.size > most:
        return None
    return constant(value)


def constant(value: ir.Value) -> NDArray[Any] | None:
    """The array that a value is in every run: an initializer's or a Constant's; None for others.

    Also None for a tensor so large that it stayed in the file, and for an initializer that is a
    graph input too: it is only a default, which a run may override. Unlike onnx-ir's
    `get_const_tensor`, this leaves the tensor's name alone.
    """
    if value.is_graph_input():
        return None
    if value.const_value is not None:
        return _array(value.const_value)
    node = value.producer()
    if node is None or node.op_type != "Constant" or node.domain not in STANDARD_DOMAINS:
        return None
    for name, attribute in node.attributes.items():
        if attribute.is_ref():
            continue
        if name == "value":
            return _array(tensor_in(attribute))
        if name in _NUMBERS:
            return np.array(attribute.value, _NUMBERS[name])
    return None


def is_all(value: ir.Value | None, number: int) -> bool:
    """Whether each element of a value is a number that is the same in every type, such as 0."""
    try:
        known = None if value is None else constant(source(value))
    except ValueError:
        return False  # damaged: what reads it for a draw says so
    return known is not None and known.size > 0 and bool((known == number).all())


def tensor_in(attribute: ir.Attr) -> ir.TensorProtocol:
    """The tensor that an attribute is; `as_tensor` takes its time over a check of its methods.

    Raises:
        TypeError: It is not a tensor.
    """
    is_tensor = attribute.type is ir.AttributeType.TENSOR
    tensor: ir.TensorProtocol = attribute.value if is_tensor else attribute.as_tensor()
    return tensor


def _array(tensor: ir.TensorProtocol) -> NDArray[Any] | None:
    if isinstance(tensor, ir.ExternalTensor) and without_weights.stretch_at(
        os.fspath(tensor.location)
    ):
        return None
    try:
        return tensor.numpy()
    except AssertionError as error:
        # onnx-ir says this of numbers in a field that is not for their type.
        given = f"a damaged one ({error})"
        allowed = "a tensor that ONNX can read"
        remedy = "Check the model with onnx.checker.check_model, and export it again."
        refuse("onnx_philox", f"the constant {tensor.name!r}", given, allowed, remedy)
    except FileNotFoundError:
        path = tensor.path if isinstance(tensor, ir.ExternalTensor) else tensor.name
        what = f"the external data {str(path)!r}"
        remedy = "Put the file beside the model, or load a model in memory with its external data."
        refuse("onnx_philox", what, "no file", "a file that is there", remedy)
