#!/usr/bin/env bash
# Keras: predict draws the same noise for each batch and in each call, where calling the model draws anew.
#
# Expected: a model whose Dropout or GaussianNoise is called with training=True draws in predict what it draws when
# it is called: other masks in each call, and others for each batch.
# So it is: predict and predict_on_batch begin each batch at the same seed, so all batches have one mask, and all
# calls repeat it; model(x) draws anew each time. The spread of many calls of predict (MC dropout) is 0.
#
# Versions: keras 3.15.1, jax 0.10.2 as its backend, numpy 2.4.6, Python 3.11, Linux x86-64. The backend of tensorflow
# 2.21.0 does the same. 29 November 2026. Source: met while seeds of Keras were tried; this script.
# Output seen:
#   jax Dropout: calls repeat False, predict repeats True, its batches are equal True
#   jax GaussianNoise: calls repeat False, predict repeats True, its batches are equal True
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet keras==3.15.1 jax==0.10.2 numpy==2.4.6
KERAS_BACKEND=jax "$folder/venv/bin/python" - <<'PYTHON' 2>"$folder/errors" || { tail -5 "$folder/errors"; exit 1; }
import sys

import keras
import numpy as np
from keras import layers

X = np.ones((4, 64), np.float32)
is_so = True
for layer in (layers.Dropout(0.5), layers.GaussianNoise(0.5)):
    given = keras.Input((64,))
    model = keras.Model(given, layer(given, training=True))
    calls = [keras.ops.convert_to_numpy(model(X)) for _ in range(2)]
    predicted = [model.predict(X, batch_size=2, verbose=0) for _ in range(2)]
    seen = (
        np.array_equal(*calls),
        np.array_equal(*predicted),
        np.array_equal(predicted[0][:2], predicted[0][2:]),
    )
    name = f"{keras.backend.backend()} {type(layer).__name__}"
    print(f"{name}: calls repeat {seen[0]}, predict repeats {seen[1]}, its batches are equal {seen[2]}")
    is_so = is_so and seen == (False, True, True)
sys.exit(not is_so)
PYTHON
