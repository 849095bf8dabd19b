"""The table of operations: each in a small and a large size, ours against TensorFlow's in one run.

Inputs are variables, so nothing is folded away and nothing is fed; the result is fetched. Written once for both
systems: `build(tf, *inputs)` gives the tensor. Invariant: an op slower than half of TensorFlow's speed has a line in
`WHY`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.op_timing import OpTiming, floats, gradient, indices, one, rows, two
from benchmarks.wider_ops import WIDER

__all__ = ["OPS", "WHY", "make_op"]


def make_op(tf: Any, name: str, size: str) -> Callable[[], Any]:
    """A function that runs the op once in a session of its own graph."""
    op = next(o for o in OPS if o.name == name)
    rng = np.random.RandomState(0)
    shapes = op.small if size == "small" else op.large
    inputs = [tf.Variable((op.make or floats)(rng, s)) for s in shapes]
    result = op.build(tf, *(v.value() for v in inputs))
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return lambda: session.run(result)


_IMAGES = (((4, 12, 12, 8),), ((32, 56, 56, 32),))
_FILTERED = (((4, 12, 12, 8), (3, 3, 8, 8)), ((16, 56, 56, 32), (3, 3, 32, 32)))
_WINDOW: dict[str, Any] = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
_STRIDES: dict[str, Any] = {"strides": [1, 1, 1, 1], "padding": "SAME"}


def _normalised(tf: Any, x: Any) -> Any:
    n = int(x.shape[-1])
    return tf.nn.fused_batch_norm(x, tf.ones([n]), tf.zeros([n]))[0]


def _entropy(tf: Any, x: Any) -> Any:
    labels = tf.constant(indices((rows(x),), int(x.shape[1])))
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)


def _segments(tf: Any, x: Any) -> Any:
    return tf.unsorted_segment_sum(x, tf.constant(indices((rows(x),), 10)), 10)


OPS = (
    two("add", lambda tf, x, y: x + y),
    two("mul", lambda tf, x, y: x * y),
    two("div", lambda tf, x, y: x / y),
    OpTiming("add row vector", lambda tf, x, y: x + y, ((20, 30), (30,)), ((1024, 1024), (1024,))),
    one("exp", lambda tf, x: tf.exp(x)),
    one("log", lambda tf, x: tf.log(x)),
    one("tanh", lambda tf, x: tf.tanh(x)),
    one("sigmoid", lambda tf, x: tf.sigmoid(x)),
    one("sqrt", lambda tf, x: tf.sqrt(x)),
    one("rsqrt", lambda tf, x: tf.rsqrt(x)),
    two("pow", lambda tf, x, y: tf.pow(x, y)),
    one("sin", lambda tf, x: tf.sin(x)),
    one("relu", lambda tf, x: tf.nn.relu(x - 0.5)),
    one("softplus", lambda tf, x: tf.nn.softplus(x)),
    two("maximum", lambda tf, x, y: tf.maximum(x, y)),
    two("greater", lambda tf, x, y: tf.greater(x, y)),
    two("where", lambda tf, x, y: tf.where(x > y, x, y)),
    one("cast to int32", lambda tf, x: tf.cast(x * 9.0, tf.int32)),
    one("clip_by_value", lambda tf, x: tf.clip_by_value(x, 0.2, 0.7)),
    one("reduce_sum", lambda tf, x: tf.reduce_sum(x)),
    one("reduce_sum rows", lambda tf, x: tf.reduce_sum(x, 1)),
    one("reduce_sum columns", lambda tf, x: tf.reduce_sum(x, 0)),
    one("reduce_mean", lambda tf, x: tf.reduce_mean(x)),
    one("reduce_max rows", lambda tf, x: tf.reduce_max(x, 1)),
    one("argmax", lambda tf, x: tf.argmax(x, 1)),
    one("softmax", lambda tf, x: tf.nn.softmax(x)),
    one("log_softmax", lambda tf, x: tf.nn.log_softmax(x)),
    one("sparse cross entropy", _entropy),
    two("sigmoid cross entropy", lambda tf, x, y: tf.nn.sigmoid_cross_entropy_with_logits(logits=x, labels=y)),
    one("l2_loss", lambda tf, x: tf.nn.l2_loss(x)),
    OpTiming("matmul", lambda tf, x, y: tf.matmul(x, y), ((20, 30), (30, 20)), ((512, 512), (512, 512))),
    OpTiming(
        "matmul transposed",
        lambda tf, x, y: tf.matmul(x, y, transpose_b=True),
        ((20, 30), (20, 30)),
        ((512, 512), (512, 512)),
    ),
    OpTiming("batch matmul", lambda tf, x, y: tf.matmul(x, y), ((4, 8, 8), (4, 8, 8)), ((64, 64, 64), (64, 64, 64))),
    OpTiming("matrix times vector", lambda tf, x, y: tf.matmul(x, y), ((30, 30), (30, 1)), ((1024, 1024), (1024, 1))),
    OpTiming("bias_add", lambda tf, x, y: tf.nn.bias_add(x, y), ((20, 30), (30,)), ((1024, 1024), (1024,))),
    OpTiming("conv2d", lambda tf, x, f: tf.nn.conv2d(x, f, **_STRIDES), *_FILTERED),
    OpTiming("conv2d input gradient", lambda tf, x, f: gradient(tf, tf.nn.conv2d(x, f, **_STRIDES), x), *_FILTERED),
    OpTiming("conv2d filter gradient", lambda tf, x, f: gradient(tf, tf.nn.conv2d(x, f, **_STRIDES), f), *_FILTERED),
    OpTiming(
        "depthwise conv2d",
        lambda tf, x, f: tf.nn.depthwise_conv2d(x, f, **_STRIDES),
        ((4, 12, 12, 8), (3, 3, 8, 1)),
        ((16, 56, 56, 32), (3, 3, 32, 1)),
    ),
    OpTiming("max_pool", lambda tf, x: tf.nn.max_pool(x, **_WINDOW), *_IMAGES),
    OpTiming("max_pool gradient", lambda tf, x: gradient(tf, tf.nn.max_pool(x, **_WINDOW), x), *_IMAGES),
    OpTiming("avg_pool", lambda tf, x: tf.nn.avg_pool(x, **_WINDOW), *_IMAGES),
    OpTiming("batch norm", _normalised, *_IMAGES),
    OpTiming("moments", lambda tf, x: tf.nn.moments(x, [0, 1, 2])[1], *_IMAGES),
    OpTiming("lrn", lambda tf, x: tf.nn.local_response_normalization(x), *_IMAGES),
    one("transpose", lambda tf, x: tf.transpose(x)),
    OpTiming("transpose channels", lambda tf, x: tf.transpose(x, [0, 3, 1, 2]), *_IMAGES),
    two("concat rows", lambda tf, x, y: tf.concat([x, y], 0)),
    two("concat columns", lambda tf, x, y: tf.concat([x, y], 1)),
    two("stack", lambda tf, x, y: tf.stack([x, y])),
    one("slice", lambda tf, x: x[1:-1, 2:-2]),
    one("strided slice", lambda tf, x: x[::2, ::2]),
    one("pad", lambda tf, x: tf.pad(x, [[1, 1], [2, 2]])),
    one("tile", lambda tf, x: tf.tile(x, [2, 2])),
    one("gather", lambda tf, x: tf.gather(x, tf.constant(indices((64,), rows(x)))), large=(50_000, 64)),
    one(
        "gather gradient",
        lambda tf, x: tf.convert_to_tensor(gradient(tf, tf.gather(x, tf.constant(indices((64,), rows(x)))), x)),
        large=(5_000, 64),
    ),
    one("unsorted_segment_sum", _segments),
    one("one_hot", lambda tf, x: tf.one_hot(tf.cast(x[:, 0] * 9.0, tf.int32), 100)),
    one("cumsum", lambda tf, x: tf.cumsum(x, 1)),
    one("top_k", lambda tf, x: tf.nn.top_k(x, 5)[0]),
    one("random_normal", lambda tf, x: tf.random_normal(x.shape)),
    one("random_uniform", lambda tf, x: tf.random_uniform(x.shape)),
    one("dropout", lambda tf, x: tf.nn.dropout(x, 0.5)),
) + WIDER

# "name size": why an op takes more than twice TensorFlow's time
_ONE_CORE = "on the host, where NumPy works on one core, with a call for each segment"
_PARSED = "each record becomes a message of Python's protobuf, read field by field"
_INVERSE = "by the inverse of the distribution function, so that a seed's samples do not depend on the batch"
_SEARCHED = "float64 cumulative sums, and a NumPy search for each row"
_TIME_STEPS = "its recursions are NumPy calls for each time step, whatever the size"
WHY: dict[str, str] = {
    "adjust_contrast large": "three channels: the means are read element by element",
    "ctc_loss large": _TIME_STEPS,
    "ctc_loss small": _TIME_STEPS,
    "decode_jpeg large": "by Pillow: 0.6 of the 1.0 ms to decode, 0.2 to hand its pixels over",
    "embedding_lookup_sparse large": _ONE_CORE,
    "fft large": "on the host: SciPy's transform takes most of the 4 ms, joining the complex numbers' parts the rest",
    "histogram large": "counts one after the other, each waiting for the last one's store",
    "multinomial large": _SEARCHED,
    "multinomial small": _SEARCHED,
    "parse_example large": _PARSED,
    "random_gamma large": _INVERSE,
    "random_gamma small": _INVERSE,
    "random_shuffle large": "on the host: NumPy's permutation takes 1.3 of the 1.5 ms",
    "segment_max large": _ONE_CORE,
    "segment_sum large": _ONE_CORE,
    "sparse_segment_mean large": _ONE_CORE,
    "string hash large": "texts are Python objects: they are written, measured and joined one by one",
    "string_to_number large": "texts are Python objects, and Python reads each by itself: 8 of the 10 ms",
}
