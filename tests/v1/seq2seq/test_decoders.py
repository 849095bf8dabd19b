"""`tf.contrib.seq2seq`: numbers and names of variables are those of TensorFlow 1.15.5 for the same weights."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

s2s = tf.contrib.seq2seq
BATCH, STEPS, SYMBOLS, UNITS, BEAMS = 2, 5, 7, 4, 3
MEMORY = np.sin(np.arange(BATCH * STEPS * 3)).reshape(BATCH, STEPS, 3).astype(np.float32)
LENGTHS = np.int32([5, 3])
NAMES = (
    "decoder/attention_wrapper/attention_layer/kernel decoder/attention_wrapper/basic_lstm_cell/bias "
    "decoder/attention_wrapper/basic_lstm_cell/kernel decoder/out/bias decoder/out/kernel emb memory_layer/kernel"
).split()


def wrapped(mechanism):
    cell = s2s.AttentionWrapper(tf.nn.rnn_cell.BasicLSTMCell(UNITS), mechanism, attention_layer_size=5)
    return cell, tf.get_variable("emb", [SYMBOLS, 3]), tf.layers.Dense(SYMBOLS, name="out")


def run(fetches):
    with tf.Session() as sess:
        for v in sorted(tf.global_variables(), key=lambda v: v.name):
            shape = v.shape.as_list()
            v.load(np.sin(np.arange(np.prod(shape)) * 1.3 + len(v.name)).reshape(shape).astype(np.float32), sess)
        return sess.run(fetches)


def names():
    return sorted(v.op.name for v in tf.global_variables())


def test_training_with_bahdanau_attention():
    inputs = np.cos(np.arange(BATCH * 4 * 3)).reshape(BATCH, 4, 3).astype(np.float32)
    with tf.Graph().as_default():
        cell, _, layer = wrapped(s2s.BahdanauAttention(UNITS, tf.constant(MEMORY), LENGTHS, normalize=True))
        helper = s2s.TrainingHelper(tf.constant(inputs), tf.constant([4, 2]))
        decoder = s2s.BasicDecoder(cell, helper, cell.zero_state(BATCH, tf.float32), layer)
        outputs, state, lengths = s2s.dynamic_decode(decoder, impute_finished=True)
        assert outputs.rnn_output.shape.as_list() == [BATCH, None, SYMBOLS]
        values, ids, lengths, time = run([outputs.rnn_output, outputs.sample_id, lengths, state.time])
        attention = [f"decoder/attention_wrapper/bahdanau_attention/attention_{part}" for part in "bgv"]
        attention.append("decoder/attention_wrapper/bahdanau_attention/query_layer/kernel")
        assert names() == sorted(NAMES + attention)
    np.testing.assert_allclose(
        values[:, :, 0],
        [[-0.5566495, -0.5485643, -0.6007395, -0.5728527], [-0.8144971, -0.7716111, 0.0, 0.0]],
        rtol=2e-5,
    )
    assert ids.tolist() == [[2, 2, 2, 2], [2, 2, 0, 0]]
    assert lengths.tolist() == [4, 2] and time == 4


def test_beam_search_with_luong_attention():
    with tf.Graph().as_default():
        memory, lengths = s2s.tile_batch((tf.constant(MEMORY), tf.constant(LENGTHS)), BEAMS)
        cell, embedding, layer = wrapped(s2s.LuongAttention(UNITS, memory, lengths, scale=True))
        decoder = s2s.BeamSearchDecoder(
            cell,
            embedding,
            tf.fill([BATCH], 1),
            2,
            cell.zero_state(BATCH * BEAMS, tf.float32),
            BEAMS,
            layer,
            length_penalty_weight=0.6,
        )
        outputs, _, lengths = s2s.dynamic_decode(decoder, maximum_iterations=6)
        ids, scores, lengths = run([outputs.predicted_ids, outputs.beam_search_decoder_output.scores, lengths])
        assert names() == sorted([*NAMES, "decoder/attention_wrapper/luong_attention/attention_g"])
    assert ids[1].tolist() == [[2, 6, 6], [2, 2, 6], [2, 2, 6], [2, 2, 6], [2, 2, 6], [2, 2, 6]]
    assert ids[0, -1].tolist() == [2, 6, 1]
    assert lengths.tolist() == [[2, 6, 6], [1, 3, 6]]
    np.testing.assert_allclose(
        scores[:, -1], [[-1.3349946, -5.64706, -5.757082], [-1.18569, -2.5001261, -5.8580995]], rtol=2e-5
    )


def test_helpers_choose_what_a_step_reads():
    x = tf.constant(np.arange(24.0).reshape(2, 3, 4))
    ids = tf.constant([1, -1])
    embedding = tf.constant(np.full([5, 4], 100.0))
    never = s2s.ScheduledEmbeddingTrainingHelper(x, [3, 2], embedding, 0.0)
    always = s2s.ScheduledOutputTrainingHelper(x, [3, 2], 1.0, next_inputs_fn=lambda y: y * 2.0)
    outputs = tf.constant(np.ones([2, 4]))
    fetches = {
        "never": never.sample(tf.constant(0), outputs, ()),
        "embedded": never.next_inputs(tf.constant(0), outputs, (), ids)[:2],
        "own": always.next_inputs(tf.constant(0), outputs, (), always.sample(tf.constant(0), outputs, ()))[:2],
        "greedy": s2s.GreedyEmbeddingHelper(embedding, [0, 0], 3).next_inputs(0, outputs, (), tf.constant([3, 1]))[0],
    }
    with tf.Session() as sess:
        values = sess.run(fetches)
    assert values["never"].tolist() == [-1, -1]
    assert values["embedded"][1].tolist() == [[100.0] * 4, [16.0, 17.0, 18.0, 19.0]]
    assert values["own"][1].tolist() == [[2.0] * 4, [2.0] * 4]
    assert values["greedy"].tolist() == [True, False]


def test_monotonic_attention_in_three_ways():
    p, previous = np.float32([[0.2, 0.5, 0.9], [1, 0, 0.3]]), np.float32([[1, 0, 0], [0.2, 0.3, 0.5]])
    with tf.Session() as sess:
        one, other, hard = (
            sess.run(s2s.monotonic_attention(np.round(p) if mode == "hard" else p, previous, mode))
            for mode in ("recursive", "parallel", "hard")
        )
        sess.run(s2s.hardmax([[1.0, 3.0], [2.0, 0.0]]))
    np.testing.assert_allclose(one, [[0.2, 0.4, 0.36], [0.2, 0.0, 0.24]], rtol=1e-5)
    np.testing.assert_allclose(other[0], one[0], rtol=1e-5)
    assert hard.tolist() == [[0.0, 0.0, 1.0], [pytest.approx(0.2), 0.0, 0.0]]


def test_what_is_refused():
    with pytest.raises(TypeError, match="helper must be a Helper"):
        s2s.BasicDecoder(tf.nn.rnn_cell.GRUCell(3), 3, None)
    with pytest.raises(ValueError, match="mode must be"):
        s2s.monotonic_attention([[0.5]], [[1.0]], "soft")
    cell = s2s.AttentionWrapper(tf.nn.rnn_cell.GRUCell(3), s2s.LuongAttention(4, tf.zeros([2, 5, 3])))
    with pytest.raises(ValueError, match="num_units"):
        cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))


def test_a_second_layer_of_a_name_gets_a_number():
    with tf.Graph().as_default():
        x = tf.ones([2, 3])
        for _ in range(2):
            tf.layers.Dense(1, name="a", use_bias=False)(x)
        assert names() == ["a/kernel", "a_1/kernel"]
        with pytest.raises(ValueError, match="exists already"):
            tf.layers.dense(x, 1, name="a", use_bias=False)
