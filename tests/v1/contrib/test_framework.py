"""`tf.contrib.framework`: lists of variables, checks of shapes, names of scopes, deprecation."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

F = tf.contrib.framework


def test_lists_of_variables():
    a = F.local_variable(1, name="a")
    b = F.global_variable([1.0, 2.0], name="b")
    c = F.model_variable("scope/c", [2, 1], initializer=tf.zeros_initializer())
    F.add_model_variable(b)
    F.add_model_variable(b)
    assert a in tf.local_variables() and a not in tf.global_variables()
    assert F.get_model_variables() == [c, b] and not b.trainable
    assert F.filter_variables([b, c], ["c"]) == [c] and F.filter_variables([b, c], ["c"], reg_search=False) == []
    assert F.filter_variables([b, c], exclude_patterns=["^b"]) == [c]
    assert F.get_variable_full_name(c) == "scope/c"
    init = F.assign_from_values_fn({"scope/c": np.float32([5, 6]), "b": np.float32([3, 4])})
    zero = F.zero_initializer(b)
    with tf.Session() as sess:
        init(sess)
        assert sess.run([b, c])[1].tolist() == [[5], [6]]
        sess.run(zero)
        assert sess.run(b).tolist() == [0, 0]
    with pytest.raises(errors.NotFoundError, match="no global variable"):
        F.assign_from_values({"absent": 1})


def test_parts_of_a_variable_have_the_name_of_the_whole():
    whole = tf.get_variable("w", [4], partitioner=tf.fixed_size_partitioner(2))
    assert [F.get_variable_full_name(v) for v in whole] == ["w", "w"]


def test_devices_in_turn():
    chooser = F.VariableDeviceChooser(2, device_type="GPU", replica=1)
    found = [chooser(None) for _ in range(3)]
    assert found[0] == found[2] == "/job:ps/replica:1/task:0/device:GPU:0" and "task:1" in found[1]
    assert F.VariableDeviceChooser()(None) == "/device:CPU:0"


def test_names_and_graphs():
    x = tf.placeholder(tf.float32, name="x")
    with tf.name_scope("outer"):
        assert F.get_name_scope() == "outer"
    assert F.get_placeholders(tf.get_default_graph()) == [x]
    assert F.strip_name_scope("loc:@a/b", "a") == "loc:@b" and F.strip_name_scope("^a/b", "a") == "^b"
    assert F.prepend_name_scope("^b", "a") == "^a/b" and F.prepend_name_scope("b", None) == "b"
    assert F.get_graph_from_inputs([x]) is tf.get_default_graph()
    with pytest.raises(errors.InvalidArgumentError):
        F.get_graph_from_inputs([x], tf.Graph())


def test_shapes():
    known, open_ = tf.zeros([2, 1]), tf.placeholder(tf.float32)
    assert F.with_shape([2, 1], known) is known and F.with_shape([], tf.zeros([1])).shape.as_list() == []
    checked = F.with_shape([2, None], open_)
    assert checked.shape.as_list() == [2, None]
    same = F.with_same_shape(known, open_)
    by_tensor = F.with_shape(tf.placeholder_with_default([3], [1]), open_)
    with tf.Session() as sess:
        assert sess.run(checked, {open_: np.ones([2, 5])}).shape == (2, 5)
        assert sess.run(same, {open_: np.ones([2, 1])}).shape == (2, 1)
        assert sess.run(by_tensor, {open_: np.ones(3)}).shape == (3,)
        for tensor, value in ((checked, np.ones([3, 5])), (checked, np.ones(2)), (same, np.ones([2, 2]))):
            with pytest.raises(errors.InvalidArgumentError, match="Wrong shape"):
                sess.run(tensor, {open_: value})
    with pytest.raises(errors.ShapeError, match="must have shape"):
        F.with_shape([3], known)
    with pytest.raises(errors.DTypeError, match="int32"):
        F.with_shape(tf.constant([2.0]), known)


def test_sums_and_ranks():
    x, y = F.remove_squeezable_dimensions(tf.zeros([3, 1]), tf.zeros([3]))
    assert x.shape.as_list() == y.shape.as_list() == [3]
    fed = tf.placeholder(tf.float32)
    a, b = F.remove_squeezable_dimensions(fed, tf.constant([[1.0], [2.0]]))
    with tf.Session() as sess:
        assert sess.run(F.reduce_sum_n([tf.constant([1.0, 2.0]), tf.constant(3.0)])) == 6
        shapes = [v.shape for v in sess.run([a, b], {fed: [5.0, 6.0]})]
    assert shapes == [(2,), (2,)]
    with pytest.raises(errors.InvalidArgumentError):
        F.reduce_sum_n([])
    assert F.assert_scalar_int(3).dtype == tf.int32
    with pytest.raises(errors.DTypeError, match="integer"):
        F.assert_scalar_int(3.0)


def test_conditions_that_are_known():
    x = tf.placeholder_with_default(True, [])
    assert F.smart_constant_value(tf.constant(False)) is False and F.smart_constant_value(x) is None
    assert F.smart_case([(False, lambda: 1), (True, lambda: 2), (x, lambda: 3)]) == 2
    assert F.smart_case({False: lambda: 1}, default=lambda: 4) == 4
    chosen = F.smart_case([(tf.logical_not(x), lambda: tf.constant(1)), (True, lambda: tf.constant(2))])
    with tf.Session() as sess:
        assert sess.run(chosen) == 2 and sess.run(chosen, {x: False}) == 1


def test_python_functions_of_structures():
    def both(pair, scale):
        return {"sum": pair["a"] + pair["b"], "scaled": [pair["a"] * scale]}

    result = F.py_func(
        both,
        [{"a": tf.constant(2.0), "b": tf.constant(3.0)}],
        {"scale": tf.constant(10.0)},
        {"sum": tf.float32, "scaled": [tf.float32]},
        {"sum": [], "scaled": [[]]},
    )
    assert result["sum"].shape.as_list() == []
    with tf.Session() as sess:
        assert sess.run(result) == {"sum": 5, "scaled": [20]}
    with pytest.raises(errors.DTypeError, match="list"):
        F.py_func(both, 3)


def test_deprecation(caplog):
    @F.deprecated("2020-01-01", "Use new.")
    def old(x):
        """Is old."""
        return x

    @F.deprecated(None, "Use New.")
    class Old:
        def __init__(self, x):
            self.x = x

    @F.deprecated_args("2020-01-01", "Use b.", "a", ("c", None))
    def some(b=1, a=None, c=None):
        return b

    @F.deprecated_arg_values(None, "Use 1.", kind=0)
    def kinds(kind=1):
        return kind

    @tf.contrib.slim.experimental
    def new():
        return 7

    with caplog.at_level("WARNING"):
        assert [old(1), old(2)] == [1, 2] and Old(3).x == 3 and isinstance(Old(3), Old)
        assert some(2) == 2 and some(b=2, c=None) == 2
        before = len(caplog.records)
        assert some(2, a=5) == 2 and kinds(0) == 0 and kinds(1) == 1 and new() == 7
    assert len(caplog.records) - before == 3
    assert "Use new." in old.__doc__ and "2020-01-01" in old.__doc__
    for wrong in (
        lambda: F.deprecated("soon", "x"),
        lambda: F.deprecated(None, ""),
        lambda: F.deprecated_args(None, "x"),
    ):
        with pytest.raises(errors.InvalidArgumentError):
            wrong()
    with pytest.raises(errors.InvalidArgumentError, match="no arguments"):
        F.deprecated_args(None, "x", "absent")(old)


def test_scoped_arguments_and_the_global_step():
    assert "activation_fn" in F.arg_scoped_arguments(tf.contrib.layers.fully_connected)
    assert tf.contrib.slim.arg_scope_func_key(tf.contrib.slim.conv2d) is tf.contrib.slim.conv2d
    step = F.create_global_step()
    assert F.assert_or_get_global_step() is step and F.assert_or_get_global_step(global_step_tensor=step) is step
    with pytest.raises(errors.InvalidArgumentError, match="add_arg_scope"):
        F.arg_scoped_arguments(print)
