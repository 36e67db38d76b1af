"""Uniform numbers, integers and permutations."""

# ruff: noqa: ARG005 (a case's input is named x, also where nothing reads it)

from __future__ import annotations

import torch

from tests.torch_numbers.torch_walk.table import FLOATS, INTEGERS, Table

TABLE = Table()


def add_randint(
    name: str,
    low: tuple[int, ...],
    least: tuple[int, ...],
) -> None:
    """The forms of randint and randint_like, with these bounds before the upper one."""
    TABLE.add(f"randint{name}", lambda x: torch.randint(*low, 7, (x.shape[0], 2)))
    TABLE.each(
        f"randint{name} dtype=",
        lambda x, t: torch.randint(*least, 7, x.shape, dtype=t),
        types=INTEGERS + FLOATS,
    )
    TABLE.add(
        f"randint{name} generator=None",
        lambda x: torch.randint(*low, 9, x.shape, generator=None),
    )
    TABLE.add(
        f"randint{name} out=",
        lambda x: torch.randint(
            *low,
            9,
            (2, 3),
            out=torch.empty(2, 3, dtype=torch.int64),
        ),
    )
    TABLE.add(
        f"randint{name} generator=None out=",
        lambda x: torch.randint(
            *low, 9, (2, 3), generator=None, out=torch.empty(2, 3, dtype=torch.int64)
        ),
    )
    TABLE.each(
        f"randint_like{name}",
        lambda x, t: torch.randint_like(x.to(t), *low, 9),
        types=FLOATS + INTEGERS[:2],
    )
    TABLE.each(
        f"randint_like{name} dtype=",
        lambda x, t: torch.randint_like(x, *low, 9, dtype=t),
        types=(torch.int64, torch.float64),
    )
    TABLE.add(
        f"randint_like{name} generator=None",
        lambda x: torch.randint_like(x, *low, 9, generator=None),
    )


TABLE.each(
    "rand",
    lambda x, t: torch.rand(x.shape[0], 4, dtype=t),
    types=FLOATS,
)
TABLE.each(
    "rand of a size",
    lambda x, t: torch.rand((2, 3), dtype=t),
    types=FLOATS,
)
TABLE.each(
    "rand generator=None", lambda x, t: torch.rand(x.shape, generator=None, dtype=t), types=FLOATS
)
TABLE.add(
    "rand out=",
    lambda x: torch.rand(2, 3, out=torch.empty(2, 3)),
)
TABLE.add(
    "rand generator=None out=", lambda x: torch.rand(2, 3, generator=None, out=torch.empty(2, 3))
)
TABLE.add(
    "rand of a scalar",
    lambda x: torch.rand(()),
)
TABLE.add(
    "rand of no elements",
    lambda x: torch.rand(0, 3),
)
TABLE.add(
    "rand of a generator",
    lambda x: torch.rand(2, 3, generator=torch.Generator()),
    call=("rand", "Generator"),
)
TABLE.each(
    "rand_like",
    lambda x, t: torch.rand_like(x.to(t)),
    types=FLOATS,
)
TABLE.each(
    "rand_like dtype=",
    lambda x, t: torch.rand_like(x, dtype=t),
    types=FLOATS,
)
TABLE.add(
    "rand_like generator=None",
    lambda x: torch.rand_like(x, generator=None),
)
TABLE.add(
    "rand_like out of a view",
    lambda x: torch.rand_like(x.t()),
)
TABLE.add(
    "rand_like of a permute",
    lambda x: torch.rand_like(x.reshape(-1, 2, 2).permute(1, 2, 0)),
)
TABLE.add(
    "rand_like of channels_last",
    lambda x: torch.rand_like(x.reshape(-1, 2, 2, 1).contiguous(memory_format=torch.channels_last)),
)
TABLE.add(
    "rand_like memory_format=channels_last",
    lambda x: torch.rand_like(x.reshape(-1, 2, 2, 1), memory_format=torch.channels_last),
)
TABLE.add(
    "rand_like of a row's transpose",
    lambda x: torch.rand_like(x[:1].t()),
)
TABLE.add(
    "rand_like contiguous", lambda x: torch.rand_like(x.t(), memory_format=torch.contiguous_format)
)
TABLE.add(
    "rand_like of an expand",
    lambda x: torch.rand_like(x[:, :1].expand(-1, 4)),
)
TABLE.add(
    "rand_like of a slice",
    lambda x: torch.rand_like(x[:, 1:3]),
)
TABLE.each(
    "uniform_",
    lambda x, t: torch.empty_like(x.to(t)).uniform_(-0.75, 0.5),
    types=FLOATS,
    call="uniform",
)
TABLE.add(
    "uniform_ default",
    lambda x: torch.empty_like(x).uniform_(),
    call="uniform",
)
TABLE.add(
    "uniform_ of doubles",
    lambda x: torch.empty_like(x).uniform_(-0.7, 0.9),
    call="uniform",
)
TABLE.add(
    "uniform_ by name", lambda x: torch.empty_like(x).uniform_(to=3, generator=None), call="uniform"
)
TABLE.add(
    "uniform_ of new_empty",
    lambda x: x.new_empty(2, 3).uniform_(1, 2),
    call="uniform",
)
TABLE.add(
    "uniform_ of a transpose", lambda x: torch.empty_like(x.t()).uniform_(1, 2), call="uniform"
)
TABLE.add(
    "init.uniform_", lambda x: torch.nn.init.uniform_(torch.zeros_like(x), 0, 2), call="uniform"
)
# The bounds before the upper one, for types with a sign and for all.
for name, low, least in (("", (), ()), (" low", (-3,), (3,))):
    add_randint(name, low, least)
TABLE.add(
    "randint wide",
    lambda x: torch.randint(-5, 2**40, (3, 4)),
)
TABLE.add(
    "randint two words",
    lambda x: torch.randint(0, 2**30, (3, 4)),
)
TABLE.add(
    "randint of one",
    lambda x: torch.randint(4, 5, (3, 4)),
)
TABLE.add(
    "randint of a size in the model",
    lambda x: torch.randint(0, 7, (x.shape[0] * 2,)),
)
TABLE.add(
    "randint below the batch",
    lambda x: torch.randint(0, x.shape[0], (6,)),
)
TABLE.add(
    "randint of a generator",
    lambda x: torch.randint(9, (2, 3), generator=torch.Generator()),
    call=("randint", "Generator"),
)
TABLE.add(
    "randint_like Tensor",
    lambda x: torch.randint_like(x, torch.tensor(9)),
)
TABLE.add(
    "randint_like Tensor generator=None",
    lambda x: torch.randint_like(x, torch.tensor(9), generator=None),
)
TABLE.add(
    "randint_like of a transpose",
    lambda x: torch.randint_like(x.t(), 9),
)
TABLE.add(
    "random_",
    lambda x: torch.empty_like(x).random_(),
    call="random",
)
TABLE.add(
    "random_ to",
    lambda x: torch.empty_like(x).random_(5),
    call="random",
)
TABLE.add(
    "random_ from",
    lambda x: torch.empty_like(x).random_(2, 5),
    call="random",
)
TABLE.add(
    "randperm",
    lambda x: torch.randperm(6),
)
TABLE.add(
    "randperm of one",
    lambda x: torch.randperm(1),
)
TABLE.add(
    "randperm of the batch",
    lambda x: torch.randperm(x.shape[0]),
)
TABLE.each(
    "randperm dtype=",
    lambda x, t: torch.randperm(6, dtype=t),
    types=(torch.int32, torch.int16, torch.float32, torch.float64),
)
TABLE.add(
    "randperm generator=None",
    lambda x: torch.randperm(6, generator=None),
)
TABLE.add(
    "randperm out=",
    lambda x: torch.randperm(6, out=torch.empty(6, dtype=torch.int64)),
)
TABLE.add(
    "randperm generator=None out=",
    lambda x: torch.randperm(
        6,
        generator=None,
        out=torch.empty(6, dtype=torch.int64),
    ),
)
