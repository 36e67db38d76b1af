#!/usr/bin/env bash
# Sampling without replacement that is exported as sampling with it. Found on 29 November 2026 on Linux
# x86-64, Python 3.11, with paddlepaddle 3.3.1, paddle2onnx 2.1.0, onnx 1.17.0, onnxruntime 1.23.2, by
# exporting paddle.multinomial with replacement=True and replacement=False.
#
# Expected: multinomial(p, 4, replacement=False) gives 4 different classes in each row, as in Paddle, or
# the converter refuses it: ONNX's Multinomial draws with replacement alone.
# So it is not: both calls become the same Multinomial, without a word, and rows repeat classes. (That
# Multinomial also reads probabilities, not their logarithms: that is another matter.)
#
# Exits 0 while that is so. Output seen:
#   rows with a repeated class: Paddle 0 of 2000, ONNX Runtime more than half
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q paddlepaddle==3.3.1 paddle2onnx==2.1.0 onnx==1.17.0 onnxruntime==1.23.2 setuptools==65.5.0
cat > "$folder/export.py" <<'PYTHON'
import os
import sys

import numpy as np
import onnxruntime
import paddle
import paddle2onnx


class Sampler(paddle.nn.Layer):
    def forward(self, p):
        return paddle.multinomial(p, 4, replacement=False)


folder = sys.argv[1]
module = Sampler()
spec = paddle.static.InputSpec([2000, 6], "float32", "p")
paddle.jit.save(module, f"{folder}/sampler", input_spec=[spec])
paddle2onnx.export(f"{folder}/sampler.json", "", f"{folder}/sampler.onnx", opset_version=17, optimize_tool="None")
p = np.full((2000, 6), 1 / 6, np.float32)


def repeating(classes) -> int:
    return sum(len({*row}) < len(row) for row in np.asarray(classes).tolist())


of_paddle = repeating(module(paddle.to_tensor(p)).numpy())
session = onnxruntime.InferenceSession(f"{folder}/sampler.onnx")
(drawn,) = session.run(None, {session.get_inputs()[0].name: p})
of_onnx = repeating(drawn)
amount = "more than half" if of_onnx > 1000 else str(of_onnx)
print(f"rows with a repeated class: Paddle {of_paddle} of 2000, ONNX Runtime {amount}")
sys.stdout.flush()
# Paddle's threads may outlive the interpreter.
os._exit(not (of_paddle == 0 and of_onnx > 1000))
PYTHON
"$folder/venv/bin/python" "$folder/export.py" "$folder" 2>"$folder/errors" || { tail -5 "$folder/errors"; exit 1; }
