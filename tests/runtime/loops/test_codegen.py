"""Loops as one Python function: the values of the list of steps, numbers where kernels of scalars read them."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors
from tfnb.runtime.loops.kernel import LoopKernel
from tfnb.runtime.plan import PlanKind

pytestmark = pytest.mark.opencl


def kernels(session):
    return [k for e in session._worker._executors.values() for k in e.payloads if isinstance(k, LoopKernel)]


def both(fetches, feed=None):
    """What the function gives, after it was compared with the list of steps: a traced run takes that way."""
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 1})) as session:
        found = session.run(fetches, feed)
        assert kernels(session) and all(k.function is not None for k in kernels(session))
        trace = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        steps = session.run(fetches, feed, options=trace, run_metadata=tf.RunMetadata())
    for a, b in zip(found, steps, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
    return found


@pytest.mark.parametrize("turns", [0, 1, 7])
def test_counters_are_numbers_and_arrays(turns):
    x = tf.placeholder(tf.float32, [2, 2])
    n = tf.placeholder(tf.int32, [])

    def body(i, j, y, kept):
        y = tf.matmul(y, x) + tf.cast(i, tf.float32)  # the device reads the counter
        return [i + 1, j * 3 - i, y, kept.write(i, y[0])]  # and so does the host

    kept = tf.TensorArray(tf.float32, size=n, element_shape=[2])
    i, j, y, kept = tf.while_loop(lambda i, *_: i < n, body, [0, 5, x, kept])
    found = both([i, j, y, kept.stack()], {x: [[0.5, 0.1], [-0.2, 0.4]], n: turns})
    a, wanted, j = np.float32([[0.5, 0.1], [-0.2, 0.4]]), np.float32([[0.5, 0.1], [-0.2, 0.4]]), 5
    for k in range(turns):
        wanted, j = wanted @ a + k, j * 3 - k
    assert found[0] == turns and found[1] == j and found[3].shape == (turns, 2)
    np.testing.assert_allclose(found[2], wanted, rtol=1e-5)


def test_variables_that_change_places_or_stay():
    x = tf.constant([1.0, 2.0])
    loop = tf.while_loop(
        lambda i, n, a, b, c: i < n, lambda i, n, a, b, c: [i + 1, n, b, a + c, c], [0, 5, x, x * 2.0, x * 3.0]
    )
    found = both(list(loop))
    np.testing.assert_array_equal(found[2], [8.0, 16.0])
    np.testing.assert_array_equal(found[3], [10.0, 20.0])


def test_a_loop_inside_a_loop_and_floats_of_the_host():
    def body(i, f, y):
        inner = tf.while_loop(lambda j, z: j < i, lambda j, z: [j + 1, tf.sin(z) + y], [0, y])[1]
        return [i + 1, f * 0.7 + tf.cast(i, tf.float32), inner]

    found = both(list(tf.while_loop(lambda i, f, y: i < 4, body, [0, 1.0, tf.ones([3])])))
    f = np.float32(1)
    for i in range(4):
        f = f * np.float32(0.7) + np.float32(i)
    np.testing.assert_allclose(found[1], f, rtol=1e-6)


def test_the_condition_may_be_a_devices():
    x = tf.placeholder(tf.float32, [4])
    found = both(
        list(tf.while_loop(lambda i, y: tf.reduce_sum(y) < 100.0, lambda i, y: [i + 1, y * 2.0], [0, x])),
        {x: np.ones(4)},
    )
    assert found[0] == 5
    np.testing.assert_array_equal(found[1], np.full(4, 32.0))


def test_an_error_names_its_node():
    with tf.name_scope("reads"):
        some = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(tf.ones([3, 2]))
    y = tf.while_loop(lambda i, y: i < 5, lambda i, y: [i + 1, y + some.read(i)], [0, tf.zeros([2])])[1]
    with tf.Session() as session:
        for _ in range(2):
            with pytest.raises(errors.InvalidArgumentError, match=r"node while.*TensorArrayRead"):
                session.run(y)


def test_values_are_let_go_of_after_their_last_reader():
    x = tf.placeholder(tf.float32, [256, 1024])  # 1 MB

    def body(i, y):
        for _ in range(4):  # products, so that each has memory of its own
            y = tf.py_func(lambda a: a + 1.0, [tf.matmul(y, y, transpose_b=True)], tf.float32)
            y.set_shape([256, 256])
            y = tf.concat([y] * 4, 1)
        return [i + 1, y * 0.0]

    y = tf.while_loop(lambda i, y: i < 6, body, [0, x])[1]
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 1})) as session:
        session.run(y, {x: np.ones((256, 1024))})
        assert all(k.function is not None for k in kernels(session))
        (device,) = session.compile_context.devices.values()
        assert device.memory_stats().peak < 8 << 20


def by_propagator(fetches, monkeypatch):
    monkeypatch.setenv("TFNB_FAST_LOOPS", "0")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 1})) as session:
        found = session.run(fetches)
        assert not kernels(session)
    return found


@pytest.mark.parametrize(
    ("start", "cond", "body", "is_scalar"),
    [
        ([0, 1, 1], lambda i, a, b: i < 12, lambda i, a, b: [i + 1, b, a + b], True),  # a takes b's value
        ([0, 9], lambda i, n: i < n, lambda i, n: [i + 1, n], True),  # n stays
        ([0, 3, 4], lambda i, a, b: i < 5, lambda i, a, b: [i + 1, b, a], False),  # nothing says what a and b are
        ([0, 1.5, 2.0], lambda i, x, y: i < 7, lambda i, x, y: [i + 1, x * y, y], True),
        ([9000, 0], lambda i, n: i > 0, lambda i, n: [i - 1, n + i], True),  # more than one look at deadlines
    ],
    ids=["fibonacci", "constant", "exchange", "floats", "rounds"],
)
def test_loops_of_scalars(start, cond, body, is_scalar, monkeypatch):
    loop = list(tf.while_loop(cond, body, start))
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 1})) as session:
        found = session.run(loop)
        (kernel,) = kernels(session)
        assert kernel.form.is_scalar is is_scalar and kernel.function is not None
    for a, b in zip(found, by_propagator(loop, monkeypatch), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def test_the_steps_of_a_loop_let_go_of_what_nobody_needs():
    x = tf.placeholder(tf.float32, [3])

    def body(i, y):
        y = tf.unique(y * 2.0)[0]
        y.set_shape([3])
        return [i + 1, y]

    loop = tf.while_loop(lambda i, y: i < 4, body, [0, x])
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 1})) as session:
        session.run(list(loop), {x: [1.0, 2.0, 3.0]})
        form = kernels(session)[0].form
    (product,) = (s for s in form.body if s.kind is PlanKind.CLUSTER)
    (host,) = (s for s in form.body if s.inputs == product.outputs)
    carried = {v.register for v in form.variables} | {v.next_iteration for v in form.variables}
    assert set(product.outputs) <= {r for s in form.body for r in s.last}
    assert host.outputs[0] in carried and host.outputs[0] not in host.last
