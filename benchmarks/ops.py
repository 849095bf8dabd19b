"""The table of common operations: each in a small and a large size, ours against TensorFlow's in one run.

Inputs are variables, so nothing is folded away and nothing is fed; the result is fetched. Written once for both
systems: `build(tf, *inputs)` gives the tensor. Invariant: an op slower than half of TensorFlow's speed has a line in
`WHY`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["OPS", "WHY", "OpTiming", "make_op"]

Build = Callable[..., Any]


@dataclass(frozen=True)
class OpTiming:
    """`small` and `large` are the inputs' shapes; `make` gives an input from a random generator and its shape."""

    name: str
    build: Build
    small: tuple[tuple[int, ...], ...]
    large: tuple[tuple[int, ...], ...]
    make: Callable[[np.random.RandomState, tuple[int, ...]], np.ndarray] | None = None


def _floats(rng: np.random.RandomState, shape: tuple[int, ...]) -> np.ndarray:
    return rng.rand(*shape).astype(np.float32) + np.float32(0.1)


def make_op(tf: Any, name: str, size: str) -> Callable[[], Any]:
    """A function that runs the op once in a session of its own graph."""
    op = next(o for o in OPS if o.name == name)
    rng = np.random.RandomState(0)
    shapes = op.small if size == "small" else op.large
    inputs = [tf.Variable((op.make or _floats)(rng, s)) for s in shapes]
    result = op.build(tf, *(v.value() for v in inputs))
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return lambda: session.run(result)


def _indices(shape: tuple[int, ...], high: int) -> np.ndarray:
    return np.random.RandomState(1).randint(0, high, shape).astype(np.int32)


def _rows(x: Any) -> int:
    return int(x.shape[0])


def _gradient(tf: Any, y: Any, x: Any) -> Any:
    return tf.gradients(tf.reduce_sum(y * y), x)[0]


def _one(name: str, build: Build, *, large: tuple[int, ...] = (1024, 1024)) -> OpTiming:
    return OpTiming(name, build, ((20, 30),), (large,))


def _two(name: str, build: Build) -> OpTiming:
    return OpTiming(name, build, ((20, 30), (20, 30)), ((1024, 1024), (1024, 1024)))


_IMAGES = (((4, 12, 12, 8),), ((32, 56, 56, 32),))
_FILTERED = (((4, 12, 12, 8), (3, 3, 8, 8)), ((16, 56, 56, 32), (3, 3, 32, 32)))
_WINDOW: dict[str, Any] = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
_STRIDES: dict[str, Any] = {"strides": [1, 1, 1, 1], "padding": "SAME"}


def _normalised(tf: Any, x: Any) -> Any:
    n = int(x.shape[-1])
    return tf.nn.fused_batch_norm(x, tf.ones([n]), tf.zeros([n]))[0]


def _entropy(tf: Any, x: Any) -> Any:
    labels = tf.constant(_indices((_rows(x),), int(x.shape[1])))
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)


def _segments(tf: Any, x: Any) -> Any:
    return tf.unsorted_segment_sum(x, tf.constant(_indices((_rows(x),), 10)), 10)


OPS = (
    _two("add", lambda tf, x, y: x + y),
    _two("mul", lambda tf, x, y: x * y),
    _two("div", lambda tf, x, y: x / y),
    OpTiming("add row vector", lambda tf, x, y: x + y, ((20, 30), (30,)), ((1024, 1024), (1024,))),
    _one("exp", lambda tf, x: tf.exp(x)),
    _one("log", lambda tf, x: tf.log(x)),
    _one("tanh", lambda tf, x: tf.tanh(x)),
    _one("sigmoid", lambda tf, x: tf.sigmoid(x)),
    _one("sqrt", lambda tf, x: tf.sqrt(x)),
    _one("rsqrt", lambda tf, x: tf.rsqrt(x)),
    _two("pow", lambda tf, x, y: tf.pow(x, y)),
    _one("sin", lambda tf, x: tf.sin(x)),
    _one("relu", lambda tf, x: tf.nn.relu(x - 0.5)),
    _one("softplus", lambda tf, x: tf.nn.softplus(x)),
    _two("maximum", lambda tf, x, y: tf.maximum(x, y)),
    _two("greater", lambda tf, x, y: tf.greater(x, y)),
    _two("where", lambda tf, x, y: tf.where(x > y, x, y)),
    _one("cast to int32", lambda tf, x: tf.cast(x * 9.0, tf.int32)),
    _one("clip_by_value", lambda tf, x: tf.clip_by_value(x, 0.2, 0.7)),
    _one("reduce_sum", lambda tf, x: tf.reduce_sum(x)),
    _one("reduce_sum rows", lambda tf, x: tf.reduce_sum(x, 1)),
    _one("reduce_sum columns", lambda tf, x: tf.reduce_sum(x, 0)),
    _one("reduce_mean", lambda tf, x: tf.reduce_mean(x)),
    _one("reduce_max rows", lambda tf, x: tf.reduce_max(x, 1)),
    _one("argmax", lambda tf, x: tf.argmax(x, 1)),
    _one("softmax", lambda tf, x: tf.nn.softmax(x)),
    _one("log_softmax", lambda tf, x: tf.nn.log_softmax(x)),
    _one("sparse cross entropy", _entropy),
    _two("sigmoid cross entropy", lambda tf, x, y: tf.nn.sigmoid_cross_entropy_with_logits(logits=x, labels=y)),
    _one("l2_loss", lambda tf, x: tf.nn.l2_loss(x)),
    OpTiming("matmul", lambda tf, x, y: tf.matmul(x, y), ((20, 30), (30, 20)), ((512, 512), (512, 512))),
    OpTiming("matmul transposed", lambda tf, x, y: tf.matmul(x, y, transpose_b=True), ((20, 30), (20, 30)),
             ((512, 512), (512, 512))),
    OpTiming("batch matmul", lambda tf, x, y: tf.matmul(x, y), ((4, 8, 8), (4, 8, 8)), ((64, 64, 64), (64, 64, 64))),
    OpTiming("matrix times vector", lambda tf, x, y: tf.matmul(x, y), ((30, 30), (30, 1)), ((1024, 1024), (1024, 1))),
    OpTiming("bias_add", lambda tf, x, y: tf.nn.bias_add(x, y), ((20, 30), (30,)), ((1024, 1024), (1024,))),
    OpTiming("conv2d", lambda tf, x, f: tf.nn.conv2d(x, f, **_STRIDES), *_FILTERED),
    OpTiming("conv2d input gradient", lambda tf, x, f: _gradient(tf, tf.nn.conv2d(x, f, **_STRIDES), x), *_FILTERED),
    OpTiming("conv2d filter gradient", lambda tf, x, f: _gradient(tf, tf.nn.conv2d(x, f, **_STRIDES), f), *_FILTERED),
    OpTiming("depthwise conv2d", lambda tf, x, f: tf.nn.depthwise_conv2d(x, f, **_STRIDES),
             ((4, 12, 12, 8), (3, 3, 8, 1)), ((16, 56, 56, 32), (3, 3, 32, 1))),
    OpTiming("max_pool", lambda tf, x: tf.nn.max_pool(x, **_WINDOW), *_IMAGES),
    OpTiming("max_pool gradient", lambda tf, x: _gradient(tf, tf.nn.max_pool(x, **_WINDOW), x), *_IMAGES),
    OpTiming("avg_pool", lambda tf, x: tf.nn.avg_pool(x, **_WINDOW), *_IMAGES),
    OpTiming("batch norm", _normalised, *_IMAGES),
    OpTiming("moments", lambda tf, x: tf.nn.moments(x, [0, 1, 2])[1], *_IMAGES),
    OpTiming("lrn", lambda tf, x: tf.nn.local_response_normalization(x), *_IMAGES),
    _one("transpose", lambda tf, x: tf.transpose(x)),
    OpTiming("transpose channels", lambda tf, x: tf.transpose(x, [0, 3, 1, 2]), *_IMAGES),
    _two("concat rows", lambda tf, x, y: tf.concat([x, y], 0)),
    _two("concat columns", lambda tf, x, y: tf.concat([x, y], 1)),
    _two("stack", lambda tf, x, y: tf.stack([x, y])),
    _one("slice", lambda tf, x: x[1:-1, 2:-2]),
    _one("strided slice", lambda tf, x: x[::2, ::2]),
    _one("pad", lambda tf, x: tf.pad(x, [[1, 1], [2, 2]])),
    _one("tile", lambda tf, x: tf.tile(x, [2, 2])),
    _one("gather", lambda tf, x: tf.gather(x, tf.constant(_indices((64,), _rows(x)))), large=(50_000, 64)),
    _one("gather gradient", lambda tf, x: tf.convert_to_tensor(
        _gradient(tf, tf.gather(x, tf.constant(_indices((64,), _rows(x)))), x)), large=(5_000, 64)),
    _one("unsorted_segment_sum", _segments),
    _one("one_hot", lambda tf, x: tf.one_hot(tf.cast(x[:, 0] * 9.0, tf.int32), 100)),
    _one("cumsum", lambda tf, x: tf.cumsum(x, 1)),
    _one("top_k", lambda tf, x: tf.nn.top_k(x, 5)[0]),
    _one("random_normal", lambda tf, x: tf.random_normal(x.shape)),
    _one("random_uniform", lambda tf, x: tf.random_uniform(x.shape)),
    _one("dropout", lambda tf, x: tf.nn.dropout(x, 0.5)),
)  # fmt: skip

# "name size": why an op takes more than twice TensorFlow's time
WHY: dict[str, str] = {}
