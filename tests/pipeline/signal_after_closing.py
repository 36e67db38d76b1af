"""Handles a signal after two pipelines of OpenVINO were closed, the first one first."""

import gc
import os
import signal

from onnx_philox import Pipeline, make_reproducible
from tests.common.foreign import parse

MODEL = parse("g (float[n] x) => (float[n] y) { y = RandomNormalLike (x) }")


def main() -> None:
    pipelines = [Pipeline(make_reproducible(MODEL), runtime="openvino") for _ in range(2)]
    while pipelines:
        pipelines.pop(0)
        gc.collect()
    signal.signal(signal.SIGTERM, lambda number, _: print("handled", number))
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
