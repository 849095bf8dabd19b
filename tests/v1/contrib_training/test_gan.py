"""`tf.contrib.gan`: a model of two networks, its losses by hand, and a training that moves what is generated."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

gan = tf.contrib.gan
W = gan.losses.wargs
REAL, FAKE = np.float32([[2.0], [0.5]]), np.float32([[-1.0], [1.0]])


def entropy(x, label):
    return np.maximum(x, 0) - x * label + np.log1p(np.exp(-abs(x)))


LOSSES = {
    "wasserstein_generator_loss": (lambda f: f(FAKE), -FAKE.mean()),
    "wasserstein_discriminator_loss": (lambda f: f(REAL, FAKE, generated_weights=2.0), 2 * FAKE.mean() - REAL.mean()),
    "minimax_generator_loss": (lambda f: f(FAKE), -entropy(FAKE, 0).mean()),
    "modified_generator_loss": (lambda f: f(FAKE), entropy(FAKE, 1).mean()),
    "minimax_discriminator_loss": (lambda f: f(REAL, FAKE), (entropy(REAL, 0.875) + entropy(FAKE, 0)).mean()),
    "modified_discriminator_loss": (lambda f: f(REAL, FAKE, 0.0), (entropy(REAL, 1) + entropy(FAKE, 0)).mean()),
    "least_squares_generator_loss": (lambda f: f(FAKE, add_summaries=True), 0.5 * ((FAKE - 1) ** 2).mean()),
    "least_squares_discriminator_loss": (
        lambda f: f(REAL, FAKE),
        0.5 * ((REAL - 1) ** 2).mean() + 0.5 * (FAKE**2).mean(),
    ),
}


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_losses(name):
    make, expected = LOSSES[name]
    loss = make(getattr(W, name))
    assert len(tf.losses.get_losses()) == 1
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(loss), expected, rtol=1e-5)


def generator(z):
    return z + tf.get_variable("shift", [], initializer=tf.zeros_initializer())


def discriminator(x, _):
    return tf.layers.dense(x, 1, kernel_initializer=tf.ones_initializer(), name="d")


def made(batch=8):
    z = tf.random_normal([batch, 1], seed=1)
    return gan.gan_model(generator, discriminator, tf.random_normal([batch, 1], 3.0, seed=2), z)


def test_a_model():
    model = made()
    assert [v.op.name for v in model.generator_variables] == ["Generator/shift"]
    assert [v.op.name for v in model.discriminator_variables] == ["Discriminator/d/kernel", "Discriminator/d/bias"]
    assert model.discriminator_scope.name == "Discriminator" and model.generated_data.shape.as_list() == [8, 1]
    with tf.Graph().as_default(), pytest.raises(errors.ShapeError, match="real data"):
        gan.gan_model(generator, lambda x, _: x, tf.zeros([2, 3]), tf.zeros([2, 1]))


def test_the_gradient_penalty():
    model = made()
    both = gan.losses.wasserstein_gradient_penalty(model, target=0.5)
    one_sided = gan.losses.wasserstein_gradient_penalty(model, target=2.0, one_sided=True)
    full = gan.gan_loss(model, gradient_penalty_weight=10.0, gradient_penalty_target=0.5)
    plain = gan.gan_loss(model)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        # the discriminator's gradient is 1 everywhere
        np.testing.assert_allclose(sess.run([both, one_sided]), [1, 0], atol=1e-5)
        more, less = sess.run([full.discriminator_loss, plain.discriminator_loss])
        np.testing.assert_allclose(more - less, 10, atol=1e-4)


def test_regularisers_and_pools():
    def penalised(x, _):
        return tf.layers.dense(x, 1, kernel_initializer=tf.ones_initializer(), kernel_regularizer=tf.nn.l2_loss)

    model = gan.gan_model(generator, penalised, tf.zeros([4, 1]), tf.zeros([4, 1]))
    loss = gan.gan_loss(model, tensor_pool_fn=lambda pair: (pair[0] + 5.0, pair[1]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(loss) == (0, 5.5)


def test_training_in_turn(tmp_path):
    model = made(64)
    loss = gan.gan_loss(
        model,
        gan.losses.least_squares_generator_loss,
        gan.losses.least_squares_discriminator_loss,
        add_summaries=False,
    )
    optimizers = (tf.train.AdamOptimizer(0.1), tf.train.AdamOptimizer(0.1))
    ops = gan.gan_train_ops(model, loss, *optimizers)
    hooks = [tf.train.StopAtStepHook(60)]
    shifts = []

    class Watch(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs(model.generator_variables[0])

        def after_run(self, run_context, run_values):
            shifts.append(run_values.results)

    steps = gan.GANTrainSteps(1, 2)
    count = gan.gan_train(ops, str(tmp_path), gan.get_sequential_train_hooks(steps), hooks=[*hooks, Watch()])
    assert count == 60 and abs(shifts[-1] - shifts[0]) > 0.5 and shifts[-1] > 0
    assert tf.train.load_variable(str(tmp_path), "global_step") == 60


def test_joint_hooks_and_slim_steps():
    model = made()
    optimizer = tf.train.GradientDescentOptimizer(0.0)
    ops = gan.gan_train_ops(model, gan.gan_loss(model), optimizer, optimizer)
    assert [h._steps for h in gan.get_joint_train_hooks(gan.GANTrainSteps(3, 1))(ops)] == [1, 2]
    loss = tf.contrib.slim.learning.train(
        ops, None, gan.get_sequential_train_steps(gan.GANTrainSteps(2, 1)), number_of_steps=2
    )
    assert np.isfinite(loss)


def test_updates_outside_of_both_scopes_are_refused():
    model = made()
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.no_op(name="stray"))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(errors.InvalidArgumentError, match="stray"):
        gan.gan_train_ops(model, gan.gan_loss(model), optimizer, optimizer)
