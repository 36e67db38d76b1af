"""`torch.nn.init.trunc_normal_`, in a program.

torch draws until all numbers lie within the bounds, a loop that no program holds. Here each element
has candidates, along a last axis, and takes the first that lies there, as a truncated normal of
TensorFlow's does.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from typing import Any

from onnx_philox._contract.refusal import refuse

_OWNER = "torch.nn.init.trunc_normal_"
# No normal lies further from its mean, in deviations.
_FURTHEST = 9.0
# How often no candidate of an element may lie within the bounds.
_MISSED = 2e-11
_MOST_CANDIDATES = 256


@contextlib.contextmanager
def truncated_normals(*, as_torch: bool) -> Iterator[None]:
    """A block in which this thread draws truncated normals from candidates.

    Args:
        as_torch: Whether torch's numbers are asked for, which is refused.
    """
    import torch

    module: Any = torch.nn.init
    own = module._no_grad_trunc_normal_
    thread = threading.get_ident()

    def drawn(
        tensor: Any,
        mean: float,
        std: float,
        a: float,
        b: float,
        generator: Any = None,
    ) -> Any:
        if threading.get_ident() != thread:
            return own(tensor, mean, std, a, b, generator=generator)
        with torch.no_grad():
            return _drawn(tensor, mean, std, (a, b), generator, as_torch=as_torch)

    module._no_grad_trunc_normal_ = drawn
    try:
        yield
    finally:
        module._no_grad_trunc_normal_ = own


def _drawn(
    tensor: Any,
    mean: float,
    std: float,
    bounds: tuple[float, float],
    generator: Any,
    *,
    as_torch: bool,
) -> Any:
    import torch

    least, most = bounds
    low = max((least - mean) / std, -_FURTHEST)
    high = min((most - mean) / std, _FURTHEST)
    if (low, high) == (-_FURTHEST, _FURTHEST):
        return tensor.normal_(mean, std, generator=generator)
    if as_torch:
        refuse(
            _OWNER,
            "the alignment",
            "'pytorch'",
            "'tensorflow', since torch draws until all numbers lie within the bounds",
            "Leave alignment out: the file then draws the same distribution of Philox numbers.",
        )
    share = _below(high) - _below(low)
    count = _MOST_CANDIDATES + 1
    if share >= 1:
        count = 1
    elif share > 0:
        tries = math.log(_MISSED) / math.log1p(-share)
        count = math.ceil(tries)
    if count > _MOST_CANDIDATES:
        refuse(
            _OWNER,
            "the bounds",
            f"{bounds[0]:g} and {bounds[1]:g}, which hold {max(share, 0.0):.2g} of them",
            "wider ones, which hold a tenth of the normals",
            "Pass the truncated normals as an input.",
        )
    width = high - low
    work = torch.float64 if tensor.dtype is torch.float64 else torch.float32
    device = tensor.device
    candidates = torch.empty([*tensor.shape, count], dtype=work, device=device)
    # Those within the bounds lie in [1, 2): their whole part decides, which no runtime rounds.
    candidates = candidates.normal_(1 - low / width, 1 / width, generator=generator)
    is_inside = candidates.to(torch.int32) == 1
    # The first inside ranks highest; where none is, the last does.
    first_highest = torch.arange(count + 1, 1, -1, dtype=torch.int32, device=device)
    last_highest = (first_highest == 2).to(torch.int32)
    rank = torch.where(is_inside, first_highest, last_highest)
    place = rank.argmax(-1, keepdim=True)
    chosen = candidates.gather(-1, place).squeeze(-1)
    values = (chosen - 1) * (width * std) + (mean + low * std)
    values = values.clamp(*bounds)
    return tensor.copy_(values)


def _below(bound: float) -> float:
    """The share of standard normals below a bound."""
    double = 1 + math.erf(bound / math.sqrt(2))
    return double / 2
