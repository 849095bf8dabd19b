"""Seldom used functions of late 1.x against TensorFlow's: values, and gradients where there are any."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
SCORES = np.random.default_rng(0).normal(size=(6, 2, 5)).astype(np.float32)


def _sparse(tf):
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 3])


def _loss(tf, loss, **more):
    scores = tf.constant(SCORES)
    value = loss(logits=scores, logit_length=[6, 5], **more)
    return [value, tf.gradients(value, scores)[0]]


PROGRAMS = {
    "crossed": lambda tf: [tf.sparse.cross([_sparse(tf), tf.constant([["x"], ["y"]])])],
    "hashed": lambda tf: [tf.sparse.cross_hashed([_sparse(tf), tf.constant([[3], [4]])], 1000)],
    "hashed by a key": lambda tf: [tf.sparse.cross_hashed([_sparse(tf), _sparse(tf)], hash_key=5)],
    "expanded": lambda tf: [tf.sparse.expand_dims(_sparse(tf), axis) for axis in (-1, 0, 1)],
    "identity": lambda tf: [tf.sparse.eye(3, 2), tf.sparse.eye(2, dtype=tf.int32)],
    "another shape": lambda tf: [tf.sparse.reset_shape(_sparse(tf)), tf.sparse.reset_shape(_sparse(tf), [4, 3])],
    "dense labels": lambda tf: _loss(tf, tf.nn.ctc_loss_v2, labels=tf.constant([[1, 4], [3, 0]]), label_length=[2, 1]),
    "a blank in the middle": lambda tf: _loss(
        tf, tf.nn.ctc_loss_v2, labels=tf.constant([[1, 4], [3, 0]]), label_length=[2, 1], blank_index=2
    ),
    "rounded": lambda tf: [
        tf.quantization.quantize_and_dequantize(SCORES, -1.0, 1.5, num_bits=4, range_given=given, round_mode=mode)
        for given in (True, False)
        for mode in ("HALF_TO_EVEN", "HALF_UP")
    ],
    "average": lambda tf: [tf.nn.compute_average_loss([2.0, 4.0], sample_weight=[1.0, 0.5], global_batch_size=3)],
    "sound": lambda tf: list(tf.audio.decode_wav(tf.audio.encode_wav(SCORES[:, 0, :2] / 2, 8000), desired_samples=9)),
}


def _results(tf, name):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(PROGRAMS[name](tf))


def _arrays(value):
    return list(value) if type(value).__name__ == "SparseTensorValue" else [value]


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_tensorflow(name):
    mine, theirs = _results(tfnb, name), _results(tensorflow.compat.v1, name)
    pairs = zip((a for v in mine for a in _arrays(v)), (a for v in theirs for a in _arrays(v)), strict=True)
    for a, b in pairs:
        assert np.asarray(a).dtype == np.asarray(b).dtype
        if np.asarray(a).dtype == object:
            assert np.asarray(a).tolist() == np.asarray(b).tolist()
        else:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
