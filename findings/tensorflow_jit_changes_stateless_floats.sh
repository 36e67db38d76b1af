#!/usr/bin/env bash
# TensorFlow: jit_compile changes the floats of stateless draws, and keeps their integers.
#
# Expected: tf.random.stateless_uniform(..., seed, alg="philox") is a function of its arguments: the same in a
# tf.function with jit_compile=True as without, on one processor.
# So it is: integers and f16 are the same. Uniforms of f32, f64 and bf16 are others (XLA makes a float of the high
# bits of a word, TensorFlow's kernel of the low ones), and so are the normals, and the masks of a
# stateless_dropout. A service that is compiled later draws other numbers of its seeds.
#
# Versions: tensorflow-cpu 2.21.0, numpy 2.4.6, Python 3.11, Linux x86-64. 29 November 2026.
# Source: met while Philox in TensorFlow and XLA was compared; this script.
# Output seen:
#   int32: same
#   int64: same
#   uniform f16: same
#   uniform f32: other
#   uniform f64: other
#   uniform bf16: other
#   normal f32: other
#   dropout f32: other
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet tensorflow-cpu==2.21.0 numpy==2.4.6
TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES= "$folder/venv/bin/python" - <<'PYTHON' 2>"$folder/errors" || { tail -5 "$folder/errors"; exit 1; }
import sys

import numpy as np
import tensorflow as tf

SEED = tf.constant([1, 2])


def integers(dtype):
    return lambda: tf.random.stateless_uniform([64], SEED, 0, 100, dtype, alg="philox")


def uniform(dtype):
    return lambda: tf.random.stateless_uniform([64], SEED, dtype=dtype, alg="philox")


DRAWS = {
    "int32": integers(tf.int32),
    "int64": integers(tf.int64),
    "uniform f16": uniform(tf.float16),
    "uniform f32": uniform(tf.float32),
    "uniform f64": uniform(tf.float64),
    "uniform bf16": uniform(tf.bfloat16),
    "normal f32": lambda: tf.random.stateless_normal([64], SEED, alg="philox"),
    "dropout f32": lambda: tf.nn.experimental.stateless_dropout(tf.ones([64]), 0.5, SEED),
}
same = set()
for name, draw in DRAWS.items():
    compiled = tf.function(draw, jit_compile=True)
    is_same = np.array_equal(draw().numpy(), compiled().numpy())
    print(f"{name}: {'same' if is_same else 'other'}")
    if is_same:
        same.add(name)
sys.stdout.flush()
sys.exit(same != {"int32", "int64", "uniform f16"})
PYTHON
