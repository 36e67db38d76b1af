"""A voice of the shape of VITS, with random weights: `voice.onnx`. What it says is noise.

Inputs: `text`, int64[1, characters], numbers below 40; `scales`, float[3]: how much noise the sound
has, how long it lasts, and how much noise the durations have.
Output: `wav`, float[1, samples] from -1 to 1, with 64 samples for each frame.

    python tests/models/export_voice.py
"""

import export_files
import torch
from torch import Tensor, nn

CHARACTERS = 40
CHANNELS = 8


class Encoder(nn.Module):
    """Text to the mean and the log deviation of each character's sound."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(CHARACTERS, CHANNELS)
        self.around = nn.Conv1d(CHANNELS, CHANNELS, 3, padding=1)
        self.statistics = nn.Conv1d(CHANNELS, 2 * CHANNELS, 1)

    def forward(self, text: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = torch.tanh(self.around(self.embedding(text).transpose(1, 2)))
        mean, deviation = self.statistics(hidden).chunk(2, dim=1)
        return hidden, mean, deviation


class Coupling(nn.Module):
    """A step of the flow, backwards: half of the channels move the other half."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Conv1d(CHANNELS // 2, CHANNELS // 2, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        one, other = x.chunk(2, dim=1)
        return torch.cat([other - torch.tanh(self.net(one)), one], dim=1)


class Voice(nn.Module):
    """Text to sound; draws the durations, and then the latent of each frame."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder()
        self.durations = nn.Conv1d(CHANNELS + 1, 1, 3, padding=1)
        self.flow = nn.Sequential(*(Coupling() for _ in range(4)))
        self.decoder = nn.Sequential(
            nn.ConvTranspose1d(CHANNELS, CHANNELS, 16, stride=8, padding=4),
            nn.LeakyReLU(0.1),
            nn.ConvTranspose1d(CHANNELS, 1, 16, stride=8, padding=4),
            nn.Tanh(),
        )

    def forward(self, text: Tensor, scales: Tensor) -> Tensor:
        hidden, mean, deviation = self.encoder(text)
        noise = torch.randn(text.shape[0], 1, text.shape[1]) * scales[2]
        length = torch.exp(1 + self.durations(torch.cat([hidden, noise], dim=1))) * scales[1]
        ends = torch.cumsum(torch.ceil(length), dim=2)  # [1, 1, characters]
        frames = torch.arange(ends.max().to(torch.int64)).to(ends.dtype).view(1, -1, 1)
        begins = torch.cat([torch.zeros_like(ends[:, :, :1]), ends[:, :, :-1]], dim=2)
        path = ((frames >= begins) & (frames < ends)).to(mean.dtype)  # [1, frames, characters]
        mean, deviation = (
            torch.matmul(path, x.transpose(1, 2)).transpose(1, 2) for x in (mean, deviation)
        )
        latent = mean + torch.randn_like(mean) * torch.exp(deviation) * scales[0]
        return self.decoder(self.flow(latent)).squeeze(1)


export_files.prepare()
export_files.with_torchscript(
    Voice().eval(),
    "voice",
    (torch.arange(6).view(1, 6), torch.tensor([0.667, 1.0, 0.8])),
    opset=17,
    input_names=["text", "scales"],
    output_names=["wav"],
    dynamic_axes={"text": {1: "characters"}, "wav": {1: "samples"}},
)
