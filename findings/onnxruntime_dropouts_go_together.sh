#!/bin/bash
# Two Dropouts of one training model in ONNX Runtime. Found on 29 November 2026 on Linux x86-64, Python
# 3.11, with onnxruntime 1.32.0 (CPU), onnx 1.23.2, numpy 2.4.6, by correlating what elements of masks
# do over 1,000 runs.
#
# Expected: the masks of two Dropout nodes (opset 13, training_mode true) without a seed, or with two
# seeds, have nothing to do with each other, nor have two elements of one mask.
# So it is not: each draw begins a small generator anew, from the next number. Equal elements of two
# masks have a fixed distance before they are compared with the ratio, so most of them correlate over
# runs, many by more than 0.5. Of one mask, pairs such as elements 10 and 18 go together over many
# runs. With two seeds that are far apart, too.
#
# Exits 0 while that is so. Output seen:
#   no seeds: of 63 equal elements of two masks 49 correlate by more than 0.2, one by 0.98
#   two seeds: of 63 equal elements of two masks 52 correlate by more than 0.2, one by 0.97
#   elements 10 and 18 of one mask: 0.82
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import numpy as np
import onnx
import onnxruntime

RUNS = 1000
X = np.ones(64, np.float32)


def masks(first: str, second: str) -> np.ndarray:
    """Runs, the two masks, elements."""
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[64] x) => (bool[64] m, bool[64] n) <float half = {{0.5}}, bool on = {{1}}> {{
            y, m = Dropout {first} (x, half, on)
            z, n = Dropout {second} (x, half, on) }}""")
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return np.array([session.run(None, {"x": X}) for _ in range(RUNS)], float)


is_so = True
for name, seeds in {
    "no seeds": ("", ""),
    "two seeds": ("<seed: int = 5>", "<seed: int = 900000>"),
}.items():
    drawn = masks(*seeds)
    # The first element stands still.
    one, other = drawn[:, 0, 1:].T, drawn[:, 1, 1:].T
    found = np.abs([np.corrcoef(a, b)[0, 1] for a, b in zip(one, other)])
    count = int((found > 0.2).sum())
    print(
        f"{name}: of 63 equal elements of two masks {count} correlate by more than 0.2, "
        f"one by {found.max():.2f}"
    )
    is_so = is_so and count > 20
pair = abs(np.corrcoef(drawn[:, 0, 10], drawn[:, 0, 18])[0, 1])
print(f"elements 10 and 18 of one mask: {pair:.2f}")
sys.exit(not (is_so and pair > 0.2))
PYTHON
