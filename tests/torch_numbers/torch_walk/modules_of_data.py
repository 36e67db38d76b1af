"""Whole modules that change, mask and choose data: each takes f32 of [batch, 4]."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from tests.torch_numbers.torch_walk.made import Made


class DropBlock(nn.Module):
    def forward(self, x):
        image = x.reshape(-1, 1, 4, 1).expand(-1, -1, -1, 4)
        seeds = (torch.rand(image.shape[0], 1, 4, 4) < 0.2).float()
        mask = 1 - functional.max_pool2d(seeds, 3, 1, 1)
        return image * mask * mask.numel() / (mask.sum() + 1)


class Mixup(nn.Module):
    def forward(self, x):
        share = torch.rand(x.shape[0], 1)
        return share * x + (1 - share) * x[torch.randperm(x.shape[0])], share


class RandomErasing(nn.Module):
    def forward(self, x):
        image = x.reshape(-1, 2, 2)
        row = torch.randint(0, 2, (1,))
        column = torch.randint(0, 2, (1,))
        places = torch.arange(2)
        erased = (places[:, None] == row) & (places == column)
        return torch.where(erased, torch.rand_like(image), image)


class CropAndFlip(nn.Module):
    def forward(self, x):
        padded = functional.pad(x, (1, 1))
        cropped = padded.index_select(1, torch.randint(0, 3, (1,)) + torch.arange(4))
        return torch.where(
            torch.rand(1) < 0.5,
            cropped.flip(1),
            cropped,
        ) + torch.empty_like(x).uniform_(-0.1, 0.1)


class MaskedAutoencoder(Made, embed=lambda: nn.Linear(1, 3)):
    """Which tokens are seen: the order of uniforms."""

    def forward(self, x):
        y = self.embed(x[:, :, None])
        order = torch.rand(x.shape[0], 4).argsort(1)
        seen = order[:, :2, None].expand(-1, -1, 3)
        return y.gather(1, seen), order.argsort(1)


class MaskedTokens(nn.Module):
    """BERT's: 40 in a hundred are masked, of these some become others."""

    def forward(self, x):
        tokens = (x * 32).long()
        masked = torch.bernoulli(torch.full_like(x, 0.4)).bool()
        replaced = torch.bernoulli(torch.full_like(x, 0.8)).bool() & masked
        other = torch.bernoulli(torch.full_like(x, 0.5)).bool() & masked & ~replaced
        tokens = torch.where(replaced, 99, tokens)
        return torch.where(other, torch.randint(0, 32, (x.shape[0], 4)), tokens)


class FarthestPoints(nn.Module):
    """Farthest point sampling begins at a random point."""

    def forward(self, x):
        points = x.reshape(-1, 4, 1) * torch.tensor([1.0, -2.0, 0.5])
        farthest = torch.randint(0, 4, (x.shape[0],))
        distance = torch.full_like(x, 1e10)
        chosen = []
        for _ in range(2):
            chosen.append(farthest)
            centre = points.gather(1, farthest[:, None, None].expand(-1, 1, 3))
            distance = torch.minimum(distance, ((points - centre) ** 2).sum(-1))
            farthest = distance.argmax(-1)
        return torch.stack(chosen, 1)


class Denoising(
    Made,
    layers=lambda: nn.Sequential(
        nn.Linear(4, 3),
        nn.Sigmoid(),
        nn.Linear(3, 4),
    ),
):
    """An autoencoder whose inputs have Gaussian noise, and salt and pepper."""

    def forward(self, x):
        x = x + 0.1 * torch.randn_like(x)
        u = torch.rand_like(x)
        x = torch.where(
            u < 0.1,
            0.0,
            torch.where(u > 0.9, 1.0, x),
        )
        return self.layers(x)


class SpecAugment(nn.Module):
    def forward(self, x):
        start = torch.randint(0, 3, (x.shape[0], 1))
        width = torch.randint(1, 3, (x.shape[0], 1))
        places = torch.arange(4)
        return x.masked_fill((places >= start) & (places < start + width), 0.0)
