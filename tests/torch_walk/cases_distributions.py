"""`torch.distributions`, which draw by several calls; under a tracer by others (docs)."""

from __future__ import annotations

import torch  # noqa: F401
from torch import distributions as d  # noqa: F401

from torch_walk.table import Table

# Which reads the names of this module.
TABLE = Table(globals())
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

OF: dict[str, tuple[str, ...]] = {
    "x, x + 1": ("Normal", "LogNormal", "Uniform", "Laplace", "Cauchy", "Gumbel"),
    "x": (
        "HalfNormal",
        "Bernoulli",
        "Geometric",
        "Categorical",
        "OneHotCategorical",
        "ContinuousBernoulli",
    ),
    "x + 1": ("Exponential", "HalfCauchy"),
    "x + 1, x + 1": ("Weibull", "Kumaraswamy"),
    "x + 1, x + 2": ("Pareto",),
    "logits=x": ("Bernoulli of logits", "Categorical of logits"),
    "5, x": ("Multinomial", "Binomial"),
    "x * 8": ("Poisson",),
    "x + 4, x": ("NegativeBinomial",),
    "x + 0.5, x + 1": ("Gamma", "Beta"),
    "x + 2, x + 1": ("InverseGamma",),
    "x + 2": ("Chi2", "StudentT"),
    "x + 2, x + 3": ("FisherSnedecor",),
    "x + 0.5": ("Dirichlet",),
    "torch.tensor(0.5), x": ("RelaxedBernoulli", "RelaxedOneHotCategorical"),
    "x, scale_tril=torch.eye(4) + torch.ones(4, 4).tril(-1) / 2": ("MultivariateNormal",),
    "x, torch.ones(4, 2) / 2, torch.ones(4)": ("LowRankMultivariateNormal",),
    "d.Normal(x, x + 1, **o), 1": ("Independent",),
    "d.Categorical(x, **o), d.Normal(x, x + 1, **o)": ("MixtureSameFamily",),
    "d.Normal(x, x + 1, **o), [d.AffineTransform(1.0, 2.0), d.SigmoidTransform()]": (
        "TransformedDistribution",
    ),
}
"""What each is made of: of a tensor, and of options."""
MADE = {name: arguments for arguments, names in OF.items() for name in names}

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


def add(names, form: str, drawn: str, options: dict[str, bool] = NOT_CHECKED) -> None:
    for name in names:
        made = f"d.{name.split()[0]}({MADE[name]}, **o)".replace("**o", f"**{options}")
        TABLE.rows(f"{name}.{form} | {made}.{drawn} | call=(*CALLS, '{name}'), near=WIDE")


add(MADE, "sample", "sample()")
add(REPARAMETERIZED, "rsample", "rsample()")
add(("Normal", "Categorical", "Gamma", "Bernoulli"), "sample of two", "sample((2,))")
CHECKED = ("Normal", "Exponential", "Bernoulli", "Categorical", "Gamma", "Uniform")
add(CHECKED, "sample validated", "sample()", {})
add(("Normal",), "rsample validated", "rsample()", {})
