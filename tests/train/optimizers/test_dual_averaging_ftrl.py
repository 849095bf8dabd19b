"""AdagradDA, and FTRL with a penalty on the weights of each step: the values that TensorFlow 2.15's compat.v1 gives."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl

DUAL = [[-0.02924936, 0.13169202], [-0.31064877, -0.32583624]]
DUAL_ROWS = [[1.0, -2.0], [-0.17961603, 0.0]]
SHRUNK = [[0.15997088, -0.97332114], [1.95310867, -0.23273149]]
SHRUNK_ROWS = [[1.0, -2.0], [1.92205989, 9.668539860285819e-05]]


def dual(step):
    return tf.train.AdagradDAOptimizer(0.3, step, l1_regularization_strength=0.2, l2_regularization_strength=0.1)


def shrinking(step):
    names = {"accum_name": "a", "linear_name": "b"}
    penalties = {"l1_regularization_strength": 0.01, "l2_shrinkage_regularization_strength": 0.2}
    return tf.train.FtrlOptimizer(0.3, **penalties, **names)


@pytest.mark.parametrize(
    ("make", "rows", "expected"),
    [(dual, False, DUAL), (dual, True, DUAL_ROWS), (shrinking, False, SHRUNK), (shrinking, True, SHRUNK_ROWS)],
)
def test_four_steps(make, rows, expected):
    with tf.Graph().as_default(), tf.Session() as sess:
        step = tf.train.get_or_create_global_step()
        v = tf.get_variable("v", initializer=np.float32([[1, -2], [3, 0.5]]))
        row = tf.nn.embedding_lookup(v, [1])
        loss = tf.reduce_sum(tf.square(row)) if rows else tf.reduce_sum(v * v) + tf.reduce_sum(row)
        train = make(step).minimize(loss, global_step=step)
        sess.run(tf.global_variables_initializer())
        for _ in range(4):
            sess.run(train)
        np.testing.assert_allclose(sess.run(v), expected, rtol=1e-5, atol=1e-6)
        names = {x.op.name for x in tf.global_variables()}
    assert names == {"global_step", "v", *(("v/a", "v/b") if make is shrinking else ("v/AdagradDA", "v/AdagradDA_1"))}


def test_wrong_strengths_are_refused():
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.InvalidArgumentError, match="penalties >= 0"):
            tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=-1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="> 0, got 0"):
            tf.train.AdagradDAOptimizer(0.1, None, initial_gradient_squared_accumulator_value=0)
