#!/usr/bin/env bash
# OpenVINO: a Bernoulli is read from bytes, and not from the file that has the same bytes.
#
# Expected: read_model gives the same of a path as of the bytes of that file, or refuses both.
# So it is: the bytes of a model with a Bernoulli (which ONNX defines as a function) are read, and the node becomes a
# RandomUniform and a comparison. Of the file's path it says "No conversion rule found for operations: Bernoulli", and
# convert_model does likewise. Without a seed it reads neither.
#
# Versions: openvino 2026.4.1, onnx 1.23.2, numpy 2.4.6, Python 3.11, Linux x86-64. 29 November 2026.
# Source: met while Bernoullis of both runtimes were compared; this script.
# Output seen:
#   of bytes: read; of the path: no rule for Bernoulli
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openvino==2026.4.1 onnx==1.23.2 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>"$folder/errors" || { tail -5 "$folder/errors"; exit 1; }
import sys
from pathlib import Path

import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[64] p) => (float[64] y) '
    "{ y = Bernoulli <seed = 3.0> (p) }"
)
onnx.checker.check_model(model)
onnx.save(model, "model.onnx")


def read(given) -> str:
    try:
        ov.Core().read_model(given)
    except RuntimeError as error:
        is_known = "No conversion rule found for operations: Bernoulli" in str(error)
        return "no rule for Bernoulli" if is_known else "another error"
    return "read"


of_bytes = read(Path("model.onnx").read_bytes())
of_path = read("model.onnx")
print(f"of bytes: {of_bytes}; of the path: {of_path}")
sys.exit((of_bytes, of_path) != ("read", "no rule for Bernoulli"))
PYTHON
