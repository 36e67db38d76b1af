"""Draws of draws, draws that are indices or conditions, views that are written, dead draws."""

# ruff: noqa: ARG005 (a case's input is named x, also where nothing reads it)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from tests.torch_numbers.torch_walk.table import WIDE, Table

TABLE = Table()
DROP = ("dropout", "bernoulli")


def drop(x, p=0.25):
    return functional.dropout(x, p, True)


TABLE.add(
    "dropout(dropout)",
    lambda x: drop(drop(x, 0.5)),
    call=DROP,
)
TABLE.add(
    "dropout three times",
    lambda x: drop(drop(drop(x, 0.5))),
    call=DROP,
)
TABLE.add(
    "bernoulli(rand)",
    lambda x: torch.bernoulli(torch.rand_like(x)),
    call="bernoulli",
)
TABLE.add(
    "bernoulli(rand) of a size", lambda x: torch.bernoulli(torch.rand(8, 16)), call="bernoulli"
)
TABLE.add(
    "bernoulli(dropout)",
    lambda x: torch.bernoulli(drop(x * 0.5, 0.5)),
    call="bernoulli",
)
TABLE.add(
    "bernoulli_(rand)",
    lambda x: torch.empty_like(x).bernoulli_(torch.rand_like(x)),
    call="bernoulli",
)
TABLE.add(
    "bernoulli(bernoulli)", lambda x: torch.bernoulli(torch.bernoulli(x) * 0.5), call="bernoulli"
)
TABLE.add(
    "dropout(randn)",
    lambda x: drop(torch.randn(8, 16)),
    call=DROP,
)
TABLE.add(
    "dropout(randn + x)",
    lambda x: drop(torch.randn_like(x) + x),
    call=DROP,
    near=WIDE,
)
TABLE.add(
    "poisson(exponential_)",
    lambda x: torch.poisson(torch.empty_like(x).exponential_(0.5)),
    call="poisson",
)
TABLE.add(
    "poisson(exponential_) of a size",
    lambda x: torch.poisson(torch.empty(8).exponential_(0.5)),
    call="poisson",
)
TABLE.add(
    "poisson(_standard_gamma)",
    lambda x: torch.poisson(torch._standard_gamma(x * 4)),
    call=("poisson", "_standard_gamma"),
)
TABLE.add(
    "_standard_gamma(exponential_)",
    lambda x: torch._standard_gamma(torch.empty(6).exponential_()),
    call="_standard_gamma",
)
TABLE.add(
    "rand_like(rand)", lambda x: torch.rand_like(torch.rand(3, 4)), call="rand_like", dead=[0]
)
TABLE.add(
    "rand_like(rand), both read",
    lambda x: [y := torch.rand(3, 4), torch.rand_like(y)],
    call="rand_like",
)
TABLE.add(
    "normal(rand, rand)",
    lambda x: torch.normal(torch.rand(3), torch.rand(3) + 1),
    call="normal",
    near=WIDE,
)
TABLE.add(
    "multinomial(rand)", lambda x: torch.multinomial(torch.rand(3, 4) + 0.5, 1), call="multinomial"
)
TABLE.add(
    "multinomial(rand) without replacement",
    lambda x: torch.multinomial(torch.rand(3, 4) + 0.5, 3),
    call="multinomial",
)
TABLE.add(
    "randint below a draw",
    lambda x: torch.randint_like(
        x,
        torch.randint(2, 9, ()),
        dtype=torch.int64,
    ),
    call="randint_like",
)
TABLE.add(
    "bernoulli of a sigmoid(randn)",
    lambda x: torch.bernoulli(torch.sigmoid(torch.randn_like(x)) * 0 + 0.5),
    call="bernoulli",
)
TABLE.add(
    "x[randperm]",
    lambda x: x[torch.randperm(3)],
    call="randperm",
)
TABLE.add(
    "x[randperm of the batch]",
    lambda x: x[torch.randperm(x.shape[0])],
    call="randperm",
)
TABLE.add(
    "x[:, randperm]",
    lambda x: x[:, torch.randperm(4)],
    call="randperm",
)
TABLE.add(
    "x[randint]",
    lambda x: x[torch.randint(0, 3, (8,))],
    call="randint",
)
TABLE.add(
    "x[randint, randint]",
    lambda x: x[torch.randint(0, 3, (5,)), torch.randint(0, 4, (5,))],
    call="randint",
)
TABLE.add(
    "x[argsort(rand)]",
    lambda x: x[torch.rand(3).argsort()],
    call="rand",
)
TABLE.add(
    "x[topk(rand)]",
    lambda x: x[torch.rand(3).topk(2)[1]],
    call="rand",
)
TABLE.add(
    "x[multinomial]",
    lambda x: x[torch.multinomial(torch.ones(3), 2)],
    call="multinomial",
)
TABLE.add(
    "x[argmax(randn)]",
    lambda x: x.reshape(-1)[torch.randn(12).argmax()],
    call="randn",
)
TABLE.add(
    "index_select(randperm)",
    lambda x: x.index_select(1, torch.randperm(4)),
    call="randperm",
)
TABLE.add(
    "gather(randint)",
    lambda x: x.gather(1, torch.randint_like(x, 4, dtype=torch.int64)),
    call="randint_like",
)
TABLE.add(
    "take_along_dim(randint)",
    lambda x: torch.take_along_dim(x, torch.randint(0, 4, (x.shape[0], 2)), 1),
    call="randint",
)
TABLE.add(
    "embedding(randint)",
    lambda x: functional.embedding(torch.randint(0, 3, (3,)), x),
    call="randint",
)
TABLE.add(
    "one_hot(randint)", lambda x: functional.one_hot(torch.randint(0, 4, (8,)), 4), call="randint"
)
TABLE.add(
    "where(rand > 0.5)",
    lambda x: torch.where(torch.rand(4) > 0.5, x, -x),
    call="rand",
)
TABLE.add(
    "where(bernoulli)", lambda x: torch.where(torch.bernoulli(x).bool(), x, -x), call="bernoulli"
)
TABLE.add(
    "masked_fill(rand < 0.3)",
    lambda x: x.masked_fill(torch.rand_like(x) < 0.3, 0.0),
    call="rand_like",
)
TABLE.add(
    "x times (rand > 0.5)",
    lambda x: x[:3] * (torch.rand(3, 4) > 0.5),
    call="rand",
)
TABLE.add(
    "scatter(randint)",
    lambda x: torch.zeros(3, 4).scatter(1, torch.randint(0, 4, (3, 1)), 1.0),
    call="randint",
)
TABLE.add(
    "sort(rand)",
    lambda x: torch.rand(6).sort()[0],
    call="rand",
)
TABLE.add(
    "cumsum(rand)",
    lambda x: torch.rand(6).cumsum(0),
    call="rand",
    near=WIDE,
)
TABLE.add(
    "roll of noise",
    lambda x: (x + torch.randn_like(x))[:, torch.randperm(4)],
    call="randperm",
    near=WIDE,
)
TABLE.add(
    "sqrt(abs(randn))",
    lambda x: torch.randn(7).abs().sqrt(),
    call="randn",
    near=WIDE,
)
TABLE.add(
    "sqrt(abs(rand - 0.5))", lambda x: (torch.rand(7) - 0.5).abs().sqrt(), call="rand", near=WIDE
)
TABLE.add(
    "relu(randn)",
    lambda x: torch.relu(torch.randn(7)),
    call="randn",
)
TABLE.add(
    "clamp(randn)",
    lambda x: torch.randn(7).clamp(-1, 1),
    call="randn",
)
TABLE.add(
    "floor(rand * 10)",
    lambda x: (torch.rand(9) * 10).floor(),
    call="rand",
)
TABLE.add(
    "(rand * 10).floor().long()",
    lambda x: (torch.rand(9) * 10).floor().long(),
    call="rand",
)
TABLE.add(
    "(rand * 10).long()",
    lambda x: (torch.rand(9) * 10).long(),
    call="rand",
)
TABLE.add(
    "(rand_like * 10).floor().int()",
    lambda x: (torch.rand_like(x) * 10).floor().int(),
    call="rand_like",
)
TABLE.add(
    "rand < 0.3",
    lambda x: torch.rand_like(x) < 0.3,
    call="rand_like",
)
TABLE.add(
    "(rand < 0.3).float()",
    lambda x: (torch.rand_like(x) < 0.3).float(),
    call="rand_like",
)
TABLE.add(
    "rand < x",
    lambda x: torch.rand_like(x) < x,
    call="rand_like",
)
TABLE.add(
    "rand >= 0.3",
    lambda x: torch.rand_like(x) >= 0.3,
    call="rand_like",
)
TABLE.add(
    "rand of a product of sizes", lambda x: torch.rand(x.shape[0] * 2, x.shape[1]), call="rand"
)
TABLE.add(
    "rand plus rand", lambda x: torch.rand_like(x) - torch.rand_like(x), call="rand_like", near=WIDE
)
TABLE.add(
    "one draw read twice",
    lambda x: [y := torch.rand_like(x), y * 2],
    call="rand_like",
)
TABLE.add(
    "equal draws",
    lambda x: [
        torch.rand(3),
        torch.rand(3),
        torch.randn(3),
        torch.randn(3),
    ],
    call="rand",
)
TABLE.add(
    "equal dropout",
    lambda x: [drop(x) for _ in range(4)],
    call=DROP,
)
TABLE.add(
    "a loop of draws",
    lambda x: sum(torch.rand_like(x) for _ in range(5)),
    call="rand_like",
    near=WIDE,
)


# In place, and into views.
def whole(x, write):
    write(y := x + 1)
    return y


def view_before(x):
    y = x + 1
    z = y[:, 1:3]
    y.uniform_()
    return z + 0, y


def written_between(x):
    y = torch.zeros_like(x)
    y.normal_()
    z = y * 2
    y.uniform_()
    return y, z


VIEW = ("uniform", "normal", "bernoulli", "exponential", "a view", "a part of another tensor")
VIEWS: dict[str, Callable[[Any], Any]] = {
    "y": lambda y: y,
    "y.detach()": lambda y: y.detach(),
    "y[0]": lambda y: y[0],
    "y[:, 1]": lambda y: y[:, 1],
    "y[:, 1:3]": lambda y: y[:, 1:3],
    "y[..., ::2]": lambda y: y[..., ::2],
    "y.t()": lambda y: y.t(),
    "y.view(-1)": lambda y: y.view(-1),
    "y.reshape(2, -1)": lambda y: y.reshape(2, -1),
    "y.chunk(2, 1)[1]": lambda y: y.chunk(2, 1)[1],
    "y.split(2, 1)[0]": lambda y: y.split(2, 1)[0],
    "y.unbind(1)[1]": lambda y: y.unbind(1)[1],
    "y.select(1, 2)": lambda y: y.select(1, 2),
    "y.narrow(1, 1, 2)": lambda y: y.narrow(1, 1, 2),
    "y.unsqueeze(0)": lambda y: y.unsqueeze(0),
    "y.transpose(0, 1)": lambda y: y.transpose(0, 1),
    "y.diagonal()": lambda y: y.diagonal(),
    "y.expand_as(y)": lambda y: y.expand_as(y),
    "y.flatten()": lambda y: y.flatten(),
    "y.view_as(y)": lambda y: y.view_as(y),
    "y.as_strided": lambda y: y.as_strided((2, 2), (2, 1)),
}


def add_view(name: str, view: Callable[[Any], Any]) -> None:
    TABLE.add(
        f"{name}.uniform_()",
        lambda x: whole(x, lambda y: view(y).uniform_()),
        call=VIEW,
    )


for name, view in VIEWS.items():
    add_view(name, view)
SHORT = {"dtype": torch.bfloat16}
TABLE.add(
    "y[:, 1].normal_()",
    lambda x: whole(x, lambda y: y[:, 1].normal_()),
    call=VIEW,
)
TABLE.add(
    "y[:, 1].bernoulli_()",
    lambda x: whole(x, lambda y: y[:, 1].bernoulli_(0.5)),
    call=VIEW,
)
TABLE.add(
    "y[:, 1].exponential_()",
    lambda x: whole(x, lambda y: y[:, 1].exponential_()),
    call=VIEW,
)
TABLE.add(
    "uniform_ bf16 of a transpose",
    lambda x: torch.empty_like(x.t(), **SHORT).uniform_(1, 2),
    call=VIEW,
)
TABLE.add(
    "uniform_ bf16 of a view",
    lambda x: torch.zeros_like(x, **SHORT).view(-1).uniform_(1, 2),
    call=VIEW,
)
TABLE.add(
    "uniform_ bf16 of a new tensor's part",
    lambda x: torch.empty(x.shape[0], 4, **SHORT)[:, 1:].uniform_(1, 2),
    call=VIEW,
)
TABLE.add(
    "y.uniform_(), what it returns",
    lambda x: [y := x + 1, y.uniform_()],
    call=VIEW,
)
TABLE.add(
    "y.normal_().mul_(2)", lambda x: whole(x, lambda y: y.normal_().mul_(2)), call=VIEW, near=WIDE
)
TABLE.add(
    "y.uniform_() twice",
    lambda x: whole(x, lambda y: y.uniform_().add_(y.uniform_())),
    call=VIEW,
    dead=[0],
    near=WIDE,
)
TABLE.add(
    "a view taken before, read after",
    lambda x: view_before(x),
    call=VIEW,
)
TABLE.add(
    "a view taken after",
    lambda x: [(y := x + 1).uniform_()[:, 1:3] + 0, y],
    call=VIEW,
)
TABLE.add(
    "two draws into one tensor, both read", lambda x: written_between(x), call=VIEW, near=WIDE
)


# Draws that nothing reads, or of which only the shape is read.
def unread(x, drawn):  # noqa: ARG001
    return torch.rand_like(x)


def shape_read(x, drawn):
    return torch.zeros_like(drawn, dtype=torch.float32).sum() + x


DRAWS: dict[str, Callable[[Any], Any]] = {
    "rand": lambda _: torch.rand(2, 3),
    "rand_like": lambda x: torch.rand_like(x),
    "randn_like": lambda x: torch.randn_like(x),
    "randint": lambda _: torch.randint(9, (3, 4)),
    "randperm": lambda _: torch.randperm(5),
    "bernoulli": lambda x: torch.bernoulli(x),
    "multinomial": lambda x: torch.multinomial(x, 2),
    "dropout": lambda x: drop(x),
    "exponential": lambda x: torch.empty_like(x).exponential_(),
    "normal": lambda x: torch.normal(x, x),
    "poisson": lambda x: torch.poisson(x),
}


def add_unread(name: str, draw: Callable[[Any], Any]) -> None:
    """A draw that nothing reads, and one whose shape is read."""
    TABLE.add(
        f"dead {name}",
        lambda x: unread(x, draw(x)),
        call=name,
        dead=[0],
    )
    TABLE.add(
        f"shape of {name}",
        lambda x: shape_read(x, draw(x)),
        call=name,
        dead=[0],
    )


for name, draw in DRAWS.items():
    add_unread(name, draw)
TABLE.add(
    "dead dropout p=0",
    lambda x: unread(x, drop(x, 0.0)),
    call=DROP,
)
TABLE.add(
    "dead dropout p=1",
    lambda x: unread(x, drop(x, 1.0)),
    call=DROP,
    dead=[0],
)
TABLE.add(
    "dead native_dropout p=0", lambda x: unread(x, torch.native_dropout(x, 0.0, True)), call=DROP
)
TABLE.add(
    "a draw times zero",
    lambda x: x + 0 * torch.rand_like(x),
    call="rand_like",
)
