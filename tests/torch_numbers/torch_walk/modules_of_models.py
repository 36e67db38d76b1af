"""Whole modules that predict, generate and choose, of tiny sizes: each takes f32 of [batch, 4]."""

from __future__ import annotations

import math

import torch
from torch import distributions, nn
from torch.nn import functional

from tests.torch_numbers.torch_walk.made import Made


class Vae(Made, encode=lambda: nn.Linear(4, 6), decode=lambda: nn.Linear(3, 4)):
    def forward(self, x):
        mean, log_variance = self.encode(x).chunk(2, -1)
        std = torch.exp(0.5 * log_variance)
        return self.decode(mean + torch.randn_like(std) * std)


class ConditionalVae(Vae):
    def forward(self, x):
        z = torch.randn(x.shape[0], 3)
        return torch.bernoulli(torch.sigmoid(self.decode(z) + functional.dropout(x, 0.2)) * 0 + 0.5)


class GumbelQuantiser(Made, score=lambda: nn.Linear(4, 6), codes=lambda: nn.Embedding(6, 3)):
    def forward(self, x):
        weights = functional.gumbel_softmax(self.score(x), tau=0.5, hard=True)
        return weights @ self.codes.weight


class Generator(
    Made,
    layers=lambda: nn.Sequential(
        nn.Linear(7, 8),
        nn.BatchNorm1d(8).eval(),
        nn.LeakyReLU(),
        nn.Dropout(0.3),
        nn.Linear(8, 4),
    ),
):
    def forward(self, x):
        return torch.tanh(self.layers(torch.cat([torch.randn(x.shape[0], 3), x], 1)))


class Discriminator(
    Made,
    convolve=lambda: nn.Sequential(
        nn.Conv2d(1, 3, 2, padding=1), nn.LeakyReLU(0.2), nn.Dropout2d(0.25)
    ),
    judge=lambda: nn.Linear(27, 1),
):
    def forward(self, x):
        image = x.reshape(-1, 1, 2, 2)
        image = image + 0.1 * torch.randn_like(image)
        return torch.sigmoid(self.judge(self.convolve(image).flatten(1)))


class McDropout(
    Made,
    layers=lambda: nn.Sequential(
        nn.Linear(4, 9), nn.ReLU(), nn.Dropout(0.1), nn.Linear(9, 3), nn.Dropout(0.5)
    ),
):
    def forward(self, x):
        members = torch.stack([self.layers(x) for _ in range(4)])
        return members.mean(0), members.std(0)


def tokens_of(x):
    """A sequence of three for each row."""
    return x.reshape(-1, 1, 4) + torch.arange(3.0).reshape(1, 3, 1)


class Encoder(nn.Module):
    def __init__(self, *, batch_first: bool) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 8, 0.2, batch_first=batch_first)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(tokens_of(x))


class Decoder(Made, layer=lambda: nn.TransformerDecoderLayer(4, 2, 8, 0.2, batch_first=False)):
    def forward(self, x):
        memory = tokens_of(x).transpose(0, 1).contiguous()
        mask = torch.ones(3, 3).triu(1).bool()
        return self.layer(memory * 0.5, memory, tgt_mask=mask)


class CausalAttention(
    Made,
    project=lambda: nn.Linear(4, 12),
    out=lambda: nn.Linear(4, 4),
    drop=lambda: nn.Dropout(0.1),
):
    """As in small GPTs: heads, a causal mask, two dropouts."""

    def forward(self, x):
        y = tokens_of(x)
        q, k, v = (t.view(-1, 3, 2, 2).transpose(1, 2) for t in self.project(y).split(4, dim=2))
        y = functional.scaled_dot_product_attention(q, k, v, dropout_p=0.25, is_causal=True)
        return self.drop(self.out(y.transpose(1, 2).contiguous().view(-1, 3, 4)))


class HandWrittenAttention(
    Made, **{name: lambda: nn.Linear(4, 4) for name in ("query", "key", "value")}
):
    def forward(self, x):
        y = tokens_of(x)
        scores = self.query(y) @ self.key(y).transpose(-2, -1) / 2
        return functional.dropout(scores.softmax(-1), 0.3) @ self.value(y)


class Recurrent(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.cells = getattr(nn, kind)(2, 3, num_layers=2, dropout=0.4, batch_first=True)
        self.classify = nn.Sequential(nn.Dropout(0.2), nn.Linear(3, 2))

    def forward(self, x):
        out, _ = self.cells(x.reshape(-1, 2, 2))
        return self.classify(out[:, -1])


class Zoneout(Made, cell=lambda: nn.GRUCell(2, 3)):
    """A cell whose state stays at random."""

    def forward(self, x):
        state = torch.zeros(x.shape[0], 3)
        for step in x.reshape(-1, 2, 2).unbind(1):
            new = self.cell(step, state)
            state = torch.where(torch.rand_like(state) < 0.25, state, new)
        return state


class Coupling(
    Made,
    nets=lambda: nn.ModuleList(
        nn.Sequential(
            nn.Linear(2, 5),
            nn.Tanh(),
            nn.Linear(5, 4),
        )
        for _ in range(2)
    ),
):
    """A normalising flow of two affine couplings, sampled."""

    def forward(self, x):
        z = torch.randn_like(x)
        for net in self.nets:
            kept, moved = z.chunk(2, 1)
            scale, shift = net(kept).chunk(2, 1)
            z = torch.cat([moved * torch.exp(torch.tanh(scale)) + shift, kept], 1)
        return z + x


class PlanarFlow(
    Made, w=lambda: nn.Parameter(torch.randn(4)), u=lambda: nn.Parameter(torch.randn(4))
):
    def forward(self, x):
        z = torch.normal(x, torch.ones_like(x) / 2)
        return z + self.u * torch.tanh(z @ self.w)[:, None]


class TokenSampler(Made, embed=lambda: nn.Embedding(6, 4), head=lambda: nn.Linear(4, 6)):
    """Three tokens of the two likeliest, one after the other."""

    def forward(self, x):
        drawn = []
        for _ in range(3):
            values, places = torch.topk(self.head(x) / 0.7, 4)
            token = places.gather(1, torch.multinomial(values.softmax(-1), 1))
            drawn.append(token)
            x = x + self.embed(token[:, 0])
        return torch.cat(drawn, 1)


class NucleusSampler(Made, head=lambda: nn.Linear(4, 6)):
    def forward(self, x):
        p, order = self.head(x).softmax(-1).sort(descending=True)
        kept = p.cumsum(-1) - p < 0.8
        return order.gather(1, torch.multinomial(p * kept, 1))


class GumbelTopK(Made, head=lambda: nn.Linear(4, 8)):
    """Without replacement, by the trick of exponentials."""

    def forward(self, x):
        p = self.head(x).softmax(-1)
        return torch.topk(p / torch.empty_like(p).exponential_(1), 3).indices


class NoisyLinear(
    Made, layer=lambda: nn.Linear(4, 3), sigma=lambda: nn.Parameter(torch.full((3, 4), 0.5))
):
    """Factorised noise on weights, as noisy nets have it."""

    def forward(self, x):
        one, other = (n.sign() * n.abs().sqrt() for n in (torch.randn(3), torch.randn(4)))
        return functional.linear(
            x, self.layer.weight + self.sigma * torch.outer(one, other), self.layer.bias + one
        )


class BayesianLinear(
    Made, mean=lambda: nn.Parameter(torch.randn(3, 4)), rho=lambda: nn.Parameter(torch.randn(3, 4))
):
    def forward(self, x):
        weight = self.mean + functional.softplus(self.rho) * torch.randn_like(self.rho)
        return functional.linear(x, functional.dropout(weight, 0.1))


class Diffusion(Made, denoise=lambda: nn.Linear(4, 4)):
    """Five steps of an ancestral sampler."""

    def forward(self, x):
        latents = torch.randn_like(x)
        for step in reversed(range(5)):
            alpha = 1 - 0.02 * (step + 1)
            mean = (latents - (1 - alpha) * self.denoise(latents + x)) / math.sqrt(alpha)
            noise = torch.randn_like(x) if step else torch.zeros_like(x)
            latents = mean + math.sqrt(1 - alpha) * noise
        return latents


class NoisedTraining(Made, alphas=lambda: nn.Buffer(torch.linspace(0.99, 0.5, 10))):
    """A diffusion model's forward pass: a step for each row, and noise of its size."""

    def forward(self, x):
        alpha = self.alphas[torch.randint(0, 10, (x.shape[0],))][:, None]
        return alpha.sqrt() * x + (1 - alpha).sqrt() * torch.randn_like(x)


class Langevin(Made, energy=lambda: nn.Linear(4, 4)):
    def forward(self, x):
        for _ in range(4):
            x = x - 0.05 * self.energy(x) + math.sqrt(0.1) * torch.empty_like(x).normal_()
        return x


class DropPath(Made, blocks=lambda: nn.ModuleList(nn.Linear(4, 4) for _ in range(3))):
    """Residual blocks that whole rows leave out."""

    def forward(self, x):
        for block in self.blocks:
            kept = x.new_empty(x.shape[0], 1).bernoulli_(0.75)
            x = x + block(x) * kept.div_(0.75)
        return x


class MixtureOfExperts(
    Made,
    gate=lambda: nn.Linear(4, 3),
    noise=lambda: nn.Linear(4, 3),
    experts=lambda: nn.ModuleList(nn.Linear(4, 4) for _ in range(3)),
):
    """Noise on the gate, and the two best experts."""

    def forward(self, x):
        clean = self.gate(x)
        logits = clean + torch.randn_like(clean) * functional.softplus(self.noise(x))
        values, places = logits.topk(2)
        gates = torch.zeros_like(logits).scatter(1, places, values.softmax(-1))
        outputs = torch.stack([expert(x) for expert in self.experts], 1)
        return (outputs * gates[:, :, None]).sum(1)


class SelfNormalising(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Linear(4, 5),
            nn.SELU(),
            nn.AlphaDropout(0.2),
            nn.Linear(5, 2),
        )


class DiscretePolicy(Made, act=lambda: nn.Linear(4, 3)):
    def forward(self, x):
        policy = distributions.Categorical(logits=self.act(x), validate_args=False)
        action = policy.sample()
        return action, policy.log_prob(action)


class GaussianPolicy(Made, act=lambda: nn.Linear(4, 4)):
    """SAC's: squashed, and reparameterised."""

    def forward(self, x):
        mean, log_std = self.act(x).chunk(2, 1)
        normal = distributions.Normal(mean, log_std.exp(), validate_args=False)
        raw = normal.rsample()
        return torch.tanh(raw), normal.log_prob(raw).sum(-1)


class ConcreteDropout(Made, logit=lambda: nn.Parameter(torch.tensor(-1.0))):
    def forward(self, x):
        u = torch.rand_like(x)
        drop = torch.sigmoid((self.logit + torch.log(u + 1e-3) - torch.log(1 - u + 1e-3)) / 0.1)
        return x * (1 - drop)


class GibbsChain(Made, weight=lambda: nn.Parameter(torch.randn(4, 3))):
    """A restricted Boltzmann machine: Booleans drawn from Booleans."""

    def forward(self, x):
        for _ in range(3):
            hidden = torch.bernoulli(torch.sigmoid(x @ self.weight))
            x = torch.bernoulli(torch.sigmoid(hidden @ self.weight.t()))
        return x


class Bandit(nn.Module):
    """Thompson's: the arm whose draw is the largest."""

    def forward(self, x):
        return torch.normal(x, 0.5).argmax(1)


class CountData(Made, rate=lambda: nn.Linear(4, 4)):
    def forward(self, x):
        rate = functional.softplus(self.rate(x)) * 0 + 4 * x
        return torch.poisson(rate), torch._standard_gamma(rate + 1)
