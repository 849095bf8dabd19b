"""Graphs rewritten for quantisation, beside values that TensorFlow 1.15.5 computed for the same graphs."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

slim = tf.contrib.slim
quantize = tf.contrib.quantize


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def filled(*shape, low=-0.7, high=0.9):
    return tf.constant_initializer(np.linspace(low, high, int(np.prod(shape))).reshape(shape).astype("f"))


def model(x, training, **options):
    """A convolution with batch normalisation and relu6, and a classifier."""
    options = {"is_training": training, "decay": 0.9, "scale": True, **options}
    h = slim.conv2d(
        x,
        3,
        3,
        scope="c",
        weights_initializer=filled(3, 3, 2, 3),
        normalizer_fn=slim.batch_norm,
        normalizer_params=options,
        activation_fn=tf.nn.relu6,
    )
    h = tf.reduce_mean(h, [1, 2])
    return slim.fully_connected(
        h, 2, activation_fn=None, scope="f", weights_initializer=filled(3, 2, low=-0.5, high=0.8)
    )


def images():
    return tf.placeholder(tf.float32, [2, 4, 4, 2])


def loss_of(y):
    return tf.reduce_sum(y[:, 0] - y[:, 1] * y[:, 1])


def trained(loss):
    step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return loss, tf.group(step, *tf.get_collection(tf.GraphKeys.UPDATE_OPS))


def run_steps(x, loss, step, *others):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        batches = np.sin(np.arange(3 * 64)).reshape(3, 2, 4, 4, 2)
        losses = [float(session.run([loss, step], {x: batch})[0]) for batch in batches]
        return losses, session.run(list(others))


def names(key=None):
    return [v.op.name for v in tf.global_variables() if key is None or key in v.op.name]


def test_training_has_the_values_and_names_of_tensorflow():
    x = images()
    loss = loss_of(model(x, True))
    quantize.create_training_graph()
    ends = ["c/weights_quant/min", "c/weights_quant/max", "c/act_quant/max", "f/weights_quant/min", "f/act_quant/min"]
    ends += ["f/act_quant/max", "f/act_quant/f/act_quant/max/biased", "f/act_quant/f/act_quant/max/local_step"]
    ranges = {v.op.name: v for v in tf.global_variables()}
    losses, found = run_steps(x, *trained(loss), *(ranges[name] for name in ends))
    np.testing.assert_allclose(losses, [-0.187246, -0.237116, -0.275047], rtol=1e-5)
    there = [-0.694993, 0.890797, 1.929278, -0.508213, -0.006885, 0.365481, 0.001095, 3.0]
    np.testing.assert_allclose(found, there, rtol=1e-4, atol=1e-6)
    assert names("c/act_quant") == [
        "c/act_quant/min",
        "c/act_quant/max",
        *(f"c/act_quant/c/act_quant/{end}/{slot}" for end in ("min", "max") for slot in ("biased", "local_step")),
    ]


@pytest.mark.parametrize("fused", [True, False])
def test_folding_alone_changes_no_values(fused):
    x = images()
    plain = run_steps(x, *trained(loss_of(model(x, True, fused=fused))))[0]
    with tf.Graph().as_default():
        x = images()
        loss = loss_of(model(x, True, fused=fused))
        quantize.create_training_graph(quant_delay=100)
        folded = run_steps(x, *trained(loss))[0]
    np.testing.assert_allclose(folded, plain, rtol=1e-4)


def test_a_delay_counts_steps():
    x = images()
    loss = loss_of(model(x, True))
    quantize.create_training_graph(quant_delay=3)
    delayed = run_steps(x, *trained(loss))[0]
    assert "fake_quantization_step" in names()
    with tf.Graph().as_default():
        x = images()
        plain = run_steps(x, *trained(loss_of(model(x, True))))[0]
    np.testing.assert_allclose(delayed[:2], plain[:2], rtol=1e-5)
    assert abs(delayed[2] / plain[2] - 1) > 1e-4


def test_moving_statistics_freeze():
    x = images()
    loss = loss_of(model(x, True))
    quantize.experimental_create_training_graph(quant_delay=100, freeze_bn_delay=2)
    with tf.variable_scope("", reuse=True):
        mean = tf.get_variable("c/BatchNorm/moving_mean")
    loss, step = trained(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        means = []
        for batch in np.cos(np.arange(3 * 64)).reshape(3, 2, 4, 4, 2):
            session.run([loss, step], {x: batch})
            means.append(session.run(mean))
    assert np.abs(means[0]).max() > 0
    np.testing.assert_array_equal(means[1], means[0])
    np.testing.assert_array_equal(means[2], means[0])


def test_inference_reads_the_ranges_of_training(tmp_path):
    x = images()
    loss = loss_of(model(x, True))
    quantize.create_training_graph()
    loss, step = trained(loss)
    saver = tf.train.Saver()
    batch = np.sin(np.arange(64)).reshape(2, 4, 4, 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([loss, step], {x: batch})
        path = saver.save(session, str(tmp_path / "model"))
        top = session.run("f/act_quant/max:0")
        bottom = session.run("f/act_quant/min:0")
    with tf.Graph().as_default():
        x = images()
        y = tf.negative(model(x, False))
        quantize.create_eval_graph()
        assert "c/act_quant/c/act_quant/min/biased" not in names()
        with tf.Session() as session:
            tf.train.Saver().restore(session, path)
            found = session.run(y, {x: batch})
    steps = found / ((top - bottom) / 255)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-3)


def test_symmetric_ranges_and_bits():
    x = images()
    h = tf.layers.conv2d(x, 3, 3, activation=tf.nn.relu, kernel_initializer=filled(3, 3, 2, 3), name="c")
    quantize.experimental_create_training_graph(weight_bits=4, activation_bits=6, symmetric=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(h.op.graph.get_tensor_by_name("c/act_quant/FakeQuantWithMinMaxVars:0"), {x: np.ones((2, 4, 4, 2))})
        ends = session.run(["c/weights_quant/min:0", "c/weights_quant/max:0", "c/act_quant/min:0", "c/act_quant/max:0"])
    np.testing.assert_allclose(ends[0], -ends[1], rtol=1e-6)
    np.testing.assert_allclose(ends[2] / ends[3], -64 / 62, rtol=1e-5)


def test_only_a_scope_is_quantised():
    h = tf.layers.dense(tf.ones([2, 3]), 4, activation=tf.nn.relu, name="first")
    with tf.variable_scope("inner"):
        tf.identity(tf.layers.dense(h, 4, activation=tf.nn.relu, name="second"))
    quantize.experimental_create_eval_graph(scope="inner")
    assert names("quant") == [
        f"inner/second/{what}_quant/{end}" for what in ("weights", "act") for end in ("min", "max")
    ]


def test_a_residual_addition_and_sums_after_it():
    x = tf.placeholder(tf.float32, [2, 4, 4, 3])
    with tf.variable_scope("net"):
        h = slim.conv2d(x, 3, 3, scope="a", normalizer_fn=slim.batch_norm)
        g = slim.conv2d(h, 3, 3, scope="b", normalizer_fn=slim.batch_norm, activation_fn=None)
        h = h + g
        tf.identity((h * 2.0 + 1.0) * 3.0)
    quantize.create_training_graph()
    found = {name.rpartition("/")[0] for name in names("quant/min") if name.endswith("/min")}
    # the addition is one after the activation of "a", and one before that of "b", which has none
    expected = {"net/a/weights_quant", "net/a/act_quant", "net/b/weights_quant", "net/b/act_quant"}
    assert found >= expected
    assert "net/post_activation_bypass_quant" in found
    assert "net/mul/activation_Mul_quant" in found
    assert "net/add_1/activation_AddV2_quant" in found


def test_separable_convolutions_without_anything_between():
    x = tf.placeholder(tf.float32, [2, 6, 6, 2])
    tf.identity(tf.layers.separable_conv2d(x, 4, 3, activation=tf.nn.relu, name="s"))
    quantize.create_eval_graph()
    found = [name for name in names("quant") if name.endswith("min")]
    assert sorted(found) == [
        "s/act_quant/min",
        "s/separable_conv2d/act_quant/min",
        "s/separable_conv2d/weights_quant/min",
        "s/weights_quant/min",
    ]


def test_layers_of_keras_are_folded_too():
    x = images()
    tf.keras.backend.set_learning_phase(1)
    h = tf.keras.layers.Conv2D(3, 3, use_bias=False, name="c")(x)
    h = tf.keras.layers.BatchNormalization(name="n")(h)
    tf.keras.layers.ReLU()(h)
    quantize.create_training_graph(tf.get_default_graph())
    assert {"c/weights_quant/min", "c/act_quant/min"} <= set(names())
    tf.keras.backend.set_learning_phase(0)


def test_one_operation_is_folded():
    x = images()
    weights = tf.get_variable("w", [3, 3, 2, 3], initializer=filled(3, 3, 2, 3))
    h = tf.nn.conv2d(x, weights, [1, 1, 1, 1], "SAME", name="layer/conv")
    scale, offset = tf.constant([1.0, 2.0, 3.0]), tf.constant([0.0, 1.0, 2.0])
    mean, variance = tf.constant([0.1, 0.2, 0.3]), tf.constant([1.0, 2.0, 3.0])
    y = tf.nn.fused_batch_norm(h, scale, offset, mean, variance, is_training=False)[0]
    y = tf.nn.relu(y)
    batch = np.sin(np.arange(64)).reshape(2, 4, 4, 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plain = session.run(y, {x: batch})
    with tf.Session() as session:
        quantize.experimental_create_eval_graph(weight_bits=16, activation_bits=16, scope="nowhere")
        assert y.op.inputs[0].op.name == "layer/add_fold"
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(y, {x: batch}), plain, rtol=1e-4, atol=1e-5)


def test_refused_graphs(graph):
    x = tf.placeholder(tf.float32, [2, 2, 4, 4])
    h = tf.layers.conv2d(x, 3, 3, use_bias=False, data_format="channels_first")
    tf.nn.relu(tf.layers.batch_normalization(h, axis=1))
    with pytest.raises(errors.UnimplementedError, match="channels are last"):
        quantize.create_eval_graph(graph)
    with tf.Graph().as_default():
        trained(loss_of(model(images(), True)))
        with pytest.raises(ValueError, match=r"Training op found in graph, exiting \{'ApplyGradientDescent'\}"):
            quantize.create_training_graph()
