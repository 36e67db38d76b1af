"""A generator that next_generator.py declares is drawn, carried and explained like the others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.common import child
from tests.common.cases import pattern_of
from tests.common.missing_backend import REASON
from tests.contract.next_generator import ROWS

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src" / "onnx_philox"
# A line that says which generator it is about, by a name of torch's own.
ASKING = re.compile(r"is_pytorch|is_torch_s|draws_torch_s|\b(PYTORCH|TORCH|TORCH_STATE_WORDS)\b")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What became of each row, in one process."""
    if REASON is not None:
        pytest.skip("no onnxruntime-extensions")
    folder = tmp_path_factory.mktemp("next")
    done = child.forked(HERE / "next_generator.py", cwd=folder)
    return json.loads(done.stdout)


@pytest.mark.parametrize("row", ROWS)
def test_a_generator_that_is_declared_is_drawn_carried_refused_and_explained(
    said: dict[str, str], row: str
) -> None:
    _, words = ROWS[row]
    assert re.fullmatch(pattern_of(words), said[row]), said[row]


def test_no_line_of_the_house_asks_which_generator_it_is() -> None:
    asking = {
        f"{file.relative_to(SOURCES)}"
        for file in SOURCES.rglob("*.py")
        if "_torch" not in file.parts and ASKING.search(file.read_text())
    }
    assert asking == {"_contract/inputs.py"}, "which declares the word"
