"""Uniform numbers, integers and permutations."""

from __future__ import annotations

import torch

from torch_walk.table import FLOATS, INTEGERS, Table

TABLE = Table()
add, each = TABLE.add, TABLE.each

each("rand", lambda x, t: torch.rand(x.shape[0], 4, dtype=t), FLOATS)
each("rand of a size", lambda _, t: torch.rand((2, 3), dtype=t), FLOATS)
each("rand generator=None", lambda x, t: torch.rand(x.shape, generator=None, dtype=t), FLOATS)
add("rand out=", lambda _: torch.rand(2, 3, out=torch.empty(2, 3)))
add("rand generator=None out=", lambda _: torch.rand(2, 3, generator=None, out=torch.empty(2, 3)))
add("rand of a scalar", lambda _: torch.rand(()))
add("rand of no elements", lambda _: torch.rand(0, 3))
add(
    "rand of a generator",
    lambda _: torch.rand(2, 3, generator=torch.Generator()),
    ("rand", "Generator"),
)
each("rand_like", lambda x, t: torch.rand_like(x.to(t)), FLOATS)
each("rand_like dtype=", lambda x, t: torch.rand_like(x, dtype=t), FLOATS)
add("rand_like generator=None", lambda x: torch.rand_like(x, generator=None))
add("rand_like out of a view", lambda x: torch.rand_like(x.t()))
add("rand_like of a permute", lambda x: torch.rand_like(x.reshape(-1, 2, 2).permute(1, 2, 0)))
add(
    "rand_like of channels_last",
    lambda x: torch.rand_like(x.reshape(-1, 2, 2, 1).contiguous(memory_format=torch.channels_last)),
)
add(
    "rand_like memory_format=channels_last",
    lambda x: torch.rand_like(x.reshape(-1, 2, 2, 1), memory_format=torch.channels_last),
)
add("rand_like of a row's transpose", lambda x: torch.rand_like(x[:1].t()))
add("rand_like contiguous", lambda x: torch.rand_like(x.t(), memory_format=torch.contiguous_format))
add("rand_like of an expand", lambda x: torch.rand_like(x[:, :1].expand(-1, 4)))
add("rand_like of a slice", lambda x: torch.rand_like(x[:, 1:3]))
each("uniform_", lambda x, t: torch.empty_like(x.to(t)).uniform_(-0.75, 0.5), FLOATS, "uniform")
add("uniform_ default", lambda x: torch.empty_like(x).uniform_(), "uniform")
add("uniform_ of doubles", lambda x: torch.empty_like(x).uniform_(-0.7, 0.9), "uniform")
add("uniform_ by name", lambda x: torch.empty_like(x).uniform_(to=3, generator=None), "uniform")
add("uniform_ of new_empty", lambda x: x.new_empty(2, 3).uniform_(1, 2), "uniform")
add("uniform_ of a transpose", lambda x: torch.empty_like(x.t()).uniform_(1, 2), "uniform")
add("init.uniform_", lambda x: torch.nn.init.uniform_(torch.zeros_like(x), 0, 2), "uniform")

for name, low in (("", ()), (" low", (-3,))):
    add(f"randint{name}", lambda x, low=low: torch.randint(*low, 7, (x.shape[0], 2)))
    each(
        f"randint{name} dtype=",
        lambda x, t, low=low: torch.randint(*[abs(n) for n in low], 7, x.shape, dtype=t),
        INTEGERS + FLOATS,
    )
    add(
        f"randint{name} generator=None",
        lambda x, low=low: torch.randint(*low, 9, x.shape, generator=None),
    )
    add(
        f"randint{name} out=",
        lambda _, low=low: torch.randint(*low, 9, (2, 3), out=torch.empty(2, 3, dtype=torch.int64)),
    )
    add(
        f"randint{name} generator=None out=",
        lambda _, low=low: torch.randint(
            *low, 9, (2, 3), generator=None, out=torch.empty(2, 3, dtype=torch.int64)
        ),
    )
    each(
        f"randint_like{name}",
        lambda x, t, low=low: torch.randint_like(x.to(t), *low, 9),
        FLOATS + INTEGERS[:2],
    )
    each(
        f"randint_like{name} dtype=",
        lambda x, t, low=low: torch.randint_like(x, *low, 9, dtype=t),
        (torch.int64, torch.float64),
    )
    add(
        f"randint_like{name} generator=None",
        lambda x, low=low: torch.randint_like(x, *low, 9, generator=None),
    )
add("randint wide", lambda _: torch.randint(-5, 2**40, (3, 4)))
add("randint two words", lambda _: torch.randint(0, 2**30, (3, 4)))
add("randint of one", lambda _: torch.randint(4, 5, (3, 4)))
add("randint of a size in the model", lambda x: torch.randint(0, 7, (x.shape[0] * 2,)))
add("randint below the batch", lambda x: torch.randint(0, x.shape[0], (6,)))
add(
    "randint of a generator",
    lambda _: torch.randint(9, (2, 3), generator=torch.Generator()),
    ("randint", "Generator"),
)
add("randint_like Tensor", lambda x: torch.randint_like(x, torch.tensor(9)))
add(
    "randint_like Tensor generator=None",
    lambda x: torch.randint_like(x, torch.tensor(9), generator=None),
)
add("randint_like of a transpose", lambda x: torch.randint_like(x.t(), 9))
add("random_", lambda x: torch.empty_like(x).random_(), "random")
add("random_ to", lambda x: torch.empty_like(x).random_(5), "random")
add("random_ from", lambda x: torch.empty_like(x).random_(2, 5), "random")

add("randperm", lambda _: torch.randperm(6))
add("randperm of one", lambda _: torch.randperm(1))
add("randperm of the batch", lambda x: torch.randperm(x.shape[0]))
each(
    "randperm dtype=",
    lambda _, t: torch.randperm(6, dtype=t),
    (torch.int32, torch.int16, torch.float32, torch.float64),
)
add("randperm generator=None", lambda _: torch.randperm(6, generator=None))
add("randperm out=", lambda _: torch.randperm(6, out=torch.empty(6, dtype=torch.int64)))
add(
    "randperm generator=None out=",
    lambda _: torch.randperm(6, generator=None, out=torch.empty(6, dtype=torch.int64)),
)
