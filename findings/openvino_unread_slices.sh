#!/usr/bin/env bash
# OpenVINO: a TensorIterator whose body does not read its sliced input runs once, whatever the input's length.
#
# Expected: a TensorIterator that slices [1, 5, 2] along axis 1 runs five times, also where its body only counts
# and does not read the slices: the sum is 5, and the concatenated output is [1, 5, 2], as the model declares.
# So it is: on a CPU it is as if the input that nothing reads were gone, and with it the number of iterations: the
# body runs once, the sum is 1, and the output of a declared static shape [1, 5, 2] is [1, 1, 2]. There is no error.
# A body that reads the slices, if only times 0, runs five times.
#
# Versions: openvino 2026.4.1 (CPU, Linux x86-64), numpy 2.4.6, Python 3.11.
# 29 November 2026. Source: met while TensorIterators whose noise has the shape of a slice were judged; this script.
# Output seen:
#   the slices are read: the sum is 5, the shape (1, 5, 2), declared [1,5,2]
#   the slices are not read: the sum is 1, the shape (1, 1, 2), declared [1,5,2]
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
from openvino import opset15

LENGTH = 5


def counting(reads_slices):
    """A model that adds 1 in each iteration, and gives the last sum and all of them."""
    x = opset15.parameter([1, LENGTH, 2], np.float32, name="x")
    zero = opset15.parameter([1, 2], np.float32, name="zero")
    piece = opset15.parameter([1, 1, 2], np.float32)
    before = opset15.parameter([1, 2], np.float32)
    after = opset15.add(before, np.ones((1, 2), np.float32))
    if reads_slices:
        nothing = opset15.multiply(piece, np.float32(0))
        after = opset15.add(after, opset15.squeeze(nothing, np.array([1], np.int64)))
    row = opset15.unsqueeze(after, np.array([1], np.int64))
    iterator = opset15.tensor_iterator()
    iterator.set_body(ov.Model([after, row], [piece, before], "body"))
    iterator.set_sliced_input(piece, x.output(0), 0, 1, 1, -1, 1)
    iterator.set_merged_input(before, zero.output(0), after.output(0))
    last = iterator.get_iter_value(after.output(0), -1)
    every = iterator.get_concatenated_slices(row.output(0), 0, 1, 1, -1, 1)
    return ov.Model([opset15.result(last), opset15.result(every)], [x, zero], "model")


seen = []
for reads_slices in (True, False):
    model = counting(reads_slices)
    declared = model.outputs[1].get_partial_shape()
    x = np.ones((1, LENGTH, 2), np.float32)
    answers = ov.Core().compile_model(model, "CPU")([x, np.zeros((1, 2), np.float32)])
    total = float(answers[0][0, 0])
    shape = answers[1].shape
    what = "read" if reads_slices else "not read"
    print(f"the slices are {what}: the sum is {total:g}, the shape {shape}, declared {declared}")
    seen.append((total, shape))
sys.exit(seen != [(LENGTH, (1, LENGTH, 2)), (1, (1, 1, 2))])
PYTHON
