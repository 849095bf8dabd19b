"""tf.estimator: trained, evaluated and asked through checkpoints."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

inputs = tf.estimator.inputs
RNG = np.random.default_rng(0)
X = RNG.normal(size=(96, 3)).astype("f")
Y = (X @ [1.0, -2.0, 0.5] > 0).astype(np.int64)


def test_a_model_function(tmp_path):
    seen = []

    def model_fn(features, labels, mode, params):
        seen.append(mode)
        logits = tf.layers.dense(features["x"], 2)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"class": tf.argmax(logits, 1)})
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        train = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, global_step=tf.train.get_global_step())
        found = {"accuracy": tf.metrics.accuracy(labels=labels, predictions=tf.argmax(logits, 1))}
        return tf.estimator.EstimatorSpec(mode=mode, loss=loss, train_op=train, eval_metric_ops=found)

    model = tf.estimator.Estimator(model_fn, str(tmp_path), params={"rate": 0.5})
    once = inputs.numpy_input_fn(x={"x": X}, y=Y, batch_size=40, num_epochs=1, shuffle=False)
    ever = inputs.numpy_input_fn({"x": X}, Y, batch_size=32, num_epochs=None, shuffle=True, seed=1)
    with pytest.raises(errors.NotFoundError, match="train first"):
        model.evaluate(once)
    model.train(ever, steps=20)
    first = model.evaluate(once)
    model.train(ever, max_steps=60).train(once)
    last = model.evaluate(once)
    assert (first["global_step"], last["global_step"]) == (20, 63)
    assert last["loss"] < first["loss"]
    assert last["accuracy"] > 0.9
    found = [p["class"] for p in model.predict(inputs.numpy_input_fn({"x": X}, shuffle=False))]
    assert np.mean(np.array(found) == Y) == pytest.approx(last["accuracy"])
    assert seen == ["train", "eval", "train", "train", "eval", "infer"]
    again = tf.estimator.Estimator(model_fn, str(tmp_path), params={"rate": 0.5})
    assert again.evaluate(once) == last


def test_ready_estimators():
    columns = [
        tf.feature_column.numeric_column("x", shape=[3]),
        tf.feature_column.bucketized_column(tf.feature_column.numeric_column("u"), [-1.0, 1.0]),
    ]
    data = {"x": X, "u": X[:, 0]}
    train = inputs.numpy_input_fn(data, Y, batch_size=48, num_epochs=None, shuffle=True, seed=0)
    test = inputs.numpy_input_fn(data, Y, num_epochs=1, shuffle=False)
    model = tf.estimator.DNNClassifier([8], columns, n_classes=2)
    model.train(train, steps=60)
    found = model.evaluate(test)
    assert found["accuracy"] > 0.85 and found["average_loss"] * 96 == pytest.approx(found["loss"], rel=1e-5)
    row = next(model.predict(test))
    assert row["classes"][0] in (b"0", b"1")
    np.testing.assert_allclose(row["probabilities"].sum(), 1, rtol=1e-5)
    line = tf.estimator.LinearRegressor(columns[:1], optimizer=tf.train.GradientDescentOptimizer(0.1 / 96))
    target = inputs.numpy_input_fn(data, X @ [[1.0], [2.0], [3.0]], num_epochs=20, shuffle=False)
    line.train(target)
    assert line.evaluate(target, steps=1)["average_loss"] < 0.05


def test_columns():
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.feature_column.numeric_column("a", normalizer_fn=lambda x: x * 2.0)
        b = tf.feature_column.numeric_column("b", shape=2)
        cut = tf.feature_column.bucketized_column(a, boundaries=[0.0, 4.0])
        features = {"a": tf.constant([1.0, 2.0]), "b": tf.constant([[5, 6], [7, 8]])}
        got = session.run(tf.feature_column.input_layer(features, [b, cut, a]))
        np.testing.assert_array_equal(got, [[2, 0, 1, 0, 5, 6], [4, 0, 0, 1, 7, 8]])
        with pytest.raises(errors.NotFoundError, match="'c' is not in features"):
            tf.feature_column.input_layer(features, [tf.feature_column.numeric_column("c")])
    with pytest.raises(errors.InvalidArgumentError, match="sorted"):
        tf.feature_column.bucketized_column(a, [2.0, 1.0])


def test_what_is_refused():
    with pytest.raises(errors.InvalidArgumentError, match="shuffle"):
        inputs.numpy_input_fn(X)
    with pytest.raises(errors.InvalidArgumentError, match="one length"):
        inputs.numpy_input_fn(X, Y[:3], shuffle=True)
    with pytest.raises(errors.InvalidArgumentError, match="classes"):
        tf.estimator.DNNClassifier([3], [], n_classes=1)
    lost = tf.estimator.Estimator(lambda features, labels, mode: tf.estimator.EstimatorSpec(mode))
    with pytest.raises(errors.InvalidArgumentError, match="no loss"):
        lost.train(inputs.numpy_input_fn(X, Y, shuffle=False))
