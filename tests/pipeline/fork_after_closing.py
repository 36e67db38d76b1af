"""Draws in a forked process after its parent has closed a pipeline of OpenVINO."""

import gc
import os
import signal

import numpy as np

from onnx_philox import Pipeline, make_reproducible
from tests.common.foreign import parse

MODEL = parse("g (float[n] x) => (float[n] y) { y = RandomNormalLike (x) }")
SECONDS = 60
"""Longer than a draw takes, and a child that waits for ever ends by then."""


def draw() -> bytes:
    pipeline = Pipeline(make_reproducible(MODEL), runtime="openvino")
    answer = pipeline({"x": np.zeros(4, np.float32)}, seed=1)
    return answer["y"].tobytes()


def main() -> None:
    drawn = draw()
    gc.collect()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os._exit(0 if draw() == drawn else 1)
    _, status = os.waitpid(child, 0)
    print("child ended with", os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
