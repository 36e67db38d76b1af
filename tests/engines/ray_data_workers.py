"""Prints a hash of what `examples/score_with_ray_data.py` scores, however cut and disturbed."""

import hashlib
import os
import runpy
import signal
import sys
from pathlib import Path

import numpy as np
import ray
import score_with_ray_data as example


class Dying(example.Scorer):
    """Scores; a worker is killed once in the middle."""

    def __init__(self, model: str, mark: str) -> None:
        super().__init__(model)
        self.mark = Path(mark)

    def __call__(self, batch: dict) -> dict:
        scored = super().__call__(batch)
        if max(batch["row"]) >= 500 and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return scored


if __name__ == "__main__":
    model, mark = sys.argv[1:]
    # A quarter of a processor for each worker, so that four fit anywhere.
    small = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 10**8}
    # Standard output is for what is found: what Ray says of deaths goes into its own files.
    ray.init(**small, logging_level="error", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    data = np.random.default_rng(0).random((1000, 4), np.float32)
    items = [{"row": i, "x": x} for i, x in enumerate(data)]
    for workers, rows, scorer, rest in ((4, 37, example.Scorer, ()), (2, 64, Dying, (mark,))):
        how = {"batch_size": rows, "concurrency": workers, "num_cpus": 0.25}
        scored = ray.data.from_items(items, override_num_blocks=8).map_batches(
            scorer, fn_constructor_args=[model, *rest], **how
        )
        y = np.stack([row["y"] for row in sorted(scored.take_all(), key=lambda row: row["row"])])
        print("found", workers, rows, hashlib.sha256(y.tobytes()).hexdigest(), flush=True)
    assert Path(mark).exists()
    sys.argv = [example.__file__, "1", "1000", "1"]
    runpy.run_path(example.__file__, run_name="__main__")
