"""What a module's draws mean: torch runs it, and the reference draws in the place of torch.

It follows docs/specification.md, "torch's calls", and no translation of the package's.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from onnx_philox import PhiloxState, reference
from tests.torch_numbers.torch_walk.table import FLOATS, SHORT

_POISON = 2**31
"""A stream that no model has: what reads a draw that nothing should read differs."""


class NoMeaningError(Exception):
    """A call that the contract gives no meaning: every road must refuse it."""


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """A tensor's numbers; those of bf16 as ml_dtypes'."""
    tensor = tensor.detach().contiguous()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def to_torch(array: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    array = np.array(array, order="C")
    if array.dtype == ml_dtypes.bfloat16:
        given = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    else:
        given = torch.from_numpy(array)
    return given.to(dtype)


class Meaning:
    """Draws by the rules, each with the next stream of a state."""

    def __init__(
        self,
        seed: int,
        seen: set[Any] | None = None,
    ) -> None:
        self.seen = set() if seen is None else seen
        self.state = PhiloxState.for_run(seed).to_array()
        self.stream = 0
        self.begin(frozenset())

    def begin(self, dead: frozenset[int]) -> None:
        """The next case, and which of its draws nothing reads."""
        self._dead, self._count, self._last = dead, 0, 0

    def draw(self, operator: str, *arguments: Any, **options: Any) -> np.ndarray:
        """What the reference draws for the next stream."""
        is_dead = self._count in self._dead
        self._count += 1
        stream = _POISON if is_dead else self.stream
        self.stream += not is_dead
        self._last = stream
        function = getattr(reference, f"random_{operator}")
        with np.errstate(all="ignore"):
            return function(*arguments, op_seed=stream, state=self.state, **options)[0]

    # One rule for each operation, by the names of its arguments. Each gives an array.

    def rand(
        self,
        /,
        shape: list[int],
        dtype: torch.dtype,
        **_: Any,
    ) -> np.ndarray:
        return self.draw("uniform", shape, 0, 1, _name(dtype))

    rand_like = rand

    def uniform(
        self,
        /,
        shape: list[int],
        dtype: torch.dtype,
        **given: Any,
    ) -> np.ndarray:
        bounds = (_of(given[key], dtype) for key in ("from", "to"))
        return self.draw("uniform", shape, *bounds, _name(dtype))

    def randn(
        self,
        /,
        shape: list[int],
        dtype: torch.dtype,
        **_: Any,
    ) -> np.ndarray:
        if dtype.is_complex:
            halves = self.draw(
                "normal",
                [*shape, 2],
                0,
                math.sqrt(0.5),
                "f32",
            )
            return halves.view(np.complex64)[..., 0]
        return self.draw("normal", shape, 0, 1, _name(dtype))

    randn_like = randn

    def normal(
        self,
        /,
        shape: list[int],
        dtype: torch.dtype,
        mean: Any = 0.0,
        std: Any = 1.0,
        **_: Any,
    ) -> np.ndarray:
        if not isinstance(mean, torch.Tensor) and not isinstance(std, torch.Tensor):
            if dtype.is_complex:
                std = std * math.sqrt(0.5)
                parts = self.draw(
                    "normal",
                    [*shape, 2],
                    np.float32(mean),
                    np.float32(std),
                    "f32",
                )
                return parts.view(np.complex64)[..., 0]
            return self.draw(
                "normal",
                shape,
                _of(mean, dtype),
                _of(std, dtype),
                _name(dtype),
            )
        drawn = self.draw("normal", shape, 0, 1, _name(dtype))
        mean, std = (_of(given, dtype) for given in (mean, std))
        return (drawn * std + mean).astype(drawn.dtype)

    normal_functional = normal

    def log_normal(
        self,
        /,
        shape: list[int],
        dtype: torch.dtype,
        **given: Any,
    ) -> np.ndarray:
        drawn = self.draw(
            "normal", shape, *(_of(given[key], dtype) for key in ("mean", "std")), _name(dtype)
        )
        return np.exp(drawn.astype(_wide(drawn)))

    def exponential(
        self,
        /,
        shape: list[int],
        dtype: torch.dtype,
        lambd: float,
        **_: Any,
    ) -> Any:
        return self.draw(
            "exponential",
            shape,
            _of(1 / lambd, dtype),
            _name(dtype),
        )

    def cauchy(
        self,
        /,
        shape: list[int],
        median: float,
        sigma: float,
        **_: Any,
    ) -> np.ndarray:
        half, turn, middle, scale = (np.float32(n) for n in (0.5, math.pi, median, sigma))
        angle = (self.draw("uniform", shape, 0, 1, "f32") - half) * turn
        return np.tan(angle) * scale + middle

    def randint(
        self,
        /,
        shape: list[int],
        high: Any,
        low: Any = 0,
        **_: Any,
    ) -> np.ndarray:
        is_wide = any(isinstance(n, int) and abs(n) >= 2**31 for n in (low, high))
        bounds = (n.item() if isinstance(n, torch.Tensor) else n for n in (low, high))
        return self.draw("uniform", shape, *bounds, "i64" if is_wide else "i32")

    randint_like = randint

    def randperm(self, /, n: int, dtype: torch.dtype, **_: Any) -> np.ndarray:
        return self.draw("permutation", [n], "i32" if dtype is torch.int32 else "i64")

    def bernoulli(
        self,
        /,
        shape: list[int],
        p: Any = None,
        **given: Any,
    ) -> np.ndarray:
        p = given["self"] if p is None else p
        each = np.broadcast_to(_rates(p), shape) if isinstance(p, torch.Tensor) else np.float32(p)
        return self.draw("bernoulli", shape, each)

    def poisson(self, /, shape: list[int], **given: Any) -> np.ndarray:
        return self.draw("poisson", shape, _rates(given["self"]), "i32")

    def _standard_gamma(
        self,
        /,
        shape: list[int],
        dtype: torch.dtype,
        **given: Any,
    ) -> np.ndarray:
        wide = "f64" if dtype is torch.float64 else "f32"
        return self.draw("gamma", shape, _rates(given["self"]), wide)

    def _sample_dirichlet(self, /, shape: list[int], **given: Any) -> np.ndarray:
        drawn = self.draw("gamma", shape, _rates(given["self"]), "f64")
        drawn = np.maximum(drawn, np.finfo(np.float64).smallest_normal)
        return drawn / drawn.sum(-1, keepdims=True)

    def multinomial(self, /, num_samples: int, replacement: bool, **given: Any) -> np.ndarray:
        weights = _rates(given["self"])
        with np.errstate(divide="ignore"):
            logits = np.log(weights if weights.ndim == 2 else weights[None])
        drawn = self.draw(
            "categorical", logits, num_samples, "i64", replacement or num_samples == 1
        )
        return drawn if weights.ndim == 2 else drawn[0]

    def native_dropout(
        self,
        /,
        input: torch.Tensor,
        p: float,
        train: bool | None,
        **_: Any,
    ) -> tuple[np.ndarray, np.ndarray]:
        data = to_numpy(input)
        if train is False or p == 0:
            return data, np.ones(data.shape, bool)
        if data.dtype == np.float64:
            mask = ~self.draw(
                "bernoulli",
                list(data.shape),
                np.float32(p),
            )
            with np.errstate(all="ignore"):
                return np.where(mask, data * (1 / np.subtract(1, p)), 0), mask
        kept = ~self.draw(
            "bernoulli",
            list(data.shape),
            np.float32(p),
        )
        dropped = reference.random_dropout(
            data, np.float32(p), op_seed=self._last, state=self.state
        )[0]
        return dropped, kept

    def rrelu_with_noise(
        self,
        /,
        shape: list[int],
        dtype: torch.dtype,
        lower: float,
        upper: float,
        **given: Any,
    ) -> np.ndarray:
        x = to_numpy(given["self"])
        if not given["training"]:
            return np.where(
                x > 0,
                x,
                x * _of((lower + upper) / 2, dtype),
            )
        drawn = self.draw(
            "uniform",
            shape,
            _of(lower, dtype),
            _of(upper, dtype),
            _name(dtype),
        )
        return np.where(x > 0, x, x * drawn)


class _Dispatched(TorchDispatchMode):
    """Has a meaning draw for each operation that torch says draws."""

    def __init__(self, meaning: Meaning) -> None:
        super().__init__()
        self._meaning = meaning

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Any = (),
        kwargs: Any = None,
    ) -> Any:
        given = _bound(func, args, kwargs or {})
        if torch.Tag.nondeterministic_seeded not in func.tags or given.get("dropout_p") == 0:
            return func(*args, **(kwargs or {}))
        self._meaning.seen.add(func)
        name = func._schema.name.split("::")[1].rstrip("_").removesuffix("_functional")
        rule = getattr(self._meaning, name, None)
        if rule is None or given.get("generator") is not None:
            raise NoMeaningError(str(func))
        dtype, shape = _drawn(given, name)
        drawn = rule(**{"dtype": dtype, "shape": shape} | _plain(given, "dtype"))
        if isinstance(drawn, tuple):
            return tuple(to_torch(d, _type_of(d, given["input"])) for d in drawn)
        made = to_torch(drawn, dtype)
        if func._schema.name.endswith("_") and "self" in given:
            return given["self"].copy_(made)
        if (out := given.get("out")) is not None:
            return out.resize_(made.shape).copy_(made)
        return made


class _Written:
    """What torch draws inside of one operation, written out."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning

    def patches(self) -> Iterator[Any]:
        """In the place of torch's functions."""
        for owner in (torch, torch._VF):
            yield mock.patch.object(owner, "dropout", self._dropout, create=True)
        attention = functools.partial(self._attention, functional.scaled_dot_product_attention)
        yield mock.patch.object(functional, "scaled_dot_product_attention", attention)
        for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
            recurrent = functools.partial(self._recurrent, getattr(torch._VF, name))
            yield mock.patch.object(torch._VF, name, recurrent, create=True)

    def _dropout(self, input: torch.Tensor, p: float, train: bool) -> torch.Tensor:
        if not train or p == 0:
            return input
        return to_torch(self._meaning.native_dropout(input, p, True)[0], input.dtype)

    def _attention(
        self,
        func: Any,
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        if dropout_p == 0:
            options = {"scale": scale, "enable_gqa": enable_gqa}
            return func(query, key, value, attn_mask, 0.0, is_causal, **options)
        if enable_gqa:
            key, value = (
                each.repeat_interleave(query.shape[-3] // each.shape[-3], -3)
                for each in (key, value)
            )
        dtype = query.dtype
        query, key, value = (each.to(_wide_type(dtype)) for each in (query, key, value))
        scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        scores = query @ key.transpose(-2, -1) * scale
        if is_causal:
            attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        if attn_mask is not None and attn_mask.dtype is torch.bool:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        elif attn_mask is not None:
            scores = scores + attn_mask
        weights = scores.softmax(-1)
        return (self._dropout(weights, dropout_p, True) @ value).to(dtype)

    def _recurrent(
        self, func: Any, x: Any, hx: Any, params: Any, has_biases: bool, layers: int, p: float,
        train: bool, bidirectional: bool, batch_first: bool,
    ) -> Any:  # fmt: skip
        """A layer after the other, and dropout between them, as torch does it: time is first."""
        x = x.transpose(0, 1) if batch_first else x
        ways = 2 if bidirectional else 1
        per_layer = len(params) // layers
        ends: list[tuple[torch.Tensor, ...]] = []
        for layer in range(layers):
            begin = slice(layer * ways, (layer + 1) * ways)
            state = tuple(h[begin] for h in hx) if isinstance(hx, (tuple, list)) else hx[begin]
            own = params[layer * per_layer : (layer + 1) * per_layer]
            x, *end = func(x, state, own, has_biases, 1, 0.0, train, bidirectional, False)
            ends.append(tuple(end))
            if train and p and layer < layers - 1:
                x = self._dropout(x, p, True)
        x = x.transpose(0, 1) if batch_first else x
        return x, *(torch.cat(each) for each in zip(*ends, strict=True))


@contextlib.contextmanager
def drawing(meaning: Meaning, *, is_traced: bool = False) -> Iterator[None]:
    """Inside, torch's draws are the meaning's; under its tracer, distributions draw otherwise."""
    with contextlib.ExitStack() as stack:
        if is_traced:
            patched = mock.patch.object(torch._C, "_get_tracing_state", return_value=True)
            stack.enter_context(patched)
        stack.enter_context(torch.no_grad())
        for patch in _Written(meaning).patches():
            stack.enter_context(patch)
        stack.enter_context(_Dispatched(meaning))
        yield


def _bound(
    func: Any,
    args: Any,
    kwargs: Any,
) -> dict[str, Any]:
    """The arguments of an operation by their names."""
    schema = func._schema.arguments
    given = {a.name: a.default_value for a in schema if a.has_default_value()}
    given |= {a.name: value for a, value in zip(schema, args, strict=False)}
    return given | kwargs


def _plain(
    given: dict[str, Any],
    *without: str,
) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key not in without}


def _drawn(
    given: dict[str, Any],
    name: str,
) -> tuple[torch.dtype, list[int]]:
    """The type and the dimensions of what an operation draws."""
    tensors = [
        given[key]
        for key in ("self", "input", "mean", "std")
        if isinstance(given.get(key), torch.Tensor)
    ]
    out = given.get("out")
    if name == "multinomial" or (name in ("randint", "randperm") and given.get("dtype") is None):
        known = torch.int64 if out is None else out.dtype
    elif given.get("dtype") is not None:
        # A schema's own default is a number: only integers have one.
        known = given["dtype"] if isinstance(given["dtype"], torch.dtype) else torch.int64
    elif tensors:
        known = tensors[0].dtype
    else:
        known = torch.get_default_dtype() if out is None else out.dtype
    if given.get("size") is not None:
        return known, list(given["size"])
    shapes = [tensor.shape for tensor in tensors]
    return known, list(torch.broadcast_shapes(*shapes))


def _type_of(array: np.ndarray, like: torch.Tensor) -> torch.dtype:
    return torch.bool if array.dtype == bool else like.dtype


def _name(dtype: torch.dtype) -> str:
    if dtype not in FLOATS:
        raise NoMeaningError(str(dtype))
    return SHORT[dtype]


def _of(number: Any, dtype: torch.dtype) -> Any:
    if isinstance(number, torch.Tensor):
        return to_numpy(number.to(dtype))
    return to_numpy(torch.tensor(number, dtype=torch.float64).to(dtype))


def _rates(p: torch.Tensor) -> np.ndarray:
    """Probabilities, weights, alphas or rates: in f64, or else in f32."""
    return to_numpy(p if p.dtype is torch.float64 else p.float())


def _wide(array: np.ndarray) -> type[np.floating[Any]]:
    return np.float64 if array.dtype == np.float64 else np.float32


def _wide_type(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype is torch.float64 else torch.float32
