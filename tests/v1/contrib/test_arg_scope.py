"""Defaults of layers for a block."""

from __future__ import annotations

import pytest
from tfnb.contrib.framework import add_arg_scope, arg_scope, current_arg_scope, has_arg_scope

import tfnb as tf
from tfnb.errors import InvalidArgumentError

layers = tf.contrib.layers


@add_arg_scope
def ask(x, a=1, b=2):
    """What came."""
    return x, a, b


def test_the_innermost_scope_wins_and_the_caller_over_all():
    with arg_scope([ask], a=10, b=20):
        assert ask(0) == (0, 10, 20) and ask(0, b=5) == (0, 10, 5)
        with arg_scope([ask], b=30):
            assert ask(0) == (0, 10, 30)
        assert ask(0) == (0, 10, 20)
    assert ask(0) == (0, 1, 2) and current_arg_scope() == {}
    assert ask.__doc__ == "What came." and has_arg_scope(ask) and not has_arg_scope(len)


def test_a_scope_can_be_entered_again_alone():
    with arg_scope([ask], a=10) as first:
        pass
    with arg_scope([ask], b=20), arg_scope(first):
        assert ask(0) == (0, 10, 2)


def test_it_ends_with_the_block_that_raises():
    with pytest.raises(KeyError), arg_scope([ask], a=10):
        raise KeyError
    assert ask(0) == (0, 1, 2)


def test_errors():
    with pytest.raises(InvalidArgumentError, match="add_arg_scope"), arg_scope([len], a=1):
        pass
    with arg_scope([ask], a=1) as scope:
        pass
    with pytest.raises(InvalidArgumentError, match="earlier"), arg_scope(scope, b=1):
        pass


def test_layers():
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    slim = tf.contrib.slim
    with slim.arg_scope([slim.conv2d, layers.fully_connected], activation_fn=None, biases_initializer=None):
        y = slim.conv2d(x, 4, [3, 3], padding="VALID", scope="c")
        layers.fully_connected(layers.flatten(y), 5, scope="f")
    assert y.op.type == "Conv2D" and y.shape.as_list() == [None, 6, 6, 4]
    assert [v.op.name for v in slim.get_model_variables()] == ["c/weights", "f/weights"]
