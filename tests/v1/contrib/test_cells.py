"""Cells of `tf.contrib.rnn`: outputs, states and variables are TensorFlow 1.15.5's for the same weights and inputs."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

R = tf.contrib.rnn
B = tf.nn.rnn_cell
_numbers = np.random.RandomState(0)
X = _numbers.randn(5, 3, 4).astype("f")
TIMES = np.cumsum(_numbers.rand(5, 3, 1), 1).astype("f")
IMAGES = _numbers.randn(2, 3, 6, 6, 2).astype("f")
LENGTHS = np.int32([3, 2, 1, 3, 2])


def weights(shape, dtype=None, partition_info=None):
    """The same weights for a shape, here and in TensorFlow."""
    sizes = [int(s) for s in shape]
    return tf.constant((np.random.RandomState(sum(sizes) + len(sizes)).randn(*sizes) * 0.4).astype("f"))


def flat(outputs, states):
    return [*tf.nest.flatten(outputs), *tf.nest.flatten(states)]


def dynamic(cell, x=X, **options):
    inputs = tuple(map(tf.constant, x)) if isinstance(x, tuple) else x
    return flat(*tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32, **options))


def static(cell, x=X):
    return flat(*tf.nn.static_rnn(cell, tf.unstack(tf.constant(x), axis=1), dtype=tf.float32))


def fused(cell, **options):
    return flat(*cell(tf.transpose(tf.constant(X), [1, 0, 2]), dtype=tf.float32, **options))


def stacked(function, inputs, **options):
    cells = [[B.GRUCell(3), B.GRUCell(2)] for _ in range(2)]
    outputs, forward, backward = function(*cells, inputs, dtype=tf.float32, **options)
    return flat(outputs, [forward, backward])


GRID = {"feature_size": 2, "frequency_skip": 1}
CELLS = {
    "ugrnn": lambda: dynamic(R.UGRNNCell(4)),
    "inter": lambda: dynamic(R.IntersectionRNNCell(4)),
    "inter2": lambda: dynamic(R.IntersectionRNNCell(5, num_in_proj=5)),
    "sru": lambda: dynamic(R.SRUCell(4)),
    "ind": lambda: dynamic(R.IndRNNCell(3), sequence_length=LENGTHS),
    "indygru": lambda: dynamic(R.IndyGRUCell(3)),
    "indylstm": lambda: dynamic(R.IndyLSTMCell(3)),
    "coupled": lambda: dynamic(
        R.CoupledInputForgetGateLSTMCell(4, use_peepholes=True, num_proj=3, proj_clip=0.5, num_unit_shards=2)
    ),
    "coupled_ln": lambda: dynamic(R.CoupledInputForgetGateLSTMCell(4, layer_norm=True, state_is_tuple=False)),
    "ln": lambda: dynamic(R.LayerNormBasicLSTMCell(4)),
    "ln_no": lambda: dynamic(R.LayerNormBasicLSTMCell(4, layer_norm=False, forget_bias=0.5)),
    "nas": lambda: dynamic(R.NASCell(4, num_proj=3, use_bias=True)),
    "nas2": lambda: dynamic(R.NASCell(4)),
    "glstm": lambda: dynamic(R.GLSTMCell(4, num_proj=2, number_of_groups=2)),
    "glstm1": lambda: dynamic(R.GLSTMCell(4)),
    "phased": lambda: dynamic(R.PhasedLSTMCell(4, use_peepholes=True), x=(TIMES, X)),
    "conv2": lambda: dynamic(R.Conv2DLSTMCell(input_shape=[6, 6, 2], output_channels=3, kernel_shape=[3, 3]), x=IMAGES),
    "conv1": lambda: dynamic(R.ConvLSTMCell(1, [6, 2], 3, [3], use_bias=False), x=IMAGES[:, :, 0]),
    "attn": lambda: dynamic(R.AttentionCellWrapper(B.BasicLSTMCell(4), 3)),
    "attn2": lambda: static(
        R.AttentionCellWrapper(B.GRUCell(4), 2, attn_size=3, attn_vec_size=5, state_is_tuple=False)
    ),
    "high": lambda: dynamic(R.HighwayWrapper(B.GRUCell(4))),
    "high2": lambda: static(R.HighwayWrapper(B.GRUCell(4), couple_carry_transform_gates=False, carry_bias_init=0.3)),
    "lstmb": lambda: dynamic(R.LSTMBlockCell(3, use_peephole=True, cell_clip=0.3)),
    "grub": lambda: dynamic(R.GRUBlockCell(3)),
    "grub2": lambda: dynamic(R.GRUBlockCellV2(3)),
    "fused": lambda: fused(R.LSTMBlockFusedCell(3, use_peephole=True)),
    "fusedl": lambda: fused(R.LSTMBlockFusedCell(3), sequence_length=LENGTHS),
    "rev": lambda: fused(R.TimeReversedFusedRNN(R.LSTMBlockFusedCell(3)), sequence_length=LENGTHS),
    "adapt": lambda: fused(R.FusedRNNCellAdaptor(B.GRUCell(3), use_dynamic_rnn=True)),
    "adapts": lambda: fused(R.FusedRNNCellAdaptor(B.GRUCell(3))),
    "sbd": lambda: stacked(R.stack_bidirectional_dynamic_rnn, tf.constant(X), sequence_length=LENGTHS),
    "sb": lambda: stacked(R.stack_bidirectional_rnn, tf.unstack(tf.constant(X), axis=1)),
    "cudnn_lstm": lambda: dynamic(tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell(3))[:1],
    "cudnn_gru": lambda: dynamic(tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell(3))[:1],
    "tf": lambda: static(R.TimeFreqLSTMCell(3, use_peepholes=True, feature_size=4, frequency_skip=1)),
    "grid": lambda: dynamic(R.GridLSTMCell(3, use_peepholes=True, num_frequency_blocks=[3], **GRID)),
    "grid2": lambda: dynamic(
        R.GridLSTMCell(
            3,
            share_time_frequency_weights=True,
            couple_input_forget_gates=True,
            num_frequency_blocks=[1, 2],
            start_freqindex_list=[0, 1],
            end_freqindex_list=[2, 4],
            cell_clip=0.7,
            **GRID,
        )
    ),
    "bgrid": lambda: dynamic(
        R.BidirectionalGridLSTMCell(3, use_peepholes=True, num_frequency_blocks=[3], backward_slice_offset=1, **GRID)
    ),
}
# the sum of all outputs and states, that of their magnitudes, the number of variables, the name of the first
EXPECTED = {
    "cudnn_lstm": (-3.8815, 6.9373, 2, "rnn/cudnn_compatible_lstm_cell/kernel"),
    "cudnn_gru": (-1.068, 9.319, 6, "rnn/cudnn_compatible_gru_cell/gates/kernel"),
    "ugrnn": (9.1095, 16.2464, 2, "rnn/ugrnn_cell/kernel"),
    "inter": (9.2398, 42.8585, 2, "rnn/intersection_rnn_cell/kernel"),
    "inter2": (3.4015, 50.3462, 4, "rnn/intersection_rnn_cell/in_projection/kernel"),
    "sru": (-1.1406, 34.9083, 2, "rnn/sru_cell/kernel"),
    "ind": (4.0068, 22.9373, 3, "rnn/ind_rnn_cell/kernel_w"),
    "indygru": (-1.8378, 9.6213, 6, "rnn/indy_gru_cell/gates/kernel_w"),
    "indylstm": (0.1215, 12.079, 3, "rnn/indy_lstm_cell/kernel_w"),
    "coupled": (-1.0342, 6.3267, 6, "rnn/coupled_input_forget_gate_lstm_cell/W_0"),
    "coupled_ln": (-0.0863, 43.8357, 10, "rnn/coupled_input_forget_gate_lstm_cell/W_0"),
    "ln": (-1.282, 41.8141, 11, "rnn/layer_norm_basic_lstm_cell/kernel"),
    "ln_no": (4.6963, 14.0488, 2, "rnn/layer_norm_basic_lstm_cell/kernel"),
    "nas": (0.8945, 5.2632, 4, "rnn/nas_cell/recurrent_kernel"),
    "nas2": (7.9403, 8.2258, 2, "rnn/nas_cell/recurrent_kernel"),
    "glstm": (-3.8504, 10.7716, 7, "rnn/glstm_cell/group0/kernel"),
    "glstm1": (-2.6132, 11.2919, 5, "rnn/glstm_cell/group0/kernel"),
    "phased": (1.4732, 5.4214, 9, "rnn/phased_lstm_cell/mask_gates/kernel"),
    "conv2": (-45.1656, 242.4455, 2, "rnn/conv_2d_lstm_cell/kernel"),
    "conv1": (-11.061, 34.0988, 1, "rnn/conv_lstm_cell/kernel"),
    "attn": (-0.9659, 8.4843, 10, "rnn/attention_cell_wrapper/kernel"),
    "attn2": (0.4349, 6.3381, 12, "rnn/attention_cell_wrapper/kernel"),
    "high": (5.103, 39.8402, 6, "rnn/gru_cell/gates/kernel"),
    "high2": (4.8934, 33.3643, 8, "rnn/gru_cell/gates/kernel"),
    "lstmb": (-2.2868, 8.7138, 5, "rnn/lstm_cell/kernel"),
    "grub": (6.7137, 12.8643, 4, "rnn/gru_cell/w_ru"),
    "grub2": (6.7137, 12.8643, 4, "rnn/gru_cell/gates/kernel"),
    "fused": (-10.7341, 16.1198, 5, "lstm_fused_cell/kernel"),
    "fusedl": (-7.1908, 13.5493, 2, "lstm_fused_cell/kernel"),
    "rev": (-5.4042, 13.3118, 2, "lstm_fused_cell/kernel"),
    "adapt": (6.7137, 12.8643, 4, "rnn/gru_cell/gates/kernel"),
    "adapts": (6.7137, 12.8643, 4, "rnn/gru_cell/gates/kernel"),
    "sbd": (3.1213, 10.7253, 16, "stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/gru_cell/gates/kernel"),
    "sb": (3.2454, 11.9039, 16, "stack_bidirectional_rnn/cell_0/fw/gru_cell/gates/kernel"),
    "tf": (-5.9139, 11.6119, 5, "rnn/time_freq_lstm_cell/W_0"),
    "grid": (-2.9443, 39.498, 16, "rnn/grid_lstm_cell/W_f_0_0"),
    "grid2": (0.6945, 23.1066, 4, "rnn/grid_lstm_cell/W_f_0_0"),
    "bgrid": (-1.762, 70.5776, 32, "rnn/bidirectional_grid_lstm_cell/fwd/W_f_0_0"),
}


@pytest.mark.parametrize("name", sorted(CELLS))
def test_a_cell_is_tensorflows(name):
    with tf.variable_scope("s", initializer=weights):
        results = CELLS[name]()
    fixed = {"period": [2.0, 3.0, 4.0, 5.0], "phase": [0.2, 0.3, 0.4, 0.5]}
    values = []
    for v in tf.global_variables():
        last = v.op.name.rpartition("/")[2]
        if last in fixed:
            values.append(v.assign(fixed[last]))
        elif last == "kernel_u":
            values.append(v.assign(np.linspace(-1, 1, v.shape.as_list()[1])[None]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(values)
        found = np.concatenate([np.ravel(r) for r in sess.run(results)])
    total, magnitude, count, first = EXPECTED[name]
    np.testing.assert_allclose([found.sum(), abs(found).sum()], [total, magnitude], rtol=2e-4, atol=2e-3)
    assert len(tf.global_variables()) == count
    assert tf.global_variables()[0].op.name.removeprefix("s/") == first


def test_dropout_of_what_is_written():
    cell = R.LayerNormBasicLSTMCell(50, dropout_keep_prob=0.5, dropout_prob_seed=3)
    results = dynamic(cell)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert not np.allclose(*(sess.run(results[0]) for _ in range(2)))


def test_a_skip_connection_and_sizes():
    cell = R.Conv3DLSTMCell(input_shape=[2, 3, 4, 1], output_channels=2, kernel_shape=[1, 1, 1], skip_connection=True)
    assert cell.output_size.as_list() == [2, 3, 4, 3] and cell.state_size.c.as_list() == [2, 3, 4, 2]
    assert R.Conv1DLSTMCell(input_shape=[4, 1], output_channels=2, kernel_shape=[1]).output_size.as_list() == [4, 2]
    grid = R.GridLSTMCell(2, num_frequency_blocks=[2], state_is_tuple=False, **GRID)
    assert (grid.state_size, grid.output_size, grid.state_tuple_type) == (8, 8, None)
    assert R.AttentionCellWrapper(B.GRUCell(2), 3).state_size == (2, 2, 6)
    wrapped = R.CompiledWrapper(B.GRUCell(2))
    assert wrapped.state_size == 2 and len(dynamic(wrapped)) == 2
    assert issubclass(R.SRUCell, R.LayerRNNCell)


def test_steps_first():
    x = tf.placeholder(tf.float32, [2, None, 3])
    assert R.transpose_batch_time(x).shape.as_list() == [None, 2, 3]
    assert R.best_effort_input_batch_size([x, tf.zeros([4, 7, 1])]) == 7
    unknown = tf.placeholder(tf.float32)
    swapped, size = R.transpose_batch_time(unknown), R.best_effort_input_batch_size([x])
    with tf.Session() as sess:
        assert sess.run(swapped, {unknown: np.zeros([2, 3, 4])}).shape == (3, 2, 4)
        assert sess.run(size, {x: np.zeros([2, 5, 3])}) == 5


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: R.AttentionCellWrapper(B.GRUCell(2), 0),
        lambda: R.AttentionCellWrapper(B.BasicLSTMCell(2), 1, state_is_tuple=False),
        lambda: R.AttentionCellWrapper(3, 1),
        lambda: R.GRUBlockCell(2, 3),
        lambda: R.GridLSTMCell(2),
        lambda: R.LSTMBlockFusedCell(2)(tf.zeros([2, 3, 4])),
        lambda: R.stack_bidirectional_rnn([], [], [X]),
        lambda: R.stack_bidirectional_dynamic_rnn([B.GRUCell(2)], [], X),
        lambda: R.stack_bidirectional_dynamic_rnn([B.GRUCell(2)], [B.GRUCell(2)], X, initial_states_fw=3),
    ],
)
def test_what_contradicts_is_refused(wrong):
    with pytest.raises(errors.InvalidArgumentError):
        wrong()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: R.GLSTMCell(3, number_of_groups=2),
        lambda: R.ConvLSTMCell(2, [3, 1], 1, [1]),
        lambda: dynamic(R.IntersectionRNNCell(5)),
        lambda: dynamic(R.GridLSTMCell(2, num_frequency_blocks=[2], **GRID)),
        lambda: dynamic(R.HighwayWrapper(B.GRUCell(3))),
        lambda: dynamic(R.CoupledInputForgetGateLSTMCell(2, num_unit_shards=50)),
    ],
)
def test_sizes_that_do_not_fit_are_refused(wrong):
    with pytest.raises(errors.ShapeError):
        wrong()
