"""NumPy gives what Random123, TensorFlow, OpenVINO's documentation and DirectML's rule give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onnx_philox._command.verify import cases
from tests.common.cases import assert_same_bits, load_vectors
from tests.common.operators import every_operator
from tests.numbers import make_distribution_vectors

pytestmark = pytest.mark.lowest
CASES = cases.load_cases()
DOCUMENTED = load_vectors("openvino")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_numpy_draws_each_vector(case: cases.Case) -> None:
    for vector in case.vectors:
        drawn = vector.example.in_numpy()
        assert drawn.keys() == vector.expected.keys()
        for name, expected in vector.expected.items():
            assert_same_bits(drawn[name], expected)
        values = next(iter(drawn.values()))
        if vector.near is not None:
            tolerance = cases.NORMAL_TOLERANCES[case.type]
            np.testing.assert_allclose(values, vector.near, 0, tolerance)
        if vector.printed is not None:
            # As printed: the shortest decimals of f32, eight places of f64, integers.
            shown = np.round(values, 8) if values.dtype == np.float64 else values
            np.testing.assert_array_equal(shown, np.array(vector.printed).astype(values.dtype))


def _round_of_the_page(
    n: list[int],
    counter: list[int],
    key: list[int],
) -> tuple[list[int], ...]:
    """A round as the page of RandomUniform-8 prints it; of each pair R is first, then L."""
    (rn, ln), (rc, lc), (rk, lk) = n, counter, key
    new_n = rn * 0xD2511F53
    new_counter = rc * 0xCD9E8D57
    return (
        [new_n >> 32 ^ lk ^ ln, new_n & _WORD],
        [new_counter >> 32 ^ rk ^ lc, new_counter & _WORD],
        [rk + 0xBB67AE85 & _WORD, lk + 0x9E3779B9 & _WORD],
    )


def _round_that_crosses(
    n: list[int],
    counter: list[int],
    key: list[int],
) -> tuple[list[int], ...]:
    """A round that gives the page's own examples: each pair is made of the other one's product."""
    (rn, ln), (rc, lc), (rk, lk) = n, counter, key
    of_counter = rc * 0xCD9E8D57
    of_n = rn * 0xD2511F53
    return (
        [of_counter >> 32 ^ rk ^ ln, of_counter & _WORD],
        [of_n >> 32 ^ lk ^ lc, of_n & _WORD],
        [rk + 0x9E3779B9 & _WORD, lk + 0xBB67AE85 & _WORD],
    )


_WORD = 2**32 - 1


@pytest.mark.parametrize(
    ("round_", "order", "expected"),
    [
        (
            _round_of_the_page,
            (1, 0, 3, 2),
            [0.46484125, 0.35044253, 0.37440777, 0.83021593],
        ),
        (
            _round_that_crosses,
            (0, 1, 2, 3),
            [0.7011236, 0.30539632, 0.93931055, 0.9456035],
        ),
    ],
)
def test_openvino_s_printed_round_gives_other_numbers_than_its_first_example(
    round_, order, expected
) -> None:
    (row,) = [r for r in DOCUMENTED if r["type"] == "f32"]
    n = [0, 0]
    counter = [row["op_seed"], 0]
    key = [row["global_seed"], 0]
    for _ in range(10):
        n, counter, key = round_(n, counter, key)
    x = np.array([*n, *counter], np.uint32)[list(order)]
    values = (x & 0x7FFFFF | 0x3F800000).view(np.float32) - np.float32(1)
    np.testing.assert_array_equal(values, np.float32(expected))
    documented = np.float32(row["printed"]).ravel()[:4]
    assert np.array_equal(values, documented) == (round_ is _round_that_crosses)


@every_operator
def test_a_new_operator_s_vectors_are_read_as_they_were_drawn(
    operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new.json").write_text(make_distribution_vectors.promised(operator), "utf-8")
    monkeypatch.setattr(cases, "FILES", ["new.json"])
    found = [case for case in cases.load_cases(tmp_path) if case.family.startswith("Promised")]
    vectors = [vector for case in found for vector in case.vectors]
    drawn = [example for _, example in make_distribution_vectors.draws(operator)]
    assert len(vectors) == len(drawn)
    for vector in vectors:
        for name, expected in vector.example.in_numpy().items():
            assert_same_bits(vector.expected[name], expected)
