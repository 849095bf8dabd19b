"""A parameter server's part of a step that only reads: answered at once, with what a whole step would send."""

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import FailedPreconditionError
from tfnb.session.dask.task.inbound_calls import InboundCalls
from tfnb.session.dask.task.read_only_part import ReadOnlyPart

pytestmark = pytest.mark.opencl

TABLE = np.arange(12.0, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def target(addresses):
    """The master's target of a parameter server and a worker, both in this process."""
    ps, worker = addresses(2)
    spec = {"ps": [ps], "worker": [worker]}
    with tf.train.Server(spec, "ps", 0), tf.train.Server(spec, "worker", 0) as server:
        yield server.target


@pytest.fixture
def answers(monkeypatch):
    """How many messages each such answer had."""
    found, messages = [], ReadOnlyPart.messages

    def noted(self, step):
        made = messages(self, step)
        found.append(len(made))
        return made

    monkeypatch.setattr(ReadOnlyPart, "messages", noted)
    return found


def on_ps():
    return tf.device("/job:ps/task:0")


def on_worker():
    return tf.device("/job:worker/task:0")


def variables():
    with on_ps():
        return tf.Variable(TABLE), tf.Variable(2.5), tf.Variable([True, False])


def steps(table, number, flags):
    """name -> (fetches, feeds, messages of the answer, None where the part does more than to read)."""
    with on_ps():
        rows, doubled = tf.gather(table, [3, 1]), number * 2.0
        numbers = tf.placeholder(tf.int32, [2], name="numbers")
        fed = tf.gather(table, numbers)
        written = number.assign_add(0.0)
        random = tf.random_uniform([]) * 0.0 + number
    with on_worker():
        total, twice, fetched_twice = rows + 1.0, number + doubled, tf.identity(flags)
        of_fed, of_written, of_random = tf.identity(fed), tf.identity(written), tf.identity(random)
        answered = tf.identity(number) + 1.0
    with on_ps():
        back = answered + number
    return {
        "rows": ([total], {}, 1),
        "two values": ([twice], {}, 2),
        "fetched there": ([table, number], {}, 2),
        "fetched and sent": ([fetched_twice, flags, rows], {}, 3),
        "fed": ([of_fed], {numbers: [2, 0]}, None),
        "written": ([of_written], {}, None),
        "random": ([of_random], {}, None),
        "there and back": ([back], {}, None),
    }


@pytest.mark.parametrize(
    "name",
    [
        "rows",
        "two values",
        "fetched there",
        "fetched and sent",
        "fed",
        "written",
        "random",
        "there and back",
    ],
)
@pytest.mark.parametrize("truncated", [False, True])
def test_the_values_are_those_of_a_whole_step(name, truncated, target, answers, monkeypatch):
    fetches, feed, expected = steps(*variables())[name]
    options = tf.GraphOptions(enable_bfloat16_sendrecv=truncated)
    with tf.Session(target, config=tf.ConfigProto(graph_options=options)) as sess:
        sess.run(tf.global_variables_initializer())
        found = [sess.run(fetches, feed) for _ in range(3)]
        assert answers == ([] if expected is None else [expected] * 3)
        monkeypatch.setattr(InboundCalls, "_answer_read_only", lambda *args: False)
        whole = sess.run(fetches, feed)
    for values in found:
        for value, wanted in zip(values, whole, strict=True):
            np.testing.assert_array_equal(value, wanted)


def test_what_it_reads_is_what_was_written_before(target, answers):
    _, number, _ = variables()
    with on_worker():
        seen = tf.identity(number)
    with tf.Session(target) as sess:
        sess.run(number.initializer)
        for k in range(20):
            number.load(float(k), sess)
            assert sess.run(seen) == k
    assert len(answers) == 20


def test_errors_are_said_as_always(target, answers):
    _, number, _ = variables()
    with on_worker():
        seen = tf.identity(number)
    with tf.Session(target) as sess:
        with pytest.raises(FailedPreconditionError, match="initial") as caught:
            sess.run(seen)
        assert caught.value.op is not None
        sess.run(number.initializer)
        assert sess.run(seen) == 2.5
    assert len(answers) == 1


def test_a_traced_step_and_one_with_a_time_run_as_steps(target, answers):
    _, number, _ = variables()
    with on_worker():
        seen = tf.identity(number)
    metadata = tf.RunMetadata()
    with tf.Session(target) as sess:
        sess.run(number.initializer)
        assert sess.run(seen, options=tf.RunOptions(timeout_in_ms=60000)) == 2.5
        assert sess.run(seen, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata) == 2.5
    assert not answers
    assert any(t.device.startswith("/job:ps") for t in metadata.step_stats)
