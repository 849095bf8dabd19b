"""What an estimator is told is done: checkpoints at intervals, hooks, scaffolds, listeners, exports, ready models."""

from __future__ import annotations

import os

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

inputs, ModeKeys = tf.estimator.inputs, tf.estimator.ModeKeys
X = np.linspace(-1, 1, 24, dtype="f").reshape(8, 3)
Y = (X.sum(1) > 0).astype("f")
ONCE = inputs.numpy_input_fn({"x": X}, Y, batch_size=4, shuffle=False)
EVER = inputs.numpy_input_fn({"x": X}, Y, batch_size=4, num_epochs=None, shuffle=False)


class Counting(tf.train.SessionRunHook):
    """Counts the calls of its methods."""

    def __init__(self):
        self.begun = self.created = self.runs = self.ended = 0

    def begin(self):
        self.begun += 1

    def after_create_session(self, session, coord):
        self.created += 1

    def after_run(self, run_context, run_values):
        self.runs += 1

    def end(self, session):
        self.ended += 1

    @property
    def calls(self):
        return self.begun, self.created, self.runs, self.ended


def model(**more):
    """A linear model; `more` are further fields of the spec, or functions that give them inside the graph."""

    def model_fn(features, labels, mode):
        y = tf.layers.dense(features["x"], 1, name="dense")[:, 0]
        given = {k: v() if callable(v) else v for k, v in more.items()}
        if mode == ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, {"y": y, "twice": 2 * y}, **given)
        loss = tf.losses.mean_squared_error(labels, y)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, None, loss, train, {"error": tf.metrics.mean(loss)}, **given)

    return model_fn


def steps_of(folder):
    found = tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths
    return [int(p.rpartition("-")[2]) for p in found]


def tags_of(folder):
    events = [
        e
        for f in sorted(os.listdir(folder))
        if "tfevents" in f
        for e in tf.train.summary_iterator(os.path.join(folder, f))
    ]
    return {(v.tag, e.step) for e in events for v in e.summary.value}


def test_checkpoints_and_summaries_at_intervals(tmp_path):
    config = tf.estimator.RunConfig(
        str(tmp_path), save_checkpoints_steps=3, save_summary_steps=2, keep_checkpoint_max=3
    )
    made = tf.estimator.Estimator(model(), config=config).train(EVER, steps=10)
    assert steps_of(made.model_dir) == [6, 9, 10]
    assert {s for t, s in tags_of(made.model_dir) if t == "loss"} == {1, 3, 5, 7, 9}
    assert "dense/kernel" in made.get_variable_names() and made.get_variable_value("dense/kernel").shape == (3, 1)
    silent = tf.estimator.RunConfig(str(tmp_path / "b"), save_checkpoints_secs=None, save_checkpoints_steps=None)
    assert tf.estimator.Estimator(model(), config=silent).train(EVER, steps=2).latest_checkpoint() is None
    with pytest.raises(errors.NotFoundError, match="train first"):
        tf.estimator.Estimator(model(), config=silent).get_variable_names()


def test_hooks_of_every_mode(tmp_path):
    hooks = {n: Counting() for n in ("training_hooks", "training_chief_hooks", "evaluation_hooks", "prediction_hooks")}
    mine = Counting()
    made = tf.estimator.Estimator(model(**{k: [h] for k, h in hooks.items()}), str(tmp_path))
    made.train(EVER, hooks=[mine], steps=3)
    assert mine.calls == hooks["training_hooks"].calls == hooks["training_chief_hooks"].calls == (1, 1, 3, 1)
    made.evaluate(ONCE, hooks=[mine], name="other")
    assert mine.calls == (2, 2, 5, 2) and hooks["evaluation_hooks"].calls == (1, 1, 2, 1)
    assert ("error", 3) in tags_of(made.eval_dir("other"))
    assert len(list(made.predict(ONCE, hooks=[mine]))) == 8
    assert mine.calls == (3, 3, 7, 3) and hooks["prediction_hooks"].calls == (1, 1, 2, 1)
    assert hooks["training_hooks"].runs == 3

    class Stop(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            run_context.request_stop()

    assert made.train(EVER, hooks=[Stop()], steps=50).evaluate(ONCE)["global_step"] == 4


def test_listeners_and_the_hook_that_saves(tmp_path):
    class Listener(tf.train.CheckpointSaverListener):
        def __init__(self):
            self.saved = []

        def after_save(self, session, global_step_value):
            self.saved.append(int(global_step_value))

    first, second = Listener(), Listener()
    made = tf.estimator.Estimator(model(), str(tmp_path / "a"))
    made.train(EVER, steps=4, saving_listeners=[first])
    assert first.saved == [0, 4]
    own = tf.train.CheckpointSaverHook(str(tmp_path / "b"), save_steps=2, saver=None)
    other = tf.estimator.Estimator(model(), str(tmp_path / "b"))
    other.train(EVER, hooks=[own], steps=4, saving_listeners=[second])
    assert second.saved == [0, 2, 4]
    config = tf.estimator.RunConfig(save_checkpoints_secs=None)
    with pytest.raises(errors.InvalidArgumentError, match="save_checkpoints_steps"):
        tf.estimator.Estimator(model(), config=config).train(EVER, steps=1, saving_listeners=[first])


def test_the_scaffold(tmp_path):
    def scaffold():
        kernel = next(v for v in tf.global_variables() if v.op.name == "dense/kernel")
        feed = tf.placeholder(tf.float32, kernel.shape)
        return (
            tf.train.Scaffold(
                init_fn=lambda s, session: session.run(assign, {feed: np.full((3, 1), 7.0)}),
                saver=tf.train.Saver(max_to_keep=1),
            )
            if (assign := kernel.assign(feed)) is not None
            else None
        )

    config = tf.estimator.RunConfig(str(tmp_path), save_checkpoints_steps=1)
    made = tf.estimator.Estimator(model(scaffold=scaffold), config=config)
    made.train(lambda: ({"x": tf.zeros([4, 3])}, tf.zeros([4])), steps=2)
    np.testing.assert_array_equal(made.get_variable_value("dense/kernel"), np.full((3, 1), 7.0))
    assert steps_of(made.model_dir) == [2]


def test_steps_and_data(tmp_path):
    made = tf.estimator.Estimator(model(), str(tmp_path))

    def from_dataset(mode, params):
        assert (mode, params) == (ModeKeys.TRAIN, None)
        return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(4)

    made.train(from_dataset)
    assert made.evaluate(ONCE)["global_step"] == 2
    made.train(lambda: pytest.fail("a training that is over builds nothing"), max_steps=2)
    for given in ({"steps": 1, "max_steps": 2}, {"steps": 0}, {"max_steps": -1}):
        with pytest.raises(ValueError, match="steps"):
            made.train(EVER, **given)


def test_predictions(tmp_path):
    made = tf.estimator.Estimator(model(), str(tmp_path)).train(ONCE)
    batches = list(made.predict(ONCE, predict_keys=["y"], yield_single_examples=False))
    assert [list(b) for b in batches] == [["y"], ["y"]] and batches[0]["y"].shape == (4,)
    several = made.predict(ONCE, "twice")
    assert list(next(several)) == ["twice"]
    assert tf.get_default_graph() is not None and len(tf.get_default_graph().get_operations()) == 0
    several.close()
    with pytest.raises(errors.InvalidArgumentError, match="predict_keys"):
        next(made.predict(ONCE, predict_keys=["z"]))


@pytest.mark.not_compared("the time is part of a folder's name")
def test_an_exported_model(tmp_path):
    export = tf.estimator.export
    made = tf.estimator.Estimator(model(), str(tmp_path / "m")).train(ONCE)
    (tmp_path / "words").write_text("a b")
    with tf.Graph().as_default():
        receive = export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [None, 3], name="x")})
    folder = made.export_savedmodel(str(tmp_path / "e"), receive, assets_extra={"more/words.txt": tmp_path / "words"})
    assert (tmp_path / "e" / os.path.basename(folder.decode()) / "assets.extra/more/words.txt").read_text() == "a b"
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.load(session, ["serve"], folder)
        signature = meta.signature_def["serving_default"]
        y = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: X})
    expected = [p["y"] for p in made.predict(ONCE)]
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    with pytest.raises(errors.InvalidArgumentError, match="assets_extra"):
        made.export_savedmodel(str(tmp_path / "f"), receive, assets_extra={"../words": tmp_path / "words"})


@pytest.mark.not_compared("the time is part of a folder's name")
def test_signatures_of_an_exported_classifier(tmp_path):
    columns = [tf.feature_column.numeric_column("x", shape=[3])]
    made = tf.estimator.LinearClassifier(columns, str(tmp_path / "m"), label_vocabulary=["no", "yes"])
    made.train(inputs.numpy_input_fn({"x": X}, np.where(Y > 0, b"yes", b"no"), num_epochs=40, shuffle=False))
    spec = {"x": tf.FixedLenFeature([3], tf.float32)}
    folder = made.export_savedmodel(str(tmp_path), tf.estimator.export.build_parsing_serving_input_receiver_fn(spec))
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=[1, 1, 1]))
    example = tf.train.Example(features=tf.train.Features(feature={"x": feature})).SerializeToString()
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.saved_model.load(session, ["serve"], folder).signature_def
        assert sorted(found) == ["classification", "predict", "regression", "serving_default"]
        outputs = {k: v.name for k, v in found["serving_default"].outputs.items()}
        got = session.run(outputs, {found["serving_default"].inputs["inputs"].name: [example]})
    assert got["classes"].tolist() == [[b"no", b"yes"]] and got["scores"][0, 1] > 0.5


def test_weights_words_and_partitions_of_ready_estimators(tmp_path):
    columns = [tf.feature_column.numeric_column("x", shape=[3])]
    data = {"x": X, "w": (Y == 1).astype("f")}
    wrong = np.where(Y == 1, b"yes", b"unused")  # weight 0 for each label that is wrong
    read = inputs.numpy_input_fn(data, np.full(8, b"yes"), batch_size=8, num_epochs=30, shuffle=False)
    cut = tf.fixed_size_partitioner(3)
    made = tf.estimator.DNNClassifier(
        [4], columns, str(tmp_path), label_vocabulary=["no", "yes"], weight_column="w", input_layer_partitioner=cut
    )
    made.train(read, steps=30)
    found = made.evaluate(inputs.numpy_input_fn(data, np.where(Y == 1, b"yes", b"no"), shuffle=False))
    assert found["accuracy"] == 1.0  # those of weight 0 do not count
    assert next(made.predict(inputs.numpy_input_fn({"x": X}, shuffle=False)))["classes"][0] == b"yes"
    with pytest.raises(errors.InvalidArgumentError, match="label_vocabulary"):
        made.train(inputs.numpy_input_fn(data, wrong, shuffle=False))
    with tf.Graph().as_default():
        assert len(tf.train.load_checkpoint(made.latest_checkpoint()).get_tensor("dnn/hiddenlayer_0/kernel")) == 3
    line = tf.estimator.LinearRegressor(columns, weight_column=tf.feature_column.numeric_column("w"))
    only = inputs.numpy_input_fn({"x": X, "w": np.eye(8, dtype="f")[0]}, np.arange(8.0), shuffle=False)
    line.train(only)
    assert line.evaluate(only)["average_loss"] == pytest.approx(line.evaluate(only)["loss"])  # one example has a weight


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.estimator.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1), "both given"),
        (lambda: tf.estimator.RunConfig(keep_checkpoint_max=-1), "keep_checkpoint_max"),
        (lambda: tf.estimator.EstimatorSpec("fit"), "mode"),
        (lambda: tf.estimator.EstimatorSpec("train", training_hooks=[print]), "training_hooks"),
        (lambda: tf.estimator.EstimatorSpec("infer", export_outputs={"a": 1}), "export_outputs"),
        (lambda: tf.estimator.EstimatorSpec("train", scaffold=1), "scaffold"),
        (lambda: tf.estimator.Estimator(model(), "a", tf.estimator.RunConfig("b")), "model_dir"),
        (lambda: tf.estimator.Estimator(model()).train(ONCE, hooks=[1]), "hooks"),
        (lambda: tf.estimator.Estimator(model()).train(ONCE, saving_listeners=[1]), "saving_listeners"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        make()
