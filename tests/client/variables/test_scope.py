"""Variable scopes: sharing, defaults, getters, errors. Names are compared with TensorFlow's in tests/oracle."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors


def test_sharing():
    with tf.variable_scope("s") as scope:
        a = tf.get_variable("w", [2, 3])
        scope.reuse_variables()
        assert tf.get_variable("w", [2, 3]) is a
    with tf.variable_scope("s", reuse=True):
        assert tf.get_variable("w") is a
    with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
        assert tf.get_variable("w") is a
        assert tf.get_variable("new", [1]).name == "s/new:0"
    assert a.name == "s/w:0"


def test_existing_missing_and_different():
    with tf.variable_scope("s"):
        tf.get_variable("w", [2])
        with pytest.raises(ValueError, match=r"source: .*test_scope"):
            tf.get_variable("w", [2])
    with tf.variable_scope("s", reuse=True):
        with pytest.raises(ValueError, match="Variable s/other does not exist"):
            tf.get_variable("other", [2])
        with pytest.raises(errors.ShapeError):
            tf.get_variable("w", [3])
        with pytest.raises(errors.DTypeError):
            tf.get_variable("w", [2], tf.float64)
    with pytest.raises(errors.ShapeError):
        tf.get_variable("unknown", [None, 2])
    with pytest.raises(errors.InvalidArgumentError), tf.variable_scope(None):
        pass
    with pytest.raises(errors.DTypeError), tf.variable_scope(3):
        pass


def test_defaults_of_a_scope():
    ones = tf.ones_initializer()
    with tf.variable_scope("s", initializer=ones, regularizer=tf.contrib.layers.l2_regularizer(0.5), dtype=tf.float64):
        w = tf.get_variable("w", [2])
        with tf.variable_scope("t"):
            k = tf.get_variable("k", [2], initializer=tf.constant_initializer(3.0))
    assert w.dtype is tf.float64
    losses = tf.losses.get_regularization_losses()
    assert len(losses) == 2
    assert losses[0].name.startswith("s/w/Regularizer/")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run([w, k]), [[1, 1], [3, 3]])
        assert session.run(tf.losses.get_regularization_loss()) == 0.5 * 1 + 0.5 * 9


def test_initial_values_that_are_not_callables():
    a = tf.get_variable("a", initializer=tf.constant([1.0, 2.0]))
    b = tf.get_variable("b", initializer=np.array([1, 2, 3]))
    c = tf.get_variable("c", shape=[], initializer=tf.zeros_initializer)
    d = tf.get_variable("d", initializer=0.5)
    assert [v.shape.as_list() for v in (a, b, c, d)] == [[2], [3], [], []]
    for value in (tf.constant([1.0, 2.0]), np.ones(3), True):
        with pytest.raises(errors.ShapeError, match=r"If initializer is a constant, do not specify shape\."):
            tf.get_variable("e", [3], initializer=value)


def test_custom_getters_nest():
    seen = []

    def outer(getter, name, *args, **kwargs):
        seen.append(("outer", name))
        return getter(name, *args, **kwargs)

    def inner(getter, name, *args, **kwargs):
        seen.append(("inner", name))
        kwargs["trainable"] = False
        return getter(name, *args, **kwargs)

    with tf.variable_scope("a", custom_getter=outer), tf.variable_scope("b", custom_getter=inner):
        v = tf.get_variable("w", [1], initializer=tf.constant_initializer(2.0))
    assert v.name == "a/b/w:0"
    assert not v.trainable
    assert seen == [("inner", "a/b/w"), ("outer", "a/b/w")]


def test_the_signature_of_06_and_local_variables():
    with tf.variable_scope("s"):
        w = tf.get_variable("w", [1])
    with tf.variable_scope("s", True):
        assert tf.get_variable("w") is w
    local = tf.get_local_variable("count", [], initializer=tf.zeros_initializer())
    assert tf.local_variables() == [local]
    assert tf.trainable_variables() == [w]


def test_scopes_of_threads_do_not_mix(graph):
    names, ready = [], threading.Barrier(2)

    def build(scope: str) -> None:
        with graph.as_default(), tf.variable_scope(scope):
            ready.wait(5)
            names.append(tf.get_variable("w", [1]).name)
            ready.wait(5)

    threads = [threading.Thread(target=build, args=(s,)) for s in "ab"]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(names) == ["a/w:0", "b/w:0"]
    assert tf.get_variable_scope().name == ""


def test_variable_op_scope_and_a_scope_handle():
    x = tf.constant(1.0)
    with tf.variable_op_scope([x], None, "layer") as scope:
        tf.get_variable("w", [1])
    assert (scope.name, scope.original_name_scope) == ("layer", "layer/")
    assert [v.name for v in scope.global_variables()] == ["layer/w:0"] == [v.name for v in scope.trainable_variables()]
    assert scope.get_variable("direct", shape=[2]).name == "layer/direct:0"


def test_the_scope_with_an_empty_name():
    v = tf.get_variable("v", [])
    with tf.variable_scope("", reuse=True) as root:
        assert (root.name, tf.get_variable("v", [])) == ("", v)
        assert tf.constant(1).op.name == "Const"
    with tf.name_scope("n"), tf.variable_scope(""):
        assert tf.constant(1).op.name == "n/Const"
    with tf.name_scope("m"), tf.variable_scope(root):
        assert tf.constant(1).op.name == "m/Const"
    with tf.variable_scope("a"), tf.variable_scope("") as inner:
        assert (inner.name, tf.get_variable("w", []).op.name) == ("a/", "a//w")


def test_the_root_scope_keeps_its_name_scope_without_an_auxiliary_one():
    with tf.Graph().as_default():
        root = tf.get_variable_scope()
        with tf.variable_scope("outer"), tf.variable_scope(root, auxiliary_name_scope=False) as inner:
            assert inner.original_name_scope == ""
            assert tf.get_variable("w", []).name == "w:0" and tf.constant(0, name="c").name == "outer/c:0"


def test_a_pure_variable_scope_opens_no_name_scope():
    """The names are TensorFlow 1.15.5's."""
    _pure_variable_scope = tf.python.ops.variable_scope._pure_variable_scope
    with tf.variable_scope("b") as outer, _pure_variable_scope("a") as scope:
        assert (scope.name, scope.original_name_scope) == ("b/a", "a")
        assert tf.zeros([]).name == "b/zeros:0"
        v = tf.get_variable("v", [1])
    with tf.name_scope("n"), _pure_variable_scope(outer, reuse=True) as scope:
        assert (scope.name, scope.original_name_scope, scope.reuse) == ("b", "b/", True)
        assert tf.get_variable("a/v", [1]) is v and tf.zeros([]).name == "n/zeros:0"
    with _pure_variable_scope("d", dtype=tf.float64, old_name_scope="z/") as scope:
        assert (scope.original_name_scope, scope.dtype) == ("z/", tf.float64)


def test_a_getter_is_told_of_copies_on_replicas_and_may_pass_them_on():
    told = []

    def getter(original, name, *args, **kwargs):
        told.append((kwargs["synchronization"], kwargs["aggregation"]))
        return original(name, *args, **kwargs)

    def on_read(original, name, *args, **kwargs):
        return original(
            name, *args, **{**kwargs, "trainable": None, "synchronization": tf.VariableSynchronization.ON_READ}
        )

    with tf.Graph().as_default():
        with tf.variable_scope("a", custom_getter=getter):
            v = tf.get_variable("v", [2])
        with tf.variable_scope("b", custom_getter=on_read):
            tf.get_variable("v", [2])
        assert told == [(tf.VariableSynchronization.AUTO, tf.VariableAggregation.NONE)]
        assert tf.trainable_variables() == [v]


def test_a_custom_getter_may_pass_arguments_by_position():
    """As the getter that stores variables as float32 for layers that compute in float16, which many programs copy."""

    def stored(getter, name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, *args, **kw):
        given = {"initializer": initializer, "regularizer": regularizer, "trainable": trainable}
        variable = getter(name, shape, *args, dtype=tf.float32 if trainable else dtype, **given, **kw)
        return variable if variable.dtype.base_dtype == dtype else tf.cast(variable, dtype)

    def all_by_position(getter, name, shape, dtype, initializer, regularizer, reuse, trainable, **kw):
        return getter(name, shape, dtype, initializer, regularizer, reuse, trainable, kw.pop("collections"), **kw)

    with tf.Graph().as_default():
        with tf.variable_scope("a", custom_getter=stored, dtype=tf.float16):
            assert tf.get_variable("v", [2, 3]).dtype == tf.float16
        with tf.variable_scope("b", custom_getter=all_by_position):
            found = tf.get_variable("w", [2], tf.float64, tf.zeros_initializer(), trainable=False, collections=["mine"])
        assert found.dtype.base_dtype == tf.float64 and tf.get_collection("mine") == [found]
        assert [(v.op.name, v.dtype.base_dtype) for v in tf.trainable_variables()] == [("a/v", tf.float32)]


def test_a_custom_getter_may_pass_the_name_by_keyword():
    def custom(getter, name, registered=False, **kwargs):
        return getter(name=name, **kwargs)

    with tf.Graph().as_default(), tf.variable_scope("a", custom_getter=custom):
        assert tf.get_variable("v", [2]).op.name == "a/v"
        with tf.variable_scope("b", custom_getter=custom):
            assert tf.get_variable("v", [2]).op.name == "a/b/v"
