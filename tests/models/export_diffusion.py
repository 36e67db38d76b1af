"""Samplers that draw noise in each step of a loop: `diffusion_loop.onnx` and two more.

Input: `labels`, int64[points], 0 or 1: which of two moons. Output: `points`, float[points, 2].
The start and the noise of each of the 40 steps are drawn in the model. Its three forms differ in
the loop: a Loop that counts (TorchScript), a Loop that tests its condition (`torch.while_loop`),
and a Scan over the schedule (`torch.scan`), the last two at opset 22.

    python tests/models/export_diffusion.py
"""

import math

import export_files
import torch
from torch import Tensor, nn
from torch._higher_order_ops import scan, while_loop

STEPS = 40


class Denoiser(nn.Module):
    """The noise in a point, given its label and how far the noise has come, in [0, 1]."""

    def __init__(self) -> None:
        super().__init__()
        self.label = nn.Embedding(2, 8)
        self.layers = nn.Sequential(
            nn.Linear(2 + 8 + 4, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2)
        )

    def forward(self, points: Tensor, labels: Tensor, time: Tensor) -> Tensor:
        angles = torch.stack([time * math.pi, time * 2 * math.pi])
        waves = torch.cat([torch.sin(angles), torch.cos(angles)])
        waves = waves.unsqueeze(0).expand(points.size(0), 4)
        return self.layers(torch.cat([points, self.label(labels), waves], dim=1))


class Step(nn.Module):
    """One step of DDPM, which the three samplers share."""

    def __init__(self, denoiser: Denoiser) -> None:
        super().__init__()
        self.denoiser = denoiser
        betas = torch.linspace(1e-3, 0.25, STEPS)
        kept = torch.cumprod(1 - betas, dim=0)
        self.register_buffer("kept", kept)
        # A row for each step, from noise to points: time, then how much of each part to take.
        rows = [
            torch.arange(STEPS) / STEPS,
            1 / torch.sqrt(1 - betas),
            betas / torch.sqrt(1 - kept),
            # The last step adds no noise.
            torch.sqrt(betas) * (torch.arange(STEPS) > 0),
        ]
        self.register_buffer("schedule", torch.stack(rows, dim=1).flip(0))

    def forward(self, points: Tensor, labels: Tensor, row: Tensor) -> Tensor:
        guess = self.denoiser(points, labels, row[0])
        return row[1] * (points - row[2] * guess) + row[3] * torch.randn_like(points)


class Counting(nn.Module):
    """A `for` loop, kept as one by `torch.jit.script`."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step

    def forward(self, labels: Tensor) -> Tensor:
        points = torch.randn(labels.size(0), 2)
        for i in range(self.step.schedule.size(0)):
            points = self.step(points, labels, self.step.schedule[i])
        return points


class Testing(nn.Module):
    """A `torch.while_loop`."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step

    def forward(self, labels: Tensor) -> Tensor:
        def is_noisy(i: Tensor, points: Tensor) -> Tensor:  # noqa: ARG001
            return i < STEPS

        def denoise(i: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
            row = torch.index_select(self.step.schedule, 0, i.unsqueeze(0)).squeeze(0)
            return i + 1, self.step(points, labels, row)

        start = (torch.zeros((), dtype=torch.int64), torch.randn(labels.size(0), 2))
        return while_loop(is_noisy, denoise, start)[1]


class Scanning(nn.Module):
    """A `torch.scan` over the rows of the schedule."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step

    def forward(self, labels: Tensor) -> Tensor:
        # The labels are carried, too: OpenVINO's Scan sees nothing that is computed outside it.
        def denoise(
            carried: tuple[Tensor, Tensor], row: Tensor
        ) -> tuple[tuple[Tensor, Tensor], Tensor]:
            points = self.step(*carried, row)
            return (points, carried[1].clone()), points.mean()

        start = (torch.randn(labels.size(0), 2), labels)
        return scan(denoise, start, self.step.schedule)[0][0]


def moons(labels: Tensor) -> Tensor:
    """Points on two half circles, float[points, 2]."""
    angle = math.pi * (torch.rand(len(labels)) + labels)
    shift = torch.stack([labels - 0.5, 0.5 * labels - 0.25], dim=1)
    points = torch.stack([torch.cos(angle), torch.sin(angle)], dim=1) + shift
    return points + 0.05 * torch.randn_like(points)


export_files.prepare()
step = Step(Denoiser())


def loss() -> Tensor:
    labels = torch.randint(2, (256,))
    points, noise = moons(labels), torch.randn(256, 2)
    # One time for the batch, as in the sampler.
    i = int(torch.randint(STEPS, ()))
    kept = step.kept[i]
    noisy = torch.sqrt(kept) * points + torch.sqrt(1 - kept) * noise
    guess = step.denoiser(noisy, labels, torch.tensor(i / STEPS))
    return ((guess - noise) ** 2).mean()


export_files.train(step.parameters(), loss, 12000, 3000, lr=2e-3)
step.eval().requires_grad_(False)
labels = torch.tensor([0, 1, 0, 1, 1])
names = {"input_names": ["labels"], "output_names": ["points"]}
export_files.with_torchscript(
    torch.jit.script(Counting(step)),
    "diffusion_loop",
    (labels,),
    opset=20,
    **names,
    dynamic_axes={"labels": {0: "points"}, "points": {0: "points"}},
)
for sampler, name in ((Testing, "diffusion_while"), (Scanning, "diffusion_scan")):
    export_files.with_dynamo(sampler(step), name, (labels,), ({0: "points"},), opset=22, **names)
