"""Variables: three nodes, collections, initial values, updates, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors


def test_a_variable_is_three_nodes(graph):
    v = tf.Variable(tf.zeros([2, 3]), name="v")
    assert (v.name, v.op.type, v.dtype, v.shape.as_list()) == (
        "v:0",
        "VariableV2",
        tf.float32,
        [2, 3],
    )
    assert (v.initializer.name, v.initializer.type) == ("v/Assign", "Assign")
    assert v.value().name == "v/read:0"
    assert tf.global_variables() == [v] == tf.trainable_variables() == tf.all_variables()
    assert tf.Variable(1.0, name="v").name == "v_1:0"
    with tf.name_scope("scope"):
        assert tf.Variable(1).name == "scope/Variable:0"


def test_collections():
    a = tf.Variable(1.0, trainable=False)
    b = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    assert tf.global_variables() == [a]
    assert tf.local_variables() == [b] == tf.trainable_variables()
    assert tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, "Var") == [a]


def test_initial_values():
    assert tf.Variable(3).dtype is tf.int32
    assert tf.Variable(np.zeros(3)).dtype is tf.float64
    assert tf.Variable([1, 2], dtype=tf.float32).dtype is tf.float32
    made = tf.Variable(lambda: tf.ones([2]), name="made")
    assert made.initial_value.name.startswith("made/Initializer/")
    other = tf.Variable(made.initialized_value() * 2.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(other), [2.0, 2.0])
        session.run(made.assign([5.0, 6.0]))
        session.run(other.initializer)
        np.testing.assert_array_equal(session.run([made, other]), [[5.0, 6.0], [10.0, 12.0]])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: tf.Variable(), errors.InvalidArgumentError),
        (lambda: tf.Variable(tf.placeholder(tf.float32, [None])), errors.ShapeError),
        (lambda: tf.Variable(tf.zeros([2]), dtype=tf.int32), errors.DTypeError),
        (lambda: tf.Variable([1.0, 2.0], expected_shape=[3]), errors.ShapeError),
        (lambda: tf.Variable(1.5, dtype=tf.int32), errors.DTypeError),
        (lambda: iter(tf.Variable([1.0, 2.0])), errors.DTypeError),
        (lambda: tf.Variable([1.0]).assign([1.0, 2.0]), errors.ShapeError),
        (lambda: tf.assign(tf.constant(1.0), 2.0), errors.DTypeError),
    ],
)
def test_errors(make, error):
    with pytest.raises(error):
        make()


def test_unknown_shape_takes_the_shape_of_the_value():
    x = tf.placeholder(tf.float32)
    v = tf.Variable(x, validate_shape=False)
    assert v.shape.ndims is None
    with tf.Session() as session:
        session.run(v.initializer, {x: [1.0, 2.0, 3.0]})
        assert session.run(v).shape == (3,)
        session.run(tf.assign(v, x, validate_shape=False), {x: [[1.0]]})
        assert session.run(v).shape == (1, 1)


def test_updates_and_operators():
    v, n = tf.Variable([1.0, 2.0]), tf.Variable(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(v.assign_add([1.0, 1.0])), [2.0, 3.0])
        np.testing.assert_array_equal(session.run(v.assign_sub([2.0, 2.0])), [0.0, 1.0])
        values = session.run([v + 1, 2 * v, -v, v[1], v[None] @ tf.eye(2), v > 0.5, 1 - v])
        np.testing.assert_array_equal(values[0], [1.0, 2.0])
        np.testing.assert_array_equal(values[6], [1.0, 0.0])
        assert values[3] == 1.0
        np.testing.assert_array_equal(values[4], [[0.0, 1.0]])
        assert [session.run(n.count_up_to(2)) for _ in range(2)] == [0, 1]
        with pytest.raises(errors.OutOfRangeError):
            session.run(n.count_up_to(2))
        v.load([7.0, 8.0], session)
        np.testing.assert_array_equal(v.eval(session), [7.0, 8.0])
        sparse = tf.IndexedSlices(tf.constant([1.0]), tf.constant([1]))
        np.testing.assert_array_equal(session.run(v.scatter_sub(sparse)), [7.0, 7.0])


def test_reading_before_initialisation_names_the_variable():
    v = tf.Variable([1.0], name="weights")
    missing = tf.report_uninitialized_variables()
    with tf.Session() as session:
        with pytest.raises(errors.FailedPreconditionError, match="weights"):
            session.run(v)
        assert session.run(missing).tolist() == ["weights"] or session.run(missing).tolist() == [b"weights"]
        session.run(v.initializer)
        assert session.run(missing).tolist() == []


def test_read_value_under_control_dependencies():
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        after = v.read_value()
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(after) == 2.0


def test_group_and_tuple():
    v, w = tf.Variable(1.0), tf.Variable([1.0, 2.0])
    both = tf.group(v.assign(3.0), [w.assign([5.0, 6.0])], name="both")
    assert (both.type, both.name) == ("NoOp", "both")
    assert tf.group().type == "NoOp"
    slices = tf.gradients(tf.gather(w, [1]), w)[0]
    passed = tf.tuple([v.assign_add(1.0), None, slices])
    assert passed[1] is None
    assert isinstance(passed[2], tf.IndexedSlices)
    parts = [slices.values.op, slices.indices.op, slices.dense_shape.op]
    assert tf.group(slices).control_inputs == parts
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(both) is None
        assert session.run(v) == 3.0
        assert session.run(passed[0]) == 4.0


def test_a_variable_made_in_another_graph_is_refused():
    v = tf.Variable(1.0)
    with tf.Graph().as_default(), pytest.raises(errors.GraphError):
        tf.add(tf.constant(1.0), v)


def test_the_initialiser_of_old_programs_sets_local_variables_too():
    a = tf.Variable(1, name="a")
    b = tf.Variable(2, name="b", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    with tf.Session() as session:
        session.run(tf.initialize_all_variables())
        assert session.run([a, b]) == [1, 2]


@pytest.mark.parametrize("resource", [False, True])
def test_a_whole_slice_of_a_variable_without_a_value(resource):
    with tf.Graph().as_default(), tf.Session() as s:
        v = tf.get_variable("v", initializer=[1, 2], use_resource=resource)
        for change in (v[:].assign([3, 4]), v[0].assign(5)):
            with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
                s.run(change)
        assert not s.run(tf.is_variable_initialized(v))


class TestUseAfterControlDependencies:
    """A variable that is used as a tensor is read after the control dependencies of that place."""

    @pytest.fixture
    def changed(self):
        v = tf.Variable(1.0)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            yield v, lambda fetch: float(session.run(fetch))

    def test_outside_of_all_contexts(self, changed):
        v, run = changed
        with tf.control_dependencies([v.assign_add(1.0)]):
            after, same = v + 0.0, v + 1.0
        assert run(after) == 2.0
        assert after.op.inputs[0] == same.op.inputs[0]  # one read for both
        assert run(tf.gradients(after * 3.0, v)[0]) == 3.0

    def test_a_branch(self, changed):
        v, run = changed
        with tf.control_dependencies([v.assign_add(1.0)]):
            assert run(tf.cond(tf.less(1, 2), lambda: v * 2.0, lambda: v)) == 4.0

    def test_a_branch_whose_condition_is_made_by_the_assignment(self, changed):
        v, run = changed
        assert run(tf.cond(v.assign_add(1.0) > 1.0, lambda: v * 2.0, lambda: v)) == 4.0

    def test_within_a_branch(self, changed):
        v, run = changed

        def branch():
            with tf.control_dependencies([v.assign(v * 5.0)]):
                return v + 0.0

        assert run(tf.cond(tf.less(1, 2), branch, lambda: v)) == 5.0

    def test_after_a_loop(self, changed):
        v, run = changed

        def body(i):
            with tf.control_dependencies([v.assign_add(1.0)]):
                return i + 1

        with tf.control_dependencies([tf.while_loop(lambda i: i < 3, body, [0])]):
            assert run(v[...]) == 4.0

    def test_a_call_of_a_function(self, changed):
        v, run = changed
        plus = tf.Defun(tf.float32)(lambda x: x + v)
        plus(1.0)
        with tf.control_dependencies([v.assign_add(1.0)]):
            assert run(plus(1.0)) == 3.0

    def test_a_partitioned_variable(self, changed):
        _, run = changed
        part = tf.get_variable("p", [2], initializer=tf.zeros_initializer(), partitioner=tf.fixed_size_partitioner(2))
        with tf.control_dependencies(part.assign(tf.constant([1.0, 2.0]))):
            assert run(tf.reduce_sum(part)) == 3.0


def test_a_variable_shows_the_dtype_of_its_reference():
    with tf.Graph().as_default():
        assert repr(tf.Variable(1.0, name="v")) == "<tf.Variable 'v:0' shape=() dtype=float32_ref>"
        assert repr(tf.Variable(1.0, name="w", use_resource=True)) == "<tf.Variable 'w:0' shape=() dtype=float32>"
        r = tf.get_variable("r", [2], use_resource=True)
        assert repr(r) == "<tf.Variable 'r:0' shape=(2,) dtype=float32>"


def test_what_changes_or_initialises_a_variable_is_colocated_with_it():
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            v = tf.Variable(lambda: tf.zeros([2]) + 1.0, name="v")
            w = tf.get_variable("w", [2])
        with tf.device("/job:worker/task:7"):
            changes = [v.assign([1.0, 2.0]), tf.assign_add(v, [1.0, 1.0]), tf.scatter_add(v, [0], [1.0])]
            reads = v + 1.0
        assert {c.device for c in changes} == {"/job:ps"} and reads.device == "/job:worker/task:7"
        assert {name for c in changes for name in c.op.colocation_groups()} == {b"loc:@v"}
        for variable in (v, w):
            groups = [t.op.colocation_groups() for t in variable.initializer.inputs]
            assert groups == [[f"loc:@{variable.op.name}".encode()]] * 2
        message = tf.get_default_graph().as_graph_def()
        marked = {n.name for n in message.node if n.attr["_class"].list.s == [b"loc:@v"]}
        assert {"v/Initializer/add", "v/Assign", "AssignAdd", "ScatterAdd"} <= marked


def test_an_initialiser_without_arguments_gives_the_shape():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=lambda: tf.constant([1.0, 2.0, 3.0]))
        assert v.shape.as_list() == [3]
        sess.run(v.initializer)
        assert sess.run(v).tolist() == [1, 2, 3]
        with pytest.raises(errors.ShapeError, match="fully defined"):
            tf.get_variable("w", initializer=tf.zeros_initializer())


def test_an_initializer_asks_for_no_device_of_its_own():
    """Device functions see the variable, with which its initializer is; they put other operations on a worker."""
    with tf.Graph().as_default() as graph, tf.device(tf.train.replica_device_setter(1)):
        v = tf.get_variable("v", [2], initializer=tf.random_uniform_initializer())
        assert v.device == "/job:ps/task:0"
    made = [op for op in graph.get_operations() if op.name.startswith("v/Initializer/")]
    assert made and {op.device for op in made} == {""}
    assert {tuple(op.colocation_groups()) for op in made} == {(b"loc:@v",)}


def test_a_resource_variable_may_have_an_unknown_shape():
    with tf.Graph().as_default(), tf.Session() as session:
        first = tf.placeholder_with_default(tf.zeros([2]), shape=None)
        v = tf.Variable(first, use_resource=True)
        session.run(v.initializer)
        assert session.run(v).tolist() == [0, 0]
        assert session.run(tf.assign(v, [1.0, 2.0, 3.0], validate_shape=False)).tolist() == [1, 2, 3]
