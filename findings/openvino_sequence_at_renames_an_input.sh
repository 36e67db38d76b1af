#!/usr/bin/env bash
# OpenVINO's ONNX front end: an input loses its name where a SequenceAt gives it back.
#
# Expected: a model with the input "x" has an input "x", whatever its nodes do.
# So it is: where SequenceAt takes "x" out of a SequenceConstruct, the front end hands the input itself on, under
# the name of SequenceAt's output; its only name is then that one, and feeding "x" is refused.
#
# Versions: openvino 2026.4.1 (Linux x86-64), onnx 1.23.2, numpy 2.4.6, Python 3.11. 29 November 2026.
# Source: met while rows of a batch were followed through sequences; this script.
# Output seen:
#   names of the inputs: [{'t4'}]
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openvino==2026.4.1 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import onnx
import openvino as ov

model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21]>
    g (float[4, N, 6] x) => (float[a, b, c] y) {
        t1 = Neg (x)
        t2 = SequenceConstruct (x, t1)
        t3 = Constant <value_int = 0> ()
        t4 = SequenceAt (t2, t3)
        y = Neg (t4) }""")
onnx.checker.check_model(model)
names = [port.get_names() for port in ov.Core().read_model(model.SerializeToString()).inputs]
print("names of the inputs:", names)
sys.exit(names != [{"t4"}])
PYTHON
