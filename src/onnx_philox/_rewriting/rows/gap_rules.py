"""What operators do that leave elements out, or give some that are made of none of their input's.

In ONNX and in OpenVINO; see `rules.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx_philox._rewriting.rows import rules
from onnx_philox._rewriting.rows.moves import Rule, Step
from onnx_philox._rewriting.rows.where_dimensions_go import ByAxis, Moves


def cumulated(axes: rules.Axes) -> Rule:
    """A cumulative sum or product; an exclusive one leaves out the end of each line."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        along, rank = axes(step), range(step.rank(0))
        numbered = along if step.number("exclusive", 0) else ()
        return [ByAxis(rank, along, step.ones(0), numbered), *rules.others_free(step, 1)]

    return rule
