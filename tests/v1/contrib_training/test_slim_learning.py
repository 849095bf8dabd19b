"""Slim's and contrib.training's training loops: the loss falls, checkpoints and summaries are written and read again."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

slim = tf.contrib.slim
X = np.random.RandomState(0).rand(16, 4).astype("f")
Y = (X.sum(1, keepdims=True) > 2).astype("f")


def model(is_training=True):
    net = slim.batch_norm(tf.constant(X), is_training=is_training)
    logits = slim.fully_connected(net, 1, activation_fn=None, scope="out")
    tf.losses.sigmoid_cross_entropy(Y, logits)
    return logits


def train_op(**options):
    model()
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    return slim.learning.create_train_op(tf.losses.get_total_loss(), optimizer, **options)


def test_training_goes_on_from_its_checkpoint(tmp_path):
    tf.set_random_seed(1)
    op = train_op(summarize_gradients=True)
    first = slim.learning.train(op, str(tmp_path), number_of_steps=3, save_summaries_secs=600, trace_every_n_steps=3)
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-3")
    assert len(list(tmp_path.glob("tf_trace-*.json"))) == 1
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        second = slim.learning.train(train_op(), str(tmp_path), number_of_steps=30)
    assert second < first
    assert tf.train.load_variable(str(tmp_path), "global_step") == 30
    # batch normalisation's updates ran with the training
    moved = tf.train.load_variable(str(tmp_path), "BatchNorm/moving_mean")
    np.testing.assert_allclose(moved, X.mean(0) * (1 - 0.999**30), rtol=1e-3)


def test_an_own_step_and_an_initial_function():
    op = train_op(clip_gradient_norm=0.1, gradient_multipliers={"out/biases": 0.0}, global_step=None)
    seen, stop = [], tf.constant(True)

    def step(sess, train_op, global_step, kwargs):
        seen.append((sess.run(global_step), sorted(kwargs)))
        return slim.learning.train_step(sess, train_op, global_step, {"should_stop": stop})

    wrapped = []
    loss = slim.learning.train(
        op,
        None,
        step,
        {},
        init_fn=lambda sess: wrapped.append(sess.run(tf.get_default_graph().get_tensor_by_name("out/biases:0"))),
        session_wrapper=lambda sess: wrapped.append("wrapped") or sess,
    )
    assert np.isfinite(loss) and seen == [(0, ["summary_writer"])] and wrapped[-1] == "wrapped"


def test_contradictions_are_refused():
    op = train_op()
    with pytest.raises(errors.InvalidArgumentError, match="logdir=None"):
        slim.learning.train(op, None, trace_every_n_steps=1)
    with pytest.raises(errors.InvalidArgumentError, match="positive"):
        slim.learning.train(op, None, number_of_steps=0)
    with pytest.raises(errors.InvalidArgumentError, match="None"):
        slim.learning.train(None, None)
    with pytest.raises(errors.InvalidArgumentError, match="logdir"):
        tf.contrib.training.train(op, None)


def test_the_training_operation():
    v, w = tf.Variable([3.0, 4.0]), tf.Variable(2.0)
    loss = tf.reduce_sum(v * v) / 2 + w
    seen = []

    def halved(pairs):
        seen.extend(pairs)
        pairs = tf.contrib.training.multiply_gradients(pairs, {w: 0.5})
        return tf.contrib.training.clip_gradient_norms_fn(1.0)(pairs)

    op = tf.contrib.training.create_train_op(
        loss, tf.train.GradientDescentOptimizer(1.0), update_ops=[w.assign_add(0.0)], transform_grads_fn=halved
    )
    assert len(seen) == 2 and op in tf.get_collection(tf.GraphKeys.TRAIN_OP)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(op) == 14.5
        np.testing.assert_allclose(sess.run(v), [2.4, 3.2], rtol=1e-6)
        assert sess.run(w) == 1.5 and sess.run(tf.train.get_global_step()) == 1
    for wrong in ({}, [1]):
        with pytest.raises(errors.InvalidArgumentError, match="dict"):
            slim.learning.multiply_gradients(seen, wrong)
    names = [s.op.name for s in slim.learning.add_gradients_summaries(seen)]
    assert names[0].startswith("Variable/gradient")
    nan = tf.contrib.training.create_train_op(w * np.nan, tf.train.GradientDescentOptimizer(1.0))
    with tf.Session() as sess, pytest.raises(errors.InvalidArgumentError, match="inf or nan"):
        sess.run(tf.global_variables_initializer())
        sess.run(nan)


def test_contrib_training_and_evaluation(tmp_path):
    op = train_op()
    hooks = [tf.train.StopAtStepHook(5)]
    loss = tf.contrib.training.train(op, str(tmp_path / "train"), hooks=hooks, save_summaries_steps=None)
    assert np.isfinite(loss)
    path = slim.evaluation.wait_for_new_checkpoint(str(tmp_path / "train"))
    values = []
    for evaluate, where, more in (
        (slim.evaluation.evaluation_loop, str(tmp_path / "train"), {"max_number_of_evaluations": 1}),
        (slim.evaluation.evaluate_once, path, {}),
    ):
        with tf.Graph().as_default():
            logits = model(is_training=False)
            accuracy, update = tf.metrics.accuracy(Y > 0, logits > 0)
            tf.summary.scalar("accuracy", accuracy)
            tf.train.get_or_create_global_step()
            options = {"num_evals": 3, "eval_op": update, "final_op": accuracy, **more}
            values.append(evaluate("", where, str(tmp_path / "eval"), **options))
    assert 0 <= values[0] == values[1] <= 1
    assert any((tmp_path / "eval").iterdir())
    with tf.Graph().as_default():
        model(is_training=False)
        step = tf.contrib.training.get_or_create_eval_step()
        assert tf.contrib.training.get_or_create_eval_step() is step
        hook = tf.contrib.training.StopAfterNEvalsHook(2)
        final = tf.contrib.training.evaluate_once(path, eval_ops={"a": tf.no_op()}, final_ops=step, hooks=[hook])
    assert final == 2


def test_no_checkpoint_comes(tmp_path):
    assert tf.contrib.training.wait_for_new_checkpoint(str(tmp_path), seconds_to_sleep=0.01, timeout=0.02) is None
    asked = []
    found = tf.train.checkpoints_iterator(
        str(tmp_path), timeout=0, timeout_fn=lambda: asked.append(1) or len(asked) == 2
    )
    assert list(found) == [] and len(asked) == 2
    with pytest.raises(errors.InvalidArgumentError, match="log_dir"):
        tf.contrib.training.SummaryAtEndHook()
