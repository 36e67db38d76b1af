"""The noise that an image generator starts from: normal values, the same in every runtime.

Inputs: `state` uint32[6], `PhiloxState.for_run(seed, image)` for the image'th of a seed.
Outputs: `values` float[1, 4, 64, 64], of mean 0 and standard deviation 1; `next_state` uint32[6].
"""

import sys

import onnx

from onnx_philox import graphs

if len(sys.argv) != 2:
    sys.exit(f"usage: python {sys.argv[0]} OUT.onnx")

model = graphs.random_normal([1, 4, 64, 64], 0, 1, "f32", stateful=True)
onnx.save(model, sys.argv[1])
print(f"Saved {sys.argv[1]}: state -> values, next_state.")
print("Feed it PhiloxState.for_run(42).to_array(), for_run(42, 1) for another image, and so on.")
