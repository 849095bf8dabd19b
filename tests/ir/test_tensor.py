"""Tensors: their operators can be copied, and they keep attributes that libraries set."""

from __future__ import annotations

import weakref

import pytest

import tfnb as tf
from tfnb.ir.tensor import array_of_tensors


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_a_class_that_stands_for_a_tensor_copies_the_operators():
    class Standing:
        """An object with a tensor."""

        def __init__(self, tensor):
            self.tensor = tensor

    for name in tf.Tensor.OVERLOADABLE_OPERATORS:
        original = getattr(tf.Tensor, name)
        setattr(Standing, name, lambda self, *args, original=original: original(self.tensor, *args))
    x = Standing(tf.constant([7, 3]))
    with tf.Session() as session:
        found = session.run([x + 1, 1 + x.tensor, -x, x[0], x < 5, x.__div__(2), x.__rdiv__(9)])
    assert [f.tolist() for f in found] == [[8, 4], [8, 4], [-7, -3], 7, [False, True], [3, 1], [1, 3]]


def test_attributes_stay():
    x = tf.identity(tf.constant(1.0), name="x")
    x.scope = "of a library"
    assert tf.get_default_graph().get_tensor_by_name("x:0").scope == "of a library" == x.op.outputs[0].scope
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        x.other  # noqa: B018


def test_a_dict_may_hold_tensors_weakly():
    x = tf.constant(1.0)
    assert weakref.WeakKeyDictionary({x: 1})[x] == 1


def test_an_array_of_tensors():
    x, v = tf.constant(1.0), tf.get_variable("v", [2])
    array = array_of_tensors([[x, v], (v, x)])
    assert array.shape == (2, 2) and array.dtype == object and array[0, 1] is v and array[1, 1] is x
    for other in (x, [x, [v]], [x, 1.0], [1.0], [], "text"):
        assert array_of_tensors(other) is None
