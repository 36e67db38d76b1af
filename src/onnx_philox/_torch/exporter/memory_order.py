"""In which order a tensor of a program lies in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx_philox._torch.calls.programs import call


def order_of(value: Any) -> list[int] | None:
    """The dimensions of a tensor from the outermost in memory; None if some overlap.

    Dimensions of 1 stay where they are, as far as the others let them. Their strides, which fake
    tensors state otherwise now and then, change no draw: torch sorts the others all the same.
    """
    sizes, strides = _sizes_and_strides(value)
    if 0 in sizes:
        return list(range(len(sizes)))
    long = [i for i, size in enumerate(sizes) if size != 1]
    wide = sorted(long, key=lambda i: -strides[i])
    reach = 0
    for i in reversed(wide):
        if strides[i] <= reach:
            return None
        reach += strides[i] * (sizes[i] - 1)
    ordered = iter(wide)
    return [next(ordered) if i in wide else i for i in range(len(sizes))]


def lies_in_order(value: Any, batch: Any = None) -> bool:
    """Whether a tensor is contiguous, in the sizes of the example: a row of it, given the batch."""
    sizes, strides = _sizes_and_strides(unmapped(value), batch)
    expected = 1
    pairs = list(zip(sizes, strides, strict=True))
    for size, stride in reversed(pairs):
        if size != 1 and stride != expected:
            return 0 in sizes
        expected *= size
    return True


def lie_of(value: Any) -> tuple[list[int] | None, bool]:
    """All that matters to a draw of how a tensor lies: `order_of` and `lies_in_order`."""
    return order_of(value), lies_in_order(value)


def is_mapped(value: Any) -> bool:
    """Whether a value is one of many inside of `torch.vmap`."""
    import torch

    is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
    return isinstance(value, torch.Tensor) and is_wrapped(value)


def unmapped(value: Any) -> Any:
    """The whole tensor of which vmap shows a part."""
    import torch

    while is_mapped(value):
        value = torch._C._functorch.get_unwrapped(value)
    return value


def _sizes_and_strides(value: Any, batch: Any = None) -> tuple[list[int], list[int]]:
    sizes = [_hint(n, batch) for n in value.shape]
    strides = [_hint(n, batch) for n in value.stride()]
    return sizes, strides


def of_row(number: Any, batch: Any) -> Any:
    """A dimension, a stride or a size with the batch, if there is one, at 1."""
    import torch

    if batch is None or not isinstance(number, torch.SymInt):
        return number
    of_one = number.node.expr.subs(batch, 1)
    return number.node.shape_env.create_symintnode(of_one, hint=None)


def _hint(number: Any, batch: Any) -> int:
    """A dimension as the example has it; of one that values decide, any number."""
    from torch.fx.experimental.symbolic_shapes import optimization_hint

    return int(optimization_hint(of_row(number, batch), fallback=64))


def turned_back(node: Any, drawn: Any, order: Sequence[int]) -> Any:
    import torch

    places = list(order)
    back = [places.index(i) for i in range(len(places))]
    return call(node, torch.ops.aten.permute.default, drawn, back)
