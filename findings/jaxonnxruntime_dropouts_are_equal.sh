#!/usr/bin/env bash
# jaxonnxruntime: all Dropouts of a model drop the same elements, in each run.
#
# Expected: Dropouts in training mode that have no seed drop elements of their own, others in each run, as ONNX says
# ("an auto generated seed") and as ONNX Runtime does.
# So it is: a node without a seed has seed 0, and a seed is a key from which each run begins. Two Dropouts of one shape
# share one mask, and each run has it. A residual branch and the branch beside it are dropped together.
#
# Versions: jaxonnxruntime 0.3.0, jax 0.10.2, jaxlib 0.10.2, flax 0.12.8, absl-py 2.5.1, onnx 1.23.2, numpy 2.4.6,
# onnxruntime 1.32.0, Python 3.11, Linux x86-64. 29 November 2026. Source: met while importers of ONNX were tried.
# Output seen:
#   jaxonnxruntime: two nodes equal True, two runs equal True
#   ONNX Runtime: two nodes equal False, two runs equal False
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jaxonnxruntime==0.3.0 jax==0.10.2 jaxlib==0.10.2 flax==0.12.8 absl-py==2.5.1 \
  onnx==1.23.2 numpy==2.4.6 onnxruntime==1.32.0
"$folder/venv/bin/python" - <<'PYTHON' 2>"$folder/errors" || { tail -5 "$folder/errors"; exit 1; }
import sys

import numpy as np
import onnx
import onnxruntime
from jaxonnxruntime import call_onnx
from onnx import parser

model = parser.parse_model(
    '<ir_version: 7, opset_import: ["": 13]> g (float[512] x) => (float[512] a, float[512] b) {'
    " r = Constant <value_float = 0.5> ()  t = Constant <value = bool {1}> ()"
    " a = Dropout (x, r, t)  b = Dropout (x, r, t) }"
)
onnx.checker.check_model(model)
X = np.ones(512, np.float32)
function, weights = call_onnx.call_onnx_model(model, [X])
session = onnxruntime.InferenceSession(model.SerializeToString())
seen = []
for name, run in (
    ("jaxonnxruntime", lambda: function(weights, [X])),
    ("ONNX Runtime", lambda: session.run(None, {"x": X})),
):
    runs = [[np.asarray(value) for value in run()] for _ in range(2)]
    of_nodes = np.array_equal(*runs[0])
    of_runs = np.array_equal(runs[0][0], runs[1][0])
    seen.append((of_nodes, of_runs))
    print(f"{name}: two nodes equal {of_nodes}, two runs equal {of_runs}")
sys.exit(seen != [(True, True), (False, False)])
PYTHON
