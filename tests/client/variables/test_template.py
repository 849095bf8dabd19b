"""`tf.make_template`: variables of the first call, shared by later ones."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError


def layer(make_more=False):
    if make_more:
        tf.Variable(1.0)
    return tf.get_variable("v", [1])


def test_the_scope_is_made_at_the_first_call_or_at_once():
    with tf.Graph().as_default():
        with tf.variable_scope("a"):
            now, later = tf.make_template("t", layer, True), tf.make_template("t", layer)
        assert later.variable_scope is None and later.variables == []
        with tf.variable_scope("b"):
            names = [now().name, later().name]
        assert names == ["a/t/v:0", "b/t/v:0"] == [now().name, later().name]
        assert now.variable_scope_name == "a/t" and [v.name for v in now.trainable_variables] == ["a/t/v:0"]
        assert now.global_variables == now.variables and now.local_variables == now.non_trainable_variables == []


def test_what_later_calls_may_not_do():
    with tf.Graph().as_default():
        template = tf.make_template("t", layer)
        template()
        with pytest.raises(InvalidArgumentError, match="New variable"):
            template(True)
        other = tf.make_template("t", layer, unique_name_="t")
        with pytest.raises(ValueError, match="Variable t/v already exists, disallowed"):
            other()
    with pytest.raises(ValueError, match="name cannot be None"):
        tf.make_template(None, layer)


def test_a_custom_getter_is_asked_each_time():
    asked = []

    def getter(get, name, *args, **kwargs):
        asked.append(name)
        return get(name, *args, **kwargs)

    with tf.Graph().as_default():
        template = tf.make_template("t", layer, custom_getter_=getter, create_scope_now_=True)
        template(), template()
    assert asked == ["t/v", "t/v"]


def test_a_second_template_of_a_name_has_the_next_name_for_its_operations():
    with tf.Graph().as_default():
        x = tf.zeros([2, 3])

        def scaled(x):
            return x * tf.get_variable("w", [3])

        first, second = tf.make_template("tm", scaled), tf.make_template("tm", scaled)
        names = [first(x).op.name, first(x).op.name, second(x).op.name, second(x).op.name]
        assert names == ["tm/mul", "tm_1/mul", "tm_2/mul", "tm_1_1/mul"]  # as TensorFlow 1.15.5
        assert [v.op.name for v in tf.global_variables()] == ["tm/w", "tm_1/w"]


def test_scopes_of_a_default_name_count_variables_and_operations_apart():
    with tf.Graph().as_default():
        with tf.name_scope("s"), tf.name_scope("s"):
            pass
        found = []
        for _ in range(2):
            with tf.variable_scope(None, "s"):
                found.append((tf.get_variable("v", [1]).op.name, tf.zeros([1], name="z").op.name))
        with tf.variable_scope(None, "s", auxiliary_name_scope=False):
            found.append((tf.get_variable("v", [1]).op.name, tf.zeros([1], name="z").op.name))
        assert found == [("s/v", "s_1/z"), ("s_1/v", "s_2/z"), ("s_2/v", "z")]  # as TensorFlow 1.15.5
