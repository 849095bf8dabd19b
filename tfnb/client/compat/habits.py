"""What people write who know TensorFlow 2, each with the line that does it in a graph.

Invariant: a name of TensorFlow 1 is not in this table.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["NAMES"]

_GRADIENTS = "gradients are operations of the graph: dx = tf.gradients(y, x)[0], then sess.run(dx)"
_ALWAYS_A_GRAPH = "every function builds a graph here; leave the call out"
_DEVICES = "tf.list_devices() lists the devices; tf.ConfigProto(device_count=...) says how many a session has"
_SUMMARIES = (
    "summaries are operations here: merged = tf.summary.merge_all(), writer = tf.summary.FileWriter(folder), "
    "writer.add_summary(sess.run(merged), step)"
)
_RAGGED = "rows of unequal length are a tf.SparseTensor, or padded by tf.data.Dataset.padded_batch"

NAMES: Mapping[str, str] = {
    "RaggedTensor": _RAGGED,
    "ragged": _RAGGED,
    "autodiff": _GRADIENTS,
    "activations": "activations are functions of tf.nn, as tf.nn.relu, or of tf.keras.activations",
    "config.list_physical_devices": _DEVICES,
    "config.list_logical_devices": _DEVICES,
    "config.get_visible_devices": _DEVICES,
    "config.set_visible_devices": _DEVICES,
    "config.run_functions_eagerly": _ALWAYS_A_GRAPH,
    "config.functions_run_eagerly": _ALWAYS_A_GRAPH,
    "config.experimental.enable_op_determinism": "results are the same in each run already; leave the call out",
    "data.AUTOTUNE": "in TensorFlow 1 it is tf.data.experimental.AUTOTUNE",
    "initializers.GlorotNormal": "use tf.glorot_normal_initializer()",
    "initializers.GlorotUniform": "use tf.glorot_uniform_initializer()",
    "initializers.HeNormal": "use tf.keras.initializers.he_normal()",
    "keras.utils.set_random_seed": "use tf.set_random_seed(seed), before the graph is built",
    "losses.BinaryCrossentropy": "use tf.losses.sigmoid_cross_entropy, or tf.keras.losses.BinaryCrossentropy",
    "losses.CategoricalCrossentropy": "use tf.losses.softmax_cross_entropy, or tf.keras.losses.CategoricalCrossentropy",
    "losses.MeanSquaredError": "use tf.losses.mean_squared_error, or tf.keras.losses.MeanSquaredError",
    "losses.SparseCategoricalCrossentropy": "use tf.losses.sparse_softmax_cross_entropy, or that of tf.keras.losses",
    "metrics.Accuracy": "use tf.metrics.accuracy, or tf.keras.metrics.Accuracy",
    "metrics.Mean": "use tf.metrics.mean, or tf.keras.metrics.Mean",
    "optimizers": "optimizers are in tf.train: tf.train.AdamOptimizer(rate).minimize(loss); for models of Keras in "
    "tf.keras.optimizers",
    "random.set_seed": "use tf.set_random_seed(seed), before the graph is built",
    "summary.create_file_writer": _SUMMARIES,
    "summary.record_if": _SUMMARIES,
    "summary.trace_on": "give the step tf.RunOptions and tf.RunMetadata, and show it by tf.timeline",
}
