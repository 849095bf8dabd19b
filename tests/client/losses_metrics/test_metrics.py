"""Metrics over batches. That they agree with TensorFlow: tests/oracle/client/test_metrics.py."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors


def test_accuracy_over_batches():
    labels, guesses = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None, 1])
    value, update = tf.metrics.accuracy(labels, guesses, updates_collections="updates")
    other, _ = tf.contrib.metrics.streaming_accuracy(guesses, labels, name="again")
    assert tf.get_collection("updates") == [update]
    names = [v.op.name for v in tf.local_variables()]
    assert names == ["accuracy/total", "accuracy/count", "again/total", "again/count"]
    assert tf.global_variables() == tf.trainable_variables() == []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run([value, other]) == [0, 0]
        assert session.run(update, {labels: [1, 2], guesses: [[1], [0]]}) == 0.5
        assert session.run(update, {labels: [3, 3], guesses: [[3], [3]]}) == 0.75
        assert session.run(value) == 0.75


@pytest.mark.parametrize(
    "metric",
    [
        lambda x: tf.metrics.mean(x),
        lambda x: tf.metrics.mean_tensor(x),
        lambda x: tf.metrics.mean_squared_error(tf.zeros([2]), x),
        lambda x: tf.metrics.percentage_below(x, 2.5),
    ],
)
def test_a_batch_that_does_not_come_does_not_count(metric):
    """The number of values is known without it where shapes are."""
    x = tf.data.Dataset.from_tensor_slices(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    value, update = metric(x.make_one_shot_iterator().get_next())
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for _ in range(2):
            last = session.run(update)
        for _ in range(5):
            with pytest.raises(errors.OutOfRangeError):
                session.run(update)
        np.testing.assert_array_equal(session.run(value), last)


def test_precision_recall_and_area():
    labels, scores = tf.placeholder(tf.bool, [4]), tf.placeholder(tf.float32, [4])
    metrics = [
        tf.metrics.precision(labels, scores > 0.5),
        tf.metrics.recall(labels, scores > 0.5),
        tf.metrics.auc(labels, scores),
    ]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        updates = [update for _, update in metrics]
        feeds = {labels: [True, False, True, False], scores: [0.9, 0.8, 0.3, 0.1]}
        np.testing.assert_allclose(session.run(updates, feeds), [0.5, 0.5, 0.75], atol=1e-3)
        session.run(tf.local_variables_initializer())
        assert session.run([value for value, _ in metrics])[:2] == [0, 0]


def test_what_is_refused():
    with pytest.raises(errors.ShapeError, match="do not fit"):
        tf.metrics.accuracy(tf.zeros([3]), tf.zeros([4]))
    with pytest.raises(errors.InvalidArgumentError, match="curve"):
        tf.metrics.auc(tf.zeros([3]), tf.zeros([3]), curve="AB")
    with pytest.raises(errors.InvalidArgumentError, match="thresholds"):
        tf.metrics.auc(tf.zeros([3]), tf.zeros([3]), num_thresholds=2)
    with pytest.raises(errors.InvalidArgumentError, match="0 to 1"):
        tf.metrics.sensitivity_at_specificity(tf.zeros([3]), tf.zeros([3]), 2.0)


def _updated(pair):
    with tf.Session() as s:
        s.run(tf.local_variables_initializer())
        return s.run(pair[1]), s.run(pair[0])


def test_weights_lose_or_gain_a_last_dimension():
    labels, guesses, weights = [[1], [0], [0]], [1, 1, 1], [[100], [1], [1]]
    with tf.Graph().as_default():
        found = _updated(tf.metrics.accuracy(tf.constant(labels), tf.constant(guesses), tf.constant(weights)))
        np.testing.assert_allclose(found, 100 / 102)
        values = np.arange(20).reshape(4, 5) % 3 == 0
        found = _updated(tf.metrics.false_negatives(values, ~values, weights=tf.constant([1.0, 1.5, 2.0, 2.5])))
        assert found[0] == (values.sum(1) * [1, 1.5, 2, 2.5]).sum()
        one = _updated(tf.metrics.mean(np.ones((3, 2, 1), np.float32), weights=np.ones((3, 2, 1, 1), np.float32)))
        assert one[0] == 1
        with pytest.raises(ValueError, match="weights"):
            tf.metrics.mean(np.ones((3, 2), np.float32), weights=np.ones((2, 2), np.float32))


def test_one_label_a_row_dense_and_sparse():
    dense = np.array([[3], [2]], np.int64)
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0], [1]], tf.constant([3, 2], tf.int64), [2])
        scores = tf.constant([[0.1, 0.3, 0.2, 0.4], [0.1, 0.2, 0.3, 0.4]])
        for labels in (dense, sparse):
            assert _updated(tf.metrics.precision_at_k(labels, scores, 1))[0] == 0.5
        # of a class that no row has there is no share
        assert np.isnan(_updated(tf.metrics.recall_at_k(dense, scores, 1, class_id=0))).all()


def test_classes_given_as_floats_and_classes_that_are_none():
    with tf.Graph().as_default():
        assert _updated(tf.metrics.mean_iou(tf.zeros([4]), tf.zeros([4]), 1))[1] == 1
        labels = tf.placeholder(tf.int32, [2])
        update = tf.metrics.mean_iou(labels, [0, 1], 2)[1]
        with tf.Session() as s:
            s.run(tf.local_variables_initializer())
            for wrong in ([0, 2], [-1, 0]):
                with pytest.raises(tf.errors.InvalidArgumentError):
                    s.run(update, {labels: wrong})


def test_weights_of_accuracy_whose_rank_a_step_gives():
    fed = tf.placeholder(tf.int32)
    _, update = tf.metrics.accuracy(tf.constant([[1], [0], [0]]), tf.constant([1, 1, 1]), fed)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(update, {fed: [[100], [1], [1]]}) == pytest.approx(100 / 102)


def test_recall_of_a_class_that_no_row_has():
    labels = tf.SparseTensorValue(np.int64([[0, 0], [1, 0]]), np.int64([3, 2]), np.int64([2, 4]))
    _, update = tf.metrics.recall_at_k(labels, tf.constant([[0.1, 0.3, 0.2, 0.4]] * 2), 1, class_id=-1)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert np.isnan(sess.run(update))
