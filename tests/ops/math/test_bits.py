"""Bitcast between all dtypes of a fixed size, those of 16-bit floats, complex and quantised numbers among them."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.types import NUMBERS, QUANTIZED

DTYPES = (*NUMBERS, *QUANTIZED)
BYTES = np.arange(32, dtype=np.uint8) + 17


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_bytes_stay_the_same(source):
    given = tf.constant(BYTES.reshape(2, -1, source.size) if source.size > 1 else BYTES.reshape(2, -1))
    x = tf.bitcast(given, source)
    made, shapes = [], []
    for target in DTYPES:
        parts = target.size // source.size
        y = tf.bitcast(tf.reshape(x, [2, -1, parts]) if parts > 1 else x, target)
        made.append(tf.bitcast(y, tf.uint8))
        rows = 16 // max(source.size, target.size)
        shapes.append([2, rows, source.size // target.size] if source.size > target.size else [2, rows])
        assert y.dtype is target and y.shape.as_list() == shapes[-1]
    with tf.Session() as session:
        for value in session.run(made):
            assert value.tobytes() == BYTES.tobytes()


def test_16_bit_floats_keep_their_bits_in_a_step_of_other_kernels():
    x = tf.placeholder(tf.float32, [None])
    bits = tf.bitcast(tf.cast(x * 2.0, tf.float16), tf.int16)
    back = tf.cast(tf.bitcast(bits + 1, tf.float16), tf.float32) * 1.0
    brain = tf.cast(tf.bitcast(tf.constant([16256], tf.uint16), tf.bfloat16), tf.float32)
    with tf.Session() as session:
        found = session.run([bits, back, brain], {x: [0.5, -1.0]})
    assert [f.tolist() for f in found] == [[15360, -16384], [1.0009765625, -2.001953125], [1.0]]


@pytest.mark.parametrize("threshold", [False, True])
def test_bools_are_packed_whatever_the_threshold(threshold):
    x = np.random.RandomState(0).rand(2, 16) > 0.5
    with tf.Session() as session:
        packed = session.run(tf.raw_ops.CompareAndBitpack(input=x, threshold=threshold))
    assert packed.tolist() == np.packbits(x, axis=-1).tolist() == [[245, 188], [125, 89]]  # as TensorFlow 1.15.5
