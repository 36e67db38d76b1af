"""Draws of draws, draws that are indices or conditions, views that are written, dead draws."""

from __future__ import annotations

import torch
from torch.nn import functional

from torch_walk.table import Table

TABLE = Table(globals())
DROP = ("dropout", "bernoulli")


def drop(x, p=0.25):
    return functional.dropout(x, p, True)


TABLE.rows("""
dropout(dropout) | drop(drop(x, 0.5)) | call=DROP
dropout three times | drop(drop(drop(x, 0.5))) | call=DROP
bernoulli(rand) | torch.bernoulli(torch.rand_like(x)) | call="bernoulli"
bernoulli(rand) of a size | torch.bernoulli(torch.rand(8, 16)) | call="bernoulli"
bernoulli(dropout) | torch.bernoulli(drop(x * 0.5, 0.5)) | call="bernoulli"
bernoulli_(rand) | torch.empty_like(x).bernoulli_(torch.rand_like(x)) | call="bernoulli"
bernoulli(bernoulli) | torch.bernoulli(torch.bernoulli(x) * 0.5) | call="bernoulli"
dropout(randn) | drop(torch.randn(8, 16)) | call=DROP
dropout(randn + x) | drop(torch.randn_like(x) + x) | call=DROP, near=WIDE
poisson(exponential_) | torch.poisson(torch.empty_like(x).exponential_(0.5)) | call="poisson"
poisson(exponential_) of a size | torch.poisson(torch.empty(8).exponential_(0.5)) | call="poisson"
poisson(_standard_gamma)
| torch.poisson(torch._standard_gamma(x * 4)) | call=("poisson", "_standard_gamma")
_standard_gamma(exponential_)
| torch._standard_gamma(torch.empty(6).exponential_()) | call="_standard_gamma"
rand_like(rand) | torch.rand_like(torch.rand(3, 4)) | call="rand_like", dead=[0]
rand_like(rand), both read | [y := torch.rand(3, 4), torch.rand_like(y)] | call="rand_like"
normal(rand, rand) | torch.normal(torch.rand(3), torch.rand(3) + 1) | call="normal", near=WIDE
multinomial(rand) | torch.multinomial(torch.rand(3, 4) + 0.5, 1) | call="multinomial"
multinomial(rand) without replacement
| torch.multinomial(torch.rand(3, 4) + 0.5, 3) | call="multinomial"
randint below a draw
| torch.randint_like(x, torch.randint(2, 9, ()), dtype=torch.int64) | call="randint_like"
bernoulli of a sigmoid(randn)
| torch.bernoulli(torch.sigmoid(torch.randn_like(x)) * 0 + 0.5) | call="bernoulli"
x[randperm] | x[torch.randperm(3)] | call="randperm"
x[randperm of the batch] | x[torch.randperm(x.shape[0])] | call="randperm"
x[:, randperm] | x[:, torch.randperm(4)] | call="randperm"
x[randint] | x[torch.randint(0, 3, (8,))] | call="randint"
x[randint, randint] | x[torch.randint(0, 3, (5,)), torch.randint(0, 4, (5,))] | call="randint"
x[argsort(rand)] | x[torch.rand(3).argsort()] | call="rand"
x[topk(rand)] | x[torch.rand(3).topk(2)[1]] | call="rand"
x[multinomial] | x[torch.multinomial(torch.ones(3), 2)] | call="multinomial"
x[argmax(randn)] | x.reshape(-1)[torch.randn(12).argmax()] | call="randn"
index_select(randperm) | x.index_select(1, torch.randperm(4)) | call="randperm"
gather(randint) | x.gather(1, torch.randint_like(x, 4, dtype=torch.int64)) | call="randint_like"
take_along_dim(randint)
| torch.take_along_dim(x, torch.randint(0, 4, (x.shape[0], 2)), 1) | call="randint"
embedding(randint) | functional.embedding(torch.randint(0, 3, (3,)), x) | call="randint"
one_hot(randint) | functional.one_hot(torch.randint(0, 4, (8,)), 4) | call="randint"
where(rand > 0.5) | torch.where(torch.rand(4) > 0.5, x, -x) | call="rand"
where(bernoulli) | torch.where(torch.bernoulli(x).bool(), x, -x) | call="bernoulli"
masked_fill(rand < 0.3) | x.masked_fill(torch.rand_like(x) < 0.3, 0.0) | call="rand_like"
x times (rand > 0.5) | x[:3] * (torch.rand(3, 4) > 0.5) | call="rand"
scatter(randint) | torch.zeros(3, 4).scatter(1, torch.randint(0, 4, (3, 1)), 1.0) | call="randint"
sort(rand) | torch.rand(6).sort()[0] | call="rand"
cumsum(rand) | torch.rand(6).cumsum(0) | call="rand", near=WIDE
roll of noise | (x + torch.randn_like(x))[:, torch.randperm(4)] | call="randperm", near=WIDE
sqrt(abs(randn)) | torch.randn(7).abs().sqrt() | call="randn", near=WIDE
sqrt(abs(rand - 0.5)) | (torch.rand(7) - 0.5).abs().sqrt() | call="rand", near=WIDE
relu(randn) | torch.relu(torch.randn(7)) | call="randn"
clamp(randn) | torch.randn(7).clamp(-1, 1) | call="randn"
floor(rand * 10) | (torch.rand(9) * 10).floor() | call="rand"
(rand * 10).floor().long() | (torch.rand(9) * 10).floor().long() | call="rand"
(rand * 10).long() | (torch.rand(9) * 10).long() | call="rand"
(rand_like * 10).floor().int() | (torch.rand_like(x) * 10).floor().int() | call="rand_like"
rand < 0.3 | torch.rand_like(x) < 0.3 | call="rand_like"
(rand < 0.3).float() | (torch.rand_like(x) < 0.3).float() | call="rand_like"
rand < x | torch.rand_like(x) < x | call="rand_like"
rand >= 0.3 | torch.rand_like(x) >= 0.3 | call="rand_like"
rand of a product of sizes | torch.rand(x.shape[0] * 2, x.shape[1]) | call="rand"
rand plus rand | torch.rand_like(x) - torch.rand_like(x) | call="rand_like", near=WIDE
one draw read twice | [y := torch.rand_like(x), y * 2] | call="rand_like"
equal draws | [torch.rand(3), torch.rand(3), torch.randn(3), torch.randn(3)] | call="rand"
equal dropout | [drop(x) for _ in range(4)] | call=DROP
a loop of draws | sum(torch.rand_like(x) for _ in range(5)) | call="rand_like", near=WIDE
""")


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
VIEWS = (
    "y",
    "y.detach()",
    "y[0]",
    "y[:, 1]",
    "y[:, 1:3]",
    "y[..., ::2]",
    "y.t()",
    "y.view(-1)",
    "y.reshape(2, -1)",
    "y.chunk(2, 1)[1]",
    "y.split(2, 1)[0]",
    "y.unbind(1)[1]",
    "y.select(1, 2)",
    "y.narrow(1, 1, 2)",
    "y.unsqueeze(0)",
    "y.transpose(0, 1)",
    "y.diagonal()",
    "y.expand_as(y)",
    "y.flatten()",
    "y.view_as(y)",
    "y.as_strided((2, 2), (2, 1))",
)
for view in VIEWS:
    name = view.replace("as_strided((2, 2), (2, 1))", "as_strided")
    TABLE.rows(f"{name}.uniform_() | whole(x, lambda y: {view}.uniform_()) | call=VIEW")
SHORT = {"dtype": torch.bfloat16}
TABLE.rows("""
y[:, 1].normal_() | whole(x, lambda y: y[:, 1].normal_()) | call=VIEW
y[:, 1].bernoulli_() | whole(x, lambda y: y[:, 1].bernoulli_(0.5)) | call=VIEW
y[:, 1].exponential_() | whole(x, lambda y: y[:, 1].exponential_()) | call=VIEW
uniform_ bf16 of a transpose | torch.empty_like(x.t(), **SHORT).uniform_(1, 2) | call=VIEW
uniform_ bf16 of a view | torch.zeros_like(x, **SHORT).view(-1).uniform_(1, 2) | call=VIEW
uniform_ bf16 of a new tensor's part
| torch.empty(x.shape[0], 4, **SHORT)[:, 1:].uniform_(1, 2) | call=VIEW
y.uniform_(), what it returns | [y := x + 1, y.uniform_()] | call=VIEW
y.normal_().mul_(2) | whole(x, lambda y: y.normal_().mul_(2)) | call=VIEW, near=WIDE
y.uniform_() twice
| whole(x, lambda y: y.uniform_().add_(y.uniform_())) | call=VIEW, dead=[0], near=WIDE
a view taken before, read after | view_before(x) | call=VIEW
a view taken after | [(y := x + 1).uniform_()[:, 1:3] + 0, y] | call=VIEW
two draws into one tensor, both read | written_between(x) | call=VIEW, near=WIDE
""")


# Draws that nothing reads, or of which only the shape is read.
def unread(x, drawn):  # noqa: ARG001
    return torch.rand_like(x)


def shape_read(x, drawn):
    return torch.zeros_like(drawn, dtype=torch.float32).sum() + x


for name, draw in {
    "rand": "torch.rand(2, 3)",
    "rand_like": "torch.rand_like(x)",
    "randn_like": "torch.randn_like(x)",
    "randint": "torch.randint(9, (3, 4))",
    "randperm": "torch.randperm(5)",
    "bernoulli": "torch.bernoulli(x)",
    "multinomial": "torch.multinomial(x, 2)",
    "dropout": "drop(x)",
    "exponential": "torch.empty_like(x).exponential_()",
    "normal": "torch.normal(x, x)",
    "poisson": "torch.poisson(x)",
}.items():
    TABLE.rows(f"""
dead {name} | unread(x, {draw}) | call="{name}", dead=[0]
shape of {name} | shape_read(x, {draw}) | call="{name}", dead=[0]
""")
TABLE.rows("""
dead dropout p=0 | unread(x, drop(x, 0.0)) | call=DROP
dead dropout p=1 | unread(x, drop(x, 1.0)) | call=DROP, dead=[0]
dead native_dropout p=0 | unread(x, torch.native_dropout(x, 0.0, True)) | call=DROP
a draw times zero | x + 0 * torch.rand_like(x) | call="rand_like"
""")
