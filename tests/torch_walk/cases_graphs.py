"""Draws of draws, draws that are indices or conditions, views that are written, dead draws."""

from __future__ import annotations

import torch
from torch.nn import functional

from torch_walk.table import Table

TABLE = Table()
add = TABLE.add
WIDE = 1e-6
DROP = ("dropout", "bernoulli")


def drop(x, p=0.25):
    return functional.dropout(x, p, True)


# Draws of draws.
add("dropout(dropout)", lambda x: drop(drop(x, 0.5)), DROP)
add("dropout three times", lambda x: drop(drop(drop(x, 0.5))), DROP)
add("bernoulli(rand)", lambda x: torch.bernoulli(torch.rand_like(x)), "bernoulli")
add("bernoulli(rand) of a size", lambda _: torch.bernoulli(torch.rand(8, 16)), "bernoulli")
add("bernoulli(dropout)", lambda x: torch.bernoulli(drop(x * 0.5, 0.5)), "bernoulli")
add("bernoulli_(rand)", lambda x: torch.empty_like(x).bernoulli_(torch.rand_like(x)), "bernoulli")
add("bernoulli(bernoulli)", lambda x: torch.bernoulli(torch.bernoulli(x) * 0.5), "bernoulli")
add("dropout(randn)", lambda _: drop(torch.randn(8, 16)), DROP)
add("dropout(randn + x)", lambda x: drop(torch.randn_like(x) + x), DROP, near=WIDE)
add(
    "poisson(exponential_)",
    lambda x: torch.poisson(torch.empty_like(x).exponential_(0.5)),
    "poisson",
)
add(
    "poisson(exponential_) of a size",
    lambda _: torch.poisson(torch.empty(8).exponential_(0.5)),
    "poisson",
)
add(
    "poisson(_standard_gamma)",
    lambda x: torch.poisson(torch._standard_gamma(x * 4)),
    ("poisson", "_standard_gamma"),
)
add(
    "_standard_gamma(exponential_)",
    lambda _: torch._standard_gamma(torch.empty(6).exponential_()),
    "_standard_gamma",
)
add("rand_like(rand)", lambda _: torch.rand_like(torch.rand(3, 4)), "rand_like", dead=[0])
add(
    "rand_like(rand), both read", lambda _: [y := torch.rand(3, 4), torch.rand_like(y)], "rand_like"
)
add(
    "normal(rand, rand)",
    lambda _: torch.normal(torch.rand(3), torch.rand(3) + 1),
    "normal",
    near=WIDE,
)
add("multinomial(rand)", lambda _: torch.multinomial(torch.rand(3, 4) + 0.5, 1), "multinomial")
add(
    "multinomial(rand) without replacement",
    lambda _: torch.multinomial(torch.rand(3, 4) + 0.5, 3),
    "multinomial",
)
add(
    "randint below a draw",
    lambda x: torch.randint_like(x, torch.randint(2, 9, ()), dtype=torch.int64),
    "randint_like",
)
add(
    "bernoulli of a sigmoid(randn)",
    lambda x: torch.bernoulli(torch.sigmoid(torch.randn_like(x)) * 0 + 0.5),
    "bernoulli",
)

# Draws as indices and conditions.
add("x[randperm]", lambda x: x[torch.randperm(3)], "randperm")
add("x[randperm of the batch]", lambda x: x[torch.randperm(x.shape[0])], "randperm")
add("x[:, randperm]", lambda x: x[:, torch.randperm(4)], "randperm")
add("x[randint]", lambda x: x[torch.randint(0, 3, (8,))], "randint")
add(
    "x[randint, randint]",
    lambda x: x[torch.randint(0, 3, (5,)), torch.randint(0, 4, (5,))],
    "randint",
)
add("x[argsort(rand)]", lambda x: x[torch.rand(3).argsort()], "rand")
add("x[topk(rand)]", lambda x: x[torch.rand(3).topk(2)[1]], "rand")
add("x[multinomial]", lambda x: x[torch.multinomial(torch.ones(3), 2)], "multinomial")
add("x[argmax(randn)]", lambda x: x.reshape(-1)[torch.randn(12).argmax()], "randn")
add("index_select(randperm)", lambda x: x.index_select(1, torch.randperm(4)), "randperm")
add(
    "gather(randint)",
    lambda x: x.gather(1, torch.randint_like(x, 4, dtype=torch.int64)),
    "randint_like",
)
add(
    "take_along_dim(randint)",
    lambda x: torch.take_along_dim(x, torch.randint(0, 4, (x.shape[0], 2)), 1),
    "randint",
)
add("embedding(randint)", lambda x: functional.embedding(torch.randint(0, 3, (3,)), x), "randint")
add("one_hot(randint)", lambda _: functional.one_hot(torch.randint(0, 4, (8,)), 4), "randint")
add("where(rand > 0.5)", lambda x: torch.where(torch.rand(4) > 0.5, x, -x), "rand")
add("where(bernoulli)", lambda x: torch.where(torch.bernoulli(x).bool(), x, -x), "bernoulli")
add("masked_fill(rand < 0.3)", lambda x: x.masked_fill(torch.rand_like(x) < 0.3, 0.0), "rand_like")
add("x times (rand > 0.5)", lambda x: x[:3] * (torch.rand(3, 4) > 0.5), "rand")
add(
    "scatter(randint)",
    lambda _: torch.zeros(3, 4).scatter(1, torch.randint(0, 4, (3, 1)), 1.0),
    "randint",
)
add("sort(rand)", lambda _: torch.rand(6).sort()[0], "rand")
add("cumsum(rand)", lambda _: torch.rand(6).cumsum(0), "rand", near=WIDE)
add(
    "roll of noise",
    lambda x: (x + torch.randn_like(x))[:, torch.randperm(4)],
    "randperm",
    near=WIDE,
)
add("sqrt(abs(randn))", lambda _: torch.randn(7).abs().sqrt(), "randn", near=WIDE)
add("sqrt(abs(rand - 0.5))", lambda _: (torch.rand(7) - 0.5).abs().sqrt(), "rand", near=WIDE)
add("relu(randn)", lambda _: torch.relu(torch.randn(7)), "randn")
add("clamp(randn)", lambda _: torch.randn(7).clamp(-1, 1), "randn")
add("floor(rand * 10)", lambda _: (torch.rand(9) * 10).floor(), "rand")
add("(rand * 10).floor().long()", lambda _: (torch.rand(9) * 10).floor().long(), "rand")
add("(rand * 10).long()", lambda _: (torch.rand(9) * 10).long(), "rand")
add(
    "(rand_like * 10).floor().int()", lambda x: (torch.rand_like(x) * 10).floor().int(), "rand_like"
)
add("rand < 0.3", lambda x: torch.rand_like(x) < 0.3, "rand_like")
add("(rand < 0.3).float()", lambda x: (torch.rand_like(x) < 0.3).float(), "rand_like")
add("rand < x", lambda x: torch.rand_like(x) < x, "rand_like")
add("rand >= 0.3", lambda x: torch.rand_like(x) >= 0.3, "rand_like")
add("rand of a product of sizes", lambda x: torch.rand(x.shape[0] * 2, x.shape[1]), "rand")
add("rand plus rand", lambda x: torch.rand_like(x) - torch.rand_like(x), "rand_like", near=WIDE)
add("one draw read twice", lambda x: [y := torch.rand_like(x), y * 2], "rand_like")
add("equal draws", lambda _: [torch.rand(3), torch.rand(3), torch.randn(3), torch.randn(3)], "rand")
add("equal dropout", lambda x: [drop(x) for _ in range(4)], DROP)
add("a loop of draws", lambda x: sum(torch.rand_like(x) for _ in range(5)), "rand_like", near=WIDE)


# In place, and into views.
def whole(write):
    def forward(x):
        y = x + 1
        write(y)
        return y

    return forward


def returned(write):
    def forward(x):
        y = x + 1
        z = write(y)
        return y, z

    return forward


VIEW = ("uniform", "normal", "bernoulli", "exponential", "a view", "a part of another tensor")
for name, view in {
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
}.items():
    add(f"{name}.uniform_()", whole(lambda y, view=view: view(y).uniform_()), VIEW)
for name, write in {
    "normal_": lambda y: y[:, 1].normal_(),
    "bernoulli_": lambda y: y[:, 1].bernoulli_(0.5),
    "exponential_": lambda y: y[:, 1].exponential_(),
}.items():
    add(f"y[:, 1].{name}()", whole(write), VIEW)
SHORT = {"dtype": torch.bfloat16}
for name, new in {
    "a transpose": lambda x: torch.empty_like(x.t(), **SHORT),
    "a view": lambda x: torch.zeros_like(x, **SHORT).view(-1),
    "a new tensor's part": lambda x: torch.empty(x.shape[0], 4, **SHORT)[:, 1:],
}.items():
    add(f"uniform_ bf16 of {name}", lambda x, new=new: new(x).uniform_(1, 2), VIEW)
add("y.uniform_(), what it returns", returned(lambda y: y.uniform_()), VIEW)
add("y.normal_().mul_(2)", whole(lambda y: y.normal_().mul_(2)), VIEW, near=WIDE)
add(
    "y.uniform_() twice",
    whole(lambda y: y.uniform_().add_(y.uniform_())),
    VIEW,
    dead=[0],
    near=WIDE,
)


def view_before(x):
    y = x + 1
    z = y[:, 1:3]
    y.uniform_()
    return z + 0, y


def view_after(x):
    y = x + 1
    y.uniform_()
    return y[:, 1:3] + 0, y


def written_between(x):
    y = torch.zeros_like(x)
    y.normal_()
    z = y * 2
    y.uniform_()
    return y, z


add("a view taken before, read after", view_before, VIEW)
add("a view taken after", view_after, VIEW)
add("two draws into one tensor, both read", written_between, VIEW, near=WIDE)


# Draws that nothing reads, or of which only the shape is read.
def unread(draw):
    def forward(x):
        draw(x)
        return torch.rand_like(x)

    return forward


def shape_read(draw):
    def forward(x):
        return torch.zeros_like(draw(x), dtype=torch.float32).sum() + x

    return forward


for name, draw in {
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
}.items():
    add(f"dead {name}", unread(draw), name, dead=[0])
    add(f"shape of {name}", shape_read(draw), name, dead=[0])
add("dead dropout p=0", unread(lambda x: drop(x, 0.0)), DROP)
add("dead dropout p=1", unread(lambda x: drop(x, 1.0)), DROP, dead=[0])
add("dead native_dropout p=0", unread(lambda x: torch.native_dropout(x, 0.0, True)), DROP)
add("a draw times zero", lambda x: x + 0 * torch.rand_like(x), "rand_like")
