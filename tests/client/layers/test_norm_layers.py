"""Batch normalisation with several axes, renormalisation, virtual batches and adjustments, against NumPy."""

import numpy as np
import pytest

import tfnb as tf


def random(*shape):
    return np.random.default_rng(5).random(shape).astype(np.float32)


def test_renormalisation_follows_the_paper():
    clip = {"rmax": 1.1, "rmin": 0.9, "dmax": 0.1}
    with tf.Graph().as_default(), tf.Session() as session:
        x, training = tf.placeholder(tf.float32, [4, 3]), tf.placeholder(tf.bool)
        layer = tf.layers.BatchNormalization(renorm=True, renorm_clipping=clip, renorm_momentum=0.8)
        y = layer.apply(x, training=training)
        session.run(tf.global_variables_initializer())
        session.run(layer.updates, {x: np.ones([4, 3]), training: False})  # changes nothing
        mean = stddev = weight = moving_mean = 0.0
        moving_variance = 1.0
        for _ in range(4):
            data = random(4, 3)
            m, s = data.mean(0), np.sqrt(data.var(0) + 1e-3)
            mixed_mean, mixed_s = mean + (1 - weight) * m, stddev + (1 - weight) * s
            r, d = (s / mixed_s).clip(0.9, 1.1), ((m - mixed_mean) / mixed_s).clip(-0.1, 0.1)
            mean, stddev, weight = mean + (m - mean) * 0.2, stddev + (s - stddev) * 0.2, weight + (1 - weight) * 0.2
            moving_mean += (mean / weight - moving_mean) * 0.01
            moving_variance += ((stddev / weight) ** 2 - 1e-3 - moving_variance) * 0.01
            got = session.run([y, *layer.updates], {x: data, training: True})[0]
            np.testing.assert_allclose(got, (data - m) / s * r + d, atol=1e-5)
            got = session.run(y, {x: data, training: False})
            np.testing.assert_allclose(got, (data - moving_mean) / np.sqrt(moving_variance + 1e-3), atol=1e-5)


@pytest.mark.parametrize(("shape", "axis"), [((6, 2), -1), ((6, 3, 4, 4), 1), ((6, 3, 4), [1, 2]), ((6, 3, 4), 2)])
def test_virtual_batches_are_normalised_by_themselves(shape, axis):
    data = random(*shape)
    parts = data.reshape(3, 2, *shape[1:])
    axes = {a % len(shape) + 1 for a in (axis if isinstance(axis, list) else [axis])}
    over = tuple(i for i in range(len(shape) + 1) if i != 1 and i not in axes)
    m, v = parts.mean(over, keepdims=True), parts.var(over, keepdims=True)
    with tf.Graph().as_default(), tf.Session() as session:
        x, training = tf.placeholder(tf.float32, [None, *shape[1:]]), tf.placeholder(tf.bool)
        layer = tf.layers.BatchNormalization(axis, 0.9, virtual_batch_size=3)
        y = layer.apply(x, training=training)
        session.run(tf.global_variables_initializer())
        got = session.run([y, *layer.updates], {x: data, training: True})[0]
        np.testing.assert_allclose(got, ((parts - m) / np.sqrt(v + 1e-3)).reshape(shape), atol=1e-5)
        moving = session.run(layer.moving_mean)
        np.testing.assert_allclose(moving, m.mean(1, keepdims=True) * 0.1, atol=1e-5)
        want = (data - moving.reshape(moving.shape[:1] + moving.shape[2:])) / np.sqrt(
            session.run(layer.moving_variance).reshape(moving.shape[:1] + moving.shape[2:]) + 1e-3
        )
        np.testing.assert_allclose(session.run(y, {x: data, training: False}), want, atol=1e-5)


def test_several_axes_and_what_is_wrong_with_some():
    data = random(5, 4, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.layers.batch_normalization(tf.constant(data), [1, 2], training=True)
        session.run(tf.global_variables_initializer())
        want = (data - data.mean(0)) / np.sqrt(data.var(0) + 1e-3)
        np.testing.assert_allclose(session.run(y), want, atol=1e-5)
        for axis in ([1, 4], [-5, 1], [1, 2, 1]):
            with pytest.raises(ValueError, match="axis"):
                tf.layers.batch_normalization(tf.constant(data), axis)
        with pytest.raises(ValueError, match="cannot include 0"):
            tf.layers.batch_normalization(tf.constant(data), 0, virtual_batch_size=5)


def test_adjustment_changes_normalised_values_in_training():
    data = random(4, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        training = tf.placeholder(tf.bool)
        layer = tf.layers.BatchNormalization(
            gamma_initializer=tf.constant_initializer(2.0), adjustment=lambda shape: (tf.fill(shape[-1:], 1.5), 0.25)
        )
        y = layer.apply(tf.constant(data), training=training)
        session.run(tf.global_variables_initializer())
        want = ((data - data.mean(0)) / np.sqrt(data.var(0) + 1e-3) * 1.5 + 0.25) * 2
        np.testing.assert_allclose(session.run(y, {training: True}), want, atol=1e-5)
        np.testing.assert_allclose(session.run(y, {training: False}), data / np.sqrt(1.001) * 2, atol=1e-5)


@pytest.mark.parametrize("training", [False, None])
def test_moving_statistics_get_a_gradient_only_without_the_fused_kernel(training):
    """As in TensorFlow 1.15: an optimizer of all variables leaves the statistics of images alone."""
    x = tf.placeholder(tf.float32, [4, 3, 3, 2])
    training = tf.placeholder(tf.bool, []) if training is None else training
    layers, slim = tf.layers, tf.contrib.layers
    made = {
        "images": layers.batch_normalization(x, training=training),
        "slowly": layers.batch_normalization(x, training=training, fused=False),
        "vectors": layers.batch_normalization(tf.reshape(x, [12, 6]), training=training),
        "vectors of contrib": slim.batch_norm(tf.reshape(x, [12, 6]), is_training=training),
    }
    variables = [v for v in tf.global_variables() if v.op.name.endswith(("moving_mean", "moving_variance"))]
    found = {
        name: [g is not None for g in tf.gradients(tf.reduce_sum(y * y), variables[2 * i : 2 * i + 2])]
        for i, (name, y) in enumerate(made.items())
    }
    assert found == {
        "images": [False, False],
        "slowly": [True, True],
        "vectors": [True, True],
        "vectors of contrib": [False, False],
    }
    y, _, _ = tf.nn.fused_batch_norm(x, [1.0, 1.0], [0.0, 0.0], variables[0], variables[1], is_training=False)
    assert tf.gradients(tf.reduce_sum(y * y), variables[:2]) == [None, None]


@pytest.mark.parametrize("layout", ["fused", "vectors"])
def test_second_derivatives_of_the_fused_kernel_are_exact(layout, rng):
    """What is added before the normalisation changes nothing, also for a loss after a step of gradient descent."""
    rows = rng.standard_normal((6, 3, 3, 2) if layout == "fused" else (6, 2)).astype("f")
    start, slope = rng.standard_normal((2, 2)).astype("f")
    with tf.Session() as sess:
        bias, scale, x = tf.Variable(start), tf.Variable(slope), tf.constant(rows)

        def loss(bias, scale):
            normed = tf.contrib.layers.batch_norm(tf.sin(x * scale) + bias, scope="norm", reuse=tf.AUTO_REUSE)
            return tf.reduce_mean(tf.tanh(normed) ** 3)

        steps = [
            v - 0.5 * g for v, g in zip((bias, scale), tf.gradients(loss(bias, scale), [bias, scale]), strict=True)
        ]
        after = loss(*steps)
        of_bias, of_scale = tf.gradients(after, [bias, scale])
        sess.run(tf.global_variables_initializer())
        np.testing.assert_allclose(sess.run(of_bias), 0, atol=2e-6)
        shift, numeric = 1e-2, []
        for i in range(2):
            ends = []
            for sign in (1, -1):
                scale.load(slope + sign * shift * np.eye(2, dtype="f")[i], sess)
                ends.append(sess.run(after))
            numeric.append((ends[0] - ends[1]) / (2 * shift))
        scale.load(slope, sess)
        np.testing.assert_allclose(sess.run(of_scale), numeric, rtol=2e-2, atol=1e-4)


def test_a_built_layer_has_a_list_of_axes():
    layer = tf.layers.BatchNormalization()
    assert layer.axis == -1
    layer.build([None, 3, 4])
    assert layer.axis == [2]
