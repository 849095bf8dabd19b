"""fit, evaluate, predict."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors


def blobs(n):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    return np.array([[0, 2], [2, -1], [-2, -1]], "f")[y] + rng.normal(size=(n, 2)).astype("f") * 0.3, y


def test_a_classifier(tmp_path):
    x, y = blobs(120)
    with tf.Graph().as_default():
        inputs = tf.placeholder(tf.float32, [None, 2])
        net = tf.chain(inputs).fully_connected(8, tf.nn.relu).fully_connected(3)
        log = str(tmp_path / "log")
        with tf.Model(inputs, net, optimizer="Adam", learning_rate=0.05, log_dir=log) as model:
            history = model.fit(x, np.eye(3)[y], n_epoch=6, batch_size=40, validation_set=(x, y), seed=0)
            assert history[-1]["loss"] < 0.5 * history[0]["loss"]
            assert history[-1]["validation_accuracy"] > 0.9
            path = model.save(str(tmp_path / "model"))
            before = model.predict(x)
            np.testing.assert_allclose(before.sum(1), 1, rtol=1e-5)
            assert np.mean(model.predict_label(x) == y) == pytest.approx(model.evaluate(x, y)["accuracy"])
            model.fit(x, y, seed=1)
            assert np.any(model.predict(x) != before)
            model.load(path)
            np.testing.assert_array_equal(model.predict(x), before)
    assert model.steps == 6 * 3 + 2
    assert list((tmp_path / "log").glob("events.*"))


@pytest.mark.parametrize("loss", ["mean_square", "binary_crossentropy"])
def test_other_losses(loss):
    x = np.random.default_rng(0).normal(size=(60, 3)).astype("f")
    y = (x[:, :1] > 0).astype("f")
    with tf.Graph().as_default():
        inputs = tf.placeholder(tf.float32, [None, 3])
        with tf.Model(inputs, tf.layers.dense(inputs, 1), loss, "SGD", 0.5) as model:
            first = model.evaluate(x, y)
            model.fit(x, y, n_epoch=10, batch_size=30, seed=0)
            last = model.evaluate(x, y)
    assert last["loss"] < first["loss"]
    assert set(last) == ({"loss"} if loss == "mean_square" else {"loss", "accuracy"})


def test_what_is_refused():
    with tf.Graph().as_default():
        inputs = tf.placeholder(tf.float32, [None, 3])
        outputs = tf.layers.dense(inputs, 2)
        with pytest.raises(errors.InvalidArgumentError, match="loss"):
            tf.Model(inputs, outputs, "hinge")
        with pytest.raises(errors.InvalidArgumentError, match="optimizer"):
            tf.Model(inputs, outputs, optimizer="Best")
    with tf.Graph().as_default():
        inputs = tf.placeholder(tf.float32, [None, 3])
        with (
            tf.Model(inputs, tf.layers.dense(inputs, 2)) as model,
            pytest.raises(errors.InvalidArgumentError, match="equally many"),
        ):
            model.fit(np.zeros((3, 3)), np.zeros(2))


def test_what_a_specification_does_not_say_is_empty():
    with tf.Graph().as_default():
        spec = tf.estimator.EstimatorSpec("eval", loss=tf.constant(1.0))
    assert spec.eval_metric_ops == {} and spec.training_hooks == spec.evaluation_hooks == ()
    assert isinstance(spec.scaffold, tf.train.Scaffold)
