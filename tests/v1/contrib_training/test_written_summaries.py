"""tf.contrib.summary: what steps write, when they write it, and where TPUEstimator's host calls use it."""

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

summary = tf.contrib.summary


def values_of(folder):
    """Returns (step, tag, field) of all values in the event files of a folder."""
    found = []
    for path in sorted(folder.glob("*tfevents*")):
        for event in tf.train.summary_iterator(str(path)):
            found += [(event.step, v.tag, v.WhichOneof("value")) for v in event.summary.value]
    return found


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_each_step_writes_what_it_runs(session, tmp_path):
    step = tf.train.create_global_step()
    with summary.create_file_writer(str(tmp_path), max_queue=3, flush_millis=1000).as_default() as writer:
        with summary.always_record_summaries(), tf.name_scope("outer"):
            number = summary.scalar("loss", step * 2, family="f")
            summary.histogram("h", tf.ones([3]), step=7)
            summary.image("picture", np.zeros((1, 2, 2, 3), "f"), bad_color=[0, 0, 0, 255], max_images=1)
            summary.audio("sound", np.zeros((1, 4, 1), "f"), 8.0, 1)
            summary.generic("words", tf.constant("a"), metadata=tf.SummaryMetadata(display_name="shown"))
        with summary.never_record_summaries():
            summary.scalar("never", 1.0)
        summary.scalar("by default not", 1.0)
        session.run(tf.global_variables_initializer())
        with pytest.raises(errors.NotFoundError, match="not initialized"):
            session.run(number)
        summary.initialize(graph=tf.get_default_graph(), session=session)
        assert session.run(summary.all_summary_ops())[:5] == [True] * 5
        session.run(tf.assign_add(step, 5))
        session.run(number)
        assert len(summary.all_summary_ops()) == 7
    tags = [("outer/f/loss", "simple_value"), ("outer/h", "histo"), ("outer/picture/image", "image")]
    tags += [("outer/sound/audio", "audio"), ("outer/words", "tensor")]
    found = values_of(tmp_path)
    assert {(tag.removeprefix("f/"), kind) for _, tag, kind in found} == set(tags)
    steps = {tag.rpartition("/")[2]: [s for s, t, _ in found if t == tag] for _, tag, _ in found}
    assert steps["loss"] == [0, 5] and steps["h"] == [7] and steps["words"] == [0]
    run = tf.read_events(tmp_path).runs["."]
    assert run.tags("graph") == [""]
    assert next(tmp_path.iterdir()).name.endswith(".v2")
    session.run(writer.close())
    with pytest.raises(errors.NotFoundError, match="not initialized"):
        session.run(number)


def test_every_n_global_steps(session, tmp_path):
    step = tf.train.create_global_step()
    loss = tf.placeholder(tf.float32, [])
    with (
        summary.create_file_writer(str(tmp_path)).as_default(),
        summary.record_summaries_every_n_global_steps(2, global_step=step),
    ):
        assert summary.should_record_summaries().dtype is tf.bool
        summary.scalar("loss", loss)
    session.run(tf.global_variables_initializer())
    session.run(summary.summary_writer_initializer_op())
    for k in range(5):
        session.run(summary.all_summary_ops(), {loss: k})
        session.run(tf.assign_add(step, 1))
    session.run(tf.get_collection("_SUMMARY_WRITER_FLUSH"))
    series = tf.read_events(tmp_path).series(".", "loss")
    assert series["step"].tolist() == [0, 2, 4] and series["value"].tolist() == [0, 2, 4]


def test_without_a_writer_nothing_is_written(session, tmp_path):
    with summary.always_record_summaries():
        nothing = summary.scalar("a", 1.0)
        with summary.create_file_writer(None).as_default() as writer:
            session.run([nothing, summary.scalar("a", 1.0), writer.init(), writer.flush(), writer.close()])
            session.run(summary.flush())
    assert summary.all_summary_ops() == [] and summary.should_record_summaries() is False
    with pytest.raises(RuntimeError, match=r"No default .*SummaryWriter found"):
        summary.import_event("")
    assert summary.eval_dir("m") == "m/eval" and summary.eval_dir("m", "test") == "m/eval_test"
    summary.initialize(session=session)


def test_events_and_graphs(session, tmp_path):
    writer = summary.create_file_writer(tf.constant(str(tmp_path)), filename_suffix=".x")
    writer.set_as_default()
    try:
        event = tf.Event(step=3, summary=tf.Summary(value=[tf.Summary.Value(tag="t", simple_value=1.0)]))
        imported = summary.import_event(event.SerializeToString())
        with pytest.raises(errors.DTypeError, match=r"needs a tf\.Tensor"):
            summary.graph(tf.get_default_graph())
        with session.as_default():
            summary.initialize()
        session.run(imported)
        session.run(summary.flush())
        assert values_of(tmp_path) == [(3, "t", "simple_value")]
    finally:
        summary.create_file_writer(None).set_as_default()


def test_a_host_call_of_a_tpu_estimator(tmp_path):
    def host_call(step, loss):
        with summary.create_file_writer(str(tmp_path / "host")).as_default(), summary.always_record_summaries():
            summary.scalar("loss", loss[0], step=step[0])
            return summary.all_summary_ops()

    def model_fn(features, labels, mode, params):
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        loss = tf.square(w - 1.0) + 0.0 * tf.reduce_sum(features)
        step = tf.train.get_or_create_global_step()
        train = tf.train.GradientDescentOptimizer(0.25).minimize(loss, step)
        tensors = [tf.reshape(step, [1]), tf.reshape(loss, [1])]
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train, host_call=(host_call, tensors))

    config = tf.contrib.tpu.RunConfig(model_dir=str(tmp_path / "model"))
    estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config, use_tpu=False, train_batch_size=2)

    def inputs(params):
        return tf.data.Dataset.from_tensors((tf.ones([2, 1]), tf.zeros([2]))).repeat()

    estimator.train(inputs, steps=3)
    table = tf.read_events(tmp_path / "host").series(".", "loss")
    assert len(table["value"]) == 3 and table["value"].tolist() == sorted(table["value"].tolist(), reverse=True)
