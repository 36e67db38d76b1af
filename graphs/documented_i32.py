"""OpenVINO's documented example 3: i32 in [50, 100), global_seed 80, op_seed 100.

No inputs. Output `values`, int32[2, 3]:
    65  70  56
    59  82  92
"""

import sys

import onnx

from onnx_philox import graphs

if len(sys.argv) != 2:
    sys.exit(f"usage: python {sys.argv[0]} OUT.onnx")

model = graphs.random_uniform([2, 3], 50, 100, "i32", global_seed=80, op_seed=100)
onnx.save(model, sys.argv[1])
print(f"Saved {sys.argv[1]}: 6 integers, the same in every run. To run it:")
print(f"  onnx_philox.onnxruntime.InferenceSession({sys.argv[1]!r}).run(None, {{}})")
