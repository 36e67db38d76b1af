"""Booleans, classes, counts, and gammas with what is made of them."""

from __future__ import annotations

import torch

from torch_walk.table import FLOATS, Table

TABLE = Table()
add, each = TABLE.add, TABLE.each
WIDE = 1e-6
DOUBLES = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)

each("bernoulli", lambda x, t: torch.bernoulli(x.to(t)), FLOATS)
add("bernoulli method", lambda x: x.bernoulli())
add("bernoulli out=", lambda x: torch.bernoulli(x, out=torch.empty_like(x)))
add("bernoulli generator=None", lambda x: torch.bernoulli(x, generator=None))
add("bernoulli of a transpose", lambda x: torch.bernoulli(x.t() + 0.375))
each("bernoulli p", lambda x, t: torch.bernoulli(x.to(t), 0.3), FLOATS)
add("bernoulli p method", lambda x: x.bernoulli(0.25))
add("bernoulli p generator=None", lambda x: torch.bernoulli(x, 0.25, generator=None))
each("bernoulli_", lambda x, t: torch.empty_like(x.to(t)).bernoulli_(0.3), FLOATS)
add("bernoulli_ of booleans", lambda x: torch.empty_like(x, dtype=torch.bool).bernoulli_(0.3))
add("bernoulli_ of i64", lambda x: torch.empty_like(x, dtype=torch.int64).bernoulli_(0.3))
add("bernoulli_ default", lambda x: torch.empty_like(x).bernoulli_())
add("bernoulli_ by name", lambda x: torch.empty_like(x).bernoulli_(p=0.75, generator=None))
add("bernoulli_ of a transpose", lambda x: torch.empty_like(x.t()).bernoulli_(0.3))
each("bernoulli_ Tensor", lambda x, t: torch.empty_like(x).bernoulli_(x.to(t)), FLOATS)
add("bernoulli_ Tensor broadcast", lambda x: torch.empty_like(x).bernoulli_(x[:1] + 0.375))
add(
    "bernoulli_ Tensor of a transpose",
    lambda x: torch.empty_like(x.t()).bernoulli_(x.t() + 0.375),
)
add("bernoulli_ Tensor of one", lambda x: torch.empty_like(x).bernoulli_(torch.tensor(0.3)))
add("bernoulli of constants of f64", lambda _: torch.bernoulli(DOUBLES.expand(64, 4)))
add("bernoulli_ Tensor generator=None", lambda x: torch.empty_like(x).bernoulli_(x, generator=None))

each("multinomial", lambda x, t: torch.multinomial(x.to(t), 1), FLOATS)
each("multinomial replacement", lambda x, t: torch.multinomial(x.to(t), 5, True), FLOATS)
each("multinomial without replacement", lambda x, t: torch.multinomial(x.to(t), 3), FLOATS)
add("multinomial of constants of f64", lambda _: torch.multinomial(DOUBLES.expand(8, 4), 3))
add("multinomial of one row", lambda x: torch.multinomial(x[0], 2))
add("multinomial of one row replacement", lambda x: torch.multinomial(x[0], 5, replacement=True))
add("multinomial method", lambda x: x.multinomial(2, generator=None))
add("multinomial out=", lambda x: torch.multinomial(x, 2, out=torch.empty(0, dtype=torch.int64)))
add("multinomial of a transpose", lambda x: torch.multinomial(x.t(), 1))
add("multinomial of a transpose without replacement", lambda x: torch.multinomial(x.t(), 2))
add("multinomial of a softmax", lambda x: torch.multinomial(torch.softmax(x, -1), 1))
add(
    "multinomial of a generator",
    lambda x: torch.multinomial(x, 1, generator=torch.Generator()),
    ("multinomial", "Generator"),
)

each("poisson", lambda x, t: torch.poisson((x * 32).to(t)), FLOATS)
add("poisson generator=None", lambda x: torch.poisson(x * 4, generator=None))
add("poisson of one rate", lambda _: torch.poisson(torch.tensor([2.5])))
for types, is_near in ((FLOATS[:2], True), (FLOATS[2:], False)):
    # Those of 16 bits are drawn in f32, and cast.
    each(
        "_standard_gamma",
        lambda x, t: torch._standard_gamma((x * 4).to(t)),
        types,
        "_standard_gamma",
        is_near=is_near,
    )
add(
    "_standard_gamma generator=None",
    lambda x: torch._standard_gamma(x, generator=None),
    "_standard_gamma",
)
each(
    "_sample_dirichlet",
    lambda x, t: torch._sample_dirichlet(x.to(t)),
    FLOATS,
    ("_sample_dirichlet",),
    is_near=True,
)
add("binomial", lambda x: torch.binomial(torch.full_like(x, 5.0), x))
