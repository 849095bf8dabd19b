"""The modules below tensorflow.python and tensorflow.contrib that programs of the time import from."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.v1.programs.hook import installation

IMPORTS = """
from tensorflow.contrib.framework.python.ops import add_arg_scope, arg_scope, variables
from tensorflow.contrib.layers.python.layers import batch_norm, initializers, layers, utils
from tensorflow.contrib.learn.python.learn import learn_runner, metric_spec
from tensorflow.train.queue_runner import QueueRunner, add_queue_runner, start_queue_runners
from tensorflow.contrib.learn.python.learn.datasets.base import Dataset, Datasets
from tensorflow.contrib.learn.python.learn.datasets.base import maybe_download
from tensorflow.contrib.learn.python.learn.datasets.mnist import DataSet, dense_to_one_hot, extract_images
from tensorflow.contrib.learn.python.learn.estimators.model_fn import ModeKeys, ModelFnOps
from tensorflow.contrib.memory_stats.python.ops.memory_stats_ops import MaxBytesInUse
from tensorflow.contrib.rnn.python.ops.lstm_ops import LSTMBlockCell
from tensorflow.contrib.seq2seq.python.ops import attention_wrapper, basic_decoder, decoder, helper
from tensorflow.contrib.seq2seq.python.ops.attention_wrapper import AttentionWrapper, BahdanauAttention
from tensorflow.contrib.seq2seq.python.ops.basic_decoder import BasicDecoderOutput
from tensorflow.contrib.solvers.python.ops import lanczos, least_squares, linear_equations, util
from tensorflow.contrib.losses.python.metric_learning import triplet_semihard_loss
from tensorflow.contrib.metrics.python.ops import metric_ops
from tensorflow.contrib.stateless import stateless_random_uniform
from tensorflow.contrib.training.python.training.hparam import HParams
from tensorflow.contrib.tpu.python.ops import tpu_ops
from tensorflow.contrib.tpu.python.tpu import tpu_config, tpu_estimator, tpu_function, tpu_optimizer
from tensorflow.contrib.util import constant_value
from tensorflow.core.protobuf import saved_model_pb2, struct_pb2
from tensorflow.python.eager import context
from tensorflow.python.estimator.canned import dnn, head
from tensorflow.python.estimator.export.export_output import PredictOutput
from tensorflow.python.framework.device_spec import DeviceSpecV1
from tensorflow.python.framework.tensor_util import constant_value
from tensorflow.python.client.session import BaseSession
from tensorflow.python import tf2
from tensorflow.python.layers import base, core, layers, utils
from tensorflow.python.layers.convolutional import Convolution2D, SeparableConvolution2D
from tensorflow.python.layers.core import fully_connected
from tensorflow.python.ops.confusion_matrix import remove_squeezable_dimensions
from tensorflow.python.ops.metrics_impl import _remove_squeezable_dimensions
from tensorflow.python.ops.variables import VariableV1
from tensorflow.python.ops.weights_broadcast_ops import broadcast_weights
from tensorflow.python.ops.distributions import categorical, kullback_leibler, normal
from tensorflow.python.ops.rnn import _transpose_batch_time
from tensorflow.python.ops.rnn_cell_impl import _RNNCell
from tensorflow.python.pywrap_tensorflow import NewCheckpointReader
from tensorflow.python.pywrap_tensorflow_internal import NewCheckpointReader
from tensorflow.python.saved_model.signature_def_utils_impl import predict_signature_def
from tensorflow.python.tools import freeze_graph, inspect_checkpoint
from tensorflow.python.training.moving_averages import assign_moving_average
from tensorflow.python.util import deprecation, tf_contextlib, tf_decorator, tf_inspect
from tensorflow.python.util.all_util import make_all, remove_undocumented
from tensorflow.python.util.deprecation import deprecated_argument_lookup
from tensorflow.python.util.tf_export import tf_export
"""


def test_imports_of_programs():
    """Each line is an import of public programs; they run in a process of their own, which shows one that loads late."""
    program = "import tfnb\ntfnb.install()\n" + IMPORTS + "print('all')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "all\n", done.stderr


@pytest.mark.parametrize("module_first", [False, True])
def test_a_function_hides_the_module_of_its_name(module_first):
    """`arg_scope` of this package is the function, also after the module of that name has been imported."""
    with installation() as tensorflow:
        if module_first:
            import tensorflow.contrib.framework.python.ops.arg_scope
        from tensorflow.contrib.framework.python.ops import arg_scope
        from tensorflow.contrib.framework.python.ops.arg_scope import add_arg_scope
        from tensorflow.contrib.framework.python.ops.arg_scope import arg_scope as same

        assert arg_scope is same is tensorflow.contrib.framework.arg_scope

        @add_arg_scope
        def scaled(x, by=1):
            return x * by

        with arg_scope([scaled], by=3):
            assert scaled(2) == 6


def test_a_module_shows_no_other_names():
    with installation():
        import tensorflow.contrib.seq2seq.python.ops.helper as helper

        assert hasattr(helper, "TrainingHelper") and not hasattr(helper, "no_such_name")
        with pytest.raises(ImportError):
            import tensorflow.contrib.seq2seq.python.ops.no_such_module  # noqa: F401


def test_slim_shows_what_its_modules_import():
    with installation() as tf, tf.Graph().as_default(), tf.Session() as sess:
        slim = tf.contrib.slim
        zero = tf.get_variable("zero", [2], initializer=slim.init_ops.zeros_initializer())
        ones = slim.array_ops.ones_like(zero)
        both = slim.math_ops.add(slim.nn.relu(zero), slim.nn_ops.softmax(ones))
        mean = slim.moving_averages.assign_moving_average(zero, 1.0, 0.5, zero_debias=False)
        sess.run(tf.global_variables_initializer())
        assert sess.run(both).tolist() == [0.5, 0.5]
        assert sess.run(mean).tolist() == [0.5, 0.5]
        assert slim.ops.GraphKeys is tf.GraphKeys and slim.loss_ops.get_losses() == []


def test_a_guided_gradient_uses_the_generated_one():
    with installation() as tf:
        from tensorflow.python.framework import ops
        from tensorflow.python.ops import gen_nn_ops

        @ops.RegisterGradient("GuidedReluOfATest")
        def _guided(op, grad):
            return tf.where(grad > 0.0, gen_nn_ops._relu_grad(grad, op.outputs[0]), tf.zeros(tf.shape(grad)))

        with tf.Graph().as_default() as graph, tf.Session() as sess:
            x = tf.constant([-1.0, 2.0, 3.0])
            with graph.gradient_override_map({"Relu": "GuidedReluOfATest"}):
                y = tf.nn.relu(x) * [1.0, -1.0, 1.0]
            assert sess.run(tf.gradients(y, x)[0]).tolist() == [0, 0, 1]
            pool = tf.nn.max_pool(tf.reshape(x[:2], [1, 1, 2, 1]), [1, 1, 2, 1], [1, 1, 2, 1], "VALID")
            back = gen_nn_ops.max_pool_grad(
                tf.reshape(x[:2], [1, 1, 2, 1]), pool, tf.ones([1, 1, 1, 1]), [1, 1, 2, 1], [1, 1, 2, 1], "VALID"
            )
            assert sess.run(back).ravel().tolist() == [0, 1]
        with pytest.raises(InvalidArgumentError, match="at most 3 arguments"):
            gen_nn_ops.relu_grad(1.0, 2.0, 3.0, 4.0)


def test_moving_averages():
    with installation() as tf, tf.Graph().as_default(), tf.Session() as sess:
        from tensorflow.python.training import moving_averages

        mean = tf.get_variable("mean", [], initializer=tf.zeros_initializer(), trainable=False)
        plain = moving_averages.assign_moving_average(mean, 1.0, 0.9, zero_debias=False)
        debiased = tf.get_variable("debiased", [], initializer=tf.zeros_initializer(), trainable=False)
        update = moving_averages.assign_moving_average(debiased, 2.0, 0.9)
        weight = tf.placeholder(tf.float32, [])
        weighted = moving_averages.weighted_moving_average(weight * 3.0, 0.5, weight)
        assert {"debiased/biased", "debiased/local_step"} <= {v.op.name for v in tf.global_variables()}
        names = ["WeightedMovingAvg/value_x_weight_var", "WeightedMovingAvg/weight_var"]
        assert [v.op.name for v in tf.global_variables()][-2:] == names
        sess.run(tf.global_variables_initializer())
        assert sess.run([plain, update]) == [pytest.approx(0.1), pytest.approx(2)]
        assert sess.run([plain, update]) == [pytest.approx(0.19), pytest.approx(2)]
        assert sess.run(weighted, {weight: 2.0}) == pytest.approx(6)
        assert sess.run(weighted, {weight: 4.0}) == pytest.approx(10.8)


def test_inspection_and_shapes():
    with installation():
        from tensorflow.python.eager import context
        from tensorflow.python.framework import ops
        from tensorflow.python.layers import utils
        from tensorflow.python.util import tf_decorator, tf_inspect
        from tensorflow.python.util.tf_export import tf_export

        @tf_export("nn.mine", v1=["nn.mine"])
        def mine(a, b=2, *rest, **more):
            """Adds."""
            return a + b

        assert tf_inspect.getargspec(mine) == (["a", "b"], "rest", "more", (2,))
        around = tf_decorator.make_decorator(mine, lambda *args: mine(*args) + 1)
        assert around.__name__ == "mine" and around(1) == 4 and tf_decorator.unwrap(around) == ([around], mine)
        assert not context.executing_eagerly() and not context.in_eager_mode() and context.in_graph_mode()
        assert ops.uid() < ops.uid()
        assert utils.normalize_tuple(2, 3, "k") == (2, 2, 2) and utils.normalize_tuple([1, 2], 2, "k") == (1, 2)
        with pytest.raises(ValueError, match="tuple of 2 integers"):
            utils.normalize_tuple([1, 2, 3], 2, "strides")
        assert [utils.conv_output_length(10, 3, p, 2) for p in ("same", "valid", "full")] == [5, 4, 6]
        assert utils.conv_output_length(10, 3, "valid", 1, dilation=2) == 6
        assert [utils.deconv_output_length(5, 3, p, 2) for p in ("same", "valid", "full")] == [10, 11, 7]
        assert utils.convert_data_format("channels_first", 4) == "NCHW" and utils.normalize_padding("SAME") == "same"
        for wrong in (lambda: utils.convert_data_format("x", 4), lambda: utils.normalize_padding("full")):
            with pytest.raises(ValueError):
                wrong()
        for length in (utils.conv_output_length, utils.deconv_output_length):
            assert length(None, 3, "same", 2) is None
            with pytest.raises(ValueError, match="padding"):
                length(5, 3, "other", 2)


@pytest.fixture
def trained(tmp_path):
    """A graph with a dropout, as text, and a checkpoint of its weights."""
    with installation() as tf:
        with tf.Graph().as_default(), tf.Session() as sess:
            x = tf.placeholder(tf.float32, [None, 2], name="x")
            w = tf.get_variable("w", initializer=[[1.0], [2.0]])
            tf.identity(tf.matmul(tf.check_numerics(x, "x"), w), name="y")
            sess.run(tf.global_variables_initializer())
            tf.train.Saver().save(sess, str(tmp_path / "model"))
            tf.train.write_graph(sess.graph, str(tmp_path), "graph.pbtxt")
        yield tf, tmp_path


def test_freezing_and_stripping(trained):
    tf, folder = trained
    from tensorflow.python.tools import freeze_graph, optimize_for_inference_lib, strip_unused_lib

    path, out = str(folder / "graph.pbtxt"), str(folder / "frozen.pb")
    common = (str(folder / "model"), "y", "save/restore_all", "save/Const:0", out, True, "")
    frozen = freeze_graph.freeze_graph(path, "", False, *common)
    with open(out, "rb") as file:
        assert tf.GraphDef.FromString(file.read()) == frozen
    assert not any(node.op.startswith("Variable") for node in frozen.node)
    small = optimize_for_inference_lib.optimize_for_inference(frozen, ["x"], ["y"], tf.float32.as_datatype_enum)
    assert "CheckNumerics" not in {node.op for node in small.node}
    for graph_def in (frozen, small):
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.import_graph_def(graph_def, name="")
            assert sess.run("y:0", {"x:0": [[1.0, 10.0]]}).tolist() == [[21]]
    with pytest.raises(NotFoundError, match="no_node"):
        strip_unused_lib.strip_unused(frozen, ["no_node"], ["y"], 1)
    with pytest.raises(InvalidArgumentError, match="output_node_names"):
        freeze_graph.freeze_graph(path, "", False, str(folder / "model"), "", "", "", out, True, "")
    meta = freeze_graph.freeze_graph("", "", True, *common, input_meta_graph=str(folder / "model.meta"))
    assert {n.name for n in meta.node} == {n.name for n in frozen.node}


def test_what_a_checkpoint_holds(trained, capsys):
    _, folder = trained
    from tensorflow.python.tools.inspect_checkpoint import print_tensors_in_checkpoint_file

    print_tensors_in_checkpoint_file(str(folder / "model"), "", all_tensors=False, all_tensor_names=True)
    print_tensors_in_checkpoint_file(str(folder / "model"), "w", False)
    print_tensors_in_checkpoint_file(str(folder / "model"), "", True)
    print_tensors_in_checkpoint_file(str(folder / "model"), "", False)
    value = str(np.float32([[1], [2]]))
    told = f"tensor_name:  w\ntensor_name:  w\n{value}\ntensor_name:  w\n{value}\nw (DT_FLOAT) [2,1]"
    assert capsys.readouterr().out.strip() == told


def test_the_network_of_the_tutorial_learns():
    with installation() as tf, tf.Graph().as_default(), tf.Session() as sess:
        from tensorflow.examples.tutorials.mnist import mnist

        tf.set_random_seed(1)
        rng = np.random.default_rng(0)
        images, labels = rng.random((20, mnist.IMAGE_PIXELS), np.float32), np.arange(20) % mnist.NUM_CLASSES
        logits = mnist.inference(tf.constant(images), 32, 16)
        loss = mnist.loss(logits, tf.constant(labels))
        train, right = mnist.training(loss, 0.5), mnist.evaluation(logits, tf.constant(labels))
        assert [v.op.name for v in tf.trainable_variables()] == [
            f"{layer}/{name}" for layer in ("hidden1", "hidden2", "softmax_linear") for name in ("weights", "biases")
        ]
        sess.run(tf.global_variables_initializer())
        before = sess.run(loss)
        for _ in range(30):
            sess.run(train)
        assert sess.run(loss) < before and sess.run(right).dtype == np.int32
        assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 1


def test_devices_of_the_machine():
    with installation() as tf:
        physical = tf.config.experimental.list_physical_devices()
        assert ("/physical_device:CPU:0", "CPU") in physical and physical[0].device_type in ("CPU", "GPU")
        assert tf.config.experimental.get_visible_devices("CPU") == [d for d in physical if d.device_type == "CPU"]
        assert tf.config.experimental.list_physical_devices("TPU") == []
        assert tf.config.experimental.list_logical_devices("CPU")[0].name == "/device:CPU:0"
        assert tf.config.experimental_list_devices()[0].startswith("/job:localhost/replica:0/task:0/device:")


def test_the_module_of_queue_runners_is_public():
    with installation() as tf:
        runners = tf.train.queue_runner
        assert runners.QueueRunner is tf.train.QueueRunner
        assert runners.add_queue_runner is tf.train.add_queue_runner
