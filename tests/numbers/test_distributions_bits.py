"""The same bits from NumPy and from every instruction set, in a process of its own for each."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain, cycle, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnx_philox import PhiloxState, _native, reference
from tests.common import child
from tests.common.cases import DTYPES, EDGE_COUNTERS
from tests.common.operators import OPERATORS, Case, Role, by_core, cases, in_numpy, plain, words

KEY = 2**63 + 12345
ISAS = ["scalar", "avx2", "avx512", "neon"]

QUICK = 2**13
MANY = 2**22

Draw = tuple[str, str, Mapping[str, Any], Mapping[str, Any]]
"""A name, an operator, its inputs and its attributes."""


def draw_of(case: Case, elements: int, state: PhiloxState) -> Draw:
    """A case's draw of about so many elements, fewer where each takes many words."""
    fewer = 8 if case.operator.size_input.role is Role.LOGITS else 1
    words_of_four = words(case, case.shape(4, ()))
    elements = max(1, elements // max(fewer, words_of_four // 32))
    rows = (3, (elements,)) if case.operator.draws_rows else (elements, ())
    shape = case.shape(*rows)
    feeds = case.feeds(shape, state.to_array(), case.inputs(shape))
    name = f"{case.name} {elements}"
    return name, case.operator.name, feeds, case.attributes


def plain_draws(size: int) -> Iterator[Draw]:
    """Draws of about `size` elements of every type, and fewer at the edges."""
    state = PhiloxState(2**64 - 1000, KEY)
    for case in chain.from_iterable(map(cases, OPERATORS)):
        size_of_edge = size // 16 + case.edge if case.edge else size + 1
        yield draw_of(case, size_of_edge, state)
    # More classes than there are running sums kept.
    many = ((2049, size // 8), (50257, 100))
    for classes, samples in many:
        generator = np.random.default_rng(classes)
        logits = generator.normal(0, 3, (2, classes)).astype(np.float32)
        logits[:, ::5] = -np.inf
        inputs = {"logits": logits, "state": state.to_array()}
        yield f"{classes} classes", "RandomCategorical", inputs, {"sample_size": samples}


def short_draws() -> Iterator[Draw]:
    """Every number of elements up to a few groups of blocks, across carries."""
    for elements, counter in zip(range(1, 141), cycle(EDGE_COUNTERS), strict=False):
        for case in chain.from_iterable(map(plain, OPERATORS)):
            yield draw_of(case, elements, PhiloxState(counter, KEY))


def state_before(block: tuple[int, int, int, int]) -> PhiloxState:
    """The state whose block is these words: runs the generator, a bijection, backwards."""
    m0 = 0xD2511F53
    m2 = 0xCD9E8D57
    mask = 2**32 - 1
    inverse_of_m0 = pow(m0, -1, 2**32)
    inverse_of_m2 = pow(m2, -1, 2**32)
    w0, w1, w2, w3 = block
    for i in reversed(range(10)):
        k0 = (KEY + i * 0x9E3779B9) & mask
        k1 = ((KEY >> 32) + i * 0xBB67AE85) & mask
        c0 = w3 * inverse_of_m0 & mask
        c2 = w1 * inverse_of_m2 & mask
        c1 = w0 ^ k0 ^ (m2 * c2 >> 32)
        c3 = w2 ^ k1 ^ (m0 * c0 >> 32)
        w0, w1, w2, w3 = c0, c1, c2, c3
    counter = w0 | w1 << 32
    return PhiloxState(counter | w2 << 64 | w3 << 96, KEY)


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
    edges = product(edges_of_u(23), edges_of_v(23))
    pairs = list(edges)
    for first, second in zip(pairs[0::2], pairs[1::2], strict=False):
        yield "f32", tuple(x | 0xABC00000 & ~0x7FFFFF for x in (*first, *second))  # type: ignore[misc]
    for u, v in product(edges_of_u(52), edges_of_v(52)):
        halves = (u >> 32, u & 0xFFFFFFFF, v >> 32, v & 0xFFFFFFFF)
        yield "f64", tuple(x | (0xABC00000 if i % 2 == 0 else 0) for i, x in enumerate(halves))  # type: ignore[misc]


def edge_draws() -> Iterator[Draw]:
    """The edges, each in another place of a vector."""
    for i, (name, block) in enumerate(chosen_words()):
        before = state_before(block)
        counter = (before.counter - i % 19) % 2**128
        state = PhiloxState(counter, KEY).to_array()
        for type_ in ("f32", "f16", "bf16") if name == "f32" else ("f64",):
            zero = np.array(0, DTYPES[type_])
            one = np.array(1, DTYPES[type_])
            inputs = {"shape": np.array([80]), "state": state}
            moments = {"mean": zero, "scale": one}
            said = {"output_type": type_}
            yield f"edge {type_} {block}", "RandomNormal", inputs | moments, said
            yield f"edge {type_} {block}", "RandomExponential", inputs | {"scale": one}, said
    # Thresholds that a running sum is equal to, where all sums are kept and where not.
    for classes, quarter in product((8, 8192), range(4)):
        logits = np.full((1, classes), -np.inf, np.float32)
        logits[:, classes // 4 + 1 : classes // 4 * 3 + 1] = -3
        words_before = (quarter << 18, 0, quarter << 17, 0)
        state = state_before(words_before).to_array()
        inputs = {"logits": logits, "state": state}
        said = {"sample_size": 2, "output_type": "i64"}
        yield f"edge of {classes} classes", "RandomCategorical", inputs, said
    # Some searches are made at once, and make again some of a row's sums, in one step or two.
    for classes in (300, 4097, 70_000):
        logits = np.random.default_rng(classes).normal(size=(3, classes)).astype(np.float32)
        inputs = {"logits": logits, "state": state_before((0, 0, 0, 0)).to_array()}
        said = {"sample_size": 27, "output_type": "i64"}
        yield f"searches of {classes} classes", "RandomCategorical", inputs, said
    # A probability that the uniform is equal to, and its neighbours.
    for dtype, toward in product((np.float32, np.float64), (0, 0.25, 1)):
        near = np.nextafter(dtype(0.25), dtype(toward))
        p = np.array(near)
        state = state_before((2**21,) * 4 if dtype is np.float32 else (2**18, 0, 2**18, 0))
        inputs = {
            "shape": np.array([2]),
            "p": p,
            "state": state.to_array(),
        }
        yield f"edge of p = {p}", "RandomBernoulli", inputs, {}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A file with draws, and what NumPy draws, one after the other."""

    @cache
    def written(size: int) -> Path:
        path = tmp_path_factory.mktemp("expected") / str(size)
        with path.open("wb") as file:
            more = (short_draws(), edge_draws()) if size == QUICK else ()
            for draw in chain(plain_draws(size), *more):
                values = in_numpy(*draw[1:])
                pickle.dump((draw, values), file)
        return path

    return written


def compare(isa: str, expected: str) -> None:
    """Compares in the process of an instruction set; prints how many elements it compared."""
    assert _native.isa() == isa
    total = 0
    with Path(expected).open("rb") as file:
        while file.peek(1):
            (name, *draw), wanted = pickle.load(file)
            drawn = by_core(*draw)
            for values, of_numpy in zip(drawn, wanted, strict=True):
                values, of_numpy = map(np.asarray, (values, of_numpy))
                octets = values.reshape(-1).view(np.uint8)
                wrong = np.flatnonzero(octets != of_numpy.reshape(-1).view(np.uint8))
                elements = wrong // values.dtype.itemsize
                assert not elements.size, f"{name}: element {elements[0]}"
                total += values.size
    print(total)


@pytest.mark.any_processor
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(
    ("size", "least"),
    [
        (QUICK, 200_000),
        pytest.param(
            MANY,
            40_000_000,
            marks=[pytest.mark.slow, pytest.mark.exhaustive],
        ),
    ],
)
def test_every_instruction_set_draws_what_numpy_draws(
    isa: str,
    size: int,
    least: int,
    expected: Callable[[int], Path],
) -> None:
    if isa not in _native.instruction_sets():
        return  # whose sentence test_native.py asks for
    program = "import sys; from tests.numbers import test_distributions_bits as t"
    program += "; t.compare(*sys.argv[1:])"
    env = {"ONNX_PHILOX_ISA": isa}
    done = child.forked(program, isa, expected(size), env=env)
    assert int(done.stdout) >= least


def test_some_instruction_set_is_not_skipped() -> None:
    assert _native.isa() in ISAS


def test_chosen_words_are_the_first_that_their_state_draws() -> None:
    for _, block in list(chosen_words())[::50]:
        state = state_before(block)
        bits, _ = reference.random_generator(state.to_array(), [4])
        assert tuple(bits.tolist()) == block


def test_normals_of_the_smallest_uniform_and_of_quarter_turns_are_exact() -> None:
    # u = 0 counts as 1e-7; a quarter turn, and v = 1/8, the last one that is nearest to no turn.
    logarithm = np.log(1e-7)
    largest = float(np.sqrt(-2 * logarithm))
    rows = ((0, (0, largest)), (2**21, (largest, 0)), (2**20, (largest * 0.5**0.5,) * 2))
    for v, near in rows:
        state = state_before((0, v, 0, v)).to_array()
        values, _ = reference.random_normal([2], 0, 1, "f32", state=state)
        np.testing.assert_allclose(values, near, atol=2e-6)
