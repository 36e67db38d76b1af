"""Models of torch that draw, as users have them; each function describes its own.

python tests/models/export_torch.py             # all of them
python tests/models/export_torch.py vae voice   # some
"""

import math
import sys

import torch
from export_files import Module, export, prepare, train
from torch import Tensor, nn
from torch._higher_order_ops import scan, while_loop
from torch.nn import functional as F  # noqa: N812

STEPS, LATENT = 40, 4
ALPHABET = "\n abcdefghijklmnopqrstuvwxyz,."
TEXT = """
a state goes in, and a state comes out.
the same state draws the same numbers, in every runtime and in every run.
the next state draws the next numbers, and no number is drawn twice.
keep the state, and you keep the run. change the key, and you change the stream.
a counter counts the blocks, and a key names the stream.
four words make a block, ten rounds make the words.
what is drawn once can be drawn again, on another machine, in another year.
"""
LENGTH, WIDTH, HEADS, DRAWS = 24, 32, 2, 4
CHARACTERS, CHANNELS = 40, 8
BATCH = {0: "batch"}


def mc_dropout() -> None:
    """A regression whose dropout stays on, for uncertainty: `mc_dropout.onnx`.

    Input: `x`, float[batch, 1]. Output: `y`, float[batch, 1], one draw of the prediction of
    sin(2 x) + noise, learnt for x in [-2, 2]: draws spread further where x is outside.
    """
    layers = (nn.Linear(1, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU())
    model = nn.Sequential(
        *layers,
        nn.Dropout(0.1),
        nn.Linear(64, 1),
    )

    def loss() -> Tensor:
        x = 4 * torch.rand(256, 1) - 2
        y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
        return ((model(x) - y) ** 2).mean()

    train(model, loss, 3000, lr=3e-3, weight_decay=1e-5)
    given = {"x": (torch.zeros(2, 1), BATCH)}
    export(
        model.train(),
        "mc_dropout",
        17,
        given,
        {"y": BATCH},
        dynamo=False,
    )


def vae() -> None:
    """A variational autoencoder's decoder that samples its latent: `vae_decoder.onnx`.

    Inputs: `mean` and `log_variance`, float[batch, 4], as an encoder gives them.
    Output: `images`, float[batch, 1, 16, 16], discs of some place and size.
    """
    halve = {"kernel_size": 4, "stride": 2, "padding": 1}
    # Needed for the training alone.
    encoder = nn.Sequential(
        nn.Conv2d(1, 8, **halve),
        nn.ReLU(),
        nn.Conv2d(8, 16, **halve),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(256, 2 * LATENT),
    )
    layers = nn.Sequential(
        nn.Linear(LATENT, 256),
        nn.ReLU(),
        nn.Unflatten(1, (16, 4, 4)),
        nn.ConvTranspose2d(16, 8, **halve),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 1, **halve),
        nn.Sigmoid(),
    )

    def decoded(layers: nn.Module, mean: Tensor, log_variance: Tensor) -> Tensor:
        deviation = torch.exp(0.5 * log_variance)
        return layers(mean + deviation * torch.randn_like(deviation))

    def discs(count: int) -> Tensor:
        place = torch.arange(16.0)
        x, y = (4 + 8 * torch.rand(count, 1, 1, 1) for _ in range(2))
        radius = 2 + 2 * torch.rand(count, 1, 1, 1)
        squares = (place.view(1, 1, 16, 1) - y) ** 2 + (place.view(1, 1, 1, 16) - x) ** 2
        return torch.sigmoid(2 * (radius - torch.sqrt(squares)))

    def loss() -> Tensor:
        images = discs(128)
        mean, log_variance = encoder(images).chunk(2, dim=1)
        rebuilt = decoded(layers, mean, log_variance)
        rebuilt = F.binary_cross_entropy(rebuilt, images, reduction="none")
        prior = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance)
        return rebuilt.sum(dim=(1, 2, 3)).mean() + prior.sum(dim=1).mean()

    train(nn.ModuleList([encoder, layers]), loss, 1500, lr=2e-3)
    given = {
        "mean": (torch.zeros(2, LATENT), BATCH),
        "log_variance": (torch.ones(2, LATENT), BATCH),
    }
    export(
        Module(decoded, layers).eval(),
        "vae_decoder",
        20,
        given,
        {"images": {}},
    )


class Block(nn.Module):
    """Attention to what came before, and two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.attention = nn.Linear(WIDTH, 3 * WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        wide = 2 * WIDTH
        self.layers = nn.Sequential(
            nn.Linear(WIDTH, wide),
            nn.GELU(),
            nn.Linear(wide, WIDTH),
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        parts = self.attention(self.norms[0](x)).view(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        scores = query @ key.transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        mixed = torch.softmax(scores.masked_fill(future, -1e9), dim=-1) @ value
        x = x + self.project(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.layers(self.norms[1](x))


class LanguageModel(nn.Module):
    """Tokens to the logits of the next token, at each place."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(len(ALPHABET), WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.norm = nn.Sequential(Block(), Block()), nn.LayerNorm(WIDTH)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.norm(self.blocks(x)) @ self.tokens.weight.T


def tokens() -> None:
    """A tiny language model that samples the next token: `next_token.onnx`.

    Inputs: `tokens`, int64[batch, length], characters as indices into `ALPHABET`; `temperature`,
    float. Output: `next_tokens`, int64[batch, 4], four draws of what comes next.
    """
    text, model = torch.tensor([ALPHABET.index(letter) for letter in TEXT]), LanguageModel()

    def loss() -> Tensor:
        starts = torch.randint(len(text) - LENGTH - 1, (32, 1))
        window = text[starts + torch.arange(LENGTH + 1)]
        return F.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())

    def next_tokens(model: nn.Module, tokens: Tensor, temperature: Tensor) -> Tensor:
        probabilities = torch.softmax(model(tokens)[:, -1] / temperature, dim=-1)
        return torch.multinomial(probabilities, DRAWS, replacement=True)

    train(model, loss, 1200, lr=3e-3)
    given = {
        "tokens": (text[:20].view(2, 10), {0: "batch", 1: "length"}),
        "temperature": (torch.tensor(0.8), {}),
    }
    export(
        Module(next_tokens, model).eval(),
        "next_token",
        22,
        given,
        {"next_tokens": {}},
    )


class Denoiser(nn.Module):
    """The noise in a point, given its label and how far the noise has come, in [0, 1]."""

    def __init__(self) -> None:
        super().__init__()
        self.label = nn.Embedding(2, 8)
        inner = (nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.layers = nn.Sequential(
            nn.Linear(2 + 8 + 4, 64),
            *inner,
            nn.Linear(64, 2),
        )

    def forward(self, points: Tensor, labels: Tensor, time: Tensor) -> Tensor:
        angles = torch.stack([time * math.pi, time * 2 * math.pi])
        waves = torch.cat([torch.sin(angles), torch.cos(angles)])
        waves = waves.unsqueeze(0).expand(points.size(0), 4)
        return self.layers(torch.cat([points, self.label(labels), waves], dim=1))


class Step(nn.Module):
    """One step of DDPM, which the three samplers share."""

    def __init__(self) -> None:
        super().__init__()
        self.denoiser = Denoiser()
        betas, numbers = torch.linspace(1e-3, 0.25, STEPS), torch.arange(STEPS)
        kept = torch.cumprod(1 - betas, dim=0)
        self.register_buffer("kept", kept)
        # A row for each step, from noise to points: time, then how much of each part to take.
        rows = [
            numbers / STEPS,
            1 / torch.sqrt(1 - betas),
            betas / torch.sqrt(1 - kept),
        ]
        rows.append(torch.sqrt(betas) * (numbers > 0))  # the last step adds no noise
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


def testing(step: Step, labels: Tensor) -> Tensor:
    """A `torch.while_loop`."""

    def is_noisy(i: Tensor, points: Tensor) -> Tensor:  # noqa: ARG001
        return i < STEPS

    def denoise(i: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
        row = torch.index_select(step.schedule, 0, i.unsqueeze(0)).squeeze(0)
        return i + 1, step(points, labels, row)

    start = (torch.zeros((), dtype=torch.int64), torch.randn(labels.size(0), 2))
    return while_loop(is_noisy, denoise, start)[1]


def scanning(step: Step, labels: Tensor) -> Tensor:
    """A `torch.scan` over the rows of the schedule."""

    # The labels are carried, too: OpenVINO's Scan sees nothing that is computed outside it.
    def denoise(
        carried: tuple[Tensor, Tensor],
        row: Tensor,
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        points = step(*carried, row)
        return (points, carried[1].clone()), points.mean()

    return scan(denoise, (torch.randn(labels.size(0), 2), labels), step.schedule)[0][0]


def diffusion() -> None:
    """Samplers that draw noise in each step of a loop: `diffusion_loop.onnx` and two more.

    Input: `labels`, int64[points], 0 or 1: which of two moons. Output: `points`, float[points, 2].
    The start and the noise of each of the 40 steps are drawn in the model. Its three forms differ
    in the loop: a Loop that counts (TorchScript), a Loop that tests its condition
    (`torch.while_loop`), and a Scan over the schedule (`torch.scan`), the last two at opset 22.
    """
    step = Step()

    def moons(labels: Tensor) -> Tensor:
        """Points on two half circles, float[points, 2]."""
        angle = math.pi * (torch.rand(len(labels)) + labels)
        shift = torch.stack([labels - 0.5, 0.5 * labels - 0.25], dim=1)
        points = torch.stack([torch.cos(angle), torch.sin(angle)], dim=1) + shift
        return points + 0.05 * torch.randn_like(points)

    def loss() -> Tensor:
        labels = torch.randint(2, (256,))
        points, noise = moons(labels), torch.randn(256, 2)
        # One time for the batch, as in the sampler.
        i = int(torch.randint(STEPS, ()))
        kept = step.kept[i]
        noisy = torch.sqrt(kept) * points + torch.sqrt(1 - kept) * noise
        return ((step.denoiser(noisy, labels, torch.tensor(i / STEPS)) - noise) ** 2).mean()

    train(step, loss, 12000, lr=2e-3)
    step.eval().requires_grad_(False)
    each = {0: "points"}
    given = {"labels": (torch.tensor([0, 1, 0, 1, 1]), each)}
    counting = torch.jit.script(Counting(step).eval())
    export(counting, "diffusion_loop", 20, given, {"points": each}, dynamo=False)
    for name, sampler in (("while", testing), ("scan", scanning)):
        export(
            Module(sampler, step),
            f"diffusion_{name}",
            22,
            given,
            {"points": {}},
        )


def spoken(
    embedding: nn.Module,
    around: nn.Module,
    statistics: nn.Module,
    durations: nn.Module,
    flow: nn.ModuleList,
    decoder: nn.Module,
    text: Tensor,
    scales: Tensor,
) -> Tensor:
    """Text to sound; draws the durations, and then the latent of each frame."""
    hidden = torch.tanh(around(embedding(text).transpose(1, 2)))
    mean, deviation = statistics(hidden).chunk(2, dim=1)
    noise = (
        torch.randn(
            text.shape[0],
            1,
            text.shape[1],
        )
        * scales[2]
    )
    length = torch.exp(1 + durations(torch.cat([hidden, noise], dim=1))) * scales[1]
    ends = torch.cumsum(torch.ceil(length), dim=2)  # [1, 1, characters]
    frames = torch.arange(ends.max().to(torch.int64)).to(ends.dtype).view(1, -1, 1)
    begins = torch.cat([torch.zeros_like(ends[:, :, :1]), ends[:, :, :-1]], dim=2)
    path = ((frames >= begins) & (frames < ends)).to(mean.dtype)  # [1, frames, characters]
    mean, deviation = (
        torch.matmul(path, x.transpose(1, 2)).transpose(1, 2) for x in (mean, deviation)
    )
    x = mean + torch.randn_like(mean) * torch.exp(deviation) * scales[0]
    for net in flow:
        # Backwards: half of the channels move the other half.
        one, other = x.chunk(2, dim=1)
        x = torch.cat([other - torch.tanh(net(one)), one], dim=1)
    return decoder(x).squeeze(1)


def voice() -> None:
    """A voice of the shape of VITS, with random weights: `voice.onnx`. What it says is noise.

    Inputs: `text`, int64[1, characters], numbers below 40; `scales`, float[3]: how much noise the
    sound has, how long it lasts, and how much noise the durations have.
    Output: `wav`, float[1, samples] from -1 to 1, with 64 samples for each frame.
    """
    longer, half = {"kernel_size": 16, "stride": 8, "padding": 4}, CHANNELS // 2
    modules = (
        nn.Embedding(CHARACTERS, CHANNELS),
        nn.Conv1d(CHANNELS, CHANNELS, 3, padding=1),
        nn.Conv1d(CHANNELS, 2 * CHANNELS, 1),
        nn.Conv1d(CHANNELS + 1, 1, 3, padding=1),
        nn.ModuleList(nn.Conv1d(half, half, 3, padding=1) for _ in range(4)),
        nn.Sequential(
            nn.ConvTranspose1d(CHANNELS, CHANNELS, **longer),
            nn.LeakyReLU(0.1),
            nn.ConvTranspose1d(CHANNELS, 1, **longer),
            nn.Tanh(),
        ),
    )
    given = {
        "text": (torch.arange(6).view(1, 6), {1: "characters"}),
        "scales": (torch.tensor([0.667, 1.0, 0.8]), {}),
    }
    module = Module(spoken, *modules).eval()
    export(module, "voice", 17, given, {"wav": {1: "samples"}}, dynamo=False)


if __name__ == "__main__":
    ALL = {make.__name__: make for make in (mc_dropout, vae, tokens, diffusion, voice)}
    for chosen in sys.argv[1:] or ALL:
        prepare()
        ALL[chosen]()
