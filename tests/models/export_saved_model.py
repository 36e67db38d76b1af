"""Random operators of TensorFlow as a saved model, which OpenVINO converts: `saved_model/`.

Input: `x`, float[batch, 4]. Outputs: one for each draw, named after it, float[batch, 4].

    pip install tensorflow-cpu==2.21.0
    python tests/models/export_saved_model.py
"""

import shutil
from pathlib import Path

import tensorflow as tf

# OpenVINO 2026.4 converts no other draws: RandomStandardNormal, TruncatedNormal, Multinomial,
# RandomGamma, RandomPoissonV2, RandomShuffle and the stateless ones are unknown to it.
# It merges equal draws of one shape into one: each has a seed of its own.
DRAWS = {
    "uniform": lambda x: tf.random.uniform(tf.shape(x), -1.0, 3.0, seed=1),
    "uniform_f16": lambda x: tf.random.uniform(tf.shape(x), dtype=tf.float16, seed=2),
    "uniform_f64": lambda x: tf.random.uniform(tf.shape(x), dtype=tf.float64, seed=3),
    "integers": lambda x: tf.random.uniform(tf.shape(x), -3, 7, tf.int32, seed=4),
    "integers_64": lambda x: tf.random.uniform(tf.shape(x), -3, 7, tf.int64, seed=5),
    "below": lambda x: tf.random.uniform(tf.shape(x), seed=6) < 0.3,
    "dropout": lambda x: tf.nn.dropout(x, 0.5, seed=7),
    "branch": lambda x: tf.cond(
        tf.reduce_sum(x) > 0, lambda: tf.random.uniform(tf.shape(x), seed=8), lambda: x
    ),
}


class Draws(tf.Module):
    """Each draw once."""

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def __call__(self, x):
        return {name: tf.cast(draw(x), tf.float32) for name, draw in DRAWS.items()}


folder = Path(__file__).with_name("saved_model")
draws = Draws()
tf.saved_model.save(draws, str(folder), signatures=draws.__call__)
# The model has no variables.
for name in ("variables", "assets"):
    shutil.rmtree(folder / name)
(folder / "fingerprint.pb").unlink()
