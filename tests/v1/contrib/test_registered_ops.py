"""What libraries ask TensorFlow's modules about: registered operations, shards of a TPU, kinds of variables."""

from __future__ import annotations

import pytest
from tfnb.contrib.tpu.python.tpu import tpu_function
from tfnb.python.framework import op_def_registry, ops
from tfnb.python.ops import resource_variable_ops

import tfnb as tf


def test_the_definitions_of_all_operations():
    registered = op_def_registry.get_registered_ops()
    assert [a.name for a in registered["MatMul"].input_arg] == ["a", "b"]
    assert registered["VariableV2"].is_stateful and "Rsqrt" in registered and "NoSuchOp" not in registered
    assert op_def_registry.get_registered_ops() is registered


def test_a_graph_has_no_shards():
    context = tpu_function.get_tpu_context()
    assert context.number_of_shards is None and context is tf.python.tpu.tpu_function.get_tpu_context()
    context.set_number_of_shards(None)
    with pytest.raises(NotImplementedError, match="there are no TPUs"):
        context.set_number_of_shards(8)


def test_a_variable_as_a_reference():
    v = tf.get_variable("v", [2], use_resource=True)
    assert not resource_variable_ops.is_resource_variable(v)
    assert ops.internal_convert_to_tensor(v, as_ref=True) is v._ref()
    assert ops.internal_convert_to_tensor(v).dtype is tf.float32
    assert ops.internal_convert_to_tensor(1, preferred_dtype=tf.float64).dtype is tf.float64
