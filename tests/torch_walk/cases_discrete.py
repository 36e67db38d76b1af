"""Booleans, classes, counts, and gammas with what is made of them."""

from __future__ import annotations

import torch

from torch_walk.table import Table

TABLE = Table(globals())
DOUBLES = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)

# Gammas of 16 bits are drawn in f32, and cast.
TABLE.rows("""
bernoulli | torch.bernoulli(x.to(t)) | types=FLOATS
bernoulli method | x.bernoulli()
bernoulli out= | torch.bernoulli(x, out=torch.empty_like(x))
bernoulli generator=None | torch.bernoulli(x, generator=None)
bernoulli of a transpose | torch.bernoulli(x.t() + 0.375)
bernoulli p | torch.bernoulli(x.to(t), 0.3) | types=FLOATS
bernoulli p method | x.bernoulli(0.25)
bernoulli p generator=None | torch.bernoulli(x, 0.25, generator=None)
bernoulli_ | torch.empty_like(x.to(t)).bernoulli_(0.3) | types=FLOATS
bernoulli_ of booleans | torch.empty_like(x, dtype=torch.bool).bernoulli_(0.3)
bernoulli_ of i64 | torch.empty_like(x, dtype=torch.int64).bernoulli_(0.3)
bernoulli_ default | torch.empty_like(x).bernoulli_()
bernoulli_ by name | torch.empty_like(x).bernoulli_(p=0.75, generator=None)
bernoulli_ of a transpose | torch.empty_like(x.t()).bernoulli_(0.3)
bernoulli_ Tensor | torch.empty_like(x).bernoulli_(x.to(t)) | types=FLOATS
bernoulli_ Tensor broadcast | torch.empty_like(x).bernoulli_(x[:1] + 0.375)
bernoulli_ Tensor of a transpose | torch.empty_like(x.t()).bernoulli_(x.t() + 0.375)
bernoulli_ Tensor of one | torch.empty_like(x).bernoulli_(torch.tensor(0.3))
bernoulli of constants of f64 | torch.bernoulli(DOUBLES.expand(64, 4))
bernoulli_ Tensor generator=None | torch.empty_like(x).bernoulli_(x, generator=None)
multinomial | torch.multinomial(x.to(t), 1) | types=FLOATS
multinomial replacement | torch.multinomial(x.to(t), 5, True) | types=FLOATS
multinomial without replacement | torch.multinomial(x.to(t), 3) | types=FLOATS
multinomial of constants of f64 | torch.multinomial(DOUBLES.expand(8, 4), 3)
multinomial of one row | torch.multinomial(x[0], 2)
multinomial of one row replacement | torch.multinomial(x[0], 5, replacement=True)
multinomial method | x.multinomial(2, generator=None)
multinomial out= | torch.multinomial(x, 2, out=torch.empty(0, dtype=torch.int64))
multinomial of a transpose | torch.multinomial(x.t(), 1)
multinomial of a transpose without replacement | torch.multinomial(x.t(), 2)
multinomial of a softmax | torch.multinomial(torch.softmax(x, -1), 1)
multinomial of a generator
| torch.multinomial(x, 1, generator=torch.Generator()) | call=("multinomial", "Generator")
poisson | torch.poisson((x * 32).to(t)) | types=FLOATS
poisson generator=None | torch.poisson(x * 4, generator=None)
poisson of one rate | torch.poisson(torch.tensor([2.5]))
_standard_gamma | torch._standard_gamma((x * 4).to(t)) | types=FLOATS[:2], is_near=True
_standard_gamma | torch._standard_gamma((x * 4).to(t)) | types=FLOATS[2:]
_standard_gamma generator=None | torch._standard_gamma(x, generator=None)
_sample_dirichlet | torch._sample_dirichlet(x.to(t)) | types=FLOATS, is_near=True
binomial | torch.binomial(torch.full_like(x, 5.0), x)
""")
