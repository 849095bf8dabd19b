"""Recurrent cells and unrolled networks: names, values and gradients as TensorFlow's."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from side_by_side import compare

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(importlib.util.find_spec("tf_keras") is None, reason="TensorFlow's cells need tf_keras"),
]
RNG = np.random.default_rng(2)
X = [RNG.normal(size=(4, 3)) for _ in range(3)]
LENGTHS = np.array([1, 3, 0, 2], np.int32)

CELLS = {
    "basic": lambda cells, tf: cells.BasicRNNCell(5),
    "relu": lambda cells, tf: cells.BasicRNNCell(5, activation=tf.nn.relu),
    "lstm": lambda cells, tf: cells.BasicLSTMCell(5),
    "forget": lambda cells, tf: cells.BasicLSTMCell(5, forget_bias=0.3, activation=tf.nn.softsign),
    "flat": lambda cells, tf: cells.BasicLSTMCell(5, state_is_tuple=False),
    "named": lambda cells, tf: cells.BasicLSTMCell(5, name="mine"),
    "peepholes": lambda cells, tf: cells.LSTMCell(5, use_peepholes=True),
    "projection": lambda cells, tf: cells.LSTMCell(5, use_peepholes=True, num_proj=3, cell_clip=0.3, proj_clip=0.2),
    "flat projection": lambda cells, tf: cells.LSTMCell(5, num_proj=2, state_is_tuple=False),
    "gru": lambda cells, tf: cells.GRUCell(5),
    "multi": lambda cells, tf: cells.MultiRNNCell([cells.LSTMCell(5), cells.GRUCell(6)]),
    "flat multi": lambda cells, tf: cells.MultiRNNCell([cells.BasicRNNCell(5), cells.GRUCell(6)], state_is_tuple=False),
    "residual": lambda cells, tf: cells.ResidualWrapper(cells.GRUCell(3)),
    "residual function": lambda cells, tf: cells.ResidualWrapper(cells.GRUCell(3), residual_fn=lambda x, y: 2 * x - y),
    "no dropout": lambda cells, tf: cells.DropoutWrapper(cells.BasicLSTMCell(4), 1.0, 1.0),
    "deep": lambda cells, tf: cells.MultiRNNCell(
        [
            cells.DropoutWrapper(cells.BasicLSTMCell(4)),
            cells.ResidualWrapper(cells.DeviceWrapper(cells.BasicLSTMCell(4), "/cpu:0")),
        ]
    ),
}


def flat(nested):
    if isinstance(nested, (tuple, list)):
        return [leaf for part in nested for leaf in flat(part)]
    return [nested]


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "lengths"])
def test_static_rnn(name, lengths):
    def build(tf, *xs):
        cell = CELLS[name](tf.nn.rnn_cell, tf)
        outputs, state = tf.nn.static_rnn(cell, list(xs), dtype=xs[0].dtype, sequence_length=lengths)
        return [*outputs, *flat(state)]

    compare(build, *X)


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "lengths"])
def test_static_bidirectional_rnn(lengths):
    def build(tf, *xs):
        with tf.variable_scope("model"):
            outputs, fw, bw = tf.nn.static_bidirectional_rnn(
                tf.nn.rnn_cell.GRUCell(4),
                tf.nn.rnn_cell.LSTMCell(3),
                list(xs),
                dtype=xs[0].dtype,
                sequence_length=lengths,
            )
        return [*outputs, *flat(fw), *flat(bw)]

    compare(build, *X)


def test_steps_by_hand():
    """A loop over steps, with a cell, scopes and a state of the user's own; the second loop shares."""

    def build(tf, *xs):
        cell = tf.nn.rnn_cell.BasicLSTMCell(4)
        other = tf.nn.rnn_cell.GRUCell(4)
        found = []
        for again in (False, True):
            with tf.variable_scope("by_hand", reuse=again):
                state = cell.zero_state(4, xs[0].dtype)
                hidden = other.zero_state(4, xs[0].dtype)
                for t, x in enumerate(xs):
                    if t > 0:
                        tf.get_variable_scope().reuse_variables()
                    output, state = cell(x, state)
                    hidden = other(output, hidden)[1]
                found += [output, hidden, state.c]
        return found

    compare(build, *X)


def test_two_cells_of_a_kind_have_two_names():
    def build(tf, *xs):
        first, second = tf.nn.rnn_cell.GRUCell(4), tf.nn.rnn_cell.GRUCell(4)
        y, _ = first(xs[0], first.zero_state(4, xs[0].dtype))
        z, _ = second(y, second.zero_state(4, xs[0].dtype))
        return [y, z]

    compare(build, *X)


class _Saver:
    """The least that state_saving_rnn needs: states of zero, saved ones as they are."""

    def __init__(self, tf, batch, size, dtype):
        self.tf, self.zeros = tf, tf.zeros([batch, size], dtype)
        self.saved = {}

    def state(self, name):
        return self.zeros

    def save_state(self, name, value):
        self.saved[name] = value
        return self.tf.no_op()


def test_state_saving_rnn():
    def build(tf, *xs):
        saver = _Saver(tf, 4, 5, xs[0].dtype)
        outputs, state = tf.nn.static_state_saving_rnn(
            tf.nn.rnn_cell.LSTMCell(5), list(xs), saver, ("c", "h"), sequence_length=LENGTHS
        )
        assert sorted(saver.saved) == ["c", "h"]
        return [*outputs, *flat(state), saver.saved["c"]]

    compare(build, *X)
