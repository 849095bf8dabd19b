"""Attention mechanisms that programs derive from the classes and functions inside contrib.seq2seq."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import ShapeError

inside = tf.contrib.seq2seq.python.ops.attention_wrapper
seq2seq = tf.contrib.seq2seq


class LocationAttention(seq2seq.BahdanauAttention):
    """Attention to the places attended to so far, as in speech synthesis."""

    def __init__(self, units, memory, lengths):
        super().__init__(num_units=units, memory=memory, memory_sequence_length=lengths, name="Location")
        self.convolution = tf.layers.Conv1D(3, 3, padding="same", name="places")
        self.dense = tf.layers.Dense(units, use_bias=False, name="from_places")

    def __call__(self, query, state):
        with tf.variable_scope(None, "Location_Sensitive_Attention", [query]):
            processed = tf.expand_dims(self.query_layer(query), 1)
            places = self.dense(self.convolution(tf.expand_dims(state, 2)))
            v = tf.get_variable("v", [self._num_units])
            energy = tf.reduce_sum(v * tf.tanh(self.keys + processed + places), [2])
        alignments = self._probability_fn(energy, state)
        return alignments, state + alignments


class DotAttention(inside._BaseAttentionMechanism):
    """The products of query and memory."""

    def __call__(self, query, state):
        alignments = self._probability_fn(tf.reduce_sum(self._keys * tf.expand_dims(query, 1), 2), state)
        return alignments, alignments


def decoded(mechanism, rng):
    cell = seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.GRUCell(4), mechanism, attention_layer_size=5, alignment_history=True
    )
    helper = seq2seq.TrainingHelper(tf.constant(rng.standard_normal((2, 3, 2)).astype("f")), [3, 3])
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    _, state, _ = seq2seq.dynamic_decode(decoder)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(state.alignment_history.stack())


def test_derived_attention_leaves_out_steps_after_the_end(rng):
    memory = tf.constant(rng.standard_normal((2, 6, 4)).astype("f"))
    own = DotAttention(None, memory, lambda score, previous: tf.nn.softmax(score), [6, 2])
    for mechanism in (LocationAttention(4, memory, [6, 2]), own):
        weights = decoded(mechanism, rng)
        assert weights.shape == (3, 2, 6) and not weights[:, 1, 2:].any()
        np.testing.assert_allclose(weights.sum(2), 1.0, rtol=1e-5)
    assert own._keys is own.values and own._alignments_size == 6
    with pytest.raises(ShapeError, match="fully defined inner dims"):
        inside._BaseAttentionMechanism(None, tf.placeholder(tf.float32, [2, 6, None]), tf.nn.softmax)


def test_the_scores(rng):
    keys, query, v = (rng.standard_normal(s).astype("f") for s in ((2, 3, 4), (2, 4), 4))
    scores = [
        inside._bahdanau_score(tf.constant(query), tf.constant(keys), tf.constant(v)),
        inside._bahdanau_score(tf.constant(query), tf.constant(keys), tf.constant(v), 2.0, np.zeros(4, "f")),
        inside._luong_score(tf.constant(query), tf.constant(keys), False),
    ]
    with tf.variable_scope("made"):
        inside._bahdanau_score(tf.constant(query), tf.constant(keys), True)
    assert [x.op.name for x in tf.global_variables()] == [f"made/attention_{n}" for n in "vgb"]
    plain = (v * np.tanh(keys + query[:, None])).sum(2)
    with tf.Session() as session:
        one, two, three = session.run(scores)
    np.testing.assert_allclose(one, plain, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(two, 2 * plain / np.linalg.norm(v), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(three, np.einsum("bk,btk->bt", query, keys), rtol=1e-4, atol=1e-6)
