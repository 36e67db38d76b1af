"""Dropout in all its forms, and what drops or draws inside of a larger operation."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from torch_walk.case import NEAR
from torch_walk.table import FLOATS, Table

TABLE = Table()
add, each = TABLE.add, TABLE.each
WIDE = 1e-6
DROP = ("dropout", "bernoulli")

each("dropout", lambda x, t: functional.dropout(x.to(t), 0.5), FLOATS)
for said, p in {"0.1": 0.1, "0.3": 0.3, "1/3": 1 / 3, "0.9": 0.9, "1": 1.0}.items():
    add(f"dropout p={said}", lambda x, p=p: functional.dropout(x, p, True))
add("dropout p=0.3 of negatives", lambda x: functional.dropout(-x, 0.3, True))
add(
    "dropout p=0.3 of infinities",
    lambda x: functional.dropout(torch.where(x > 0.25, torch.inf, x), 0.3, True),
)
each("dropout p=0.333", lambda x, t: functional.dropout(x.to(t), 0.333), FLOATS[2:3])
for dtype, near in ((torch.half, 1e-3), (torch.bfloat16, 8e-3)):
    # Torch's numbers are multiplied by the runtime: OpenVINO does it in f32.
    each(
        "dropout p=0.333",
        lambda x, t: functional.dropout(x.to(t), 0.333),
        (dtype,),
        near_torch=near,
    )
# OpenVINO scales f64 in f32.
add("dropout p=0.333 f64", lambda x: functional.dropout(x.double(), 0.333), near=WIDE)
add("dropout p=0", lambda x: functional.dropout(x, 0.0, True))
add("dropout off", lambda x: functional.dropout(x, 0.3, False))
add("dropout method of torch", lambda x: torch.dropout(x, 0.25, True))
add("dropout of a transpose", lambda x: functional.dropout(x.t(), 0.25, True))
add(
    "dropout of channels_last",
    lambda x: functional.dropout(
        x.reshape(-1, 2, 2, 1).contiguous(memory_format=torch.channels_last), 0.25, True
    ),
)
add("dropout of an expand", lambda x: functional.dropout(x[:, :1].expand(-1, 4), 0.25, True))
add("dropout in place", lambda x: functional.dropout(x + 1, 0.25, True, True), DROP, near=WIDE)
add("dropout in place p=0", lambda x: functional.dropout(x + 1, 0.0, True, True), DROP)
add("dropout in place p=1", lambda x: functional.dropout(x + 1, 1.0, True, True), DROP)
add("Dropout", lambda: nn.Dropout(0.25), DROP, is_module=True)
add("Dropout(0)", lambda: nn.Dropout(0.0), DROP, is_module=True)
add("Dropout(1)", lambda: nn.Dropout(1.0), DROP, is_module=True)
add("Dropout in evaluation", lambda: nn.Dropout(0.25).eval(), DROP, is_module=True)
add("native_dropout", lambda x: torch.native_dropout(x, 0.25, True)[0])
add(
    "native_dropout of a transpose", lambda x: torch.native_dropout(x.t(), 0.15, True)[0], near=WIDE
)
add("native_dropout train=None", lambda x: torch.native_dropout(x, 0.25, None)[0])
add("native_dropout off", lambda x: torch.native_dropout(x, 0.25, False)[0])
add("native_dropout p=0", lambda x: torch.native_dropout(x, 0.0, True)[0])
add("native_dropout p=1", lambda x: torch.native_dropout(x, 1.0, True)[0])
add("native_dropout with its mask", lambda x: torch.native_dropout(x, 0.25, True))
each("native_dropout", lambda x, t: torch.native_dropout(x.to(t), 0.5, True)[0], FLOATS)
for way in ("dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"):
    rank = {"dropout1d": 3, "dropout2d": 4, "dropout3d": 5}.get(way, 4)
    shape = (-1, 2, 2, *[1] * (rank - 3))
    add(
        way,
        lambda x, way=way, shape=shape: getattr(functional, way)(x.reshape(shape), 0.25, True),
        (way, "feature_dropout", *DROP),
        near=WIDE,
    )
    add(
        f"{way} in place",
        lambda x, way=way, shape=shape: getattr(functional, way)(
            x.reshape(shape) + 1, 0.25, True, True
        ),
        (way, "feature_dropout", *DROP),
        near=WIDE,
    )
    add(
        f"{way} off",
        lambda x, way=way, shape=shape: getattr(functional, way)(x.reshape(shape), 0.25, False),
        (way, *DROP),
    )
each(
    "alpha_dropout",
    lambda x, t: functional.alpha_dropout(x.to(t), 0.25, True),
    FLOATS,
    ("alpha_dropout", *DROP),
    is_near=True,
)
add("alpha_dropout p=0", lambda x: functional.alpha_dropout(x, 0.0, True), ("alpha_dropout", *DROP))
add("alpha_dropout p=1", lambda x: functional.alpha_dropout(x, 1.0, True), ("alpha_dropout", *DROP))
add(
    "alpha_dropout in place",
    lambda x: functional.alpha_dropout(x + 1, 0.25, True, True),
    ("alpha_dropout", *DROP),
    near=WIDE,
)
add(
    "AlphaDropout",
    lambda: nn.AlphaDropout(0.25),
    ("alpha_dropout", *DROP),
    near=WIDE,
    is_module=True,
)
add(
    "Dropout2d in evaluation",
    lambda: nn.Sequential(nn.Unflatten(1, (2, 2, 1)), nn.Dropout2d().eval()),
    DROP,
    is_module=True,
)

each(
    "rrelu",
    lambda x, t: functional.rrelu((x - 0.25).to(t), 0.125, 0.375, True),
    FLOATS,
    ("rrelu",),
    is_near=True,
)
add("rrelu in place", lambda x: functional.rrelu(x - 0.25, 0.125, 0.375, True, True), near=WIDE)
add("rrelu off", lambda x: functional.rrelu(x - 0.25, 0.125, 0.375, False), near=WIDE)
add("rrelu of two numbers", lambda x: torch.rrelu(x - 0.25, training=True), near=WIDE)


class Shifted(nn.Module):
    """Of which some values are negative."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x - 0.25)


add("RReLU", lambda: Shifted(nn.RReLU()), ("rrelu",), near=WIDE, is_module=True)
add(
    "RReLU in evaluation", lambda: Shifted(nn.RReLU()).eval(), ("rrelu",), near=WIDE, is_module=True
)
add(
    "rrelu_with_noise",
    lambda x: torch._C._nn.rrelu_with_noise(x - 0.25, torch.empty_like(x), 0.125, 0.375, True),
    ("rrelu_with_noise", "rrelu"),
    near=WIDE,
)


def attention(x, dtype=torch.float32, **options):
    heads = x.reshape(-1, 1, 4, 1)
    given = (each.to(dtype) for each in (heads, heads + 0.5, heads * 2))
    return functional.scaled_dot_product_attention(*given, **options)


def grouped(x, **options):
    query = x.reshape(-1, 4, 1, 1).expand(-1, -1, 3, 2)
    key = x[:, :2].reshape(-1, 2, 1, 1).expand(-1, -1, 3, 2)
    return functional.scaled_dot_product_attention(query, key, key, enable_gqa=True, **options)


SDPA = ("scaled_dot_product_attention", "dropout")
MASK = torch.tensor([[True, False, True, True]] * 4)
for name, dtype in (
    ("f16", torch.half),
    ("bf16", torch.bfloat16),
    ("f32", torch.float),
    ("f64", torch.double),
):
    add(
        f"scaled_dot_product_attention {name}",
        lambda x, dtype=dtype: attention(x, dtype, dropout_p=0.25),
        SDPA,
        near=2 * NEAR[name],
        near_torch=2e-6,
    )
for name, options in {
    "causal": {"is_causal": True},
    "scale": {"scale": 0.3},
    "boolean mask": {"attn_mask": MASK},
    "float mask": {"attn_mask": MASK.float()},
}.items():
    add(
        f"scaled_dot_product_attention {name}",
        lambda x, options=options: attention(x, dropout_p=0.25, **options),
        SDPA,
        near=2e-6,
    )
    add(
        f"scaled_dot_product_attention {name} without dropout",
        lambda x, options=options: attention(x, **options),
        SDPA,
        near=2e-6,
    )
add(
    "scaled_dot_product_attention enable_gqa", lambda x: grouped(x, dropout_p=0.25), SDPA, near=2e-6
)
add(
    "scaled_dot_product_attention enable_gqa without dropout", lambda x: grouped(x), SDPA, near=2e-6
)


class SelfAttention(nn.Module):
    def __init__(self, *, need_weights: bool, batch_first: bool = True) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, dropout=0.25, batch_first=batch_first)
        self.need_weights = need_weights

    def forward(self, x):
        x = x.reshape(-1, 1, 4) + torch.arange(3.0).reshape(1, 3, 1)
        out, weights = self.attention(x, x, x, need_weights=self.need_weights)
        return (out, weights) if self.need_weights else out


for batch_first in (True, False):
    for need_weights in (True, False):
        add(
            f"MultiheadAttention batch_first={batch_first} need_weights={need_weights}",
            lambda f=batch_first, n=need_weights: SelfAttention(need_weights=n, batch_first=f),
            SDPA,
            near=1e-5,
            is_module=True,
        )


class Layer(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x.reshape(-1, 1, 4) + torch.arange(3.0).reshape(1, 3, 1))


for batch_first in (True, False):
    for norm_first in (True, False):
        add(
            f"TransformerEncoderLayer batch_first={batch_first} norm_first={norm_first}",
            lambda f=batch_first, n=norm_first: Layer(
                nn.TransformerEncoderLayer(4, 2, 8, 0.25, batch_first=f, norm_first=n)
            ),
            SDPA,
            near=1e-4,
            is_module=True,
        )


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


for kind in ("LSTM", "GRU", "RNN"):
    name = {"RNN": "rnn_tanh"}.get(kind, kind.lower())
    for said, options in {
        "": {},
        " of three layers": {"num_layers": 3},
        " both ways": {"bidirectional": True},
        " time first": {"batch_first": False},
        " without biases": {"bias": False},
        " dropout=0": {"dropout": 0.0},
    }.items():
        add(
            f"{kind}{said}",
            lambda k=kind, o=options: Recurrent(k, **o),
            (name, kind, "dropout"),
            near=1e-5,
            is_module=True,
        )
    add(
        f"{kind} in evaluation",
        lambda k=kind: Recurrent(k).eval(),
        (name, kind, "dropout"),
        near=1e-5,
        is_module=True,
    )
add(
    "RNN relu",
    lambda: Recurrent("RNN", nonlinearity="relu"),
    ("rnn_relu", "RNN", "dropout"),
    near=1e-5,
    is_module=True,
)

add("gumbel_softmax", lambda x: functional.gumbel_softmax(x), ("exponential",), near=1e-5)
add(
    "gumbel_softmax hard",
    lambda x: functional.gumbel_softmax(x, hard=True),
    ("exponential",),
    near=1e-5,
)
