"""One function for each of torch's draws: the nodes in its place.

Torch's exporter calls them with the arguments of the operator, and records the nodes that they
make. Imported only where torch is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
import onnx_ir as ir

from onnx_philox._contract.operators import (
    DOMAIN,
    OPSET_VERSION,
    OUTPUT_TYPE,
    RANDOM_BERNOULLI,
    RANDOM_CATEGORICAL,
    RANDOM_DROPOUT,
    RANDOM_EXPONENTIAL,
    RANDOM_GAMMA,
    RANDOM_NORMAL,
    RANDOM_PERMUTATION,
    RANDOM_POISSON,
    RANDOM_UNIFORM,
    Operator,
)
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.streams import AWAITS_STATE
from onnx_philox._contract.types import BY_ONNX

_BOOL, _FLOAT, _DOUBLE = ir.DataType.BOOL, ir.DataType.FLOAT, ir.DataType.DOUBLE
_INT32, _INT64 = ir.DataType.INT32, ir.DataType.INT64
_FLOATS = (ir.DataType.FLOAT16, ir.DataType.BFLOAT16, _FLOAT, _DOUBLE)
_MASKED = -math.inf
_OVERLOADS = {
    "default": "generator",
    "low": "low_generator",
    "low_dtype": "low_generator_dtype",
}
"""The overloads that take a generator, by those that do not."""

Size = Sequence[int | ir.Value]
Number = float | ir.Value


class Translations:
    """The functions, which share the count of the streams."""

    def __init__(self) -> None:
        import onnxscript
        import torch

        self._op: Any = onnxscript.opset18
        self._ours: Any = onnxscript.values.Opset(DOMAIN, OPSET_VERSION)
        self._torch: Any = torch
        # From 1: without a state, one of the seeds must not be 0.
        self._streams: Iterator[int] = itertools.count(1)

    def table(self) -> dict[Callable[..., Any], Callable[..., Any]]:
        """The functions by the operators that they translate."""
        aten, prims = self._torch.ops.aten, self._torch.ops.prims
        methods: dict[Any, Callable[..., Any]] = {
            aten.rand.default: self.rand,
            aten.rand_like.default: self.rand_like,
            aten.randn.default: self.randn,
            aten.randn_like.default: self.randn_like,
            aten.randint.default: self.randint,
            aten.randint.low: self.randint_low,
            aten.randint_like.default: self.randint_like,
            aten.randint_like.low_dtype: self.randint_like_low,
            aten.randperm.default: self.randperm,
            aten.uniform.default: self.uniform,
            prims.uniform.default: self.prims_uniform,
            aten.normal.float_float: self.normal_float_float,
            aten.normal.Tensor_float: self.normal_tensors,
            aten.normal.float_Tensor: self.normal_tensors,
            aten.normal.Tensor_Tensor: self.normal_tensors,
            aten.normal_functional.default: self.normal_functional,
            prims.normal.default: self.prims_normal,
            aten.exponential.default: self.exponential,
            aten.log_normal.default: self.log_normal,
            aten.cauchy.default: self.cauchy,
            aten.geometric.default: self.geometric,
            aten.poisson.default: self.poisson,
            aten._standard_gamma.default: self.standard_gamma,
            aten._sample_dirichlet.default: self.dirichlet,
            aten.bernoulli.default: self.bernoulli,
            aten.bernoulli.p: self.bernoulli_p,
            aten.bernoulli.Tensor: self.bernoulli_p,
            aten.multinomial.default: self.multinomial,
            aten.dropout.default: self.dropout,
            aten.native_dropout.default: self.native_dropout,
            aten.scaled_dot_product_attention.default: self.attention,
        }
        # Torch records these where a call says generator=None; it refuses any other generator.
        for operator, method in tuple(methods.items()):
            packet, overload = operator.overloadpacket, _OVERLOADS.get(operator._overloadname, "")
            if overload in packet.overloads():
                methods[getattr(packet, overload)] = method
        return {operator: _function(method) for operator, method in methods.items()}

    def rand(self, size: Size, dtype: int | None = None, **_: Any) -> Any:
        return self._uniform(self._size(size), 0, 1, self._float("rand", dtype))

    def rand_like(self, x: ir.Value, dtype: int | None = None, **_: Any) -> Any:
        return self._uniform(self._shape(x), 0, 1, self._float("rand_like", dtype, x))

    def randn(self, size: Size, dtype: int | None = None, **_: Any) -> Any:
        return self._normal(self._size(size), 0, 1, self._float("randn", dtype))

    def randn_like(self, x: ir.Value, dtype: int | None = None, **_: Any) -> Any:
        return self._normal(self._shape(x), 0, 1, self._float("randn_like", dtype, x))

    def randint(self, high: Number, size: Size, dtype: int | None = None, **_: Any) -> Any:
        return self._integers(self._size(size), 0, high, _known(dtype) or _INT64)

    def randint_low(
        self, low: Number, high: Number, size: Size, dtype: int | None = None, **_: Any
    ) -> Any:
        return self._integers(self._size(size), low, high, _known(dtype) or _INT64)

    def randint_like(self, x: ir.Value, high: Number, dtype: int | None = None, **_: Any) -> Any:
        return self._integers(self._shape(x), 0, high, _known(dtype) or _type(x))

    def randint_like_low(
        self, x: ir.Value, low: Number, high: Number, dtype: int | None = None, **_: Any
    ) -> Any:
        return self._integers(self._shape(x), low, high, _known(dtype) or _type(x))

    def randperm(self, n: int | ir.Value, dtype: int | None = None, **_: Any) -> Any:
        asked = _known(dtype) or _INT64
        drawn_type = _INT32 if asked is _INT32 else _INT64
        attributes = {OUTPUT_TYPE: _name(drawn_type)}
        drawn = self._draw(RANDOM_PERMUTATION, [self._size([n])], attributes)
        return drawn if asked is drawn_type else self._op.Cast(drawn, to=asked)

    def uniform(self, x: ir.Value, low: float = 0.0, high: float = 1.0, **_: Any) -> Any:
        return self._uniform(self._shape(x), low, high, self._float("uniform", None, x))

    def prims_uniform(self, size: Size, *, low: float, high: float, dtype: int, **_: Any) -> Any:
        return self._uniform(self._size(size), low, high, self._float("uniform", dtype))

    def normal_float_float(
        self, mean: float, std: float, size: Size, dtype: int | None = None, **_: Any
    ) -> Any:
        return self._normal(self._size(size), mean, std, self._float("normal", dtype))

    def normal_tensors(self, mean: Number, std: Number = 1.0, **_: Any) -> Any:
        given = mean if isinstance(mean, ir.Value) else std
        assert isinstance(given, ir.Value)
        dtype = self._float("normal", None, given)
        if isinstance(mean, ir.Value) and isinstance(std, ir.Value):
            # Their shapes broadcast.
            given = self._op.Add(mean, std)
        drawn = self._normal(self._shape(given), 0, 1, dtype)
        scaled = self._op.Mul(drawn, self._number(std, dtype))
        return self._op.Add(scaled, self._number(mean, dtype))

    def normal_functional(self, x: ir.Value, mean: float = 0.0, std: float = 1.0, **_: Any) -> Any:
        return self._normal(self._shape(x), mean, std, self._float("normal_", None, x))

    def prims_normal(self, size: Size, *, mean: float, std: float, dtype: int, **_: Any) -> Any:
        return self._normal(self._size(size), mean, std, self._float("normal", dtype))

    def exponential(self, x: ir.Value, lambd: float = 1.0, **_: Any) -> Any:
        dtype = self._float("exponential_", None, x)
        inputs = [self._shape(x), self._number(1 / lambd, dtype)]
        return self._draw(RANDOM_EXPONENTIAL, inputs, {OUTPUT_TYPE: _name(dtype)})

    def log_normal(self, x: ir.Value, mean: float = 1.0, std: float = 2.0, **_: Any) -> Any:
        dtype = self._float("log_normal_", None, x)
        return self._op.Exp(self._normal(self._shape(x), mean, std, dtype))

    def cauchy(self, x: ir.Value, median: float = 0.0, sigma: float = 1.0, **_: Any) -> Any:
        # In f32: ONNX's Tan has no kernel of another type everywhere.
        asked = self._float("cauchy_", None, x)
        uniform = self._uniform(self._shape(x), 0, 1, _FLOAT)
        angle = self._op.Mul(
            self._op.Sub(uniform, self._number(0.5, _FLOAT)), self._number(math.pi, _FLOAT)
        )
        scaled = self._op.Mul(self._op.Tan(angle), self._number(sigma, _FLOAT))
        moved = self._op.Add(scaled, self._number(median, _FLOAT))
        return moved if asked is _FLOAT else self._op.Cast(moved, to=asked)

    def poisson(self, rate: ir.Value, **_: Any) -> Any:
        inputs = [self._shape(rate), self._probabilities(rate)]
        # i32 holds all counts: a rate is at most 2^30.
        drawn = self._draw(RANDOM_POISSON, inputs, {OUTPUT_TYPE: "i32"})
        return self._op.Cast(drawn, to=_type(rate))

    def standard_gamma(self, alpha: ir.Value, **_: Any) -> Any:
        dtype = self._float("_standard_gamma", None, alpha)
        wide = _DOUBLE if dtype is _DOUBLE else _FLOAT
        drawn = self._gamma(alpha, wide)
        return drawn if dtype is wide else self._op.Cast(drawn, to=dtype)

    def dirichlet(self, alpha: ir.Value, **_: Any) -> Any:
        """Gammas of f64, none of them 0, divided by their sum: of a Beta distribution too."""
        op, dtype = self._op, self._float("_sample_dirichlet", None, alpha)
        smallest = np.finfo(np.float64).smallest_normal
        drawn = op.Max(self._gamma(alpha, _DOUBLE), self._number(smallest, _DOUBLE))
        shares = op.Div(drawn, op.ReduceSum(drawn, self._ints([-1]), keepdims=1))
        return op.Cast(shares, to=dtype)

    def _gamma(self, alpha: ir.Value, dtype: ir.DataType) -> Any:
        inputs = [self._shape(alpha), self._probabilities(alpha)]
        return self._draw(RANDOM_GAMMA, inputs, {OUTPUT_TYPE: _name(dtype)})

    def geometric(self, *_: Any, **__: Any) -> NoReturn:
        refuse(
            "aten::geometric",
            "geometric_",
            "a call",
            "none, since two runtimes round the logarithm before its ceil differently",
            "Draw torch.poisson(torch.empty_like(x).exponential_(p / (1 - p))) + 1 for an x of "
            "floats: the same distribution, and the same integers everywhere.",
        )

    def bernoulli(self, p: ir.Value, **_: Any) -> Any:
        drawn = self._draw(RANDOM_BERNOULLI, [self._shape(p), self._probabilities(p)], {})
        return self._op.Cast(drawn, to=_type(p))

    def bernoulli_p(self, x: ir.Value, p: Number = 0.5, **_: Any) -> Any:
        shape, ready = self._shape(x), self._probabilities(p)
        if isinstance(p, ir.Value) and not _has_shape_of(p, x):
            ready = self._op.Expand(ready, shape)
        drawn = self._draw(RANDOM_BERNOULLI, [shape, ready], {})
        return self._op.Cast(drawn, to=_type(x))

    def multinomial(
        self, p: ir.Value, num_samples: int, replacement: bool = False, **_: Any
    ) -> Any:
        is_one_row = p.shape is not None and len(p.shape) == 1
        axis = self._ints([0])
        logits = self._op.Log(self._op.Unsqueeze(p, axis) if is_one_row else p)
        if _type(p) is ir.DataType.BFLOAT16:
            logits = self._op.Cast(logits, to=_FLOAT)
        attributes: dict[str, Any] = {OUTPUT_TYPE: "i64", "sample_size": num_samples}
        if not replacement and num_samples != 1:
            attributes["replacement"] = 0
        drawn = self._draw(RANDOM_CATEGORICAL, [logits], attributes)
        return self._op.Squeeze(drawn, axis) if is_one_row else drawn

    def dropout(self, x: ir.Value, p: float, train: bool, **_: Any) -> Any:
        return self._dropout(x, p, _type(x))[0] if train else self._op.Identity(x)

    def native_dropout(self, x: ir.Value, p: float, train: bool | None, **_: Any) -> Any:
        if train is False:
            ones = ir.tensor(np.ones(1, bool))
            return self._op.Identity(x), self._op.ConstantOfShape(self._shape(x), value=ones)
        return self._dropout(x, p, _type(x))

    def attention(
        self,
        query: ir.Value,
        key: ir.Value,
        value: ir.Value,
        attn_mask: ir.Value | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
        **_: Any,
    ) -> Any:
        """Attention; where it drops, written out as torch's documentation does."""
        if dropout_p == 0:
            from onnxscript.function_libs.torch_lib.ops import nn

            return nn.aten_scaled_dot_product_attention(
                query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa
            )
        if enable_gqa:
            refuse(
                "aten::scaled_dot_product_attention",
                "enable_gqa",
                "True",
                "False where dropout_p is not 0",
                "Repeat the keys and values before it.",
            )
        op, dtype = self._op, _type(query)
        assert query.shape is not None
        if scale is None:
            width = op.Cast(op.Shape(query, start=-1), to=dtype)
            scaled = op.Div(query, op.Sqrt(width))
        else:
            scaled = op.Mul(query, self._number(scale, dtype))
        turned = list(range(len(query.shape)))
        turned[-2:] = turned[:-3:-1]
        scores = op.MatMul(scaled, op.Transpose(key, perm=turned))
        is_choice = attn_mask is not None and _type(attn_mask) is _BOOL
        if is_causal:
            # Torch takes no other mask then.
            is_choice = True
            ends = [op.Shape(x, start=-2, end=-1) for x in (query, key)]
            ones = op.ConstantOfShape(op.Concat(*ends, axis=0), value=ir.tensor([1]))
            attn_mask = op.Cast(op.Trilu(ones, upper=0), to=_BOOL)
        if is_choice:
            scores = op.Where(attn_mask, scores, self._number(_MASKED, dtype))
        elif attn_mask is not None:
            scores = op.Add(scores, attn_mask)
        weights = op.Softmax(scores, axis=-1)
        dropped, _mask = self._dropout(weights, dropout_p, dtype)
        return op.MatMul(dropped, value)

    def _dropout(self, x: ir.Value, p: float, dtype: ir.DataType) -> tuple[Any, Any]:
        """What is kept, scaled, and the mask of it: as a rewritten Dropout computes them."""
        if dtype is not _DOUBLE or np.float32(p) == p:
            output, mask = self._draw(RANDOM_DROPOUT, [x, self._number(p, _FLOAT)], {})
            return output, mask
        # A draw takes a ratio of f32, from which the factor of f64 would be another one.
        dropped = self._draw(RANDOM_BERNOULLI, [self._shape(x), self._number(p, _FLOAT)], {})
        one, of_type = (np.array(number, dtype.numpy()) for number in (1, p))
        with np.errstate(divide="ignore"):
            factor = np.divide(one, np.subtract(one, of_type))
        scaled = self._op.Mul(x, self._op.Constant(value=ir.tensor(factor)))
        kept = self._op.Where(dropped, self._number(0, dtype), scaled)
        return kept, self._op.Not(dropped)

    def _uniform(self, shape: Any, low: float, high: float, dtype: ir.DataType) -> Any:
        bounds = [self._number(low, dtype), self._number(high, dtype)]
        return self._draw(RANDOM_UNIFORM, [shape, *bounds], {OUTPUT_TYPE: _name(dtype)})

    def _normal(self, shape: Any, mean: float, std: float, dtype: ir.DataType) -> Any:
        moments = [self._number(mean, dtype), self._number(std, dtype)]
        return self._draw(RANDOM_NORMAL, [shape, *moments], {OUTPUT_TYPE: _name(dtype)})

    def _integers(self, shape: Any, low: Number, high: Number, dtype: ir.DataType) -> Any:
        """Integers; as i32 where they fit, since OpenVINO does not carry i64 draws everywhere."""
        is_wide = any(isinstance(n, int) and abs(n) >= 2**31 for n in (low, high))
        drawn_type = _INT64 if is_wide else _INT32
        bounds = [self._number(low, drawn_type), self._number(high, drawn_type)]
        drawn = self._draw(RANDOM_UNIFORM, [shape, *bounds], {OUTPUT_TYPE: _name(drawn_type)})
        return drawn if dtype is drawn_type else self._op.Cast(drawn, to=dtype)

    def _probabilities(self, p: Number) -> Any:
        """Probabilities, alphas or rates, in a type that the operators take."""
        is_taken = isinstance(p, ir.Value) and _type(p) in (_FLOAT, _DOUBLE)
        return p if is_taken else self._number(p, _FLOAT)

    def _draw(self, op: Operator, inputs: list[Any], attributes: dict[str, Any]) -> Any:
        """A node of this package, whose state is still to come."""
        attributes = {**attributes, "op_seed": next(self._streams)}
        *values, _next_state = getattr(self._ours, op.name)(*inputs, **attributes)
        values[0].producer().metadata_props[AWAITS_STATE] = "1"
        return values[0] if len(values) == 1 else tuple(values)

    def _number(self, number: Number, dtype: ir.DataType) -> Any:
        """A scalar of a type."""
        if isinstance(number, ir.Value):
            return number if number.dtype is dtype else self._op.Cast(number, to=dtype)
        return self._op.Constant(value=ir.tensor(np.array(number).astype(dtype.numpy())))

    def _ints(self, numbers: Sequence[int]) -> Any:
        return self._op.Constant(value=ir.tensor(np.array(numbers, np.int64)))

    def _shape(self, x: ir.Value) -> Any:
        return self._op.Shape(x)

    def _size(self, size: Size) -> Any:
        """Dimensions, some of which the model computes."""
        if all(isinstance(d, int) for d in size):
            return self._ints([int(d) for d in size if isinstance(d, int)])
        # Unlike a Reshape, ONNX's inference of shapes follows this, so that rows can be proved.
        axis = self._ints([0])
        parts = [
            self._op.Unsqueeze(d, axis) if isinstance(d, ir.Value) else self._ints([d])
            for d in size
        ]
        return self._op.Concat(*parts, axis=0)

    def _float(self, name: str, dtype: int | None, like: ir.Value | None = None) -> ir.DataType:
        """The type to draw: what is asked for, that of a tensor, or torch's default."""
        asked = _known(dtype) or (None if like is None else _type(like))
        if asked is None:
            asked = _FLOAT if self._torch.get_default_dtype() == self._torch.float32 else _DOUBLE
        return asked if asked in _FLOATS else _refuse_type(name, asked)


def _function(method: Callable[..., Any]) -> Callable[..., Any]:
    """A function, to which the exporter adds attributes: a method takes none."""

    def translation(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    return translation


def _known(dtype: int | None) -> ir.DataType | None:
    """A type that is asked for; the exporter says -1 where there is none."""
    return None if dtype in (None, -1) else ir.DataType(dtype)


def _type(x: ir.Value) -> ir.DataType:
    assert x.dtype is not None
    return x.dtype


def _has_shape_of(one: ir.Value, other: ir.Value) -> bool:
    """Whether two tensors are known to have the same dimensions."""
    known = one.shape is not None and all(isinstance(d, int) or d.value for d in one.shape)
    return known and one.shape == other.shape


def _name(dtype: ir.DataType) -> str:
    return BY_ONNX[dtype.value].name


def _refuse_type(name: str, dtype: ir.DataType) -> NoReturn:
    names = f"one of {', '.join(known.name for known in _FLOATS)}"
    refuse(f"aten::{name}", "the type", dtype.name, names, "Draw one of these.", TypeError)
