"""Scores a data set with Dask: the same numbers for any number of workers and any chunks.

    pip install '.[onnxruntime,dask]'
    python examples/score_with_dask.py [WORKERS [ROWS_PER_CHUNK [MODEL]]]

It prints 5c1b6174bd14d9fa... for any number of workers and any chunks. A model of yours takes `x`,
float32 [batch, 4], and gives `y`; its random nodes must draw rows of the batch. What a row draws
comes from its place in the data set, wherever and whenever it is scored.
"""

import hashlib
import sys
from functools import cache
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from onnx_philox import Pipeline

SEED = 42
MODEL = str(Path(__file__).with_name("noise_and_dropout.onnx"))


@cache
def pipeline(model: str) -> Pipeline:
    """One in each worker: a session does not travel."""
    return Pipeline(model, per_row=True)


def score(chunk: np.ndarray, model: str, block_info: dict) -> np.ndarray:
    (first_row, _), *_ = block_info[0]["array-location"]
    (result,) = pipeline(model).map([{"x": chunk}], seed=SEED, first_row=first_row)
    return result["y"]


if __name__ == "__main__":
    workers, rows, model = (*sys.argv[1:], *["2", "100", MODEL][len(sys.argv) - 1 :])
    x = da.from_array(
        np.random.default_rng(0).random((1000, 4), np.float32), chunks=(int(rows), -1)
    )
    with LocalCluster(n_workers=int(workers), dashboard_address=None) as cluster, Client(cluster):
        y = x.map_blocks(score, model, dtype=np.float32).compute()
    print(hashlib.sha256(y.tobytes()).hexdigest())
