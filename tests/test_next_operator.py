"""An operator declared in Python alone is drawn wherever Python draws, and refused elsewhere.

`next_operator.py` declares it, with more than any operator has yet, in a process of its own.
"""

from __future__ import annotations

import json
from pathlib import Path

import child
import pytest
from missing_backend import REASON

KINDS = ["plain", "without the optional input", "a state for each row"]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, str]]:
    """What became of it in each place, plain and otherwise."""
    file = Path(__file__).with_name("next_operator.py")
    done = child.python(file)
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "place",
    [
        *("native core", "onnx.reference", "OpenVINO, python", "the function of `reference`"),
        "the builder of `graphs`",
    ],
)
def test_it_is_drawn_where_the_core_does_not_know_it(
    outcomes: dict[str, dict[str, str]], kind: str, place: str
) -> None:
    assert outcomes[kind][place] == "same bits"


@pytest.mark.skipif(REASON is not None, reason="no onnxruntime-extensions")
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_drawn_by_the_python_ops_of_onnxruntime(
    outcomes: dict[str, dict[str, str]], kind: str
) -> None:
    assert outcomes[kind]["ONNX Runtime, python"] == "same bits"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "place",
    [
        *("ONNX Runtime, native", "OpenVINO, native", "the factory of `openvino`"),
        *("standard nodes for ONNX Runtime", "standard nodes for OpenVINO"),
    ],
)
def test_it_is_refused_by_name_where_nobody_draws_it(
    outcomes: dict[str, dict[str, str]], kind: str, place: str
) -> None:
    assert "Error" in outcomes[kind][place].split(":")[0] or "Fail" in outcomes[kind][place]
    assert "RandomTriangle" in outcomes[kind][place]
