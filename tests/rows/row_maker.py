"""Makes chains of operators with a draw among them, of decisions that are numbers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import onnx

from tests.rows import row_layers, row_steps
from tests.rows.row_builder import ONE, ROWS, Builder, Choices, Dims, Form, Size, Value
from tests.rows.row_draws import DRAWS
from tests.rows.row_sections import SECTIONS
from tests.rows.row_steps import Step, attempt

Chunk = tuple[int, ...]
"""The decisions of one step, of which the first is the step itself."""

LENGTH = 7
"""The decisions of a step: none needs more."""

INPUTS: list[Dims] = [
    (ROWS, Size(4), Size(6)),
    (Size(4), ROWS, Size(6)),
    (ROWS, Size(6)),
    (ROWS, Size(4), Size(2), Size(2)),
    (Size(4), Size(2), ROWS),
    (Size(3), ROWS, Size(2), Size(4)),
    (ONE, ROWS, Size(8)),
]

NAMES: list[tuple[str | None, str | None]] = [
    ("N", "N"),
    (None, None),
    ("x_dynamic_axes_1", "k_dynamic_axes_1"),
]
"""What exporters call the batch of two inputs."""

# Those that keep rows where they are stand oftener, since a chain is right only if all of it is.
_OFTEN: list[Callable[..., Value | None]] = [
    row_steps.of_one,
    row_steps.with_constant,
    row_steps.with_input,
    row_steps.transpose,
    row_steps.merge,
    row_steps.split,
    row_steps.reduce,
    row_layers.matmul,
    row_layers.softmax,
    row_layers.layer_norm,
]
_SELDOM: list[Callable[..., Value | None]] = [
    row_steps.with_lengths,
    row_steps.with_places,
    row_steps.pick,
    row_steps.where,
    row_steps.cast,
    row_steps.mean_of_rows,
    row_steps.spread_mean,
    row_steps.arg_max,
    row_steps.regroup,
    row_steps.like_shape,
    row_steps.flatten,
    row_steps.unsqueeze,
    row_steps.cut,
    row_steps.whole_slice,
    row_steps.flip,
    row_steps.roll,
    row_steps.gather,
    row_steps.gather_rows,
    row_steps.sort,
    row_steps.top,
    row_steps.scatter,
    row_steps.concat,
    row_steps.halve,
    row_steps.tile,
    row_steps.pad,
    row_steps.expand,
    row_steps.reverse_sequence,
    row_layers.cumulate,
    row_layers.batch_norm,
    row_layers.matmul_left,
    row_layers.gemm,
    row_layers.einsum,
    row_layers.attention,
    row_layers.scores,
    row_layers.convolution,
    row_layers.pool,
    row_layers.resize,
    row_layers.space_to_depth,
    row_layers.space_to_batch,
    row_layers.recurrent,
    row_layers.one_hot,
    row_layers.sequence,
    row_layers.trilu,
    row_layers.zeros_like,
]
STEPS: list[Step] = [*_OFTEN, *_OFTEN, *_OFTEN, *_SELDOM]
_DRAWN = list(DRAWS)
DRAWN = [*["noise", "dropout"] * 4, *_DRAWN]
PLACES = ["flat", *SECTIONS]


@dataclass(frozen=True)
class Chain:
    """A chain as the decisions that make it."""

    shape: int
    section: Chunk
    draw: Chunk
    before: tuple[Chunk, ...] = ()
    inside: tuple[Chunk, ...] = ()
    """Before the draw, in its section."""
    on_noise: tuple[Chunk, ...] = ()
    behind: tuple[Chunk, ...] = ()
    """Behind the draw, in its section."""
    after: tuple[Chunk, ...] = ()
    again: tuple[Chunk, ...] = ()
    """A second draw, or none."""

    @property
    def dims(self) -> Dims:
        return INPUTS[self.shape % len(INPUTS)]

    @property
    def names(self) -> tuple[str | None, str | None]:
        """Of the batch, in x and in k."""
        return NAMES[self.shape // len(INPUTS) % len(NAMES)]

    @property
    def named_dims(self) -> list[int | str | None]:
        return [size.factor if size.is_fixed else self.names[0] for size in self.dims]

    def built(self, form: Form, is_for_openvino: bool = False) -> Built:
        b = Builder(form, self.dims, is_for_openvino)
        value = _stepped(b, b.origin, self.before)
        c = Choices(self.section)
        place = c.one_of(PLACES)
        if place != "flat":
            b.operators.append(place)

        def part(inner: Value) -> Value:
            inner = _stepped(b, inner, self.inside)
            inner = _drawn(b, inner, self.draw, self.on_noise)
            return _stepped(b, inner, self.behind, traced=False)

        value = SECTIONS[place](b, value, part, c)
        value = _stepped(b, value, self.after, traced=bool(self.again))
        for draw in self.again:
            value = _drawn(b, value, draw, ())
        b.answer(value)
        model = b.model(self.named_dims, self.names[1])
        return Built(model, tuple(b.operators), b.has_bookless, b.is_by_place)

    def smaller(self) -> Iterator[Chain]:
        """Chains with a step less, or with a decision that is 0."""
        for name in ("again", "after", "behind", "on_noise", "before", "inside"):
            chunks = getattr(self, name)
            for i in range(len(chunks)):
                yield replace(self, **{name: (*chunks[:i], *chunks[i + 1 :])})
        if any(self.section):
            yield replace(self, section=(0,))


@dataclass(frozen=True)
class Built:
    """A chain in one of its forms."""

    model: onnx.ModelProto
    operators: tuple[str, ...]
    """What it is made of, in order."""
    has_bookless: bool
    """Whether a draw may be right in a way that no rule has to see."""
    is_by_place: bool
    """Whether a draw depends on how many rows there are, or on their order."""


def _stepped(b: Builder, v: Value, chunks: Sequence[Chunk], traced: bool = True) -> Value:
    for chunk in chunks:
        c = Choices(chunk)
        step = c.one_of(STEPS)
        made = attempt(b, step, v, c)
        if made is not None:
            v = made
            b.operators.append(step.__name__)
            if traced:
                b.trace(v, "value")
    return v


def _drawn(b: Builder, v: Value, chunk: Chunk, on_noise: Sequence[Chunk]) -> Value:
    c = Choices(chunk)
    kind = c.one_of(DRAWN)
    steps = []
    for noise in on_noise:
        choices = Choices(noise)
        steps.append((choices.one_of(STEPS), choices))
    if v.rank == 0:
        return v
    if b.is_for_openvino and kind == "coins by place":
        # It reads no Bernoulli.
        kind = "coins"
    made = DRAWS[kind](b, v, c, steps)
    if made is None:
        kind = "dropout"
        made = DRAWS[kind](b, v, c, [])
    assert made is not None
    b.operators.append(f"[{kind}]")
    if kind.startswith("noise"):
        b.operators += [f"on noise: {step.__name__}" for step, _ in steps]
    return made


def random_chain(seed: int) -> Chain:
    """One of the many."""
    numbers = random.Random(seed)

    def chunk() -> Chunk:
        return tuple(numbers.randrange(2**16) for _ in range(LENGTH))

    def chunks(most: int) -> tuple[Chunk, ...]:
        return tuple(chunk() for _ in range(numbers.randint(0, most)))

    return Chain(
        numbers.randrange(len(INPUTS) * len(NAMES)),
        chunk(),
        chunk(),
        before=(chunk(), *chunks(4)),
        inside=chunks(2),
        on_noise=chunks(2) if numbers.random() < 0.3 else (),
        behind=chunks(1),
        after=chunks(3),
        again=(chunk(),) if numbers.random() < 0.2 else (),
    )
