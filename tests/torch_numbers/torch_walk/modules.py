"""Whole modules, as people write them: the table of them."""

from __future__ import annotations

from tests.torch_numbers.torch_walk import modules_of_data as data
from tests.torch_numbers.torch_walk import modules_of_models as models
from tests.torch_numbers.torch_walk.case import Case

_NEAR = 1e-4
_MODULES = (
    models.Vae,
    models.ConditionalVae,
    models.GumbelQuantiser,
    models.Generator,
    models.Discriminator,
    models.McDropout,
    models.Decoder,
    models.CausalAttention,
    models.HandWrittenAttention,
    models.Zoneout,
    models.Coupling,
    models.PlanarFlow,
    models.TokenSampler,
    models.NucleusSampler,
    models.GumbelTopK,
    models.NoisyLinear,
    models.BayesianLinear,
    models.Diffusion,
    models.NoisedTraining,
    models.Langevin,
    models.DropPath,
    models.MixtureOfExperts,
    models.SelfNormalising,
    models.DiscretePolicy,
    models.GaussianPolicy,
    models.ConcreteDropout,
    models.GibbsChain,
    models.Bandit,
    models.CountData,
    data.DropBlock,
    data.Mixup,
    data.RandomErasing,
    data.CropAndFlip,
    data.MaskedAutoencoder,
    data.MaskedTokens,
    data.FarthestPoints,
    data.Denoising,
    data.SpecAugment,
)
_CALLS = (
    "dropout",
    "rand",
    "randn",
    "normal",
    "bernoulli",
    "multinomial",
    "randint",
    "randperm",
    "exponential",
    "uniform",
    "poisson",
    "_standard_gamma",
    "scaled_dot_product_attention",
)
_OTHERS = {
    "Encoder": lambda: models.Encoder(batch_first=False),
    "Encoder, batch first": lambda: models.Encoder(batch_first=True),
    **{f"{kind} classifier": lambda k=kind: models.Recurrent(k) for kind in ("LSTM", "GRU", "RNN")},
}

MODULES = {
    name: Case(name, _CALLS, make, _NEAR)
    for name, make in {**{make.__name__: make for make in _MODULES}, **_OTHERS}.items()
}
