"""What libraries beside TensorFlow import from its source."""

from __future__ import annotations

import functools
import sys
import types

import numpy as np
import pytest
from tfnb.python.framework import test_util
from tfnb.python.ops import array_ops, confusion_matrix, nn_ops, weights_broadcast_ops
from tfnb.python.util import all_util, deprecation, function_utils, lazy_loader

import tfnb as tf
from tfnb.errors import InvalidArgumentError, ShapeError


def run(*fetches):
    with tf.Session() as session:
        return session.run(list(fetches))


def test_undocumented_names_are_removed():
    module = types.ModuleType("documented", "A module.\n\n@@kept\n@@absent\n")
    vars(module).update(kept=1, allowed=2, dropped=3, _private=4)
    sys.modules["documented"] = module
    try:
        assert all_util.make_all("documented") == ["kept"]
        all_util.remove_undocumented("documented", ["allowed"])
    finally:
        del sys.modules["documented"]
    assert sorted(n for n in vars(module) if not n.startswith("__")) == ["_private", "allowed", "kept"]


def test_a_lazy_module_is_imported_on_use():
    names = {}
    lazy = lazy_loader.LazyLoader("fractions", names, "fractions")
    assert names == {}
    assert lazy.Fraction(1, 2) == 0.5 and names["fractions"].Fraction is lazy.Fraction
    assert "Fraction" in dir(lazy)


class Called:
    """An object that can be called, of a class with arguments."""

    def __init__(self, first=1, **rest):
        pass

    def __call__(self, features, mode):
        pass

    def method(self, a, b):
        pass


def test_names_of_arguments():
    def function(x, y, z=3):
        pass

    assert function_utils.fn_args(function) == ("x", "y", "z")
    assert function_utils.fn_args(functools.partial(function, 1, z=2)) == ("y",)
    assert function_utils.fn_args(Called()) == ("features", "mode")
    assert function_utils.fn_args(Called().method) == ("a", "b")
    assert function_utils.has_kwargs(Called) and not function_utils.has_kwargs(Called().method)
    assert not function_utils.has_kwargs(functools.partial(function, 1)) and not function_utils.has_kwargs(Called())
    with pytest.raises(InvalidArgumentError, match="function-like"):
        function_utils.has_kwargs(1)


def test_deprecated_names_and_silence(caplog):
    assert deprecation.deprecated_argument_lookup("axis", 1, "dim", None) == 1
    assert deprecation.deprecated_argument_lookup("axis", None, "dim", 2) == 2
    with pytest.raises(InvalidArgumentError, match="Cannot specify both 'dim' and 'axis'"):
        deprecation.deprecated_argument_lookup("axis", 1, "dim", 2)
    told = []

    @deprecation.deprecated(None, "use another")
    def old():
        told.append(1)

    caplog.clear()
    with deprecation.silence():
        old()
    assert told == [1] and not caplog.records


def test_shapes_that_are_constants_or_not():
    x = tf.zeros([2, 3])
    assert array_ops.shape_internal(x).op.type == "Const"
    shape = array_ops.shape_internal(x, optimize=False, out_type=tf.int64)
    size, rank = array_ops.size_internal(x, optimize=False), array_ops.rank_internal(x, optimize=False)
    assert (shape.op.type, size.op.type, rank.op.type) == ("Shape", "Size", "Rank")
    found = run(shape, size, rank)
    assert found[0].tolist() == [2, 3] and found[0].dtype == np.int64 and found[1:] == [6, 2]


def test_a_dimension_of_one_is_removed():
    labels, predictions = confusion_matrix.remove_squeezable_dimensions(tf.zeros([4]), tf.zeros([4, 1]))
    assert labels.shape.as_list() == predictions.shape.as_list() == [4]
    labels, predictions = confusion_matrix.remove_squeezable_dimensions(
        tf.zeros([4, 1]), tf.zeros([4, 3]), expected_rank_diff=1
    )
    assert labels.shape.as_list() == [4] and predictions.shape.as_list() == [4, 3]


def test_weights_are_broadcast():
    values = tf.zeros([2, 3])
    wide = weights_broadcast_ops.broadcast_weights([[1.0], [2.0]], values)
    same = tf.ones([2, 3])
    assert weights_broadcast_ops.broadcast_weights(same, values) is same
    assert run(wide)[0].tolist() == [[1, 1, 1], [2, 2, 2]]
    run(weights_broadcast_ops.assert_broadcastable(1.0, values))
    with pytest.raises(ShapeError, match="weights can not be broadcast to values"):
        weights_broadcast_ops.assert_broadcastable(tf.zeros([3, 3]), values)


def test_a_convolution_is_an_object():
    x, w = tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1])
    made = nn_ops.Convolution(x.shape, w.shape, "VALID", strides=[2, 2])
    assert run(made(x, w))[0].reshape(-1).tolist() == [4, 4, 4, 4]


def test_data_formats():
    from tfnb.python.keras.utils import conv_utils

    assert conv_utils.normalize_data_format("Channels_Last") == "channels_last"
    with pytest.raises(InvalidArgumentError, match="must be one of"):
        conv_utils.normalize_data_format("NHWC")


def test_the_hint_comes_before_the_name():
    from tfnb.python.framework import ops

    assert ops.convert_to_tensor_v2(1, None, tf.float32).dtype is tf.float32


def test_a_test_for_two_modes_runs_once():
    ran = []

    class Case(tf.test.TestCase):
        """A case of two tests."""

        @test_util.run_in_graph_and_eager_modes(config=tf.ConfigProto())
        def test_one(self):
            ran.append(self.evaluate(tf.constant(1)))

        @test_util.run_deprecated_v1
        def test_two(self):
            ran.append(2)

        @test_util.disable_xla("a reason")
        def other(self):
            ran.append(3)

    all_modes = test_util.run_all_in_graph_and_eager_modes(Case)
    case = all_modes("test_one")
    case.test_one()
    case.test_two()
    case.other()
    assert ran == [1, 2, 3] and all_modes is Case


def test_a_class_may_say_that_it_is_symbolic():
    from tfnb.python.keras.utils import tf_utils

    tf_utils.register_symbolic_tensor_type(Called)


def test_names_of_the_eager_package_that_graphs_have():
    from tfnb.python.eager import context

    assert tf.contrib.eager.in_graph_mode() and not tf.contrib.eager.in_eager_mode()
    assert tf.contrib.eager.Variable is tf.Variable and not tf.contrib.eager.executing_eagerly()
    with context.graph_mode():
        assert context.in_graph_mode()
