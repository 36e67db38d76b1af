"""Normals, and what is made of one uniform or normal: exponentials, log-normals, Cauchy's."""

# ruff: noqa: ARG005 (a case's input is named x, also where nothing reads it)

from __future__ import annotations

import torch

from tests.torch_numbers.torch_walk.table import FLOATS, WIDE, Table

TABLE = Table()
TABLE.each(
    "randn", lambda x, t: torch.randn(x.shape[0], 4, dtype=t), types=FLOATS, near_torch=2e-15
)
TABLE.add(
    "randn of a size",
    lambda x: torch.randn((2, 3)),
)
TABLE.add(
    "randn of twenty",
    lambda x: torch.randn(20),
)
TABLE.add(
    "randn complex64",
    lambda x: torch.randn(2, 3, dtype=torch.complex64),
    near=WIDE,
)
TABLE.add(
    "randn_like complex64",
    lambda x: torch.randn_like(torch.complex(x, x)),
    near=WIDE,
)
TABLE.add(
    "randn generator=None",
    lambda x: torch.randn(x.shape, generator=None),
)
TABLE.add(
    "randn out=",
    lambda x: torch.randn(2, 3, out=torch.empty(2, 3)),
)
TABLE.add(
    "randn generator=None out=", lambda x: torch.randn(2, 3, generator=None, out=torch.empty(2, 3))
)
TABLE.add(
    "randn of a generator",
    lambda x: torch.randn(2, 3, generator=torch.Generator()),
    call=("randn", "Generator"),
)
TABLE.each(
    "randn_like",
    lambda x, t: torch.randn_like(x.to(t)),
    types=FLOATS,
    near_torch=2e-15,
)
TABLE.each(
    "randn_like dtype=", lambda x, t: torch.randn_like(x, dtype=t), types=FLOATS, near_torch=2e-15
)
TABLE.add(
    "randn_like generator=None",
    lambda x: torch.randn_like(x, generator=None),
)
TABLE.add(
    "randn_like of a transpose",
    lambda x: torch.randn_like(x.t()),
)
TABLE.add(
    "randn_like of a permute",
    lambda x: torch.randn_like(x[:, :, None].expand(-1, -1, 6).contiguous().permute(2, 0, 1)),
)
TABLE.each(
    "normal_",
    lambda x, t: torch.empty_like(x.to(t)).normal_(0.5, 0.25),
    types=FLOATS,
    call="normal",
    near_torch=2e-15,
)
TABLE.add(
    "normal_ default",
    lambda x: torch.empty_like(x).normal_(),
    call="normal",
)
TABLE.add(
    "normal_ of doubles",
    lambda x: torch.empty_like(x).normal_(0.1, 0.3),
    call="normal",
    near_torch=2e-7,
)
TABLE.add(
    "normal_ by name", lambda x: torch.empty_like(x).normal_(std=2, generator=None), call="normal"
)
TABLE.add(
    "normal_ of a transpose",
    lambda x: torch.empty_like(x.t()).normal_(),
    call="normal",
)
TABLE.add(
    "init.normal_",
    lambda x: torch.nn.init.normal_(torch.zeros_like(x), 0, 2),
    call="normal",
)
TABLE.each(
    "normal float_float",
    lambda x, t: torch.normal(1.0, 2.0, (x.shape[0], 2), dtype=t),
    types=FLOATS,
    near_torch=2e-15,
)
TABLE.add(
    "normal float_float generator=None", lambda x: torch.normal(1.0, 2.0, (2, 3), generator=None)
)
TABLE.add(
    "normal float_float out=", lambda x: torch.normal(1.0, 2.0, (2, 3), out=torch.empty(2, 3))
)
TABLE.add(
    "normal of integers",
    lambda x: torch.normal(1, 2, (2, 3)),
)
TABLE.add(
    "normal complex64", lambda x: torch.normal(0.0, 1.0, (2, 3), dtype=torch.complex64), near=WIDE
)
TABLE.each(
    "normal Tensor_float", lambda x, t: torch.normal(x.to(t), 2.0), types=FLOATS, is_near=True
)
TABLE.each(
    "normal float_Tensor", lambda x, t: torch.normal(1.5, x.to(t)), types=FLOATS, is_near=True
)
TABLE.each(
    "normal Tensor_Tensor",
    lambda x, t: torch.normal(x.to(t), (x + 1).to(t)),
    types=FLOATS,
    is_near=True,
)
TABLE.add(
    "normal Tensor",
    lambda x: torch.normal(x),
    near=WIDE,
)
TABLE.add(
    "normal Tensor_float generator=None", lambda x: torch.normal(x, 2.0, generator=None), near=WIDE
)
TABLE.add(
    "normal float_Tensor generator=None", lambda x: torch.normal(1.5, x, generator=None), near=WIDE
)
TABLE.add(
    "normal Tensor_Tensor generator=None", lambda x: torch.normal(x, x, generator=None), near=WIDE
)
TABLE.add(
    "normal Tensor_float out=", lambda x: torch.normal(x, 2.0, out=torch.empty_like(x)), near=WIDE
)
TABLE.add(
    "normal float_Tensor out=", lambda x: torch.normal(1.5, x, out=torch.empty_like(x)), near=WIDE
)
TABLE.add(
    "normal Tensor_Tensor out=", lambda x: torch.normal(x, x, out=torch.empty_like(x)), near=WIDE
)
TABLE.add(
    "normal Tensor_Tensor broadcast",
    lambda x: torch.normal(x, x[:1] + 1),
    near=WIDE,
)
TABLE.add(
    "normal Tensor_Tensor of two types",
    lambda x: torch.normal(x, x.double()),
    near=WIDE,
)
TABLE.add(
    "normal Tensor_Tensor of f16 and f32", lambda x: torch.normal(x.half(), x).float(), near=2e-3
)
TABLE.each(
    "exponential_",
    lambda x, t: torch.empty_like(x.to(t)).exponential_(0.5),
    types=FLOATS,
    near_torch=2e-15,
)
TABLE.add(
    "exponential_ default",
    lambda x: torch.empty_like(x).exponential_(),
)
TABLE.add(
    "exponential_ of a double",
    lambda x: torch.empty_like(x).exponential_(0.7),
)
TABLE.add(
    "exponential_ of thirds",
    lambda x: torch.empty_like(x).exponential_(1 / 3),
)
TABLE.add(
    "exponential_ by name", lambda x: torch.empty_like(x).exponential_(lambd=2, generator=None)
)
TABLE.add(
    "exponential_ of a transpose",
    lambda x: torch.empty_like(x.t()).exponential_(),
)
TABLE.each(
    "log_normal_",
    lambda x, t: torch.empty_like(x.to(t)).log_normal_(0.5, 0.25),
    types=FLOATS,
    is_near=True,
)
TABLE.add(
    "log_normal_ default",
    lambda x: torch.empty_like(x).log_normal_(),
    near=WIDE,
)
TABLE.add(
    "log_normal_ by name",
    lambda x: torch.empty_like(x).log_normal_(std=0.5, generator=None),
    near=WIDE,
)
TABLE.each(
    "cauchy_", lambda x, t: torch.empty_like(x.to(t)).cauchy_(1, 2), types=FLOATS, is_near=True
)
TABLE.add(
    "cauchy_ default",
    lambda x: torch.empty_like(x).cauchy_(),
    near=WIDE,
)
TABLE.add(
    "cauchy_ by name", lambda x: torch.empty_like(x).cauchy_(sigma=3, generator=None), near=WIDE
)
TABLE.add(
    "geometric_",
    lambda x: torch.empty_like(x).geometric_(0.3),
)
TABLE.add(
    "geometric_ of integers", lambda x: torch.empty_like(x, dtype=torch.int64).geometric_(0.3)
)
