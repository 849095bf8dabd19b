"""Optimizers of `tf.contrib.opt`: values after four steps are TensorFlow 1.15.5's, with dense and sparse gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

optimizers = tf.contrib.opt
STARTS = (np.float32([[1.0, -2.0], [0.5, 3.0]]), np.float32([[0.3, 0.1], [-0.2, 0.4], [1, 1]]))


def step():
    return tf.train.get_or_create_global_step()


OPTIMIZERS = {
    "adamax": lambda v, w: optimizers.AdaMaxOptimizer(0.1),
    "nadam": lambda v, w: optimizers.NadamOptimizer(0.1),
    "lazy": lambda v, w: optimizers.LazyAdamOptimizer(0.1),
    "adamgs": lambda v, w: optimizers.AdamGSOptimizer(step(), 0.1),
    "lazygs": lambda v, w: optimizers.LazyAdamGSOptimizer(step(), 0.1),
    "addsign": lambda v, w: optimizers.AddSignOptimizer(0.1),
    "addsignd": lambda v, w: optimizers.AddSignOptimizer(0.1, sign_decay_fn=optimizers.get_linear_decay_fn(5)),
    "addsignc": lambda v, w: optimizers.AddSignOptimizer(
        0.1, sign_decay_fn=optimizers.get_cosine_decay_fn(5, num_periods=1, zero_after=0.4)
    ),
    "power": lambda v, w: optimizers.PowerSignOptimizer(
        0.1, sign_decay_fn=optimizers.get_restart_decay_fn(5, num_periods=2)
    ),
    "lars": lambda v, w: optimizers.LARSOptimizer(1.0, eeta=0.1),
    "larsn": lambda v, w: optimizers.LARSOptimizer(0.1, skip_list=["w"], use_nesterov=True),
    "reg": lambda v, w: optimizers.RegAdagradOptimizer(0.1),
    "ma": lambda v, w: optimizers.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.1), 0.9),
    "multi": lambda v, w: optimizers.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(0.1, 0.9)),
    "stale": lambda v, w: optimizers.DropStaleGradientOptimizer(tf.train.AdamOptimizer(0.1), 2),
    "clip": lambda v, w: optimizers.VariableClippingOptimizer(
        tf.train.GradientDescentOptimizer(0.1), {v: [0], w: [1]}, 0.5, colocate_clip_ops_with_vars=True
    ),
}
# the values of both variables after four steps, with a dense and with a sparse gradient of the second
EXPECTED = {
    "adamax": (
        [0.631, -1.6154, 0.161, 2.6101, -0.0956, -0.2989, -0.5911, 0.0072, 0.6285, 0.6285],
        [0.631, -1.6154, 0.161, 2.6101, -0.0956, -0.2989, -0.2, 0.4, 0.6285, 0.6285],
    ),
    "nadam": (
        [0.4503, -1.4335, 0.0034, 2.429, -0.2806, -0.4766, -0.7696, -0.1826, 0.4038, 0.4038],
        [0.4503, -1.4335, 0.0034, 2.429, -0.2806, -0.4766, -0.2, 0.4, 0.4038, 0.4038],
    ),
    "lazy": (
        [0.6039, -1.6015, 0.1129, 2.6009, -0.1004, -0.2999, -0.5991, -0.0005, 0.5989, 0.5989],
        [0.6039, -1.6015, 0.1129, 2.6009, -0.1004, -0.2999, -0.2, 0.4, 0.5989, 0.5989],
    ),
    "adamgs": (
        [0.6039, -1.6015, 0.1129, 2.6009, -0.1004, -0.2999, -0.5991, -0.0005, 0.5989, 0.5989],
        [0.6039, -1.6015, 0.1129, 2.6009, -0.1004, -0.2999, -0.2, 0.4, 0.5989, 0.5989],
    ),
    "lazygs": (
        [0.6039, -1.6015, 0.1129, 2.6009, -0.1004, -0.2999, -0.5991, -0.0005, 0.5989, 0.5989],
        [0.6039, -1.6015, 0.1129, 2.6009, -0.1004, -0.2999, -0.2, 0.4, 0.5989, 0.5989],
    ),
    "addsign": (
        [0.4096, -0.8192, 0.2048, 1.2288, -0.4808, -0.6657, -0.8944, -0.3763, 0.4598, 0.4598],
        [0.4096, -0.8192, 0.2048, 1.2288, -1.1038, -1.2103, -0.2, 0.4, 0.4598, 0.4598],
    ),
    "addsignd": (
        [0.4739, -0.9478, 0.2369, 1.4217, -0.3659, -0.5591, -0.8048, -0.2589, 0.5549, 0.5549],
        [0.4739, -0.9478, 0.2369, 1.4217, -0.9389, -1.0728, -0.2, 0.4, 0.5549, 0.5549],
    ),
    "addsignc": (
        [0.5408, -1.0816, 0.2704, 1.6224, -0.2542, -0.4538, -0.7145, -0.1456, 0.6422, 0.6422],
        [0.5408, -1.0816, 0.2704, 1.6224, -0.7608, -0.9203, -0.2, 0.4, 0.6422, 0.6422],
    ),
    "power": (
        [0.3941, -0.7881, 0.197, 1.1822, -0.4994, -0.6841, -0.9113, -0.3948, 0.4468, 0.4468],
        [0.3941, -0.7881, 0.197, 1.1822, -1.1295, -1.2338, -0.2, 0.4, 0.4468, 0.4468],
    ),
    "lars": (
        [0.2268, -0.4536, 0.1134, 0.6804, -0.299, -0.5114, -0.7849, -0.1833, 0.6399, 0.6399],
        [0.2268, -0.4536, 0.1134, 0.6804, -0.4377, -0.2337, -0.2, 0.4, -3.5017, -3.5017],
    ),
    "larsn": (
        [0.9988, -1.9976, 0.4994, 2.9964, -0.8688, -1.0503, -1.249, -0.7603, 0.1969, 0.1969],
        [0.9988, -1.9976, 0.4994, 2.9964, -1.7505, -1.8282, -0.2, 0.4, 0.1969, 0.1969],
    ),
    "reg": (
        [0.7438, -1.7306, 0.2774, 2.7271, 0.0275, -0.1705, -0.4662, 0.1267, 0.7292, 0.7292],
        [0.7438, -1.7306, 0.2774, 2.7271, 0.0211, -0.1763, -0.2, 0.4, 0.7292, 0.7292],
    ),
    "ma": (
        [0.6561, -1.3122, 0.328, 1.9683, -0.0929, -0.297, -0.5744, 0.0155, 0.7564, 0.7564],
        [0.6561, -1.3122, 0.328, 1.9683, -0.4808, -0.6657, -0.2, 0.4, 0.7564, 0.7564],
    ),
    "multi": (
        [0.2268, -0.4536, 0.1134, 0.6804, -0.5809, -0.7895, -1.0386, -0.4626, 0.4507, 0.4507],
        [0.2268, -0.4536, 0.1134, 0.6804, -1.4039, -1.5702, -0.2, 0.4, 0.4507, 0.4507],
    ),
    "stale": (
        [0.6039, -1.6015, 0.1129, 2.6009, -0.1004, -0.2999, -0.5991, -0.0005, 0.5989, 0.5989],
        [0.6039, -1.6015, 0.1129, 2.6009, -0.1004, -0.2999, -0.2, 0.4, 0.5989, 0.5989],
    ),
    "clip": ([0.326, -0.2022, 0.163, 0.3033, -0.0929, -0.297, -0.4998, 0.0135, 0.0644, 0.0644], None),
}


def trained(optimizer, sparse, steps=4, **options):
    v, w = tf.Variable(STARTS[0], name="v"), tf.Variable(STARTS[1], name="w")
    count = step()
    used = tf.gather(w, [0, 2, 0]) if sparse else w
    loss = tf.reduce_sum(tf.square(v)) * 0.5 + tf.reduce_sum(tf.sin(used))
    train = optimizer(v, w).minimize(loss, global_step=count, **options)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            sess.run(train)
        assert sess.run(count) == steps
        return np.concatenate([np.ravel(x) for x in sess.run([v, w])])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_values_are_tensorflows(name, sparse):
    found = trained(OPTIMIZERS[name], sparse)
    if EXPECTED[name][sparse] is None:  # TensorFlow clips rows that a gradient has twice two times
        rows = found[4:].reshape(3, 2)
        assert (np.linalg.norm(rows[[0, 2]], axis=1) < 0.5001).all() and np.isclose(rows[1], STARTS[1][1]).all()
    else:
        np.testing.assert_allclose(found, EXPECTED[name][sparse], atol=2e-4)


@pytest.mark.parametrize("sparse", [False, True])
def test_weights_decay_beside_the_gradients(sparse):
    plain = tf.train.GradientDescentOptimizer
    extended = optimizers.extend_with_decoupled_weight_decay(plain)
    found = trained(lambda v, w: extended(0.01, 0.1), sparse)
    np.testing.assert_allclose(found[:4], STARTS[0].ravel() * 0.89**4, rtol=1e-5)
    assert issubclass(extended, plain) and issubclass(optimizers.AdamWOptimizer, tf.train.AdamOptimizer)
    for optimizer in (optimizers.MomentumWOptimizer(0.5, 0.0, 0.9), optimizers.AdamWOptimizer(lambda: 0.5, 0.0)):
        with tf.Graph().as_default():
            chosen = []
            opt = optimizer
            v, w = tf.Variable([4.0]), tf.Variable([4.0])
            train = opt.minimize(tf.reduce_sum(v + w), decay_var_list=[v])
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                sess.run(train)
                chosen = sess.run([v, w])
        np.testing.assert_allclose(np.ravel(chosen), [2, 4])


def test_slots_have_the_name_of_the_optimizer():
    v = tf.Variable([1.0], name="v")
    for optimizer in (
        tf.train.AdamOptimizer(name="Mine"),
        tf.train.MomentumOptimizer(0.1, 0.9, name="Other"),
        tf.train.FtrlOptimizer(0.1, name="Third"),
    ):
        optimizer.minimize(tf.reduce_sum(v * v))
    names = {x.op.name for x in tf.global_variables()}
    assert {"v/Mine", "v/Mine_1", "v/Other", "v/Third", "v/Third_1"} <= names


def test_averages_are_saved_in_the_variables_place(tmp_path):
    v = tf.Variable(4.0, name="v")
    optimizer = optimizers.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), 0.5, sequential_update=False)
    with pytest.raises(errors.FailedPreconditionError, match="swapping_saver"):
        optimizer.swapping_saver()
    train = optimizer.minimize(v)
    saver = optimizer.swapping_saver()
    with pytest.raises(errors.NotFoundError, match="ExponentialMovingAverage"):
        optimizer.swapping_saver([v])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        path = saver.save(sess, str(tmp_path / "m"))
        average = sess.run(next(x for x in tf.global_variables() if "Average" in x.op.name))
    assert tf.train.load_variable(path, "v") == average


def test_gradients_of_zeros_and_stale_ones_are_left_out():
    v, mask = tf.Variable([1.0]), tf.placeholder_with_default(1.0, [])
    optimizer = optimizers.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(1.0, 0.5))
    train = optimizer.minimize(tf.reduce_sum(v * mask))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        sess.run(train, {mask: 0.0})
        assert sess.run(v) == [0.0]
    pairs, norm = optimizers.clip_gradients_by_global_norm([(tf.constant([3.0, 4.0]), v), (None, v)], 1.0)
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run([pairs[0][0], norm])[0], [0.6, 0.8], rtol=1e-6)
    with tf.Graph().as_default():
        x, count = tf.Variable(1.0), step()
        stale = optimizers.DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(1.0), -1)
        left_out = stale.minimize(x, global_step=count)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            assert sess.run(left_out) == 1 and sess.run([x, count]) == [1, 0]


def test_accumulators_can_stay():
    v = tf.Variable([1.0])
    optimizer = optimizers.RegAdagradOptimizer(0.1)
    pairs = optimizer.compute_gradients(tf.reduce_sum(v * v))
    with optimizer.avoid_updating_slots():
        train = optimizer.apply_gradients(pairs)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        assert sess.run(optimizer.get_slot(v, "accumulator")) == np.float32([0.1])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda v: optimizers.LARSOptimizer(0.1, momentum=-1),
        lambda v: optimizers.AddSignOptimizer(0.1, sign_decay_fn=optimizers.get_linear_decay_fn(5)).minimize(v * v),
        lambda v: optimizers.DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(1.0), 1).minimize(
            v * v + 0.0 * step()
        ),
        lambda v: optimizers.MultitaskOptimizerWrapper(3),
    ],
)
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises((errors.InvalidArgumentError, errors.DTypeError, errors.FailedPreconditionError)):
        wrong(tf.Variable(1.0))
