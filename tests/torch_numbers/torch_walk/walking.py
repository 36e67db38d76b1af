"""A walk: cases by a road, many to a module, each with what came of it."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from openvino.frontend import OpConversionFailure
from torch.utils._python_dispatch import TorchDispatchMode

from tests.torch_numbers.torch_walk.case import Case
from tests.torch_numbers.torch_walk.cases import MIXES_ROWS
from tests.torch_numbers.torch_walk.meaning import Meaning, NoMeaningError, drawing, to_numpy
from tests.torch_numbers.torch_walk.roads import ROADS, ROWS, TORCHS, Files, Given

SEEDS = (42, 7)
EXAMPLE, OTHER = 3, 5
"""Batches: what is converted with, and what a dynamic one is run with."""

HOLDS, REFUSED, TORCH, WRONG, RAW = "holds", "refused", "torch cannot", "wrong", "raw"


@dataclass(frozen=True)
class Record:
    """What came of a case by a road."""

    case: str
    road: str
    batch: str
    verdict: str
    said: str = ""

    @property
    def is_drawn(self) -> bool:
        return self.verdict == HOLDS

    @property
    def key(self) -> tuple[str, str, str]:
        return self.case, self.road, self.batch


def values(rows: int, batch: str = "dynamic") -> torch.Tensor:
    """Inputs that every type of float holds exactly, and that are probabilities."""
    x = (torch.arange(1.0, 4 * rows + 1) / 32).reshape(rows, 4)
    return x.t().contiguous() if batch == ROWS else x


class Walked(torch.nn.Module):
    """Cases in order, each followed by a draw of its own."""

    def __init__(self, cases: Sequence[Case], batch: str = "dynamic") -> None:
        super().__init__()
        self.cases = tuple(cases)
        self.batch = batch
        torch.manual_seed(1)
        made = [case.make() for case in cases]
        self.functions = [None if isinstance(each, torch.nn.Module) else each for each in made]
        modules = [each if isinstance(each, torch.nn.Module) else None for each in made]
        self.parts = torch.nn.ModuleList(m or torch.nn.Identity() for m in modules)

    def of_case(self, index: int, x: torch.Tensor) -> list[torch.Tensor]:
        """A case's outputs, and the draw behind them."""
        given = self.functions[index] or self.parts[index]
        return [*(_plain(y) for y in _flat(given(x))), self._behind(x)]

    def _behind(self, x: torch.Tensor) -> torch.Tensor:
        return torch.rand(3, x.shape[1]) if self.batch == ROWS else torch.rand(3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(y for i in range(len(self.cases)) for y in self.of_case(i, x))


def _flat(given: Any) -> Iterable[torch.Tensor]:
    if isinstance(given, torch.Tensor):
        return [given]
    return [y for each in given for y in _flat(each)]


def _plain(y: torch.Tensor) -> torch.Tensor:
    """In a type that NumPy and every runtime's outputs have."""
    if y.dtype.is_complex:
        y = torch.view_as_real(y)
    return y.float() if y.dtype in (torch.float16, torch.bfloat16) else y


Expected = list[list[list[np.ndarray]] | None]
"""For each case, for each seed, its outputs; None where it has no meaning."""


def operations() -> list[Any]:
    """All overloads of ATen's operations."""
    found = []
    for full in torch._C._dispatch_get_all_op_names():
        space, _, name = full.partition("::")
        packet, _, overload = name.partition(".")
        operator = getattr(getattr(torch.ops, space), packet, None) if space == "aten" else None
        if operator is not None and (overload or "default") in operator.overloads():
            found.append(getattr(operator, overload or "default"))
    return found


class _Shapes(TorchDispatchMode):
    """Notes the shapes of draws."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[int, ...]] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Any = (),
        kwargs: Any = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if torch.Tag.nondeterministic_seeded in func.tags:
            self.seen += [tuple(each.shape) for each in _flat(result)][:1]
        return result


def draws_rows(case: Case) -> bool:
    """Whether each draw has a batch that stands in dimension 1 of the input as a dimension."""
    if case.name.startswith(MIXES_ROWS):
        return False
    found = []
    for rows in (2, 3):
        with _Shapes() as shapes, torch.no_grad():
            try:
                Walked([case], ROWS).of_case(0, values(rows, ROWS))
            except (RuntimeError, ValueError, IndexError):
                return False
        found.append(shapes.seen[:-1])
    pairs = [list(zip(*pair, strict=True)) for pair in zip(*found, strict=True)]
    return bool(pairs) and all([p for p in pair if p[0] != p[1]] == [(2, 3)] for pair in pairs)


def expected(
    module: Walked,
    x: torch.Tensor,
    road: str,
    *,
    seen: set[Any] | None = None,
) -> Expected:
    """What each case should give of x: by the reference, or by a road of torch's by torch itself.

    Of rows, each alone is drawn from a seed of its own. `seen` gains the reference's operations.
    """
    wanted: Expected = [[] for _ in module.cases]
    for row, seed in enumerate(SEEDS):
        own_x = x[:, [row]] if module.batch == ROWS else x
        own = copy.deepcopy(module)
        meaning = Meaning(seed, seen)
        torch.manual_seed(seed)
        for index, case in enumerate(module.cases):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if road in TORCHS:
                        with torch.no_grad():
                            outputs = own.of_case(index, own_x)
                    else:
                        meaning.begin(case.dead)
                        with drawing(meaning, is_traced=road == "trace"):
                            outputs = own.of_case(index, own_x)
            except (NoMeaningError, NotImplementedError):
                wanted[index] = None
                continue
            if (known := wanted[index]) is not None:
                known.append([to_numpy(y) for y in outputs])
    return wanted


class Walk:
    """A walk, which makes a file of some cases only once for all roads."""

    def __init__(self, batch: str) -> None:
        self._batch = batch
        self._files: dict[tuple[Case, ...], tuple[Walked, Files]] = {}

    def by(self, road: str, cases: Sequence[Case]) -> list[Record]:
        module, files = self._made(tuple(cases))
        wanted = expected(module, files.given.x, road)
        if len(cases) > 1 and any(each is None for each in wanted):
            parts = [[c] for c, w in zip(cases, wanted, strict=True) if w is None]
            rest = [c for c, w in zip(cases, wanted, strict=True) if w is not None]
            return [r for part in [rest, *parts] if part for r in self.by(road, part)]
        try:
            outputs = ROADS[road](files)
        except Exception as error:
            if len(cases) == 1:
                verdict, said = _of_error(cases[0], error)
                can_torch = files.is_traceable if road == "trace" else files.is_exportable
                if verdict == RAW and not can_torch():
                    verdict = TORCH
                return [self._record(cases[0], road, verdict, said)]
            return [r for part in _parts(cases, str(error)) for r in self.by(road, part)]
        if wanted[0] is None:
            said = "drawn, though the contract gives it no meaning"
            return [self._record(cases[0], road, WRONG, said)]
        if self._batch == ROWS:
            outputs = _apart(outputs[0], wanted)
        problems = _compared(cases, wanted, outputs, is_torchs=road in TORCHS)
        if len(cases) == 1:
            verdict = WRONG if problems[0] else HOLDS
            if problems[0] and road == "trace" and not files.is_traceable():
                verdict = TORCH
            return [self._record(cases[0], road, verdict, problems[0])]
        # A case that shifts streams shifts those of all that come after it.
        failed = [case for case, problem in zip(cases, problems, strict=True) if problem]
        good = [self._record(case, road, HOLDS) for case in cases if case not in failed]
        again = [part for part in (failed[:1], failed[1:]) if part]
        return good + [record for part in again for record in self.by(road, part)]

    def _made(
        self,
        cases: tuple[Case, ...],
    ) -> tuple[Walked, Files]:
        if cases not in self._files:
            rows = {"static": EXAMPLE, "dynamic": OTHER, ROWS: len(SEEDS)}[self._batch]
            module = Walked(cases, self._batch)
            example = values(EXAMPLE, self._batch)
            given = Given(module, example, values(rows, self._batch), SEEDS, self._batch)
            self._files[cases] = module, Files(given)
        return self._files[cases]

    def _record(
        self,
        case: Case,
        road: str,
        verdict: str,
        said: str = "",
    ) -> Record:
        return Record(case.name, road, self._batch, verdict, said)


def _parts(
    cases: Sequence[Case],
    said: str,
) -> list[Sequence[Case]]:
    """Cases that fail together: those that an error names alone, or else two halves."""
    named = [case for case in cases if _names(case, said)]
    if 0 < len(named) <= len(cases) // 2:
        return [[case for case in cases if case not in named], *([case] for case in named)]
    middle = len(cases) // 2
    return [cases[:middle], cases[middle:]]


def _names(case: Case, said: str) -> bool:
    names = "|".join(re.escape(name) for name in case.call)
    return re.search(rf"(?<![A-Za-z0-9])(?:{names})(?![A-Za-z0-9])", said) is not None


def _apart(
    outputs: list[np.ndarray],
    wanted: Expected,
) -> list[list[np.ndarray]]:
    """The outputs of a whole batch as those of each row."""
    shapes = [y.shape for case in wanted for y in (case or [[]])[0]]
    found: list[list[np.ndarray]] = [[] for _ in SEEDS]
    for y, shape in zip(outputs, shapes, strict=False):
        # One that has no rows is compared whole.
        axes = [i for i, (n, m) in enumerate(zip(y.shape, shape, strict=False)) if n != m]
        parts = (
            np.array_split(
                y,
                len(SEEDS),
                axes[0],
            )
            if len(axes) == 1
            else [y] * len(SEEDS)
        )
        for row, part in enumerate(parts):
            found[row].append(part)
    return found


def _compared(
    cases: Sequence[Case],
    wanted: Expected,
    outputs: list[Any],
    *,
    is_torchs: bool,
) -> list[str]:
    """For each case, how it differs; nothing where it holds."""
    problems = []
    first = 0
    for case, want in zip(cases, wanted, strict=True):
        assert want is not None
        count = len(want[0])
        got = [of_seed[first : first + count] for of_seed in outputs]
        first += count
        near = max(case.near, case.near_torch) if is_torchs else case.near
        problems.append(_difference(near, want, got))
    if any(len(of_seed) != first for of_seed in outputs):
        return [f"{len(outputs[0])} outputs, and not {first}"] * len(cases)
    return problems


def _difference(
    near: float,
    want: list[Any],
    got: list[Any],
) -> str:
    for one, other in zip(want, got, strict=True):
        *wants, marker = one
        *gots, its_marker = other
        for i, (w, g) in enumerate(zip(wants, gots, strict=True)):
            if said := _unlike(w, g, near):
                first, second = (each[i] for each in got)
                was, would_be = (each[i] for each in want)
                if np.array_equal(first, second) and not np.array_equal(was, would_be):
                    said = f"constant; {said}"
                shifted = "" if np.array_equal(marker, its_marker) else "; streams shifted"
                return f"output {i}: {said}{shifted}"
        if not np.array_equal(marker, its_marker):
            return "the draw behind it is another: its stream or its words are shifted"
    return ""


def _unlike(want: np.ndarray, got: np.ndarray, near: float) -> str:
    if want.dtype != got.dtype:
        return f"{got.dtype}, and not {want.dtype}"
    if want.shape != got.shape:
        return f"of {list(got.shape)}, and not {list(want.shape)}"
    if near and want.dtype.kind == "f":
        with np.errstate(all="ignore"):
            # Where a sum cancels, by the size of what is added, which is about 1.
            scale = np.maximum(np.abs(want), np.float64(1))
            is_same = (np.abs(want.astype(np.float64) - got) <= near * scale) | (want == got)
        is_same |= np.isnan(want) & np.isnan(got)
    elif want.dtype.kind == "f":
        # +0 and -0 are two numbers, too, and all NaN are one.
        bits = f"u{want.dtype.itemsize}"
        is_same = (want.view(bits) == got.view(bits)) | (np.isnan(want) & np.isnan(got))
    else:
        is_same = want == got
    if is_same.all():
        return ""
    where = np.flatnonzero(~is_same)[0]
    return (
        f"{np.count_nonzero(~is_same)} of {want.size} values differ: "
        f"{got.flat[where]!r}, and not {want.flat[where]!r}"
    )


def _of_error(case: Case, error: Exception) -> tuple[str, str]:
    """Whether an exception is a refusal in a sentence that names the call, and what it says."""
    text = " ".join(str(error).split())
    is_ours = re.search(r"\bmust be\b.*: got\b", text) is not None
    is_kind = isinstance(error, (ValueError, TypeError, RuntimeError, OpConversionFailure))
    said = f"{type(error).__name__}: {text}"
    return (REFUSED if is_ours and is_kind and _names(case, text) else RAW), said
