"""Masked weights: which are masked, when, and graphs in which masks are multiplied in."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

pruning = tf.contrib.model_pruning


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def test_the_smallest_weights_are_masked_at_the_time_that_is_set(rng):
    weights = rng.normal(size=(20, 10)).astype("float32")
    variable = tf.get_variable("w", initializer=weights)
    masked = pruning.apply_mask(variable)
    step = tf.train.get_or_create_global_step()
    spec = pruning.get_pruning_hparams().parse(
        "begin_pruning_step=2,end_pruning_step=8,pruning_frequency=2,initial_sparsity=0.5,target_sparsity=0.5,"
        "threshold_decay=1.0"
    )
    update = pruning.Pruning(spec).conditional_mask_update_op()
    more = tf.assign_add(step, 1)
    (share,) = pruning.get_weight_sparsity()
    shares = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            session.run(update)
            shares.append(session.run(share))
            session.run(more)
        kept = session.run(masked)
        last = session.run(pruning.get_thresholds()[0])
    assert shares[:2] == [0, 0]
    assert abs(shares[2] - 0.5) < 0.03
    np.testing.assert_array_equal(kept, np.where(np.abs(weights) > last, weights, 0))
    assert [v.op.name for v in pruning.get_masks()] == ["mask"]
    assert pruning.get_weights() == [variable]


def test_sparsity_grows_along_its_function_and_names_are_left_out():
    with tf.variable_scope("first"):
        pruning.apply_mask(tf.get_variable("w", [4, 4]))
    with tf.variable_scope("second"):
        pruning.apply_mask(tf.get_variable("w", [4, 4]))
    spec = pruning.get_pruning_hparams()
    spec.set_hparam("do_not_prune", ["first"])
    step = tf.placeholder(tf.int64, [])
    found = pruning.Pruning(spec, step)
    update, shares = found.mask_update_op(), pruning.get_weight_sparsity()
    found.add_pruning_summaries()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = [session.run(found._sparsity, {step: s}) for s in (0, 50, 100, 500)]
        session.run(update, {step: 100})
        first, second = session.run(shares)
    np.testing.assert_allclose(values, [0, 0.5 - 0.5 / 8, 0.5, 0.5], atol=1e-6)
    assert first == 0
    assert second > 0.2
    spec.set_hparam("sparsity_function_end_step", 0)
    with pytest.raises(errors.InvalidArgumentError, match="begin before"):
        pruning.Pruning(spec, step)


def test_layers_and_cells_read_masked_weights(rng):
    x = tf.constant(rng.random((2, 6, 6, 3)), tf.float32)
    y = pruning.masked_conv2d(x, 4, 3, scope="conv")
    y = pruning.masked_fully_connected(tf.reshape(y, [2, -1]), 5, activation_fn=None)
    pruning.MaskedBasicLSTMCell(3)(y, pruning.MaskedBasicLSTMCell(3).zero_state(2, tf.float32))
    pruning.MaskedLSTMCell(3, use_peepholes=True)
    names = [v.op.name for v in pruning.get_masks()]
    assert names == ["conv/mask", "fully_connected/mask", "masked_basic_lstm_cell/mask"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(y)
        session.run([tf.assign(m, tf.zeros_like(m)) for m in pruning.get_masks()[:1]])
        assert abs(before).max() > 0
        np.testing.assert_array_equal(session.run(y), 0)
    with pytest.raises(errors.ShapeError, match="matrix"):
        pruning.masked_fully_connected(x, 5)


def test_training_and_the_graph_without_masks(tmp_path, rng):
    x, labels = tf.constant(rng.random((8, 3)), tf.float32), tf.constant(rng.random((8, 2)), tf.float32)
    y = pruning.masked_fully_connected(x, 2, activation_fn=None)
    out = tf.identity(y, name="out")
    loss = tf.losses.mean_squared_error(labels, y)
    step = tf.train.get_or_create_global_step()
    spec = pruning.get_pruning_hparams().parse("pruning_frequency=1,initial_sparsity=0.5")
    update = pruning.Pruning(spec, step).conditional_mask_update_op()
    train = tf.contrib.training.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
    pruning.train(train, str(tmp_path), update, number_of_steps=4, log_every_n_steps=100)
    frozen = pruning.graph_def_from_checkpoint(str(tmp_path), ["out"])
    stripped = pruning.strip_pruning_vars_fn(frozen, ["out"])
    assert not any(node.name.endswith("mask") for node in stripped.node)
    results = []
    for message in (frozen, stripped):
        with tf.Graph().as_default(), tf.Session() as session:
            (tensor,) = tf.import_graph_def(message, return_elements=["out:0"])
            results.append(session.run(tensor))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)
    assert out.shape.as_list() == [8, 2]
    with pytest.raises(errors.NotFoundError, match="checkpoint"):
        pruning.graph_def_from_checkpoint(str(tmp_path / "none"), ["out"])
