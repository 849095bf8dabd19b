"""`tf.contrib.metrics` and the losses of metric learning: values of three batches are TensorFlow 1.15.5's."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

M = tf.contrib.metrics
L = tf.contrib.losses.metric_learning
_numbers = np.random.RandomState(0)
PREDICTIONS = [_numbers.rand(6).astype("f") for _ in range(3)]
LABELS = [_numbers.rand(6) > 0.5 for _ in range(3)]
WEIGHTS = [_numbers.rand(6).astype("f") for _ in range(3)]
SCORES = [_numbers.rand(4, 5).astype("f") for _ in range(3)]
CLASSES = [_numbers.randint(0, 5, 4).astype("i8") for _ in range(3)]
EMBEDDINGS, OTHERS = _numbers.randn(6, 4).astype("f"), _numbers.randn(6, 4).astype("f")


def best(s):
    return tf.cast(tf.nn.top_k(s, 2)[1], tf.int64)


METRICS = {
    "count": lambda p, y, w, s, k: M.count(p),
    "countw": lambda p, y, w, s, k: M.count(p, w),
    "cov": lambda p, y, w, s, k: M.streaming_covariance(p, tf.cast(y, tf.float32)),
    "covw": lambda p, y, w, s, k: M.streaming_covariance(p, tf.cast(y, tf.float32), w),
    "pear": lambda p, y, w, s, k: M.streaming_pearson_correlation(p, tf.cast(y, tf.float32), w),
    "kappa": lambda p, y, w, s, k: M.cohen_kappa(k, tf.argmax(s, 1), 5),
    "fpr": lambda p, y, w, s, k: M.streaming_false_positive_rate(p > 0.5, y, w),
    "fnr": lambda p, y, w, s, k: M.streaming_false_negative_rate(p > 0.5, y),
    "fprt": lambda p, y, w, s, k: M.streaming_false_positive_rate_at_thresholds(p, y, [0.3, 0.6], w),
    "fnrt": lambda p, y, w, s, k: M.streaming_false_negative_rate_at_thresholds(p, y, [0.3, 0.6]),
    "f1": lambda p, y, w, s, k: M.f1_score(y, p, w),
    "par": lambda p, y, w, s, k: M.precision_at_recall(y, p, 0.7, w),
    "rap": lambda p, y, w, s, k: M.recall_at_precision(y, p, 0.7),
    "raps": lambda p, y, w, s, k: M.recall_at_precision(y, p, 0.7, strict_mode=True),
    "rak": lambda p, y, w, s, k: M.streaming_recall_at_k(s, k, 2),
    "srtk": lambda p, y, w, s, k: M.sparse_recall_at_top_k(k[:, None], best(s)),
    "sptk": lambda p, y, w, s, k: M.streaming_sparse_precision_at_top_k(best(s), k[:, None]),
    "sap": lambda p, y, w, s, k: M.streaming_sparse_average_precision_at_k(s, k[:, None], 3),
}
IDS = np.int32([0, 0, 1, 1, 2, 2])


def several(i):
    """Two labels of an example: its number modulo 3, and 3."""
    places, ones, shape = ([[i % 3], [3]], [1, 1], [4])
    return tf.SparseTensor(*(tf.constant(x, tf.int64) for x in (places, ones, shape)))


LOSSES = {
    "contr": lambda: L.contrastive_loss(np.int32([1, 0, 1, 0, 1, 1]), EMBEDDINGS, OTHERS),
    "trip": lambda: L.triplet_semihard_loss(IDS, EMBEDDINGS),
    "trip2": lambda: L.triplet_semihard_loss(np.int32([0, 0, 0, 1, 1, 1]), EMBEDDINGS * np.float32(0.3), 0.5),
    "lift": lambda: L.lifted_struct_loss(IDS, EMBEDDINGS * np.float32(0.3)),
    "np": lambda: L.npairs_loss(IDS, EMBEDDINGS, OTHERS),
    "npm": lambda: L.npairs_loss_multilabel([several(i) for i in range(6)], EMBEDDINGS, OTHERS, print_losses=True),
}
EXPECTED = {
    "count": [[6.0], [12.0], [18.0]],
    "countw": [[3.6511], [6.0857], [8.8641]],
    "cov": [[0.0313], [0.0126], [0.0511]],
    "covw": [[0.0225], [-0.0115], [0.0533]],
    "pear": [[0.682], [-0.1228], [0.3358]],
    "kappa": [[0.1429], [0.0588], [0.1]],
    "fpr": [[0.0], [0.4294], [0.2981]],
    "fnr": [[0.0], [0.125], [0.1818]],
    "fprt": [[1.0, 0.0], [1.0, 0.3599], [0.5818, 0.1789]],
    "fnrt": [[0.0, 0.4], [0.0, 0.375], [0.0909, 0.3636]],
    "f1": [[1.0], [0.8419], [0.8257]],
    "par": [[1.0], [0.8423], [0.804]],
    "rap": [[1.0], [0.875], [0.8182]],
    "raps": [[1.0], [0.875], [0.8182]],
    "rak": [[0.25], [0.5], [0.5833]],
    "srtk": [[0.25], [0.5], [0.5833]],
    "sptk": [[0.125], [0.25], [0.2917]],
    "sap": [[0.25], [0.4167], [0.4444]],
    "contr": 6.8356,
    "trip": 2.1326,
    "trip2": 0.5375,
    "lift": 4.9406,
    "np": 3.4421,
    "npm": 3.16,
}


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_metric_is_tensorflows(name):
    p, y, w = (tf.placeholder(t, [6]) for t in (tf.float32, tf.bool, tf.float32))
    s, k = tf.placeholder(tf.float32, [4, 5]), tf.placeholder(tf.int64, [4])
    value, update = METRICS[name](p, y, w, s, k)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        for i in range(3):
            fed = {p: PREDICTIONS[i], y: LABELS[i], w: WEIGHTS[i], s: SCORES[i], k: CLASSES[i]}
            updated = sess.run(update, fed)
            found = np.ravel(sess.run(value))
            np.testing.assert_allclose(found, EXPECTED[name][i], atol=2e-4)
            np.testing.assert_allclose(np.ravel(updated), found, atol=1e-6)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_a_loss_of_metric_learning_is_tensorflows(name):
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(LOSSES[name]()), EXPECTED[name], rtol=1e-3)


def test_lists_and_maps_of_metrics():
    pairs = {"mean": (1, 2), "count": (3, 4)}
    assert M.aggregate_metric_map(pairs) == ({"mean": 1, "count": 3}, {"mean": 2, "count": 4})
    assert M.aggregate_metrics((1, 2), (3, 4)) == ([1, 3], [2, 4])
    value, _ = M.count(tf.constant([1.0]), metrics_collections=["kept"])
    assert tf.get_collection("kept") == [value]


@pytest.mark.parametrize(
    "wrong",
    [
        M.aggregate_metrics,
        lambda: M.cohen_kappa([0], [0], 1),
        lambda: M.precision_at_recall([True], [0.5], 2.0),
        lambda: M.recall_at_precision([True], [0.5], -1.0),
        lambda: L.npairs_loss_multilabel([1], EMBEDDINGS, OTHERS),
        lambda: L.npairs_loss(np.zeros([2, 2]), EMBEDDINGS, OTHERS),
    ],
)
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises((errors.InvalidArgumentError, errors.DTypeError, errors.ShapeError)):
        wrong()
