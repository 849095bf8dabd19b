"""train_and_evaluate with exporters, heads, warm starts, early stopping and predictors; figures are TensorFlow 1.15's."""

from __future__ import annotations

import os

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

X = np.random.RandomState(0).randn(24, 2).astype("f")
Y = (X[:, 0] > 0).astype(np.int64)
FEATURES = {"x": X, "c": np.array(["a", "b", "c"] * 8), "w": np.linspace(0.5, 2, 24).astype("f")}
NUMBERS = tf.feature_column.numeric_column("x", shape=[2])
WORDS = tf.feature_column.categorical_column_with_vocabulary_list("c", ["a", "b", "c"])


def data(labels=Y, batch=12, epochs=2):
    return tf.estimator.inputs.numpy_input_fn(FEATURES, labels, batch_size=batch, num_epochs=epochs, shuffle=False)


def test_a_linear_model_is_that_of_tensorflow():
    cut = tf.feature_column.bucketized_column(tf.feature_column.numeric_column("w"), [1.0, 1.5])
    model = tf.estimator.LinearClassifier([NUMBERS, WORDS, cut], weight_column="w")
    model.train(data(), steps=3)
    value = model.get_variable_value
    np.testing.assert_allclose(value("linear/linear_model/x/weights").ravel(), [0.4313, 0.0439], atol=1e-4)
    np.testing.assert_allclose(value("linear/linear_model/bias_weights"), [0.1173], atol=1e-4)
    found = model.evaluate(data(epochs=1))
    wanted = {"accuracy": 0.975, "accuracy_baseline": 0.52, "average_loss": 0.402, "loss": 6.035, "precision": 0.953}
    assert {k: round(float(found[k]), 3) for k in wanted} == wanted


@pytest.mark.not_compared("the time is part of a folder's name")
def test_training_with_evaluations_and_exports(tmp_path):
    receive = tf.estimator.export.build_raw_serving_input_receiver_fn
    inputs = {"x": tf.placeholder(tf.float32, [None, 2], "x"), "c": tf.placeholder(tf.string, [None], "c")}
    exporters = [
        tf.estimator.LatestExporter("latest", receive(inputs), exports_to_keep=1),
        tf.estimator.FinalExporter("final", receive(inputs)),
        tf.estimator.BestExporter("best", receive(inputs)),
    ]
    config = tf.estimator.RunConfig(save_checkpoints_steps=2)
    embedded = tf.feature_column.embedding_column(WORDS, 2)
    model = tf.estimator.DNNClassifier([4], [NUMBERS, embedded], str(tmp_path), config=config)
    train = tf.estimator.TrainSpec(data(epochs=None), max_steps=5)
    evaluate = tf.estimator.EvalSpec(data(epochs=1), exporters=exporters, start_delay_secs=0, throttle_secs=0)
    found, exported = tf.estimator.train_and_evaluate(model, train, evaluate)
    assert found["global_step"] == 5 and len(exported) == 3 and exported[1] is not None
    assert [len(os.listdir(tmp_path / "export" / name)) for name in ("latest", "final")] == [1, 1]
    predict = tf.contrib.predictor.from_saved_model(exported[1].decode(), "predict")
    got = predict({"x": X[:3], "c": FEATURES["c"][:3]})
    wanted = [p["logits"] for p in model.predict(data(epochs=1))][:3]
    np.testing.assert_allclose(got["logits"], wanted, rtol=1e-5)
    again = tf.contrib.predictor.from_estimator(model, receive(inputs), "predict")
    np.testing.assert_allclose(again({"x": X[:3], "c": FEATURES["c"][:3]})["logits"], wanted, rtol=1e-5)


@pytest.mark.not_compared("folders have random names")
def test_early_stopping_reads_the_evaluations(tmp_path):
    model = tf.estimator.BaselineRegressor(str(tmp_path))
    model.train(data(X[:, 1], epochs=1))
    model.evaluate(data(X[:, 1], epochs=1))
    hook = tf.estimator.experimental.stop_if_lower_hook(model, "loss", 1e9, run_every_secs=None, run_every_steps=1)
    model.train(data(X[:, 1], epochs=None), hooks=[hook], steps=50)
    assert model.get_variable_value("global_step") == 3
    seen = tf.estimator.experimental.InMemoryEvaluatorHook(model, data(X[:, 1], epochs=1), every_n_iter=2)
    model.train(data(X[:, 1], epochs=None), hooks=[seen], steps=2)
    with pytest.raises(errors.InvalidArgumentError, match="run_every"):
        tf.estimator.experimental.make_early_stopping_hook(model, lambda: True, run_every_steps=1)


def test_a_warm_start_maps_words(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("a\nb\nc\n")
    new.write_text("c\nd\na\n")

    def column(path):
        return tf.feature_column.categorical_column_with_vocabulary_file("c", str(path))

    first = tf.estimator.LinearClassifier([NUMBERS, column(old)], str(tmp_path / "m"))
    first.train(data(), steps=2)
    name = "linear/linear_model/c/weights"
    info = tf.estimator.VocabInfo(str(new), 3, 0, str(old))
    settings = tf.estimator.WarmStartSettings(str(tmp_path / "m"), var_name_to_vocab_info={name: info})
    second = tf.estimator.LinearClassifier(
        [NUMBERS, column(new)], warm_start_from=settings, optimizer=tf.train.GradientDescentOptimizer(0.0)
    )
    second.train(data(), steps=1)
    a, _, c = first.get_variable_value(name)
    np.testing.assert_array_equal(second.get_variable_value(name), [c, [0.0], a])
    np.testing.assert_array_equal(
        second.get_variable_value("linear/linear_model/x/weights"),
        first.get_variable_value("linear/linear_model/x/weights"),
    )


def test_heads_of_several_kinds():
    multi = tf.contrib.estimator.multi_head(
        [
            tf.contrib.estimator.multi_label_head(3, name="tags"),
            tf.contrib.estimator.poisson_regression_head(name="count"),
        ],
        [1.0, 2.0],
    )
    logits = tf.constant([[1.0, -1.0, 0.5, 0.3], [0.0, 2.0, -1.0, 1.0]])
    labels = {"tags": tf.constant([[1, 0, 1], [0, 1, 0]]), "count": tf.constant([[2.0], [1.0]])}
    spec = multi.create_estimator_spec({}, "eval", logits, labels)
    apart = tf.losses.sigmoid_cross_entropy(labels["tags"], logits[:, :3])
    counts = tf.reduce_mean(tf.nn.log_poisson_loss(labels["count"], logits[:, 3:], True))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        got, wanted = session.run([spec.loss, apart + 2.0 * counts])
    assert got == pytest.approx(wanted, rel=1e-5)
    assert sorted(spec.predictions)[:2] == [("count", "logits"), ("count", "predictions")]


def test_the_model_function_has_the_parameters():
    def model_fn(features, labels, mode, params, config):
        assert config.tf_random_seed == 7 and params == {"scale": 2.0}
        return tf.estimator.EstimatorSpec(mode, predictions=features * params["scale"] + labels)

    model = tf.estimator.Estimator(model_fn, params={"scale": 2.0})
    spec = model.model_fn(tf.constant(3.0), 1.0, "infer", tf.estimator.RunConfig(tf_random_seed=7))
    assert model._session_config.allow_soft_placement
    with tf.Session() as session:
        assert session.run(spec.predictions) == 7.0


def test_metrics_are_added_and_features_forwarded(tmp_path):
    model = tf.estimator.BaselineRegressor(str(tmp_path))
    model.train(data(X[:, 1], epochs=1))
    added = tf.estimator.add_metrics(model, lambda features: {"w": tf.metrics.mean(features["w"])})
    assert added.evaluate(data(X[:, 1], epochs=1))["w"] == pytest.approx(1.25)
    passed = tf.contrib.estimator.forward_features(model, "w")
    assert [p["w"] for p in passed.predict(data(epochs=1))] == pytest.approx(FEATURES["w"])
    with pytest.raises(errors.InvalidArgumentError, match="not expected"):
        tf.estimator.add_metrics(model, lambda thing: {})
