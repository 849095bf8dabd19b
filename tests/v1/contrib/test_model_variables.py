"""tf.contrib.slim and the variables of tf.contrib.framework."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError, NotFoundError

slim, framework = tf.contrib.slim, tf.contrib.framework


@pytest.fixture
def made():
    with tf.variable_scope("a"):
        w = slim.model_variable("w", [2, 3], regularizer=slim.l2_regularizer(0.5))
        b = slim.variable("b", [3], tf.int32, initializer=tf.zeros_initializer(), trainable=False)
    other = framework.variable("other/w", [4], device="/cpu:0")
    return w, b, other


def test_found_by_scope_suffix_and_name(made):
    w, b, other = made
    assert slim.get_variables() == [w, b, other] and slim.get_variables("a") == [w, b]
    with tf.variable_scope("a") as scope:
        assert slim.get_variables(scope, "w") == [w]
    assert slim.get_model_variables() == [w] and slim.get_trainable_variables() == [w, other]
    assert slim.get_local_variables() == []
    assert slim.get_variables_by_suffix("w") == [w, other] == slim.get_variables_by_name("w")
    assert slim.get_variables_by_name("a/w") == [w]
    assert slim.get_unique_variable("a/b") is b
    with pytest.raises(NotFoundError):
        slim.get_unique_variable("a/c")
    assert len(tf.losses.get_regularization_losses()) == 1


def test_to_restore(made):
    w, b, other = made
    assert slim.get_variables_to_restore() == [w, b, other]
    assert slim.get_variables_to_restore(["a", "other"], ["a/b"]) == [w, other]
    with pytest.raises(InvalidArgumentError):
        slim.get_variables_to_restore("a")


def test_analysis(made, capsys):
    assert slim.model_analyzer.analyze_vars(made, print_info=True) == (13, 52)
    assert capsys.readouterr().out.splitlines() == [
        "a/w:0 (float32 2x3) [6, bytes: 24]",
        "a/b:0 (int32 3) [3, bytes: 12]",
        "other/w:0 (float32 4) [4, bytes: 16]",
        "Total size of variables: 13",
        "Total bytes of variables: 52",
    ]
    assert slim.model_analyzer.analyze_vars([]) == (0, 0) and capsys.readouterr().out == ""
