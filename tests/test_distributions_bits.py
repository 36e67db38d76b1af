"""The same bits from NumPy and from every instruction set, for the distributions.

What NumPy draws is written to files; a process of its own for each instruction set (the choice is
made once in a process) draws the same by the native core and compares.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path

import child
import numpy as np
import pytest
from cases import EDGE_COUNTERS

from onnx_philox import PhiloxState, _native, reference
from onnx_philox._contract.types import BOOL, BY_NAME, F32, F64, I32, I64, ElementType
from onnx_philox._numbers import fill_native, fill_numpy
from onnx_philox._numbers.bernoulli import Bernoulli
from onnx_philox._numbers.categorical import Categorical
from onnx_philox._numbers.draw import Draw, Fill
from onnx_philox._numbers.exponential import Exponential
from onnx_philox._numbers.normal import Normal

KEY = 2**63 + 12345
ISAS = ["scalar", "avx2", "avx512", "neon"]

Named = tuple[str, Draw, int]
"""A name, a draw, and how many elements of it."""

# Mean and scale by type: the usual, general, subnormal, overflowing and constant ones.
MOMENTS = {
    "f32": [(0, 1), (-1.5, 0.3), (-0.0, -1), (1e-40, 3e-42), (3e38, 2e38), (3, 0)],
    "f16": [(0, 1), (-1.5, 0.3), (-0.0, -1), (3e-6, 5e-7), (6e4, 3e4), (3, 0)],
    "bf16": [(0, 1), (-1.5, 0.3), (-0.0, -1), (1e-39, 3e-39), (3e38, 2e38), (3, 0)],
    "f64": [(0, 1), (-1.5, 0.3), (-0.0, -1), (1e-310, 3e-320), (1.7e308, 1e308), (3, 0)],
}

# Beside a plain one: never, always, and what only subnormals tell apart from never.
PROBABILITIES = [0.3, 0.0, -0.0, 1.0, 1e-45, 2.0**-23, 1 - 2.0**-24]


def normal(name: str, mean: float, scale: float, state: PhiloxState) -> Draw:
    values = BY_NAME[name]
    return Draw(values, state, Normal(*(np.asarray(x, values.dtype) for x in (mean, scale))))


def exponential(name: str, scale: float, state: PhiloxState) -> Draw:
    values = BY_NAME[name]
    return Draw(values, state, Exponential(np.asarray(scale, values.dtype)))


def logits_of(values: ElementType, rows: int, classes: int) -> np.ndarray:
    """Logits, some of them special: -inf, equal, far apart, subnormal or zero."""
    rng = np.random.default_rng(classes)
    logits = rng.normal(0, 3, (rows, classes)).astype(values.dtype)
    tiny = np.finfo(values.dtype).smallest_subnormal
    special = np.array([-np.inf, 0, -0.0, 1e4, -1e4, tiny, -tiny, 1, 1], values.dtype)
    chosen = rng.integers(0, 4, logits.shape) == 0
    logits[chosen] = rng.choice(special, int(chosen.sum()))
    logits[:, classes // 2] = 0.5
    return logits


def plain_draws(size: int) -> Iterator[Named]:
    """Draws of about `size` elements of every type."""
    state = PhiloxState(2**64 - 1000, KEY)
    for name, moments in MOMENTS.items():
        for i, (mean, scale) in enumerate(moments):
            elements = size + 1 if i == 0 else size // 16 + i
            yield f"normal {name} {mean} {scale}", normal(name, mean, scale, state), elements
        for i, scale in enumerate(scale for _, scale in moments if scale > 0):
            elements = size + 1 if i == 0 else size // 16 + i
            yield f"exponential {name} {scale}", exponential(name, scale, state), elements
    rng = np.random.default_rng(3)
    for values in (F32, F64):
        for p in PROBABILITIES:
            draw = Draw(BOOL, state, Bernoulli(np.asarray(p, values.dtype)))
            yield f"bernoulli {values.name} {p}", draw, size + 3 if p == 0.3 else size // 16
        each = rng.random(size).astype(values.dtype)
        each[:: len(PROBABILITIES) + 1] = rng.choice(
            PROBABILITIES, each[:: len(PROBABILITIES) + 1].size
        )
        yield f"bernoulli {values.name} each", Draw(BOOL, state, Bernoulli(each)), each.size
    for values, out, classes, samples in (
        (BY_NAME["f16"], I32, 1, 1),
        (F32, I64, 7, 1),
        (F64, I32, 100, 1),
        (F32, I32, 1000, size // 4),
        # More classes than there are running sums kept.
        (BY_NAME["f16"], I64, 2049, size // 8),
        (F64, I32, 50257, 100),
        (F32, I32, 50257, 1),
    ):
        rows = max(1, min(size // max(samples, classes) // 8, 1000))
        draw = Draw(out, state, Categorical(logits_of(values, rows, classes), samples))
        yield f"categorical {values.name} {classes} {samples}", draw, rows * samples


def short_draws() -> Iterator[Named]:
    """Every number of elements up to a few groups of blocks, across carries."""
    for elements, counter in zip(range(1, 141), EDGE_COUNTERS * 20, strict=False):
        state = PhiloxState(counter, KEY)
        for name in MOMENTS:
            yield f"normal {name} {elements}", normal(name, 0.1, 1.7, state), elements
            yield f"exponential {name} {elements}", exponential(name, 1.7, state), elements
        for values in (F32, F64):
            p = np.linspace(0, 1, elements).astype(values.dtype)
            yield f"bernoulli {values.name} {elements}", Draw(BOOL, state, Bernoulli(p)), elements
            draw = Draw(BOOL, state, Bernoulli(values.dtype.type(0.4).reshape(())))
            yield f"bernoulli {values.name} one {elements}", draw, elements
        draw = Draw(I32, state, Categorical(logits_of(F32, 1, elements), elements))
        yield f"categorical {elements}", draw, elements


def state_before(words: tuple[int, int, int, int]) -> PhiloxState:
    """The state whose block is these words: runs the generator, a bijection, backwards."""
    m0, m2, mask = 0xD2511F53, 0xCD9E8D57, 2**32 - 1
    w0, w1, w2, w3 = words
    for i in reversed(range(10)):
        k0, k1 = (KEY + i * 0x9E3779B9) & mask, ((KEY >> 32) + i * 0xBB67AE85) & mask
        c0, c2 = w3 * pow(m0, -1, 2**32) & mask, w1 * pow(m2, -1, 2**32) & mask
        w0, w1, w2, w3 = c0, w0 ^ k0 ^ (m2 * c2 >> 32), c2, w2 ^ k1 ^ (m0 * c0 >> 32)
    return PhiloxState(w0 | w1 << 32 | w2 << 64 | w3 << 96, KEY)


def edges_of_u(bits: int) -> list[int]:
    """Fractions of u where the logarithm changes branch: ends, binades, sqrt(1/2) in each."""
    half_root = 2**bits * 0.7071067811865476
    found = {0, 1, 2, 3, 2**bits - 1, 2**bits - 2}
    for power in (0, 1, 2, 3, bits // 2, bits - 2):
        for edge in (2**bits >> power + 1, int(half_root) >> power):
            found |= {edge - 1, edge, edge + 1}
    return sorted(found)


def edges_of_v(bits: int) -> list[int]:
    """Fractions of v at the borders of eighths, and at the end."""
    eighths = [i * 2**bits // 8 + near for i in range(9) for near in (-1, 0, 1)]
    return [v for v in eighths if 0 <= v < 2**bits]


def chosen_words() -> Iterator[tuple[str, tuple[int, int, int, int]]]:
    """Blocks of words that are edges; the bits which no conversion reads are set."""
    pairs = list(product(edges_of_u(23), edges_of_v(23)))
    for first, second in zip(pairs[0::2], pairs[1::2], strict=False):
        yield "f32", tuple(x | 0xABC00000 & ~0x7FFFFF for x in (*first, *second))  # type: ignore[misc]
    for u, v in product(edges_of_u(52), edges_of_v(52)):
        halves = (u >> 32, u & 0xFFFFFFFF, v >> 32, v & 0xFFFFFFFF)
        yield "f64", tuple(x | (0xABC00000 if i % 2 == 0 else 0) for i, x in enumerate(halves))  # type: ignore[misc]


def edge_draws() -> Iterator[Named]:
    """The edges, each in another place of a vector."""
    for i, (name, words) in enumerate(chosen_words()):
        state = PhiloxState((state_before(words).counter - i % 19) % 2**128, KEY)
        for values in ("f32", "f16", "bf16") if name == "f32" else ("f64",):
            yield f"edge {values} {words}", normal(values, 0, 1, state), 80
            yield f"edge of exponentials {values} {words}", exponential(values, 1, state), 80
    # Thresholds that a running sum is equal to, where all sums are kept and where not.
    for classes, quarter in product((8, 4096), range(4)):
        logits = np.full((1, classes), -np.inf, np.float32)
        logits[:, classes // 4 + 1 : classes // 4 * 3 + 1] = -3
        state = state_before((quarter << 18, 0, quarter << 17, 0))
        yield f"edge of {classes} classes", Draw(I64, state, Categorical(logits, 2)), 2
    # A probability that the uniform is equal to, and its neighbours.
    for values, toward in product((F32, F64), (0, 0.25, 1)):
        p = np.nextafter(values.dtype.type(0.25), values.dtype.type(toward))
        state = state_before((2**21,) * 4 if values is F32 else (2**18, 0, 2**18, 0))
        yield f"edge of p = {p}", Draw(BOOL, state, Bernoulli(np.asarray(p))), 2


QUICK, MANY = 2**14, 2**22


def all_draws(size: int) -> Iterator[Named]:
    yield from plain_draws(size)
    if size == QUICK:
        yield from short_draws()
        yield from edge_draws()


def drawn(fill: Fill, draw: Draw, elements: int, offset: int) -> np.ndarray:
    """The bytes that `fill` makes of poisoned memory, `offset` bytes past an aligned address."""
    memory = np.full(elements * draw.values.dtype.itemsize + 128, 0xCB, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    before, out, after = np.split(memory, [start, start + memory.size - 128])
    fill(draw, out.view(draw.values.dtype))
    assert (np.concatenate([before, after]) == 0xCB).all(), "wrote outside the array"
    return out


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A file with what NumPy draws, one draw after the other."""

    @cache
    def written(size: int) -> Path:
        path = tmp_path_factory.mktemp("expected") / str(size)
        with path.open("wb") as file:
            for _, draw, elements in all_draws(size):
                file.write(drawn(fill_numpy.fill, draw, elements, 0).data)
        return path

    return written


def compare(isa: str, size: str, expected: str) -> None:
    """Compares in the process of an instruction set; prints how many elements it compared."""
    assert _native.isa() == isa
    total = 0
    with Path(expected).open("rb") as file:
        for i, (name, draw, elements) in enumerate(all_draws(int(size))):
            width = draw.values.dtype.itemsize
            wanted = np.fromfile(file, np.uint8, elements * width)
            wrong = np.flatnonzero(wanted != drawn(fill_native.fill, draw, elements, i % 64))
            assert not wrong.size, f"{name}: element {wrong[0] // width} of {elements}"
            total += elements
        assert not file.read(1)
    print(total)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(
    ("size", "least"),
    [
        (QUICK, 400_000),
        pytest.param(MANY, 40_000_000, marks=[pytest.mark.slow, pytest.mark.exhaustive]),
    ],
)
def test_every_instruction_set_draws_what_numpy_draws(
    isa: str, size: int, least: int, expected: Callable[[int], Path]
) -> None:
    program = "import sys, test_distributions_bits as t; t.compare(*sys.argv[1:])"
    places = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {"ONNX_PHILOX_ISA": isa, "PYTHONPATH": os.pathsep.join(places)}
    done = child.python("-c", program, isa, size, expected(size), code=None, env=env)
    if "ONNX_PHILOX_ISA must be" in done.stderr:
        pytest.skip(f"{isa}: this processor or build lacks it")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= least


def test_some_instruction_set_is_not_skipped() -> None:
    assert _native.isa() in ISAS


def test_chosen_words_are_the_first_that_their_state_draws() -> None:
    for _, words in list(chosen_words())[::50]:
        bits, _ = reference.random_generator(state_before(words).to_array(), [4])
        assert tuple(bits.tolist()) == words


def test_the_edges_are_where_they_should_be() -> None:
    # u = 0 counts as 1e-7; a quarter turn, and v = 1/8, the last one that is nearest to no turn.
    largest = float(np.sqrt(-2 * np.log(1e-7)))
    for v, near in ((0, (0, largest)), (2**21, (largest, 0)), (2**20, (largest * 0.5**0.5,) * 2)):
        draw = normal("f32", 0, 1, state_before((0, v, 0, v)))
        values = drawn(fill_numpy.fill, draw, 2, 0).view(np.float32)
        np.testing.assert_allclose(values, near, atol=2e-6)
