"""A generator that next_generator.py declares is drawn, carried and explained like the others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import child
import pytest
from missing_backend import REASON

HERE = Path(__file__).parent
SOURCES = HERE.parent / "src" / "onnx_philox"
# A line that says which generator it is about, by a name of torch's own.
ASKING = re.compile(r"is_pytorch|is_torch_s|draws_torch_s|\b(PYTORCH|TORCH|TORCH_STATE_WORDS)\b")


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """What became of it in each place."""
    if REASON is not None:
        pytest.skip("no onnxruntime-extensions")
    return json.loads(child.forked(HERE / "next_generator.py").stdout)


NEXT = "BlockState(seed=7, block=6)"
EACH = "[BlockState(seed=3, block=0), BlockState(seed=4, block=0)]"
EXACTLY: dict[str, Any] = {
    "state of the builder": [3],
    "states of its rows": ["batch", 3],
    "onnx.reference draws it": [True, [7, 0, 6]],
    "generate draws it": True,
    "generate goes on to": NEXT,
    "by words": NEXT,
    "six words": "ValueRefusalError: RandomUniform: input 'state' must be [3], or [1, ..., "
    "1, 3] up to rank 8, or [B, 3], a state for each row of the output: got shape [6]. Pass "
    "BlockState(seed).to_array().",
    "noise": True,
    "runs of a request": [True, True],
    "resumed": True,
    "states of a result": "[BlockState(seed=9, block=4)]",
    "seed of the system": True,
    "a seed for each row": EACH,
}
ONE = "random_state (uint32[3]: BlockState(seed).to_array()) is the block at first"
ROWS = "(uint32[batch, 3]: BlockState(seed).to_array() for each row) is a block for each row"
AFTER = "; the output next_random_state is the input of the next run."
AMONG: list[tuple[str, str]] = [
    ("no word of noise", "like must be 'philox', 'torch' or 'torch_cuda': got 'numpy'"),
    ("pipeline", "2 random nodes with Block's numbers, one state"),
    ("one seed for rows", "must be given for each row, since Block has no rule"),
    ("rewrite", "one generator of Block's goes through them in the order of the file"),
    ("rewrite", f"The input {ONE}{AFTER}"),
    ("rewrite rows", f"The input random_state {ROWS}{AFTER}"),
    ("inspect", "random_state, Block's generator (BlockState(seed).to_array());"),
    ("run", "seed 9"),
    ("run", "Each run gave different numbers"),
    ("run with a first run", "that draws Block's numbers, whose generator counts no runs"),
    ("run rows", "since Block has no rule that numbers rows: got the seed 9"),
    # Where nobody draws it.
    ("standard nodes", "must be 'tensorflow'"),
    ("standard nodes", "got 'blocks'"),
    ("native", "must be 'tensorflow'"),
    ("native", "got 'blocks'"),
]


def test_it_is_drawn_carried_and_refused_as_its_record_says(said: dict[str, Any]) -> None:
    assert {place: said[place] for place in EXACTLY} == EXACTLY


@pytest.mark.parametrize(("place", "words"), AMONG)
def test_its_record_is_explained(said: dict[str, Any], place: str, words: str) -> None:
    assert words in said[place]


def test_no_line_of_the_house_asks_which_generator_it_is() -> None:
    asking = {
        f"{file.relative_to(SOURCES)}"
        for file in SOURCES.rglob("*.py")
        if "_torch" not in file.parts and ASKING.search(file.read_text())
    }
    assert asking == {"_contract/inputs.py"}, "which declares the word"
