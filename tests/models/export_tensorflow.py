"""Random operators of TensorFlow as tf2onnx leaves them: `tensorflow_draws.onnx`.

Inputs: `x`, float[batch, 4]; `seed`, int32[2], of the stateless operators.
Outputs: one for each operator, named after it; of shape [batch, 4], or [batch, 5] for the classes.

    pip install tensorflow-cpu==2.21.0 tf2onnx==1.17.0
    python tests/models/export_tensorflow.py
"""

from pathlib import Path

import onnx
import tensorflow as tf
import tf2onnx

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


@tf.function(
    input_signature=[
        tf.TensorSpec([None, 4], tf.float32, "x"),
        tf.TensorSpec([2], tf.int32, "seed"),
    ]
)
def draws(x, seed):
    return {name: tf.identity(draw(x, seed), name) for name, draw in FUNCTIONS.items()}


model, _ = tf2onnx.convert.from_function(draws, input_signature=draws.input_signature, opset=17)
onnx.save(model, Path(__file__).with_name("tensorflow_draws.onnx"))
