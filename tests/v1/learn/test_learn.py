"""tf.contrib.learn: estimators of arrays and input functions, monitors, experiments, run_n, readers of files."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

learn = tf.contrib.learn
UNSEEDED = pytest.mark.not_compared("initial weights and the order of rows have no seed")
IRIS = learn.datasets.load_iris()
X, Y = IRIS.data.astype("f"), IRIS.target


def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(features, 3, name="out")
    predictions = {"class": tf.argmax(logits, 1), "prob": tf.nn.softmax(logits)}
    loss = train = None
    if mode != learn.ModeKeys.INFER:
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == learn.ModeKeys.TRAIN:
        train = tf.train.AdamOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())
    return learn.ModelFnOps(mode, predictions, loss, train)


def batches():
    return tf.constant(X), tf.constant(Y)


@UNSEEDED
def test_an_estimator_of_arrays(tmp_path):
    model = learn.Estimator(model_fn, str(tmp_path), params={"rate": 0.1})
    with pytest.raises(learn.NotFittedError if hasattr(learn, "NotFittedError") else ValueError, match="trained model"):
        model.predict(x=X)
    model.fit(X, Y, steps=60, batch_size=50)
    metric = learn.MetricSpec(tf.contrib.metrics.streaming_accuracy, prediction_key="class")
    found = model.evaluate(X, Y, metrics={"accuracy": metric})
    assert found["accuracy"] > 0.75 and found["global_step"] == 60
    classes = [p["class"] for p in model.predict(x=X)]
    assert np.mean(np.array(classes) == Y) == pytest.approx(found["accuracy"], abs=1e-6)
    arrays = model.predict(input_fn=learn.io.numpy_input_fn(X, batch_size=40, shuffle=False), as_iterable=False)
    assert arrays["prob"].shape == (150, 3) and arrays["class"].tolist() == classes
    assert model.get_variable_value("out/bias").shape == (3,)
    assert set(learn.SKCompat(model).predict(X)) == {"class", "prob"}


@UNSEEDED
def test_canned_models(tmp_path):
    columns = learn.infer_real_valued_columns_from_input(X)
    model = learn.DNNClassifier(
        [8],
        columns,
        str(tmp_path),
        n_classes=3,
        optimizer=tf.train.AdamOptimizer(0.05),
        gradient_clip_norm=5.0,
        config=learn.RunConfig(tf_random_seed=3),
    )
    model.fit(x=X, y=Y, steps=100, batch_size=75)
    found = model.evaluate(X, Y)
    assert found["accuracy"] > 0.9
    assert np.mean(np.array(list(model.predict(X))) == Y) == pytest.approx(found["accuracy"], abs=1e-6)
    assert model.predict_proba(X, as_iterable=False).shape == (150, 3)
    line = learn.LinearRegressor(
        learn.infer_real_valued_columns_from_input(X[:, :3]), optimizer=tf.train.AdamOptimizer(0.3)
    )
    line.fit(X[:, :3], X[:, 3], steps=150, batch_size=150)
    scores = line.predict(X[:, :3], as_iterable=False)
    assert np.abs(scores - X[:, 3]).mean() < 0.3
    with pytest.raises(errors.InvalidArgumentError, match="enable_centered_bias"):
        learn.LinearClassifier(columns, enable_centered_bias=True)


@UNSEEDED
def test_monitors(tmp_path):
    config = learn.RunConfig(save_checkpoints_steps=5, save_checkpoints_secs=None)
    model = learn.Estimator(model_fn, str(tmp_path), config, {"rate": 0.1})
    captured = learn.monitors.CaptureVariable("out/bias:0", every_n=2)
    validation = learn.monitors.ValidationMonitor(
        input_fn=batches, eval_steps=1, every_n_steps=5, check_interval_secs=0
    )
    model.fit(input_fn=batches, steps=12, monitors=[captured, validation, learn.monitors.StopAtStep(last_step=10)])
    assert model.get_variable_value("global_step") == 10
    assert len(captured.values) >= 5 and validation.best_step is not None and not validation.early_stopped


@UNSEEDED
def test_an_experiment(tmp_path):
    def experiment(run_config, hparams):
        model = learn.Estimator(model_fn, config=run_config, params={"rate": hparams.rate})

        def receive():
            x = tf.placeholder(tf.float32, [None, 4])
            return learn.InputFnOps(x, None, {"x": x})

        strategy = learn.make_export_strategy(receive, exports_to_keep=1)
        return learn.Experiment(model, batches, batches, train_steps=20, eval_steps=1, export_strategies=strategy)

    config = learn.RunConfig(model_dir=str(tmp_path))
    hparams = tf.contrib.training.HParams(rate=0.1)
    found, exports = learn.learn_runner.run(
        experiment, run_config=config, schedule="train_and_evaluate", hparams=hparams
    )
    assert found["global_step"] == 20 and len(exports) == 1
    assert len(os.listdir(tmp_path / "export" / "Servo")) == 1
    predict = tf.contrib.predictor.from_saved_model(exports[0].decode())
    assert predict({"x": X[:2]})["prob"].shape == (2, 3)
    with pytest.raises(errors.InvalidArgumentError, match="Schedule"):
        learn.learn_runner.run(experiment, run_config=config, schedule="fly", hparams=hparams)


def test_functions_that_run_graphs(tmp_path):
    x = tf.placeholder(tf.float32, [])
    counter = tf.Variable(1.0)
    rows = learn.run_n({"y": x * 2.0, "c": tf.assign_add(counter, 1.0)}, {x: 3.0}, n=3)
    assert [r["y"] for r in rows] == [6.0] * 3 and [r["c"] for r in rows] == [2.0, 3.0, 4.0]
    with tf.Graph().as_default() as graph:
        step = tf.train.get_or_create_global_step()
        weight = tf.get_variable("w", [], initializer=tf.ones_initializer())
        loss = tf.square(weight)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
        last = learn.graph_actions.train(graph, str(tmp_path), train, loss, step, steps=5)
    with tf.Graph().as_default() as graph:
        tf.train.get_or_create_global_step()
        weight = tf.get_variable("w", [])
        values, at = learn.graph_actions.evaluate(graph, None, tf.train.latest_checkpoint(str(tmp_path)), {"w": weight})
    assert last < 1 and at == 5 and values["w"] == pytest.approx(0.8**5)


def test_files_as_batches(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for i in range(6):
            feature = {"i": tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))}
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    spec = {"i": tf.FixedLenFeature([], tf.int64)}
    got = learn.io.read_batch_record_features(path, 3, spec, randomize_input=False, num_epochs=1)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        seen = [session.run(got["i"]).tolist() for _ in range(2)]
        coordinator.request_stop()
        coordinator.join(threads)
    assert sorted(i for part in seen for i in part) == list(range(6))
    with pytest.raises(errors.InvalidArgumentError, match="No files"):
        learn.read_batch_examples(str(tmp_path / "none*"), 2, tf.TFRecordReader)


def test_tables(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("2,2,a,b\n1.5,2,0\n3,4,1\n")
    table = learn.datasets.base.load_csv_with_header(str(path), np.int32, np.float32)
    assert table.data.tolist() == [[1.5, 2], [3, 4]] and table.target.tolist() == [0, 1]
    assert X.shape == (150, 4) and np.bincount(Y).tolist() == [50, 50, 50]
    assert learn.datasets.make_dataset("circles", 30, n_classes=3).target.max() == 2
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [3.0, 4.0]})
    assert learn.extract_pandas_data(frame).tolist() == [[1, 3], [2, 4]]
    features, labels = tf.estimator.inputs.pandas_input_fn(frame, frame["a"], shuffle=False)()
    with tf.Session() as session:
        rows, targets = session.run([features, labels])
    assert rows["b"].tolist() == [3, 4] and rows["index"].tolist() == [0, 1] and targets.tolist() == [1, 2]


def _queued():
    ends = tf.train.limit_epochs(tf.constant([1.0]), num_epochs=5)
    return tf.train.batch([ends], 2, allow_smaller_final_batch=True), None


def _sparse():
    rows = tf.SparseTensor([[0, 0], [1, 0]], [1.0, 2.0], [2, 1])
    return rows, None


def _iterated():
    rows = tf.data.Dataset.from_tensor_slices(np.arange(6.0, dtype=np.float32)[:, None]).batch(2)
    return tf.nn.relu(rows.make_one_shot_iterator().get_next()), None


INPUTS = {
    "constant": (lambda: (tf.constant([[1.0], [2.0]]), None), 2),
    "random": (lambda: (tf.random_uniform([2, 1]), None), 2),
    "sparse": (_sparse, 2),
    "queue": (_queued, 5),
    "iterator": (_iterated, 6),
}


def test_predictions_end_with_the_data_or_after_one_batch(tmp_path):
    """One batch of data without an end: without queue runners in TensorFlow, and without an iterator here."""

    def model(features, labels, mode):
        dense = tf.sparse_tensor_to_dense(features) if isinstance(features, tf.SparseTensor) else features
        p = dense * tf.get_variable("w", [1])
        loss = tf.reduce_sum(p)
        train = tf.train.GradientDescentOptimizer(0.0).minimize(loss, tf.train.get_global_step())
        return learn.ModelFnOps(mode, {"p": tf.reshape(p, [-1])}, loss, train)

    estimator = learn.Estimator(model, str(tmp_path))
    estimator.fit(input_fn=INPUTS["constant"][0], steps=1)
    for name, (input_fn, number) in INPUTS.items():
        assert len(list(itertools.islice(estimator.predict(input_fn=input_fn), 20))) == number, name
