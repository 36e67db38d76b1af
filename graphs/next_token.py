"""The last step of a language model: one token for each row of logits, at a temperature.

Inputs: `logits` float[batch, vocabulary]; `temperature` float above 0, 1 for the model's own
probabilities; `state` uint32[6].
Outputs: `token` int64[batch, 1]; `next_state` uint32[6].

The division is each runtime's own float arithmetic: at temperature 1 the same logits give the same
tokens everywhere, at others they do unless two runtimes divide differently.
"""

import sys

import onnx
from onnx import parser

if len(sys.argv) != 2:
    sys.exit(f"usage: python {sys.argv[0]} OUT.onnx")

model = parser.parse_model("""
    <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
    next_token (float[batch, vocabulary] logits, float temperature, uint32[6] state)
        => (int64[batch, 1] token, uint32[6] next_state) {
      scaled = Div(logits, temperature)
      token, next_state = onnx_philox.RandomCategorical <output_type = "i64"> (scaled, state)
    }
""")
onnx.save(model, sys.argv[1])
print(f"Saved {sys.argv[1]}: logits, temperature, state -> token, next_state.")
print("Feed it PhiloxState.from_seed(42).to_array() first, then each run's next_state.")
