"""Normals, and what is made of one uniform or normal: exponentials, log-normals, Cauchy's."""

from __future__ import annotations

from torch_walk.table import Table

TABLE = Table(globals())
TABLE.rows("""
randn | torch.randn(x.shape[0], 4, dtype=t) | types=FLOATS, near_torch=2e-15
randn of a size | torch.randn((2, 3))
randn of twenty | torch.randn(20)
randn complex64 | torch.randn(2, 3, dtype=torch.complex64) | near=WIDE
randn_like complex64 | torch.randn_like(torch.complex(x, x)) | near=WIDE
randn generator=None | torch.randn(x.shape, generator=None)
randn out= | torch.randn(2, 3, out=torch.empty(2, 3))
randn generator=None out= | torch.randn(2, 3, generator=None, out=torch.empty(2, 3))
randn of a generator | torch.randn(2, 3, generator=torch.Generator()) | call=("randn", "Generator")
randn_like | torch.randn_like(x.to(t)) | types=FLOATS, near_torch=2e-15
randn_like dtype= | torch.randn_like(x, dtype=t) | types=FLOATS, near_torch=2e-15
randn_like generator=None | torch.randn_like(x, generator=None)
randn_like of a transpose | torch.randn_like(x.t())
randn_like of a permute
| torch.randn_like(x[:, :, None].expand(-1, -1, 6).contiguous().permute(2, 0, 1))
normal_
| torch.empty_like(x.to(t)).normal_(0.5, 0.25) | types=FLOATS, call="normal", near_torch=2e-15
normal_ default | torch.empty_like(x).normal_() | call="normal"
normal_ of doubles | torch.empty_like(x).normal_(0.1, 0.3) | call="normal", near_torch=2e-7
normal_ by name | torch.empty_like(x).normal_(std=2, generator=None) | call="normal"
normal_ of a transpose | torch.empty_like(x.t()).normal_() | call="normal"
init.normal_ | torch.nn.init.normal_(torch.zeros_like(x), 0, 2) | call="normal"
normal float_float
| torch.normal(1.0, 2.0, (x.shape[0], 2), dtype=t) | types=FLOATS, near_torch=2e-15
normal float_float generator=None | torch.normal(1.0, 2.0, (2, 3), generator=None)
normal float_float out= | torch.normal(1.0, 2.0, (2, 3), out=torch.empty(2, 3))
normal of integers | torch.normal(1, 2, (2, 3))
normal complex64 | torch.normal(0.0, 1.0, (2, 3), dtype=torch.complex64) | near=WIDE
normal Tensor_float | torch.normal(x.to(t), 2.0) | types=FLOATS, is_near=True
normal float_Tensor | torch.normal(1.5, x.to(t)) | types=FLOATS, is_near=True
normal Tensor_Tensor | torch.normal(x.to(t), (x + 1).to(t)) | types=FLOATS, is_near=True
normal Tensor | torch.normal(x) | near=WIDE
normal Tensor_float generator=None | torch.normal(x, 2.0, generator=None) | near=WIDE
normal float_Tensor generator=None | torch.normal(1.5, x, generator=None) | near=WIDE
normal Tensor_Tensor generator=None | torch.normal(x, x, generator=None) | near=WIDE
normal Tensor_float out= | torch.normal(x, 2.0, out=torch.empty_like(x)) | near=WIDE
normal float_Tensor out= | torch.normal(1.5, x, out=torch.empty_like(x)) | near=WIDE
normal Tensor_Tensor out= | torch.normal(x, x, out=torch.empty_like(x)) | near=WIDE
normal Tensor_Tensor broadcast | torch.normal(x, x[:1] + 1) | near=WIDE
normal Tensor_Tensor of two types | torch.normal(x, x.double()) | near=WIDE
normal Tensor_Tensor of f16 and f32 | torch.normal(x.half(), x).float() | near=2e-3
exponential_ | torch.empty_like(x.to(t)).exponential_(0.5) | types=FLOATS, near_torch=2e-15
exponential_ default | torch.empty_like(x).exponential_()
exponential_ of a double | torch.empty_like(x).exponential_(0.7)
exponential_ of thirds | torch.empty_like(x).exponential_(1 / 3)
exponential_ by name | torch.empty_like(x).exponential_(lambd=2, generator=None)
exponential_ of a transpose | torch.empty_like(x.t()).exponential_()
log_normal_ | torch.empty_like(x.to(t)).log_normal_(0.5, 0.25) | types=FLOATS, is_near=True
log_normal_ default | torch.empty_like(x).log_normal_() | near=WIDE
log_normal_ by name | torch.empty_like(x).log_normal_(std=0.5, generator=None) | near=WIDE
cauchy_ | torch.empty_like(x.to(t)).cauchy_(1, 2) | types=FLOATS, is_near=True
cauchy_ default | torch.empty_like(x).cauchy_() | near=WIDE
cauchy_ by name | torch.empty_like(x).cauchy_(sigma=3, generator=None) | near=WIDE
geometric_ | torch.empty_like(x).geometric_(0.3)
geometric_ of integers | torch.empty_like(x, dtype=torch.int64).geometric_(0.3)
""")
