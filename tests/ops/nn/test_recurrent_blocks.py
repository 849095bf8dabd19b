"""LSTM and GRU cells as single ops against compositions of ops: values, gradients, blocks of steps."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

BATCH, INPUTS, UNITS, STEPS = 3, 2, 4, 5
LSTM = "i cs f o ci co h".split()
WEIGHTS = "w wci wcf wco b".split()


@pytest.fixture
def numbers():
    rng = np.random.RandomState(3)
    return lambda *shape: (0.7 * rng.randn(*shape)).astype(np.float32)


def lstm_weights(numbers):
    return [numbers(INPUTS + UNITS, 4 * UNITS), numbers(UNITS), numbers(UNITS), numbers(UNITS), numbers(4 * UNITS)]


def composed(x, cs_prev, h_prev, w, wci, wcf, wco, b, *, bias, clip, peep, forget_first=False):
    """The formulas of the cell; `peep` is 1 or 0."""
    i, ci, f, o = tf.split(tf.matmul(tf.concat([x, h_prev], 1), w) + b, 4, 1)
    if forget_first:
        ci, f = f, ci
    i, f = tf.sigmoid(i + peep * cs_prev * wci), tf.sigmoid(f + bias + peep * cs_prev * wcf)
    ci = tf.tanh(ci)
    cs = ci * i + f * cs_prev
    cs = tf.stop_gradient(tf.clip_by_value(cs, -clip, clip) - cs) + cs if clip > 0 else cs
    o = tf.sigmoid(o + peep * cs * wco)
    co = tf.tanh(cs)
    return i, cs, f, o, ci, co, o * co


def score(cs, h):
    return tf.reduce_sum(tf.sin(h)) + tf.reduce_sum(tf.cos(cs))


def assert_same(session, mine, other):
    for got, wanted in zip(session.run(mine), session.run(other), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("peep", [False, True])
@pytest.mark.parametrize("clip", [-1.0, 0.5])
def test_an_lstm_cell(numbers, peep, clip):
    arrays = [numbers(BATCH, INPUTS), numbers(BATCH, UNITS), numbers(BATCH, UNITS), *lstm_weights(numbers)]
    inputs = [tf.constant(a) for a in arrays]
    names = ["x", "cs_prev", "h_prev", *WEIGHTS]
    options = {"forget_bias": 0.7, "cell_clip": clip, "use_peephole": peep}
    cell = tf.raw_ops.LSTMBlockCell(**dict(zip(names, inputs, strict=True)), **options)
    assert cell._fields == tuple(LSTM)
    other = composed(*inputs, bias=0.7, clip=clip, peep=float(peep))
    wanted = inputs if peep else [*inputs[:4], inputs[-1]]
    with tf.Session() as session:
        assert_same(session, cell, other)
        grads = tf.gradients(score(cell.cs, cell.h), wanted)
        assert_same(session, grads, tf.gradients(score(other[1], other[6]), wanted))


@pytest.mark.parametrize("op", ["BlockLSTM", "BlockLSTMV2"])
@pytest.mark.parametrize("count", [STEPS, 3, 0])
def test_a_block_is_its_steps(numbers, op, count):
    arrays = [numbers(STEPS, BATCH, INPUTS), numbers(BATCH, UNITS), numbers(BATCH, UNITS), *lstm_weights(numbers)]
    inputs = [tf.constant(a) for a in arrays]
    names = ["x", "cs_prev", "h_prev", *WEIGHTS]
    bias = {"forget_bias": 0.5} if op == "BlockLSTM" else {}
    options = {"cell_clip": 0.0, "use_peephole": True, **bias}
    made = dict(zip(names, inputs, strict=True))
    block = getattr(tf.raw_ops, op)(seq_len_max=np.int64(count), **made, **options)
    rows, cs, h = [], *inputs[1:3]
    for t in range(STEPS):
        form = {"bias": bias.get("forget_bias", 0.0), "clip": 0.0, "peep": 1.0, "forget_first": not bias}
        values = composed(inputs[0][t], cs, h, *inputs[3:], **form)
        cs, h = (values[1], values[6]) if t < count else (cs, h)
        rows.append(values if t < count else [tf.zeros_like(v) for v in values])
    other = [tf.stack(column) for column in zip(*rows, strict=True)]
    with tf.Session() as session:
        assert_same(session, block, other)
        if count:
            grads = tf.gradients(score(block.cs, block.h), inputs)
            assert_same(session, grads, tf.gradients(score(other[1], other[6]), inputs))


def test_a_gru_cell(numbers):
    shapes = [(BATCH, INPUTS), (BATCH, UNITS), (INPUTS + UNITS, 2 * UNITS), (INPUTS + UNITS, UNITS)]
    inputs = [tf.constant(numbers(*s)) for s in (*shapes, (2 * UNITS,), (UNITS,))]
    cell = tf.raw_ops.GRUBlockCell(**dict(zip("x h_prev w_ru w_c b_ru b_c".split(), inputs, strict=True)))
    x, h_prev, w_ru, w_c, b_ru, b_c = inputs
    r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h_prev], 1), w_ru) + b_ru), 2, 1)
    c = tf.tanh(tf.matmul(tf.concat([x, r * h_prev], 1), w_c) + b_c)
    other = [r, u, c, u * h_prev + (1 - u) * c]
    with tf.Session() as session:
        assert_same(session, cell, other)
        grads = tf.gradients(tf.sin(cell.h), inputs)
        assert_same(session, grads, tf.gradients(tf.sin(other[3]), inputs))


def test_what_does_not_fit_is_refused(numbers):
    state, x = numbers(BATCH, UNITS), numbers(BATCH, INPUTS)
    w, *rest = lstm_weights(numbers)
    names = dict(zip(WEIGHTS[1:], rest, strict=True))
    with pytest.raises(ValueError, match=r"w must have 2 \+ 4 rows"):
        tf.raw_ops.LSTMBlockCell(x=x, cs_prev=state, h_prev=state, w=w[1:], **names)
    with pytest.raises(ValueError, match="w must have 16 columns"):
        tf.raw_ops.LSTMBlockCell(x=x, cs_prev=state, h_prev=state, w=w[:, 1:], **names)
    with pytest.raises(ValueError, match="x must have rank 3"):
        tf.raw_ops.BlockLSTM(seq_len_max=np.int64(1), x=x, cs_prev=state, h_prev=state, w=w, **names)
    block = tf.raw_ops.BlockLSTM(seq_len_max=np.int64(2), x=x[None], cs_prev=state, h_prev=state, w=w, **names)
    with tf.Session() as session, pytest.raises(ValueError, match=r"seq_len_max must be in \[0, 1\], got 2"):
        session.run(block.h)
