"""Updates that sum the gradients of equal rows: the numbers are those of the sums before the update."""

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError
from tfnb.passes.repeated_rows import sum_repeated_rows

OPTIMIZERS = {
    "SparseApplyMomentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "SparseApplyAdagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "SparseApplyAdadelta": lambda: tf.train.AdadeltaOptimizer(0.1),
    "SparseApplyRMSProp": lambda: tf.train.RMSPropOptimizer(0.1),
    "SparseApplyCenteredRMSProp": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "SparseApplyFtrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "SparseApplyProximalGradientDescent": lambda: tf.train.ProximalGradientDescentOptimizer(0.1),
    "SparseApplyProximalAdagrad": lambda: tf.train.ProximalAdagradOptimizer(0.1, l2_regularization_strength=0.01),
}
WIDTH = 300  # more than a block of the kernel
BATCHES = ([3, 1, 3, 0, 3], [4, 2, 0], [], [i * i % 5 for i in range(700)])


def _update(name, dtype, far=1):
    """The update of some rows of a table of 5 (times `far`) rows, with its placeholders for values and rows."""
    values, rows = tf.placeholder(dtype, [None, WIDTH]), tf.placeholder(tf.int64, [None])
    table = tf.Variable(np.random.RandomState(0).rand(5 * far, WIDTH).astype(dtype.as_numpy_dtype))
    slices = tf.IndexedSlices(values, rows, table.shape)
    return OPTIMIZERS[name]().apply_gradients([(slices, table)]), values, rows


def _results(name, dtype):
    """The values of all variables after each batch."""
    with tf.Graph().as_default(), tf.Session() as sess:
        train, values, rows = _update(name, dtype)
        sess.run(tf.global_variables_initializer())
        rng = np.random.RandomState(1)
        results = []
        for batch in BATCHES:
            data = (rng.rand(len(batch), WIDTH) - 0.5).astype(dtype.as_numpy_dtype)
            sess.run(train, {values: data, rows: np.array(batch, np.int64)})
            results += sess.run(tf.global_variables())
        return results


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, tf.float32) for name in OPTIMIZERS), ("SparseApplyAdagrad", tf.float64)]
)
def test_the_update_gives_the_bits_of_separate_sums(name, dtype, pruned, monkeypatch):
    train, *feeds = _update(name, dtype)
    ops = {n.type for n in sum_repeated_rows(pruned(targets=[train], feeds=feeds)).nodes.values()}
    assert f"{name}Summed" in ops and not {name, "Unique", "UnsortedSegmentSum"} & ops
    results = _results(name, dtype)
    monkeypatch.setattr("tfnb.passes.repeated_rows.SUMMED_ROWS", {})
    for one, other in zip(results, _results(name, dtype), strict=True):
        np.testing.assert_array_equal(one, other)


def test_sums_that_something_else_reads_stay(pruned):
    train, *feeds = _update("SparseApplyAdagrad", tf.float32)
    total = next(op for op in train.graph.get_operations() if op.type == "UnsortedSegmentSum").outputs[0]
    for fetch in (total, total + 1.0):
        ops = {n.type for n in sum_repeated_rows(pruned(fetch, targets=[train], feeds=feeds)).nodes.values()}
        assert {"SparseApplyAdagrad", "UnsortedSegmentSum"} <= ops


def test_a_row_that_the_table_lacks_is_refused():
    train, values, rows = _update("SparseApplyAdagrad", tf.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(InvalidArgumentError, match=r"5 is not in \[0, 5\)"):
            sess.run(train, {values: np.zeros((2, WIDTH), np.float32), rows: np.array([5, 5])})


def test_rows_far_apart_are_linked_by_their_whole_numbers():
    """Rows whose numbers have equal low bits, of a table that is larger than the kernel's."""
    train, values, rows = _update("SparseApplyProximalGradientDescent", tf.float32, 1 << 12)
    table = train.graph.get_collection("variables")[0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run(table)
        numbers = np.tile(np.arange(40) << 9, 2)
        sess.run(train, {values: np.ones((80, WIDTH), np.float32), rows: numbers})
        before[np.arange(40) << 9] -= np.float32(0.1) * 2
        np.testing.assert_allclose(sess.run(table), before, rtol=1e-5, atol=1e-6)
