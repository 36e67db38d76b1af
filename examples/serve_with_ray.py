"""Serves a model with Ray Serve, which forms batches: an answer depends on its own seed alone.

    pip install '.[onnxruntime,ray]'
    python examples/serve_with_ray.py [MODEL]
    curl http://127.0.0.1:8000 -d '{"x": [1, 2, 3, 4], "seed": 42}'

In every batch it answers
{"y": [0.0, 3.358121871948242, 3.7907466888427734, 3.765216827392578], "seed": 42}.
A model of yours takes `x`, float32 [batch, 4], and gives `y`; its random nodes must draw rows of
the batch.
"""

import secrets
import sys
from pathlib import Path

import numpy as np
from ray import serve

from onnx_philox import Pipeline

MODEL = str(Path(__file__).with_name("noise_and_dropout.onnx"))


@serve.deployment(num_replicas=2)
class Model:
    def __init__(self, path: str) -> None:
        self.pipeline = Pipeline(path, per_row=True)

    async def __call__(self, request) -> dict:
        given = await request.json()
        # A caller without a seed gets one, and reads in the answer which it was.
        seed = given.get("seed", secrets.randbits(53))
        return {"y": await self.run((given["x"], seed)), "seed": seed}

    @serve.batch(max_batch_size=16, batch_wait_timeout_s=0.01)
    async def run(self, requests: list) -> list:
        rows, seeds = zip(*requests, strict=True)
        result = await self.pipeline.acall({"x": np.asarray(rows, np.float32)}, seeds=seeds)
        return result["y"].tolist()


if __name__ == "__main__":
    serve.run(Model.bind(*sys.argv[1:] or [MODEL]), blocking=True)
