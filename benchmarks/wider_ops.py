"""More operations for the table: images, sparse and dynamic ones, linear algebra, text, updates of variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.op_timing import OpTiming, floats, gradient, indices, one, rows

__all__ = ["WIDER"]

_PHOTOS = (((2, 16, 16, 3),), ((16, 128, 128, 3),))
_IMAGES = (((4, 12, 12, 8),), ((32, 56, 56, 32),))
_SQUARE = (((8, 8),), ((256, 256),))
_STRIDES: dict[str, Any] = {"strides": [1, 1, 1, 1], "padding": "SAME"}


def _resize(method: str, back: bool = False) -> Callable[..., Any]:
    def build(tf: Any, x: Any) -> Any:
        y = getattr(tf.image, method)(x, [int(x.shape[1]) * 7 // 4, int(x.shape[2]) * 7 // 4])
        return gradient(tf, y, x) if back else y

    return build


def _dense(name: str, *more: float) -> Callable[..., Any]:
    def build(tf: Any, x: Any) -> Any:
        return getattr(tf.train, name)(0.1, *more).apply_gradients([(x, tf.Variable(tf.zeros(x.shape)))])

    return build


def _sparse(name: str) -> Callable[..., Any]:
    """Updates as many rows as x has, in a table of 200 or 200,000."""

    def build(tf: Any, x: Any) -> Any:
        table = 200 if rows(x) < 100 else 200_000
        v = tf.Variable(tf.zeros([table, int(x.shape[1])]))
        slices = tf.IndexedSlices(x, tf.constant(indices((rows(x),), table)), v.shape)
        return getattr(tf.train, name)(0.1).apply_gradients([(slices, v)])

    return build


def _sparse_product(tf: Any, x: Any) -> Any:
    """A sparse matrix with ten elements in a row times a dense one."""
    n, rng = rows(x), np.random.RandomState(3)
    number = np.unique(rng.randint(0, n * n, n * 10))
    at = np.stack([number // n, number % n], 1).astype(np.int64)
    values = tf.Variable(rng.rand(len(number)).astype(np.float32)).value()
    return tf.sparse_tensor_dense_matmul(tf.SparseTensor(at, values, [n, n]), x)


def _crops(tf: Any, x: Any) -> Any:
    n = rows(x) * 4
    box = np.sort(np.random.RandomState(0).rand(n, 2, 2), 1).reshape(n, 4).astype(np.float32)
    return tf.image.crop_and_resize(x, tf.constant(box), tf.constant(indices((n,), rows(x))), [24, 24])


def _ctc(tf: Any, x: Any) -> Any:
    t, b, c = (int(d) for d in x.shape)
    at = np.array([[i, j] for i in range(b) for j in range(t // 4)], np.int64)
    labels = tf.SparseTensor(at, tf.constant(indices((len(at),), c - 1)), [b, t // 4])
    return tf.nn.ctc_loss(labels, x, tf.constant(np.full(b, t, np.int32)))


def _lookup(tf: Any, x: Any) -> Any:
    """Bags of three rows each."""
    n = 30 if rows(x) < 100 else 3000
    at = np.stack([np.arange(n * 3) // 3, np.arange(n * 3) % 3], 1).astype(np.int64)
    ids = tf.SparseTensor(at, tf.constant(indices((n * 3,), rows(x)).astype(np.int64)), [n, 3])
    return tf.nn.embedding_lookup_sparse(x, ids, None, combiner="mean")


def _lstm(tf: Any, x: Any) -> Any:
    """One step of an LSTM cell from a state of ones."""
    n = int(x.shape[1])
    w = tf.Variable(floats(np.random.RandomState(2), (2 * n, 4 * n)) - np.float32(0.6))
    gates = tf.matmul(tf.concat([x, tf.ones_like(x)], 1), w) + tf.Variable(tf.zeros([4 * n]))
    i, j, f, o = tf.split(gates, 4, 1)
    c = tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
    return tf.tanh(c) * tf.sigmoid(o)


def _parsed(tf: Any, x: Any) -> Any:
    made = tf.train.Example(
        features=tf.train.Features(
            feature={
                "a": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0] * 20)),
                "b": tf.train.Feature(int64_list=tf.train.Int64List(value=[3])),
            }
        )
    ).SerializeToString()
    records = tf.Variable(np.array([made] * rows(x), object), dtype=tf.string)
    wanted = {"a": tf.FixedLenFeature([20], tf.float32), "b": tf.FixedLenFeature([], tf.int64)}
    return tf.parse_example(records.value(), wanted)["a"]


def _read_numbers(tf: Any, x: Any) -> Any:
    texts = [b"%.6f" % v for v in np.random.RandomState(0).rand(rows(x))]
    return tf.string_to_number(tf.Variable(np.array(texts, object), dtype=tf.string).value())


def _decoded(kind: str) -> Callable[..., Any]:
    def build(tf: Any, x: Any) -> Any:
        at = np.arange(rows(x))
        pixels = (np.add.outer(at, at)[..., None] % 256 + np.zeros(3)).astype(np.uint8)
        with tf.Graph().as_default(), tf.Session() as session:
            data = session.run(getattr(tf.image, f"encode_{kind}")(pixels))
        return getattr(tf.image, f"decode_{kind}")(tf.Variable(data, dtype=tf.string).value())

    return build


def _whole(tf: Any, x: Any, most: float) -> Any:
    return tf.cast(x * most, tf.int32)


def _stitched(tf: Any, x: Any) -> Any:
    even, odd = (np.arange(k, rows(x), 2, dtype=np.int32) for k in (0, 1))
    return tf.dynamic_stitch([tf.constant(even), tf.constant(odd)], [x[::2], x[1::2]])


def _sevens(tf: Any, x: Any) -> Any:
    """Seven rows to a segment."""
    return tf.constant(np.arange(rows(x), dtype=np.int32) // 7)


def _positive(rng: np.random.RandomState, shape: tuple[int, ...]) -> np.ndarray:
    a = rng.rand(*shape).astype(np.float32)
    return np.asarray(a @ a.T + np.eye(len(a), dtype=np.float32) * len(a))


def _depthwise(tf: Any, x: Any, f: Any) -> Any:
    return tf.nn.depthwise_conv2d(x, f, **_STRIDES)


_DEPTHWISE = (((4, 12, 12, 8), (3, 3, 8, 1)), ((16, 56, 56, 32), (3, 3, 32, 1)))
_VOLUMES = (((2, 4, 6, 6, 4), (3, 3, 3, 4, 4)), ((4, 16, 28, 28, 16), (3, 3, 3, 16, 16)))

WIDER = (
    OpTiming("resize_bilinear", _resize("resize_bilinear"), *_PHOTOS),
    OpTiming("resize_nearest", _resize("resize_nearest_neighbor"), *_PHOTOS),
    OpTiming("resize_bicubic", _resize("resize_bicubic"), *_PHOTOS),
    OpTiming("resize_area", _resize("resize_area"), *_PHOTOS),
    OpTiming("resize_bilinear gradient", _resize("resize_bilinear", True), *_PHOTOS),
    OpTiming("resize_nearest gradient", _resize("resize_nearest_neighbor", True), *_PHOTOS),
    OpTiming("crop_and_resize", _crops, *_PHOTOS),
    OpTiming("rgb_to_hsv", lambda tf, x: tf.image.rgb_to_hsv(x), *_PHOTOS),
    OpTiming("adjust_contrast", lambda tf, x: tf.image.adjust_contrast(x, 1.5), *_PHOTOS),
    OpTiming("decode_png", _decoded("png"), ((32, 1),), ((512, 1),)),
    OpTiming("decode_jpeg", _decoded("jpeg"), ((32, 1),), ((512, 1),)),
    OpTiming(
        "conv1d", lambda tf, x, f: tf.nn.conv1d(x, f, 1, "SAME"), ((4, 20, 8), (3, 8, 8)), ((32, 512, 64), (3, 64, 64))
    ),
    OpTiming("conv3d", lambda tf, x, f: tf.nn.conv3d(x, f, [1] * 5, "SAME"), *_VOLUMES),
    OpTiming("depthwise input gradient", lambda tf, x, f: gradient(tf, _depthwise(tf, x, f), x), *_DEPTHWISE),
    OpTiming("depthwise filter grad", lambda tf, x, f: gradient(tf, _depthwise(tf, x, f), f), *_DEPTHWISE),
    OpTiming(
        "dilation2d",
        lambda tf, x, f: tf.nn.dilation2d(x, f, [1] * 4, [1] * 4, "SAME"),
        ((4, 12, 12, 8), (3, 3, 8)),
        ((4, 56, 56, 32), (3, 3, 32)),
    ),
    OpTiming("space_to_depth", lambda tf, x: tf.space_to_depth(x, 2), *_IMAGES),
    OpTiming("depth_to_space", lambda tf, x: tf.depth_to_space(x, 2), *_IMAGES),
    OpTiming("space_to_batch", lambda tf, x: tf.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]]), *_IMAGES),
    OpTiming(
        "extract patches",
        lambda tf, x: tf.extract_image_patches(x, [1, 3, 3, 1], [1] * 4, [1] * 4, "SAME"),
        ((4, 12, 12, 8),),
        ((8, 56, 56, 16),),
    ),
    one("reduce_prod", lambda tf, x: tf.reduce_prod(x)),
    one("reduce_any", lambda tf, x: tf.reduce_any(x > 2.0)),
    one("reduce_logsumexp", lambda tf, x: tf.reduce_logsumexp(x, 1)),
    one("reduce_max columns", lambda tf, x: tf.reduce_max(x, 0)),
    one("cumsum columns", lambda tf, x: tf.cumsum(x, 0)),
    one("cumprod", lambda tf, x: tf.cumprod(x, 1)),
    one("segment_sum", lambda tf, x: tf.segment_sum(x, _sevens(tf, x))),
    one("segment_max", lambda tf, x: tf.segment_max(x, _sevens(tf, x))),
    one(
        "sparse_segment_mean",
        lambda tf, x: tf.sparse_segment_mean(x, tf.constant(indices((rows(x),), rows(x))), _sevens(tf, x)),
    ),
    one("embedding_lookup_sparse", _lookup, large=(50_000, 64)),
    one("scatter_nd", lambda tf, x: tf.scatter_nd(tf.constant(indices((rows(x), 1), rows(x))), x, x.shape)),
    one("gather_nd", lambda tf, x: tf.gather_nd(x, tf.constant(indices((1000, 2), rows(x))))),
    one("sparse matmul", _sparse_product, large=(1024, 256)),
    one("unique", lambda tf, x: tf.unique(_whole(tf, x[:, 0], 50.0))[0], large=(100_000, 2)),
    one("where indices", lambda tf, x: tf.where(x > 0.6)),
    one("boolean_mask", lambda tf, x: tf.boolean_mask(x, x[:, 0] > 0.6)),
    one("dynamic_partition", lambda tf, x: tf.dynamic_partition(x, _whole(tf, x[:, 0], 1.9), 3)[0]),
    one("dynamic_stitch", _stitched),
    one("top_k 50", lambda tf, x: tf.nn.top_k(x, min(50, int(x.shape[1])))[0]),
    one("in_top_k", lambda tf, x: tf.nn.in_top_k(x, tf.constant(indices((rows(x),), 20)), 5)),
    one("sort", lambda tf, x: tf.sort(x), large=(256, 1024)),
    one("reverse", lambda tf, x: tf.reverse(x, [1])),
    one("reverse_sequence", lambda tf, x: tf.reverse_sequence(x, tf.constant(indices((rows(x),), 20)), 1)),
    one("matrix_band_part", lambda tf, x: tf.matrix_band_part(x, 2, 3)),
    one("bincount", lambda tf, x: tf.bincount(_whole(tf, x, 9.0))),
    one("histogram", lambda tf, x: tf.histogram_fixed_width(x, [0.0, 1.0], 50)),
    one("erf", lambda tf, x: tf.erf(x)),
    one("lgamma", lambda tf, x: tf.lgamma(x)),
    one("digamma", lambda tf, x: tf.digamma(x)),
    one("floormod", lambda tf, x: tf.floormod(x, 0.3)),
    one("clip_by_norm", lambda tf, x: tf.clip_by_norm(x, 1.0)),
    OpTiming("inverse", lambda tf, x: tf.matrix_inverse(x), *_SQUARE, make=_positive),
    OpTiming("cholesky", lambda tf, x: tf.cholesky(x), *_SQUARE, make=_positive),
    OpTiming("svd", lambda tf, x: tf.svd(x)[0], ((8, 8),), ((128, 128),), make=_positive),
    one("fft", lambda tf, x: tf.fft(tf.complex(x, x))),
    one("rfft", lambda tf, x: tf.real(tf.spectral.rfft(x))),
    OpTiming("lrn gradient", lambda tf, x: gradient(tf, tf.nn.local_response_normalization(x), x), *_IMAGES),
    OpTiming("ctc_loss", _ctc, ((20, 4, 10),), ((100, 32, 40),)),
    OpTiming("lstm cell", _lstm, ((4, 16),), ((64, 512),)),
    OpTiming("lstm cell gradient", lambda tf, x: gradient(tf, _lstm(tf, x), x), ((4, 16),), ((64, 512),)),
    one("adam dense", _dense("AdamOptimizer")),
    one("adagrad dense", _dense("AdagradOptimizer")),
    one("momentum dense", _dense("MomentumOptimizer", 0.9)),
    one("sgd sparse", _sparse("GradientDescentOptimizer"), large=(1000, 64)),
    one("adagrad sparse", _sparse("AdagradOptimizer"), large=(1000, 64)),
    one("adam sparse", _sparse("AdamOptimizer"), large=(1000, 64)),
    one("truncated_normal", lambda tf, x: tf.truncated_normal(x.shape)),
    one("random_shuffle", lambda tf, x: tf.random_shuffle(x[:, 0]), large=(100_000, 2)),
    one("multinomial", lambda tf, x: tf.multinomial(x, 20), large=(128, 1024)),
    one("random_gamma", lambda tf, x: tf.random_gamma(x.shape, 2.0), large=(64, 1024)),
    one("as_string", lambda tf, x: tf.as_string(x[:, 0]), large=(50_000, 2)),
    one("string_to_number", _read_numbers, large=(50_000, 2)),
    one(
        "string hash",
        lambda tf, x: tf.string_to_hash_bucket_fast(tf.as_string(_whole(tf, x[:, 0], 1e6)), 100),
        large=(10_000, 2),
    ),
    OpTiming("parse_example", _parsed, ((16, 1),), ((512, 1),)),
)
