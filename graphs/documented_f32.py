"""OpenVINO's documented example 1: f32 in [0, 1), global_seed 150, op_seed 10.

No inputs. Output `values`, float[3, 3]:
    0.7011236   0.30539632  0.93931055
    0.9456035   0.11694777  0.50770056
    0.5197197   0.22727466  0.991374
"""

import sys

import onnx

from onnx_philox import graphs

if len(sys.argv) != 2:
    sys.exit(f"usage: python {sys.argv[0]} OUT.onnx")

model = graphs.random_uniform([3, 3], 0, 1, "f32", global_seed=150, op_seed=10)
onnx.save(model, sys.argv[1])
print(f"Saved {sys.argv[1]}: 9 floats, the same in every run. To run it:")
print(f"  onnx_philox.onnxruntime.InferenceSession({sys.argv[1]!r}).run(None, {{}})")
