"""Similarity of images, edges, colours, metrics of the k best, later schedules: values and gradients as TensorFlow's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(8)
ONE, TWO = (RNG.uniform(0, 1, (2, 24, 26, 3)).astype(np.float32) for _ in range(2))
NEAR = np.clip(ONE + 0.1 * (TWO - 0.5), 0, 1).astype(np.float32)
BYTES = (ONE * 255).astype(np.uint8), (NEAR * 255).astype(np.uint8)


def run(tf, build, *arrays):
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(a.dtype, a.shape) for a in arrays]
        found = build(tf, *inputs)
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        floats = [x for x in inputs if x.dtype.is_floating]
        if floats:
            grads = tf.gradients(tf.add_n([tf.reduce_sum(tf.sin(t)) for t in found]), floats)
            found += [g for g in grads if g is not None]
        return session.run(found, dict(zip(inputs, arrays, strict=True)))


IMAGES = {
    "ssim": lambda tf, x, y: tf.image.ssim(x, y, 1.0),
    "ssim of one": lambda tf, x, y: tf.image.ssim(x[0], y[0], 1.0, filter_size=7, filter_sigma=1.0),
    "ssim over scales": lambda tf, x, y: tf.image.ssim_multiscale(x, y, 1.0, (0.4, 0.6), filter_size=9),
    "edges": lambda tf, x, y: tf.image.sobel_edges(x),
    "gradients": lambda tf, x, y: tf.image.image_gradients(y),
    "colours": lambda tf, x, y: [
        tf.image.rgb_to_yiq(x),
        tf.image.rgb_to_yuv(y),
        tf.image.yiq_to_rgb(x),
        tf.image.yuv_to_rgb(y),
    ],
    "pad": lambda tf, x, y: tf.image.resize_image_with_pad(x, 20, 40),
}


@pytest.mark.parametrize("name", IMAGES)
def test_images(name):
    for a, b in zip(run(tfnb, IMAGES[name], ONE, NEAR), run(tf1, IMAGES[name], ONE, NEAR), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, 2e-4, 2e-5)


def test_similarity_of_bytes():
    def build(tf, x, y):
        return tf.image.ssim(x, y, 255)

    np.testing.assert_allclose(run(tfnb, build, *BYTES)[0], run(tf1, build, *BYTES)[0], 1e-4)


LABELS = np.array([[1, 3], [0, 4], [2, 1]], np.int64)
SCORES = RNG.uniform(0, 1, (2, 3, 5)).astype(np.float32)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["recall_at_k", "precision_at_k", "average_precision_at_k"])
def test_best_of_k(name, sparse, weighted):
    def build(tf):
        x = tf.placeholder(tf.float32, [3, 5])
        labels = tf.constant(LABELS)
        if sparse:
            labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0]], tf.constant([1, 3, 4, 2], tf.int64), [3, 2])
        weights = tf.constant([1.0, 2.0, 0.5]) if weighted else None
        pairs = [getattr(tf.metrics, name)(labels, x, 2, weights=weights)]
        if name != "average_precision_at_k":
            pairs.append(getattr(tf.metrics, name)(labels, x, 3, class_id=1))
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            return [session.run([update for _, update in pairs], {x: s}) for s in SCORES] + [
                session.run([value for value, _ in pairs])
            ]

    with tfnb.Graph().as_default():
        mine = build(tfnb)
    with tf1.Graph().as_default():
        theirs = build(tf1)
    np.testing.assert_allclose(mine, theirs, 1e-6)


SCHEDULES = {
    "restarts": lambda tf, s: tf.train.cosine_decay_restarts(0.5, s, 5, alpha=0.1),
    "equal restarts": lambda tf, s: tf.train.cosine_decay_restarts(0.5, s, 5, t_mul=1.0, m_mul=0.7),
    "linear": lambda tf, s: tf.train.linear_cosine_decay(0.5, s, 8),
    "noise of no variance": lambda tf, s: tf.train.noisy_linear_cosine_decay(0.5, s, 8, initial_variance=0.0),
    "pieces": lambda tf, s: tf.train.piecewise_constant_decay(s, [3, 9], [1.0, 0.5, 0.1]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    def values(tf):
        with tf.Graph().as_default(), tf.Session() as session:
            step = tf.placeholder(tf.int32, [])
            rate = SCHEDULES[name](tf, step)
            return [session.run(rate, {step: k}) for k in (0, 2, 5, 7, 16, 20)]

    np.testing.assert_allclose(values(tfnb), values(tf1), 1e-5, 1e-6)
