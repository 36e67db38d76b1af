#!/usr/bin/env bash
# ONNX Runtime: a SequenceMap in the body of a SequenceMap does not load.
#
# Expected: a model that onnx's checker takes, with one SequenceMap in the body of another, loads, as one
# SequenceMap does.
# So it is: the inner one's function body is inlined into a Loop, a node of which reads a value that no node
# before it gives (InvalidGraph).
#
# Versions: onnxruntime 1.32.0, onnx 1.23.2, Python 3.11, Linux x86-64. 29 November 2026.
# Source: met while draws in the body of a SequenceMap were tried; this script.
# Output seen:
#   one: loads
#   one in another: InvalidGraph
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet onnx==1.23.2 onnxruntime==1.32.0
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import onnx
import onnxruntime

ONE = """b = Neg (a)"""
NESTED = """
    one = SequenceConstruct (a)
    some = SequenceMap (one) <body = inner (float[N] v) => (float[N] w) { w = Neg (v) }>
    first = Constant <value_int = 0> ()
    b = SequenceAt (some, first)"""


def loading(body):
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[B, 4] x) => (float[B, 4] y) {{
            xs = SplitToSequence <axis = 0, keepdims = 0> (x)
            ys = SequenceMap (xs) <body = outer (float[N] a) => (float[N] b) {{ {body} }}>
            y = ConcatFromSequence <axis = 0, new_axis = 1> (ys) }}""")
    onnx.checker.check_model(model)
    try:
        onnxruntime.InferenceSession(model.SerializeToString())
    except Exception as error:
        return type(error).__name__
    return "loads"


one = loading(ONE)
nested = loading(NESTED)
print("one:", one)
print("one in another:", nested)
sys.exit((one, nested) != ("loads", "InvalidGraph"))
PYTHON
