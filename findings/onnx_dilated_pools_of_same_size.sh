#!/usr/bin/env bash
# ONNX's pools with dilations and auto_pad SAME_UPPER: three implementations give three tensors.
#
# Expected: an output as long as the input (stride 1), since "SAME" means that. The padding must then cover the window with
# its gaps: a kernel of 3 with dilations of 2 reaches over 5 elements, and needs 4 of padding.
# So it is: onnx's shape inference and OpenVINO say 5 of 5 elements. ONNX Runtime pads as if there were no gaps, 2 elements,
# and gives 3, with a warning; SAME_LOWER likewise. onnx's reference gives 5: of MaxPool as OpenVINO, of AveragePool and LpPool ONNX
# Runtime's 3, and zeros behind them.
# So give such a pool explicit `pads`.
#
# Versions: onnx 1.23.2, onnxruntime 1.32.0, openvino 2026.4.1, numpy 2.4.6, Python 3.11, Linux x86-64. 30 November 2026.
# Source: met while proofs of rows were attacked.
# Output seen:
#   MaxPool: inferred 5
#     onnx's reference [3, 4, 5, 4, 5]
#     ONNX Runtime [4, 5, 4]
#     OpenVINO [3, 4, 5, 4, 5]
#   AveragePool: inferred 5
#     onnx's reference [3, 3, 3, 0, 0]
#     ONNX Runtime [3, 3, 3]
#     OpenVINO [2, 3, 3, 3, 4]
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet onnx==1.23.2 onnxruntime==1.32.0 openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import numpy as np
import onnx
import onnxruntime
import openvino
from onnx import parser, shape_inference
from onnx.reference import ReferenceEvaluator

SEEN = {
    "MaxPool": ([3, 4, 5, 4, 5], [4, 5, 4], [3, 4, 5, 4, 5]),
    "AveragePool": ([3, 3, 3, 0, 0], [3, 3, 3], [2, 3, 3, 3, 4]),
}
X = np.arange(1, 6, dtype=np.float32).reshape(1, 1, 5)


def whole(values):
    """The elements, which are integers here."""
    return [int(value) for value in np.asarray(values).ravel()]


def by_onnxruntime(model):
    options = onnxruntime.SessionOptions()
    # It warns of the other shape.
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, {"x": X})[0]


def by_openvino(model):
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
    return compiled({"x": X})[0]


same = True
for operator, seen in SEEN.items():
    model = parser.parse_model(
        '<ir_version: 9, opset_import: ["": 19]> g (float[1,1,5] x) => (float[1,1,n] y) '
        f'{{ y = {operator} <kernel_shape = [3], dilations = [2], auto_pad = "SAME_UPPER"> (x) }}'
    )
    onnx.checker.check_model(model)
    inferred = shape_inference.infer_shapes(model).graph.output[0]
    length = inferred.type.tensor_type.shape.dim[2].dim_value
    given = (
        whole(ReferenceEvaluator(model).run(None, {"x": X})[0]),
        whole(by_onnxruntime(model)),
        whole(by_openvino(model)),
    )
    print(f"{operator}: inferred {length}")
    for name, values in zip(("onnx's reference", "ONNX Runtime", "OpenVINO"), given, strict=True):
        print(f"  {name} {values}")
    same = same and length == 5 and given == seen
sys.exit(not same)
PYTHON
