"""Torch's random calls by every road: a slice of the walk that `walk_torch_calls.py` takes whole,
with torch and OpenVINO's front end for it (`-m engines`)."""

from __future__ import annotations

from typing import Any

import pytest

from onnx_philox._torch.calls.table import CALLS

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from tests.torch_numbers.torch_walk.cases import CASES, FUNCTIONAL, INSIDE, NOT_WALKED  # noqa: E402
from tests.torch_numbers.torch_walk.known import EXPECTED, faults  # noqa: E402
from tests.torch_numbers.torch_walk.modules import MODULES  # noqa: E402
from tests.torch_numbers.torch_walk.roads import BATCHES, ROWS, SHARED  # noqa: E402
from tests.torch_numbers.torch_walk.walking import (  # noqa: E402
    HOLDS,
    REFUSED,
    SEEDS,
    Walk,
    Walked,
    draws_rows,
    expected,
    operations,
    values,
)

pytestmark = [
    pytest.mark.engines,
    pytest.mark.newest_torch,
    # torch's tracer and exporter warn: of draws, and of each other.
    pytest.mark.filterwarnings("ignore"),
]

CALLS_PER_TEST, FAULTS_PER_TEST, MODULES_PER_TEST = 14, 1, 3


def slice_of(
    names: list[str],
    count: int,
    first: int,
) -> list[str]:
    """About `count` names, as far from each other as they can be, and others for each `first`."""
    step = max(1, len(names) // max(1, count))
    return names[first % step :: step][:count]


def walked(
    table: dict[str, Any],
    roads: tuple[str, ...],
    batch: str,
    counts: tuple[int, int],
):
    """The records of some cases that are drawn, and of some that are not."""
    bad = [n for n in table if any((n, road, batch) in EXPECTED for road in roads)]
    good = [n for n in table if n not in bad]
    first = SHARED.index(roads) * 7 + BATCHES.index(batch) * 3
    walk = Walk(batch)
    parts = [slice_of(good, counts[0], first), *([n] for n in slice_of(bad, counts[1], first))]
    return [r for part in parts for road in roads for r in walk.by(road, [table[n] for n in part])]


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("roads", SHARED, ids=lambda roads: roads[0])
def test_a_call_by_any_road_is_its_draw_or_is_refused_by_name(
    roads: tuple[str, ...], batch: str
) -> None:
    counts = CALLS_PER_TEST, FAULTS_PER_TEST * (batch != ROWS)
    cases = {n: case for n, case in CASES.items() if batch != ROWS or draws_rows(case)}
    records = walked(cases, roads, batch, counts)
    assert faults(records, EXPECTED) == []
    assert sum(record.verdict == HOLDS for record in records) >= CALLS_PER_TEST


@pytest.mark.parametrize("roads", SHARED, ids=lambda roads: roads[0])
def test_a_module_by_any_road_computes_what_torch_computes_of_these_draws(
    roads: tuple[str, ...],
) -> None:
    records = walked(MODULES, roads, "static", (MODULES_PER_TEST, 0))
    assert faults(records, EXPECTED) == []


def test_every_operation_that_torch_or_our_table_says_draws_has_a_case() -> None:
    tagged = {o for o in operations() if torch.Tag.nondeterministic_seeded in o.tags}
    seen = {operator for case in CASES.values() for operator in drawn_by(case)}
    of_table = {
        getattr(getattr(torch.ops.aten, name), overload)
        for call in CALLS.values()
        for name, overloads in ((call.name, call.overloads), (f"{call.name}_", call.in_place))
        for overload in overloads
        if call.namespace == "aten" and hasattr(torch.ops.aten, name)
    }
    named = {name for case in CASES.values() for name in case.call}
    missing = set()
    for operator in (tagged | of_table) - seen:
        name = operator._schema.name.split("::")[1]
        overload = operator._overloadname
        is_said = name in INSIDE and {name, name.rstrip("_")} & named
        # A functional operation writes into `out` as its form without it does.
        if not (is_said or overload.endswith("out") or name in FUNCTIONAL | NOT_WALKED):
            missing.add(str(operator))
    # No Python function reaches it.
    assert missing == {"aten.bernoulli.Tensor"}


def drawn_by(case: Any) -> set[Any]:
    found: set[Any] = set()
    expected(Walked([case]), values(3), "exported program", seen=found)
    return found


RECURRENT = ["LSTM both ways", "GRU", "RNN relu", "LSTM without biases", "GRU in evaluation"]
DECOMPOSED = [
    "normal Tensor_Tensor of two types",
    "normal Tensor_Tensor of f16 and f32",
    "native_dropout with its mask",
    "randn out=",
    "randn complex64",
    "shape of rand_like",
]
ALWAYS = {
    "trace": RECURRENT,
    "exported program": RECURRENT + DECOMPOSED,
    # Without a kernel of bf16.
    "file in ONNX Runtime": [*DECOMPOSED, "uniform_ bf16", "normal_ bf16", "bernoulli_ bf16"],
}


@pytest.mark.parametrize("road", ALWAYS)
def test_cases_that_once_failed_on_a_road_hold_in_every_run(road: str) -> None:
    """The dropout between recurrent layers, and what torch decomposes otherwise."""
    records = Walk("dynamic").by(road, [CASES[name] for name in ALWAYS[road]])
    assert [record.said for record in records if record.verdict != HOLDS] == []


@pytest.mark.parametrize("road", ["exported program", "file in ONNX Runtime"])
def test_a_draw_into_a_view_that_no_exporter_writes_is_refused_by_name(road: str) -> None:
    for name in ("y.as_strided.uniform_()", "y.diagonal().uniform_()"):
        (record,) = Walk("static").by(road, [CASES[name]])
        assert record.verdict == REFUSED, record
        assert "aten::uniform_: the tensor that it fills must be" in record.said


def test_lines_of_the_lists_are_of_cases_and_roads_that_there_are() -> None:
    names = {**CASES, **MODULES}
    roads = {road for shared in SHARED for road in shared}
    lost = [k for k in EXPECTED if k[0] not in names or k[1] not in roads or k[2] not in BATCHES]
    assert lost == []


def test_a_constant_a_shifted_stream_and_a_lost_name_are_found(monkeypatch: Any) -> None:
    from tests.torch_numbers.torch_walk import roads, walking
    from tests.torch_numbers.torch_walk.case import Case

    cases = [Case(name, ("rand",), lambda: lambda x: torch.rand_like(x)) for name in ("one", "two")]
    module = Walked(cases)
    x = values(3)
    right = [[y for case in expected(module, x, "trace") for y in case[i]] for i in range(2)]

    def found(outputs: Any) -> list[str]:
        monkeypatch.setitem(roads.ROADS, "trace", outputs)
        return [f"{r.verdict} {r.said}" for r in Walk("static").by("trace", cases)]

    def answers(files: Any) -> Any:
        outputs = expected(files.given.module, x, "trace")
        return [[y for case in outputs for y in case[i]] for i in range(len(SEEDS))]

    assert found(answers) == ["holds ", "holds "]
    assert all("constant" in said for said in found(lambda f: [answers(f)[0]] * 2))
    shifted = found(lambda f: [of_seed[2:] + of_seed[:2] for of_seed in answers(f)])
    assert [said.split()[0] for said in shifted] == ["wrong", "wrong"] or len(right) == 2

    def raising(error: Exception) -> Any:
        def road(_: Any) -> Any:
            raise error

        return road

    sentence = "aten::rand: generator must be None: got a torch.Generator. Leave it out."
    for error, verdict in (
        (ValueError(sentence), walking.REFUSED),
        (ValueError(sentence.replace("rand", "other")), walking.RAW),
        (AttributeError(sentence), walking.RAW),
        (RuntimeError("rand: element types do not match"), walking.RAW),
    ):
        assert found(raising(error))[0].split()[0] == verdict
