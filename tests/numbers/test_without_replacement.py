"""RandomCategorical with `replacement` 0: the rule, in every runtime."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import scipy

from onnx_philox import graphs, reference
from onnx_philox.rewriting import to_standard_nodes
from tests.common.cases import assert_all_same, assert_same_bits
from tests.common.operators import STATE, by_core, in_numpy

RNG = np.random.default_rng(5)
# A tenth has no weight; some of the others have one so small that their times are infinite.
FAR = np.full((1, 10_000), -707.9)
FAR[0, 0] = 0
FAR[0, 7::10] = -708.1
SAMPLES_OF_FAR = 9000


def logits_of(batch: int, classes: int, type_: Any = np.float32) -> np.ndarray:
    logits = 3 * RNG.normal(size=(batch, classes))
    logits[:, 2::5] = -np.inf
    return logits.astype(type_)


def once(logits: np.ndarray, samples: int, draw: Any = by_core) -> Any:
    """Classes by the core, which test_every_operator.py compares with NumPy for few classes."""
    attributes = {"sample_size": samples, "replacement": 0, "output_type": "i32"}
    return draw("RandomCategorical", {"logits": logits, "state": STATE}, attributes)


def test_classes_whose_times_are_infinite_come_last_in_their_order() -> None:
    u = reference.random_uniform(FAR.shape, 0, 1, "f64", state=STATE)[0][0]
    with np.errstate(over="ignore"):
        is_infinite = np.isinf(-np.log1p(-u) / np.exp(-707.9))
    infinite = np.flatnonzero(is_infinite & (FAR[0] > -708) & (FAR[0] < 0))
    assert len(infinite) > 5
    drawn = once(FAR, SAMPLES_OF_FAR)[0][0]
    assert (drawn[-len(infinite) :] == infinite).all()
    expected = np.flatnonzero(FAR[0] > -708).tolist()
    assert sorted(drawn) == expected
    assert_same_bits(once(FAR, SAMPLES_OF_FAR, in_numpy)[0][0], drawn)
    standard = to_standard_nodes(
        graphs.random_categorical(FAR, SAMPLES_OF_FAR, "i32", False, stateful=True)
    )
    session = ort.InferenceSession(standard.SerializeToString())
    assert_same_bits(session.run(None, {"state": STATE})[0][0], drawn)


@pytest.mark.parametrize("samples", [1, 1023, 1024, 1025, 3000])
def test_the_core_draws_numpy_s_classes_whatever_their_number(samples: int) -> None:
    for logits in (logits_of(2, 70_001), logits_of(3, 4001, np.float16)):
        assert_all_same(once(logits, samples), once(logits, samples, in_numpy))
    assert len(set(once(logits, samples)[0][1].tolist())) == samples


@pytest.mark.usefixtures("native_reference")
def test_the_order_is_that_of_an_urn() -> None:
    """Each order of three of four classes is as probable as drawing one after the other says."""
    p = np.array([0.1, 0.2, 0.3, 0.4])
    tries = 2**17
    logits = np.log(np.tile(p, (tries, 1)))
    drawn = reference.random_categorical(logits, 3, replacement=False, global_seed=42)[0]
    orders = list(itertools.permutations(range(4), 3))
    wanted = [p[a] * p[b] / (1 - p[a]) * p[c] / (1 - p[a] - p[b]) for a, b, c in orders]
    counts = [(drawn == order).all(axis=1).sum() for order in orders]
    assert scipy.stats.chisquare(counts, np.array(wanted) * tries).pvalue > 1e-6
