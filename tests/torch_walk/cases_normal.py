"""Normals, and what is made of one uniform or normal: exponentials, log-normals, Cauchy's."""

from __future__ import annotations

import torch

from torch_walk.table import FLOATS, Table

TABLE = Table()
add, each = TABLE.add, TABLE.each
WIDE = 1e-6

each("randn", lambda x, t: torch.randn(x.shape[0], 4, dtype=t), FLOATS, near_torch=2e-15)
add("randn of a size", lambda _: torch.randn((2, 3)))
add("randn of twenty", lambda _: torch.randn(20))
add("randn complex64", lambda _: torch.randn(2, 3, dtype=torch.complex64), near=WIDE)
add("randn_like complex64", lambda x: torch.randn_like(torch.complex(x, x)), near=WIDE)
add("randn generator=None", lambda x: torch.randn(x.shape, generator=None))
add("randn out=", lambda _: torch.randn(2, 3, out=torch.empty(2, 3)))
add("randn generator=None out=", lambda _: torch.randn(2, 3, generator=None, out=torch.empty(2, 3)))
add(
    "randn of a generator",
    lambda _: torch.randn(2, 3, generator=torch.Generator()),
    ("randn", "Generator"),
)
each("randn_like", lambda x, t: torch.randn_like(x.to(t)), FLOATS, near_torch=2e-15)
each("randn_like dtype=", lambda x, t: torch.randn_like(x, dtype=t), FLOATS, near_torch=2e-15)
add("randn_like generator=None", lambda x: torch.randn_like(x, generator=None))
add("randn_like of a transpose", lambda x: torch.randn_like(x.t()))
add(
    "randn_like of a permute",
    lambda x: torch.randn_like(x[:, :, None].expand(-1, -1, 6).contiguous().permute(2, 0, 1)),
)
each(
    "normal_",
    lambda x, t: torch.empty_like(x.to(t)).normal_(0.5, 0.25),
    FLOATS,
    "normal",
    near_torch=2e-15,
)
add("normal_ default", lambda x: torch.empty_like(x).normal_(), "normal")
add(
    "normal_ of doubles", lambda x: torch.empty_like(x).normal_(0.1, 0.3), "normal", near_torch=2e-7
)
add("normal_ by name", lambda x: torch.empty_like(x).normal_(std=2, generator=None), "normal")
add("normal_ of a transpose", lambda x: torch.empty_like(x.t()).normal_(), "normal")
add("init.normal_", lambda x: torch.nn.init.normal_(torch.zeros_like(x), 0, 2), "normal")
each(
    "normal float_float",
    lambda x, t: torch.normal(1.0, 2.0, (x.shape[0], 2), dtype=t),
    FLOATS,
    near_torch=2e-15,
)
add("normal float_float generator=None", lambda _: torch.normal(1.0, 2.0, (2, 3), generator=None))
add("normal float_float out=", lambda _: torch.normal(1.0, 2.0, (2, 3), out=torch.empty(2, 3)))
add("normal of integers", lambda _: torch.normal(1, 2, (2, 3)))
add("normal complex64", lambda _: torch.normal(0.0, 1.0, (2, 3), dtype=torch.complex64), near=WIDE)
each("normal Tensor_float", lambda x, t: torch.normal(x.to(t), 2.0), FLOATS, is_near=True)
each("normal float_Tensor", lambda x, t: torch.normal(1.5, x.to(t)), FLOATS, is_near=True)
each(
    "normal Tensor_Tensor", lambda x, t: torch.normal(x.to(t), (x + 1).to(t)), FLOATS, is_near=True
)
add("normal Tensor", lambda x: torch.normal(x), near=WIDE)
add("normal Tensor_float generator=None", lambda x: torch.normal(x, 2.0, generator=None), near=WIDE)
add("normal float_Tensor generator=None", lambda x: torch.normal(1.5, x, generator=None), near=WIDE)
add("normal Tensor_Tensor generator=None", lambda x: torch.normal(x, x, generator=None), near=WIDE)
add("normal Tensor_float out=", lambda x: torch.normal(x, 2.0, out=torch.empty_like(x)), near=WIDE)
add("normal float_Tensor out=", lambda x: torch.normal(1.5, x, out=torch.empty_like(x)), near=WIDE)
add("normal Tensor_Tensor out=", lambda x: torch.normal(x, x, out=torch.empty_like(x)), near=WIDE)
add("normal Tensor_Tensor broadcast", lambda x: torch.normal(x, x[:1] + 1), near=WIDE)
add("normal Tensor_Tensor of two types", lambda x: torch.normal(x, x.double()), near=WIDE)
add("normal Tensor_Tensor of f16 and f32", lambda x: torch.normal(x.half(), x).float(), near=2e-3)

each(
    "exponential_",
    lambda x, t: torch.empty_like(x.to(t)).exponential_(0.5),
    FLOATS,
    near_torch=2e-15,
)
add("exponential_ default", lambda x: torch.empty_like(x).exponential_())
add("exponential_ of a double", lambda x: torch.empty_like(x).exponential_(0.7))
add("exponential_ of thirds", lambda x: torch.empty_like(x).exponential_(1 / 3))
add("exponential_ by name", lambda x: torch.empty_like(x).exponential_(lambd=2, generator=None))
add("exponential_ of a transpose", lambda x: torch.empty_like(x.t()).exponential_())
each(
    "log_normal_",
    lambda x, t: torch.empty_like(x.to(t)).log_normal_(0.5, 0.25),
    FLOATS,
    is_near=True,
)
add("log_normal_ default", lambda x: torch.empty_like(x).log_normal_(), near=WIDE)
add(
    "log_normal_ by name",
    lambda x: torch.empty_like(x).log_normal_(std=0.5, generator=None),
    near=WIDE,
)
each("cauchy_", lambda x, t: torch.empty_like(x.to(t)).cauchy_(1, 2), FLOATS, is_near=True)
add("cauchy_ default", lambda x: torch.empty_like(x).cauchy_(), near=WIDE)
add("cauchy_ by name", lambda x: torch.empty_like(x).cauchy_(sigma=3, generator=None), near=WIDE)
add("geometric_", lambda x: torch.empty_like(x).geometric_(0.3))
add("geometric_ of integers", lambda x: torch.empty_like(x, dtype=torch.int64).geometric_(0.3))
