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
