"""Dropout in all its forms, and what drops or draws inside of a larger operation."""

from __future__ import annotations

import itertools

import torch
from torch import nn
from torch.nn import functional

from torch_walk.table import Table

TABLE = Table(globals())
DROP = ("dropout", "bernoulli")
ALPHA = ("alpha_dropout", *DROP)
LAST = {"memory_format": torch.channels_last}

# Torch's numbers are multiplied by the runtime: OpenVINO does it in f32, of 16 bits and of f64.
TABLE.rows("""
dropout | functional.dropout(x.to(t), 0.5) | types=FLOATS
dropout p=0.1 | functional.dropout(x, 0.1, True)
dropout p=0.3 | functional.dropout(x, 0.3, True)
dropout p=1/3 | functional.dropout(x, 1 / 3, True)
dropout p=0.9 | functional.dropout(x, 0.9, True)
dropout p=1 | functional.dropout(x, 1.0, True)
dropout p=0.3 of negatives | functional.dropout(-x, 0.3, True)
dropout p=0.3 of infinities | functional.dropout(torch.where(x > 0.25, torch.inf, x), 0.3, True)
dropout p=0.333 | functional.dropout(x.to(t), 0.333) | types=FLOATS[2:3]
dropout p=0.333 | functional.dropout(x.to(t), 0.333) | types=[torch.half], near_torch=1e-3
dropout p=0.333 | functional.dropout(x.to(t), 0.333) | types=[torch.bfloat16], near_torch=8e-3
dropout p=0.333 f64 | functional.dropout(x.double(), 0.333) | near=WIDE
dropout p=0 | functional.dropout(x, 0.0, True)
dropout off | functional.dropout(x, 0.3, False)
dropout method of torch | torch.dropout(x, 0.25, True)
dropout of a transpose | functional.dropout(x.t(), 0.25, True)
dropout of channels_last
| functional.dropout(x.reshape(-1, 2, 2, 1).contiguous(**LAST), 0.25, True)
dropout of an expand | functional.dropout(x[:, :1].expand(-1, 4), 0.25, True)
dropout in place | functional.dropout(x + 1, 0.25, True, True) | call=DROP, near=WIDE
dropout in place p=0 | functional.dropout(x + 1, 0.0, True, True) | call=DROP
dropout in place p=1 | functional.dropout(x + 1, 1.0, True, True) | call=DROP
Dropout | nn.Dropout(0.25) | call=DROP, is_module=True
Dropout(0) | nn.Dropout(0.0) | call=DROP, is_module=True
Dropout(1) | nn.Dropout(1.0) | call=DROP, is_module=True
Dropout in evaluation | nn.Dropout(0.25).eval() | call=DROP, is_module=True
native_dropout | torch.native_dropout(x, 0.25, True)[0]
native_dropout of a transpose | torch.native_dropout(x.t(), 0.15, True)[0] | near=WIDE
native_dropout train=None | torch.native_dropout(x, 0.25, None)[0]
native_dropout off | torch.native_dropout(x, 0.25, False)[0]
native_dropout p=0 | torch.native_dropout(x, 0.0, True)[0]
native_dropout p=1 | torch.native_dropout(x, 1.0, True)[0]
native_dropout with its mask | torch.native_dropout(x, 0.25, True)
native_dropout | torch.native_dropout(x.to(t), 0.5, True)[0] | types=FLOATS
""")
for way, shape in {
    "dropout1d": "-1, 2, 2",
    "dropout2d": "-1, 2, 2, 1",
    "dropout3d": "-1, 2, 2, 1, 1",
    "feature_alpha_dropout": "-1, 2, 2, 1",
}.items():
    given = f"functional.{way}(x.reshape({shape})"
    known = f'call=("{way}", "feature_dropout", *DROP)'
    TABLE.rows(f"""
{way} | {given}, 0.25, True) | {known}, near=WIDE
{way} in place | {given} + 1, 0.25, True, True) | {known}, near=WIDE
{way} off | {given}, 0.25, False) | call=("{way}", *DROP)
""")


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
TABLE.rows("""
alpha_dropout
| functional.alpha_dropout(x.to(t), 0.25, True) | types=FLOATS, call=ALPHA, is_near=True
alpha_dropout p=0 | functional.alpha_dropout(x, 0.0, True) | call=ALPHA
alpha_dropout p=1 | functional.alpha_dropout(x, 1.0, True) | call=ALPHA
alpha_dropout in place
| functional.alpha_dropout(x + 1, 0.25, True, True) | call=ALPHA, near=WIDE
AlphaDropout | nn.AlphaDropout(0.25) | call=ALPHA, near=WIDE, is_module=True
Dropout2d in evaluation
| nn.Sequential(nn.Unflatten(1, (2, 2, 1)), nn.Dropout2d().eval()) | call=DROP, is_module=True
rrelu | functional.rrelu((x - 0.25).to(t), 0.125, 0.375, True) | types=FLOATS, is_near=True
rrelu in place | functional.rrelu(x - 0.25, 0.125, 0.375, True, True) | near=WIDE
rrelu off | functional.rrelu(x - 0.25, 0.125, 0.375, False) | near=WIDE
rrelu of two numbers | torch.rrelu(x - 0.25, training=True) | near=WIDE
RReLU | Layer(nn.RReLU(), lambda x: x - 0.25) | call="rrelu", near=WIDE, is_module=True
RReLU in evaluation
| Layer(nn.RReLU(), lambda x: x - 0.25).eval() | call="rrelu", near=WIDE, is_module=True
rrelu_with_noise | torch._C._nn.rrelu_with_noise(x - 0.25, torch.empty_like(x), 0.125, 0.375, True)
| call=("rrelu_with_noise", "rrelu"), near=WIDE
scaled_dot_product_attention
| attention(x, t, dropout_p=0.25) | types=FLOATS, call=SDPA, is_near=2, near_torch=2e-6
""")
for name, options in {
    "causal": "is_causal=True",
    "scale": "scale=0.3",
    "boolean mask": "attn_mask=MASK",
    "float mask": "attn_mask=MASK.float()",
}.items():
    TABLE.rows(f"""
scaled_dot_product_attention {name}
| attention(x, dropout_p=0.25, {options}) | call=SDPA, near=2e-6
scaled_dot_product_attention {name} without dropout
| attention(x, {options}) | call=SDPA, near=2e-6
""")
TABLE.rows("""
scaled_dot_product_attention enable_gqa | grouped(x, dropout_p=0.25) | call=SDPA, near=2e-6
scaled_dot_product_attention enable_gqa without dropout | grouped(x) | call=SDPA, near=2e-6
""")
TWICE = list(itertools.product((True, False), repeat=2))
for first, other in TWICE:
    TABLE.rows(f"""
MultiheadAttention batch_first={first} need_weights={other}
| SelfAttention(need_weights={other}, batch_first={first}) | call=SDPA, near=1e-5, is_module=True
""")
for first, other in TWICE:
    TABLE.rows(f"""
TransformerEncoderLayer batch_first={first} norm_first={other}
| Layer(nn.TransformerEncoderLayer(4, 2, 8, 0.25, batch_first={first}, norm_first={other}))
| call=SDPA, near=1e-4, is_module=True
""")
for kind, call in {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}.items():
    known = f'call=("{call}", "{kind}", "dropout"), near=1e-5, is_module=True'
    TABLE.rows(f"""
{kind} | Recurrent("{kind}") | {known}
{kind} of three layers | Recurrent("{kind}", num_layers=3) | {known}
{kind} both ways | Recurrent("{kind}", bidirectional=True) | {known}
{kind} time first | Recurrent("{kind}", batch_first=False) | {known}
{kind} without biases | Recurrent("{kind}", bias=False) | {known}
{kind} dropout=0 | Recurrent("{kind}", dropout=0.0) | {known}
{kind} in evaluation | Recurrent("{kind}").eval() | {known}
""")
TABLE.rows("""
RNN relu | Recurrent("RNN", nonlinearity="relu")
| call=("rnn_relu", "RNN", "dropout"), near=1e-5, is_module=True
gumbel_softmax | functional.gumbel_softmax(x) | call="exponential", near=1e-5
gumbel_softmax hard | functional.gumbel_softmax(x, hard=True) | call="exponential", near=1e-5
""")
