"""Initial values computed from other variables: the order of initialisation does not matter."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.opencl


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_variable_starts_with_value_of_another_without_initialising_it(sess):
    v = tf.Variable(2, name="v")
    copy, triple = tf.Variable(v, name="copy"), tf.Variable(3 * v + 1, name="triple")
    sess.run([copy.initializer, triple.initializer])
    assert sess.run([copy, triple]) == [2, 7]
    assert not sess.run(tf.is_variable_initialized(v))


def test_current_value_of_initialised_variable_is_used(sess):
    v = tf.Variable(2)
    w = tf.Variable(v * v)
    sess.run(v.initializer)
    sess.run(v.assign(5))
    sess.run(w.initializer)
    assert sess.run(w) == 25


def test_chain_of_variables_is_initialised_from_its_end(sess):
    variables = [tf.Variable([1.0, 2.0])]
    for _ in range(3):
        variables.append(tf.Variable(variables[-1] * 2))
    sess.run(variables[-1].initializer)
    np.testing.assert_array_equal(sess.run(variables[-1]), [8.0, 16.0])


def test_initial_value_without_variables_is_assigned_itself():
    with tf.Graph().as_default():
        start = tf.ones([2]) * 3
        v = tf.Variable(start)
        assert v.initializer.inputs[1] is start and v.initial_value is start


def test_load_sets_variable_whose_initial_value_is_guarded(sess):
    v = tf.Variable(1.0)
    w = tf.Variable(v + 1)
    w.load(9.0, sess)
    assert sess.run(w) == 9.0


def test_value_from_loop_is_no_endless_search(sess):
    end = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    v = tf.Variable(tf.identity(end))
    sess.run(v.initializer)
    assert sess.run(v) == 3
