"""Converters for OpenVINO's PyTorch front end: our nodes in the place of torch's draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
import openvino as ov
from openvino import opset8, opset13

from onnx_philox import _backends
from onnx_philox import _openvino_arrays as arrays
from onnx_philox._contract.operators import STATE_WORDS
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.streams import AWAITS_STATE
from onnx_philox._contract.types import F32, F64, I32, I64, ElementType
from onnx_philox.openvino import _factories as factories
from onnx_philox.openvino._torch_calls import IN_PLACE, REMEDY, SIGNATURES, Call

__all__ = ["pytorch_extensions"]

# Torch's constant for alpha dropout.
_ALPHA = 1.7580993408473766
_GEOMETRIC = (
    "Draw torch.poisson(torch.empty_like(x).exponential_(p / (1 - p))) + 1 for an x of floats: the "
    "same distribution, and the same integers everywhere."
)
# What torch draws and nothing here does, with what to write instead.
_REFUSED = {
    "_sample_dirichlet": "Divide gammas (torch._standard_gamma) by their sum.",
    "binomial": "Sum torch.bernoulli of a tensor with one more dimension.",
    "geometric": _GEOMETRIC,
    "geometric_": _GEOMETRIC,
    "random": "Draw with torch.randint.",
    "random_": "Draw with torch.randint.",
    "rrelu_with_noise": "Multiply by torch.rand_like yourself.",
}
_REFUSED_OVERLOADS = ("default", "from", "to")


def pytorch_extensions() -> list[Any]:
    """What `openvino.convert_model` takes as ``extension`` for a PyTorch module that draws.

    Its front end then writes every draw as a node of this package: ``rand``, ``randn``, ``randint``
    (all three also ``_like``), ``randperm``, ``normal``, ``uniform_``, ``exponential_``,
    ``log_normal_``, ``cauchy_``, ``poisson``, ``_standard_gamma``, ``bernoulli``, ``multinomial``
    and all dropout, that of ``scaled_dot_product_attention`` too. None is removed,
    and no two are merged. The same goes for a `torch.export.ExportedProgram`.

    The nodes have no state yet: the model draws the same numbers in every run until
    `make_reproducible` gives it one, in the order of the program, as `onnx_philox.torch.export`
    does.

    Returns:
        The extensions, for as many modules as you like. Your own go beside them.

    Raises:
        ImportError: PyTorch is not installed.

    Examples:
        >>> import numpy as np, openvino as ov, torch, onnx_philox  # doctest: +SKIP
        >>> module = torch.nn.Dropout(0.5).train()  # doctest: +SKIP
        >>> program = torch.export.export(module, (torch.ones(2, 3),))  # doctest: +SKIP
        >>> extensions = onnx_philox.openvino.pytorch_extensions()  # doctest: +SKIP
        >>> model = ov.convert_model(program, extension=extensions)  # doctest: +SKIP
        >>> model = onnx_philox.make_reproducible(model)  # doctest: +SKIP
    """
    try:
        from openvino.frontend.pytorch import ConversionExtension
    except ImportError as error:
        who = "onnx_philox.openvino.pytorch_extensions"
        raise _backends.NotInstalledError(who, "torch", "torch") from error
    converters = Converters()
    return [ConversionExtension(name, convert) for name, convert in converters.named()]


class Converters:
    """The functions, which share the count of the streams."""

    def __init__(self) -> None:
        self._streams: Iterator[int] = itertools.count()

    def named(self) -> Iterator[tuple[str, Callable[[Any], list[ov.Output]]]]:
        """Each converter with the name that a front end knows an operation by."""
        for name, signatures in SIGNATURES.items():
            method = getattr(self, name.removesuffix("_") if name in IN_PLACE else name)
            yield f"aten::{name}", self._converter(name, None, method)
            for overload in signatures:
                yield f"aten.{name}.{overload}", self._converter(name, overload, method)
        yield "aten.empty_permuted.default", _empty_permuted
        for name, remedy in _REFUSED.items():
            yield f"aten::{name}", _refusing(name, remedy)
            for overload in _REFUSED_OVERLOADS:
                yield f"aten.{name}.{overload}", _refusing(name, remedy)

    def _converter(
        self, name: str, overload: str | None, method: Callable[[Call], ov.Output]
    ) -> Callable[[Any], list[ov.Output]]:
        def convert(context: Any) -> list[ov.Output]:
            call = Call.read(context, name, overload)
            if call.is_given("generator"):
                remedy = "Leave it out: the model's state says what is drawn."
                call.refuse("generator", "a torch.Generator", "None", remedy)
            return [method(call)]

        return convert

    def rand(self, call: Call) -> ov.Output:
        return self._uniform(call, call.size("size"), 0, 1, call.float_type())

    def rand_like(self, call: Call) -> ov.Output:
        return self._uniform(call, call.shape(), 0, 1, call.float_type())

    def randn(self, call: Call) -> ov.Output:
        return self._normal(call, call.size("size"), 0, 1, call.float_type())

    def randn_like(self, call: Call) -> ov.Output:
        return self._normal(call, call.shape(), 0, 1, call.float_type())

    def randint(self, call: Call) -> ov.Output:
        return self._integers(call, call.size("size"), call.type() or ov.Type.i64)

    def randint_like(self, call: Call) -> ov.Output:
        return self._integers(call, call.shape(), call.type())

    def randperm(self, call: Call) -> ov.Output:
        asked = call.type() or ov.Type.i64
        drawn_type = I32 if asked == ov.Type.i32 else I64
        size = call.size("n")
        drawn = self._draw(call, factories.random_permutation, size, drawn_type.name)
        return _converted(drawn, asked)

    def uniform(self, call: Call) -> ov.Output:
        low, high = call.number("from"), call.number("to")
        return self._uniform(call, call.shape(), low, high, call.float_type())

    def normal(self, call: Call) -> ov.Output:
        if "self" in call.names or "size" in call.names:
            shape = call.shape() if "self" in call.names else call.size("size")
            mean, std = call.number("mean"), call.number("std")
            return self._normal(call, shape, mean, std, call.float_type())
        tensors = {name: call.tensor(name) for name in ("mean", "std")}
        given = [tensor for tensor in tensors.values() if tensor is not None]
        # Their shapes broadcast.
        given = given or [call.input("mean")]
        like = opset8.add(*given).output(0) if len(given) == 2 else given[0]
        dtype = call.float_type_of(like)
        drawn = self._normal(call, _shape(like), 0, 1, dtype)
        mean, std = (
            _of_type(call.number(name), dtype) if tensor is None else _converted_like(tensor, drawn)
            for name, tensor in tensors.items()
        )
        return opset8.add(opset8.multiply(drawn, std), mean).output(0)

    normal_functional = normal

    def exponential(self, call: Call) -> ov.Output:
        dtype = call.float_type()
        scale = _of_type(1 / call.number("lambd"), dtype)
        draw = factories.random_exponential
        return self._like(call, self._draw(call, draw, call.shape(), scale, dtype.name))

    def log_normal(self, call: Call) -> ov.Output:
        return opset8.exp(self.normal(call)).output(0)

    def cauchy(self, call: Call) -> ov.Output:
        # In f32, as in files of ONNX.
        uniform = self._draw(call, factories.random_uniform, call.shape(), 0.0, 1.0, "f32")
        half, turn, median, sigma = (
            np.float32(known)
            for known in (0.5, math.pi, call.number("median"), call.number("sigma"))
        )
        angle = opset8.multiply(opset8.subtract(uniform, half), turn)
        moved = opset8.add(opset8.multiply(opset8.tan(angle), sigma), median).output(0)
        return _converted_like(moved, call.input("self"))

    def poisson(self, call: Call) -> ov.Output:
        rate = call.input("self")
        drawn = self._draw(
            call, factories.random_poisson, call.shape(), _probabilities(rate), "i32"
        )
        return _converted_like(drawn, rate)

    def _standard_gamma(self, call: Call) -> ov.Output:
        alpha, dtype = call.input("self"), call.float_type()
        wide = F64 if dtype is F64 else F32
        drawn = self._draw(
            call, factories.random_gamma, call.shape(), _probabilities(alpha), wide.name
        )
        return _converted_like(drawn, alpha)

    def bernoulli(self, call: Call) -> ov.Output:
        x, shape = call.input("self"), call.shape()
        if "p" not in call.names:
            p: Any = _probabilities(x)
        elif (tensor := call.tensor("p")) is not None:
            p = opset8.broadcast(_probabilities(tensor), shape).output(0)
        else:
            p = call.number("p")
        return _converted_like(self._draw(call, factories.random_bernoulli, shape, p), x)

    def multinomial(self, call: Call) -> ov.Output:
        p = call.input("self")
        is_one_row = p.get_partial_shape().rank == ov.Dimension(1)
        axis = np.int64(0)
        weights = opset8.unsqueeze(p, axis).output(0) if is_one_row else p
        if weights.get_element_type() not in (ov.Type.f32, ov.Type.f16):
            weights = opset8.convert(weights, "f32").output(0)
        samples = call.integer("num_samples")
        replaces = call.flag("replacement") or samples == 1
        logits = opset8.log(weights).output(0)
        draw = factories.random_categorical
        drawn = self._draw(call, draw, logits, samples, "i64", replaces)
        return opset8.squeeze(drawn, axis).output(0) if is_one_row else drawn

    def dropout(self, call: Call) -> ov.Output:
        x = call.input("input")
        if not call.flag("train"):
            return x
        if call.name == "dropout_":
            return self._noisy(call, x, _shape(x))
        return self._dropped(call, x, call.number("p"))

    def native_dropout(self, call: Call) -> ov.Output:
        """The values alone, as the only row: the front end takes the first output for a list."""
        return opset8.unsqueeze(self.dropout(call), np.int64(0)).output(0)

    def feature_dropout(self, call: Call) -> ov.Output:
        return self._noisy_features(call)

    def alpha_dropout(self, call: Call) -> ov.Output:
        x = call.input("input")
        return self._noisy(call, x, _shape(x), is_alpha=True) if call.flag("train") else x

    def feature_alpha_dropout(self, call: Call) -> ov.Output:
        return self._noisy_features(call, is_alpha=True)

    def scaled_dot_product_attention(self, call: Call) -> ov.Output:
        """Attention; where it drops, written out as torch's documentation does."""
        query, key, value = (call.input(name) for name in ("query", "key", "value"))
        mask, p, is_causal = call.tensor("attn_mask"), call.number("dropout_p"), "is_causal"
        scale = call.number("scale") if call.is_given("scale") else None
        if call.flag("enable_gqa"):
            key, value = (_repeated(each, query) for each in (key, value))
        if p == 0:
            given = None if scale is None else _known_like(scale, query)
            attention = opset13.scaled_dot_product_attention
            return attention(query, key, value, mask, given, call.flag(is_causal)).output(0)
        if scale is None:
            width = _converted_like(_dimension(query, -1), query)
            scaled = opset8.divide(query, opset8.sqrt(width))
        else:
            scaled = opset8.multiply(query, _known_like(scale, query))
        scores = opset8.matmul(scaled, key, False, True).output(0)
        if call.flag(is_causal):
            # Torch takes no other mask then.
            mask = _triangle(query, key)
        if mask is not None and mask.get_element_type() == ov.Type.boolean:
            scores = opset8.select(mask, scores, _known_like(-math.inf, scores)).output(0)
        elif mask is not None:
            scores = opset8.add(scores, mask).output(0)
        weights = opset8.softmax(scores, -1).output(0)
        return opset8.matmul(self._dropped(call, weights, p), value, False, False).output(0)

    def _dropped(self, call: Call, x: ov.Output, p: float) -> ov.Output:
        """What is kept, scaled: as a rewritten Dropout computes it."""
        if x.get_element_type() != ov.Type.f64 or np.float32(p) == p:
            return self._draw(call, factories.random_dropout, x, p)
        # A draw takes a ratio of f32, from which the factor of f64 would be another one.
        dropped = self._draw(call, factories.random_bernoulli, _shape(x), p)
        with np.errstate(divide="ignore"):
            scaled = opset8.multiply(x, np.divide(1.0, np.subtract(1.0, p)))
        return opset8.select(dropped, np.float64(0), scaled).output(0)

    def _noisy_features(self, call: Call, *, is_alpha: bool = False) -> ov.Output:
        """Dropout of whole features: of what lies behind the first two dimensions."""
        x = call.input("input")
        if not call.flag("train"):
            return x
        rank = x.get_partial_shape().rank
        if rank.is_dynamic:
            call.refuse("input", "one of unknown rank", "one of known rank", REMEDY)
        ones = [1] * (rank.get_length() - 2)
        features = opset8.gather(_shape(x), np.arange(2), np.int64(0))
        shape = opset8.concat([features, arrays.constant(np.array(ones, np.int64))], 0)
        return self._noisy(call, x, shape.output(0), is_alpha=is_alpha)

    def _noisy(
        self, call: Call, x: ov.Output, shape: ov.Output, *, is_alpha: bool = False
    ) -> ov.Output:
        """What torch makes of a dropout by a tensor of noise."""
        p = call.number("p")
        if p in (0, 1):
            return x if p == 0 else opset8.multiply(x, _known_like(0, x)).output(0)
        drawn = self._draw(call, factories.random_bernoulli, shape, 1 - p)
        noise = _converted_like(drawn, x)
        if not is_alpha:
            return opset8.multiply(x, opset8.divide(noise, _known_like(1 - p, x))).output(0)
        a = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
        lifted = opset8.multiply(opset8.add(noise, _known_like(-1, x)), _known_like(_ALPHA * a, x))
        moved = opset8.add(lifted, _known_like(_ALPHA * a * p, x))
        kept = opset8.multiply(x, opset8.multiply(noise, _known_like(a, x)))
        return opset8.add(kept, moved).output(0)

    def _uniform(
        self, call: Call, shape: ov.Output, low: float, high: float, dtype: ElementType
    ) -> ov.Output:
        bounds = _of_type(low, dtype), _of_type(high, dtype)
        drawn = self._draw(call, factories.random_uniform, shape, *bounds, dtype.name)
        return self._like(call, drawn)

    def _normal(
        self, call: Call, shape: ov.Output, mean: float, std: float, dtype: ElementType
    ) -> ov.Output:
        moments = _of_type(mean, dtype), _of_type(std, dtype)
        drawn = self._draw(call, factories.random_normal, shape, *moments, dtype.name)
        return self._like(call, drawn)

    def _integers(self, call: Call, shape: ov.Output, dtype: ov.Type | None) -> ov.Output:
        """Integers; as i32 where they fit."""
        low = call.integer_or_tensor("low") if "low" in call.names else 0
        bounds = low, call.integer_or_tensor("high")
        is_wide = any(isinstance(n, int) and abs(n) >= 2**31 for n in bounds)
        drawn_type = I64 if is_wide else I32
        ready = [
            np.array(n, drawn_type.dtype) if isinstance(n, int) else _scalar(n, drawn_type)
            for n in bounds
        ]
        drawn = self._draw(call, factories.random_uniform, shape, *ready, drawn_type.name)
        return self._like(call, drawn) if dtype is None else _converted(drawn, dtype)

    def _like(self, call: Call, drawn: ov.Output) -> ov.Output:
        """The draw in the type of the tensor that it is like, where no other is asked for."""
        if "self" not in call.names or call.is_given("dtype"):
            return drawn
        return _converted_like(drawn, call.input("self"))

    def _draw(self, call: Call, factory: Callable[..., ov.Node], *arguments: Any) -> ov.Output:
        """A node of this package, whose state is still to come."""
        stream = next(self._streams)
        zeros, nowhere = np.zeros(STATE_WORDS, np.uint32), np.zeros(1, np.int64)
        # OpenVINO computes what constants bound, but no Roll: a draw of constants would become one.
        state = opset8.roll(zeros, nowhere, nowhere, name=AWAITS_STATE)
        name = f"aten::{call.name} {stream}"
        return factory(*arguments, op_seed=stream, state=state, name=name).output(0)


def _refusing(name: str, remedy: str) -> Callable[[Any], NoReturn]:
    def convert(_context: Any) -> NoReturn:
        refuse(f"aten::{name}", "the operation", "one without a converter", "another", remedy)

    return convert


def _empty_permuted(context: Any) -> list[ov.Output]:
    """What a program has in the place of `empty_like`, and this front end does not know."""
    call = Call(context, "empty_permuted", ("size", "physical_layout", "dtype", "device"))
    zero = opset8.constant(0, call.type() or arrays.openvino_type(call.float_type()))
    return [opset8.broadcast(zero, call.size("size")).output(0)]


def _shape(x: ov.Output) -> ov.Output:
    return opset8.shape_of(x).output(0)


def _dimension(x: ov.Output, index: int) -> ov.Output:
    return opset8.gather(_shape(x), np.int64(index), np.int64(0)).output(0)


def _triangle(query: ov.Output, key: ov.Output) -> ov.Output:
    """Which key each query sees, if none that comes after it."""
    rows, columns = (
        opset8.range(np.int64(0), _dimension(x, -2), np.int64(1), "i64") for x in (query, key)
    )
    return opset8.less_equal(columns, opset8.unsqueeze(rows, np.int64(1))).output(0)


def _repeated(x: ov.Output, query: ov.Output) -> ov.Output:
    """Keys or values, each as often as queries share it."""
    heads, own = _dimension(query, -3), _dimension(x, -3)
    every = opset8.range(np.int64(0), heads, np.int64(1), "i64")
    indices = opset8.divide(every, opset8.divide(heads, own))
    return opset8.gather(x, indices, np.int64(-3)).output(0)


def _probabilities(p: ov.Output) -> ov.Output:
    """Probabilities, alphas or rates, in a type that the operators take."""
    if p.get_element_type() in (ov.Type.f32, ov.Type.f64):
        return p
    return opset8.convert(p, "f32").output(0)


def _of_type(number: float, dtype: ElementType) -> Any:
    return np.array(number).astype(dtype.dtype)


def _scalar(x: ov.Output, dtype: ElementType) -> ov.Output:
    number = opset8.reshape(x, arrays.constant(np.empty(0, np.int64)), False)
    return opset8.convert(number, dtype.name).output(0)


def _known_like(number: float, x: ov.Output) -> ov.Output:
    """A number of the type of a tensor."""
    dtype = arrays.element_type(x.get_element_type())
    if isinstance(dtype, ElementType):
        return arrays.constant(_of_type(number, dtype)).output(0)
    return opset8.convert_like(opset8.constant(np.float32(number)), x).output(0)


def _converted(drawn: ov.Output, dtype: ov.Type) -> ov.Output:
    return drawn if drawn.get_element_type() == dtype else opset8.convert(drawn, dtype).output(0)


def _converted_like(drawn: ov.Output, x: ov.Output) -> ov.Output:
    dtype = x.get_element_type()
    if dtype.is_dynamic():
        return opset8.convert_like(drawn, x).output(0)
    return _converted(drawn, dtype)
