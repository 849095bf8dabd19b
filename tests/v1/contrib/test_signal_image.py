"""tf.signal and tf.contrib.image against NumPy and SciPy, and signals and images that come back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage
from scipy import signal as scipy_signal

import tfnb as tf
from tfnb import errors

RNG = np.random.default_rng(0)
SOUND = RNG.normal(size=(2, 36)).astype("f")
PICTURE = RNG.uniform(size=(1, 5, 6, 2)).astype("f")


def run(*fetches):
    with tf.Session() as session:
        return session.run(fetches)


def test_frames_windows_and_transforms():
    windows = [tf.signal.hann_window(8), tf.signal.hann_window(7), tf.signal.hamming_window(9, periodic=False)]
    spectra = tf.contrib.signal.stft(SOUND, 8, 4)
    inverse = tf.signal.inverse_stft_window_fn(4)
    back = tf.signal.inverse_stft(spectra, 8, 4, window_fn=inverse)
    a, b, c, s, signal, frames = run(*windows, spectra, back, tf.signal.frame(SOUND, 8, 5, pad_end=True))
    np.testing.assert_allclose(a, scipy_signal.get_window("hann", 8), atol=1e-6)
    np.testing.assert_allclose(b, np.hanning(7), atol=1e-6)
    np.testing.assert_allclose(c, np.hamming(9), atol=1e-6)
    first = np.fft.rfft(SOUND[:, 4:12] * scipy_signal.get_window("hann", 8))
    np.testing.assert_allclose(s[:, 1], first, atol=1e-5)
    np.testing.assert_allclose(signal[:, 4:-4], SOUND[:, 4:-4], atol=1e-5)
    assert frames.shape == (2, 8, 8) and frames[0, -1, 1:].tolist() == [0.0] * 7
    mel = tf.signal.linear_to_mel_weight_matrix(10, 65, 8000)
    assert mel.shape.as_list() == [65, 10]
    with pytest.raises(errors.InvalidArgumentError, match="edges"):
        tf.signal.linear_to_mel_weight_matrix(10, 65, 8000, 3000.0, 200.0)


def test_images_are_turned_and_moved(rng):
    image = tf.contrib.image
    square = rng.uniform(size=(1, 5, 5, 1)).astype("f")
    fetches = [
        image.rotate(square, np.pi / 2),
        image.translate(PICTURE, [1.0, -2.0]),
        image.translate(PICTURE, [0.5, 0.0], "BILINEAR"),
        image.rotate(PICTURE[0], [0.0]),
        image.dense_image_warp(PICTURE, np.full((1, 5, 6, 2), [1.0, 0.0], "f")),
        image.compose_transforms(
            image.translations_to_projective_transforms([1.0, 2.0]),
            image.translations_to_projective_transforms([-1.0, -2.0]),
        ),
    ]
    turned, moved, half, same, warped, both = run(*fetches)
    np.testing.assert_allclose(turned[0, :, :, 0], np.rot90(square[0, :, :, 0]))
    np.testing.assert_allclose(moved, ndimage.shift(PICTURE, [0, -2, 1, 0], order=0))
    np.testing.assert_allclose(half[:, :, 1:], (PICTURE[:, :, 1:] + PICTURE[:, :, :-1]) / 2, atol=1e-6)
    np.testing.assert_array_equal(same, PICTURE[0])
    np.testing.assert_allclose(warped[:, 1:], PICTURE[:, :-1], atol=1e-6)
    np.testing.assert_allclose(both, [[1, 0, 0, 0, 1, 0, 0, 0]], atol=1e-6)
    with pytest.raises(errors.InvalidArgumentError, match="interpolation"):
        image.rotate(PICTURE, 0.1, "CUBIC")


def test_sparsemax_is_a_projection(rng):
    logits = rng.normal(size=(4, 5))
    p = tf.contrib.sparsemax.sparsemax(logits)
    labels = np.eye(5)[[0, 1, 2, 3]]
    z = tf.constant(logits)
    loss = tf.contrib.sparsemax.sparsemax_loss(z, tf.contrib.sparsemax.sparsemax(z), labels)
    got, each = run(p, loss)
    np.testing.assert_allclose(got.sum(1), 1)
    shifted = logits - got
    for row, probabilities in zip(shifted, got, strict=True):  # equal where positive, and not larger elsewhere
        kept = row[probabilities > 0]
        np.testing.assert_allclose(kept, kept[0])
        assert (row[probabilities == 0] <= kept[0] + 1e-9).all()
    assert (each >= 0).all()


def test_lengths_that_only_the_step_knows():
    length, step = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    frames = tf.contrib.signal.frame(SOUND, length, step)
    spectra = tf.contrib.signal.stft(SOUND, length, step)
    back = tf.contrib.signal.inverse_stft(spectra, length, step, window_fn=None)
    known = [tf.contrib.signal.frame(SOUND, 7, 3), tf.contrib.signal.stft(SOUND, 7, 3)]
    known.append(tf.contrib.signal.inverse_stft(known[1], 7, 3, window_fn=None))
    assert frames.shape.as_list() == [2, None, None]
    with tf.Session() as session:
        for a, b in zip(session.run([frames, spectra, back], {length: 7, step: 3}), session.run(known), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)
        for n in (8, 16):  # whole powers of two stay
            assert session.run(spectra, {length: n, step: n}).shape[-1] == n // 2 + 1


def test_splines_through_points():
    """The expected numbers are TensorFlow 1.15's."""
    rng = np.random.RandomState(0)
    points, values, queries = rng.rand(2, 5, 2) * 6, rng.randn(2, 5, 3), rng.rand(2, 4, 2) * 6
    points, values, queries = (a.astype("f") for a in (points, values, queries))
    spline = tf.contrib.image.interpolate_spline
    a, b, c, same = run(
        spline(points, values, queries, 1),
        spline(points, values, queries, 2, 0.1),
        spline(points, values, queries, 3),
        spline(points, values, points, 2),
    )
    assert a.shape == (2, 4, 3)
    np.testing.assert_allclose(a.ravel()[:4], [0.6172, -2.5359, 3.3048, 0.3514], atol=2e-4)
    np.testing.assert_allclose(b.ravel()[:4], [-0.691, -2.7999, 3.2398, -1.0821], atol=2e-4)
    np.testing.assert_allclose(c.ravel()[:4], [-3.7195, -4.2879, 2.6923, -4.2245], atol=1e-3)
    np.testing.assert_allclose(same, values, atol=1e-3)
    with pytest.raises(errors.ShapeError, match="dimension"):
        spline(tf.placeholder(tf.float32, [1, 3, None]), values[:1, :3], queries[:1], 2)


def test_an_image_is_warped_by_its_points():
    image = np.zeros((1, 7, 7, 1), np.float32)
    image[0, 2, 3] = 1
    source, target = np.float32([[[2, 3]]]), np.float32([[[4, 3]]])
    warp = tf.contrib.image.sparse_image_warp
    (moved, flow), (held, edges) = (
        warp(image, source, target, 1, num_boundary_points=1),
        warp(image, source, source, num_boundary_points=3),
    )
    assert moved.shape.as_list() == [1, 7, 7, 1] and flow.shape.as_list() == [1, 7, 7, 2]
    moved, flow, held, edges = run(moved, flow, held, edges)
    np.testing.assert_allclose(moved[0, 4, 3], 1, atol=1e-3)
    np.testing.assert_allclose(flow[0, [0, 0, 6, 6], [0, 6, 0, 6]], 0, atol=1e-3)
    np.testing.assert_allclose(flow[0, 4, 3], [2, 0], atol=1e-3)
    np.testing.assert_allclose(held, image, atol=1e-3)
    with pytest.raises(errors.ShapeError, match="height and width"):
        warp(tf.placeholder(tf.float32, [1, None, 7, 1]), source, target)
