"""MetaGraphDefs: a program's graph, collections, variables and saver come back in another graph."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DataLossError, GraphError, InvalidArgumentError, NotFoundError, OpError

pytestmark = pytest.mark.opencl


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def program():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.name_scope("net"):
        w = tf.Variable([1.0, 2.0], name="w")
        tf.Variable(3, trainable=False, name="count")
        y = tf.multiply(w, x, name="y")
    tf.add_to_collection("outputs", y)
    tf.add_to_collection("notes", "a note")
    tf.add_to_collection("sizes", 7)
    tf.add_to_collection("rates", 0.5)
    tf.add_to_collection("functions", print)
    tf.add_to_collection(tf.GraphKeys.LOSSES, tf.reduce_sum(y))
    return w, y


def test_training_goes_on_from_a_file_alone(graph, tmp_path):
    w, _ = program()
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(w.assign([5.0, 6.0]))
        path = saver.save(sess, str(tmp_path / "model"), global_step=3)
    with tf.Graph().as_default() as again:
        restored = tf.train.import_meta_graph(path + ".meta")
        (v,) = tf.trainable_variables()
        assert v.name == "net/w:0" and v in tf.global_variables() and len(tf.global_variables()) == 2
        (y,) = tf.get_collection("outputs")
        assert y is again.get_tensor_by_name("net/y:0") or y == again.get_tensor_by_name("net/y:0")
        train = tf.train.GradientDescentOptimizer(1.0).minimize(tf.get_collection("losses")[0])
        with tf.Session() as sess:
            restored.restore(sess, path)
            np.testing.assert_array_equal(sess.run(y, {"x:0": [1, 10]}), [5, 60])
            sess.run(train, {"x:0": [1, 10]})
            np.testing.assert_array_equal(sess.run(v), [4, -4])
            restored.save(sess, str(tmp_path / "more"))
    assert (tmp_path / "more.meta").exists()


def test_collections_keep_what_messages_can_hold(graph):
    program()
    message = tf.train.export_meta_graph()
    assert isinstance(message, tf.MetaGraphDef)
    with tf.Graph().as_default():
        assert isinstance(tf.train.import_meta_graph(message), tf.train.Saver)
        assert tf.get_collection("notes") == [b"a note"]
        assert tf.get_collection("sizes") == [7] and tf.get_collection("rates") == [0.5]
        assert tf.get_collection("functions") == []
    with tf.Graph().as_default():
        assert tf.train.import_meta_graph(tf.train.export_meta_graph()) is None


def test_scopes_and_devices(graph):
    with tf.device("/job:far/task:9"):
        program()
    message = tf.train.export_meta_graph(collection_list=["trainable_variables"])
    with tf.Graph().as_default() as again:
        tf.train.import_meta_graph(message, clear_devices=True, import_scope="in")
        tf.train.import_meta_graph(message, clear_devices=True, import_scope="in")
        assert [v.name for v in tf.trainable_variables()] == ["in/net/w:0", "in_1/net/w:0"]
        assert {op.device for op in again.get_operations()} == {""}
        assert tf.global_variables() == []
        assert tf.trainable_variables()[1].initializer.name == "in_1/net/w/Assign"


def test_one_scope_alone(graph, tmp_path):
    with tf.name_scope("a"):
        v = tf.Variable(1.0, name="v")
    tf.Variable(2.0, name="other")
    path = str(tmp_path / "a.pbtxt")
    tf.train.export_meta_graph(path, export_scope="a", as_text=True)
    with tf.Graph().as_default():
        tf.train.import_meta_graph(path)
        assert [x.name for x in tf.global_variables()] == ["v:0"]
    with tf.name_scope("a"):
        tf.identity(tf.zeros([]), name="inside")
    tf.identity(v, name="outside")
    with tf.name_scope("b"):
        tf.identity(v)
    with pytest.raises(InvalidArgumentError, match="'b/Identity' reads 'a/v"):
        tf.train.export_meta_graph(export_scope="b")


def test_a_variable_from_its_message(graph):
    v = tf.Variable([1.0], name="v", trainable=False)
    again = tf.Variable.from_proto(v.to_proto())
    assert again.op is v.op and again.initializer is v.initializer and not again.trainable
    assert again.initial_value == v.initial_value and again.dtype is tf.float32
    message = v.to_proto()
    message.variable_name = "v/read:0"
    with pytest.raises(InvalidArgumentError, match="not a variable"):
        tf.Variable(variable_def=message)


def test_bad_files_are_refused_whole(graph, tmp_path):
    with pytest.raises(NotFoundError, match="gone"):
        tf.train.import_meta_graph(str(tmp_path / "gone.meta"))
    (tmp_path / "bad").write_bytes(b"\xff\x00 nonsense")
    with pytest.raises(DataLossError, match="bad"):
        tf.train.import_meta_graph(str(tmp_path / "bad"))
    program()
    message = tf.train.export_meta_graph()
    message.collection_def["outputs"].node_list.value.append("nowhere:0")
    with tf.Graph().as_default() as again:
        with pytest.raises(OpError, match=r"'outputs'.*nowhere"):
            tf.train.import_meta_graph(message)
        assert again.version == 0 and again.get_all_collection_keys() == []
    message.graph_def.node[0].op = "Nonsense"
    with tf.Graph().as_default() as again:
        with pytest.raises(GraphError, match="Nonsense"):
            tf.train.import_meta_graph(message)
        assert again.version == 0


def test_savers_of_a_collection_come_back(graph, tmp_path):
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
    for one in (v, w):
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver([one], name=f"saver_{one.op.name}"))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for saver in tf.get_collection(tf.GraphKeys.SAVERS):
            saver.save(sess, tmp_path / saver.to_proto().save_tensor_name.partition("/")[0])
    tf.train.export_meta_graph(str(tmp_path / "meta"))
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(str(tmp_path / "meta"))
        first, second = tf.get_collection(tf.GraphKeys.SAVERS)
        first.restore(sess, tmp_path / "saver_v")
        second.restore(sess, tmp_path / "saver_w")
        assert sess.run(["v:0", "w:0"]) == [1.0, 2.0]


def test_file_that_is_missing_or_of_another_kind_is_an_os_error(tmp_path):
    program()
    saver_def = tf.train.Saver().as_saver_def()
    path = tf.train.write_graph(saver_def, str(tmp_path), "saver")
    assert "restore_op_name" in (tmp_path / "saver").read_text()
    with pytest.raises(OSError, match="Cannot parse file"):
        tf.train.import_meta_graph(path)
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "none"))


def test_members_of_a_collection_with_functions_of_its_own(graph):
    """As libraries of modules keep what a module has made."""
    register = tf.python.framework.ops.register_proto_function
    name = "test_import_meta_graph_members"

    def to_proto(member, export_scope=None):
        return None if member < 0 else tf.train.Int64List(value=[member])

    register(name, tf.train.Int64List, to_proto, lambda message, import_scope=None: -message.value[0])
    with pytest.raises(KeyError, match="registered already"):
        register(name)
    for member in (3, -1, 4):
        tf.add_to_collection(name, member)
    message = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(message)
        assert tf.get_collection(name) == [-3, -4]
