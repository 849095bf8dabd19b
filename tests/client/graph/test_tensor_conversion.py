"""Objects of a program's own classes as operands of tensors."""

import numpy as np
import pytest

import tfnb as tf


class Celsius:
    """A class that a program makes known to tfnb."""

    def __init__(self, degrees):
        self.degrees = degrees


class Ignored(Celsius):
    """A class whose first conversion function leaves it to the next."""


class Reversed:
    """A class that adds tensors to itself, and that tfnb does not know."""

    def __radd__(self, other):
        return "added"


def _kelvin(value, dtype=None, name=None, as_ref=False):
    return tf.constant(value.degrees + 273.0, dtype=dtype, name=name or "kelvin")


def test_a_registered_class_is_used_as_a_tensor():
    tf.register_tensor_conversion_function(Celsius, _kelvin)
    tf.register_tensor_conversion_function((Ignored,), lambda *_, **__: NotImplemented, priority=1)
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.constant(1.0) + Celsius(2.0)) == 276.0
        assert sess.run(tf.add(Ignored(0.0), 1.0)) == 274.0
    with pytest.raises(TypeError, match="callable"):
        tf.register_tensor_conversion_function(Celsius, 3)
    with pytest.raises(TypeError, match="the program's own"):
        tf.register_tensor_conversion_function(dict, _kelvin)


def test_an_operand_that_is_no_tensor_may_do_the_operation():
    with tf.Graph().as_default():
        assert tf.constant(1.0) + Reversed() == "added"
        with pytest.raises(TypeError, match="Expected float32"):
            tf.constant(1.0) + object()
        with pytest.raises(TypeError, match="expected int32"):
            tf.constant(1) + 1.5


def test_a_class_may_refuse_to_become_a_tensor():
    class Array(np.ndarray):
        def __radd__(self, other):
            return "added"

    def refuse(value, dtype=None, name=None, as_ref=False):
        raise TypeError("not a tensor")

    tf.register_tensor_conversion_function(Array, refuse, priority=0)
    with tf.Graph().as_default():
        assert tf.constant([[1.0, 2.0]]) + Array((1, 2)) == "added"
