"""GraphDefs: what is written, what is read back, and where it lands in a graph."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import text_format

import tfnb as tf
from tfnb.errors import GraphError, InvalidArgumentError, NotFoundError
from tfnb.ir.graphdef import encode
from tfnb.ops.conv_pool.pool import MAX_POOL


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def model(graph):
    """Variables, control edges, a branch, an optimizer, many attribute kinds."""
    with graph.as_default(), graph.device("/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.Variable(np.ones((3, 2), np.float32), name="w")
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.matmul(x, w), lambda: tf.zeros([1, 2]))
        first, _ = tf.split(y, 2, axis=1)
        tf.strided_slice(y, [0, 0], [1, 1], shrink_axis_mask=1, name="one")
        tf.constant([b"a", b"\xff\x00"], name="texts")
        with tf.control_dependencies([y]):
            tf.nn.lrn(tf.zeros([1, 2, 2, 4]), alpha=0.1, name="norm")
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_mean(first), name="train")
    return graph


def test_what_is_written_comes_back_the_same(graph):
    written = model(graph).as_graph_def()
    with tf.Graph().as_default() as again:
        tf.import_graph_def(written, name="")
    assert again.as_graph_def() == written
    assert again.get_operation_by_name("norm").get_attr("alpha") == 0.1
    assert [op.device for op in again.get_operations()] == [op.device for op in graph.get_operations()]


def test_text_and_bytes_hold_the_same_graph(graph, tmp_path):
    model(graph)
    text = tf.train.write_graph(graph, str(tmp_path / "new"), "graph.pbtxt")
    binary = tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "graph.pb", as_text=False)
    parsed = text_format.Parse(Path(text).read_text(), tf.GraphDef())
    assert parsed == tf.GraphDef.FromString(Path(binary).read_bytes()) == graph.as_graph_def()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["graph.pb", "new"]


def test_a_node_says_what_it_is(graph):
    a = tf.constant([1.0, 2.0], name="a")
    b = tf.split(tf.constant(np.zeros(4, np.float32)), 2, name="b")
    with tf.control_dependencies([a]):
        c = tf.add(b[0], b[1], name="c")
    node = c.op.node_def
    assert (node.name, node.op, list(node.input)) == ("c", "Add", ["b", "b:1", "^a"])
    assert node.attr["T"].type == 1
    assert b[0].op.node_def.attr["num_split"].i == 2
    assert isinstance(node, tf.NodeDef)


def test_attributes_that_tensorflow_1_lacks_are_written_where_they_are_set(graph):
    x = tf.zeros([1, 4, 4, 2])
    tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME", name="pool")
    tf.nn.depthwise_conv2d(x, tf.ones([2, 2, 2, 1]), [1, 1, 1, 1], "SAME", name="conv")
    paddings = [0, 0, 1, 1, 1, 1, 0, 0]
    MAX_POOL(x, ksize=[1, 2, 2, 1], padding="EXPLICIT", explicit_paddings=paddings, name="padded")
    nodes = {node.name: node for node in graph.as_graph_def().node}
    assert "explicit_paddings" not in nodes["pool"].attr and "explicit_paddings" not in nodes["conv"].attr
    assert nodes["padded"].attr["explicit_paddings"].list.i == paddings
    test_what_is_written_comes_back_the_same(graph)


def test_only_what_is_new(graph):
    tf.constant(1, name="old")
    version = graph.version
    tf.constant(2, name="new")
    assert [n.name for n in graph.as_graph_def(from_version=version).node] == ["new"]


def test_names_are_scoped_and_do_not_collide(graph):
    tf.constant(1.0, name="c")
    written = graph.as_graph_def()
    for name, expected in ((None, "import/c"), (None, "import_1/c"), ("here", "here/c")):
        (op,) = tf.import_graph_def(written, name=name, return_elements=["c"])
        assert op.name == expected
    with pytest.raises(GraphError, match="has an operation 'c' already"):
        tf.import_graph_def(written, name="")
    assert tf.constant(1.0, name="import/c").op.name == "import/c_1"


def test_tensors_can_be_put_in_place_of_the_files(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.multiply(x, 2.0, name="y")
    with tf.control_dependencies([x]):
        tf.no_op(name="after")
    written = graph.as_graph_def()
    with tf.Graph().as_default():
        mine = tf.constant([1.0, 2.0])
        y, after = tf.import_graph_def(written, {"x:0": mine, "^x": mine.op}, return_elements=["y:0", "after"])
        assert y.op.inputs[0] is mine and after.control_inputs == [mine.op]
        ints = tf.constant(1)
        before = y.graph.version
        with pytest.raises(InvalidArgumentError, match="nowhere:3"):
            tf.import_graph_def(written, {"nowhere:3": mine})
        with pytest.raises(InvalidArgumentError, match="float32"):
            tf.import_graph_def(written, {"x": ints})
        with pytest.raises(NotFoundError, match="'z'"):
            tf.import_graph_def(written, return_elements=["z"])
        assert len(y.graph.get_operations()) == y.graph.version == before


def test_device_scopes_fill_what_a_file_leaves_open(graph):
    with tf.device("/device:CPU:0"):
        tf.constant(1, name="a")
    tf.constant(1, name="b")
    written = graph.as_graph_def()
    with tf.Graph().as_default(), tf.device("/job:w/device:GPU:1"):
        a, b = tf.import_graph_def(written, return_elements=["a", "b"])
    assert (a.device, b.device) == ("/job:w/device:CPU:0", "/job:w/device:GPU:1")


def test_colocation_moves_with_the_scope(graph):
    tf.Variable(1.0, name="v")
    (op,) = tf.import_graph_def(graph.as_graph_def(), name="m", return_elements=["v/Assign"])
    assert op.colocation == ("loc:@m/v",)


def test_where_an_operation_is_placed_can_be_changed(graph):
    v = tf.Variable(1.0, name="v")
    assert v.initializer.get_attr("_class") == [b"loc:@v"]
    with pytest.raises(ValueError, match="No attr named '_class'"):
        v.op.get_attr("_class")
    w = tf.Variable(2.0, name="w")
    v.initializer._set_attr("_class", tf.AttrValue(list=tf.AttrValue.ListValue(s=[b"loc:@w"])))
    assert v.initializer.colocation_groups() == [b"loc:@w"] == w.initializer.colocation_groups()
    with pytest.raises(NotImplementedError, match="'T'"):
        v.initializer._set_attr("T", tf.AttrValue())
    w.op._set_device("/cpu:0")
    assert w.op.device == "/device:CPU:0"
    w.op._set_device(tf.DeviceSpec(job="worker"))
    assert w.op.device == "/job:worker"
    with pytest.raises(ValueError, match="not a device name"):
        w.op._set_device("/nowhere!")


def test_a_tensor_that_no_node_reads_may_be_replaced(graph):
    tf.placeholder(tf.float32, [], name="x")
    with tf.Graph().as_default():
        one = tf.constant(1.0)
        assert tf.import_graph_def(graph.as_graph_def(), {"x": one}) is None
        with pytest.raises(ValueError, match=r"Attempted to map inputs that were not found in graph_def: .y:0"):
            tf.import_graph_def(graph.as_graph_def(), {"x": one, "y": one})


def test_importing_tfnb_loads_no_protobuf():
    code = "import sys, tfnb; print([m for m in sys.modules if m.startswith(('google.protobuf', 'tensorboard'))])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.opencl
def test_loops_with_tensor_arrays_and_datasets_can_be_written(graph):
    tf.identity(tf.map_fn(lambda v: v * 2.0, tf.constant([1.0, 2.0])), name="y")
    written = graph.as_graph_def()
    with tf.Graph().as_default():
        (y,) = tf.import_graph_def(written, return_elements=["y:0"])
        with tf.Session() as sess:
            assert sess.run(y).tolist() == [2, 4]
    tf.data.Dataset.range(3).map(lambda v: v + 1).make_one_shot_iterator().get_next()
    assert "MapDataset" in {n.op for n in graph.as_graph_def().node}


@pytest.mark.parametrize(
    "value",
    [
        3,
        2.5,
        True,
        1 + 2j,
        b"\xff",
        [[1, 2], [3, 4]],
        np.float16([1.5, -2]),
        np.uint64([2**63]),
        ["a", ""],
        np.zeros((2, 0), np.int8),
        np.array([np.nan, np.inf], np.float32),
        np.uint8([255, 0]),
    ],
)
def test_values_survive(value):
    message = tf.make_tensor_proto(value)
    again = tf.make_ndarray(message)
    wanted = tf.constant(value).op.attrs.value
    assert again.dtype == wanted.dtype and again.shape == wanted.shape
    np.testing.assert_array_equal(again, wanted)
    assert again.flags.writeable


def quantised_model():
    """A graph with quantised tensors of each kind: made, constant, passed on, through a branch."""
    x = tf.placeholder(tf.float32, [4], name="x")
    w = tf.Variable([1.0, 0.5, 0.25, 2.0], name="w")
    q, low, high = tf.quantize_v2(x * w, 0.0, 2.0, tf.quint8)
    k = tf.constant([0, 128, 255, 3], tf.quint8, name="k")
    c = tf.cond(x[0] > 0.5, lambda: tf.identity(q), lambda: tf.reshape(tf.reshape(k, [2, 2]), [4]))
    y = tf.add(tf.dequantize(c, low, high), tf.dequantize(tf.constant(7, tf.qint32), -1.0, 1.0), name="y")
    tf.bitcast(tf.constant([1, 2], tf.uint16), tf.quint16, name="b")
    return x, y


FED = {"x:0": [0.4, 0.3, 0.5, 1.0]}


@pytest.mark.opencl
@pytest.mark.parametrize("first", [0.4, 0.6])
def test_quantised_dtypes_survive(graph, tmp_path, first):
    fed = {"x:0": [first, *FED["x:0"][1:]]}
    x, y = quantised_model()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        wanted = sess.run(["y:0", "k:0", "b:0"], fed)
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y", "k", "b"])
        tf.saved_model.simple_save(sess, str(tmp_path / "m"), {"x": x}, {"y": y})
    assert wanted[1].tolist() == [0, 128, 255, 3] and wanted[2].tolist() == [1, 2]
    with tf.Graph().as_default() as again, tf.Session() as sess:
        tf.import_graph_def(frozen.SerializeToString(), name="")
        for a, b in zip(sess.run(["y:0", "k:0", "b:0"], fed), wanted, strict=True):
            np.testing.assert_array_equal(a, b)
        assert again.get_tensor_by_name("k:0").dtype is tf.quint8
        assert again.as_graph_def() == frozen
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.load(sess, ["serve"], str(tmp_path / "m"))
        np.testing.assert_array_equal(sess.run("y:0", fed), wanted[0])


@pytest.mark.parametrize("dtype", [tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32])
def test_quantised_values_survive(dtype):
    for value in ([1, 100], 3, np.full([5], 7, dtype.np)):
        message = tf.make_tensor_proto(value, dtype)
        assert message.dtype == dtype.enum
        again = tf.make_ndarray(message)
        assert again.dtype == dtype.np
        np.testing.assert_array_equal(again, value)


def test_missing_elements_repeat_the_last():
    message = tf.make_tensor_proto([1.0, 2.0, 3.0], shape=[3])
    short = tf.TensorProto(dtype=1, tensor_shape=message.tensor_shape, float_val=[1, 2])
    assert tf.make_ndarray(short).tolist() == [1, 2, 2]
    assert tf.make_ndarray(tf.TensorProto(dtype=3)).tolist() == 0
    assert tf.make_ndarray(tf.make_tensor_proto(5, shape=[2, 2])).tolist() == [[5, 5], [5, 5]]
    with pytest.raises(InvalidArgumentError, match="shape"):
        tf.make_tensor_proto([1, 2], shape=[3], verify_shape=True)


@pytest.mark.opencl
def test_resource_variables_are_read_as_references():
    shape = "attr { key: 'shape' value { shape { dim { size: 2 } } } }"
    dtype = "attr { key: 'dtype' value { type: DT_FLOAT } }"
    value = "attr { key: 'value' value { tensor { dtype: DT_FLOAT float_val: 3 tensor_shape { dim { size: 2 } } } } }"
    text = f"""
    node {{ name: 'v' op: 'VarHandleOp' {shape} {dtype}
           attr {{ key: 'shared_name' value {{ s: 'v' }} }} attr {{ key: 'debug_name' value {{ s: 'v/' }} }} }}
    node {{ name: 'c' op: 'Const' {dtype} {value} }}
    node {{ name: 'set' op: 'AssignVariableOp' input: 'v' input: 'c' {dtype} }}
    node {{ name: 'add' op: 'AssignAddVariableOp' input: 'v' input: 'c' {dtype} }}
    node {{ name: 'read' op: 'ReadVariableOp' input: 'v' input: '^add' {dtype} }}
    node {{ name: 'known' op: 'VarIsInitializedOp' input: 'v' }}
    """
    tf.import_graph_def(text_format.Parse(text, tf.GraphDef()), name="")
    with tf.Session() as sess:
        assert not sess.run("known:0")
        sess.run("set")
        assert sess.run("read:0").tolist() == [6, 6] and sess.run("known:0")


def test_tensor_protos_list_what_tensorflow_lists():
    made = tf.make_tensor_proto(10.0, shape=[3])
    assert (list(made.float_val), made.tensor_content, tf.make_ndarray(made).tolist()) == ([10.0], b"", [10.0] * 3)
    made = tf.make_tensor_proto(np.array([10.0, 20.0], np.float16))
    assert (list(made.half_val), tf.make_ndarray(made).tolist()) == ([18688, 19712], [10.0, 20.0])
    made = tf.make_tensor_proto([1 + 2j, 3 + 4j], dtype=tf.complex64)
    assert (list(made.scomplex_val), tf.make_ndarray(made).tolist()) == ([1, 2, 3, 4], [1 + 2j, 3 + 4j])
    made = tf.make_tensor_proto([(21,), (22,)], dtype=tf.qint32)
    assert tf.make_ndarray(made).tolist() == [21, 22]
    assert tf.make_ndarray(tf.make_tensor_proto([10, tf.Dimension(20)], dtype=tf.int32)).tolist() == [10, 20]
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        tf.make_tensor_proto([[1], [2]], shape=[1, 2], verify_shape=True)
    with pytest.raises(ValueError, match="Too many elements"):
        tf.make_tensor_proto([1, 2, 3], shape=[2])


def test_a_graph_that_no_message_can_hold(monkeypatch):
    monkeypatch.setattr(encode, "_TOO_LARGE", 2000)
    with tf.Graph().as_default() as graph:
        tf.constant(np.zeros(200, "f"))
        graph.as_graph_def()
        first = graph.version
        tf.constant(np.zeros(300, "f"))
        graph.as_graph_def(from_version=first)
        with pytest.raises(ValueError, match="GraphDef cannot be larger than 2GB"):
            graph.as_graph_def()
