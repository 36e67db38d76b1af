"""What each version of the domain gained, a folder each, and the models of a folder that is new.

The models of older folders were made by hand, checked with the sources that their JSON files name:
they are in the history of this folder, before the commit that made this table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

sys.path.append(str(Path(__file__).parents[2]))
from onnx_philox import PhiloxState, row_states
from tests.common import operators
from tests.common.operators import Arrays, Shape

ADDITIONS: dict[str, tuple[str, ...]] = {
    "v1": ("RandomGenerator", "RandomUniform"),
    "v1_distributions": ("RandomNormal", "RandomBernoulli", "RandomCategorical"),
    "v1_rows": (),
    "v1_exponential": ("RandomExponential",),
    "v1_without_replacement": (),
    "v1_rejecting": ("RandomGamma", "RandomPoisson"),
    "v1_dropout": ("RandomDropout",),
    "v1_permutation": ("RandomPermutation",),
    "v1_token": ("RandomToken",),
    "v1_torch": (),
}
"""The folders and their operators; none where what is new is no operator."""

ALL_ONES = np.full(6, 0xFFFFFFFF, np.uint32)
# Its counter carries through all four words within three blocks, its key has high bits.
STATE = PhiloxState(counter=2**128 - 2, key=0xFEDCBA9889ABCDEF).to_array()
ROWS = np.stack([STATE, ALL_ONES, *row_states(2**63 + 5, rows=[7, 2**32 - 1], run=3)])


@dataclass(frozen=True)
class Golden:
    """A model and its runs: the feeds, and what the reference draws."""

    model: onnx.ModelProto
    runs: list[Arrays]
    outputs: list[Arrays]
    source: str = "onnx_philox.reference"
    """Whose numbers these are."""


def models(operator: str) -> Iterator[tuple[str, Golden]]:
    """The models of an operator by name: in every type, and at the edges."""
    for case in operators.cases(operator):
        name = case.name.removeprefix("Random").lower().replace(" ", "_")
        shapes = [case.shape(*rows) for rows in ((3, (5,)), (1, (67,)), (4, (0,)))]
        # OpenVINO takes no constants without elements.
        held = case.constant_in_openvino
        shapes = shapes[:1] if held else shapes
        yield f"{name}_state", _golden(case, [(shape, STATE) for shape in shapes], held)
        if case.edge:
            continue
        if case.operator.input("state").optional and not case.has_data:
            yield f"{name}_seeds", _golden(case, [(case.shape(), None)], True)
        batches = [ROWS[:3]] if held else [ROWS, ROWS[2:0:-1].copy(), ROWS[:1], ROWS[:0]]
        runs = [(case.shape(len(states), (3,)), states) for states in batches]
        yield f"{name}_rows", _golden(case, runs, held, per_row=True)
        if not case.has_data:
            whole = _golden(case, [(case.shape(), ALL_ONES)], True)
            model = operators.with_constant(whole.model, "state", ALL_ONES)
            yield f"{name}_constant_state", Golden(model, [{}], whole.outputs)


def _golden(
    case: operators.Case,
    runs: list[tuple[Shape, np.ndarray | None]],
    constant: bool | tuple[str, ...],
    *,
    per_row: bool = False,
) -> Golden:
    """A model and its runs; each row is what its state draws alone."""
    first = case.inputs(runs[0][0])
    stateful = runs[0][1] is not None
    model = case.model(runs[0][0], first, constant=constant, per_row=per_row, stateful=stateful)
    fed, drawn = [], []
    for i, (shape, state) in enumerate(runs):
        inputs = first if i == 0 else case.inputs(shape)
        results = case.oracle(shape, state, inputs)
        if per_row and state is not None:
            for one, other in zip(results, case.alone(shape, state, inputs), strict=True):
                assert one.tobytes() == other.tobytes(), (case.name, "rows are not as if alone")
        feeds = case.feeds(shape, state, inputs)
        fed.append({g.name: feeds[g.name] for g in model.graph.input})
        names = [o.name for o in model.graph.output]
        drawn.append(dict(zip(names, results, strict=False)))
    source = "each row alone, from a plain state" if per_row else "onnx_philox.reference"
    return Golden(model, fed, drawn, source)
