"""Which feeds a step may keep, which fetches it may share, and that nothing else is copied."""

import numpy as np
import pytest

import tfnb as tf
from tfnb.session.fetch import plan_fetches
from tfnb.system.ownership import OwnedMemory

N = 3000  # elements of a value that is no longer copied without a question


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def x(graph):
    return tf.placeholder(tf.float32, [N], "x")


def compiled(fetches, *feeds, devices=1):
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": devices})) as sess:
        return sess.compiled(plan_fetches(sess.graph, fetches), feeds)


def queue(x):
    return tf.FIFOQueue(2, tf.float32, [[N]]).enqueue(x)


def handle(x):
    return tf.get_session_handle(x)


def iterator(x):
    return tf.data.Dataset.from_tensors(x).make_initializable_iterator().initializer


def captured(x):
    return tf.data.Dataset.range(3).map(lambda i: x).make_initializable_iterator().initializer


def table(x):
    return tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, 0.0).insert(tf.range(N, dtype=tf.int64), x)


def through_branch(x):
    return queue(tf.cond(tf.placeholder_with_default(True, []), lambda: x, lambda: x * 2))


def through_loop(x):
    return queue(tf.while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x), [tf.constant(0), x])[1])


def through_a_device(x):
    with tf.device("/cpu:1"):
        return queue(tf.identity(x))


@pytest.mark.parametrize("make", [queue, handle, iterator, captured, table, through_branch, through_loop])
def test_a_feed_that_reaches_a_node_with_state_is_kept(x, make):
    assert compiled(make(x), x).kept_feeds == (0,)


def test_a_feed_that_goes_to_another_device_is_followed(x):
    assert compiled(through_a_device(x), x, devices=2).kept_feeds == (0,)


def doubled(x):
    return x * 2


def assigned(x):
    return tf.Variable(tf.zeros([N])).assign(x)


def enqueued_product(x):
    return queue(x * 2)


def function(x):
    return tf.py_func(np.copy, [x], tf.float32)


def branch(x):
    return tf.cond(tf.placeholder_with_default(True, []), lambda: x * 3, lambda: x * 2)


def loop(x):
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [tf.constant(0), x])[1]


def on_two_devices(x):
    with tf.device("/cpu:1"):
        return tf.reduce_sum(x)


@pytest.mark.parametrize("make", [doubled, assigned, enqueued_product, function, branch, loop, tf.identity])
def test_a_feed_that_only_clusters_and_functions_read_is_lent(x, make):
    assert compiled(make(x), x).kept_feeds == ()


def test_a_feed_that_another_device_computes_with_is_lent(x):
    assert compiled([on_two_devices(x), x * 2], x, devices=2).kept_feeds == ()


def test_of_several_feeds_only_those_are_named_that_may_be_kept(x):
    y, z = (tf.placeholder(tf.float32, [N]) for _ in range(2))
    assert compiled([x * 2, queue(y), tf.exp(z)], x, y, z).kept_feeds == (1,)


@pytest.mark.parametrize(
    ("make", "shared"),
    [
        (lambda x: x * 2, ()),
        (lambda x: [x * 2, tf.reduce_sum(x)], ()),
        (lambda x: x, (0,)),
        (lambda x: tf.identity(x), (0,)),
        (branch, (0,)),
        (function, (0,)),
        (lambda x: [(y := x * 2), queue(y)], (0,)),
        (lambda x: tf.py_func(np.sum, [x], tf.float32), (0,)),
        (lambda x: tf.constant(3.0), ()),
    ],
)
def test_fetches_are_shared_unless_a_cluster_made_them_for_nobody_else(x, make, shared):
    assert compiled(make(x), x).shared_fetches == shared


@pytest.mark.parametrize("make", [doubled, branch, loop, lambda x: tf.py_func(lambda a: a, [x * 2], tf.float32)])
def test_what_was_made_for_the_fetch_alone_is_not_copied(x, make):
    y, taken = make(x), []
    if y.op.type == "PyFunc":
        y = tf.py_func(lambda a: taken.append(isinstance(a.base, OwnedMemory)) or a.sum(), [x * 2], tf.float32)
    with tf.Session() as sess:
        result = sess.run(y, {x: np.ones(N, np.float32)})
    assert taken == [True] if taken else isinstance(result.base, OwnedMemory)


def test_a_function_gets_a_copy_of_what_others_read(x):
    taken = []

    def function(a):
        taken.append(isinstance(a.base, OwnedMemory))
        return a

    doubled = x * 2
    results = [tf.py_func(function, [doubled], tf.float32), tf.exp(doubled), doubled]
    with tf.Session() as sess:
        sess.run(results[:1], {x: np.ones(N, np.float32)})
        sess.run(results, {x: np.ones(N, np.float32)})
    assert taken == [True, False]
