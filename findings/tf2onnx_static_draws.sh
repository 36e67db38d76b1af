#!/usr/bin/env bash
# Which of TensorFlow's draws become a constant of the ONNX file. Found on 29 November 2026 on Linux
# x86-64, Python 3.11, with tensorflow-cpu 2.21.0 and tf2onnx 1.17.0, by exporting some forty functions.
#
# Expected: a function that draws has a file that draws, or the conversion says that it does not.
# So it is not where the shape of x is static: random.truncated_normal(tf.shape(x)) leaves the numbers of
# one draw in the file, without a word, while random.normal stays a RandomNormal. The same with stateless
# draws of a constant seed, whose every run is one anyway, but tf.nn.experimental.stateless_dropout so
# becomes a fixed mask. Where the batch is dynamic each stays a node.
#
# Exits 0 while that is so. Output seen:
#   normal: static draws, dynamic draws
#   truncated_normal: static constant, dynamic draws
#   stateless_dropout: static constant, dynamic draws
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q tensorflow-cpu==2.21.0 tf2onnx==1.17.0
TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" - <<'PYTHON' 2>"$folder/errors" || { tail -5 "$folder/errors"; exit 1; }
import sys

import tensorflow as tf
import tf2onnx

FUNCTIONS = {
    "normal": lambda x: x + tf.random.normal(tf.shape(x)),
    "truncated_normal": lambda x: x + tf.random.truncated_normal(tf.shape(x)),
    "stateless_dropout": lambda x: tf.nn.experimental.stateless_dropout(x, 0.3, [1, 2]),
}


def verdict(function, batch) -> str:
    signature = [tf.TensorSpec((batch, 40), tf.float32, name="x")]
    made = tf.function(function, input_signature=signature)
    model, _ = tf2onnx.convert.from_function(made, input_signature=signature, opset=17)
    kinds = [node.op_type for node in model.graph.node]
    return "draws" if any("Random" in k or "Truncated" in k for k in kinds) else "constant"


found = {}
for name, function in FUNCTIONS.items():
    found[name] = verdict(function, 6), verdict(function, None)
    print(f"{name}: static {found[name][0]}, dynamic {found[name][1]}", flush=True)
wanted = dict.fromkeys(FUNCTIONS, ("constant", "draws")) | {"normal": ("draws", "draws")}
sys.exit(found != wanted)
PYTHON
