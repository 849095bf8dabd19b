"""Objects of registered classes are fetched and fed; of several registrations the last one counts."""

from __future__ import annotations

import numpy as np
import pytest
from tfnb.python.client.session import register_session_run_conversion_functions

import tfnb as tf
from tfnb.errors import InvalidArgumentError, InvalidFetchError


class Squared:
    """An object that stands for the square of a tensor."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.square = tf.square(tensor)


class Named(Squared):
    """A square whose value is a dict."""


class Unfed:
    """An object that has no feed function."""

    def __init__(self, tensor):
        self.tensor = tensor


register_session_run_conversion_functions(
    Squared,
    lambda s: ([s.square], lambda values: values[0]),
    lambda s, value: [(s.square, value)],
    lambda s: [s.square],
)
register_session_run_conversion_functions(Named, lambda s: ([s.tensor, s.square], lambda values: {"of": values}))
register_session_run_conversion_functions(Unfed, lambda u: ([u.tensor], lambda values: values[0]))


def test_objects_are_fetched_alone_and_within_structures():
    squared = Squared(tf.constant(3.0))
    with tf.Session() as session:
        assert session.run(squared) == 9.0
        assert session.run({"a": [squared, squared.tensor]}) == {"a": [9.0, 3.0]}


def test_a_subclass_has_its_own_functions():
    with tf.Session() as session:
        assert session.run(Named(tf.constant(2.0))) == {"of": [2.0, 4.0]}


def test_objects_are_fed():
    squared = Squared(tf.constant([1.0, 2.0]))
    total = tf.reduce_sum(squared.square)
    with tf.Session() as session:
        assert session.run(total, {squared: np.float32([10, 20])}) == 30.0
        assert session.make_callable(total, [squared])([1.0, 1.0]) == 2.0
        handle = session.partial_run_setup([total], [squared])
        assert session.partial_run(handle, total, {squared: [5.0, 6.0]}) == 11.0


def test_an_object_without_a_feed_function_is_refused():
    unfed = Unfed(tf.constant(1.0))
    with tf.Session() as session, pytest.raises(InvalidFetchError, match="no feed function"):
        session.run(unfed, {unfed: 2.0})


def test_a_class_is_registered_once():
    with pytest.raises(InvalidArgumentError, match="has already been registered so ignore it"):
        register_session_run_conversion_functions(Squared, lambda s: ([s.square], lambda values: values[0]))
