"""A generator that next_generator.py declares is drawn, carried and explained like the others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import child
import pytest
from cases import pattern_of, table
from missing_backend import REASON

HERE = Path(__file__).parent
SOURCES = HERE.parent / "src" / "onnx_philox"
# A line that says which generator it is about, by a name of torch's own.
ASKING = re.compile(r"is_pytorch|is_torch_s|draws_torch_s|\b(PYTORCH|TORCH|TORCH_STATE_WORDS)\b")

CALLS = table("""
dims(plain) -> [3]
dims(rows) -> ['batch', 3]
np.array_equal(evaluated, expected), after.tolist() -> (True, [7, 0, 6])
op.generate(BlockState(7, 5), out=out), np.array_equal(out, expected)
    -> (BlockState(seed=7, block=6), True)
op.generate(BlockState(7, 5).to_array(), out=out, alignment="blocks")
    -> BlockState(seed=7, block=6)
op.reference.random_uniform([4], 0, 1, "f32", state=np.zeros(6, "u4"), alignment="blocks")
    -> ValueRefusalError: RandomUniform: input 'state' must be [3], or [1, ..., 1, 3] up to rank 8,
    -> or [B, 3], a state for each row of the output: got shape [6]. Pass
    -> BlockState(seed).to_array().
noise_of("blocks") == noise_of("philox") -> True
noise_of("numpy") -> ...like must be 'philox', 'torch' or 'torch_cuda': got 'numpy'...
[is_philox_s(result, 9, 4 * i) for i, result in enumerate(results)] -> [True, True]
results[1].states -> [BlockState(seed=9, block=4)]
is_philox_s(pipeline.request(resume=json.dumps(request.checkpoint()))(x), 9, 8) -> True
pipeline.request().seed < 2**BLOCKS.seed_bits -> True
pipeline -> ...2 random nodes with Block's numbers, one state...
by_rows.request(seeds=[3, 4])(x).states
    -> [BlockState(seed=3, block=0), BlockState(seed=4, block=0)]
by_rows.request(seed=9, rows=2)(x) -> ...must be given for each row, since Block has no rule...
command("rewrite m.onnx -o new.onnx --alignment blocks")
    -> ...one generator of Block's goes through them in the order of the file...The input
    -> random_state (uint32[3]: BlockState(seed).to_array()) is the block at first; the output
    -> next_random_state is the input of the next run....
command("rewrite m.onnx -o rows.onnx --alignment blocks --per-row")
    -> ...The input random_state (uint32[batch, 3]: BlockState(seed).to_array() for each row) is
    -> a block for each row; the output next_random_state is the input of the next run....
command("inspect new.onnx")
    -> ...random_state, Block's generator (BlockState(seed).to_array());...
command("run new.onnx --seed 9 --runs 2 --input x=x.npy --backend python")
    -> ...seed 9...Each run gave different numbers...
command("run new.onnx --first-run 3 --input x=x.npy --backend python")
    -> ...that draws Block's numbers, whose generator counts no runs...
command("run rows.onnx --seed 9 --input x=x.npy --backend python")
    -> ...since Block has no rule that numbers rows: got the seed 9...
op.to_standard_nodes(plain) -> ...must be 'tensorflow'...got 'blocks'...
op.onnxruntime.InferenceSession(plain) -> ...must be 'tensorflow'...got 'blocks'...
""")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What became of each call, in one process."""
    if REASON is not None:
        pytest.skip("no onnxruntime-extensions")
    calls, folder = [call for call, _ in CALLS], tmp_path_factory.mktemp("next")
    done = child.forked(HERE / "next_generator.py", *calls, cwd=folder)
    return dict(zip(calls, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_it_is_drawn_carried_refused_and_explained_as_its_record_says(
    said: dict[str, str], call: str, words: str
) -> None:
    assert re.fullmatch(pattern_of(words), said[call]), said[call]


def test_no_line_of_the_house_asks_which_generator_it_is() -> None:
    asking = {
        f"{file.relative_to(SOURCES)}"
        for file in SOURCES.rglob("*.py")
        if "_torch" not in file.parts and ASKING.search(file.read_text())
    }
    assert asking == {"_contract/inputs.py"}, "which declares the word"
