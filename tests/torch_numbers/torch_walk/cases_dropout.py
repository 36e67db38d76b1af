"""Dropout in all its forms, and what drops or draws inside of a larger operation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tests.torch_numbers.torch_walk.table import FLOATS, WIDE, Table

TABLE = Table()
DROP = ("dropout", "bernoulli")
ALPHA = ("alpha_dropout", *DROP)
LAST = {"memory_format": torch.channels_last}

# Torch's numbers are multiplied by the runtime: OpenVINO does it in f32, of 16 bits and of f64.
TABLE.each(
    "dropout",
    lambda x, t: functional.dropout(x.to(t), 0.5),
    types=FLOATS,
)
TABLE.add(
    "dropout p=0.1",
    lambda x: functional.dropout(x, 0.1, True),
)
TABLE.add(
    "dropout p=0.3",
    lambda x: functional.dropout(x, 0.3, True),
)
TABLE.add(
    "dropout p=1/3",
    lambda x: functional.dropout(x, 1 / 3, True),
)
TABLE.add(
    "dropout p=0.9",
    lambda x: functional.dropout(x, 0.9, True),
)
TABLE.add(
    "dropout p=1",
    lambda x: functional.dropout(x, 1.0, True),
)
TABLE.add(
    "dropout p=0.3 of negatives",
    lambda x: functional.dropout(-x, 0.3, True),
)
TABLE.add(
    "dropout p=0.3 of infinities",
    lambda x: functional.dropout(torch.where(x > 0.25, torch.inf, x), 0.3, True),
)
TABLE.each(
    "dropout p=0.333",
    lambda x, t: functional.dropout(x.to(t), 0.333),
    types=FLOATS[2:3],
)
TABLE.each(
    "dropout p=0.333",
    lambda x, t: functional.dropout(x.to(t), 0.333),
    types=[torch.half],
    near_torch=1e-3,
)
TABLE.each(
    "dropout p=0.333",
    lambda x, t: functional.dropout(x.to(t), 0.333),
    types=[torch.bfloat16],
    near_torch=8e-3,
)
TABLE.add(
    "dropout p=0.333 f64",
    lambda x: functional.dropout(x.double(), 0.333),
    near=WIDE,
)
TABLE.add(
    "dropout p=0",
    lambda x: functional.dropout(x, 0.0, True),
)
TABLE.add(
    "dropout off",
    lambda x: functional.dropout(x, 0.3, False),
)
TABLE.add(
    "dropout method of torch",
    lambda x: torch.dropout(x, 0.25, True),
)
TABLE.add(
    "dropout of a transpose",
    lambda x: functional.dropout(x.t(), 0.25, True),
)
TABLE.add(
    "dropout of channels_last",
    lambda x: functional.dropout(x.reshape(-1, 2, 2, 1).contiguous(**LAST), 0.25, True),
)
TABLE.add(
    "dropout of an expand",
    lambda x: functional.dropout(x[:, :1].expand(-1, 4), 0.25, True),
)
TABLE.add(
    "dropout in place", lambda x: functional.dropout(x + 1, 0.25, True, True), call=DROP, near=WIDE
)
TABLE.add(
    "dropout in place p=0",
    lambda x: functional.dropout(x + 1, 0.0, True, True),
    call=DROP,
)
TABLE.add(
    "dropout in place p=1",
    lambda x: functional.dropout(x + 1, 1.0, True, True),
    call=DROP,
)
TABLE.add(
    "Dropout",
    lambda: nn.Dropout(0.25),
    call=DROP,
    is_module=True,
)
TABLE.add(
    "Dropout(0)",
    lambda: nn.Dropout(0.0),
    call=DROP,
    is_module=True,
)
TABLE.add(
    "Dropout(1)",
    lambda: nn.Dropout(1.0),
    call=DROP,
    is_module=True,
)
TABLE.add(
    "Dropout in evaluation",
    lambda: nn.Dropout(0.25).eval(),
    call=DROP,
    is_module=True,
)
TABLE.add(
    "native_dropout",
    lambda x: torch.native_dropout(x, 0.25, True)[0],
)
TABLE.add(
    "native_dropout of a transpose", lambda x: torch.native_dropout(x.t(), 0.15, True)[0], near=WIDE
)
TABLE.add(
    "native_dropout train=None",
    lambda x: torch.native_dropout(x, 0.25, None)[0],
)
TABLE.add(
    "native_dropout off",
    lambda x: torch.native_dropout(x, 0.25, False)[0],
)
TABLE.add(
    "native_dropout p=0",
    lambda x: torch.native_dropout(x, 0.0, True)[0],
)
TABLE.add(
    "native_dropout p=1",
    lambda x: torch.native_dropout(x, 1.0, True)[0],
)
TABLE.add(
    "native_dropout with its mask",
    lambda x: torch.native_dropout(x, 0.25, True),
)
TABLE.each(
    "native_dropout",
    lambda x, t: torch.native_dropout(x.to(t), 0.5, True)[0],
    types=FLOATS,
)


def add_dropout_of_features(way: str, drop: Any, *shape: int) -> None:
    """The forms of a dropout that drops whole features, of an input of this shape."""
    call = (way, "feature_dropout", *DROP)
    TABLE.add(
        way,
        lambda x: drop(x.reshape(shape), 0.25, True),
        call=call,
        near=WIDE,
    )
    TABLE.add(
        f"{way} in place",
        lambda x: drop(x.reshape(shape) + 1, 0.25, True, True),
        call=call,
        near=WIDE,
    )
    TABLE.add(
        f"{way} off",
        lambda x: drop(x.reshape(shape), 0.25, False),
        call=(way, *DROP),
    )


add_dropout_of_features(
    "dropout1d",
    functional.dropout1d,
    -1,
    2,
    2,
)
add_dropout_of_features(
    "dropout2d",
    functional.dropout2d,
    -1,
    2,
    2,
    1,
)
add_dropout_of_features(
    "dropout3d",
    functional.dropout3d,
    -1,
    2,
    2,
    1,
    1,
)
add_dropout_of_features(
    "feature_alpha_dropout",
    functional.feature_alpha_dropout,
    -1,
    2,
    2,
    1,
)


class Layer(nn.Module):
    """A layer of sequences of three for each row, or of what `like` makes of the input."""

    def __init__(self, layer: nn.Module, like=None) -> None:
        super().__init__()
        self.layer, self.like = layer, like or tokens_of

    def forward(self, x):
        return self.layer(self.like(x))


def tokens_of(x):
    return x.reshape(-1, 1, 4) + torch.arange(3.0).reshape(1, 3, 1)


def attention(x, dtype=torch.float32, **options):
    heads = x.reshape(-1, 1, 4, 1)
    given = (each.to(dtype) for each in (heads, heads + 0.5, heads * 2))
    return functional.scaled_dot_product_attention(*given, **options)


def grouped(x, **options):
    query = x.reshape(-1, 4, 1, 1).expand(-1, -1, 3, 2)
    key = x[:, :2].reshape(-1, 2, 1, 1).expand(-1, -1, 3, 2)
    return functional.scaled_dot_product_attention(query, key, key, enable_gqa=True, **options)


class SelfAttention(nn.Module):
    def __init__(self, *, need_weights: bool, batch_first: bool) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, dropout=0.25, batch_first=batch_first)
        self.need_weights = need_weights

    def forward(self, x):
        x = tokens_of(x)
        out, weights = self.attention(x, x, x, need_weights=self.need_weights)
        return (out, weights) if self.need_weights else out


class Recurrent(nn.Module):
    """Time is of two steps."""

    def __init__(self, kind: str, **options) -> None:
        super().__init__()
        options = {"batch_first": True, "num_layers": 2, "dropout": 0.5, **options}
        self.cells = getattr(nn, kind)(2, 3, **options)
        self.is_first = options["batch_first"]

    def forward(self, x):
        x = x.reshape(-1, 2, 2)
        out, _ = self.cells(x if self.is_first else x.transpose(0, 1))
        return out


SDPA = ("scaled_dot_product_attention", "dropout")
MASK = torch.tensor([[True, False, True, True]] * 4)
TABLE.each(
    "alpha_dropout",
    lambda x, t: functional.alpha_dropout(x.to(t), 0.25, True),
    types=FLOATS,
    call=ALPHA,
    is_near=True,
)
TABLE.add(
    "alpha_dropout p=0",
    lambda x: functional.alpha_dropout(x, 0.0, True),
    call=ALPHA,
)
TABLE.add(
    "alpha_dropout p=1",
    lambda x: functional.alpha_dropout(x, 1.0, True),
    call=ALPHA,
)
TABLE.add(
    "alpha_dropout in place",
    lambda x: functional.alpha_dropout(x + 1, 0.25, True, True),
    call=ALPHA,
    near=WIDE,
)
TABLE.add(
    "AlphaDropout",
    lambda: nn.AlphaDropout(0.25),
    call=ALPHA,
    near=WIDE,
    is_module=True,
)
TABLE.add(
    "Dropout2d in evaluation",
    lambda: nn.Sequential(nn.Unflatten(1, (2, 2, 1)), nn.Dropout2d().eval()),
    call=DROP,
    is_module=True,
)
TABLE.each(
    "rrelu",
    lambda x, t: functional.rrelu((x - 0.25).to(t), 0.125, 0.375, True),
    types=FLOATS,
    is_near=True,
)
TABLE.add(
    "rrelu in place", lambda x: functional.rrelu(x - 0.25, 0.125, 0.375, True, True), near=WIDE
)
TABLE.add(
    "rrelu off",
    lambda x: functional.rrelu(x - 0.25, 0.125, 0.375, False),
    near=WIDE,
)
TABLE.add(
    "rrelu of two numbers",
    lambda x: torch.rrelu(x - 0.25, training=True),
    near=WIDE,
)
TABLE.add(
    "RReLU", lambda: Layer(nn.RReLU(), lambda x: x - 0.25), call="rrelu", near=WIDE, is_module=True
)
TABLE.add(
    "RReLU in evaluation",
    lambda: Layer(nn.RReLU(), lambda x: x - 0.25).eval(),
    call="rrelu",
    near=WIDE,
    is_module=True,
)
TABLE.add(
    "rrelu_with_noise",
    lambda x: torch._C._nn.rrelu_with_noise(x - 0.25, torch.empty_like(x), 0.125, 0.375, True),
    call=("rrelu_with_noise", "rrelu"),
    near=WIDE,
)
TABLE.each(
    "scaled_dot_product_attention",
    lambda x, t: attention(x, t, dropout_p=0.25),
    types=FLOATS,
    call=SDPA,
    is_near=2,
    near_torch=2e-6,
)


def add_attention(name: str, **options: Any) -> None:
    """Attention with these options, with dropout and without."""
    name = f"scaled_dot_product_attention {name}"
    TABLE.add(
        name,
        lambda x: attention(x, dropout_p=0.25, **options),
        call=SDPA,
        near=2e-6,
    )
    TABLE.add(
        f"{name} without dropout",
        lambda x: attention(x, **options),
        call=SDPA,
        near=2e-6,
    )


add_attention("causal", is_causal=True)
add_attention("scale", scale=0.3)
add_attention("boolean mask", attn_mask=MASK)
add_attention("float mask", attn_mask=MASK.float())
TABLE.add(
    "scaled_dot_product_attention enable_gqa",
    lambda x: grouped(x, dropout_p=0.25),
    call=SDPA,
    near=2e-6,
)
TABLE.add(
    "scaled_dot_product_attention enable_gqa without dropout",
    lambda x: grouped(x),
    call=SDPA,
    near=2e-6,
)


def add_module(
    name: str,
    make: Callable[[], nn.Module],
    call: tuple[str, ...],
    near: float,
) -> None:
    TABLE.add(name, make, call=call, near=near, is_module=True)


def add_multihead_attention(*, is_first: bool, needs_weights: bool) -> None:
    add_module(
        f"MultiheadAttention batch_first={is_first} need_weights={needs_weights}",
        lambda: SelfAttention(need_weights=needs_weights, batch_first=is_first),
        call=SDPA,
        near=1e-5,
    )


def add_encoder_layer(*, is_first: bool, is_norm_first: bool) -> None:
    options = {"batch_first": is_first, "norm_first": is_norm_first}
    add_module(
        f"TransformerEncoderLayer batch_first={is_first} norm_first={is_norm_first}",
        lambda: Layer(nn.TransformerEncoderLayer(4, 2, 8, 0.25, **options)),
        call=SDPA,
        near=1e-4,
    )


def add_recurrent(kind: str, call: str) -> None:
    """A recurrent module in all its forms."""
    calls = (call, kind, "dropout")
    forms: dict[str, dict[str, Any]] = {
        "": {},
        " of three layers": {"num_layers": 3},
        " both ways": {"bidirectional": True},
        " time first": {"batch_first": False},
        " without biases": {"bias": False},
        " dropout=0": {"dropout": 0.0},
    }
    for form, options in forms.items():
        add_module(
            f"{kind}{form}",
            partial(Recurrent, kind, **options),
            calls,
            near=1e-5,
        )
    add_module(
        f"{kind} in evaluation",
        lambda: Recurrent(kind).eval(),
        calls,
        near=1e-5,
    )


BOTH = (True, False)
for first, other in itertools.product(BOTH, BOTH):
    add_multihead_attention(is_first=first, needs_weights=other)
for first, other in itertools.product(BOTH, BOTH):
    add_encoder_layer(is_first=first, is_norm_first=other)
add_recurrent("LSTM", "lstm")
add_recurrent("GRU", "gru")
add_recurrent("RNN", "rnn_tanh")
TABLE.add(
    "RNN relu",
    lambda: Recurrent("RNN", nonlinearity="relu"),
    call=("rnn_relu", "RNN", "dropout"),
    near=1e-5,
    is_module=True,
)
TABLE.add(
    "gumbel_softmax",
    lambda x: functional.gumbel_softmax(x),
    call="exponential",
    near=1e-5,
)
TABLE.add(
    "gumbel_softmax hard",
    lambda x: functional.gumbel_softmax(x, hard=True),
    call="exponential",
    near=1e-5,
)
