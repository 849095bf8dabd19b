"""Parameters that were once accepted and ignored do what they say, or are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def run(*fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(*fetches)


def test_transpose_conjugates():
    x = np.array([[1 + 1j, 2, 3j]], np.complex64)
    np.testing.assert_array_equal(run(tf.transpose(x, conjugate=True)), x.T.conj())
    np.testing.assert_array_equal(run(tf.transpose(np.eye(2), [1, 0], conjugate=True)), np.eye(2))


def test_a_variable_is_read_on_its_caching_device():
    with tf.variable_scope("s", caching_device="/job:moo"):
        assert tf.get_variable("v", []).value().device == "/job:moo"
        assert tf.get_variable_scope().caching_device == "/job:moo"
        cut = tf.get_variable("p", [4], partitioner=tf.fixed_size_partitioner(2))
    assert [v.value().device for v in cut] == ["/job:moo"] * 2
    with tf.device("/cpu:0"):
        v = tf.Variable(1.0, caching_device=lambda op: "/cpu:1")
    assert (v.device, v.value().device) == ("/device:CPU:0", "/device:CPU:1")


def test_layers_of_contrib_add_to_collections():
    x = tf.ones([2, 4, 4, 3])
    layers = tf.contrib.layers
    y = layers.batch_norm(x, variables_collections={"beta": ["b"]}, outputs_collections="y", data_format="NCHW")
    assert [v.op.name for v in tf.get_collection("b")] == ["BatchNorm/beta"]
    assert tf.get_collection("b")[0].shape == [4]  # the channels
    outputs = [y]
    for make in (layers.max_pool2d, layers.avg_pool2d):
        outputs.append(make(x, 2, outputs_collections="y"))
    outputs.append(layers.dropout(x, outputs_collections=["y"]))
    outputs.append(layers.flatten(x, outputs_collections=["y"]))
    assert tf.get_collection("y") == outputs


def test_shards_of_a_cell():
    cell = tf.nn.rnn_cell.LSTMCell(4, num_unit_shards=2, num_proj=2, num_proj_shards=3)
    y, _ = tf.nn.dynamic_rnn(cell, tf.ones([2, 3, 2]), dtype=tf.float32)
    names = [v.op.name.removeprefix("rnn/lstm_cell/") for v in tf.global_variables()]
    assert names == ["kernel/part_0", "kernel/part_1", "bias", *(f"projection/kernel/part_{i}" for i in range(3))]
    assert run(y).shape == (2, 3, 2)


def test_what_a_decoder_computes_in():
    inputs = [tf.ones([2, 3], tf.float64)] * 2
    state = tf.zeros([2, 4], tf.float64)
    with tf.variable_scope("d"):
        outputs, _ = tf.contrib.legacy_seq2seq.attention_decoder(
            inputs, state, tf.ones([2, 5, 4], tf.float64), tf.nn.rnn_cell.GRUCell(4), dtype=tf.float64
        )
    assert outputs[0].dtype is tf.float64


def test_names_of_updates_of_a_partitioned_variable():
    cut = tf.get_variable("p", [4], partitioner=tf.fixed_size_partitioner(2))
    assert all(t.op.name.startswith("mine/") for t in cut.assign(tf.ones([4]), name="mine"))


def test_attributes_with_defaults_are_left_out(graph):
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    tf.matmul(x, x, transpose_b=True, name="y")
    tf.cast(x, tf.int32, name="z")
    meta = tf.train.export_meta_graph(strip_default_attrs=True)
    attrs = {n.name: set(n.attr) for n in meta.graph_def.node}
    assert attrs["y"] == {"transpose_b", "T"} and "Truncate" not in attrs["z"]
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta)
        y = tf.get_default_graph().get_tensor_by_name("y:0")
        assert (y.op.get_attr("transpose_a"), y.op.get_attr("transpose_b")) == (False, True)
    full = {n.name: set(n.attr) for n in tf.train.export_meta_graph().graph_def.node}
    assert "transpose_a" in full["y"]


def test_a_saver_below_a_scope():
    with tf.name_scope("a"):
        tf.Variable(1.0)
        saver = tf.train.Saver()
    assert saver.to_proto("a").filename_tensor_name == saver.to_proto().filename_tensor_name.removeprefix("a/")
    assert saver.to_proto("b") is None


def test_features_with_defaults():
    column = tf.feature_column.numeric_column("x", [2], default_value=[7.0, 8.0])
    cut = tf.feature_column.bucketized_column(tf.feature_column.numeric_column("y"), [0.0])
    spec = tf.feature_column.make_parse_example_spec([column, cut])
    assert sorted(spec) == ["x", "y"]
    example = tf.train.Example(
        features=tf.train.Features(feature={"y": tf.train.Feature(float_list=tf.train.FloatList(value=[1]))})
    ).SerializeToString()
    found = tf.parse_example([example], spec)
    np.testing.assert_array_equal(run(tf.feature_column.input_layer(found, [column, cut])), [[7, 8, 0, 1]])


def test_summaries_of_a_step():
    v = tf.Variable(3.0, name="v")
    step = tf.train.create_global_step()
    every = list(tf.contrib.layers.OPTIMIZER_SUMMARIES)
    tf.contrib.layers.optimize_loss(v * v, step, 0.1, "SGD", clip_gradients=1.0, summaries=every)
    tags = {
        value.tag
        for text in run(tf.get_collection(tf.GraphKeys.SUMMARIES))
        for value in tf.Summary.FromString(text).value
    }
    names = (
        "loss",
        "learning_rate_1",
        "gradients/v",
        "gradient_norm/v",
        "global_norm/gradient_norm",
        "global_norm/clipped_gradient_norm",
    )
    assert tags == {f"OptimizeLoss/{name}" for name in names}


def test_structures_with_and_without_types():
    nest = tf.contrib.framework.nest
    nest.assert_same_structure([1, (2,)], (1, [2]), check_types=False)
    with pytest.raises(ValueError, match="structure"):
        nest.assert_same_structure([1], (1,))


def test_flags_with_bounds_and_short_names():
    tf.flags.DEFINE_integer("rounds", 3, "", lower_bound=1, upper_bound=5, short_name="r")
    tf.flags.FLAGS(["program", "-r", "4"])
    assert tf.flags.FLAGS.rounds == 4
    with pytest.raises(errors.InvalidArgumentError, match="not an integer in the range"):
        tf.flags.FLAGS(["program", "--rounds=9"])


def _variable():
    return tf.Variable(1.0)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: tf.contrib.layers.batch_norm(tf.ones([2, 2]), batch_weights=tf.ones([2])), "batch_weights"),
        (lambda: tf.contrib.layers.batch_norm(tf.ones([2, 2]), renrom=True), "renrom"),
        (lambda: tf.group(_variable().initializer, nam="x"), "nam"),
        (lambda: tf.flags.DEFINE_string("x", "", "", shortname="y"), "shortname"),
        (lambda: tf.import_graph_def(tf.GraphDef(), op_dict={}), "op_dict"),
        (lambda: tf.import_graph_def(tf.GraphDef(), producer_op_list=[]), "producer_op_list"),
        (lambda: tf.gradients(_variable() * 2, _variable(), aggregation_method=7), "aggregation_method"),
        (lambda: tf.accumulate_n([tf.ones([2])], tensor_dtype=tf.int32), "tensor_dtype"),
        (lambda: tf.layers.dense(tf.ones([2, 2]), 3, training=True), "training"),
        (lambda: tf.layers.Dense(3)(tf.ones([2, 2]), training=True), "training"),
        (lambda: tf.nn.rnn_cell.GRUCell(3, activaton=tf.nn.relu), "activaton"),
        (lambda: tf.train.export_meta_graph(clear_device=True), "clear_device"),
        (lambda: tf.image.decode_jpeg("", acceptable_fraction=0.5), "acceptable_fraction"),
        (lambda: tf.get_variable("v", [2], caching_devise="x"), "caching_devise"),
    ],
)
def test_what_is_not_done_is_refused(make, named):
    with pytest.raises((ValueError, TypeError), match=named):
        make()


def test_two_members_of_a_scaffold_s_collection():
    tf.add_to_collection(tf.GraphKeys.READY_OP, tf.constant("a"))
    tf.add_to_collection(tf.GraphKeys.READY_OP, tf.constant("b"))
    _variable()
    with pytest.raises(RuntimeError, match=r"Scaffold\(ready_op="):
        tf.train.Scaffold().finalize()


def test_data_that_is_not_the_digits_is_not_taken_for_them(tmp_path):
    read = tf.contrib.learn.datasets.mnist.read_data_sets
    with pytest.raises(errors.InvalidArgumentError, match="fashion"):
        read(str(tmp_path), source_url="http://fashion-mnist.example/data/")
    assert read(str(tmp_path), source_url="http://yann.lecun.com/exdb/mnist/").train.num_examples > 0
