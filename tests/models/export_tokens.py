"""A tiny language model that samples the next token: `next_token.onnx`.

Inputs: `tokens`, int64[batch, length], characters as indices into `ALPHABET`; `temperature`, float.
Output: `next_tokens`, int64[batch, 4], four draws of what comes next.

    python tests/models/export_tokens.py
"""

import math

import export_files
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

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


class Block(nn.Module):
    """Attention to what came before, and two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.attention = nn.Linear(WIDTH, 3 * WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        self.layers = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
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
        self.tokens = nn.Embedding(len(ALPHABET), WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.norm(self.blocks(x)) @ self.tokens.weight.T


class NextToken(nn.Module):
    """Draws from the model's distribution at a temperature."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, temperature: Tensor) -> Tensor:
        logits = self.model(tokens)[:, -1]
        probabilities = torch.softmax(logits / temperature, dim=-1)
        return torch.multinomial(probabilities, DRAWS, replacement=True)


export_files.prepare()
text = torch.tensor([ALPHABET.index(letter) for letter in TEXT])
model = LanguageModel()


def loss() -> Tensor:
    starts = torch.randint(len(text) - LENGTH - 1, (32, 1))
    window = text[starts + torch.arange(LENGTH + 1)]
    return F.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())


export_files.train(model.parameters(), loss, 1200, 400, lr=3e-3)
export_files.with_dynamo(
    NextToken(model).eval(),
    "next_token",
    (text[:20].view(2, 10), torch.tensor(0.8)),
    ({0: "batch", 1: "length"}, {}),
    opset=22,
    input_names=["tokens", "temperature"],
    output_names=["next_tokens"],
)
