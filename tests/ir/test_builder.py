"""The graph under construction: names, scopes, edges, errors that show the user's line."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DTypeError, GraphError, InvalidArgumentError, NotFoundError, ShapeError


@pytest.fixture
def graph():
    with tf.Graph().as_default() as g:
        yield g


def test_names_are_unique_and_scoped(graph):
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="a")
    with tf.name_scope("s"):
        c = tf.add(a, b, name="c")
    with tf.name_scope("s"):
        d = tf.add(a, b, name="c")
    assert [t.name for t in (a, b, c, d)] == ["a:0", "a_1:0", "s/c:0", "s_1/c:0"]


def test_names_that_differ_in_the_case_of_letters_are_one(graph):
    names = [graph.unique_name(name) for name in ("add", "Add", "ADD_1", "add_1", "Add")]
    assert names == ["add", "Add_1", "ADD_1_1", "add_1_2", "Add_2"]
    with tf.name_scope("S"), tf.name_scope("x"):
        pass
    with tf.name_scope("s"):
        assert tf.constant(1.0, name="x").op.name == "s_1/x"


def test_a_file_may_have_names_that_differ_in_the_case_of_letters(graph):
    stored = tf.GraphDef()
    for name in ("w", "W"):
        stored.node.add(name=name, op="NoOp")
    tf.import_graph_def(stored, name="")
    assert [op.name for op in graph.get_operations()] == ["w", "W"]
    assert tf.no_op(name="w").name == "w_1"


def test_a_scope_that_decorates_a_function_is_a_new_one_in_each_call(graph):
    @graph.name_scope("s")
    def make(depth):
        x = tf.constant(1.0, name="x")
        return [x.op.name, *(make(depth - 1) if depth else ())]

    assert make(1) == ["s/x", "s/s/x"] and make(0) == ["s_1/x"]
    assert tf.constant(1.0, name="x").op.name == "x"


def test_a_name_with_a_slash_reopens_a_scope(graph):
    with tf.name_scope("s") as scope:
        a = tf.constant(1.0, name="a")
    with tf.name_scope(scope):
        b = tf.constant(1.0, name="b")
    assert (scope, a.op.name, b.op.name) == ("s/", "s/a", "s/b")


def test_constants_of_a_call_are_named_after_its_operation(graph):
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    user = tf.constant(1.0)
    results = [
        x + 1.0,
        2.0 * x,
        tf.reshape(x, [tf.size(x)], name="flat"),
        x[0],
        tf.concat([x, [[1.0] * 3]], 0),
        x + 1.0,
    ]
    names = [op.name for op in graph.get_operations() if op.type == "Const"]
    assert user.op.name == "Const" and results[-1].op.name == "add_1"
    for name in ("add/y", "mul/x", "strided_slice/stack", "strided_slice/stack_2", "concat/values_1", "add_1/y"):
        assert name in names
    assert graph.get_operation_by_name("flat/shape").type == "Pack"


def test_the_name_of_a_constant_is_taken(graph):
    x = tf.placeholder(tf.float32, name="x")
    first = tf.add(x, 1.0, name="sum")
    with graph.name_scope("sum/"):
        second = tf.constant(2.0, name="y")
    assert first.op.inputs[1].op.name == "sum/y" and second.op.name == "sum/y_1"


def test_a_number_that_an_operation_does_not_take_as_it_is_leaves_no_second_constant(graph):
    tf.sqrt(4, name="root")
    assert [(op.name, op.outputs[0].dtype) for op in graph.get_operations()] == [
        ("root/x", tf.float32),
        ("root", tf.float32),
    ]


def test_an_error_shows_the_line_that_made_the_node(graph):
    x = tf.placeholder(tf.float32, [2, 3])
    with pytest.raises(ShapeError) as caught:
        tf.matmul(x, x)
    text = str(caught.value)
    assert "test_builder.py" in text and "tf.matmul(x, x)" in text
    assert "(2, 3)" in text


def test_a_failed_construction_leaves_the_graph_as_it_was(graph):
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.placeholder(tf.float32, [4, 5])
    before = [op.name for op in graph.get_operations()]
    with pytest.raises(ValueError):
        tf.add(x, y)
    assert [op.name for op in graph.get_operations()] == before


def test_types_must_agree_and_values_are_converted(graph):
    x = tf.placeholder(tf.float32, [2])
    assert (x + 1).dtype == tf.float32
    assert (2 * x).dtype == tf.float32
    with pytest.raises(TypeError, match="float32"):
        x + tf.constant([1, 2])
    with pytest.raises(DTypeError):
        x + "text"


def test_control_dependencies_and_their_clearing(graph):
    a, b = tf.no_op(name="a"), tf.no_op(name="b")
    with tf.control_dependencies([a]):
        c = tf.no_op()
        with tf.control_dependencies([b]):
            d = tf.no_op()
        with tf.control_dependencies(None):
            e = tf.no_op()
    assert c.control_inputs == [a]
    assert set(d.control_inputs) == {a, b}
    assert e.control_inputs == []


def test_device_scopes_fill_what_is_open(graph):
    with tf.device("/job:ps"), tf.device("/cpu:0"):
        a = tf.constant(1.0)
        with tf.device(None):
            b = tf.constant(1.0)
    assert a.device == "/job:ps/device:CPU:0"
    assert b.device == ""
    with pytest.raises(InvalidArgumentError, match="not a device name"), tf.device("nonsense"):
        tf.constant(1.0)


def test_lookup_by_name(graph):
    a = tf.constant(1.0, name="a")
    assert graph.get_tensor_by_name("a:0") == a
    assert graph.get_operation_by_name("a") is a.op
    for wrong in ("b:0", "a:3"):
        with pytest.raises(NotFoundError):
            graph.get_tensor_by_name(wrong)
    with pytest.raises(InvalidArgumentError):
        graph.get_tensor_by_name("a")


def test_foreign_tensors_and_finalized_graphs_are_refused(graph):
    a = tf.constant(1.0)
    with tf.Graph().as_default():
        b = tf.constant(2.0)
        with pytest.raises(GraphError, match="must be from the same graph"):
            tf.add(b, a)
    graph.finalize()
    with pytest.raises(GraphError, match="finalized"):
        tf.constant(1.0)


def test_a_constant_keeps_its_value_when_the_array_changes(graph):
    array = np.ones(3, np.float32)
    c = tf.constant(array)
    array[:] = 5
    assert c.op.attrs.value.tolist() == [1, 1, 1]


def test_a_tensor_has_no_truth_value_and_no_length(graph):
    x = tf.placeholder(tf.float32, [None])
    with pytest.raises(TypeError, match="truth value"):
        bool(x)
    with pytest.raises(TypeError):
        len(x)
    with pytest.raises(TypeError):
        list(x)


def test_threads_build_into_one_graph_with_scopes_of_their_own(graph):
    def build(i):
        with graph.as_default(), tf.name_scope(f"t{i}"):
            for _ in range(50):
                tf.constant(float(i))

    threads = [threading.Thread(target=build, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    names = [op.name for op in graph.get_operations()]
    assert len(names) == len(set(names)) == 400
    assert all(name.startswith("t") for name in names)
    assert [op.id for op in graph.get_operations()] == list(range(400))


def test_static_values_flow_through_shape_arithmetic(graph):
    x = tf.placeholder(tf.float32, [None, 28, 28, 1])
    flat = tf.reshape(x, [tf.shape(x)[0], 784])
    assert flat.shape.as_list() == [None, 784]
    y = tf.zeros([3, 5])
    assert tf.reshape(y, tf.stack([tf.size(y), 1])).shape.as_list() == [15, 1]


def test_the_name_of_the_current_scope(graph):
    assert graph.get_name_scope() == ""
    with tf.name_scope("a"), tf.name_scope("b"):
        assert graph.get_name_scope() == "a/b"


def test_a_reset_inside_another_graph_is_refused(graph):
    with pytest.raises(AssertionError, match="would have no effect"):
        tf.reset_default_graph()


def test_the_scope_of_the_root(graph):
    with tf.name_scope("a"), tf.name_scope("/") as root:
        assert root == "/" and tf.constant(1.0, name="c").op.name == "c"


def test_the_names_of_collections(graph):
    assert graph.collections == []
    graph.add_to_collection("key", 12)
    graph.add_to_collection("key", 15)
    graph.add_to_collection("other", "text")
    assert graph.collections == graph.get_all_collection_keys() == ["key", "other"]


def test_programs_set_attributes_on_tensors_and_operations_and_refer_to_them_weakly(graph):
    x = tf.constant(1.0)
    x.aliases = ["first"]
    x.op.note = "mine"
    notes = weakref.WeakKeyDictionary({x: 1, x.op: 2})
    same = graph.get_tensor_by_name(x.name)
    assert same.aliases == ["first"] and same.op.note == "mine"
    assert notes[same] == 1 and notes[same.op] == 2
