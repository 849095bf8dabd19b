"""Names of late 1.x programs: one behaviour, own gradients, templates, choices by number, structures."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DTypeError, InvalidArgumentError, UnimplementedError


def test_programs_for_compat_v1_run_as_they_are():
    v1 = importlib.import_module("tfnb.compat.v1")
    v1.disable_v2_behavior()
    v1.disable_eager_execution()
    assert not v1.executing_eagerly() and v1.nn.relu is tf.nn.relu and v1.train is tf.train
    with pytest.raises(UnimplementedError, match="sessions"):
        v1.enable_eager_execution()
    assert tf.dtypes.float32 is tf.float32 and tf.dtypes.as_dtype("bool") is tf.dtypes.bool


def test_custom_gradient_takes_the_place_of_the_derived_one():
    @tf.custom_gradient
    def clipped(x, y):
        return [x * y, {"sum": x + y}], lambda dp, ds: (dp * 10.0, ds * 7.0)

    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    product, rest = clipped(x, y)
    dx, dy = tf.gradients([product, rest["sum"]], [x, y], [tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])])
    with tf.Session() as sess:
        assert [v.tolist() for v in sess.run([product, rest["sum"], dx, dy])] == [[3, 8], [4, 6], [10, 20], [21, 28]]
    with pytest.raises(InvalidArgumentError, match="must return"):
        tf.custom_gradient(lambda x: x)(x)
    wrong = tf.custom_gradient(lambda x, y: (x, lambda d: d))(x, y)
    with pytest.raises(InvalidArgumentError, match="1 gradients for 2 arguments"):
        tf.gradients(wrong, x)


def test_template_shares_its_variables():
    def layer(x, units):
        return tf.matmul(x, tf.get_variable("w", [2, units], initializer=tf.ones_initializer()))

    one, other = tf.make_template("layer", layer, units=3), tf.make_template("layer", layer, units=3)
    x = tf.constant([[1.0, 2.0]])
    results = [one(x), one(x * 2.0), other(x)]
    assert [v.name for v in tf.global_variables()] == ["layer/w:0", "layer_1/w:0"]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert [r.tolist() for r in sess.run(results)] == [[[3] * 3], [[6] * 3], [[3] * 3]]
    with pytest.raises(DTypeError, match="needed a function"):
        tf.make_template("x", 3)


def test_switch_case_by_number():
    number = tf.placeholder(tf.int32, [])
    chosen = tf.switch_case(number, [lambda: 1.0, lambda: 2.0, lambda: 3.0], default=lambda: -1.0)
    last = tf.switch_case(number, {1: lambda: 2.0, 0: lambda: 1.0})
    with tf.Session() as sess:
        found = [sess.run([chosen, last], {number: k}) for k in (0, 1, 2, 3, -1)]
    assert np.array(found).tolist() == [[1, 1], [2, 2], [3, 2], [-1, 2], [-1, 2]]
    with pytest.raises(DTypeError, match="numbers from 0 on"):
        tf.switch_case(number, {1: lambda: 1.0})


def test_nest():
    assert tf.nest.map_structure(lambda a, b: a + b, {"x": [1, 2]}, {"x": [3, 4]}) == {"x": [4, 6]}
    assert tf.nest.pack_sequence_as([1, (2,)], [3, 4]) == [3, (4,)]
    assert tf.nest.is_nested((1,)) and not tf.nest.is_nested(1)
    with pytest.raises(InvalidArgumentError, match="structure"):
        tf.nest.map_structure(lambda a, b: a, [1], (1,))
