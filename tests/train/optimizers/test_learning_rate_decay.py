"""Schedules, global step, moving averages: use and errors. Their numbers: tests/oracle."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors
from tfnb.train.optimizers.moving_averages import assign_moving_average


def test_a_schedule_drives_an_optimizer():
    step = tf.Variable(0, trainable=False)
    rate = tf.train.exponential_decay(1.0, step, 1, 0.5, staircase=True)
    v = tf.Variable(0.0)
    train = tf.train.GradientDescentOptimizer(rate).minimize(-v, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        seen = []
        for _ in range(4):
            session.run(train)
            seen.append(float(session.run(v)))
    assert seen == [1.0, 1.5, 1.75, 1.875]


def test_piecewise_constant():
    x = tf.placeholder(tf.int64, [])
    rate = tf.train.piecewise_constant(x, [10, 20], [1.0, 0.5, 0.25])
    with tf.Session() as session:
        assert [session.run(rate, {x: k}) for k in (0, 10, 11, 20, 21)] == [
            1.0,
            1.0,
            0.5,
            0.5,
            0.25,
        ]
    with pytest.raises(errors.InvalidArgumentError):
        tf.train.piecewise_constant(x, [10], [1.0])


def test_schedules_need_a_step():
    for schedule in (
        tf.train.exponential_decay,
        tf.train.inverse_time_decay,
        tf.train.natural_exp_decay,
    ):
        with pytest.raises(errors.InvalidArgumentError, match="global_step"):
            schedule(0.1, None, 10, 0.5)


def test_global_step():
    assert tf.train.get_global_step() is None
    step = tf.train.create_global_step()
    assert (step.name, step.dtype, step.trainable) == ("global_step:0", tf.int64, False)
    with pytest.raises(ValueError, match="already exists"):
        tf.train.create_global_step()
    with tf.Graph().as_default():
        named = tf.Variable(0, name="global_step", trainable=False)
        assert tf.train.get_global_step() is named
    with tf.Graph().as_default():
        tf.Variable([1.0], name="global_step")
        with pytest.raises(errors.DTypeError):
            tf.train.get_global_step()


def test_moving_average_of_a_variable():
    v = tf.Variable([0.0, 10.0], name="v")
    ema = tf.train.ExponentialMovingAverage(decay=0.5)
    update = ema.apply()
    shadow = ema.average(v)
    assert shadow.name == "v/ExponentialMovingAverage:0"
    assert tf.get_collection(tf.GraphKeys.MOVING_AVERAGE_VARIABLES) == [v] == tf.moving_average_variables()
    assert ema.average(tf.constant(1.0)) is None
    assert ema.variables_to_restore() == {"v/ExponentialMovingAverage": v}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(shadow), [0.0, 10.0])
        session.run(v.assign([4.0, 0.0]))
        session.run(update)
        np.testing.assert_array_equal(session.run(shadow), [2.0, 5.0])
        session.run(shadow.initializer)  # takes the variable's value and leaves it alone
        np.testing.assert_array_equal(session.run([v, shadow]), [[4.0, 0.0]] * 2)


def test_a_number_as_decay_is_subtracted_from_one_before_it_is_rounded():
    v, w = tf.Variable(0.0), tf.Variable(0.0)
    plain = assign_moving_average(v, 3.0, 0.999, zero_debias=False)
    corrected = assign_moving_average(w, 3.0, 0.999)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run([plain, corrected])
    np.testing.assert_array_equal(found, np.float32([0.003, 3.0000386]))  # those of TensorFlow 1.15.5


def test_moving_averages_refuse():
    v, i = tf.Variable(1.0), tf.Variable(1)
    ema = tf.train.ExponentialMovingAverage(0.9)
    ema.apply([v])
    with pytest.raises(errors.InvalidArgumentError):
        ema.apply([v])
    with pytest.raises(errors.DTypeError):
        ema.apply([i])


def test_an_average_after_the_step_is_of_the_new_value():
    w = tf.Variable(1.0)
    steps = tf.Variable(0, trainable=False)
    average = tf.train.ExponentialMovingAverage(0.5, steps)
    step = tf.group(w.assign_add(2.0), steps.assign_add(10))
    with tf.control_dependencies([step]):
        keep = average.apply([w])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(keep)
        assert session.run(average.average(w)) == 0.5 * 1.0 + 0.5 * 3.0


def test_boundaries_between_integers_are_integers():
    with tf.Graph().as_default():
        step = tf.Variable(0)
        with pytest.raises(ValueError, match="must have the same dtype"):
            tf.train.piecewise_constant(step, [0.5], [1.0, 2.0])
        assert tf.train.piecewise_constant(step, [1], [1.0, 2.0]).dtype == tf.float32
