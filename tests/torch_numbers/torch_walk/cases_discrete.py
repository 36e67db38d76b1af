"""Booleans, classes, counts, and gammas with what is made of them."""

# ruff: noqa: ARG005 (a case's input is named x, also where nothing reads it)

from __future__ import annotations

import torch

from tests.torch_numbers.torch_walk.table import FLOATS, Table

TABLE = Table()
DOUBLES = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)

# Gammas of 16 bits are drawn in f32, and cast.
TABLE.each(
    "bernoulli",
    lambda x, t: torch.bernoulli(x.to(t)),
    types=FLOATS,
)
TABLE.add(
    "bernoulli method",
    lambda x: x.bernoulli(),
)
TABLE.add(
    "bernoulli out=",
    lambda x: torch.bernoulli(x, out=torch.empty_like(x)),
)
TABLE.add(
    "bernoulli generator=None",
    lambda x: torch.bernoulli(x, generator=None),
)
TABLE.add(
    "bernoulli of a transpose",
    lambda x: torch.bernoulli(x.t() + 0.375),
)
TABLE.each(
    "bernoulli p",
    lambda x, t: torch.bernoulli(x.to(t), 0.3),
    types=FLOATS,
)
TABLE.add(
    "bernoulli p method",
    lambda x: x.bernoulli(0.25),
)
TABLE.add(
    "bernoulli p generator=None",
    lambda x: torch.bernoulli(x, 0.25, generator=None),
)
TABLE.each(
    "bernoulli_",
    lambda x, t: torch.empty_like(x.to(t)).bernoulli_(0.3),
    types=FLOATS,
)
TABLE.add(
    "bernoulli_ of booleans",
    lambda x: torch.empty_like(x, dtype=torch.bool).bernoulli_(0.3),
)
TABLE.add(
    "bernoulli_ of i64",
    lambda x: torch.empty_like(x, dtype=torch.int64).bernoulli_(0.3),
)
TABLE.add(
    "bernoulli_ default",
    lambda x: torch.empty_like(x).bernoulli_(),
)
TABLE.add(
    "bernoulli_ by name",
    lambda x: torch.empty_like(x).bernoulli_(p=0.75, generator=None),
)
TABLE.add(
    "bernoulli_ of a transpose",
    lambda x: torch.empty_like(x.t()).bernoulli_(0.3),
)
TABLE.each(
    "bernoulli_ Tensor",
    lambda x, t: torch.empty_like(x).bernoulli_(x.to(t)),
    types=FLOATS,
)
TABLE.add(
    "bernoulli_ Tensor broadcast",
    lambda x: torch.empty_like(x).bernoulli_(x[:1] + 0.375),
)
TABLE.add(
    "bernoulli_ Tensor of a transpose", lambda x: torch.empty_like(x.t()).bernoulli_(x.t() + 0.375)
)
TABLE.add(
    "bernoulli_ Tensor of one",
    lambda x: torch.empty_like(x).bernoulli_(torch.tensor(0.3)),
)
TABLE.add(
    "bernoulli of constants of f64",
    lambda x: torch.bernoulli(DOUBLES.expand(64, 4)),
)
TABLE.add(
    "bernoulli_ Tensor generator=None", lambda x: torch.empty_like(x).bernoulli_(x, generator=None)
)
TABLE.each(
    "multinomial",
    lambda x, t: torch.multinomial(x.to(t), 1),
    types=FLOATS,
)
TABLE.each(
    "multinomial replacement", lambda x, t: torch.multinomial(x.to(t), 5, True), types=FLOATS
)
TABLE.each(
    "multinomial without replacement", lambda x, t: torch.multinomial(x.to(t), 3), types=FLOATS
)
TABLE.add(
    "multinomial of constants of f64",
    lambda x: torch.multinomial(DOUBLES.expand(8, 4), 3),
)
TABLE.add(
    "multinomial of one row",
    lambda x: torch.multinomial(x[0], 2),
)
TABLE.add(
    "multinomial of one row replacement", lambda x: torch.multinomial(x[0], 5, replacement=True)
)
TABLE.add(
    "multinomial method",
    lambda x: x.multinomial(2, generator=None),
)
TABLE.add(
    "multinomial out=", lambda x: torch.multinomial(x, 2, out=torch.empty(0, dtype=torch.int64))
)
TABLE.add(
    "multinomial of a transpose",
    lambda x: torch.multinomial(x.t(), 1),
)
TABLE.add(
    "multinomial of a transpose without replacement",
    lambda x: torch.multinomial(x.t(), 2),
)
TABLE.add(
    "multinomial of a softmax",
    lambda x: torch.multinomial(torch.softmax(x, -1), 1),
)
TABLE.add(
    "multinomial of a generator",
    lambda x: torch.multinomial(x, 1, generator=torch.Generator()),
    call=("multinomial", "Generator"),
)
TABLE.each(
    "poisson",
    lambda x, t: torch.poisson((x * 32).to(t)),
    types=FLOATS,
)
TABLE.add(
    "poisson generator=None",
    lambda x: torch.poisson(x * 4, generator=None),
)
TABLE.add(
    "poisson of one rate",
    lambda x: torch.poisson(torch.tensor([2.5])),
)
TABLE.each(
    "_standard_gamma",
    lambda x, t: torch._standard_gamma((x * 4).to(t)),
    types=FLOATS[:2],
    is_near=True,
)
TABLE.each(
    "_standard_gamma",
    lambda x, t: torch._standard_gamma((x * 4).to(t)),
    types=FLOATS[2:],
)
TABLE.add(
    "_standard_gamma generator=None",
    lambda x: torch._standard_gamma(x, generator=None),
)
TABLE.each(
    "_sample_dirichlet", lambda x, t: torch._sample_dirichlet(x.to(t)), types=FLOATS, is_near=True
)
TABLE.add(
    "binomial",
    lambda x: torch.binomial(torch.full_like(x, 5.0), x),
)
