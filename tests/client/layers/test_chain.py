"""The fluent chain: plain graph with scopes and summaries."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors
from tfnb.datasets import mnist


def test_a_lenet_in_one_expression_learns():
    images, labels = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
    with tf.chain_defaults(activation_fn=tf.nn.relu):
        probabilities, logits, loss = (
            tf.chain(images)
            .reshape([-1, 28, 28, 1])
            .conv2d(5, 4, stride=2)
            .max_pool(2)
            .flatten()
            .fully_connected(16)
            .softmax_classifier(10, labels)
        )
    assert {v.op.name: v.shape.as_list() for v in tf.trainable_variables()} == {
        "conv2d/layer/kernel": [5, 5, 1, 4],
        "conv2d/layer/bias": [4],
        "fully_connected/layer/kernel": [196, 16],
        "fully_connected/layer/bias": [16],
        "softmax_classifier/layer/kernel": [16, 10],
        "softmax_classifier/layer/bias": [10],
    }
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 4
    assert probabilities.shape.as_list() == logits.shape.as_list() == [None, 10]
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    data = mnist.read_data_sets().train
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feeds = {images: data.images[:64].reshape(64, 784), labels: data.labels[:64]}
        seen = [session.run([loss, train], feeds)[0] for _ in range(15)]
        np.testing.assert_allclose(session.run(probabilities, feeds).sum(1), 1, rtol=1e-5)
    assert seen[-1] < 0.7 * seen[0]


def test_links():
    x = tf.chain(tf.ones([2, 8, 8, 2]))
    assert tf.chain(x) is x
    assert "(2, 8, 8, 2)" in repr(x)
    with tf.chain_defaults(summaries=False):
        y = x.deconv2d(3, 3, stride=2).average_pool(4).batch_normalize(training=False)
        assert y.shape.as_list() == [2, 4, 4, 3]
        z = y.dropout(0.5, training=False).apply(tf.reduce_mean, [1, 2])
        assert z.shape.as_list() == [2, 3]
        error = z.l2_regression(tf.zeros([2, 3]))
        soft = z.softmax_classifier(4, np.eye(4, dtype="f")[:2])
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == []
    assert tf.add(z, 1.0).shape.as_list() == [2, 3]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        mean, value = session.run([z.tensor, error])
        np.testing.assert_allclose(value, np.mean(mean**2), rtol=1e-5)
        assert session.run(soft.loss) > 0


def test_what_is_refused():
    with pytest.raises(errors.InvalidArgumentError, match="no option speed"), tf.chain_defaults(speed=1):
        pass


def test_the_chain_of_the_tour_ends_in_a_softmax():
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.chain(np.ones((2, 8), "f")).fully_connected(4, tf.nn.relu).softmax(10)
        z = tf.chain([[0.0, 0.0]]).softmax()
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(y.tensor).sum(1), [1, 1], rtol=1e-6)
        assert y.shape == (2, 10) and session.run(z.tensor).tolist() == [[0.5, 0.5]]
        assert [v.shape for v in tf.trainable_variables()] == [(8, 4), (4,), (4, 10), (10,)]
