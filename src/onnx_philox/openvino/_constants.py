"""Exact values of constant inputs, before the CPU plugin changes them.

The plugin hands f64 to a custom operator as f32, i64 as i32, and uint32 constants clamped to
2^31-1. An operator therefore keeps the value of a constant input as text in an attribute of its
own, taken while the constant still has its declared type, and written to IR with the operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox._element_types import BY_DTYPE, BY_NAME, ElementType
from onnx_philox.openvino import _arrays

MAX_ELEMENTS = 4096
"""Only small tensors feed a state, a bound or a shape; larger constants are weights."""

_NUMPY_RANK = 32
"""Every NumPy has arrays of so many dimensions; no input is allowed more than 8."""

_INT32 = np.iinfo(np.int32)

# What these make of uint32 data is right though the plugin computes it as int32: they move bits,
# or their arithmetic is the same modulo 2^32. The data is in the first input ...
_MOVING = {
    *("Reshape", "Squeeze", "Unsqueeze", "Transpose", "Slice", "StridedSlice", "Gather", "Split"),
    *("GatherElements", "GatherND", "VariadicSplit", "Broadcast", "Tile", "Roll", "ReadValue"),
}
# ... or in every input that has the output's type.
_MERGING = {
    *("Concat", "Select", "Add", "Subtract", "Multiply", "Pad"),
    *("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"),
    *("ScatterUpdate", "ScatterElementsUpdate", "ScatterNDUpdate"),
}
# These give something else each time, or hold graphs of their own.
_NEVER_CONSTANT = {"ReadValue", "RandomUniform", "Multinomial", "If", "Loop", "TensorIterator"}


def to_text(array: NDArray[Any], types: Sequence[ElementType]) -> str:
    """The elements, exactly: integers in decimal, floats in hexadecimal.

    Where the input has one of several types, that comes first: "f64: 0x1.8p-1".
    """
    elements = array.reshape(-1)
    if np.issubdtype(array.dtype, np.integer):
        numbers = ", ".join(str(x) for x in elements.tolist())
    else:
        numbers = ", ".join(float(x).hex() for x in elements)
    return numbers if len(types) == 1 else f"{BY_DTYPE[array.dtype].name}: {numbers}"


def from_text(text: str, types: Sequence[ElementType]) -> NDArray[Any]:
    """What `to_text` wrote, of rank 1."""
    name, _, numbers = text.rpartition(": ")
    type_ = BY_NAME[name] if name else types[0]
    parse = float.fromhex if type_.is_float else int
    return np.array([parse(x) for x in numbers.split(",") if x], type_.dtype)


def value_of(output: ov.Output) -> NDArray[Any] | None:
    """The value of an output that depends on constants only; None where it does not."""
    return _value(output, {})


def _value(output: ov.Output, seen: dict[Any, NDArray[Any] | None]) -> NDArray[Any] | None:
    key = (output.get_node().get_name(), output.get_index())
    if key not in seen:
        seen[key] = _compute(output, seen)
    return seen[key]


def _compute(output: ov.Output, seen: dict[Any, NDArray[Any] | None]) -> NDArray[Any] | None:
    node = output.get_node()
    if not output.get_partial_shape().is_static or output.get_element_type().is_dynamic():
        return None
    shape = tuple(output.get_shape())
    if len(shape) > _NUMPY_RANK or np.prod(shape, dtype=np.float64) > MAX_ELEMENTS:
        return None
    if node.get_type_name() == "Constant":
        return _arrays.memory(node).copy()
    if _may_vary(node) or node.get_output_size() != 1:
        return None
    tensors = []
    for source in node.input_values():
        value = _value(source, seen)
        if value is None:
            return None
        tensor = ov.Tensor(source.get_element_type(), ov.Shape(value.shape))
        _arrays.memory(tensor)[...] = value
        tensors.append(tensor)
    result = ov.Tensor(output.get_element_type(), ov.Shape(shape))
    try:
        is_computed = node.evaluate([result], tensors)
    except RuntimeError:
        # An operator that OpenVINO cannot compute by itself.
        return None
    return _arrays.memory(result).copy() if is_computed else None


def _may_vary(node: ov.Node) -> bool:
    """Whether a node is a source of data that is no constant."""
    return (
        node.get_input_size() == 0
        or node.get_type_name() in _NEVER_CONSTANT
        or node.get_type_info().version_id == "extension"
    )


def agree(kept: NDArray[Any], arrived: NDArray[Any]) -> bool:
    """Whether `arrived` is what the plugin, or saving in f16, may have made of a constant."""
    if kept.size != arrived.size:
        return False
    arrived = arrived.reshape(-1)
    if np.issubdtype(kept.dtype, np.integer):
        clamped = np.clip(kept, _INT32.min, _INT32.max) if kept.size else kept
        same = (arrived == clamped) | (arrived == kept.astype(np.int32))
        return bool((same | (arrived == kept)).all())
    # Wide numbers end at the largest of a narrow type. bf16 has the fewest bits, f16 the fewest
    # exponents.
    largest = float(ml_dtypes.finfo(arrived.dtype).max)  # type: ignore[no-untyped-call]
    a, b = (np.clip(x.astype(np.float64), -largest, largest) for x in (arrived, kept))
    return bool(np.allclose(a, b, rtol=2**-7, atol=2**-24))


def altered_part(output: ov.Output) -> tuple[str, str] | None:
    """What the CPU plugin would compute otherwise on the way to a uint32 output.

    Returns:
        What it is, and what is allowed there; None where all is exact.
    """
    return _altered(output, set())


def _altered(output: ov.Output, seen: set[str]) -> tuple[str, str] | None:
    node = output.get_node()
    name = node.get_type_name()
    if node.get_name() in seen:
        return None
    seen.add(node.get_name())
    kind = output.get_element_type()
    if name == "Constant":
        values = [] if kind.is_real() else [int(x) for x in node.data.reshape(-1)]
        outside = [x for x in values if not _INT32.min <= x <= _INT32.max]
        if not outside:
            return None
        allowed = "constants within int32 there, since OpenVINO's CPU plugin clamps them"
        return f"merged from a {_arrays.name(kind)} constant of {max(outside, key=abs)}", allowed
    if name == "Parameter" or node.get_type_info().version_id == "extension":
        return None
    if name in ("If", "Loop", "TensorIterator"):
        # The plugin itself refuses uint32 that crosses their borders.
        return None
    sources = node.input_values()
    if name == "Convert" and not sources[0].get_element_type().is_real():
        pass
    elif name in _MOVING:
        sources = sources[:1]
    elif name in _MERGING:
        sources = [s for s in sources if s.get_element_type() == kind]
    else:
        allowed = (
            f"a constant, a model input, or what {', '.join(sorted(_MERGING | _MOVING))} make of "
            "them, since OpenVINO's CPU plugin computes uint32 as int32"
        )
        return f"computed by {name}", allowed
    for source in sources:
        found = _altered(source, seen)
        if found is not None:
            return found
    return None
