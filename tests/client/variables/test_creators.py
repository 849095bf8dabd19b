"""The class of variables, whose calls go through the creators of `tf.variable_creator_scope`."""

from __future__ import annotations

import inspect

import tfnb as tf


def test_the_class_shows_the_parameters_of_its_calls():
    assert list(inspect.signature(tf.Variable).parameters)[:2] == ["initial_value", "trainable"]
