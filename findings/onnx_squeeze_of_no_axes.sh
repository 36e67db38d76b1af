#!/usr/bin/env bash
# ONNX's Squeeze with an empty vector of axes: onnx and ONNX Runtime give tensors of different ranks.
#
# Expected: one shape. The axes are there and name no dimension, and so either no dimension is left out or, as where the
# input is missing, each of one element.
# So it is: onnx's shape inference leaves no dimension out, and ONNX Runtime leaves out each of one element. A model whose
# declared output has the inferred rank gives another one. What follows the batch by inferred shapes is misled.
#
# Versions: onnx 1.23.2, onnxruntime 1.32.0, numpy 2.4.6, Python 3.11, Linux x86-64. 29 November 2026. Source: met while
# proofs of rows were attacked.
# Output seen:
#   onnx: [1, 4], ONNX Runtime: [4]
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import parser, shape_inference

model = parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[1,4] x) => (float[a,b] y)'
    " <int64[0] none = {}> { s = Squeeze (x, none)  y = Neg (s) }"
)
onnx.checker.check_model(model)
# An output of any shape.
model.graph.output[0].type.tensor_type.ClearField("shape")
inferred = shape_inference.infer_shapes(model, data_prop=True)
value = next(v for v in inferred.graph.value_info if v.name == "s")
# What stands in the graph, and what a run gives.
said = [d.dim_value for d in value.type.tensor_type.shape.dim]
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
session = onnxruntime.InferenceSession(model.SerializeToString(), options)
given = list(session.run(None, {"x": np.ones((1, 4), np.float32)})[0].shape)
print(f"onnx: {said}, ONNX Runtime: {given}")
sys.exit(said == given)
PYTHON
