"""Speaks with a seed, in ONNX Runtime: prints a hash of what was drawn, and writes the sound.

    python speak.py voice-seed.onnx SEED OUTPUT

OUTPUT is float32 samples. The C++ and the Node.js program beside this one print the same hash.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime

from onnx_philox import PhiloxState

TEXT = np.array([[3, 1, 4, 1, 5, 9]])
SCALES = np.array([0.667, 1, 0.8], np.float32)
DRAWS = ["/RandomNormalLike_output_0", "/RandomNormalLike_1_output_0"]


def fnv1a(data: bytes) -> str:
    """A hash of 64 bits that takes three lines in any language."""
    found = 0xCBF29CE484222325
    for byte in data:
        found = (found ^ byte) * 0x100000001B3 % 2**64
    return f"{found:016x}"


model, seed, output = sys.argv[1:]
session = onnxruntime.InferenceSession(model)
state = PhiloxState.for_run(int(seed)).to_array()
feed = {"text": TEXT, "scales": SCALES, "random_state": state}
wav, *draws = session.run(["wav", *DRAWS], feed)
Path(output).write_bytes(wav.tobytes())
print("draws:", fnv1a(b"".join(draw.tobytes() for draw in draws)))
print("wav:", wav.size, "samples")
