"""Dropout whose mask is drawn from a state: the same mask in every runtime.

Inputs: `x` float[batch, features]; `ratio` float in [0, 1], how much to drop; `state` uint32[6].
Outputs: `y`, x / (1 - ratio) where the mask keeps it, else 0; `mask` bool, true with probability
1 - ratio; `next_state` uint32[6].

What is drawn is what to drop, so ratio 0 keeps all and ratio 1 none. It is one operator, not a
comparison of uniforms with the ratio: that is not the same in two runtimes.
"""

import sys

import onnx
from onnx import parser

if len(sys.argv) != 2:
    sys.exit(f"usage: python {sys.argv[0]} OUT.onnx")

model = parser.parse_model("""
    <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
    dropout (float[batch, features] x, float ratio, uint32[6] state)
        => (float[batch, features] y, bool[batch, features] mask, uint32[6] next_state)
        <float zero = {0}, float one = {1}> {
      shape = Shape(x)
      dropped, next_state = onnx_philox.RandomBernoulli (shape, ratio, state)
      mask = Not(dropped)
      kept = Sub(one, ratio)
      scaled = Div(x, kept)
      y = Where(mask, scaled, zero)
    }
""")
onnx.save(model, sys.argv[1])
print(f"Saved {sys.argv[1]}: x, ratio, state -> y, mask, next_state.")
print("Feed it PhiloxState.from_seed(42).to_array() first, then each run's next_state.")
