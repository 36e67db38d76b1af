"""The children of a state are those of torch's stateless generator, `torch.func._random`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from onnx_philox import PhiloxState, reference

VECTORS = Path(__file__).parent / "torch_vectors" / "stateless.json"
CASES = json.loads(VECTORS.read_text())["cases"]


def child(words: list[str]) -> PhiloxState:
    """torch's key of a seed and an offset, as a state."""
    seed, offset = (int(word) for word in words)
    return PhiloxState(offset, seed)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['seed']}-{case['offset']}")
def test_children_of_a_state_are_those_of_torch(case: dict[str, Any]) -> None:
    state = child([case["seed"], case["offset"]])
    # Our counters carry over 128 bits; where torch's wrap at 64, the two differ.
    whole = 2**64 - state.counter
    expected = [child(words) for words in case["split"]][:whole]
    assert expected
    assert state.split(3)[:whole] == expected
    for i, folded in case["fold_in"].items():
        if int(i) < whole:
            assert state.fold_in(int(i)) == child(folded), i
    bits = case["bits"][: 4 * whole]
    assert reference.random_generator(state.to_array(), [len(bits)])[0].tolist() == bits
