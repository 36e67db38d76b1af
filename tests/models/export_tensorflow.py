"""Random operators of TensorFlow as tf2onnx leaves them, and as a saved model.

`tensorflow_draws.onnx`: inputs `x`, float[batch, 4], and `seed`, int32[2], of the stateless
operators; an output for each operator, named after it, [batch, 4], or [batch, 5] for the classes.
`saved_model/`, which OpenVINO converts: input `x`; an output for each draw, float[batch, 4].

    pip install tensorflow-cpu==2.21.0 tf2onnx==1.17.0
    python tests/models/export_tensorflow.py
"""

import shutil
from pathlib import Path

import onnx
import tensorflow as tf
import tf2onnx

X = tf.TensorSpec([None, 4], tf.float32, "x")
# Their shapes are known at run only: else tf2onnx computes most of these draws, and writes them as
# constants.
FUNCTIONS = {
    "StatelessRandomNormalV2": lambda x, s: tf.random.stateless_normal(tf.shape(x), s, 2.0, 3.0),
    "StatelessRandomUniformV2": lambda x, s: tf.random.stateless_uniform(tf.shape(x), s),
    "StatelessTruncatedNormalV2": lambda x, s: tf.random.stateless_truncated_normal(tf.shape(x), s),
    "StatelessRandomUniformIntV2": lambda x, s: tf.random.stateless_uniform(
        tf.shape(x), s, -3, 7, tf.int32
    ),
    "StatelessMultinomial": lambda x, s: tf.random.stateless_categorical(x, 5, s),
    "TruncatedNormal": lambda x, _: tf.random.truncated_normal(tf.shape(x), stddev=0.5),
    "HalfTruncatedNormal": lambda x, _: tf.random.truncated_normal(tf.shape(x), dtype=tf.float16),
    "StatelessRandomNormal": lambda x, s: tf.raw_ops.StatelessRandomNormal(
        shape=tf.shape(x), seed=s, dtype=tf.float64
    ),
    "StatelessRandomUniform": lambda x, s: tf.raw_ops.StatelessRandomUniform(
        shape=tf.shape(x), seed=s, dtype=tf.float16
    ),
    "StatelessRandomUniformInt": lambda x, s: tf.raw_ops.StatelessRandomUniformInt(
        shape=tf.shape(x), seed=s, minval=tf.constant(1, tf.int64), maxval=tf.constant(5, tf.int64)
    ),
    "StatelessTruncatedNormal": lambda x, s: tf.raw_ops.StatelessTruncatedNormal(
        shape=tf.shape(x), seed=s
    ),
}
# OpenVINO 2026.4 converts no other draws: RandomStandardNormal, TruncatedNormal, Multinomial,
# RandomGamma, RandomPoissonV2, RandomShuffle and the stateless ones are unknown to it.
# It merges equal draws of one shape into one: each has a seed of its own.
DRAWS = {
    "uniform": lambda x: tf.random.uniform(tf.shape(x), -1.0, 3.0, seed=1),
    "uniform_f16": lambda x: tf.random.uniform(
        tf.shape(x),
        dtype=tf.float16,
        seed=2,
    ),
    "uniform_f64": lambda x: tf.random.uniform(
        tf.shape(x),
        dtype=tf.float64,
        seed=3,
    ),
    "integers": lambda x: tf.random.uniform(tf.shape(x), -3, 7, tf.int32, seed=4),
    "integers_64": lambda x: tf.random.uniform(tf.shape(x), -3, 7, tf.int64, seed=5),
    "below": lambda x: tf.random.uniform(tf.shape(x), seed=6) < 0.3,
    "dropout": lambda x: tf.nn.dropout(x, 0.5, seed=7),
    "branch": lambda x: tf.cond(
        tf.reduce_sum(x) > 0, lambda: tf.random.uniform(tf.shape(x), seed=8), lambda: x
    ),
}


@tf.function(input_signature=[X, tf.TensorSpec([2], tf.int32, "seed")])
def draws(x, seed):
    return {name: tf.identity(draw(x, seed), name) for name, draw in FUNCTIONS.items()}


class Draws(tf.Module):
    """Each draw once."""

    @tf.function(input_signature=[X])
    def __call__(self, x):
        return {name: tf.cast(draw(x), tf.float32) for name, draw in DRAWS.items()}


folder = Path(__file__).parent
model, _ = tf2onnx.convert.from_function(
    draws,
    input_signature=draws.input_signature,
    opset=17,
)
onnx.save(model, folder / "tensorflow_draws.onnx")
saved = Draws()
tf.saved_model.save(
    saved,
    str(folder / "saved_model"),
    signatures=saved.__call__,
)
# The model has no variables.
for name in ("variables", "assets"):
    shutil.rmtree(folder / "saved_model" / name)
(folder / "saved_model" / "fingerprint.pb").unlink()
