"""Images: what is random, old call forms, sizes that are not known, gradients, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from building import backprop
from evaluate import evaluate

import tfnb as tf
from tfnb.caches import list_caches

IMAGE = np.random.default_rng(3).uniform(0, 1, (2, 6, 5, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


@pytest.mark.parametrize("size", [(9, 3), (4, 8), (6, 5)])
@pytest.mark.parametrize("name", ["bilinear", "nearest_neighbor", "bicubic", "area"])
@pytest.mark.parametrize("known", [True, False])
def test_the_gradient_is_the_adjoint(name, size, known):
    """<g, R x> = <R' g, x> for the linear map R, and back through R' is R again."""
    g = np.random.default_rng(4).normal(size=(2, *size, 3)).astype(np.float32)
    x = tf.placeholder(tf.float32, IMAGE.shape if known else (None, None, None, 3))
    y = getattr(tf.image, f"resize_{name}")(x, list(size))
    dy = tf.placeholder(tf.float32, g.shape)
    (dx,) = backprop([y], [dy], [x])
    (again,) = backprop([dx], [x], [dy])
    forward, back, twice = evaluate([y, dx, again], {x: IMAGE, dy: g})
    np.testing.assert_allclose((g * forward).sum(), (back * IMAGE).sum(), rtol=1e-4)
    np.testing.assert_allclose(twice, forward, rtol=1e-5, atol=1e-5)


def test_resize_images_in_old_and_new_forms():
    x = tf.constant(IMAGE)
    made = [
        tf.image.resize_images(x, [4, 7], method=tf.image.ResizeMethod.NEAREST_NEIGHBOR),
        tf.image.resize_images(x, 4, 7, 1),
        tf.image.resize_images(x, 4, 7, method=1),
        tf.image.resize_images(x, new_height=4, new_width=7, method=1),
        tf.image.resize(x, size=(4, 7), method="nearest"),
        tf.image.resize_images(x, tf.constant([4, 7]), 1, False),
    ]
    assert {t.shape.as_list()[1] for t in made} == {4}
    values = evaluate(made)
    for v in values[1:]:
        np.testing.assert_array_equal(v, values[0])


def test_random_flips_take_each_image_by_itself_and_repeat_with_the_seed():
    x = np.arange(64 * 4, dtype=np.float32).reshape(64, 1, 4, 1)
    with tf.Session() as session:
        tf.set_random_seed(1)
        one = session.run(tf.image.random_flip_left_right(tf.constant(x), seed=5))
        two = session.run(tf.image.random_flip_left_right(tf.constant(x), seed=5))
        single = session.run([tf.image.random_flip_up_down(x[0].transpose(1, 0, 2)) for _ in range(9)])
    np.testing.assert_array_equal(one, two)
    flipped = (one != x).any((1, 2, 3))
    assert 10 < flipped.sum() < 54
    np.testing.assert_array_equal(one[flipped], x[flipped][:, :, ::-1])
    assert {v[0, 0, 0] for v in single} <= {0.0, 3.0}


def test_random_colours_stay_within_their_bounds():
    grey = tf.constant(np.full((4, 4, 3), 0.5, np.float32))
    with tf.Session() as session:
        bright = [session.run(tf.image.random_brightness(grey, 0.2))[0, 0, 0] for _ in range(8)]
        others = session.run(
            [
                tf.image.random_contrast(IMAGE[0], 0.5, 0.9),
                tf.image.random_hue(IMAGE[0], 0.1),
                tf.image.random_saturation(IMAGE[0], 0.0, 0.5),
            ]
        )
    assert len(set(bright)) > 1 and all(0.3 <= b <= 0.7 for b in bright)
    assert others[0].std() < IMAGE[0].std()
    np.testing.assert_allclose(others[1].max(-1), IMAGE[0].max(-1), rtol=1e-5)  # hue keeps value
    assert (np.ptp(others[2], -1) <= np.ptp(IMAGE[0], -1) * 0.5 + 1e-6).all()
    for call in (
        lambda: tf.image.random_brightness(grey, -1.0),
        lambda: tf.image.random_hue(grey, 0.7),
        lambda: tf.image.random_contrast(grey, 0.9, 0.5),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            call()


def test_sampled_crops_hold_the_object():
    box = np.array([[[0.2, 0.3, 0.6, 0.7]]], np.float32)
    begin, size, made = tf.image.sample_distorted_bounding_box(
        [100, 80, 3], box, min_object_covered=0.8, area_range=[0.1, 0.9], seed=3
    )
    crops = set()
    with tf.Session() as session:
        for _ in range(40):
            b, s, found = session.run([begin, size, made])
            crops.add((*b, *s))
            edges = np.array([b[0], b[1], b[0] + s[0], b[1] + s[1]]) / [100, 80, 100, 80]
            np.testing.assert_allclose(found[0, 0], edges, rtol=1e-6)
            assert 0.1 <= s[0] * s[1] / 8000 <= 0.9 and 0.7 < s[1] / s[0] < 1.4
            low, high = np.maximum(edges[:2], box[0, 0, :2]), np.minimum(edges[2:], box[0, 0, 2:])
            assert np.prod(high - low) >= 0.8 * 0.16 - 1e-6
    assert len(crops) > 20


def test_boxes_that_cannot_be_are_refused():
    with tf.Session() as session:
        for boxes in (np.zeros((1, 0, 4)), [[[0.5, 0.5, 0.4, 0.9]]], [[[0.0, 0.0, 1.5, 1.0]]]):
            made = tf.image.sample_distorted_bounding_box([9, 9, 3], np.asarray(boxes, np.float32))
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(made[0])
        whole = tf.image.sample_distorted_bounding_box(
            [9, 7, 3],
            np.zeros((1, 0, 4), np.float32),
            area_range=[0.99, 1.0],
            aspect_ratio_range=[3, 3.1],
            use_image_if_no_bounding_boxes=True,
        )
        assert session.run(whole.size).tolist() == [9, 7, -1]


def test_glimpse_noise_comes_from_the_image():
    flat = np.full((1, 4, 4, 2), 0.25, np.float32)
    flat[..., 1] = 7
    with tf.Session() as session:
        for flags in ({}, {"noise": "gaussian", "uniform_noise": False}):
            found = session.run(tf.image.extract_glimpse(flat, [6, 6], [[0.9, 0.9]], **flags))
            np.testing.assert_allclose(found[..., 0], 0.25)
            np.testing.assert_allclose(found[..., 1], 7)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.image.crop_to_bounding_box(IMAGE, 3, 0, 4, 2), "are not inside 6"),
        (lambda: tf.image.pad_to_bounding_box(IMAGE, 1, 0, 6, 9), "do not fit in 6"),
        (lambda: tf.image.resize_image_with_crop_or_pad(IMAGE, 0, 3), "must be positive"),
        (lambda: tf.image.central_crop(IMAGE, 1.5), "must be in"),
        (lambda: tf.image.resize_images(IMAGE, [0, 3]), "positive"),
        (lambda: tf.image.resize_images(IMAGE, [3, 3], 9), "unknown method"),
        (lambda: tf.image.flip_up_down(IMAGE[0, 0]), "3 or 4 dimensions"),
        (lambda: tf.image.rgb_to_hsv(IMAGE[..., :2]), "must be 3"),
        (lambda: tf.image.grayscale_to_rgb(IMAGE), "must be 1"),
        (lambda: tf.extract_image_patches(IMAGE, [1, 2, 2, 2], [1] * 4, [1] * 4, "SAME"), "ksizes"),
        (
            lambda: tf.image.crop_and_resize(IMAGE, [[0.0, 0, 1, 1]], [0, 1], [2, 2]),
            "image numbers",
        ),
        (lambda: tf.image.decode_png(b"", channels=2), "channels"),
        (lambda: tf.image.encode_jpeg(np.zeros((2, 2, 3), np.uint8), quality=101), "quality"),
    ],
)
def test_refused_while_building(call, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.image.crop_to_bounding_box(x, 3, 0, 4, 2),
        lambda x: tf.image.crop_and_resize(x, [[0.0, 0, 1, 1]], [2], [2, 2]),
        lambda x: tf.image.encode_png(tf.cast(x[:, :0], tf.uint8)),
        lambda x: tf.image.encode_jpeg(tf.cast(x[0, :, :, :2], tf.uint8)),
        lambda x: tf.image.non_max_suppression([[0.0, 0, 1, 1]], [0.5], 3, iou_threshold=1.5),
    ],
)
def test_refused_at_run_time(call):
    x = tf.placeholder(tf.float32, (None, None, None, 3))
    with pytest.raises(tf.errors.InvalidArgumentError):
        evaluate(call(x), {x: IMAGE})


def _halved():
    x = tf.placeholder(tf.float32, [1, None, None, 3])
    return x, tf.image.resize_bilinear(x, tf.shape(x)[1:3] // 2)


def test_high_and_wide_images_share_a_compilation():
    x, y = _halved()
    with tf.Session() as session:
        before = sum(c.misses for c in list_caches() if c.name == "classes of shapes")
        for height, width in ((9, 5), (5, 9), (7, 7), (12, 30)):
            shape = session.run(y, {x: np.ones((1, height, width, 3), np.float32)}).shape
            assert shape == (1, height // 2, width // 2, 3)
        assert sum(c.misses for c in list_caches() if c.name == "classes of shapes") <= before + 1


def test_no_kernel_writes_sizes_that_only_fix_shapes():
    x, y = _halved()
    found = tf.RunMetadata()
    with tf.Session() as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {x: np.ones((1, 9, 5, 3), np.float32)}, options=options, run_metadata=found)
    labels = [n.timeline_label for d in found.step_stats.dev_stats for n in d.node_stats]
    kernels = [text for text in labels if '"kind": "kernel"' in text]
    assert len(kernels) == 1 and "ResizeBilinear" in kernels[0]


def test_an_empty_batch_is_resized(graph):
    masks = tf.image.resize_images(tf.zeros([0, 6, 4, 1]), [3, 8])
    with tf.Session(graph=graph) as session:
        assert session.run(masks).shape == (0, 3, 8, 1)


def test_sizes_that_are_arrays_or_lists_with_tensors():
    images = np.arange(48, dtype=np.float32).reshape(1, 4, 4, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        for size in (np.array([2, 3]), np.array([2.0, 3.0])):
            resized = tf.image.resize_images(images, size)
            assert resized.shape.as_list() == [1, 2, 3, 3]
        side = tf.placeholder(tf.int32, [])
        resized = tf.image.resize_images(images, [side, 3])
        assert resized.shape.as_list() == [1, None, 3, 3]
        assert tf.image.resize_images(images[0], [side, side]).shape.as_list() == [None, None, 3]
        assert session.run(resized, {side: 2}).shape == (1, 2, 3, 3)
        grey = tf.placeholder(tf.float32, [None, None, None, None])
        assert tf.image.grayscale_to_rgb(grey).shape.as_list() == [None, None, None, 3]


def test_images_are_resized_and_padded_to_sizes_that_only_the_step_knows():
    images = np.arange(2 * 6 * 8 * 3, dtype=np.float32).reshape(2, 6, 8, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        height = tf.placeholder(tf.int32, [])
        fed = tf.placeholder(tf.float32, [None, None, None, 3])
        for image, side in ((images, height), (fed, 5), (fed, height), (fed[0], height)):
            padded = tf.image.resize_image_with_pad(image, side, 4)
            expected = tf.image.resize_image_with_pad(images[0] if len(image.shape) == 3 else images, 5, 4)
            found, wanted = session.run([padded, expected], {fed: images, height: 5})
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
        with pytest.raises(ValueError, match="into 0 x 4"):
            tf.image.resize_image_with_pad(images, 0, 4)


def test_a_window_whose_corner_and_channels_only_the_step_knows():
    """Images of a decoder have no static shape; programs crop their middle."""
    images = np.arange(96, dtype=np.float32).reshape(1, 4, 8, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        for image in (tf.placeholder(tf.float32, [None, None, None]), tf.placeholder(tf.float32, [None] * 4)):
            sides = tf.shape(image)
            top, left = (sides[-3] - 2) // 2, (sides[-2] - 4) // 2
            window = tf.image.crop_to_bounding_box(image, top, left, 2, 4)
            assert window.shape.as_list()[-3:] == [2, 4, None]
            found = session.run(window, {image: images if image.shape.ndims == 4 else images[0]})
            assert found.reshape(2, 4, 3).tolist() == images[0, 1:3, 2:6].tolist()
