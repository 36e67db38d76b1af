"""docs/specification.md: its rules draw the reference's bits, and citations find its headings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from onnx_philox import PhiloxState, reference
from tests.common import specification as spec
from tests.common.cases import TYPE_BOUNDS
from tests.common.operators import OPERATORS

ROOT = Path(__file__).parents[2]
FLOATS = tuple(spec.FLOATS)
# The counter is about to carry through all its words, and so is the key.
STATE = PhiloxState(2**128 - 3, 2**64 - 5).to_array()
SEEDS = {"global_seed": 9, "op_seed": 3}
LOGITS = np.linspace(-3, 2, 21).reshape(3, 7).astype(np.float32)
TIES = np.float32(
    [
        [1, 3, 3, -np.inf],
        [5, 5, 5, 5],
        [-0.0, 0.0, -1, 0],
    ]
)
SOME = np.where(
    np.arange(80) % 5 == 2,
    -np.inf,
    np.sin(np.arange(80) * 7.0),
).reshape(2, 40)
N = 301


def _stream() -> spec.Stream:
    return spec.Stream(STATE.tolist(), **SEEDS)


def _drawn(
    name: str,
    *arguments: Any,
    **options: Any,
) -> tuple[Any, ...]:
    """The flat outputs of the reference, and its next state."""
    *values, after = getattr(reference, name)(
        *arguments,
        **options,
        **SEEDS,
        state=STATE,
    )
    return (*(v.reshape(-1) for v in values), after)


def _bits(values: Any) -> Any:
    array = np.asarray(values)
    return array.view(f"u{array.dtype.itemsize}")


# The least scale of each type, and one with which values overflow.
EXTREMES = (
    ("f16", 6e-8, 6e4),
    ("bf16", 1e-39, 3e38),
    ("f32", 1e-45, 3e38),
    ("f64", 5e-324, 1e308),
)
COUNTS = {"output_type": "i64"}
PROBABILITIES = (
    np.float32(0.3),
    np.float64(0.3),
    np.linspace(0, 1, N),
    np.linspace(
        0,
        1,
        N,
        dtype=np.float32,
    ),
)
CASES: list[tuple[Any, ...]] = [
    ("random_generator", [N]),
    *(("random_uniform", [N], low, high, t) for t, low, high in TYPE_BOUNDS),
    *(
        ("random_normal", [N], mean, scale, t)
        for t in FLOATS
        for mean, scale in ((0, 1), (-1.7, 2.2), (1e-3, -0.3), (3, 0), (0, 1e3))
    ),
    # The second of a pair is dropped, and its words are taken.
    *(("random_normal", [1], 0, 1, t) for t in FLOATS),
    *(("random_bernoulli", [N], p) for p in PROBABILITIES),
    ("random_categorical", [LOGITS], 9),
    *(
        ("random_categorical", [x.astype(t)], n, {"replacement": False})
        for t in (np.float16, np.float32, np.float64)
        for x, n in ((LOGITS, 5), (TIES, 2), (TIES[:, :1], 1), (SOME, 1))
    ),
    *(("random_exponential", [N], x, t) for t, *scales in EXTREMES for x in (1.3, *scales)),
    *(("random_gamma", [N], np.float64(x), "f64") for x in (2.5, 0.01, 2.0**40)),
    (
        "random_gamma",
        [N],
        np.float64(0.25),
        "f32",
    ),
    *(("random_poisson", [N], np.float64(x), COUNTS) for x in (0, 0.1, 9.99, 10, 40, 300, 1e9)),
    ("random_permutation", [3, 11]),
    ("random_token", [LOGITS], 1.0, 0, 1.0, 0.0),
    ("random_token", [LOGITS], 0.7, 4, 1.0, 0.0),
    ("random_token", [LOGITS], 1.5, 5, 0.8, 0.2),
    ("random_token", [LOGITS], 0.0, 0, 1.0, 0.0),
    # Of equal ones the first is the largest, and the lower pass.
    *(("random_token", [TIES], t, 2, 0.9, 0.1) for t in (0.0, 1.0)),
    (
        "random_token",
        [np.resize(np.float32([0, 1, 1, 1, 0]), (200, 5))],
        1.0,
        2,
        1.0,
        0.0,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
@pytest.mark.filterwarnings("ignore:overflow")
def test_the_page_s_rules_draw_the_reference_s_bits(case: tuple[Any, ...]) -> None:
    name, size, *numbers = case
    options = next((each for each in numbers if isinstance(each, dict)), {})
    numbers = [each for each in numbers if not isinstance(each, dict)]
    stream = _stream()
    told = {key: value for key, value in options.items() if key != "output_type"}
    expected = list(getattr(spec, name)(stream, *size, *numbers, **told))
    if numbers:
        first = size[0] if isinstance(size[0], np.ndarray) else size
        values, after = _drawn(name, first, *numbers, **options)
    else:
        values, after = _drawn(name, shape=size)
    assert_array_equal(_bits(values), _bits(np.array(expected, values.dtype)))
    assert after.tolist() == stream.next_state()


@pytest.mark.parametrize("ratio", [0.0, 0.4, 0.999, 1.0])
@pytest.mark.parametrize("ratio_type", [np.float32, np.float64])
@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.filterwarnings("ignore:(divide by zero|overflow|invalid value)")
def test_the_page_s_dropout_is_the_reference_s(type_: str, ratio_type: Any, ratio: float) -> None:
    data = np.linspace(-4, 4, N).astype(spec.FLOATS[type_])
    data[:3] = np.inf, -np.inf, np.nan
    stream = _stream()
    share = ratio_type(ratio)
    output, mask = zip(*spec.random_dropout(stream, data, share), strict=True)
    ours, ours_mask, after = _drawn("random_dropout", data, share)
    assert_array_equal(ours_mask, mask)
    expected = _bits(np.array(output, ours.dtype))
    assert_array_equal(_bits(ours), expected)
    assert after.tolist() == stream.next_state()
    booleans, _ = reference.random_bernoulli(
        [N],
        share,
        **SEEDS,
        state=STATE,
    )
    assert_array_equal(booleans, ~ours_mask)


def test_every_operator_is_specified() -> None:
    tried = {name for name, *_ in CASES} | {"random_dropout"}
    assert tried == {operator.function for operator in OPERATORS.values()}


HEADINGS = set(re.findall(r"^#+ (.+)$", spec.TEXT, re.MULTILINE))
# However its line breaks.
CITATION = re.compile(r'specification\.md,[\s/#*]+"([^"{]+)"')
SOURCES = sorted(
    path
    for folder, ends in (
        ("src", (".py",)),
        ("custom_ops", (".h", ".cpp", ".py", ".cl")),
        ("tests", (".py",)),
    )
    for path in (ROOT / folder).rglob("*")
    if path.suffix in ends
)


def test_every_citation_of_the_specification_names_a_heading() -> None:
    cited = {
        (path.relative_to(ROOT).as_posix(), heading)
        for path in SOURCES
        for heading in CITATION.findall(path.read_text(encoding="utf-8"))
    }
    assert {heading for _, heading in cited} >= {operator.rule for operator in OPERATORS.values()}
    assert [c for c in sorted(cited) if c[1] not in HEADINGS] == []
    assert [o.name for o in OPERATORS.values() if o.rule not in HEADINGS] == []


def test_nothing_cites_a_document_that_the_repository_does_not_have() -> None:
    cites = re.compile(r"contract(,|'s)? sectio[n]|section \d+ of the contract")
    assert [p.name for p in SOURCES if cites.search(p.read_text(encoding="utf-8"))] == []
