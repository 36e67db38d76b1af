#!/usr/bin/env bash
# OpenVINO: noise of a static shape that is multiplied by -2 does not compile.
#
# Expected: y = x - 2 * u, written x + u * -2 with u uniform in [0, 1), compiles, as it does in ONNX Runtime.
# So it is: with 2 it compiles; with -2 compile_model says "Min value must be less than max value. Got min
# value: -0, max value: -2". A pass moves the factor into the bounds of RandomUniform, and does not swap them.
#
# Versions: openvino 2026.4.1 (CPU, Linux x86-64), onnx 1.23.2, numpy 2.4.6, Python 3.11. 29 November 2026.
# Source: met while the known behaviours of random nodes were tried; this script.
# Output seen:
#   factor 2.0: compiles
#   factor -2.0: Min value must be less than max value. Got min value: -0, max value: -2
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


def compiles(factor):
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[2, 4] x) => (float[2, 4] y) {{
            c = Constant <value_float = {factor}> ()
            u = RandomUniformLike (x)
            m = Mul (u, c)
            y = Add (x, m) }}""")
    core = ov.Core()
    try:
        core.compile_model(core.read_model(model.SerializeToString()), "CPU")
    except RuntimeError as error:
        said = [line for line in str(error).splitlines() if "Min value" in line]
        print(f"factor {factor}:", *said)
        return False
    print(f"factor {factor}: compiles")
    return True


as_seen = compiles("2.0") and not compiles("-2.0")
sys.exit(not as_seen)
PYTHON
