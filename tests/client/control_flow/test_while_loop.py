"""tf.while_loop: what it builds, what it refuses, both executors. Values and gradients: tests/oracle, test_random_loops."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors
from tfnb.runtime.loops.kernel import LoopKernel

pytestmark = pytest.mark.opencl


def test_the_graph_is_made_of_the_primitives(graph):
    x = tf.placeholder(tf.float32, [])
    with tf.name_scope("outer"):
        tf.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * x], [0, x], parallel_iterations=4)
    enters = [op for op in graph.get_operations() if op.type == "Enter"]
    assert [op.name for op in enters[:2]] == ["outer/while/Enter", "outer/while/Enter_1"]
    assert {op.get_attr("frame_name") for op in enters} == {b"outer/while/while_context"}
    assert {op.get_attr("parallel_iterations") for op in enters} == {4}
    assert [op.get_attr("is_constant") for op in enters] == [False, False, True]
    for merge in (op for op in graph.get_operations() if op.type == "Merge"):
        assert [t.op.type for t in merge.inputs] == ["Enter", "NextIteration"]
        assert merge in merge.inputs[1].consumers()


@pytest.mark.parametrize("fast", ["1", "0"])
def test_nested_loops_and_branches(monkeypatch, fast):
    monkeypatch.setenv("TFNB_FAST_LOOPS", fast)
    x = tf.placeholder(tf.float32, [2])

    def body(i, y):
        inner = tf.while_loop(lambda j, z: j < i, lambda j, z: [j + 1, z + x], [0, y])[1]
        return [i + 1, tf.cond(tf.equal(i % 2, 0), lambda: inner * 2.0, lambda: inner - 1.0)]

    y = tf.while_loop(lambda i, y: i < 4, body, [0, x])[1]
    (dx,) = tf.gradients(y, x)
    with tf.Session() as session:
        got, slope = session.run([y, dx], {x: [1.0, 2.0]})
    np.testing.assert_allclose(got, [10.0, 23.0])
    np.testing.assert_allclose(slope, [13.0, 13.0])


def test_which_loops_run_as_lists_of_steps():
    i = tf.while_loop(lambda i: i < 1000, lambda i: i + 1, [0])
    x = tf.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, tf.tanh(x)], [0, tf.ones([4])])[1]
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 1})) as session:
        assert session.run(i) == 1000
        session.run(x)
        kernels = [k for e in session._worker._executors.values() for k in e.payloads if isinstance(k, LoopKernel)]
    assert sorted(k.form.is_scalar for k in kernels) == [False, True]


def test_integers_wrap():
    i, n = tf.while_loop(lambda i, n: i < 40, lambda i, n: [i + 1, n * 3 + 1], [0, 1])
    wanted = np.array([1], np.int32)
    for _ in range(40):
        wanted = wanted * np.int32(3) + np.int32(1)
    with tf.Session() as session:
        assert session.run([i, n]) == [40, wanted[0]]


def test_a_loop_without_end_obeys_the_timeout():
    forever = tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 7, [0])
    tensors = tf.while_loop(lambda x: tf.reduce_sum(x) > 0, lambda x: tf.maximum(x, 1.0), [tf.ones([3])])
    with tf.Session() as session:
        for y in (forever, tensors):
            with pytest.raises(errors.DeadlineExceededError):
                session.run(y, options=tf.RunOptions(timeout_in_ms=300))
        assert session.run(tf.constant(1)) == 1


def test_an_error_in_the_body_names_its_node():
    def body(i, ta):
        return [i + 1, ta.write(i * 2, 1.0)]

    _, ta = tf.while_loop(lambda i, _: i < 3, body, [0, tf.TensorArray(tf.float32, 3)])
    with tf.Session() as session, pytest.raises(errors.InvalidArgumentError, match="index 4") as e:
        session.run(ta.flow)
    assert "TensorArrayWrite" in e.value.op.name


def test_control_dependencies_in_and_around():
    v, w = tf.Variable(0), tf.Variable(10)
    with tf.control_dependencies([w.assign_add(5)]):

        def body(i):
            with tf.control_dependencies([v.assign_add(w.read_value())]):
                return i + 1

        done = tf.while_loop(lambda i: i < 3, body, [0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(done) == 3
        assert session.run([v, w]) == [45, 15]


def test_sparse_tensors_and_slices_as_variables():
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 2])

    def body(i, s, rows):
        s = tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)
        return [i + 1, s, tf.IndexedSlices(rows.values + 1.0, rows.indices, rows.dense_shape)]

    rows = tf.IndexedSlices(tf.constant([[1.0, 1.0]]), tf.constant([2]), tf.constant([4, 2]))
    _, s, rows = tf.while_loop(lambda i, *_: i < 3, body, [0, sparse, rows])
    with tf.Session() as session:
        got, dense = session.run([s, tf.convert_to_tensor(rows)])
    np.testing.assert_array_equal(got.values, [8.0, 16.0])
    np.testing.assert_array_equal(dense, [[0, 0], [0, 0], [4, 4], [0, 0]])


def test_rows_of_a_captured_matrix_have_sparse_gradients():
    table = tf.placeholder(tf.float32, [5, 2])
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y + tf.gather(table, [i, 4])], [0, tf.zeros([2, 2])])[1]
    (slope,) = tf.gradients(y, table)
    assert isinstance(slope, tf.IndexedSlices)
    with tf.Session() as session:
        got = session.run(tf.convert_to_tensor(slope), {table: np.ones((5, 2))})
    np.testing.assert_array_equal(got, [[1, 1], [1, 1], [1, 1], [0, 0], [3, 3]])


def test_what_gradients_keep():
    """Loop invariants and shapes are not kept; what is kept goes when it was read."""
    x, w = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [3])
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * w], [0, x])[1]
    (dx,) = tf.gradients(y, x)
    (trigger,) = [op for op in tf.get_default_graph().get_operations() if op.type == "ControlTrigger"]
    kept = [op for op in trigger.control_inputs if op.type == "LoopStackPush"]
    assert all(op.inputs[2].dtype.is_integer for op in kept)
    with tf.Session() as session:
        got = session.run(dx, {x: np.ones((2, 3)), w: [1.0, 2.0, 3.0]})
    np.testing.assert_allclose(got, [[1, 8, 27]] * 2)


def test_gradients_inside_a_body():
    def body(i, x):
        return [i + 1, x - 0.25 * tf.gradients(x * x, x)[0]]

    x = tf.while_loop(lambda i, x: i < 3, body, [0, tf.constant(8.0)])[1]
    with tf.Session() as session:
        assert session.run(x) == 1.0


def test_second_order_gradients_through_branches():
    x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: x**3, lambda: x * 2.0)
    second = tf.gradients(tf.gradients(y, x)[0], x)[0]
    with tf.Session() as session:
        assert session.run(second, {x: 2.0, p: True}) == 12.0
        assert session.run(second, {x: 2.0, p: False}) == 0.0


BAD = {
    "no variables": (lambda: tf.while_loop(lambda: True, list, []), ValueError, "no loop variables"),
    "not callable": (lambda: tf.while_loop(1, lambda i: i, [0]), TypeError, "cond must be callable"),
    "no body": (lambda: tf.while_loop(lambda i: i < 1, None, [0]), TypeError, "body must be callable"),
    "parallel": (
        lambda: tf.while_loop(lambda i: i < 1, lambda i: i, [0], parallel_iterations=0),
        TypeError,
        "positive integer",
    ),
    "not a bool": (lambda: tf.while_loop(lambda i: i, lambda i: i, [0]), TypeError, "bool"),
    "not a scalar": (
        lambda: tf.while_loop(lambda x: x > 0, lambda x: x, [tf.ones([2])]),
        ValueError,
        "scalar",
    ),
    "too many": (lambda: tf.while_loop(lambda i: i < 1, lambda i: [i, i], [0]), ValueError, "structure"),
    "too few": (lambda: tf.while_loop(lambda i, j: i < 1, lambda i, j: [i], [0, 0]), ValueError, "structure"),
    "nothing": (lambda: tf.while_loop(lambda i: i < 1, lambda i: None, [0]), ValueError, "return"),
    "another shape": (
        lambda: tf.while_loop(lambda x: True, lambda x: tf.concat([x, x], 0), [tf.ones([2])]),
        ValueError,
        "not an invariant",
    ),
    "another dtype": (
        lambda: tf.while_loop(lambda i: i < 1, lambda i: tf.cast(i, tf.float32), [tf.constant(0)]),
        TypeError,
        "float32",
    ),
    "bad invariant": (
        lambda: tf.while_loop(lambda x: True, lambda x: x, [tf.ones([2])], shape_invariants=[tf.TensorShape([3])]),
        ValueError,
        "invariant",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_refuses(what):
    build, kind, words = BAD[what]
    with pytest.raises(kind, match=words):
        build()


def test_inner_tensors_can_be_neither_fetched_nor_fed():
    inner = []

    def body(i):
        inner.append(i + 1)
        return inner[0]

    y = tf.while_loop(lambda i: i < 2, body, [0])
    with tf.Session() as session:
        with pytest.raises(errors.InvalidArgumentError):
            session.run(inner[0])
        with pytest.raises(errors.InvalidArgumentError):
            session.run(y, {inner[0]: 1})


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
@pytest.mark.parametrize("rows", [None, 7])
def test_the_gradient_of_a_matrix_over_many_iterations(rows, dtype):
    """More rows than are kept at once; iterations of no rows, and no iterations."""
    data = np.random.default_rng(0).normal(size=(100, 7, 3))
    with tf.Graph().as_default(), tf.Session() as s:
        n, x = tf.placeholder(tf.int32), tf.placeholder(dtype, [100, rows, 3])
        w = tf.constant(np.eye(3) * 0.9, dtype)

        def body(i, total):
            y = tf.matmul(tf.matmul(x[i], w), w)
            return i + 1, total + tf.reduce_sum(y * y)

        _, total = tf.while_loop(lambda i, t: i < n, body, [0, tf.constant(0, dtype)])
        (grad,) = tf.gradients(total, w)
        assert grad.shape.as_list() == [3, 3]
        for count in (100, 5, 0):
            flat = data[:count].reshape(-1, 3)
            d = 2 * 0.81 * flat.T @ flat
            np.testing.assert_allclose(s.run(grad, {n: count, x: data}), d * 0.9 + 0.9 * d, rtol=1e-4, atol=1e-4)
        if rows is None:
            assert s.run(grad, {n: 3, x: data[:, :0]}).tolist() == np.zeros((3, 3)).tolist()


def _run(value, *variables):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(value), *session.run(list(variables))


@pytest.mark.parametrize("fast", ["1", "0"])
class TestVariablesThatALoopChanges:
    """As TensorFlow gives them, with reference and with resource variables."""

    @pytest.fixture(autouse=True)
    def executor(self, monkeypatch, fast):
        monkeypatch.setenv("TFNB_FAST_LOOPS", fast)

    def test_a_read_after_an_assignment_of_the_same_iteration(self):
        a, b = tf.Variable(0), tf.Variable(0)

        def body(i):
            with tf.control_dependencies([tf.assign_add(a, 1)]):
                add = tf.assign_add(b, a)
            with tf.control_dependencies([add]):
                return i + 1

        assert _run(tf.while_loop(lambda i: i < 10, body, [0]), a, b) == (10, 10, 55)

    def test_a_condition(self):
        b = tf.Variable(0)

        def body(i):
            with tf.control_dependencies([tf.assign_add(b, 1)]):
                return tf.identity(b)

        assert _run(tf.while_loop(lambda i: tf.less(b, 10), body, [b]), b) == (10, 10)

    def test_a_condition_waits_for_all_of_the_iteration_before(self):
        b = tf.Variable(0)

        def body(i, x):
            with tf.control_dependencies([tf.assign_add(b, 1)]):
                return i + 1, tf.identity(x)

        assert _run(tf.while_loop(lambda i, x: tf.less(b, 4), body, [0, 1.0])[0], b) == (4, 4)

    def test_what_an_assignment_outside_gave(self):
        a, b = tf.Variable(0), tf.Variable(0)
        up = tf.assign_add(a, 1)

        def body(i):
            with tf.control_dependencies([tf.assign_add(b, up)]):
                return i + 1

        assert _run(tf.while_loop(lambda i: i < 10, body, [0]), a, b) == (10, 1, 10)

    def test_an_assignment_of_what_is_read(self):
        v, w = tf.Variable(1.0), tf.get_variable("w", [], initializer=tf.ones_initializer(), use_resource=True)

        def body(i):
            with tf.control_dependencies([tf.assign(v, v * 2.0), w.assign(w * 3.0)]):
                return i + 1

        assert _run(tf.while_loop(lambda i: i < 5, body, [0]), v, w) == (5, 32.0, 243.0)

    def test_a_branch_and_a_loop_inside(self):
        v, log = tf.Variable(1.0), tf.Variable(tf.zeros([3]))

        def inner(j):
            with tf.control_dependencies([v.assign_add(1.0)]):
                return j + 1

        def body(i, x):
            with tf.control_dependencies([tf.while_loop(lambda j: j < 2, inner, [0])]):
                x = tf.cond(i < 1, lambda: x + v, lambda: tf.identity(tf.assign(v, v * 10.0)))
            with tf.control_dependencies([x]), tf.control_dependencies([tf.scatter_update(log, i, v)]):
                return i + 1, x + v

        found, v_, log_ = _run(tf.while_loop(lambda i, x: i < 3, body, [0, 0.0])[1], v, log)
        assert (found, v_, log_.tolist()) == (1040.0, 520.0, [3.0, 50.0, 520.0])

    def test_a_use_without_control_dependencies_has_the_value_at_the_beginning_of_the_iteration(self):
        v = tf.Variable(1.0)

        def body(i, x):
            with tf.control_dependencies([v.assign_add(1.0)]):
                return i + 1, v

        assert _run(tf.while_loop(lambda i, x: i < 4, body, [0, v])[1], v) == (4.0, 5.0)

    def test_gradients_take_the_value_of_the_iteration(self):
        v, x = tf.Variable(2.0), tf.constant(1.0)

        def body(i, y):
            y = y * v
            with tf.control_dependencies([y]), tf.control_dependencies([v.assign_add(1.0)]):
                return i + 1, tf.identity(y)

        y = tf.while_loop(lambda i, y: i < 3, body, [0, x])[1]
        dx, dv = tf.gradients(y, [x, v])
        assert _run([y, dx, dv], v) == ([24.0, 24.0, 12.0 + 8.0 + 6.0], 5.0)

    def test_gradients_by_a_variable_that_is_read_explicitly(self):
        v = tf.Variable(2.0)
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * v.read_value()), [0, 1.0])[1]
        assert _run(tf.gradients(y, v))[0] == [12.0]

    def test_training_in_a_loop(self):
        w = tf.Variable([[1.0], [-2.0]])
        x = tf.constant([[1.0, 2.0], [3.0, -1.0]])

        def body(i):
            loss = tf.reduce_sum(tf.square(tf.matmul(x, w)))
            with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.01).minimize(loss)]):
                return i + 1

        _, found = _run(tf.while_loop(lambda i: i < 20, body, [0]), w)
        expected, data = np.array([[1.0], [-2.0]], np.float32), np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)
        for _ in range(20):
            expected = expected - 0.02 * data.T @ (data @ expected)
        np.testing.assert_allclose(found, expected, rtol=1e-4)

    def test_functional_forms(self):
        v = tf.Variable(1.0)

        def double(x):
            with tf.control_dependencies([v.assign(v * 2.0)]):
                return x + v

        assert _run(tf.map_fn(double, tf.zeros([3])), v)[0].tolist() == [2.0, 4.0, 8.0]
        assert _run(tf.scan(lambda a, x: a + double(x), tf.zeros([3])), v)[0].tolist() == [0.0, 2.0, 6.0]

    def test_a_partitioned_variable(self):
        parts = tf.get_variable("p", [4], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2))

        def body(i, x):
            with tf.control_dependencies([p.assign(p * 2.0) for p in parts]):
                return i + 1, x + parts

        found = _run(tf.while_loop(lambda i, x: i < 3, body, [0, tf.zeros([4])])[1])
        assert found[0].tolist() == [14.0] * 4


def test_what_no_iteration_changes_enters_the_loop_once(graph):
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + v), [0, 0.0])[1]
    assert [op.type for op in graph.get_operations() if any(t.op.type == "RefEnter" for t in op.inputs)] == []
    assert _run(y, v) == (6.0, 2.0)


def test_a_function_called_in_a_loop_reads_what_the_loop_changes():
    v = tf.Variable(1.0)

    @tf.Defun(tf.float32)
    def plus(x):
        return x + v

    def body(i, x):
        with tf.control_dependencies([v.assign_add(1.0)]):
            return i + 1, plus(x)

    assert _run(tf.while_loop(lambda i, x: i < 3, body, [0, 0.0])[1], v) == (9.0, 4.0)


def test_what_is_made_inside_a_loop_or_branch_cannot_be_fetched():
    made = []

    def body(_):
        made.extend([tf.constant(5), tf.constant(5) + 1])
        return tf.constant(10)

    tf.while_loop(lambda t: t < 5, body, [tf.constant(4)])
    tf.cond(tf.placeholder(tf.bool, []), lambda: made.append(tf.constant(7)) or tf.constant(8), lambda: tf.constant(9))
    with tf.Session() as sess:
        for tensor in made:
            with pytest.raises(ValueError, match="not fetchable"):
                sess.run(tensor)


def test_a_constant_that_loops_read_can_be_fed(graph):
    begin, step, limit = tf.constant(0), tf.constant(3), tf.constant(9)
    inner = lambda i: tf.while_loop(lambda j: j < i + limit, lambda j: j + step, [i])  # noqa: E731
    nested = tf.while_loop(lambda i: i < 100, inner, [begin])
    branch = lambda i: tf.cond(i > step, lambda: i * step, lambda: i + step)  # noqa: E731
    chosen = tf.while_loop(lambda i: i < 100, branch, [begin])
    with tf.Session(graph=graph) as session:
        assert session.run([nested, chosen]) == [108, 162]
        assert session.run([nested, chosen], {begin: 1, step: 5, limit: 25}) == [101, 150]
        assert session.run(nested, {limit: 60}) == 120


def test_a_constant_that_waits_for_an_operation_outside_enters_the_loop():
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.Assert(x > 0, [x])]):
        limit = tf.constant(3)
    count = tf.while_loop(lambda i: i < limit, lambda i: i + 1, [0])
    chosen = tf.cond(x > 1, lambda: limit * 2, lambda: limit * 3)
    with tf.Session() as session:
        assert session.run([count, chosen], {x: 1.0}) == [3, 9]
        with pytest.raises(errors.InvalidArgumentError):
            session.run(count, {x: 0.0})


def test_a_scan_may_wait_for_a_check():
    """The number of its steps is a constant that waits, and that the loop reads."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        with tf.control_dependencies([tf.assert_greater(x, 0.0, message="too small")]):
            sums = tf.scan(lambda a, b: a + b, tf.ones([3]), initializer=tf.constant(0.0))
        assert session.run(sums, {x: 1.0}).tolist() == [1, 2, 3]
        with pytest.raises(tf.errors.InvalidArgumentError, match="too small"):
            session.run(sums, {x: 0.0})


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_that_a_loop_changes_is_fetched_when_the_loop_has_ended(use_resource):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=2.0, use_resource=use_resource)

        def body(i, y):
            with tf.control_dependencies([v.assign(v * 3.0)]):
                return i + 1, y + 1.0

        _, y = tf.while_loop(lambda i, y: i < 2, body, [0, tf.constant(0.0)], parallel_iterations=1)
        session.run(tf.global_variables_initializer())
        assert session.run([y, v]) == [2, 18]
