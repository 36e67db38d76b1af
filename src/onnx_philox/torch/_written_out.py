"""Calls that become others before torch's exporter decomposes them.

It would draw otherwise than torch does, or lose a draw, or give another type.
"""

from __future__ import annotations

from typing import Any

from onnx_philox._torch_calls.programs import call, replace
from onnx_philox.torch._memory import order_of, turned_back


def native_dropout(node: Any, given: dict[str, Any]) -> None:
    """`native_dropout`, which draws and scales otherwise than `dropout`, into which it is made."""
    import torch

    if given["train"] is False:
        return
    aten, x, p = torch.ops.aten, given["input"], given["p"]
    order = order_of(torch.empty_like(x.meta["val"]))
    assert order is not None, "it is dense"
    scale = 0.0 if p == 1 else 1 / (1 - p)
    with node.graph.inserting_before(node):
        turned = call(node, aten.permute.default, x, order)
        drawn = turned_back(node, call(node, aten.bernoulli.p, turned, 1 - p), order)
        dtype = x.meta["val"].dtype
        # ONNX Runtime multiplies no bf16. Products of 16 bits are exact in f32, and torch rounds
        # the factor first.
        wide = dtype
        if dtype in (torch.bfloat16, torch.float16):
            wide, scale = torch.float32, torch.tensor(scale, dtype=dtype).item()
        x, noise = (call(node, aten.to.dtype, each, wide) for each in (x, drawn))
        kept = call(node, aten.mul.Tensor, call(node, aten.mul.Tensor, x, noise), scale)
        results = call(node, aten.to.dtype, kept, dtype), call(node, aten.ne.Scalar, noise, 0)
    replace(node, *results)


def multinomial(node: Any, given: dict[str, Any]) -> None:
    """`multinomial` of several samples with replacement, or of weights transposed in memory.

    The other ones are RandomCategorical, which is torch's race of exponentials.
    """
    import torch

    aten, weights, samples = torch.ops.aten, given["self"], given["num_samples"]
    if given["replacement"] and samples != 1:
        _search(node, weights, samples)
        return
    order = order_of(torch.empty_like(weights.meta["val"]))
    if order is None or order == sorted(order):
        return
    with node.graph.inserting_before(node):
        turned = call(node, aten.permute.default, weights, order)
        empty = call(node, aten.empty_like.default, turned, memory_format=torch.contiguous_format)
        drawn = call(node, aten.exponential.default, empty, 1.0)
        times = turned_back(node, drawn, order)
        speeds = call(node, aten.div.Tensor, weights, times)
        if samples == 1:
            result = call(node, aten.argmax.default, speeds, -1, True)
        else:
            import operator

            best = call(node, aten.topk.default, speeds, samples)
            result = call(node, operator.getitem, best, 1)
    replace(node, result)


def _search(node: Any, weights: Any, samples: int) -> None:
    """As torch does: a uniform of f64 for each sample, sought in sums of f32."""
    import torch

    aten = torch.ops.aten
    dtype = weights.meta["val"].dtype
    with node.graph.inserting_before(node):
        if dtype in (torch.bfloat16, torch.float16):
            weights = call(node, aten.to.dtype, weights, torch.float32)
        sums = call(node, aten.cumsum.default, weights, -1)
        shares = call(node, aten.div.Tensor, sums, call(node, aten.narrow.default, sums, -1, -1, 1))
        column = call(node, aten.narrow.default, weights, -1, 0, 1)
        wide = [-1] * (weights.meta["val"].ndim - 1)
        like = call(node, aten.expand.default, column, [*wide, samples])
        options = {"dtype": torch.float64, "memory_format": torch.contiguous_format}
        drawn = call(node, aten.rand_like.default, like, **options)
        places = call(node, aten.unsqueeze.default, shares, -2)
        below = call(
            node,
            aten.lt.Tensor,
            call(node, aten.to.dtype, places, torch.float64),
            call(node, aten.unsqueeze.default, drawn, -1),
        )
        result = call(node, aten.sum.dim_IntList, below, [-1])
    replace(node, result)
