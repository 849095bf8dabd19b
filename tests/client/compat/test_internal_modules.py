"""The modules inside TensorFlow that old programs import."""

from __future__ import annotations

import importlib

import pytest

import tfnb as tf
from tfnb.client import VIEWS


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
