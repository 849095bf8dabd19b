"""Names that programs and libraries import at their top, whether they use them or not."""

from __future__ import annotations

import importlib

import pytest

import tfnb as tf
from tfnb.v1.programs import hook


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("contrib.learn.python.learn.datasets.mnist", "load_mnist"),
        ("contrib.tfprof", ""),
        ("python.ops.summary_ops_v2", "scalar"),
        ("python.keras.engine.network", "Network"),
        ("python.debug", "LocalCLIDebugWrapperSession"),
        ("tools.graph_transforms", "TransformGraph"),
        ("contrib.cluster_resolver", "TPUClusterResolver"),
        ("python.eager.backprop", ""),
        ("contrib.eager.python", "tfe"),
        ("python.keras.backend", "get_graph"),
        ("python.training.monitored_session", "_HookedSession"),
        ("contrib.tpu", "CrossShardOptimizer"),
        ("python.ops.gen_nn_ops", "conv3d_backprop_input_v2"),
        ("python.ops.linalg.linear_operator", "LinearOperator"),
        ("python.keras.saving", ""),
        ("contrib.linalg", "LinearOperatorDiag"),
        ("contrib.framework.python.ops.audio_ops", "mfcc"),
    ],
)
def test_imports(module: str, name: str) -> None:
    with hook.installation("1.15"):
        found = importlib.import_module(f"tensorflow.{module}")
        if name:
            exec(f"from tensorflow.{module} import {name}", {})
        assert found.__name__ == f"tensorflow.{module}"


def test_a_model_is_a_network() -> None:
    with hook.installation("1.15"):
        network = importlib.import_module("tensorflow.python.keras.engine.network")
        assert issubclass(tf.keras.Model, network.Network) and not issubclass(tf.keras.layers.Dense, network.Network)


def test_a_resolver_knows_addresses_alone() -> None:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver
    assert resolver("grpc://1.2.3.4:8470").master() == "grpc://1.2.3.4:8470"
    assert resolver(["grpc://1.2.3.4:8470"]).cluster_spec().as_dict() == {"worker": ["1.2.3.4:8470"]}
    assert resolver("").master() == "" and resolver("").cluster_spec() is None
    with pytest.raises(ValueError, match="Please provide a TPU Name"):
        resolver()
    with pytest.raises(tf.errors.UnimplementedError, match="the TPU 'mine'"):
        resolver("mine")


def test_gradients_are_not_added_over_shards_without_a_tpu() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        pairs = optimizer.compute_gradients(v * 2.0)
        assert [variable for _, variable in pairs] == [v] and optimizer.get_slot_names() == []
        with pytest.raises(tf.errors.UnimplementedError, match="CrossReplicaSum"):
            optimizer.minimize(v * 2.0)
        with pytest.raises(ValueError, match="Unsupported reduction: mean"):
            tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1), "mean")


def test_hooks_around_a_plain_session() -> None:
    from tfnb.train.sessions.hooked_session import HookedSession

    class Counting(tf.train.SessionRunHook):
        def __init__(self, tensor: tf.Tensor, feed: tf.Tensor) -> None:
            self.tensor, self.feed, self.seen = tensor, feed, []

        def before_run(self, run_context):
            return tf.train.SessionRunArgs(self.tensor, {self.feed: 3.0})

        def after_run(self, run_context, run_values):
            self.seen.append(run_values.results)
            if len(self.seen) == 2:
                run_context.request_stop()

    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [])
        hook_ = Counting(x * 2.0, x)
        hooked = HookedSession(sess, [hook_])
        assert [hooked.run(x + 1.0), hooked.run([x]), hooked.should_stop()] == [4.0, [3.0], True]
        assert hook_.seen == [6.0, 6.0]
        with pytest.raises(RuntimeError, match="after should_stop"):
            hooked.run(x)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Same tensor"):
            HookedSession(sess, [hook_]).run(x, {x: 1.0})


def test_hints_for_another_compiler() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:

        @tf.python.framework.function.Defun(tf.float32, compiled=True, separate_compiled_gradients=True)
        def triple(x):
            return 3.0 * x

        assert sess.run(triple(tf.constant(2.0))) == 6.0
