"""Seldom used functions of late 1.x: sparse tensors, labels, losses, sounds, compressed texts."""

from __future__ import annotations

import gzip
import io
import logging
import wave

import numpy as np
import pytest

import tfnb as tf


def run(fetches):
    with tf.Session() as session:
        return session.run(fetches)


def test_crossed_columns():
    letters = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 2])
    numbers = tf.constant([["x"], ["y"]])
    joined, hashed = run([tf.sparse.cross([letters, numbers]), tf.sparse.cross_hashed([letters, numbers], 50)])
    assert joined.values.tolist() == [b"a_X_x", b"b_X_x", b"c_X_y"]
    assert hashed.indices.tolist() == joined.indices.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert hashed.values.dtype == np.int64 and (hashed.values < 50).all()
    with pytest.raises(TypeError, match="strings or integers"):
        tf.sparse.cross([tf.constant([[1.5]])])


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, -3])
def test_a_new_dimension_of_a_sparse_tensor(axis):
    dense = np.array([[0, 1, 0], [2, 0, 3]])
    result = tf.sparse.to_dense(tf.sparse.expand_dims(tf.sparse.from_dense(dense), axis))
    np.testing.assert_array_equal(run(result), np.expand_dims(dense, -1 if axis is None else axis))


def test_a_sparse_identity_and_another_dense_shape():
    np.testing.assert_array_equal(run(tf.sparse.to_dense(tf.sparse.eye(2, 3, tf.int32))), np.eye(2, 3))
    given = tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [4, 4])
    tight, wide = run([tf.sparse.reset_shape(given), tf.sparse_reset_shape(given, [5, 6])])
    assert tight.dense_shape.tolist() == [3, 2] and wide.dense_shape.tolist() == [5, 6]
    assert wide.values.tolist() == [5, 6]
    empty = tf.SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, np.int32), [4, 4])
    assert run(tf.sparse.reset_shape(empty)).dense_shape.tolist() == [0, 0]
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tf.sparse.reset_shape(given, [3, 3]))


def test_average_losses():
    assert run(tf.nn.compute_average_loss([2.0, 4.0], sample_weight=[1.0, 0.5])) == 2.0
    assert run(tf.nn.compute_average_loss([2.0, 4.0], global_batch_size=4)) == 1.5
    assert run(tf.nn.scale_regularization_loss([1.0, 2.0])) == 3.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar"):
        tf.nn.compute_average_loss(1.0)


def test_dense_labels_are_those_of_the_sparse_loss():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(6, 2, 5)).astype(np.float32)
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 3, 2], [2, 2])
    expected = tf.nn.ctc_loss(labels, scores, [6, 5])
    first = np.concatenate([scores[..., 4:], scores[..., :4]], -1)  # the blank is the first class
    dense = tf.nn.ctc_loss_v2([[1, 4], [3, 0]], first, [2, 1], [6, 5])
    sparse = tf.nn.ctc_loss_v2(labels, scores, None, [6, 5])
    values = run([expected, dense, sparse])
    np.testing.assert_allclose(values[1], values[0], rtol=1e-5)
    np.testing.assert_allclose(values[2], values[0], rtol=1e-5)


def test_pooling_by_the_rank():
    images, volumes = np.arange(16.0).reshape(1, 4, 4, 1), np.arange(8.0).reshape(1, 2, 2, 2, 1)
    found = run([tf.nn.max_pool_v2(images, 2, 2, "VALID"), tf.nn.avg_pool_v2(volumes, 2, 2, "VALID")])
    assert found[0].reshape(-1).tolist() == [5, 7, 13, 15] and found[1].item() == 3.5
    with pytest.raises(tf.errors.InvalidArgumentError, match="images or volumes"):
        tf.nn.max_pool_v2([[1.0]], 2, 2, "VALID")


def test_sounds_go_through_a_file():
    samples = np.array([[0.5, -0.5], [1.5, -2.0], [0.0, 0.0]], np.float32)
    contents = tf.audio.encode_wav(samples, 8000)
    data, (audio, rate) = run([contents, tf.audio.decode_wav(contents)])
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getnchannels(), file.getframerate(), file.getnframes()) == (2, 8000, 3)
    assert rate == 8000
    np.testing.assert_allclose(audio, [[0.5, -0.5], [1, -1], [0, 0]], atol=1e-4)


@pytest.mark.parametrize("data", [b"", b"RIFF", b"RIFF\0\0\0\0WAVEfmt \xff\0\0\0", b"RIFF\0\0\0\0WAVEdata\0\0\0\0"])
def test_what_is_no_sound_is_refused(data):
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tf.audio.decode_wav(tf.constant(data)))


def test_compressed_texts():
    whole = gzip.compress(b"some text" * 100)
    assert run(tf.io.decode_compressed([whole], "GZIP")).tolist() == [b"some text" * 100]
    for kind in ("GZIP", "ZLIB"):
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(tf.decode_compressed([whole[:20]], kind))
    with pytest.raises(tf.errors.InvalidArgumentError, match="BZIP"):
        tf.io.decode_compressed(["x"], "BZIP")


def test_examples_as_json():
    text = '{"features": {"feature": {"a": {"floatList": {"value": [1.5]}}}}}'
    data = run(tf.io.decode_json_example([text]))[0]
    assert tf.train.Example.FromString(data).features.feature["a"].float_list.value == [1.5]
    with pytest.raises(tf.errors.InvalidArgumentError, match="JSON"):
        run(tf.decode_json_example(["{no"]))


def test_the_logger_is_that_of_the_messages():
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    tf.get_logger().addHandler(handler)
    try:
        tf.logging.TaskLevelStatusMessage("all is well")
    finally:
        tf.get_logger().removeHandler(handler)
    assert [(r.levelname, r.getMessage()) for r in records] == [("ERROR", "all is well")]


def test_what_must_run_on_the_host():
    assert tf.graph_util.must_run_on_cpu(tf.constant("a").op)
    assert tf.graph_util.must_run_on_cpu(tf.constant(1).op.node_def)
    assert not tf.graph_util.must_run_on_cpu(tf.constant(1.5).op)
