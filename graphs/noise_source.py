"""Noise added to a signal, drawn from a state that the caller carries from run to run.

Inputs: `signal` float[256]; `amplitude` float, the largest deviation; `state` uint32[6], for the
first run `PhiloxState.from_seed(seed).to_array()`, later the last run's `next_state`.
Outputs: `noisy` float[256], signal + amplitude * noise; `noise` float[256], uniform in [-1, 1),
the same bits in every runtime; `next_state` uint32[6].
"""

import sys

import onnx
from onnx import compose, parser

from onnx_philox import graphs

if len(sys.argv) != 2:
    sys.exit(f"usage: python {sys.argv[0]} OUT.onnx")

draw = graphs.random_uniform([256], -1, 1, "f32", stateful=True)
add = parser.parse_model("""
    <ir_version: 8, opset_import: ["": 17]>
    add (float[256] values, float[256] signal, float amplitude)
        => (float[256] noisy, float[256] noise) {
      noise = Identity(values)
      scaled = Mul(noise, amplitude)
      noisy = Add(signal, scaled)
    }
""")
model = compose.merge_models(draw, add, io_map=[("values", "values")], name="noise_source")
onnx.save(model, sys.argv[1])
print(f"Saved {sys.argv[1]}: signal, amplitude, state -> noisy, noise, next_state.")
print("Feed it PhiloxState.from_seed(42).to_array() first, then each run's next_state.")
