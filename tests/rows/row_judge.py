"""Judges how a chain is rewritten by rows, without asking the proof of rows.

A row's own draw is what the model, rewritten without rows, draws in a batch of that row alone. Of
such draws the twin makes its answers, whatever the batch and its order: a rewrite must give the
same. Whose row an element is of is seen by changing the row: what changes in the twin when the
input of row j does must not change when the draw of another row does, where both first meet.
"""

from __future__ import annotations

import enum
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import onnx
import onnx.inliner
import onnxruntime as ort
import openvino as ov

import onnx_philox
from onnx_philox import TorchState, make_reproducible, row_states
from tests.common.runtimes import OpenVino
from tests.rows.row_builder import ROWS, Form
from tests.rows.row_maker import Built, Chain

Arrays = dict[str, np.ndarray]
Run = Callable[[Arrays], Arrays]
Load = Callable[[Any], Run]
_INPUT = {"x", "k", "go", "random_state", "r0", "r1"}
_OUTPUT = re.compile(r"(y|r|given)\d*|next_random_state")
Sets = list[np.ndarray]
"""For each row, which elements of a tensor change with it."""

SEEDS = [31, 41, 59, 26, 53]
SUBSETS = [(0, 1, 2, 3, 4), (2,), (3, 1), (4, 3, 2, 1, 0), (0, 2, 4)]
TRACED_ROWS = 3
TRIES = 2


class Verdict(enum.Enum):
    """What came of a chain."""

    RIGHT = "accepted and right"
    WRONG = "accepted and WRONG"
    NEEDLESS = "refused though right"
    REFUSED = "refused rightly"
    OTHERWISE = "refused, and right for other reasons than the rules'"
    MIXED = "refused, of rows mixed before they meet a draw"
    MIXED_ACCEPTED = "accepted, of rows mixed before they meet a draw"
    NONE = "no model of a batch"


@dataclass(frozen=True)
class Judged:
    verdict: Verdict
    why: str = ""


class NoModelError(Exception):
    """The chain does not run in every batch, or not at all."""


class Kind(enum.Enum):
    """What tracing says of a chain."""

    BY_RULES = "each value keeps its rows in place"
    OTHERWISE = "right, but by way of values that do not"
    WRONG = "a draw meets another row"
    MIXED = "a row's value at a meeting depends on other rows"


# -- Running ------------------------------------------------------------------------------------


def in_onnxruntime(model: onnx.ModelProto) -> Run:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnx_philox.onnxruntime.InferenceSession(model.SerializeToString(), options)
    names = [output.name for output in session.get_outputs()]
    inputs = {each.name for each in session.get_inputs()}

    def run(feed: Arrays) -> Arrays:
        given = {name: array for name, array in feed.items() if name in inputs}
        return dict(zip(names, session.run(None, given), strict=True))

    return run


_openvino: list[OpenVino] = []


def loader() -> OpenVino:
    """One for all chains."""
    if not _openvino:
        _openvino.append(OpenVino("auto"))
    return _openvino[0]


def read_by_openvino(model: Any) -> ov.Model:
    """OpenVINO reads no functions of a model."""
    if isinstance(model, onnx.ModelProto) and model.functions:
        model = onnx.inliner.inline_local_functions(model)
    return loader().read(model)


def in_openvino(model: Any) -> Run:
    compiled = loader().core.compile_model(
        read_by_openvino(model),
        "CPU",
        {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 2},
    )
    # What a Cast to the same type makes has the names of both.
    inputs = {name: port for port in compiled.inputs for name in port.get_names()}
    # An input that an Identity makes something of may have that one's name, and lose its own.
    nameless = [port for port in compiled.inputs if not _INPUT & port.get_names()]
    if nameless:
        inputs["x"] = nameless[0]
    names = [
        [name for name in port.get_names() if _OUTPUT.fullmatch(name)] for port in compiled.outputs
    ]
    request = compiled.create_infer_request()

    def run(feed: Arrays) -> Arrays:
        given = {inputs[name]: array for name, array in feed.items() if name in inputs}
        request.start_async(given)
        request.wait()
        arrays = [np.array(request.get_output_tensor(i).data) for i in range(len(names))]
        return {name: array for own, array in zip(names, arrays, strict=True) for name in own}

    return run


# -- What is fed --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fed:
    """The inputs of a chain, and the states of its rows."""

    chain: Chain
    alignment: str = "tensorflow"

    @property
    def axis(self) -> int:
        return self.chain.dims.index(ROWS)

    def __call__(self, rows: Sequence[int]) -> Arrays:
        sizes = [size.factor for size in self.chain.dims]
        sizes[self.axis] = len(SEEDS)
        numbers = np.random.default_rng(7).integers(-3, 4, sizes).astype(np.float32)
        # No two rows have the same first element.
        first = [0] * len(sizes)
        first[self.axis] = slice(None)  # type: ignore[call-overload]
        numbers[tuple(first)] = [3, -2, 1, -4, 2]
        lengths = np.array([5, 2, 7, 1, 4], np.int64)
        return {
            "x": numbers.take(rows, self.axis),
            "k": lengths[list(rows)],
            "go": np.array(True),
        }

    def states(self, rows: Sequence[int]) -> np.ndarray:
        seeds = [SEEDS[row] for row in rows]
        if self.alignment == "tensorflow":
            return row_states(seeds)
        return np.stack([TorchState.from_seed(seed).to_array() for seed in seeds])

    def by_rows(self, rows: Sequence[int]) -> Arrays:
        return {**self(rows), "random_state": self.states(rows)}

    def plain(self, rows: Sequence[int]) -> Arrays:
        """With the state of the first of them."""
        return {**self(rows), "random_state": self.states(rows)[0]}


# -- Each row's own draws -----------------------------------------------------------------------


@dataclass(frozen=True)
class Draws:
    """What each row draws alone, and how a batch's random tensors are made of it."""

    alone: list[Arrays]
    axes: dict[str, int | None]
    """Where the batch stands in each random tensor; None: not in one dimension."""
    shapes: dict[str, tuple[int, ...]]
    """Of the random tensors of a batch of `TRACED_ROWS`."""

    def of(self, rows: Sequence[int]) -> Arrays:
        """The random tensors of a batch, made of each row's own, in the order of the rows."""
        made = {}
        for name, axis in self.axes.items():
            assert axis is not None
            made[name] = np.concatenate([self.alone[row][name] for row in rows], axis)
        return made

    def given(self, name: str, rows: Sequence[int]) -> np.ndarray | None:
        """What the draws of rows look at beside their states, when each is alone."""
        axis = self.axes[name.replace("given", "r")]
        if axis is None:
            return None
        return np.concatenate([self.alone[row][name] for row in rows], axis)


def draws_of(shown: Run, fed: Fed) -> Draws:
    """Runs each row alone, and two batches for their shapes."""
    alone = [shown(fed.plain([row])) for row in range(len(SEEDS))]
    few = shown(fed.plain(list(range(TRACED_ROWS))))
    many = shown(fed.plain(list(range(len(SEEDS)))))
    axes: dict[str, int | None] = {}
    shapes = {}
    for name in alone[0]:
        if not name.startswith("r") or name == "random_state":
            continue
        sizes = [outputs[name].shape for outputs in (alone[0], few, many)]
        shapes[name] = sizes[1]
        axes[name] = _axis(sizes)
    return Draws(alone, axes, shapes)


def _axis(sizes: Sequence[tuple[int, ...]]) -> int | None:
    """The one dimension that grows with the batch, as many times as there are rows."""
    one, few, many = sizes
    if not len(one) == len(few) == len(many):
        return None
    growing = [axis for axis in range(len(one)) if len({one[axis], few[axis], many[axis]}) > 1]
    if len(growing) != 1:
        return None
    axis = growing[0]
    is_proportional = few[axis] == TRACED_ROWS * one[axis] and many[axis] == len(SEEDS) * one[axis]
    return axis if is_proportional else None


# -- Tracing ------------------------------------------------------------------------------------


def _differ(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return (first != second) & ~(np.isnan(first) & np.isnan(second))


def _places(sets: Sets) -> set[int]:
    """The dimensions in whose i-th part all stands that changes with row i."""
    shape = sets[0].shape
    found = set()
    for axis, size in enumerate(shape):
        if size == 0 or size % len(sets):
            continue
        each = size // len(sets)
        owners = np.arange(size) // each
        owner = owners.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        if not any((mine & (owner != row)).any() for row, mine in enumerate(sets)):
            found.add(axis)
    return found


def traced(built: Built, chain: Chain, draws: Draws) -> tuple[Kind, str]:
    """Whether each draw meets the values of its own row alone."""
    run = in_onnxruntime(built.model)
    numbers = np.random.default_rng(11)
    axis = chain.dims.index(ROWS)
    rows = range(TRACED_ROWS)
    feed = Fed(chain)(list(rows))
    feed["x"] = numbers.normal(size=feed["x"].shape).astype(np.float32)
    for name, shape in draws.shapes.items():
        feed[name] = numbers.normal(size=shape).astype(np.float32)
    base = run(feed)
    by_input: dict[str, Sets] = {
        name: [np.zeros(a.shape, bool) for _ in rows] for name, a in base.items()
    }
    by_draw = {
        draw: {name: [np.zeros(a.shape, bool) for _ in rows] for name, a in base.items()}
        for draw in draws.shapes
    }
    for row in rows:
        for _ in range(TRIES):
            for changed, where in [("x", axis), *draws.axes.items()]:
                assert where is not None
                given = feed[changed].copy()
                each = given.shape[where] // TRACED_ROWS
                part = [slice(None)] * given.ndim
                part[where] = slice(row * each, (row + 1) * each)
                some = given[tuple(part)]
                given[tuple(part)] = some + 0.0005 * numbers.normal(size=some.shape)
                sets = by_input if changed == "x" else by_draw[changed]
                for name, array in run({**feed, changed: given}).items():
                    sets[name][row] |= _differ(array, base[name])
    return _kind(built, by_input, by_draw)


def _kind(
    built: Built, by_input: dict[str, Sets], by_draw: dict[str, dict[str, Sets]]
) -> tuple[Kind, str]:
    if built.is_by_place:
        return Kind.WRONG, "a draw depends on how many rows there are, or on their order"
    kind = Kind.OTHERWISE if built.has_bookless else Kind.BY_RULES
    is_mixed = False
    for draw, sets in by_draw.items():
        number = draw.removeprefix("r")
        output = sets.get(f"output{number}")
        if output is not None and not _places(output):
            return Kind.WRONG, f"{draw} is an output, not in place"
        meeting = f"meeting{number}"
        if meeting not in sets:
            continue
        values = by_input[meeting]
        noises = sets[meeting]
        owners = np.sum([mine.astype(int) for mine in values], axis=0)
        for row, noise in enumerate(noises):
            for other, value in enumerate(values):
                if row != other and (noise & value & (owners == 1)).any():
                    return Kind.WRONG, f"{draw}: the draw of row {row} meets row {other}"
        if (owners > 1).any() or not owners.any():
            is_mixed = True
        elif not _places(values) & _places(noises):
            kind = Kind.OTHERWISE
    if is_mixed:
        return Kind.MIXED, "a meeting with mixed rows"
    for name, sets in by_input.items():
        if name.startswith("value") and not _places(sets):
            kind = Kind.OTHERWISE
    for sets_of in by_draw.values():
        for name, sets in sets_of.items():
            if name.startswith("noise") and not _places(sets):
                kind = Kind.OTHERWISE
    return kind, ""


# -- The judgement ------------------------------------------------------------------------------


def rewritten(model: Any, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_reproducible(model, **more)


def judge(chain: Chain, alignment: str = "tensorflow", *, ir: bool = False) -> Judged:
    """How a chain is rewritten, in ONNX or as OpenVINO's model of it."""
    fed = Fed(chain, alignment)
    read = read_by_openvino if ir else _same
    load = in_openvino if ir else in_onnxruntime
    try:
        shown = rewritten(read(chain.built(Form.SHOWN, ir).model), alignment=alignment)
        run = load(shown)
        draws = draws_of(run, fed)
    except Exception as error:
        return Judged(Verdict.NONE, f"{type(error).__name__}: {error}")
    is_placed = all(axis is not None for axis in draws.axes.values())
    kind = Kind.WRONG
    why = "a draw without one dimension of the batch"
    if is_placed:
        try:
            kind, why = traced(chain.built(Form.TRACED, ir), chain, draws)
        except Exception as error:
            return Judged(Verdict.NONE, f"{type(error).__name__}: {error}")
    try:
        given = read(chain.built(Form.MODEL, ir).model)
        batch = None
        if ir:
            # OpenVINO's dimensions have no names; nor may the input still have its own.
            (x,) = {port.get_any_name() for port in given.inputs} - {"k", "go"}
            batch = f"{x}:{fed.axis}"
        model = rewritten(given, per_row=True, batch=batch, alignment=alignment)
    except ValueError as error:
        # Without rows it was not refused.
        return Judged(_OF_REFUSED[kind], f"{why} | {error}")
    if kind is Kind.WRONG:
        return Judged(Verdict.WRONG, why)
    twin = Twin(chain.built(Form.TWIN, ir).model, shown, fed, draws)
    runtimes = [in_openvino]
    if not ir:
        runtimes.insert(0, in_onnxruntime)
    for runtime in runtimes:
        problem = twin.differs(model, runtime)
        if problem and ir and not twin.has_the_draws_of(given):
            return Judged(Verdict.NONE, "OpenVINO orders its draws otherwise where they are shown")
        if problem:
            return Judged(Verdict.WRONG, f"{runtime.__name__}: {problem}")
    return Judged(Verdict.MIXED_ACCEPTED if kind is Kind.MIXED else Verdict.RIGHT, "accepted")


_OF_REFUSED = {
    Kind.BY_RULES: Verdict.NEEDLESS,
    Kind.OTHERWISE: Verdict.OTHERWISE,
    Kind.WRONG: Verdict.REFUSED,
    Kind.MIXED: Verdict.MIXED,
}


def _same(model: onnx.ModelProto) -> onnx.ModelProto:
    return model


@dataclass
class Twin:
    """What a chain answers where each row has its own draws."""

    model: onnx.ModelProto
    shown: Any
    """The chain without rows, that shows its draws."""
    fed: Fed
    draws: Draws

    @cached_property
    def answers(self) -> dict[tuple[int, ...], Arrays]:
        """For each subset of rows in which a draw looks at what it looks at for a row alone."""
        answers = self._in(in_onnxruntime)
        return {
            rows: wanted
            for rows, wanted in answers.items()
            if _looks_at_the_same(wanted, self.draws, rows)
        }

    def _in(self, load: Load) -> dict[tuple[int, ...], Arrays]:
        run = load(self.model)
        return {rows: run({**self.fed(rows), **self.draws.of(rows)}) for rows in SUBSETS}

    def differs(self, model: Any, load: Load) -> str:
        """Where a rewrite does not give the twin's answers."""
        try:
            expected = self.answers
        except Exception as error:
            return f"the twin does not run: {str(error)[:300]}"
        problem = self._differs(model, load, expected)
        if problem and load is in_openvino and not self._is_run_by_openvino():
            # Where OpenVINO does not give these answers without rows either, rows are not to blame.
            return ""
        return problem

    def has_the_draws_of(self, given: ov.Model) -> bool:
        """Whether the chain without rows draws for each row alone what it draws where it shows it.

        What a draw's stream is depends on its place in OpenVINO's order, which outputs may change.
        """
        run = in_openvino(rewritten(given, alignment=self.fed.alignment))
        plain = [run(self.fed.plain([row])) for row in range(len(SEEDS))]
        twin = in_onnxruntime(self.model)
        for row, answers in enumerate(plain):
            wanted = twin({**self.fed([row]), **self.draws.of([row])})
            if _unequal(answers, wanted):
                return False
        return True

    def _is_run_by_openvino(self) -> bool:
        """Whether OpenVINO gives the twin's answers, and those of the model without rows."""
        try:
            answers = self._in(in_openvino)
            alone = [in_openvino(self.shown)(self.fed.plain([row])) for row in range(len(SEEDS))]
        except Exception:
            return False
        is_alone = not any(map(_unequal, alone, self.draws.alone))
        is_twin = not any(_unequal(answers[rows], wanted) for rows, wanted in self.answers.items())
        return is_alone and is_twin

    def _differs(self, model: Any, load: Load, expected: dict[tuple[int, ...], Arrays]) -> str:
        try:
            run = load(model)
        except Exception as error:
            return f"does not load: {str(error)[:300]}"
        for rows, wanted in expected.items():
            try:
                got = run(self.fed.by_rows(rows))
            except Exception as error:
                return f"does not run with rows {rows}: {str(error)[:300]}"
            problem = _unequal(got, wanted)
            if problem and load is in_openvino:
                # An If of OpenVINO may give memory that nobody wrote, in its first run.
                problem = _unequal(run(self.fed.by_rows(rows)), wanted)
            if problem:
                return f"rows {rows}: {problem}"
        return ""


def _unequal(got: Arrays, wanted: Arrays) -> str:
    """Which of the model's answers is another than the twin's."""
    for name, array in got.items():
        if not name.startswith("y"):
            continue
        if array.shape != wanted[name].shape:
            return f"{name} is {array.shape}, the twin's {wanted[name].shape}"
        scale = max(1.0, float(np.abs(np.nan_to_num(wanted[name])).max(initial=0)))
        if not np.allclose(array, wanted[name], rtol=1e-3, atol=2e-4 * scale, equal_nan=True):
            return f"{name} is not what the twin makes of each row's own draws"
    return ""


def _looks_at_the_same(wanted: Arrays, draws: Draws, rows: Sequence[int]) -> bool:
    """Whether a draw's parameters in a batch are those of its rows alone."""
    for name, array in wanted.items():
        if name.startswith("given"):
            alone = draws.given(name, rows)
            if alone is None or alone.shape != array.shape:
                return False
            if not np.allclose(alone, array, rtol=1e-5, atol=1e-5):
                return False
    return True
