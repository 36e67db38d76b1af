"""How OpenVINO's PyTorch front end hands over the arguments of torch's operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import openvino as ov
from openvino.frontend import GeneralFailure

from onnx_philox._openvino_models import arrays
from onnx_philox._torch.calls.table import TorchCall
from onnx_philox._torch.frontend.openvino_writer import REMEDY

# The numbers by which TorchScript knows the types.
_TYPES = {
    **{0: "u8", 1: "i8", 2: "i16", 3: "i32", 4: "i64", 5: "f16", 6: "f32", 7: "f64"},
    **{11: "boolean", 15: "bf16"},
}
_COMPLEX = {8: "complex32", 9: "complex64", 10: "complex128"}
# The front end's nodes for a list of numbers, in this release and before it.
LISTS = ("SequenceMark", "PtFrameworkNode")
# What may share the memory of another tensor.
_VIEWS = {
    "Gather",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "StridedSlice",
    "Transpose",
    "Unsqueeze",
    "VariadicSplit",
    "PtFrameworkNode",
    "SequenceMark",
    # What `detached` makes.
    "Identity",
}
# What makes no difference to a draw.
_PASSED_OVER = (
    "layout",
    "device",
    "pin_memory",
    "memory_format",
    "out",
    "out0",
    "out1",
)


class Arguments:
    """The arguments of a call, as the front end's context has them."""

    def __init__(self, context: Any, call: TorchCall, declared: Sequence[Any]) -> None:
        self._context = context
        self._call = call
        self._declared = declared
        self._parts: list[Any] = []

    @classmethod
    def of_torchscript(cls, context: Any, call: TorchCall, schemas: Sequence[Any]) -> Arguments:
        """The arguments of a call, by the schema that fits best: TorchScript names no overload."""
        count = context.get_input_size()
        fitting = [schema.arguments for schema in schemas if len(schema.arguments) == count]
        if not fitting:
            given = f"one of {count} arguments"
            call.refuse("the overload", given, "one that is known", REMEDY)
        read = [cls(context, call, declared) for declared in fitting]
        found = max(read, key=cls._fit)
        targets = [i for i, a in enumerate(found._declared) if a.alias_info is not None]
        for index in targets:
            found._check_in_place(index)
        return found

    def read(self) -> dict[str, Any]:
        """The arguments by torch's names, with defaults: numbers, tensors, sizes, types, None."""
        wanted = [a for a in self._declared if a.name not in _PASSED_OVER]
        given = {a.name: self._value(a) for a in wanted}
        if any(a.name == "out" for a in self._declared):
            out = self._tensor("out")
            given["dtype"] = out.get_element_type()
        return given

    def _value(self, declared: Any) -> Any:
        name = declared.name
        type_ = str(declared.type)
        given = self._read(name)
        if name == "dtype" and isinstance(given, ov.Output):
            return self._type_of(given)
        if name == "dtype":
            if given in _COMPLEX:
                self._refuse_complex(_COMPLEX[given])
            if isinstance(given, int):
                return getattr(ov.Type, _TYPES[given])
            return given
        if given is None:
            return declared.default_value
        match type_.removeprefix("Optional[").removesuffix("]"):
            case "Tensor":
                return self._tensor(name)
            case "List[int":
                return self._size(name)
            case "bool":
                return bool(self._number(name, given, "True or False"))
            case "float" | "number":
                number = self._number(name, given, "a number")
                if isinstance(number, int):
                    return number
                return exact(number)
            case "int":
                known = _known(given)
                if isinstance(known, float):
                    return int(self._number(name, known, "a whole number"))
                return known
        return given

    def _fit(self) -> int:
        """How many arguments are such as the schema has there."""
        return sum(self._is_fitting(i, declared) for i, declared in enumerate(self._declared))

    def _is_fitting(self, index: int, declared: Any) -> bool:
        given = self._context.get_input(index)
        rank = given.get_partial_shape().rank
        kind = str(declared.type).removeprefix("Optional[").removesuffix("]")
        match kind:
            case "List[int":
                is_list = given.get_node().get_type_name() in LISTS
                return is_list or rank == ov.Dimension(1)
            case "int":
                return bool(rank == ov.Dimension(0))
            case "float" | "number" | "bool":
                return _is_number(given)
            case "Tensor":
                is_tensor = self._read(declared.name) is not None
                return is_tensor and not _is_number(given)
            case "Generator":
                return self._read(declared.name) is None
        return True

    def _check_in_place(self, index: int) -> None:
        """Refuses to write into what shares its memory with another tensor, which would be lost."""
        target = self._context.get_input(index)
        readers = [each.get_node() for each in target.get_target_inputs()]
        parts = [reader for reader in readers if _is_view(reader)]
        given = ""
        if target.get_element_type().is_dynamic():
            given = "one of unknown type"
        elif _is_view(target.get_node()):
            kind = target.get_node().get_type_name()
            given = f"a part of another tensor ({kind})"
        elif any(part.output(0).get_target_inputs() for part in parts):
            given = "one of which a part was read before"
        if given:
            self._call.refuse(
                f"input {self._declared[index].name!r}",
                given,
                "a whole tensor, in a traced module",
                "Convert torch.export.export(module, ...), which holds nothing in place; or draw "
                "without writing in place.",
            )
        self._parts += parts

    def show_parts(self, written: ov.Output) -> None:
        """Makes the parts of a tensor that were taken before, and not read, parts of what it is."""
        for part in self._parts:
            part.replace_source_output(written)

    def _tensor(self, name: str) -> Any:
        """A tensor, be it a constant."""
        index = self._index(name)
        is_input = index < self._context.get_input_size()
        given = self._context.get_input(index if is_input else name)
        while given.get_node().get_type_name() == "Identity":
            # It would hide a constant.
            given = given.get_node().input_value(0)
        if given.get_node().get_type_name() == "ComplexTypeMark":
            self._refuse_complex("that of complex numbers")
        return given

    def _type_of(self, given: ov.Output) -> Any:
        """What a scripted module asks for by ``dtype=x.dtype``: a type, or a tensor of it."""
        node = given.get_node()
        if node.get_type_name() != "PtFrameworkNode" or node.get_input_size() != 1:
            self._refuse_computed("dtype", "a type, or that of a tensor")
        asked = node.input_value(0).get_element_type()
        return node.input_value(0) if asked.is_dynamic() else asked

    def _size(self, name: str) -> Any:
        """Dimensions, some of which the model computes."""
        given = self._tensor(name)
        node = given.get_node()
        if node.get_type_name() in LISTS:
            return node.input_values()
        return [given]

    def _number(self, name: str, given: Any, allowed: str) -> Any:
        known = _known(given)
        if not isinstance(known, (bool, int, float)):
            self._refuse_computed(name, allowed)
        return known

    def _index(self, name: str) -> int:
        return next(i for i, a in enumerate(self._declared) if a.name == name)

    def _read(self, name: str) -> Any:
        """A Python value, what computes it, or None."""
        index = self._index(name)
        if index < self._context.get_input_size():
            try:
                return self._context.get_values_from_const_input(index)
            except (GeneralFailure, RuntimeError):
                return self._context.get_input(index)
        if not self._context.has_attribute(name):
            return None
        for read in (self._context.get_attribute, self._context.get_input):
            try:
                return read(name)
            except (GeneralFailure, RuntimeError):
                # A keyword of None is neither.
                continue
        return None

    def _refuse_complex(self, given: str) -> NoReturn:
        allowed = "a real one in a trace: OpenVINO's front end makes complex tensors itself"
        remedy = "Convert torch.export.export(module, ...); or draw twice the real numbers."
        self._call.refuse("the type", given, allowed, remedy, TypeError)

    def _refuse_computed(self, name: str, allowed: str) -> NoReturn:
        given = "one that the model computes"
        self._call.refuse(f"argument {name!r}", given, allowed, REMEDY)


def _is_view(node: ov.Node) -> bool:
    kind = node.get_type_name()
    if kind == "Broadcast":
        # One of a number makes a new tensor.
        rank = node.input_value(0).get_partial_shape().rank
        return bool(rank != ov.Dimension(0))
    return kind in _VIEWS


def exact(number: float) -> float:
    """The double that a program has: the front end rounds it to f32."""
    rounded = np.float32(number)
    if rounded != number:
        return number
    return float(str(rounded))


def _known(given: Any) -> Any:
    """A Python number, where a constant is one."""
    if isinstance(given, ov.Output) and _is_number(given):
        array = arrays.memory(given.get_node())
        return array.item()
    return given


def _is_number(output: ov.Output) -> bool:
    node = output.get_node()
    is_constant: bool = node.get_type_name() == "Constant"
    return is_constant and arrays.memory(node).ndim == 0
