"""A variational autoencoder's decoder that samples its latent: `vae_decoder.onnx`.

Inputs: `mean` and `log_variance`, float[batch, 4], as an encoder gives them.
Output: `images`, float[batch, 1, 16, 16], discs of some place and size.

    python tests/models/export_vae.py
"""

import export_files
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

LATENT = 4


class Encoder(nn.Sequential):
    """Images to mean and log variance of the latent; needed for the training alone."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 8, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(256, 2 * LATENT),
        )


class Decoder(nn.Module):
    """Draws the latent, then decodes it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(LATENT, 256),
            nn.ReLU(),
            nn.Unflatten(1, (16, 4, 4)),
            nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1),
            nn.Sigmoid(),
        )

    def forward(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        deviation = torch.exp(0.5 * log_variance)
        return self.layers(mean + deviation * torch.randn_like(deviation))


def discs(count: int) -> Tensor:
    """Images of discs, float[count, 1, 16, 16]."""
    place = torch.arange(16.0)
    x, y = (4 + 8 * torch.rand(count, 1, 1, 1) for _ in range(2))
    radius = 2 + 2 * torch.rand(count, 1, 1, 1)
    distance = torch.sqrt((place.view(1, 1, 16, 1) - y) ** 2 + (place.view(1, 1, 1, 16) - x) ** 2)
    return torch.sigmoid(2 * (radius - distance))


export_files.prepare()
encoder, decoder = Encoder(), Decoder()


def loss() -> Tensor:
    images = discs(128)
    mean, log_variance = encoder(images).chunk(2, dim=1)
    rebuilt = F.binary_cross_entropy(decoder(mean, log_variance), images, reduction="none")
    prior = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance)
    return rebuilt.sum(dim=(1, 2, 3)).mean() + prior.sum(dim=1).mean()


parameters = [*encoder.parameters(), *decoder.parameters()]
export_files.train(parameters, loss, 1500, 500, lr=2e-3)
export_files.with_dynamo(
    decoder.eval(),
    "vae_decoder",
    (torch.zeros(2, LATENT), torch.ones(2, LATENT)),
    ({0: "batch"}, {0: "batch"}),
    opset=20,
    input_names=["mean", "log_variance"],
    output_names=["images"],
)
