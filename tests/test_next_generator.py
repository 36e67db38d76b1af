"""A generator registered as one more record is drawn, carried and explained like the others.

`next_generator.py` declares it, in a process of its own; and no flag asks for torch's beside it.
"""

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
    file = HERE / "next_generator.py"
    done = child.python(file)
    return json.loads(done.stdout)


def test_builders_give_its_state_its_words(said: dict[str, Any]) -> None:
    assert said["state of the builder"] == [3]
    assert said["states of its rows"] == ["batch", 3]


def test_nodes_and_generate_draw_from_its_states(said: dict[str, Any]) -> None:
    assert said["onnx.reference draws it"] == [True, [7, 0, 6]]
    assert said["generate draws it"] is True
    assert said["generate goes on to"] == said["by words"] == "BlockState(seed=7, block=6)"


def test_a_state_of_another_generator_is_refused_by_its_rule(said: dict[str, Any]) -> None:
    assert said["six words"] == (
        "ValueRefusalError: RandomUniform: input 'state' must be [3], or [1, ..., 1, 3] up to "
        "rank 8, or [B, 3], a state for each row of the output: got shape [6]. "
        "Pass BlockState(seed).to_array()."
    )


@pytest.mark.parametrize("place", ["standard nodes", "native"])
def test_it_is_refused_by_name_where_nobody_draws_it(said: dict[str, Any], place: str) -> None:
    assert "must be 'tensorflow'" in said[place]
    assert "got 'blocks'" in said[place]


def test_a_rewritten_model_takes_one_through_its_nodes_from_run_to_run(
    said: dict[str, Any],
) -> None:
    assert said["runs of a request"] == [True, True]
    assert said["resumed"] is True
    assert said["states of a result"] == "[BlockState(seed=9, block=4)]"
    assert said["seed of the system"] is True
    assert "2 random nodes with Block's numbers, one state" in said["pipeline"]


def test_each_row_has_one_by_a_seed_of_its_own(said: dict[str, Any]) -> None:
    states = "[BlockState(seed=3, block=0), BlockState(seed=4, block=0)]"
    assert said["a seed for each row"] == states
    assert "must be given for each row, since Block has no rule" in said["one seed for rows"]


def test_the_commands_say_what_its_state_is(said: dict[str, Any]) -> None:
    after = "; the output next_random_state is the input of the next run."
    one = "random_state (uint32[3]: BlockState(seed).to_array()) is the block at first"
    each = "(uint32[batch, 3]: BlockState(seed).to_array() for each row) is a block for each row"
    assert "one generator of Block's goes through them in the order of the file" in said["rewrite"]
    assert f"The input {one}{after}" in said["rewrite"]
    assert f"The input random_state {each}{after}" in said["rewrite rows"]
    assert "random_state, Block's generator (BlockState(seed).to_array());" in said["inspect"]


def test_run_makes_its_state_of_a_seed_and_refuses_what_it_cannot_count(
    said: dict[str, Any],
) -> None:
    assert "seed 9" in said["run"]
    assert "Each run gave different numbers" in said["run"]
    assert (
        "that draws Block's numbers, whose generator counts no runs" in said["run with a first run"]
    )
    assert "since Block has no rule that numbers rows: got the seed 9" in said["run rows"]


def test_no_line_of_the_house_asks_which_generator_it_is() -> None:
    asking = {
        f"{file.relative_to(SOURCES)}"
        for file in SOURCES.rglob("*.py")
        if "_torch" not in file.parts and ASKING.search(file.read_text())
    }
    assert asking == {"_contract/inputs.py"}, "which declares the word"
