#!/usr/bin/env bash
# OpenVINO: RandomUniform of integers knows 31 bits, also where its type is i64.
#
# Expected: RandomUniform of i64 from 0 to 2^33 draws integers up to 2^33, evenly, as its specification says of
# any range that the type holds; i32 from -2^31 to 2^31 - 1 draws all of them.
# So it is: bounds of i64 are cut to those of i32 before the draw, so nothing lies beyond 2^31 (from -2^62 to 2^62
# each number is -2^31, in silence). Of i32 a range that is wider than 2^31 is cut at an eighth, or gives one number.
#
# Versions: openvino 2026.4.1 (CPU, Linux x86-64), numpy 2.4.6, Python 3.11. 29 November 2026.
# Source: met while ranges of random integers were tried; this script.
# Output seen:
#   i64 from 0 to 2^33: 65534 different numbers, the largest is 0.25 of the range
#   i64 from -2^62 to 2^62: 1 different numbers, the largest is 0.50 of the range
#   i32 from -2^31 to 2^31 - 1: 1 different numbers, the largest is 0.00 of the range
#   i32 from 0 to 2^31 - 1: 65534 different numbers, the largest is 1.00 of the range
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import numpy as np
import openvino as ov
from openvino import opset13 as ops

RANGES = {
    "i64 from 0 to 2^33": (np.int64, 0, 2**33),
    "i64 from -2^62 to 2^62": (np.int64, -(2**62), 2**62),
    "i32 from -2^31 to 2^31 - 1": (np.int32, -(2**31), 2**31 - 1),
    "i32 from 0 to 2^31 - 1": (np.int32, 0, 2**31 - 1),
}
found = []
for name, (dtype, low, high) in RANGES.items():
    shape = ops.constant(np.array([2**16], np.int64))
    bounds = ops.constant(dtype(low)), ops.constant(dtype(high))
    node = ops.random_uniform(shape, *bounds, name[:3], global_seed=1, op_seed=2)
    compiled = ov.Core().compile_model(ov.Model([node], []), "CPU")
    (drawn,) = compiled([]).values()
    different = len(np.unique(drawn))
    reached = (int(drawn.max()) - low) / (high - low)
    found.append((different > 1, round(reached, 2)))
    print(f"{name}: {different} different numbers, the largest is {reached:.2f} of the range")
sys.exit(found != [(True, 0.25), (False, 0.5), (False, 0.0), (True, 1.0)])
PYTHON
