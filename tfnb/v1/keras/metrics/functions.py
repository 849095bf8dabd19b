"""Metrics that are functions of labels and predictions, one value per row.

Invariant: those that are losses, too, are the very functions of `losses`.
"""

from __future__ import annotations

from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.v1.keras import losses
from tfnb.v1.keras.graph_api import tf

mse = MSE = mean_squared_error = losses.mean_squared_error
mae = MAE = mean_absolute_error = losses.mean_absolute_error
mape = MAPE = mean_absolute_percentage_error = losses.mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error = losses.mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence = losses.kullback_leibler_divergence
cosine = cosine_proximity = cosine_similarity = losses.cosine_proximity
binary_crossentropy = losses.binary_crossentropy
categorical_crossentropy = losses.categorical_crossentropy
sparse_categorical_crossentropy = losses.sparse_categorical_crossentropy
hinge, squared_hinge, categorical_hinge = losses.hinge, losses.squared_hinge, losses.categorical_hinge
poisson, logcosh = losses.poisson, losses.logcosh


def accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns 1 where prediction and label are equal."""
    y_true, y_pred = tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred)
    return tf.cast(tf.equal(tf.cast(y_true, y_pred.dtype), y_pred), tf.float32)


def binary_accuracy(y_true: TensorLike, y_pred: TensorLike, threshold: float = 0.5) -> Tensor:
    """Returns the share of the last dimension in which the prediction is above `threshold` where the label is 1."""
    y_pred = tf.convert_to_tensor(y_pred)
    above = tf.cast(y_pred > threshold, y_pred.dtype)
    return tf.reduce_mean(tf.cast(tf.equal(tf.cast(y_true, y_pred.dtype), above), tf.float32), -1)


def categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns 1 where the largest prediction is that of the one-hot label."""
    return tf.cast(tf.equal(tf.argmax(y_true, -1), tf.argmax(y_pred, -1)), tf.float32)


def sparse_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns 1 where the largest prediction is that of the class number."""
    y_true, y_pred = tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred)
    if y_true.shape.ndims is not None and y_true.shape.ndims == y_pred.shape.ndims:
        y_true = tf.squeeze(y_true, [-1])
    return tf.cast(tf.equal(tf.cast(y_true, tf.int64), tf.argmax(y_pred, -1)), tf.float32)


def top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """Returns 1 where the one-hot label is among the `k` largest predictions."""
    return tf.cast(tf.nn.in_top_k(y_pred, tf.argmax(y_true, -1), k), tf.float32)


def sparse_top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """Returns 1 where the class number is among the `k` largest predictions."""
    labels = tf.reshape(tf.cast(y_true, tf.int32), [-1])
    return tf.cast(tf.nn.in_top_k(y_pred, labels, k), tf.float32)
