"""tf.image's functions against TensorFlow's, on floats and bytes, sizes known and not; files written and read across."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from evaluate import evaluate

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
RNG = np.random.default_rng(1)
FLOAT = RNG.uniform(0, 1, (2, 5, 6, 3)).astype(np.float32)
BYTES = RNG.integers(0, 256, (2, 5, 6, 3)).astype(np.uint8)

# name -> expression of (tf, images (2, 5, 6, 3)), floats in [0, 1] or bytes
EXPRESSIONS = {
    "flips": lambda tf, x: [tf.image.flip_left_right(x[0]), tf.image.flip_up_down(x)],
    "turns": lambda tf, x: [
        tf.image.transpose_image(x[1]),
        *(tf.image.rot90(y, k) for y in (x, x[0]) for k in (0, 1, 2, 3, 5)),
    ],
    "crop": lambda tf, x: [
        tf.image.crop_to_bounding_box(x, 1, 2, 3, 4),
        tf.image.crop_to_bounding_box(x[0], 0, 0, 5, 1),
    ],
    "pad": lambda tf, x: [
        tf.image.pad_to_bounding_box(x, 1, 2, 8, 9),
        tf.image.pad_to_bounding_box(x[0], 0, 0, 5, 6),
    ],
    "crop_or_pad": lambda tf, x: [tf.image.resize_image_with_crop_or_pad(x, h, w) for h in (2, 5, 8) for w in (3, 9)],
    "central": lambda tf, x: [tf.image.central_crop(x, f) for f in (0.3, 0.5, 0.87, 1.0)],
    "resize": lambda tf, x: [
        tf.image.resize_images(x, [7, 4], m, align_corners=a) for m in range(4) for a in (False, True)
    ],
    "resize_more": lambda tf, x: [
        tf.image.resize_images(x[0], [3, 3]),
        tf.cast(tf.image.resize_images(x, [5, 6]), tf.float32),
        tf.image.resize_images(x, [10, 9], preserve_aspect_ratio=True),
        tf.image.resize_nearest_neighbor(x, [3, 3]),
        tf.image.resize_bilinear(x, [3, 3], align_corners=True),
    ],
    "brightness": lambda tf, x: [tf.image.adjust_brightness(x, d) for d in (0.3, -0.4)],
    "contrast": lambda tf, x: [tf.image.adjust_contrast(x, d) for d in (0.3, 2.5)],
    "hue": lambda tf, x: [tf.image.adjust_hue(x, d) for d in (0.2, -0.7)],
    "saturation": lambda tf, x: [tf.image.adjust_saturation(x, d) for d in (0.5, 2.0)],
    "gamma": lambda tf, x: [tf.image.adjust_gamma(x, 2.0), tf.image.adjust_gamma(x, 0.5, 0.9)],
    "grey": lambda tf, x: [
        tf.image.rgb_to_grayscale(x),
        tf.image.grayscale_to_rgb(tf.image.rgb_to_grayscale(x[0])),
    ],
    "standard": lambda tf, x: [
        tf.image.per_image_standardization(x[0]),
        tf.image.per_image_standardization(tf.zeros_like(x[1])),
    ],
    "convert": lambda tf, x: [
        tf.image.convert_image_dtype(x, d, saturate=s)
        for d in (tf.uint8, tf.int16, tf.uint16, tf.float32, tf.float64)
        for s in (False, True)
    ],
    "psnr": lambda tf, x: tf.image.psnr(x, x[::-1], 1.0 if x.dtype == tf.float32 else 255),
    "variation": lambda tf, x: [
        tf.image.total_variation(tf.cast(x, tf.float32)),
        tf.image.total_variation(tf.cast(x[0], tf.float32)),
    ],
    "patches": lambda tf, x: [
        tf.extract_image_patches(x, [1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 2, 1], padding=p) for p in ("SAME", "VALID")
    ],
    "hsv": lambda tf, x: tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(tf.image.convert_image_dtype(x, tf.float32))),
    "boxes": lambda tf, x: tf.image.crop_and_resize(
        x, [[0.1, 0.2, 0.9, 0.8], [0.0, 1.0, 1.0, 0.0]], box_ind=[1, 0], crop_size=[3, 4]
    ),
}


def _flat(made):
    return list(made) if isinstance(made, (list, tuple)) else [made]


@pytest.mark.parametrize("partial", [False, True], ids=["shapes", "ranks"])
@pytest.mark.parametrize("image", [FLOAT, BYTES], ids=["floats", "bytes"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_function(name, image, partial):
    with tfnb.Graph().as_default():
        shape = (None, None, None, 3) if partial else image.shape
        x = tfnb.placeholder(image.dtype, shape)
        made = _flat(EXPRESSIONS[name](tfnb, x))
        ours = evaluate(made, {x: image})
        for t, v in zip(made, ours, strict=True):
            assert t.shape.is_compatible_with(v.shape), f"{t} gave shape {v.shape}"
    with tf1.Graph().as_default(), tf1.Session() as session:
        y = tf1.placeholder(image.dtype, image.shape)
        theirs = session.run(_flat(EXPRESSIONS[name](tf1, y)), {y: image})
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert a.shape == b.shape and a.dtype == b.dtype, f"{k}: {a.dtype}{a.shape}, {b.dtype}{b.shape}"
        # whole numbers may round the other way where the last bits of a sum differ
        exact = {"rtol": 0, "atol": 1} if a.dtype.kind in "iu" else {"rtol": 2e-5, "atol": 1e-5}
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), err_msg=f"value {k}", **exact)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_crosses(channels, dtype):
    image = RNG.integers(0, np.iinfo(dtype).max + 1, (9, 11, channels)).astype(dtype)
    with tfnb.Graph().as_default():
        ours = evaluate(tfnb.image.encode_png(image))
    with tf1.Graph().as_default(), tf1.Session() as session:
        theirs = session.run(tf1.image.encode_png(image))
        read = session.run(tf1.image.decode_png(ours[()], dtype=dtype))
    np.testing.assert_array_equal(read, image)
    with tfnb.Graph().as_default():
        np.testing.assert_array_equal(evaluate(tfnb.image.decode_png(theirs, dtype=dtype)), image)


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_glimpse(centered, normalized):
    offsets = np.array([[0.3, -0.7], [-1.2, 2.5]], np.float32) * (1 if normalized else 2)
    flags = {
        "centered": centered,
        "normalized": normalized,
        "uniform_noise": False,
        "noise": "zero",
    }
    with tfnb.Graph().as_default():
        ours = evaluate(tfnb.image.extract_glimpse(FLOAT, [3, 4], offsets, **flags))
    with tf1.Graph().as_default(), tf1.Session() as session:
        made = tensorflow.raw_ops.ExtractGlimpse(input=FLOAT, size=[3, 4], offsets=offsets, **flags)
        np.testing.assert_array_equal(ours, session.run(made))


def test_jpeg_by_the_fast_transform_is_near():
    """TensorFlow's default transform is the fast one; ours is always the accurate. They differ by a few units."""
    smooth = np.cumsum(RNG.normal(0, 4, (40, 50, 3)), 1)
    image = np.clip(128 + smooth, 0, 255).astype(np.uint8)
    with tfnb.Graph().as_default():
        file = evaluate(tfnb.image.encode_jpeg(image))[()]
        ours = evaluate(tfnb.image.decode_jpeg(file)).astype(int)
    with tf1.Graph().as_default(), tf1.Session() as session:
        theirs = session.run(tf1.image.decode_jpeg(file)).astype(int)
    assert np.abs(ours - theirs).max() <= 8 and np.abs(ours - theirs).mean() < 1.5
