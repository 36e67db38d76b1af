"""`every_word.py`, which runs apart: its kernels get all words, and a wrong bit is seen."""

from __future__ import annotations

import argparse

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from onnx_philox import reference
from tests.common import operators
from tests.numbers import every_word


def test_the_states_draw_the_words_that_are_asked_for() -> None:
    words = np.random.default_rng(5).integers(0, 2**32, 4096, np.uint32)
    states = every_word.states_before(words)
    drawn, _ = reference.random_generator(states, [len(states), 4])
    assert_array_equal(drawn.reshape(-1), words)
    later, _ = reference.random_generator(every_word.states_before(words, 1), [len(states), 8])
    assert_array_equal(later[:, 4:].reshape(-1), words)


def test_a_day_of_every_sixty_four_covers_all_words() -> None:
    starts = [next(every_word.every_word(i))[0] for i in range(every_word.SLICES)]
    expected = [i * 2**26 for i in range(64)]
    assert starts == expected
    assert sum(part.size for part in every_word.every_word(0)) == 2**26


@pytest.mark.parametrize("given", ["3-1", "64", "3-70", "-1", "x", ""])
def test_slices_that_are_none_are_refused(given: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be one of 0 to 63"):
        every_word._slices(given)
    assert every_word._slices("62-63") == [62, 63]


def test_every_type_of_a_rule_of_a_word_or_two_is_there() -> None:
    drawn = {(rule.operator, rule.type) for rule in every_word.RULES.values()}
    for name in ("RandomUniform", "RandomExponential"):
        assert {(name, t.name) for t in operators.OPERATORS[name].output_types} <= drawn


@pytest.mark.parametrize("name", every_word.RULES)
def test_the_kernels_draw_numpy_s_values_from_the_first_words(name: str) -> None:
    rule = every_word.RULES[name]
    words = next(rule.words(0))[: 2**12]
    ours = every_word.drawn(rule, words, every_word.states_before(words))
    assert_array_equal(ours, every_word.drawn(rule, words, None))


def test_one_wrong_bit_of_one_word_is_seen() -> None:
    rule = every_word.RULES["uniform f32 [0, 1)"]
    words = next(rule.words(9))[: 2**12]
    wrong = words.copy()
    wrong[77] ^= 1
    ours = every_word.drawn(rule, words, every_word.states_before(wrong))
    assert np.flatnonzero(ours != every_word.drawn(rule, words, None)).tolist() == [77]
