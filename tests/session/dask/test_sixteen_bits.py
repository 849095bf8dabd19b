"""Tensors that go between tasks as their upper 16 bits (white paper, section 5.5): half the bytes, as good a training."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tfnb as tf
from tfnb.datasets import mnist

pytestmark = pytest.mark.opencl
STEPS = 240


@pytest.fixture
def tasks(addresses):
    """A parameter server and a worker, with sockets between them."""
    ps, worker = addresses(2)
    cluster = {"ps": [ps], "worker": [worker]}
    servers = [tf.train.Server(cluster, job, 0) for job in cluster]
    yield servers
    for server in servers:
        server.close()


def config(half):
    return tf.ConfigProto(graph_options=tf.GraphOptions(enable_bfloat16_sendrecv=half))


def moved(tasks):
    """Bytes of tensors that each task has sent."""
    return np.array([server.task.channel.bytes_sent for server in tasks])


def test_half_the_bytes(tasks):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(tf.ones([256, 512]) * np.float32(1 + 2**-9), name="v")
        n = tf.Variable(np.arange(64, dtype=np.int64), name="n")
    with tf.device("/job:worker/task:0"):
        x, y = v + 0.0, n + 0
    for half, size, value in ((False, 4, np.float32(1 + 2**-9)), (True, 2, 1.0)):
        with tf.Session(tasks[1].target, config=config(half)) as session:
            session.run(tf.global_variables_initializer())
            before = moved(tasks)
            got, integers = session.run([x, y])
            sent = (moved(tasks) - before)[0]
        assert (got == value).all() and integers.tolist() == list(range(64))
        assert 0 <= sent - (256 * 512 * size + 64 * 8) < 200  # the rest tells how the step ended


def train(tasks, digits, half):
    """(accuracy on the test images, bytes per step) of a small network whose weights live on the server."""
    tf.Session.reset(tasks[1].target)
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        with tf.device(tf.train.replica_device_setter(1, worker_device="/job:worker/task:0")):
            x, labels = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
            hidden = tf.layers.dense(x, 64, tf.nn.relu)
            logits = tf.layers.dense(hidden, 10)
            loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
            step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
            right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
        order = np.random.default_rng(4)
        with tf.Session(tasks[1].target, config=config(half)) as session:
            session.run(tf.global_variables_initializer())
            before = moved(tasks)
            for _ in range(STEPS):
                rows = order.choice(digits.train.num_examples, 100, replace=False)
                session.run(step, {x: digits.train.images[rows], labels: digits.train.labels[rows]})
            sent = (moved(tasks) - before) / STEPS
            return session.run(right, {x: digits.test.images, labels: digits.test.labels}), sent


def test_mnist_to_the_same_accuracy(tasks, capsys):
    digits = mnist.read_data_sets(one_hot=False, seed=1)
    (whole, sent), (half, sent_half) = (train(tasks, digits, h) for h in (False, True))
    said = f"accuracy {whole:.4f}, 16 bits {half:.4f}; bytes a step {sent.sum():.0f}, 16 bits {sent_half.sum():.0f}\n"
    with capsys.disabled():
        sys.stderr.write(f"\n{said}")
    np.testing.assert_allclose(sent_half / sent, 0.5, atol=0.01)
    assert whole > 0.9
    assert abs(whole - half) < 0.012  # two deviations of the accuracy on 1,500 images
