"""Functions inside tensorflow.python that programs use; the values are those of TensorFlow 1.15."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DTypeError, InvalidArgumentError

shapes = tf.python.framework.tensor_shape
nest = tf.python.util.nest
cells = tf.python.ops.rnn_cell_impl
rnn = tf.python.ops.rnn


def test_shapes():
    assert shapes.unknown_shape().ndims is None and shapes.unknown_shape(2).as_list() == [None, None]
    assert shapes.unknown_shape(rank=1).as_list() == [None]
    assert (shapes.scalar().as_list(), shapes.vector(3).as_list(), shapes.matrix(2, None).as_list()) == (
        [],
        [3],
        [2, None],
    )
    x = tf.placeholder(tf.float32, [2, None])
    assert [d.value for d in x.get_shape()._dims] == [2, None] and shapes.unknown_shape()._dims is None
    assert x._op is x.op
    assert shapes.as_shape([1, None]).as_list() == [1, None]
    assert shapes.as_dimension(4).value == 4 and shapes.as_dimension(None).value is None
    known = tf.python.framework.tensor_util.constant_value_as_shape
    assert known(tf.constant([2, -1])).as_list() == [2, None]
    assert known(tf.placeholder(tf.int32, [3])).as_list() == [None] * 3


def test_structures_up_to_a_depth():
    shallow, whole = [1, (2, 3)], [[4, 5], (6, {"a": 7})]
    assert nest.flatten_up_to(shallow, whole) == [[4, 5], 6, {"a": 7}]
    assert nest.map_structure_up_to(shallow, lambda a, b: (a, b), whole, whole)[1][0] == (6, 6)
    assert nest.flatten_up_to({"b": 0, "a": 0}, {"a": 1, "b": [2]}) == [1, [2]]
    assert nest.flatten_dict_items({(1, (2,)): ("x", ["y"]), 3: "z"}) == {1: "x", 2: "y", 3: "z"}
    with pytest.raises(DTypeError, match="input must also be a sequence"):
        nest.flatten_up_to([1], 2)
    with pytest.raises(InvalidArgumentError, match="same sequence length"):
        nest.assert_shallow_structure([1, 2], [1])
    with pytest.raises(DTypeError, match="same sequence type"):
        nest.assert_shallow_structure([1], (1,))


def test_sizes_that_are_joined():
    batch = tf.placeholder(tf.int32, [])
    with tf.Session() as sess:
        assert sess.run(cells._concat(batch, 3), {batch: 2}).tolist() == [2, 3]
        assert sess.run(cells._concat(batch, tf.TensorShape([4, 5])), {batch: 2}).tolist() == [2, 4, 5]
        zeros = cells._zero_state_tensors(tf.nn.rnn_cell.LSTMStateTuple(3, tf.TensorShape([2, 2])), batch, tf.float32)
        assert [z.shape for z in sess.run(list(zeros), {batch: 2})] == [(2, 3), (2, 2, 2)]
    assert cells._concat(batch, 3, static=True) == [None, 3] and cells._concat(7, [None], static=True) == [7, None]
    with pytest.raises(InvalidArgumentError, match="prefix or suffix of None"):
        cells._concat(2, tf.TensorShape([None]))


def test_the_steps_of_a_loop_of_ones_own():
    """As in copies of dynamic_rnn, which attention that updates its gates has."""
    rng = np.random.default_rng(0)
    x, lengths = rng.standard_normal((3, 4, 2)).astype("f"), np.array([4, 2, 0])
    cell = tf.nn.rnn_cell.GRUCell(5)
    with tf.variable_scope("rnn"):
        state, outputs = cell.zero_state(3, tf.float32), []
        for t in range(4):
            output, state = rnn._rnn_step(
                time=tf.constant(t),
                sequence_length=tf.constant(lengths, tf.int32),
                min_sequence_length=tf.constant(0),
                max_sequence_length=tf.constant(4),
                zero_output=tf.zeros([3, 5]),
                state=state,
                call_cell=lambda t=t, s=state: cell(x[:, t], s),
                state_size=cell.state_size,
                skip_conditionals=True,
            )
            outputs.append(output)
    whole, last = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    assert rnn._infer_state_dtype(None, (state, state)) is tf.float32
    assert rnn._maybe_tensor_shape_from_tensor(tf.constant([2, 3])).as_list() == [2, 3]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        steps, end, expected, expected_end = sess.run([tf.stack(outputs, 1), state, whole, last])
    np.testing.assert_allclose(steps, expected, rtol=1e-6)
    np.testing.assert_allclose(end, expected_end, rtol=1e-6)


def test_updates_of_optimizers_by_position():
    training_ops = tf.python.training.training_ops
    v = tf.Variable([1.0, 2.0])
    one = training_ops.apply_gradient_descent(v, 0.5, [1.0, 1.0], use_locking=True).op
    m = tf.Variable([0.0, 0.0])
    resource = training_ops.resource_apply_gradient_descent(v, 1.0, [1.0, 0.0])
    two = training_ops.apply_momentum(v, m, 1.0, [1.0, 0.0], 0.9)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(one)
        assert sess.run(v).tolist() == [0.5, 1.5]
        assert sess.run(two).tolist() == [-0.5, 1.5]
        assert sess.run(resource) is None and sess.run(v).tolist() == [-1.5, 1.5]


def test_names_that_stand_elsewhere_too():
    init = tf.python.ops.init_ops
    assert init.Zeros is tf.zeros_initializer and issubclass(init.RandomNormal, init.Initializer)
    assert init.RandomNormal().stddev == 1.0
    slim = tf.contrib.slim
    assert slim.initializers.xavier_initializer is slim.xavier_initializer
    assert slim.metrics.streaming_accuracy is tf.contrib.metrics.streaming_accuracy
    assert slim.regularizers.l2_regularizer is slim.l2_regularizer
    assert tf.python.keras.utils.conv_utils.normalize_tuple(2, 2, "strides") == (2, 2)
    assert tf.python.framework.ops.name_from_scope_name("a/b/") == "a/b"
    assert len(tf.python.framework.ops.convert_n_to_tensor([1, 2.0])) == 2
    assert tf.python.ops.control_flow_util.GetContainingXLAContext(None) is None


def test_an_empty_dict_of_regularisers_is_none():
    v = tf.get_variable("w", [2], regularizer={})
    assert v.op.name == "w" and tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == []


def test_labels_and_predictions_of_ranks_that_differ_by_one():
    squeezed = tf.python.ops.confusion_matrix.remove_squeezable_dimensions
    x, y = tf.zeros([3, 1]), tf.zeros([3])
    for labels, predictions in ((x, y), (y, x), (y, y)):
        assert [t.shape.as_list() for t in squeezed(labels, predictions)] == [[3], [3]]
    assert [t.shape.as_list() for t in squeezed(y, x, expected_rank_diff=1)] == [[3], [3, 1]]


def test_ranks_that_only_the_step_knows_are_made_to_differ_as_expected():
    squeezed = tf.python.ops.confusion_matrix.remove_squeezable_dimensions
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    known = tf.placeholder(tf.float32, [2, 3])
    plain, less, fixed = squeezed(x, y), squeezed(x, y, expected_rank_diff=1), squeezed(known, y)
    with tf.Session() as session:
        for first, second, shapes in (([2, 1], [2], ([2], [2])), ([2], [2, 1], ([2], [2])), ([2, 1], [2, 1], None)):
            found = [v.shape for v in session.run(plain, {x: np.ones(first), y: np.ones(second)})]
            assert found == [tuple(s) for s in shapes or (first, second)]
        assert [v.shape for v in session.run(less, {x: np.ones([2, 1]), y: np.ones([2, 1])})] == [(2,), (2, 1)]
        assert session.run(fixed, {known: np.ones([2, 3]), y: np.ones([2, 3, 1])})[1].shape == (2, 3)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(plain, {x: np.ones([2, 2]), y: np.ones([2])})


def test_weights_in_the_shape_of_values():
    broadcast = tf.python.ops.weights_broadcast_ops.broadcast_weights
    weights, values = tf.constant([[2.0], [3.0]]), tf.zeros([2, 3])
    assert broadcast(weights, tf.zeros([2, 1])) is weights
    with tf.Session() as session:
        assert session.run(broadcast(weights, values)).tolist() == [[2.0] * 3, [3.0] * 3]


def test_an_argument_with_two_names():
    lookup = tf.python.util.deprecation.deprecated_argument_lookup
    assert lookup("axis", None, "dim", 1) == 1 and lookup("axis", 0, "dim", None) == 0
    with pytest.raises(InvalidArgumentError, match="Cannot specify both 'dim' and 'axis'"):
        lookup("axis", 0, "dim", 1)


def test_parts_of_metrics():
    parts = tf.python.ops.metrics_impl
    with tf.Graph().as_default():
        total = parts.metric_variable([2], tf.float64, name="total")
        assert total.op.name == "total" and total.dtype.base_dtype == tf.float64
        assert tf.local_variables() == tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) == [total]
        x, y = tf.zeros([3, 1]), tf.zeros([3])
        for given in ((x, y, y), (y, x, x), (x, x, y), (y, y, x)):
            found = parts._remove_squeezable_dimensions(*given)
            assert len({tuple(t.shape.as_list()) for t in found}) == 1
        assert parts._remove_squeezable_dimensions(x, None, None)[1:] == (None, None)
        assert parts._remove_squeezable_dimensions(x, x, 2.0)[2].shape.as_list() == []


def test_a_confusion_matrix_of_all_batches():
    """As in tf_metrics: precision, recall and F1 over several classes are made of it."""
    labels, predictions = tf.constant([[0, 1], [2, 2]]), tf.constant([[0, 1], [1, 2]])
    weights = tf.constant([[1.0, 1.0], [0.5, 1.0]])
    total, update = tf.python.ops.metrics_impl._streaming_confusion_matrix(labels, predictions, 3, weights)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(update)
        assert session.run(update).tolist() == [[2, 0, 0], [0, 2, 0], [0, 1, 2]] == session.run(total).tolist()
    assert total.op.name == "total_confusion_matrix" and total.dtype.base_dtype == tf.float64
