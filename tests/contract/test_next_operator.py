"""An operator that next_operator.py declares is drawn wherever Python draws, refused elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.common import child
from tests.common.missing_backend import REASON

KINDS = ["plain", "without the optional input", "a state for each row"]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, str]]:
    """What became of it in each place, plain and otherwise."""
    return json.loads(child.forked(Path(__file__).with_name("next_operator.py")).stdout)


DRAWN = [
    "native core",
    "onnx.reference",
    "OpenVINO, python",
    "the function of `reference`",
    "the builder of `graphs`",
    "ONNX Runtime, python",
]
REFUSED = [
    "ONNX Runtime, native",
    "OpenVINO, native",
    "the factory of `openvino`",
    "standard nodes for ONNX Runtime",
    "standard nodes for OpenVINO",
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_operator_is_drawn_where_python_draws_and_refused_by_name_elsewhere(
    outcomes: dict[str, dict[str, str]],
    kind: str,
) -> None:
    found = outcomes[kind]
    for place in DRAWN[: len(DRAWN) - (REASON is not None)]:
        assert found[place] == "same bits", place
    for place in REFUSED:
        assert "Error" in found[place].split(":")[0] or "Fail" in found[place], place
        assert "RandomTriangle" in found[place], place
