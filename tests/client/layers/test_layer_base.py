"""`tf.layers.Layer`: input specs, variables outside of calls, losses and updates of inputs, recorded calls, copies."""

import copy

import numpy as np
import pytest

import tfnb as tf


class Power(tf.layers.Layer):
    """Returns the square and the cube of its inputs."""

    def call(self, inputs):
        return [inputs**2, inputs**3]


@pytest.mark.parametrize(
    ("spec", "good", "bad", "words"),
    [
        ({"ndim": 2}, [[1], [2]], [1], "expected ndim=2, found ndim=1"),
        ({"min_ndim": 2}, [[[1]]], [1], "expected min_ndim=2"),
        ({"max_ndim": 2}, [1], [[[1]]], "expected max_ndim=2"),
        ({"dtype": "float32"}, 1.0, 1, "expected dtype=float32, found dtype=int32"),
        ({"axes": {-1: 2}}, [1, 2], [1, 2, 3], "expected axis -1 of input shape to have value 2"),
        ({"shape": (None, 3)}, [[1, 2, 3]], [[1, 2]], r"expected shape=\(None, 3\), found shape=\[1, 2\]"),
    ],
)
def test_input_specs(spec, good, bad, words):
    with tf.Graph().as_default():
        layer = tf.layers.Layer()
        layer.input_spec = tf.layers.InputSpec(**spec)
        layer(tf.constant(good))
        with pytest.raises(ValueError, match=words):
            layer(tf.constant(bad))


def test_unknown_rank_needs_no_more_than_a_spec_asks():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
        assert tf.layers.Layer()(x) is x
        with pytest.raises(ValueError, match="requires a defined rank"):
            tf.layers.Dense(3)(x)


def test_variables_of_a_layer_outside_of_calls():
    with tf.Graph().as_default():
        layer = tf.layers.Layer(name="my_layer")
        v = layer.add_variable("v", [2], initializer=tf.zeros_initializer(), regularizer=tf.reduce_sum)
        w = layer.add_variable("w", [2], trainable=False)
        assert [t.name for t in layer.variables] == ["my_layer/v:0", "my_layer/w:0"]
        assert (layer.trainable_variables, layer.non_trainable_variables) == ([v], [w])
        assert len(layer.losses) == 1
        assert layer.get_losses_for(None) == layer.losses
        dense = tf.layers.Dense(16)
        dense.build((None, 4))
        assert dense.count_params() == 16 * 4 + 16


def test_losses_and_updates_are_found_by_their_inputs():
    with tf.Graph().as_default():
        a = tf.layers.Input(shape=(2,))
        dense = tf.layers.Dense(1, activity_regularizer=tf.reduce_sum)
        dense(a)
        dense.add_update(tf.no_op(name="of_a"), inputs=a)
        dense.add_update(tf.no_op(name="of_none"))
        assert [u.name for u in dense.get_updates_for(a)] == ["of_a"]
        assert [u.name for u in dense.get_updates_for(None)] == ["of_none"]
        assert dense.updates == tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        assert dense.get_losses_for(a) == dense.losses != []
        assert dense.get_losses_for(None) == []


def test_calls_are_recorded():
    with tf.Graph().as_default():
        a, b = tf.layers.Input(shape=(32,)), tf.layers.Input(shape=(32,))
        power = Power()
        with pytest.raises(AttributeError, match="not connected"):
            _ = power.input
        y = power(a)
        assert (power.input, power.output) == (a, y)
        assert power.input_shape == (None, 32)
        assert power.output_shape == [(None, 32), (None, 32)]
        assert a.op.name == "Placeholder"
        assert y[0].op.name.startswith("power/")
        power(b)
        assert power.get_input_at(1) is b
        assert power.get_output_shape_at(0) == [(None, 32), (None, 32)]
        with pytest.raises(AttributeError, match="ill-defined"):
            _ = power.output
        with pytest.raises(ValueError, match="at node 2"):
            power.get_input_at(2)


def test_dicts_and_lists_of_inputs():
    class Sum(tf.layers.Layer):
        def call(self, inputs):
            return inputs["a"] + inputs["b"]

    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(Sum()({"a": tf.constant(1.0), "b": 2.0})) == 3.0


def test_a_copy_shares_tensors_and_copies_lists():
    with tf.Graph().as_default() as graph:
        layer = tf.layers.Dense(3, name="mine")
        x = tf.zeros([1, 2])
        layer(x)
        layer.kept = [x]
        layer.own = {"a": [1]}
        other = copy.deepcopy(layer)
        assert (other.kernel, other.graph, other.name) == (layer.kernel, graph, "mine")
        assert other.kept[0] is x
        assert other.own == layer.own
        assert other.own is not layer.own
        with tf.Graph().as_default(), pytest.raises(ValueError, match="graph are not the same"):
            layer(tf.zeros([1, 2]))


def test_later_calls_are_in_the_name_scope_of_the_first():
    with tf.Graph().as_default():
        layer = tf.layers.Dense(3)
        x = tf.zeros([1, 2])
        assert [layer(x).op.name for _ in range(2)] == ["dense/BiasAdd", "dense/BiasAdd_1"]


def test_reused_variables_are_not_the_layers_own():
    with tf.Graph().as_default():
        with tf.variable_scope("dense"):
            kernel = tf.get_variable("kernel", [2, 3])
        layer = tf.layers.Dense(3, use_bias=False, _reuse=True)
        layer(tf.zeros([1, 2]))
        assert layer.kernel is kernel
        assert layer.variables == []


def test_constraints_and_shapes_are_attributes():
    with tf.Graph().as_default():
        conv = tf.layers.SeparableConv2D(2, 3, depthwise_constraint=tf.nn.relu)
        assert conv.depthwise_constraint is tf.nn.relu
        assert conv.compute_output_shape((None, 8, 8, 3)).as_list() == [None, 6, 6, 2]
        assert tf.get_default_graph().get_operations() == []
        with pytest.raises(ValueError, match="min_ndim"):
            tf.layers.Flatten()(tf.placeholder(tf.float32, []))
        assert tf.layers.Flatten()(tf.placeholder(tf.float32, [5])).shape.as_list() == [5, 1]
        assert tf.layers.Flatten()(tf.placeholder(tf.float32, [None])).shape.as_list() == [None, 1]


def test_layer_of_several_inputs_is_given_their_shapes():
    class Dot(tf.layers.Layer):
        def build(self, shapes):
            self.kernel = self.add_variable("kernel", [shapes[0][1].value, shapes[1][1].value])
            self.built = True

        def call(self, inputs):
            return tf.matmul(tf.matmul(inputs[0], self.kernel), inputs[1], transpose_b=True)

    with tf.Graph().as_default(), tf.Session() as session:
        y = Dot()([tf.ones([1, 2]), np.ones([4, 3], np.float32)])
        session.run(tf.global_variables_initializer())
        assert session.run(y).shape == (1, 4)


class Listed(tf.layers.Layer):
    """A layer that lists its variables itself, as layers of the time do that make them in scopes of their own."""

    def build(self, input_shape):
        self._non_trainable_weights.append(tf.get_variable("count", [3], trainable=False))
        with tf.variable_scope("inner"):
            self._trainable_weights.append(tf.get_variable("w", [3]))
        super().build(input_shape)


def test_variables_that_a_layer_lists_itself():
    with tf.Graph().as_default():
        layer = Listed(name="own")
        layer(tf.zeros([2]))
        assert [v.op.name for v in layer.variables] == ["own/inner/w", "own/count"]
        assert [v.op.name for v in layer.trainable_weights] == ["own/inner/w"]
        assert [v.op.name for v in layer.non_trainable_variables] == ["own/count"]
        layer.trainable = False
        assert layer.trainable_weights == [] and layer.non_trainable_weights == layer.weights


def test_the_name_that_wrappers_of_cells_put_into_their_messages():
    class DecoderCell(tf.nn.rnn_cell.RNNCell):
        def __init__(self, name=None):
            super().__init__(name=name)

    assert DecoderCell()._base_name == "decoder_cell" and DecoderCell("mine")._base_name == "mine"
