"""tf.losses: collections and errors. Values are compared with TensorFlow's in tests/oracle."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors


def test_collections_and_total():
    a = tf.losses.mean_squared_error([1.0, 2.0], [2.0, 4.0])
    b = tf.losses.absolute_difference([1.0], [4.0], loss_collection="mine")
    with tf.name_scope("inner"):
        c = tf.losses.absolute_difference([1.0], [4.0], weights=2.0)
    tf.losses.add_loss(tf.constant(10.0))
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(100.0))
    assert tf.losses.get_losses(loss_collection="mine") == [b]
    assert tf.losses.get_losses("inner") == [c]
    total, plain = (
        tf.losses.get_total_loss(),
        tf.losses.get_total_loss(add_regularization_losses=False),
    )
    with tf.Session() as session:
        assert session.run([a, total, plain]) == [2.5, 118.5, 18.5]


def test_nothing_collected():
    with pytest.raises(errors.InvalidArgumentError):
        tf.losses.get_total_loss()
    with tf.Session() as session:
        assert session.run(tf.losses.get_regularization_loss()) == 0.0


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda: tf.losses.mean_squared_error(tf.zeros([2, 3]), tf.zeros([2])), errors.ShapeError),
        (lambda: tf.losses.mean_squared_error(None, tf.zeros([2])), errors.InvalidArgumentError),
        (
            lambda: tf.losses.mean_squared_error([1.0], [2.0], reduction="some"),
            errors.InvalidArgumentError,
        ),
        (
            lambda: tf.losses.mean_squared_error(tf.zeros([2, 3]), tf.zeros([2, 3]), tf.zeros([2])),
            errors.ShapeError,
        ),
        (
            lambda: tf.losses.cosine_distance(tf.zeros([2]), tf.zeros([2])),
            errors.InvalidArgumentError,
        ),
    ],
)
def test_errors(build, error):
    with pytest.raises(error):
        build()


@pytest.mark.parametrize("loss", [tf.nn.softmax_cross_entropy_with_logits, tf.nn.softmax_cross_entropy_with_logits_v2])
def test_one_hot_labels_of_another_dtype_are_cast(loss):
    logits = tf.constant([[1.0, 3.0], [2.0, 0.0]])
    rows = [[0, 1], [1, 0]]
    found = [loss(logits=logits, labels=tf.constant(rows, t)) for t in (tf.float32, tf.float64, tf.int32)]
    assert [f.dtype for f in found] == [tf.float32] * 3
    with tf.Session() as session:
        first, *rest = session.run(found)
    assert all(r.tolist() == first.tolist() for r in rest)


def test_class_numbers_are_labels_of_another_loss():
    for labels in ([1, 2], [[1], [2]]):
        with pytest.raises(errors.ShapeError, match=r"int32 of shape .* labels of sparse_softmax_cross_entropy"):
            tf.losses.softmax_cross_entropy(labels, tf.zeros([2, 10]))


def test_labels_with_an_extra_dimension():
    logits = tf.constant([[1.0, 3.0], [2.0, 0.0]])
    a = tf.losses.sparse_softmax_cross_entropy([[1], [0]], logits)
    b = tf.losses.sparse_softmax_cross_entropy([1, 0], logits)
    with tf.Session() as session:
        assert session.run(a) == session.run(b)


def test_weights_whose_rank_only_a_run_knows():
    w = tf.placeholder(tf.float32)
    loss = tf.losses.compute_weighted_loss(np.ones((4, 2, 3), np.float32), weights=w)
    with tf.Session() as s:
        assert s.run(loss, {w: 3.0}) == 3
        assert s.run(loss, {w: np.ones((4, 1, 3))}) == 1
        for wrong in ([17.0], np.ones((4, 2, 3, 1)), np.ones((2, 1, 1))):
            with pytest.raises(tf.errors.InvalidArgumentError):
                s.run(loss, {w: wrong})


@pytest.mark.parametrize("weights", [np.ones(3), np.ones((3, 1)), np.ones((3, 2)), np.ones((2, 2, 2, 2)), np.ones(2)])
def test_weights_that_do_not_fit(weights):
    values, fed = np.ones((3, 2, 4), np.float32), tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        tf.losses.compute_weighted_loss(values, weights)
    loss = tf.losses.compute_weighted_loss(values, fed)
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast"):
        sess.run(loss, {fed: weights})


def test_weights_whose_rank_a_step_gives():
    logits = tf.constant([[10.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 10.0]])
    fed = tf.placeholder(tf.float32)
    loss = tf.losses.sparse_softmax_cross_entropy([[2], [0], [1]], logits, fed)
    with tf.Session() as sess:
        for weights in ([[1.2], [3.4], [5.6]], [1.2, 3.4, 5.6]):
            assert sess.run(loss, {fed: weights}) == pytest.approx(34.0, abs=1e-3)
        assert sess.run(loss, {fed: 2.0}) == pytest.approx(20.0, abs=1e-3)


def test_sampled_softmax_of_one_label_for_all_rows():
    """A program of 0.x gives the number 0 as the label of the whole batch."""
    with tf.Graph().as_default(), tf.Session() as sess:
        w, b, x = tf.ones([9, 4]), tf.zeros([9]), tf.random_normal([8, 4], seed=1)
        given = tf.nn.uniform_candidate_sampler(tf.zeros([1, 1], tf.int64), 1, 5, True, 9, seed=2)
        one, each = (
            tf.nn.sampled_softmax_loss(w, b, tf.zeros([n, 1], tf.int32), x, 5, 9, sampled_values=given) for n in (1, 8)
        )
        found = sess.run([one, each])
        assert found[0].shape == (8,)
        np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
def test_losses_of_differences_are_float32(dtype):
    """TensorFlow casts labels and predictions, so a loss of doubles can be added to a regularization loss."""
    labels, predictions = tf.constant([[1, 0]], dtype), tf.constant([[0, 1]], dtype)
    losses = tf.losses
    functions = (losses.absolute_difference, losses.hinge_loss, losses.huber_loss, losses.log_loss)
    functions += (losses.mean_squared_error, losses.mean_pairwise_squared_error)
    found = [f(labels, predictions) for f in functions]
    found += [
        losses.cosine_distance(labels, predictions, axis=1),
        tf.contrib.losses.mean_squared_error(predictions, labels),
    ]
    assert {loss.dtype for loss in found} == {tf.float32} and losses.get_total_loss().dtype == tf.float32
    if dtype == "float64":
        assert losses.sigmoid_cross_entropy(labels, predictions).dtype == tf.float64
