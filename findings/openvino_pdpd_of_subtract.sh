#!/usr/bin/env bash
# OpenVINO 2026.4.1 (CPU, x86-64): elementwise operators with auto_broadcast "pdpd" and axis 0.
# Expected, by the specification of broadcasting rules: the dimensions of the second input begin at the axis, for all operators.
# So is: Add, Multiply, Maximum, Minimum, Power, SquaredDifference and FloorMod do so; Subtract, Divide, the comparisons and the
# logical operators are computed as NumPy broadcasts, or refused in a run where NumPy's rules do not fit.
# Date: 29 November 2026. Source: the runs below. Output seen: "Add pdpd", "Subtract numpy", "Divide numpy", "Less numpy".
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openvino==2026.4.1 numpy==2.4.6
cat >"$folder/show.py" <<'PY'
import numpy as np
import openvino as ov
from openvino import opset1 as ops

data = np.full((3, 3), 2, np.float32)
lesser = np.array([1, 2, 4], np.float32)
seen = {}
for name, function, exact in [
    ("Add", ops.add, np.add),
    ("Subtract", ops.subtract, np.subtract),
    ("Divide", ops.divide, np.divide),
    ("Less", ops.less, np.less),
]:
    first, second = ops.parameter([3, 3], np.float32), ops.parameter([3], np.float32)
    node = function(first, second, auto_broadcast="PDPD")
    compiled = ov.Core().compile_model(ov.Model([node], [first, second]), "CPU")
    found = compiled([data, lesser])[0]
    if np.array_equal(found, exact(data, lesser[:, None])):
        seen[name] = "pdpd"
    elif np.array_equal(found, exact(data, lesser)):
        seen[name] = "numpy"
    print(name, seen.get(name))
assert seen == {"Add": "pdpd", "Subtract": "numpy", "Divide": "numpy", "Less": "numpy"}
PY
"$folder/venv/bin/python" "$folder/show.py"
