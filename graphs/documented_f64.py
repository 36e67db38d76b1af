"""OpenVINO's documented example 2: f64 in [2, 10), global_seed 80, op_seed 100.

No inputs. Output `values`, double[2, 2]:
    5.65927959  4.23122376
    2.67008206  2.36423758

OpenVINO's own CPU operator computes f64 in 32 bits and draws different numbers.
"""

import sys

import onnx

from onnx_philox import graphs

if len(sys.argv) != 2:
    sys.exit(f"usage: python {sys.argv[0]} OUT.onnx")

model = graphs.random_uniform([2, 2], 2, 10, "f64", global_seed=80, op_seed=100)
onnx.save(model, sys.argv[1])
print(f"Saved {sys.argv[1]}: 4 doubles, the same in every run. To run it:")
print(f"  onnx_philox.onnxruntime.InferenceSession({sys.argv[1]!r}).run(None, {{}})")
