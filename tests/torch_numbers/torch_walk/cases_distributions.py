"""`torch.distributions`, which draw by several calls; under a tracer by others (docs)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import distributions as d

from tests.torch_numbers.torch_walk.table import Table

TABLE = Table()
WIDE = 1e-5
CALLS = (
    "rand",
    "randn",
    "normal",
    "uniform",
    "exponential",
    "bernoulli",
    "multinomial",
    "poisson",
    "_standard_gamma",
    "_sample_dirichlet",
    "cauchy",
    "binomial",
    "geometric",
    # No draw, but LowRankMultivariateNormal needs it, and torch.onnx has none.
    "linalg_cholesky_ex",
)

MADE: dict[str, Callable[[Any, dict[str, bool]], d.Distribution]] = {
    "Normal": lambda x, o: d.Normal(x, x + 1, **o),
    "LogNormal": lambda x, o: d.LogNormal(x, x + 1, **o),
    "Uniform": lambda x, o: d.Uniform(x, x + 1, **o),
    "Laplace": lambda x, o: d.Laplace(x, x + 1, **o),
    "Cauchy": lambda x, o: d.Cauchy(x, x + 1, **o),
    "Gumbel": lambda x, o: d.Gumbel(x, x + 1, **o),
    "HalfNormal": lambda x, o: d.HalfNormal(x, **o),
    "Bernoulli": lambda x, o: d.Bernoulli(x, **o),
    "Geometric": lambda x, o: d.Geometric(x, **o),
    "Categorical": lambda x, o: d.Categorical(x, **o),
    "OneHotCategorical": lambda x, o: d.OneHotCategorical(x, **o),
    "ContinuousBernoulli": lambda x, o: d.ContinuousBernoulli(x, **o),
    "Exponential": lambda x, o: d.Exponential(x + 1, **o),
    "HalfCauchy": lambda x, o: d.HalfCauchy(x + 1, **o),
    "Weibull": lambda x, o: d.Weibull(
        x + 1,
        x + 1,
        **o,
    ),
    "Kumaraswamy": lambda x, o: d.Kumaraswamy(
        x + 1,
        x + 1,
        **o,
    ),
    "Pareto": lambda x, o: d.Pareto(
        x + 1,
        x + 2,
        **o,
    ),
    "Bernoulli of logits": lambda x, o: d.Bernoulli(logits=x, **o),
    "Categorical of logits": lambda x, o: d.Categorical(logits=x, **o),
    "Multinomial": lambda x, o: d.Multinomial(5, x, **o),
    "Binomial": lambda x, o: d.Binomial(5, x, **o),
    "Poisson": lambda x, o: d.Poisson(x * 8, **o),
    "NegativeBinomial": lambda x, o: d.NegativeBinomial(x + 4, x, **o),
    "Gamma": lambda x, o: d.Gamma(
        x + 0.5,
        x + 1,
        **o,
    ),
    "Beta": lambda x, o: d.Beta(
        x + 0.5,
        x + 1,
        **o,
    ),
    "InverseGamma": lambda x, o: d.InverseGamma(
        x + 2,
        x + 1,
        **o,
    ),
    "Chi2": lambda x, o: d.Chi2(x + 2, **o),
    "StudentT": lambda x, o: d.StudentT(x + 2, **o),
    "FisherSnedecor": lambda x, o: d.FisherSnedecor(
        x + 2,
        x + 3,
        **o,
    ),
    "Dirichlet": lambda x, o: d.Dirichlet(x + 0.5, **o),
    "RelaxedBernoulli": lambda x, o: d.RelaxedBernoulli(torch.tensor(0.5), x, **o),
    "RelaxedOneHotCategorical": lambda x, o: d.RelaxedOneHotCategorical(torch.tensor(0.5), x, **o),
    "MultivariateNormal": lambda x, o: d.MultivariateNormal(
        x, scale_tril=torch.eye(4) + torch.ones(4, 4).tril(-1) / 2, **o
    ),
    "LowRankMultivariateNormal": lambda x, o: d.LowRankMultivariateNormal(
        x, torch.ones(4, 2) / 2, torch.ones(4), **o
    ),
    "Independent": lambda x, o: d.Independent(d.Normal(x, x + 1, **o), 1, **o),
    "MixtureSameFamily": lambda x, o: d.MixtureSameFamily(
        d.Categorical(x, **o), d.Normal(x, x + 1, **o), **o
    ),
    "TransformedDistribution": lambda x, o: d.TransformedDistribution(
        d.Normal(x, x + 1, **o), [d.AffineTransform(1.0, 2.0), d.SigmoidTransform()], **o
    ),
}
"""What each is made of: of a tensor, and of options."""

REPARAMETERIZED = (
    "Normal",
    "LogNormal",
    "Uniform",
    "Exponential",
    "Laplace",
    "Gamma",
    "Beta",
    "Dirichlet",
    "StudentT",
    "Cauchy",
    "MultivariateNormal",
    "Gumbel",
    "RelaxedBernoulli",
    "Kumaraswamy",
)


NOT_CHECKED: dict[str, bool] = {"validate_args": False}


def add(
    names: Iterable[str],
    form: str,
    draw: Callable[[d.Distribution], Any],
    options: dict[str, bool] = NOT_CHECKED,
) -> None:
    for name in names:
        add_case(name, form, draw, options)


def add_case(
    name: str,
    form: str,
    draw: Callable[[d.Distribution], Any],
    options: dict[str, bool],
) -> None:
    made = MADE[name]
    TABLE.add(
        f"{name}.{form}",
        lambda x: draw(made(x, options)),
        call=(*CALLS, name),
        near=WIDE,
    )


CHECKED = ("Normal", "Exponential", "Bernoulli", "Categorical", "Gamma", "Uniform")
TWICE = ("Normal", "Categorical", "Gamma", "Bernoulli")
add(
    MADE,
    "sample",
    lambda made: made.sample(),
)
add(
    REPARAMETERIZED,
    "rsample",
    lambda made: made.rsample(),
)
add(
    TWICE,
    "sample of two",
    lambda made: made.sample((2,)),
)
add(
    CHECKED,
    "sample validated",
    lambda made: made.sample(),
    options={},
)
add(
    ("Normal",),
    "rsample validated",
    lambda made: made.rsample(),
    options={},
)
