"""tf.cond and tf.case: only the taken branch runs; structures, nesting, errors. Gradients: see tests/oracle."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors
from tfnb.client.graph.nest import flatten, pack, same_structure


def test_only_the_taken_branch_runs():
    p = tf.placeholder(tf.bool, [])
    left, right, before = tf.Variable(0), tf.Variable(0), tf.Variable(0)
    outside = before.assign_add(1)
    y = tf.cond(p, lambda: left.assign_add(1) + outside, lambda: right.assign_add(10))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y, {p: True}) == 2
        assert session.run(y, {p: False}) == 10
        assert session.run(y, {p: False}) == 20
        assert session.run([left, right, before]) == [1, 20, 3]  # what is made outside always runs


def test_constants_operations_and_structures():
    p = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [2])
    v = tf.Variable(0.0)
    number = tf.cond(p, lambda: 1, lambda: 2)
    done = tf.cond(p, lambda: v.assign(5.0).op, lambda: tf.no_op())
    nested = tf.cond(p, lambda: {"a": x, "b": [x * 2, (1.0,)]}, lambda: {"a": -x, "b": [x, (2.0,)]})
    single = tf.cond(p, lambda: [x], lambda: [x + 1])
    strict = tf.cond(p, lambda: [x], lambda: [x + 1], strict=True)
    assert isinstance(single, tf.Tensor)
    assert isinstance(strict, list)
    assert nested["b"][0].shape.as_list() == [2]
    with tf.Session() as session:
        session.run(v.initializer)
        assert [session.run(number, {p: b}) for b in (True, False)] == [1, 2]
        session.run(done, {p: False})
        assert session.run(v) == 0.0
        session.run(done, {p: True})
        assert session.run(v) == 5.0
        got = session.run(nested, {p: False, x: [1, 2]})
        np.testing.assert_array_equal(got["a"], [-1, -2])
        assert got["b"][1] == (2.0,)


def test_nested_and_repeated_captures(graph):
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(
        p,
        lambda: x * x + tf.cond(q, lambda: x * 3, lambda: -x),
        lambda: tf.cond(q, lambda: x, lambda: 0.0),
    )
    captured = [op for op in graph.get_operations() if op.type == "Switch" and op.inputs[0] == x]
    assert len(captured) == 2  # once per branch of the outer conditional
    with tf.Session() as session:
        got = {(a, b): session.run(y, {p: a, q: b, x: 4.0}) for a in (True, False) for b in (True, False)}
    assert got == {(True, True): 28, (True, False): 12, (False, True): 4, (False, False): 0}


def test_a_failing_branch_does_not_matter_unless_taken():
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])

    def fail():
        with tf.control_dependencies([tf.Assert(tf.equal(x, 0.0), ["x is", x])]):
            return tf.identity(x)

    y = tf.cond(p, fail, lambda: x + 1)
    with tf.Session() as session:
        assert session.run(y, {p: False, x: 3.0}) == 4.0
        with pytest.raises(errors.InvalidArgumentError, match=r"assertion failed: .x is"):
            session.run(y, {p: True, x: 3.0})
        assert session.run(y, {p: True, x: 0.0}) == 0.0


def test_branches_cannot_be_fetched():
    p = tf.placeholder(tf.bool, [])
    inner = []

    def branch():
        inner.append(tf.constant(1.0) + 1.0)
        return inner[0]

    tf.cond(p, branch, lambda: 0.0)
    with (
        tf.Session() as session,
        pytest.raises(errors.InvalidFetchError, match="Operation 'cond/add:0' has been marked as not fetchable"),
    ):
        session.run(inner[0], {p: True})


def test_variables_and_layers_inside():
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [None, 3])
    one = tf.ones_initializer()
    y = tf.cond(
        p,
        lambda: tf.layers.dense(x, 2, name="left", kernel_initializer=one),
        lambda: tf.layers.dense(x, 2, name="right", kernel_initializer=one) * 2.0,
    )
    train = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(y))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(y, {p: False, x: [[1, 2, 3]]}), [[12, 12]])
        session.run(train, {p: True, x: [[1, 2, 3]]})
        left, right = (session.run(f"{n}/kernel:0") for n in ("left", "right"))
        np.testing.assert_array_equal(left, [[0, 0], [-1, -1], [-2, -2]])
        np.testing.assert_array_equal(right, np.ones((3, 2)))


GRADIENTS = {  # build(p, x, y) -> a number; (p, x, y) -> its derivatives by x and y
    "both branches": (
        lambda p, x, y: tf.cond(p, lambda: x * y, lambda: tf.sin(x) - y),
        lambda p, x, y: (y, x) if p else (np.cos(x), -1.0),
    ),
    "one branch does not use it": (
        lambda p, x, y: tf.cond(p, lambda: x * x, lambda: 3.0 * y),
        lambda p, x, y: (2 * x, 0.0) if p else (0.0, 3.0),
    ),
    "around it too": (
        lambda p, x, y: x * tf.cond(p, lambda: tf.exp(x * y), lambda: y) + y,
        lambda p, x, y: ((1 + x * y) * np.exp(x * y), x * x * np.exp(x * y) + 1) if p else (y, x + 1),
    ),
    "one in another": (
        lambda p, x, y: tf.cond(p, lambda: tf.cond(x > y, lambda: x**3, lambda: x * y), lambda: y**2),
        lambda p, x, y: ((3 * x**2, 0.0) if x > y else (y, x)) if p else (0.0, 2 * y),
    ),
    "two results": (
        lambda p, x, y: tf.add_n(tf.cond(p, lambda: [x * y, x], lambda: [y * y, x * x * y])),
        lambda p, x, y: (y + 1, x) if p else (2 * x * y, 2 * y + x * x),
    ),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    build, derivatives = GRADIENTS[name]
    p, x, y = tf.placeholder(tf.bool, []), tf.placeholder(tf.float64, []), tf.placeholder(tf.float64, [])
    slopes = tf.gradients(build(p, x, y), [x, y])
    with tf.Session() as session:
        for taken in (True, False):
            for a, b in ((1.5, -0.5), (0.25, 2.0)):
                found = session.run(slopes, {p: taken, x: a, y: b})
                np.testing.assert_allclose(found, derivatives(taken, a, b), rtol=1e-12, atol=1e-12)


def test_a_gradient_of_a_gradient():
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float64, [])
    (slope,) = tf.gradients(tf.cond(p, lambda: x**4, lambda: tf.exp(2.0 * x)), x)
    (second,) = tf.gradients(slope, x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(second, {p: True, x: 1.5}), 12 * 1.5**2, rtol=1e-12)
        np.testing.assert_allclose(session.run(second, {p: False, x: 1.5}), 4 * np.exp(3.0), rtol=1e-12)


def test_case():
    k = tf.placeholder(tf.int32, [])
    pairs = [(tf.equal(k, 0), lambda: 10), (k < 3, lambda: k * 2)]
    y = tf.case(pairs, default=lambda: -1)
    z = tf.case(pairs, exclusive=True, default=lambda: -1)
    only = tf.case(pairs)
    with tf.Session() as session:
        assert [session.run(y, {k: i}) for i in (0, 2, 5)] == [10, 4, -1]
        assert session.run(z, {k: 1}) == 2
        with pytest.raises(
            errors.InvalidArgumentError, match="More than one condition evaluated as True but exclusive=True"
        ):
            session.run(z, {k: 0})
        assert session.run(only, {k: 2}) == 4
        with pytest.raises(errors.InvalidArgumentError, match="None of the conditions evaluated as True"):
            session.run(only, {k: 7})
    with pytest.raises(errors.DTypeError, match="pairs of a condition and a function"):
        tf.case([(tf.equal(k, 0), 3)], default=lambda: -1)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda p: tf.cond(True, lambda: 1, lambda: 2), TypeError, "must not be a Python bool"),
        (lambda p: tf.cond(p, 1, lambda: 2), TypeError, "must be callable"),
        (lambda p: tf.cond(p, lambda: 1, lambda: 2.0), errors.DTypeError, "true_fn returned int32 .* false_fn float32"),
        (lambda p: tf.cond(p, lambda: None, lambda: 2.0), errors.InvalidArgumentError, "true_fn must return something"),
        (lambda p: tf.cond(p, lambda: [1, 2], lambda: 2), errors.InvalidArgumentError, "false_fn the different 2"),
        (lambda p: tf.cond(tf.constant([True, False]), lambda: 1, lambda: 2), errors.ShapeError, "got shape .2,."),
        (lambda p: tf.cond(tf.constant(1.0), lambda: 1, lambda: 2), errors.DTypeError, "must be bool, got float32"),
    ],
)
def test_errors(build, error, message):
    with pytest.raises(error, match=message):
        build(tf.placeholder(tf.bool, []))


def test_the_signature_of_0x():
    p = tf.placeholder(tf.bool, [])
    assert tf.cond(p, lambda: 1, lambda: 2, "choose").name == "choose/Merge:0"
    assert tf.cond(p, fn1=lambda: 1, fn2=lambda: 2).name == "cond/Merge:0"


def test_structures():
    value = {"b": [1, (2, 3)], "a": 4}
    assert flatten(value) == [4, 1, 2, 3]
    assert pack(value, [40, 10, 20, 30]) == {"b": [10, (20, 30)], "a": 40}
    assert same_structure(value, {"a": 0, "b": [0, (0, 0)]})
    assert not same_structure(value, {"a": 0, "b": [0, [0, 0]]})
    for leaves in ([1, 2, 3], [1, 2, 3, 4, 5]):
        with pytest.raises(errors.InvalidArgumentError, match=r"flat_sequence had"):
            pack(value, leaves)


@pytest.mark.parametrize("other", [tf.int32, tf.int64])
@pytest.mark.parametrize("taken", [True, False])
def test_rows_of_branches_by_indices_of_two_dtypes(taken, other):
    v, p = tf.constant([10.0]), tf.placeholder(tf.bool, [])
    rows = tf.cond(
        p,
        lambda: tf.IndexedSlices(v + 1, tf.constant([0])),
        lambda: tf.IndexedSlices(v - 1, tf.constant([2], other)),
    )
    assert rows.indices.dtype is other
    with tf.Session() as session:
        assert session.run([rows.values, rows.indices], {p: taken}) == ([11, 0] if taken else [9, 2])


@pytest.mark.parametrize("ids", [tf.int32, tf.int64])
def test_rows_looked_up_in_a_branch_in_a_loop(ids):
    table = tf.constant(np.arange(10.0).reshape(5, 2))

    def body(i, s):
        found = tf.cond(i < 2, lambda: tf.gather(table, tf.argmax(s, 1, output_type=ids) + 1), lambda: s)
        return i + 1, s + found

    y = tf.while_loop(lambda i, s: i < 4, body, [0, tf.zeros([1, 2], tf.float64)])[1]
    with tf.Session() as session:
        slope = session.run(tf.convert_to_tensor(tf.gradients(y, table)[0]))
    np.testing.assert_array_equal(slope[:, 0], [0, 4, 4, 0, 0])


def test_a_variable_that_a_branch_changes_is_fetched_beside_it():
    """The value is that after the step, whether the branch is taken or not."""
    taken, v, w = tf.placeholder(tf.bool, []), tf.Variable([1.0, 1.0]), tf.Variable(0.0)
    changed = tf.cond(taken, lambda: v.assign_sub([0.5, 0.5]).op, lambda: tf.no_op())
    counted = tf.cond(taken, lambda: w.assign_add(1.0), lambda: w.assign_sub(1.0))
    with tf.control_dependencies([changed]):
        result = tf.constant(2.0) * 2.0
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for value, expected, count in ((True, 0.5, 1), (False, 0.5, 0), (True, 0.0, 1), (False, 0.0, 0)):
            found, now, number, last = sess.run([result, v, counted, w], {taken: value})
            assert found == 4 and now.tolist() == [expected, expected] and number == last == count


def test_what_a_constant_from_outside_makes_wrong_in_a_branch_is_no_error_unless_taken():
    x, size, kind = tf.zeros([2, 6, 4]), tf.stack([5, 10]), tf.placeholder(tf.int32, [])
    resized = tf.cond(
        kind > 0,
        lambda: tf.image.resize_nearest_neighbor(x[..., None], size)[..., 0],
        lambda: tf.reshape(x, [-1, size[0], size[1]]),
    )
    with tf.Session() as session:
        assert session.run(resized, {kind: 1}).shape == (2, 5, 10)
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            session.run(resized, {kind: 0})
    with pytest.raises(ValueError, match="evenly divisible"):
        tf.cond(kind > 0, lambda: x, lambda: tf.reshape(x, [-1, 5, 10]))


def test_a_program_asks_for_the_context():
    graph, x = tf.get_default_graph(), tf.placeholder(tf.float32, [])
    found = []

    def inside():
        context = graph._get_control_flow_context()
        found.append(context)
        return context.AddValue(x) + 1.0

    y = tf.cond(x > 0.0, inside, lambda: x)
    assert isinstance(found[0], tf.python.ops.control_flow_ops.ControlFlowContext)
    assert graph._get_control_flow_context() is None and not graph.building_function
    with tf.Session() as session:
        assert [session.run(y, {x: v}) for v in (1.0, -1.0)] == [2.0, -1.0]


def test_a_bool_of_numpy_is_a_predicate():
    with tf.Graph().as_default(), tf.Session() as session:
        results = [tf.cond(p, lambda: 1, lambda: 2) for p in (np.bool_(True), np.array(False))]
        assert session.run(results) == [1, 2]
