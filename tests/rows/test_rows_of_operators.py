"""Each operator of ONNX has a rule for rows, or a reason for none."""

from __future__ import annotations

from onnx import defs

from onnx_philox._rewriting.in_onnx.rows import onnx_row_rules

LEFT_BY_OTHERS = {"SimplifiedLayerNormalization"}
"""ONNX Runtime's optimizer writes it into ONNX's own domain."""
MOST_WITHOUT = 30


def test_each_operator_of_onnx_has_a_rule_or_a_reason_for_none() -> None:
    names = {each.name for each in defs.get_all_schemas_with_history() if each.domain == ""}
    ruled = set(onnx_row_rules.RULES) - LEFT_BY_OTHERS
    without = set(onnx_row_rules.WITHOUT_A_RULE)
    assert ruled & without == set()
    assert ruled | without == names
    assert len(without) <= MOST_WITHOUT
