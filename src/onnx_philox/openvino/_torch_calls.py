"""How OpenVINO's PyTorch front end hands over the arguments of torch's operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import openvino as ov
from openvino import opset8
from openvino.frontend import GeneralFailure

from onnx_philox import _openvino_arrays as arrays
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.types import BF16, F16, F32, F64, ElementType

_FLOATS = (F16, BF16, F32, F64)

# The numbers by which TorchScript knows the types.
_TYPES = {
    **{0: "u8", 1: "i8", 2: "i16", 3: "i32", 4: "i64", 5: "f16", 6: "f32", 7: "f64"},
    **{11: "boolean", 15: "bf16"},
}
# The front end's nodes for a list of numbers, in this release and before it.
_LISTS = ("SequenceMark", "PtFrameworkNode")
# What may share the memory of another tensor.
_VIEWS = {
    *("Gather", "Reshape", "Slice", "Split", "Squeeze", "StridedSlice", "Transpose", "Unsqueeze"),
    "VariadicSplit",
}

_OPTIONS = "dtype layout device pin_memory"
_LIKE = f"{_OPTIONS} memory_format"
_MOVED = {"default": "self mean std generator"}
_DROPOUT = {"default": "input p train"}

SIGNATURES: dict[str, dict[str, tuple[str, ...]]] = {
    name: {overload: tuple(names.split()) for overload, names in overloads.items()}
    for name, overloads in {
        "rand": {"default": f"size {_OPTIONS}", "generator": f"size generator {_OPTIONS}"},
        "rand_like": {"default": f"self {_LIKE}", "generator": f"self generator {_LIKE}"},
        "randn": {"default": f"size {_OPTIONS}", "generator": f"size generator {_OPTIONS}"},
        "randn_like": {"default": f"self {_LIKE}", "generator": f"self generator {_LIKE}"},
        "randint": {
            "default": f"high size {_OPTIONS}",
            "generator": f"high size generator {_OPTIONS}",
            "low": f"low high size {_OPTIONS}",
            "low_generator": f"low high size generator {_OPTIONS}",
        },
        "randint_like": {
            "default": f"self high {_LIKE}",
            "low_dtype": f"self low high {_LIKE}",
        },
        "randperm": {"default": f"n {_OPTIONS}", "generator": f"n generator {_OPTIONS}"},
        "normal": {
            "float_float": f"mean std size generator {_OPTIONS}",
            "Tensor_float": "mean std generator",
            "float_Tensor": "mean std generator",
            "Tensor_Tensor": "mean std generator",
        },
        "normal_": _MOVED,
        "normal_functional": _MOVED,
        "uniform": {"default": "self from to generator"},
        "uniform_": {"default": "self from to generator"},
        "exponential": {"default": "self lambd generator"},
        "exponential_": {"default": "self lambd generator"},
        "log_normal": _MOVED,
        "log_normal_": _MOVED,
        "cauchy": {"default": "self median sigma generator"},
        "cauchy_": {"default": "self median sigma generator"},
        "poisson": {"default": "self generator"},
        "_standard_gamma": {"default": "self generator"},
        "bernoulli": {
            "default": "self generator",
            "p": "self p generator",
            "Tensor": "self p generator",
        },
        "bernoulli_": {"float": "self p generator", "Tensor": "self p generator"},
        "multinomial": {"default": "self num_samples replacement generator"},
        "dropout": _DROPOUT,
        "dropout_": _DROPOUT,
        "native_dropout": _DROPOUT,
        "alpha_dropout": _DROPOUT,
        "alpha_dropout_": _DROPOUT,
        "feature_dropout": _DROPOUT,
        "feature_dropout_": _DROPOUT,
        "feature_alpha_dropout": _DROPOUT,
        "feature_alpha_dropout_": _DROPOUT,
        "scaled_dot_product_attention": {
            "default": "query key value attn_mask dropout_p is_causal scale enable_gqa"
        },
    }.items()
}
"""The arguments of each operation that draws, by its overload."""

IN_PLACE = frozenset(name for name in SIGNATURES if name.endswith("_"))
"""The operations that write into a tensor."""

DEFAULTS: dict[str, dict[str, Any]] = {
    "normal": {"mean": 0.0, "std": 1.0},
    "normal_functional": {"mean": 0.0, "std": 1.0},
    "uniform": {"from": 0.0, "to": 1.0},
    "exponential": {"lambd": 1.0},
    "log_normal": {"mean": 1.0, "std": 2.0},
    "cauchy": {"median": 0.0, "sigma": 1.0},
    "bernoulli": {"p": 0.5},
    "multinomial": {"replacement": False},
    "native_dropout": {"train": True},
    "scaled_dot_product_attention": {"dropout_p": 0.0, "is_causal": False, "enable_gqa": False},
}
"""What an exported program leaves out."""


@dataclass(frozen=True)
class Call:
    """A call of an operation."""

    context: Any
    """The front end's view of it."""
    name: str
    names: tuple[str, ...]
    """Its arguments, in order."""

    @classmethod
    def read(cls, context: Any, name: str, overload: str | None) -> Call:
        """A call of an overload, which TorchScript does not tell: None."""
        if overload is not None:
            return cls(context, name, SIGNATURES[name][overload])
        count = context.get_input_size()
        fitting = [names for names in SIGNATURES[name].values() if len(names) == count]
        if not fitting:
            call = cls(context, name, ())
            call.refuse("the overload", f"one of {count} arguments", "one that is known", REMEDY)
        # Two of randint have as many arguments: the one with `low` has its sizes after `high`.
        has_low = len(fitting) > 1 and _is_scalar(context.get_input(1))
        call = cls(context, name, fitting[-1] if has_low else fitting[0])
        if name in IN_PLACE:
            call.check_in_place()
        return call

    def refuse(
        self,
        what: str,
        given: str,
        allowed: str,
        remedy: str,
        error: type[ValueError | TypeError] = ValueError,
    ) -> NoReturn:
        """Raises an error that names the operation."""
        refuse(f"aten::{self.name}", what, given, allowed, remedy, error)

    def check_in_place(self) -> None:
        """Refuses to write into what may be a part of another tensor, which would be lost."""
        target = self.context.get_input(0)
        kind = target.get_node().get_type_name()
        if kind in _VIEWS or target.get_element_type().is_dynamic():
            self.refuse(
                "input 'self'",
                f"a part of another tensor ({kind})" if kind in _VIEWS else "one of unknown type",
                "a whole tensor, in a traced module",
                "Convert torch.export.export(module, ...), which holds nothing in place; or draw "
                "without writing in place.",
            )

    def is_given(self, name: str) -> bool:
        """Whether an argument is there, and is not None."""
        return self._read(name) is not None

    def input(self, name: str) -> ov.Output:
        """A tensor."""
        return self.context.get_input(self.names.index(name))

    def tensor(self, name: str) -> ov.Output | None:
        """A tensor, be it a constant; None for a number, or for nothing."""
        if not self.is_given(name):
            return None
        index = self.names.index(name)
        is_input = index < self.context.get_input_size()
        given = self.context.get_input(index if is_input else name)
        return None if _is_number(given) else given

    def number(self, name: str) -> float:
        """A number."""
        known = self._known(name)
        if isinstance(known, bool) or not isinstance(known, (int, float)):
            self._refuse_computed(name, "a number")
        return known if isinstance(known, int) else exact(known)

    def integer(self, name: str) -> int:
        """A whole number."""
        known = self.integer_or_tensor(name)
        if not isinstance(known, int):
            self._refuse_computed(name, "a whole number")
        return known

    def integer_or_tensor(self, name: str) -> int | ov.Output:
        """A whole number, or what computes it."""
        known = self._known(name)
        return int(known) if isinstance(known, (int, float)) else known

    def flag(self, name: str) -> bool:
        """Whether an argument is true."""
        known = self._known(name)
        if not isinstance(known, (bool, int)):
            self._refuse_computed(name, "True or False")
        return bool(known)

    def size(self, name: str) -> ov.Output:
        """Dimensions, some of which the model computes."""
        given = self.input(name)
        node = given.get_node()
        parts = node.input_values() if node.get_type_name() in _LISTS else [given]
        if not parts:
            return arrays.constant(np.empty(0, np.int64)).output(0)
        ready = [_as_row(part) for part in parts]
        return ready[0] if len(ready) == 1 else opset8.concat(ready, 0).output(0)

    def shape(self) -> ov.Output:
        """The dimensions of the tensor that is drawn like."""
        return opset8.shape_of(self.input("self")).output(0)

    def type(self) -> ov.Type | None:
        """The type that is asked for, if one is."""
        asked = self._read("dtype") if "dtype" in self.names else None
        return getattr(ov.Type, _TYPES[asked]) if isinstance(asked, int) else asked

    def float_type(self) -> ElementType:
        """The type to draw: what is asked for, that of a tensor, or torch's default."""
        asked = self.type()
        if asked is None and "self" in self.names:
            return self.float_type_of(self.input("self"))
        if asked is None:
            import torch

            return F32 if torch.get_default_dtype() == torch.float32 else F64
        return self._float(asked)

    def float_type_of(self, like: ov.Output) -> ElementType:
        """The type of a tensor."""
        asked = like.get_element_type()
        return F32 if asked.is_dynamic() else self._float(asked)

    def _float(self, asked: ov.Type) -> ElementType:
        known = arrays.element_type(asked)
        if not isinstance(known, ElementType) or known not in _FLOATS:
            names = f"one of {', '.join(dtype.name for dtype in _FLOATS)}"
            self.refuse("the type", arrays.name(asked), names, "Draw one of these.", TypeError)
        return known

    def _known(self, name: str) -> Any:
        """A Python number, what computes it, or the default."""
        read = self._read(name)
        if read is None:
            name_ = self.name.removesuffix("_") if self.name in IN_PLACE else self.name
            return DEFAULTS.get(name_, {}).get(name)
        if isinstance(read, ov.Output) and _is_number(read):
            return arrays.memory(read.get_node()).item()
        return read

    def _read(self, name: str) -> Any:
        """A Python value, what computes it, or None."""
        if name not in self.names:
            return None
        index = self.names.index(name)
        if index < self.context.get_input_size():
            try:
                return self.context.get_values_from_const_input(index)
            except (GeneralFailure, RuntimeError):
                return self.context.get_input(index)
        if not self.context.has_attribute(name):
            return None
        try:
            return self.context.get_attribute(name)
        except (GeneralFailure, RuntimeError):
            return self.context.get_input(name)

    def _refuse_computed(self, name: str, allowed: str) -> NoReturn:
        self.refuse(f"argument {name!r}", "one that the model computes", allowed, REMEDY)


REMEDY = "Export the module with onnx_philox.torch.export, which makes a file of ONNX."


def exact(number: float) -> float:
    """The double that a program has: the front end rounds it to f32."""
    rounded = np.float32(number)
    return float(str(rounded)) if rounded == number else number


def _is_number(output: ov.Output) -> bool:
    node = output.get_node()
    is_constant: bool = node.get_type_name() == "Constant"
    return is_constant and arrays.memory(node).ndim == 0


def _is_scalar(output: ov.Output) -> bool:
    return bool(output.get_partial_shape().rank == ov.Dimension(0))


def _as_row(part: ov.Output) -> ov.Output:
    """A number as a row of one, of i64; a row as it is."""
    if part.get_element_type() != ov.Type.i64:
        part = opset8.convert(part, "i64").output(0)
    rank = part.get_partial_shape().rank
    if rank == ov.Dimension(1):
        return part
    if rank == ov.Dimension(0):
        return opset8.unsqueeze(part, np.int64(0)).output(0)
    return opset8.reshape(part, np.array([-1]), False).output(0)
