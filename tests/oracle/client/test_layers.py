"""Layers trained side by side with TensorFlow's ops on the same variables: equal weights after several steps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tfnb as tf

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

STEPS = 4


def _ours(dtype: type, data: Any, labels: Any) -> tuple[dict[str, Any], list[Any], Any]:
    graph = tf.Graph()
    with graph.as_default():
        x, y = tf.placeholder(dtype, [None, 8, 8, 2]), tf.placeholder(np.int64, [None])
        training = tf.placeholder(bool, [])
        h = tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu, kernel_regularizer=_l2)
        h = tf.layers.batch_normalization(h, training=training, momentum=0.9)
        h = tf.layers.max_pooling2d(h, 2, 2)
        h = tf.layers.flatten(h)
        h = tf.layers.dense(h, 5, activation=tf.nn.tanh)
        h = tf.layers.batch_normalization(h, training=training, momentum=0.8, center=False)
        logits = tf.layers.dense(h, 3, name="logits", use_bias=False)
        tf.losses.sparse_softmax_cross_entropy(y, logits)
        loss = tf.losses.get_total_loss()
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        init = tf.global_variables_initializer()
        shared = {v.op.name: v for v in tf.global_variables() if "Momentum" not in v.op.name}
    values = _initial({k: (v.shape.known(), dtype) for k, v in shared.items()})
    with tf.Session(graph=graph) as session:
        session.run(init)
        for k, v in shared.items():
            v.load(values[k], session)
        found = []
        for k in range(STEPS):
            found.append(session.run([loss, train], {x: data[k], y: labels[k], training: True})[0])
        result = session.run(shared)
        found.append(session.run(logits, {x: data[0], training: False}))
    return result, found, values


def _l2(w: Any) -> Any:
    return 0.01 * tf.nn.l2_loss(w)


def _initial(shapes: dict[str, Any]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {
        k: (np.abs(rng.normal(size=s)) + 0.5 if "variance" in k else rng.normal(size=s) * 0.3).astype(dtype)
        for k, (s, dtype) in sorted(shapes.items())
    }


def _theirs(dtype: type, data: Any, labels: Any, values: Any) -> tuple[dict[str, Any], list[Any]]:
    graph = tf1.Graph()
    with graph.as_default():
        x, y = tf1.placeholder(dtype, [None, 8, 8, 2]), tf1.placeholder(np.int64, [None])
        training = tf1.placeholder(bool, [])
        v = {k: tf1.Variable(a, trainable="moving" not in k) for k, a in values.items()}
        updates: list[Any] = []

        def norm(h: Any, name: str, axes: list[int], momentum: float, center: bool, unbiased: bool) -> Any:
            mean, variance = tf1.nn.moments(h, axes)
            n = tf1.cast(tf1.size(h), h.dtype) / h.shape[-1]
            spread = variance * n / (n - 1) if unbiased else variance
            for moving, now in (("moving_mean", mean), ("moving_variance", spread)):
                m = v[f"{name}/{moving}"]
                updates.append(m.assign_sub((m - now) * (1 - momentum)))
            mean, variance = tf1.cond(
                training,
                lambda: (mean, variance),
                lambda: (v[f"{name}/moving_mean"], v[f"{name}/moving_variance"]),
            )
            beta = v[f"{name}/beta"] if center else None
            return tf1.nn.batch_normalization(h, mean, variance, beta, v[f"{name}/gamma"], 1e-3)

        h = tf1.nn.conv2d(x, v["conv2d/kernel"], [1, 1, 1, 1], "SAME") + v["conv2d/bias"]
        h = norm(tf1.nn.relu(h), "batch_normalization", [0, 1, 2], 0.9, True, True)
        h = tf1.reshape(tf1.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [-1, 64])
        h = tf1.tanh(tf1.matmul(h, v["dense/kernel"]) + v["dense/bias"])
        h = norm(h, "batch_normalization_1", [0], 0.8, False, False)
        logits = tf1.matmul(h, v["logits/kernel"])
        loss = tf1.reduce_mean(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        loss += 0.01 * tf1.nn.l2_loss(v["conv2d/kernel"])
        with tf1.control_dependencies(updates):
            train = tf1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        init = tf1.global_variables_initializer()
    with tf1.Session(graph=graph) as session:
        session.run(init)
        found = []
        for k in range(STEPS):
            found.append(session.run([loss, train], {x: data[k], y: labels[k], training: True})[0])
        result = session.run(v)
        found.append(session.run(logits, {x: data[0], training: False}))
    return result, found


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_conv_net_with_batch_normalization(dtype: type) -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(STEPS, 6, 8, 8, 2)).astype(dtype)
    labels = rng.integers(0, 3, size=(STEPS, 6))
    ours, losses, values = _ours(dtype, data, labels)
    theirs, wanted = _theirs(dtype, data, labels, values)
    tolerance = 2e-4 if dtype is np.float32 else 1e-8
    for a, b in zip(losses, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    for k in theirs:
        np.testing.assert_allclose(ours[k], theirs[k], rtol=tolerance, atol=tolerance, err_msg=k)


def test_dense_of_higher_rank_and_pooling() -> None:
    a = np.random.default_rng(2).normal(size=(2, 5, 6, 4)).astype("f")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 5, 6, 4])
        y = tf.layers.dense(x, 3, bias_initializer=tf.constant_initializer(0.5))
        p = tf.layers.average_pooling2d(x, (2, 3), (2, 1), "same")
        q = tf.layers.MaxPooling2D((2, 3), (2, 1))(x)
        session.run(tf.global_variables_initializer())
        kernel = session.run(tf.trainable_variables()[0])
        got = session.run([y, p, q], {x: a})
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.constant(a)
        wanted = session.run(
            [
                tf1.tensordot(x, kernel, [[3], [0]]) + 0.5,
                tf1.nn.avg_pool(x, [1, 2, 3, 1], [1, 2, 1, 1], "SAME"),
                tf1.nn.max_pool(x, [1, 2, 3, 1], [1, 2, 1, 1], "VALID"),
            ]
        )
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)
