"""Scores a data set with Ray Data: the same numbers for any number of workers and any blocks.

    pip install '.[onnxruntime,ray]'
    python examples/score_with_ray_data.py [WORKERS [ROWS_PER_BATCH [BLOCKS [MODEL]]]]

It prints 5c1b6174bd14d9fa... for any number of each. A model of yours takes `x`, float32 [batch,
4], and gives `y`; its random nodes must draw rows of the batch. Ray Data numbers no rows, so each
one carries its number, in any order.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np
import ray

from onnx_philox import make_reproducible, onnxruntime, row_states

SEED = 42
MODEL = str(Path(__file__).with_name("noise_and_dropout.onnx"))


class Scorer:  # one in each worker
    def __init__(self, model: str) -> None:
        self.session = onnxruntime.InferenceSession(make_reproducible(model, per_row=True))

    def __call__(self, batch: dict) -> dict:
        states = row_states(SEED, batch["row"])
        (y,) = self.session.run(["y"], {"x": batch["x"], "random_state": states})
        return {"row": batch["row"], "y": y}


if __name__ == "__main__":
    *counts, model = (*sys.argv[1:], *["2", "64", "7", MODEL][len(sys.argv) - 1 :])
    workers, rows, blocks = map(int, counts)
    data = np.random.default_rng(0).random((1000, 4), np.float32)
    items = [{"row": i, "x": x} for i, x in enumerate(data)]
    scored = ray.data.from_items(items, override_num_blocks=blocks).map_batches(
        Scorer, fn_constructor_args=[model], batch_size=rows, concurrency=workers
    )
    y = np.stack([one["y"] for one in sorted(scored.take_all(), key=lambda one: one["row"])])
    print(hashlib.sha256(y.tobytes()).hexdigest())
