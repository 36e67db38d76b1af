#!/usr/bin/env bash
# QONNX: all draws of one kind are equal when it runs a graph, and each run repeats them.
#
# Expected: execute_onnx of a graph with two RandomUniformLike nodes without seeds gives what a session of ONNX
# Runtime gives: their difference is not 0, and a second run draws others.
# So it is: QONNX makes a session for each node and each run. A session without a seed begins as every other one
# of the process does, so the two nodes draw the same, and the second run draws that again.
#
# Versions: qonnx 1.0.0, onnx 1.23.2, onnxruntime 1.32.0, numpy 2.4.6, Python 3.11, Linux x86-64. 29 November 2026.
# Source: met while QONNX was tried with random nodes; this script.
# Output seen:
#   ONNX Runtime: u - v is 0: False, a second run repeats u: False
#   QONNX: u - v is 0: True, a second run repeats u: True
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet qonnx==1.0.0 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON' 2>"$folder/errors" || { tail -5 "$folder/errors"; exit 1; }
import sys

import numpy as np
import onnx
import onnxruntime
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx

MODEL = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    g (float[64] x) => (float[64] u, float[64] d) {
        u = RandomUniformLike (x)  v = RandomUniformLike (x)  d = Sub (u, v) }""")
onnx.checker.check_model(MODEL, full_check=True)
FEED = {"x": np.zeros(64, np.float32)}
session = onnxruntime.InferenceSession(MODEL.SerializeToString())
typed = ModelWrapper(onnx.shape_inference.infer_shapes(MODEL))


def in_onnxruntime():
    return session.run(["u", "d"], FEED)


def in_qonnx():
    outputs = execute_onnx(typed, FEED)
    return outputs["u"], outputs["d"]


found = []
for name, run in (("ONNX Runtime", in_onnxruntime), ("QONNX", in_qonnx)):
    (first, difference), (second, _) = run(), run()
    found.append((not difference.any(), np.array_equal(first, second)))
    print(f"{name}: u - v is 0: {found[-1][0]}, a second run repeats u: {found[-1][1]}")
sys.exit(found != [(False, False), (True, True)])
PYTHON
