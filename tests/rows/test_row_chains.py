"""make_reproducible(per_row=True): no chain of operators draws another row's numbers.

`python -m tests.rows.row_chains` judges many more of them than this.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows.row_builder import Form
from tests.rows.row_chains import printed
from tests.rows.row_judge import (
    Fed,
    Kind,
    Twin,
    Verdict,
    draws_of,
    in_onnxruntime,
    in_openvino,
    judge,
    rewritten,
    traced,
)
from tests.rows.row_maker import DRAWN, LENGTH, STEPS, Chain, Chunk, random_chain

NUMBERS = st.integers(0, 2**16 - 1)
CHUNK = st.tuples(*[NUMBERS] * LENGTH)


def chunks(most: int, least: int = 0) -> st.SearchStrategy[tuple[Chunk, ...]]:
    return st.lists(CHUNK, min_size=least, max_size=most).map(tuple)


CHAINS = st.builds(
    Chain,
    NUMBERS,
    CHUNK,
    CHUNK,
    before=chunks(4, 1),
    inside=chunks(2),
    on_noise=chunks(1),
    behind=chunks(1),
    after=chunks(3),
    again=chunks(1),
)
ANY_CHAIN = st.one_of(CHAINS, st.builds(random_chain, st.integers(0, 2**32 - 1)))
AS = {
    "ONNX": {},
    "an IR": {"ir": True},
    "ONNX, with torch's numbers": {"alignment": "pytorch"},
}
EXAMPLES = {"ONNX": 40, "an IR": 10, "ONNX, with torch's numbers": 10}


@pytest.mark.slow
@pytest.mark.parametrize("what", AS)
def test_a_chain_that_is_accepted_gives_each_row_its_own_draws(what: str) -> None:
    @settings(max_examples=EXAMPLES[what], deadline=None)
    @given(ANY_CHAIN)
    def check(chain: Chain) -> None:
        judged = judge(chain, **AS[what])
        assert judged.verdict is not Verdict.WRONG, printed(chain, judged)

    check()


# -- The judge itself ---------------------------------------------------------------------------


def step(name: str, *decisions: int) -> Chunk:
    """The decisions that make this step."""
    names = [each.__name__ for each in STEPS]
    return (names.index(name), *decisions)


def drawn(name: str, *decisions: int) -> Chunk:
    return (DRAWN.index(name), *decisions)


NOISE = drawn("noise")
FIRST = Chain(0, (0,), NOISE)
SECOND = Chain(1, (0,), NOISE)
FLAT = Chain(2, (0,), NOISE)
"""With the batch first of three dimensions, second of three, and first of two."""

KINDS = {
    "noise alone": (FIRST, Kind.BY_RULES),
    "time and batch are turned": (
        replace(SECOND, before=(step("transpose", 1, 0, 0),)),
        Kind.BY_RULES,
    ),
    "the batch is the outer factor": (replace(FIRST, before=(step("merge", 0),)), Kind.BY_RULES),
    "the batch is the inner factor": (replace(SECOND, before=(step("merge", 0),)), Kind.WRONG),
    "rows from the end": (replace(FIRST, before=(step("flip", 0),)), Kind.WRONG),
    "rows from the end, and back": (
        replace(FIRST, before=(step("flip", 0), step("flip", 0))),
        Kind.OTHERWISE,
    ),
    "rows sorted by their lengths": (
        replace(FIRST, before=(step("gather_rows", 0, 0),)),
        Kind.WRONG,
    ),
    "rows sorted by their values": (replace(FIRST, before=(step("sort", 0, 0, 1),)), Kind.WRONG),
    "noise from the end": (replace(FIRST, on_noise=(step("flip", 0),)), Kind.WRONG),
    "noise less its mean over rows": (
        replace(FIRST, on_noise=(step("spread_mean"),)),
        Kind.WRONG,
    ),
    "rows from the end behind the draw": (replace(FIRST, after=(step("flip", 0),)), Kind.BY_RULES),
    "a mean of all rows": (replace(FIRST, before=(step("spread_mean"),)), Kind.MIXED),
    "less the mean of all rows": (replace(FIRST, before=(step("mean_of_rows"),)), Kind.BY_RULES),
    "another matrix in the place of rows": (
        replace(FLAT, before=(step("gemm", 0, 0),)),
        Kind.BY_RULES,
    ),
    "coins by the number of rows": (Chain(0, (0,), drawn("coins by place", 0, 0)), Kind.WRONG),
    "coins by a row's place": (Chain(0, (0,), drawn("coins by place", 0, 1)), Kind.WRONG),
    "read as rows": (
        replace(FLAT, before=(step("transpose", 1), step("like_shape"))),
        Kind.WRONG,
    ),
}


WITH_BERNOULLI = ("coins by the number of rows", "coins by a row's place")
"""OpenVINO reads none."""


@pytest.mark.parametrize("name", KINDS)
def test_the_judge_sees_whose_rows_meet(name: str) -> None:
    chain, expected = KINDS[name]
    shown = in_onnxruntime(rewritten(chain.built(Form.SHOWN).model))
    draws = draws_of(shown, Fed(chain))
    kind, why = traced(chain.built(Form.TRACED), chain, draws)
    assert kind is expected, why


class Turned(Fed):
    """Rows that are given the states of others."""

    def states(self, rows: tuple[int, ...]) -> np.ndarray:
        return super().states(rows)[::-1]


def test_the_judge_sees_the_draws_of_other_rows() -> None:
    fed = Fed(FIRST)
    shown = rewritten(FIRST.built(Form.SHOWN).model)
    draws = draws_of(in_onnxruntime(shown), fed)
    model = rewritten(FIRST.built(Form.MODEL).model, per_row=True)
    twin = FIRST.built(Form.TWIN).model
    for load in (in_onnxruntime, in_openvino):
        assert Twin(twin, shown, fed, draws).differs(model, load) == ""
        assert "each row's own draws" in Twin(twin, shown, Turned(FIRST), draws).differs(
            model, load
        )


# -- Chains that were accepted and wrong ---------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "what"),
    [
        *[(name, "ONNX") for name in KINDS],
        *[(name, "an IR") for name in KINDS if name not in WITH_BERNOULLI],
    ],
)
def test_what_the_judge_calls_wrong_is_refused(name: str, what: str) -> None:
    """And what is right by the rules is drawn by rows."""
    chain, kind = KINDS[name]
    expected = {
        Kind.WRONG: [Verdict.REFUSED],
        Kind.BY_RULES: [Verdict.RIGHT],
        Kind.OTHERWISE: [Verdict.RIGHT, Verdict.OTHERWISE],
        # It meets a mean of all rows: its own numbers are in order.
        Kind.MIXED: [Verdict.MIXED, Verdict.MIXED_ACCEPTED],
    }
    judged = judge(chain, **AS[what])
    assert judged.verdict in expected[kind], printed(chain, judged)
