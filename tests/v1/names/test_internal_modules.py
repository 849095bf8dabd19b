"""The modules inside TensorFlow that old programs import."""

from __future__ import annotations

import functools
import importlib

import pytest

import tfnb as tf
from tfnb.v1.names.views import VIEWS
from tfnb.v1.programs.hook import installation


@pytest.mark.parametrize("module", VIEWS)
def test_every_module_can_be_imported_both_ways(module):
    package, _, last = f"tfnb.{module}".rpartition(".")
    found = importlib.import_module(f"tfnb.{module}")
    assert getattr(importlib.import_module(package), last) is found
    assert not hasattr(found, "no_such_name")


def test_names_are_the_public_ones():
    from tfnb.models.rnn import rnn, rnn_cell
    from tfnb.python.framework import graph_util, ops
    from tfnb.python.ops import array_ops, control_flow_ops, nn_ops
    from tfnb.python.platform import gfile, tf_logging
    from tfnb.python.training import moving_averages

    assert ops.reset_default_graph is tf.reset_default_graph and ops.Graph is tf.Graph
    assert graph_util.convert_variables_to_constants is tf.graph_util.convert_variables_to_constants
    assert array_ops.concat is tf.concat and control_flow_ops.cond is tf.cond
    assert nn_ops.conv2d is tf.nn.conv2d and nn_ops.softmax is tf.nn.softmax
    assert rnn.dynamic_rnn is tf.nn.dynamic_rnn and rnn_cell.GRUCell is tf.nn.rnn_cell.GRUCell
    assert gfile.FastGFile is tf.gfile.FastGFile and tf_logging.info is tf.logging.info
    assert moving_averages.ExponentialMovingAverage is tf.train.ExponentialMovingAverage


def test_projector(tmp_path):
    from tfnb.contrib.tensorboard.plugins import projector

    config = projector.ProjectorConfig()
    config.embeddings.add().tensor_name = "words"
    writer = tf.summary.FileWriter(tmp_path)
    projector.visualize_embeddings(writer, config)
    writer.close()
    assert 'tensor_name: "words"' in (tmp_path / "projector_config.pbtxt").read_text(encoding="utf-8")


def test_a_function_that_only_an_internal_module_has():
    from tfnb.python.ops import data_flow_ops

    assert not hasattr(tf, "parallel_dynamic_stitch")
    stitched = data_flow_ops.parallel_dynamic_stitch([[2], [0, 1]], [["c"], ["a", "b"]])
    with tf.Session() as sess:
        assert sess.run(stitched).tolist() == [b"a", b"b", b"c"]


def test_contrib_data_has_the_transformations_that_became_experimental():
    assert tf.contrib.data.AUTOTUNE == -1 and tf.contrib.data.unique is tf.data.experimental.unique
    counted = tf.contrib.data.Counter(3, 2).take(3)
    element = counted.make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert [sess.run(element) for _ in range(3)] == [3, 5, 7]


def test_functions_that_take_functions_apart():
    from tfnb.python.estimator.util import fn_args
    from tfnb.python.util import function_utils

    class Model:
        def __call__(self, features, labels=None):
            """Does nothing."""

        def method(self, x, **kwargs):
            """Does nothing."""

    def function(a, b, *, c=1):
        """Does nothing."""

    model = Model()
    assert fn_args(function) == ("a", "b") and fn_args(model) == ("features", "labels")
    assert fn_args(model.method) == ("x",) and fn_args(Model.method) == ("self", "x")
    assert fn_args(functools.partial(function, 1)) == ("b",) and fn_args(functools.partial(function, b=1)) == ("a",)
    has_kwargs, name_of = function_utils.has_kwargs, function_utils.get_func_name
    assert has_kwargs(model.method) and not has_kwargs(model) and not has_kwargs(functools.partial(function, 1))
    assert name_of(function) == "function" and name_of(model.method) == "Model.method" and "Model" in name_of(model)
    assert function_utils.get_func_code(function) is function.__code__
    assert function_utils.get_func_code(model) is Model.__call__.__code__
    assert function_utils.get_func_code(functools.partial(function, 1)) is None
    with pytest.raises(TypeError, match="function-like"):
        has_kwargs(3)
    for wrong in (name_of, function_utils.get_func_code):
        with pytest.raises(ValueError, match="must be callable"):
            wrong(3)


def test_names_of_inner_modules():
    from tfnb.contrib.learn.python.learn import graph_actions, learn_runner
    from tfnb.contrib.seq2seq.python.ops import decoder
    from tfnb.python.data.ops import dataset_ops
    from tfnb.python.estimator import model_fn

    assert learn_runner.run is tf.contrib.learn.learn_runner.run and graph_actions.run_n is tf.contrib.learn.run_n
    assert dataset_ops.DatasetV2 is dataset_ops.DatasetV1 is tf.data.Dataset
    assert model_fn.LOSS_METRIC_KEY == "loss" and tf.train.queue_runner.QueueRunner is tf.train.QueueRunner
    swapped = decoder._transpose_batch_time(tf.zeros([2, 3, 4]))
    assert swapped.shape.as_list() == [3, 2, 4]


def test_a_module_shows_the_modules_that_it_imports():
    from tfnb.python.framework import ops
    from tfnb.python.ops import array_ops, rnn

    assert rnn.rnn_cell_impl.LSTMStateTuple is tf.nn.rnn_cell.LSTMStateTuple
    assert array_ops.ops.Graph is ops.Graph and array_ops.newaxis is None
    with installation():
        from tensorflow.python.ops.rnn import rnn_cell_impl

        assert rnn_cell_impl.LSTMStateTuple is tf.nn.rnn_cell.LSTMStateTuple


def test_a_module_is_no_name_of_its_own():
    from tfnb.python.ops import array_ops

    with pytest.raises(AttributeError):
        _ = array_ops.array_ops


def test_what_programs_do_with_inner_names_of_tensors_and_variables():
    images = tf.random_uniform([5, 7, 9, 4])
    images._shape = tf.TensorShape([5, 7, 9, None])
    assert images.shape.as_list() == images._shape.as_list() == [5, 7, 9, None]
    with pytest.raises(ValueError, match="channel dimension of the inputs should be defined"):
        tf.layers.conv2d(images, 32, 3)
    v = tf.Variable(2.0)
    with tf.Session() as session:
        session.run(v.create)
        assert session.run(v) == 2.0
