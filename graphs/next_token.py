"""The last step of a language model: one token for each row of logits, by a sampler's filters.

Inputs: `logits` float[batch, vocabulary]; `temperature` float, 0 for the most probable token, 1 for
the model's own probabilities; `top_k` int64, 0 for all tokens; `top_p` float, 1 for all;
`state` uint32[6].
Outputs: `token` int64[batch, 1]; `next_state` uint32[6].

RandomToken divides, sorts and sums by its own rule, so the same logits give the same tokens in
every runtime, at each temperature.
"""

import sys

import onnx
from onnx import parser

if len(sys.argv) != 2:
    sys.exit(f"usage: python {sys.argv[0]} OUT.onnx")

model = parser.parse_model("""
    <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
    next_token (float[batch, vocabulary] logits, float temperature, int64 top_k, float top_p,
                uint32[6] state) => (int64[batch, 1] token, uint32[6] next_state)
    <float min_p = {0}> {
      token, next_state = onnx_philox.RandomToken (logits, temperature, top_k, top_p, min_p, state)
    }
""")
onnx.save(model, sys.argv[1])
print(f"Saved {sys.argv[1]}: logits, temperature, top_k, top_p, state -> token, next_state.")
print("Feed it PhiloxState.from_seed(42).to_array() first, then each run's next_state.")
