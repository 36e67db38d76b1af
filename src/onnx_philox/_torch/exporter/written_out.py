"""Calls that become others before torch's exporter decomposes them.

It would draw otherwise than torch does, or lose a draw, or give another type.
"""

from __future__ import annotations

from typing import Any, NoReturn

from onnx_philox._contract.refusal import refuse
from onnx_philox._torch.calls.programs import arguments, call, name_of, replace
from onnx_philox._torch.exporter.memory_order import is_mapped, order_of, turned_back
from onnx_philox._torch.exporter.program import place_of_node

# Fewer normals are drawn one by one, in f64, by numbers that the exporter notes.
SIXTEEN = 16
_NUMBERS = {
    **dict.fromkeys(("uniform", "uniform_"), ("from", "to")),
    **dict.fromkeys(("normal", "normal_", "normal_functional"), ("mean", "std")),
}


def native_dropout(node: Any, given: dict[str, Any]) -> None:
    """`native_dropout`, which draws and scales otherwise than `dropout`, into which it is made."""
    import torch

    if given["train"] is False:
        return
    aten = torch.ops.aten
    x = given["input"]
    p = given["p"]
    value = x.meta["val"]
    order = order_of(torch.empty_like(value))
    assert order is not None, "it is dense"
    scale = 0.0 if p == 1 else 1 / (1 - p)
    with node.graph.inserting_before(node):
        turned = call(node, aten.permute.default, x, order)
        bernoulli = call(node, aten.bernoulli.p, turned, 1 - p)
        drawn = turned_back(node, bernoulli, order)
        dtype = value.dtype
        # ONNX Runtime multiplies no bf16. Products of 16 bits are exact in f32, and torch rounds
        # the factor first.
        wide = dtype
        if dtype in (torch.bfloat16, torch.float16):
            wide = torch.float32
            rounded = torch.tensor(scale, dtype=dtype)
            scale = rounded.item()
        x = call(node, aten.to.dtype, x, wide)
        noise = call(node, aten.to.dtype, drawn, wide)
        product = call(node, aten.mul.Tensor, x, noise)
        kept = call(node, aten.mul.Tensor, product, scale)
        output = call(node, aten.to.dtype, kept, dtype)
        mask = call(node, aten.ne.Scalar, noise, 0)
    replace(node, output, mask)


def multinomial(node: Any, given: dict[str, Any]) -> None:
    """`multinomial` of several samples with replacement, or of weights transposed in memory.

    The other ones are RandomCategorical, which is torch's race of exponentials.
    """
    import torch

    aten = torch.ops.aten
    weights = given["self"]
    samples = given["num_samples"]
    if given["replacement"] and samples != 1:
        _search(node, weights, samples)
        return
    empty = torch.empty_like(weights.meta["val"])
    order = order_of(empty)
    if order is None or order == sorted(order):
        return
    with node.graph.inserting_before(node):
        turned = call(node, aten.permute.default, weights, order)
        empty = call(
            node,
            aten.empty_like.default,
            turned,
            memory_format=torch.contiguous_format,
        )
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
        total = call(node, aten.narrow.default, sums, -1, -1, 1)
        shares = call(node, aten.div.Tensor, sums, total)
        column = call(node, aten.narrow.default, weights, -1, 0, 1)
        wide = [-1] * (weights.meta["val"].ndim - 1)
        sizes = [*wide, samples]
        like = call(node, aten.expand.default, column, sizes)
        options = {
            "dtype": torch.float64,
            "memory_format": torch.contiguous_format,
        }
        drawn = call(node, aten.rand_like.default, like, **options)
        places = call(node, aten.unsqueeze.default, shares, -2)
        places = call(node, aten.to.dtype, places, torch.float64)
        sought = call(node, aten.unsqueeze.default, drawn, -1)
        below = call(node, aten.lt.Tensor, places, sought)
        result = call(node, aten.sum.dim_IntList, below, [-1])
    replace(node, result)


def in_single(node: Any) -> set[Any]:
    """Floats of 16 bits by numbers that these do not hold: torch draws f32, and rounds.

    Returns:
        The draws that are copied into the tensor of a call in place.
    """
    import torch

    aten = torch.ops.aten
    name = name_of(node)
    value = node.meta.get("val")
    given = arguments(node)
    numbers = [given.get(each) for each in _NUMBERS.get(name, ())]
    if (
        not numbers
        or not isinstance(value, torch.Tensor)
        or value.dtype not in (torch.bfloat16, torch.float16)
        or not all(isinstance(number, float | int) for number in numbers)
        or given.get("generator") is not None
    ):
        return set()
    dtype = value.dtype
    # As the number is in f32, and as it is in the type.
    wide_numbers = [torch.tensor(number, dtype=torch.float32) for number in numbers]
    low, high = (number.to(dtype).item() for number in wide_numbers)
    if [low, high] == [number.item() for number in wide_numbers]:
        return set()
    sizes = list(value.shape)
    is_uniform = "to" in given
    if is_mapped(value):
        _refuse_numbers(node, numbers, dtype, "inside of vmap")
    if not is_uniform:
        if not all(isinstance(size, int) for size in sizes):
            _refuse_numbers(node, numbers, dtype, "where the size is dynamic")
        if value.numel() < SIXTEEN:
            return set()
    filled = given["self"] if name.endswith("_") else given.get("out")
    with node.graph.inserting_before(node):
        if is_uniform:
            # A cast of the tensor, since of that the writer reads the shape alone.
            like = call(node, aten.to.dtype, given["self"], torch.float32)
            drawn = [call(node, aten.uniform.default, like, *numbers)]
        else:
            drawn = _normals(node, value.numel(), numbers)
        # Nothing but a cast reads a draw: so OpenVINO, whose CPU may have no such type, rounds it.
        rounded = [call(node, aten.to.dtype, each, dtype) for each in drawn]
        if is_uniform:
            # ONNX Runtime compares no bf16.
            wide = call(node, aten.to.dtype, *rounded, torch.float32)
            is_end = call(node, aten.ge.Scalar, wide, high)
            inside = call(node, aten.masked_fill.Scalar, wide, is_end, low)
            result = call(node, aten.to.dtype, inside, dtype)
        else:
            whole, *anew = rounded
            if anew:
                left = value.numel() - SIXTEEN
                kept = call(node, aten.narrow.default, whole, 0, 0, left)
                whole = call(node, aten.cat.default, [kept, *anew], 0)
            result = call(node, aten.reshape.default, whole, sizes)
        if filled is not None:
            result = call(node, aten.copy_.default, filled, result)
    replace(node, result)
    if filled is None:
        return set()
    return set(drawn)


def _normals(node: Any, count: int, moments: list[Any]) -> list[Any]:
    """Whole sixteens, then those of the last places anew, if the count is no multiple of 16."""
    import torch

    aten = torch.ops.aten
    rest = count % SIXTEEN
    sizes = [count - rest] if count > rest else []
    if rest:
        sizes.append(SIXTEEN)
    drawn = []
    for size in sizes:
        empty = call(node, aten.empty.memory_format, [size], dtype=torch.float32)
        filled = call(node, aten.normal_functional.default, empty, *moments)
        drawn.append(filled)
    return drawn


def _refuse_numbers(
    node: Any,
    numbers: list[Any],
    dtype: Any,
    where: str,
) -> NoReturn:
    kind = str(dtype).removeprefix("torch.")
    like = "rand" if "uniform" in name_of(node) else "randn"
    refuse(
        f"aten::{name_of(node)}",
        f"its numbers{place_of_node(node)}",
        " and ".join(map(str, numbers)),
        f"numbers that {kind} holds exactly {where}, with alignment 'pytorch'",
        f"Call torch.{like} of that size and type, and multiply and add.",
    )
