"""Numbers that are fed as indices, labels, starts and lengths: one that is out of bounds is an error, as on the host."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

pytestmark = pytest.mark.opencl
X = np.arange(12, dtype=np.float32).reshape(4, 3)


def label_loss(x, labels):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)


# what is made of x (4, 3) and an index; numbers that are inside, and some that are not
FED = {
    "gather": (lambda x, i: tf.gather(x, i), [0, 3], [[0, 4], [-1]]),
    "gather columns": (lambda x, i: tf.gather(x, i, axis=1), [0, 2], [[0, 3], [-1]]),
    "gather of a cast": (lambda x, i: tf.gather(x, tf.cast(i, tf.int64)), [3], [[4], [-1]]),
    "gather of a reshape": (lambda x, i: tf.gather(x, tf.reshape(i, [-1, 1])), [3], [[0, 4]]),
    "embedding": (lambda x, i: tf.nn.embedding_lookup(x, i), [3], [[4], [2**31 - 1]]),
    "gather_nd": (lambda x, i: tf.gather_nd(x, i), [[3, 2]], [[[3, 3]], [[4, 0]], [[0, -1]]]),
    "scatter_nd": (lambda x, i: tf.scatter_nd(i, [1.0], [2, 3]), [[1, 2]], [[[0, 3]], [[2, 0]], [[0, -1]]]),
    "tensor_scatter_add": (lambda x, i: tf.tensor_scatter_add(x, i, [1.0]), [[1, 2]], [[[0, 3]], [[0, -1]]]),
    "tensor_scatter_update": (lambda x, i: tf.tensor_scatter_update(x, i, [1.0]), [[1, 2]], [[[0, 3]], [[0, -1]]]),
    "sparse_to_dense": (lambda x, i: tf.sparse_to_dense(i, [2, 3], 1.0), [[1, 2]], [[[0, 3]], [[0, -1]]]),
    "slice": (lambda x, i: tf.slice(x, i, [2, 1]), [2, 2], [[3, 0], [0, 3], [-1, 0]]),
    "index": (lambda x, i: x[i], -4, [4, -5]),
    "inner index": (lambda x, i: x[:, tf.cast(i, tf.int64)], -3, [3, -4]),
    "reverse_sequence": (
        lambda x, i: tf.reverse_sequence(x, i, seq_dim=1, batch_dim=0),
        [3, 0, 1, 2],
        [[4, 0, 0, 0], [0, 0, 0, -1]],
    ),
    "unsorted_segment_sum": (lambda x, i: tf.unsorted_segment_sum(x, i, 2), [0, 1, -1, 1], [[0, 0, 0, 2]]),
    "unsorted_segment_max": (lambda x, i: tf.unsorted_segment_max(x, i, 2), [0, 1, -1, 1], [[0, 0, 0, 2]]),
    "labels": (label_loss, [0, 1, 2, 0], [[0, 1, 2, 3], [-1, 0, 0, 0]]),
    "bincount": (lambda x, i: tf.bincount(i, maxlength=3, minlength=3), [0, 7], [[0, -1]]),
    "band": (lambda x, i: tf.matrix_band_part(x, i, -1), 4, [5]),
}


@pytest.mark.parametrize("name", FED)
def test_fed_numbers(name):
    make, inside, outside = FED[name]
    with tf.Graph().as_default(), tf.Session() as s:
        x, i = tf.placeholder(tf.float32, [4, 3]), tf.placeholder(tf.int32, np.shape(inside))
        y = make(x, i)
        assert np.isfinite(s.run(y, {x: X, i: inside})).all()
        for wrong in outside:
            if np.shape(wrong) == np.shape(inside):
                shaped = y, i
            else:
                any_length = tf.placeholder(tf.int32, np.shape(wrong))
                shaped = make(x, any_length), any_length
            with pytest.raises(errors.InvalidArgumentError) as caught:
                s.run(shaped[0], {x: X, shaped[1]: wrong})
            assert "test_bounds.py" in str(caught.value)
        assert np.isfinite(s.run(y, {x: X, i: inside})).all()


UPDATES = (
    "scatter_update scatter_add scatter_sub scatter_mul scatter_div scatter_min scatter_max"
    " scatter_nd_update scatter_nd_add scatter_nd_sub"
).split()


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", UPDATES)
def test_updates_of_a_variable_change_nothing(name, resource):
    nd = "_nd_" in name
    with tf.Graph().as_default(), tf.Session() as s:
        v = tf.get_variable("v", initializer=[1.0, 2.0, 3.0], use_resource=resource)
        i = tf.placeholder(tf.int32, [2, 1] if nd else [2])
        change = getattr(tf, name)(v, i, [5.0, 6.0])
        constant = getattr(tf, name)(v, [[-1], [0]] if nd else [-1, 0], [5.0, 6.0])
        s.run(v.initializer)
        for wrong in ([0, 3], [-1, 0]):
            with pytest.raises(errors.InvalidArgumentError, match=r"not in \[0, "):
                s.run(change, {i: np.reshape(wrong, [2, 1]) if nd else wrong})
        with pytest.raises(errors.InvalidArgumentError, match=r"not in \[0, "):
            s.run(constant)
        assert s.run(v).tolist() == [1, 2, 3]


def test_the_rows_of_an_optimizer():
    with tf.Graph().as_default(), tf.Session() as s:
        table, i = tf.Variable(tf.ones([3, 2])), tf.placeholder(tf.int32, [None])
        loss = tf.reduce_sum(tf.nn.embedding_lookup(table, i))
        train = tf.train.AdagradOptimizer(0.1).minimize(loss)
        s.run(tf.global_variables_initializer())
        with pytest.raises(errors.InvalidArgumentError, match="3 is not in"):
            s.run(train, {i: [0, 3]})
        assert (s.run(table) == 1).all()


def test_numbers_that_a_device_made_reach_no_other_row():
    """What no host sees raises no error, but an index outside is never taken for another one."""
    with tf.Graph().as_default(), tf.Session() as s:
        i = tf.placeholder(tf.int32, [1, 2])
        made = i * 1 + 0 * tf.cast(tf.random_uniform([1, 2]) * 0, tf.int32)
        assert s.run(tf.scatter_nd(made, [1.0], [2, 3]), {i: [[0, 4]]}).sum() == 0
        kept = s.run(tf.tensor_scatter_update(X, made, [100.0]), {i: [[0, 4]]})
        np.testing.assert_array_equal(kept, X)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=made[0], logits=X[:2])
        assert np.isnan(s.run(loss, {i: [[0, 4]]})).tolist() == [False, True]


def test_rows_by_the_value_of_a_variable():
    """Glow shuffles channels so."""
    x = tf.placeholder(tf.float32, [None, 3])
    order = tf.Variable([2, 0, 1], trainable=False)
    shuffled = [tf.gather(tf.transpose(x * 2.0), i) + 1.0 for i in (order, tf.identity(order))]
    shuffled.append(tf.transpose(tf.gather(x * 2.0, order, axis=1)) + 1.0)
    with tf.Session() as session:
        session.run(order.initializer)
        for y in session.run(shuffled, {x: [[1, 2, 3], [4, 5, 6]]}):
            assert y.tolist() == [[7, 13], [3, 9], [5, 11]]
