"""Random numbers that are a function of shape and seed alone (`tf.random.stateless_uniform` and its like).

The generator is Philox-4x32-10, whose key and counter are mixed from the two numbers of the seed as in TensorFlow, so
that a seed gives TensorFlow's numbers. Invariant: a node is pure, so equal nodes may be merged; all run on the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.math.binary import ADD, MUL
from tfnb.types import INDEX, DType, DTypeLike, Shape, as_dtype, float16, float32, float64, int64

__all__ = ["API", "OPS"]

_M = np.uint64(0xFFFFFFFF)
_FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = 0x9E3779B9, 0xBB67AE85


def _philox(key: tuple[int, int], counters: np.ndarray) -> np.ndarray:
    """Four words (n, 4) for each of the counters (n, 4)."""
    a, b, c, d = (counters[:, i].astype(np.uint64) for i in range(4))
    k0, k1 = key
    for _ in range(10):
        p, q = a * _FACTORS[0], c * _FACTORS[1]
        a, b, c, d = (q >> np.uint64(32)) ^ b ^ np.uint64(k0), q & _M, (p >> np.uint64(32)) ^ d ^ np.uint64(k1), p & _M
        k0, k1 = (k0 + _STEPS[0]) & 0xFFFFFFFF, (k1 + _STEPS[1]) & 0xFFFFFFFF
    return np.stack([a, b, c, d], 1).astype(np.uint32)


class _Stream:
    """The words of a seed: groups of four, by the number of the group."""

    def __init__(self, seed: np.ndarray) -> None:
        low = [int(v) & 0xFFFFFFFFFFFFFFFF for v in seed]
        words = [low[0] & 0xFFFFFFFF, low[0] >> 32, low[1] & 0xFFFFFFFF, low[1] >> 32]
        mixed = [int(w) for w in _philox((0x3EC8F720, 0x02461E29), np.array([words], np.uint64))[0]]
        self._key = mixed[0], mixed[1]
        self._start = mixed[2], mixed[3]

    def groups(self, first: int, count: int) -> np.ndarray:
        """Returns the words (count, 4) of `count` groups from the group `first` on."""
        numbers = np.uint64(first) + np.arange(count, dtype=np.uint64)
        counters = np.empty((count, 4), np.uint64)
        counters[:, 0], counters[:, 1] = numbers & _M, numbers >> np.uint64(32)
        counters[:, 2], counters[:, 3] = self._start
        return _philox(self._key, counters)


def _unit(words: np.ndarray) -> np.ndarray:
    """Floats in [0, 1) of 23 bits."""
    bits = (words & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)
    return bits.view(np.float32) - np.float32(1)


def _unit_double(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Doubles in [0, 1) of 52 bits."""
    bits = (np.uint64(1023) << np.uint64(52)) | ((high.astype(np.uint64) & np.uint64(0xFFFFF)) << np.uint64(32)) | low
    return bits.view(np.float64) - 1.0


def _uniform(stream: _Stream, n: int, dtype: DType) -> np.ndarray:
    if dtype is float64:
        pairs = stream.groups(0, -(-n // 2)).reshape(-1, 2)
        return _unit_double(pairs[:, 0], pairs[:, 1])
    words = stream.groups(0, -(-n // 4)).reshape(-1)
    if dtype is float16:
        bits = (words & np.uint32(0x3FF)) | np.uint32(15 << 10)
        return np.asarray(bits.astype(np.uint16).view(np.float16) - np.float16(1))
    return _unit(words)


def _normal_pairs(words: np.ndarray, double: bool) -> np.ndarray:
    """Two normal numbers of each row, of two words, or of four for doubles, by Box and Muller."""
    if double:
        u, v = _unit_double(words[:, 0], words[:, 1]), _unit_double(words[:, 2], words[:, 3])
        u = np.maximum(u, 1.0e-7)
    else:
        u, v = np.maximum(_unit(words[:, 0]), np.float32(1.0e-7)), _unit(words[:, 1])
    angle = u.dtype.type(2 * math.pi) * v
    radius = np.sqrt(u.dtype.type(-2) * np.log(u))
    return np.stack([np.sin(angle) * radius, np.cos(angle) * radius], 1)


def _normal(stream: _Stream, n: int, dtype: DType) -> np.ndarray:
    if dtype is float64:
        return _normal_pairs(stream.groups(0, -(-n // 2)), True).reshape(-1)
    return _normal_pairs(stream.groups(0, -(-n // 4)).reshape(-1, 2), False).reshape(-1)


_RESERVED = 256  # words that TensorFlow sets aside for each number


def _truncated(stream: _Stream, n: int, dtype: DType) -> np.ndarray:
    double = dtype is float64
    size, width = (2, 4) if double else (4, 2)
    found = np.empty((-(-n // size), size), np.float64 if double else np.float32)
    for group, out in enumerate(found):
        filled, at = 0, group * size * _RESERVED // 4
        while filled < size:
            pairs = _normal_pairs(stream.groups(at, 4).reshape(-1, width), double).reshape(-1)
            inside = pairs[np.abs(pairs) < 2.0][: size - filled]
            out[filled : filled + inside.size] = inside
            filled, at = filled + inside.size, at + 4
    return found.reshape(-1)


def _dims(call: HostCall, shape: np.ndarray, seed: np.ndarray) -> tuple[int, ...]:
    if seed.shape != (2,):
        raise InvalidArgumentError(f"seed must have shape [2], not {list(seed.shape)}", call.op)
    dims = tuple(int(d) for d in shape)
    if any(d < 0 for d in dims):
        raise InvalidArgumentError(f"{call.op.type}: needed a shape of numbers >= 0, got {dims}", call.op)
    return dims


def _host(of: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def kernel(call: HostCall, shape: np.ndarray, seed: np.ndarray) -> np.ndarray:
        dims, dtype = _dims(call, shape, seed), call.outputs[0].dtype
        n = math.prod(dims)
        return of(_Stream(seed), n, dtype)[:n].astype(dtype.np, copy=False).reshape(dims)

    return kernel


def _of_shape(c: Infer) -> Shape:
    if not c.shapes[1].is_compatible_with(Shape((2,))):
        raise ShapeError(f"{c.op_name}: seed must have shape [2], not {c.shapes[1]}")
    return c.as_shape(0)


_DOC = """{what}

    shape: an integer vector. seed: two integers, on which the numbers depend alone. output: that shape.{more} Errors:
    the seed has another shape. Runs on the host."""


def _op(name: str, of: Callable[..., np.ndarray], what: str) -> OpDef[Tensor]:
    return OpDef(
        name,
        "shape: T, seed: Tseed",
        "output: dtype",
        _DOC.format(what=what, more=""),
        types={"T": INDEX, "Tseed": INDEX, "dtype": (float16, float32, float64)},
        infer=_of_shape,
        host=_host(of),
        grad=NOT_DIFFERENTIABLE,
        shape_inputs=(0,),
        defaults={"dtype": float32},
    )


STATELESS_UNIFORM = _op("StatelessRandomUniform", _uniform, "Uniformly distributed numbers in [0, 1).")
STATELESS_NORMAL = _op("StatelessRandomNormal", _normal, "Normally distributed numbers with mean 0 and deviation 1.")
STATELESS_TRUNCATED = _op(
    "StatelessTruncatedNormal", _truncated, "Normally distributed numbers with deviation 1, restricted to (-2, 2)."
)


def _host_int(call: HostCall, shape: np.ndarray, seed: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    dims = _dims(call, shape, seed)
    n, first, last = math.prod(dims), int(low.reshape(())), int(high.reshape(()))
    if first >= last:
        raise InvalidArgumentError(f"Need minval < maxval, got {first} >= {last}", call.op)
    if low.dtype == np.int32:
        words = _Stream(seed).groups(0, -(-n // 4)).reshape(-1)[:n]
        values = (words % np.uint32(last - first)).astype(np.int64) + first
        return values.astype(np.int32).reshape(dims)
    pairs = _Stream(seed).groups(0, -(-n // 2)).reshape(-1, 2)[:n].astype(np.uint64)
    long = pairs[:, 0] | (pairs[:, 1] << np.uint64(32))
    offset = long % np.uint64((last - first) & 0xFFFFFFFFFFFFFFFF)
    return (offset + np.uint64(first & 0xFFFFFFFFFFFFFFFF)).astype(np.int64).reshape(dims)


STATELESS_UNIFORM_INT: OpDef[Tensor] = OpDef(
    "StatelessRandomUniformInt",
    "shape: T, seed: Tseed, minval: dtype, maxval: dtype",
    "output: dtype",
    _DOC.format(what="Uniformly distributed integers in [minval, maxval).", more=" minval, maxval: scalars."),
    types={"T": INDEX, "Tseed": INDEX, "dtype": INDEX},
    infer=_of_shape,
    host=_host_int,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(0,),
)


def _infer_draws(c: Infer) -> Shape:
    logits, count = with_rank(c, 0, 2), c.value(1)
    return Shape(((logits.sizes or (None,))[0], None if count is None else int(count.reshape(()))))


def _host_draws(call: HostCall, logits: np.ndarray, count: np.ndarray, seed: np.ndarray) -> np.ndarray:
    n, dtype = int(count.reshape(())), call.outputs[0].dtype
    _dims(call, np.array([n]), seed)
    rows, stream = logits.shape[0], _Stream(seed)
    if not logits.shape[1]:
        raise InvalidArgumentError(f"num_classes should be positive, got {logits.shape[1]}", call.op)
    per_row = -(-n // 2)  # groups of four words give two doubles
    words = stream.groups(0, -(-rows * n // 2) + per_row).reshape(-1, 2)
    draws = _unit_double(words[:, 0], words[:, 1])
    out = np.empty((rows, n), dtype.np)
    for i, row in enumerate(logits.astype(np.float64)):
        finite = np.isfinite(row)
        top = row[finite].max() if finite.any() else 0.0
        totals = np.cumsum(np.where(finite, np.exp(np.where(finite, row, 0.0) - top), 0.0))
        found = np.searchsorted(totals, draws[i * n : (i + 1) * n] * totals[-1], side="right")
        out[i] = np.minimum(found, row.size - 1)
    return out


STATELESS_MULTINOMIAL: OpDef[Tensor] = OpDef(
    "StatelessMultinomial",
    "logits: T, num_samples: int32, seed: Tseed",
    "output: output_dtype",
    """Draws classes by the unnormalised logarithms of their probabilities.

    logits: shape (batch, classes). num_samples: a scalar. seed: two integers, on which the draws depend alone. output:
    int32 or int64, (batch, num_samples). Errors: there are no classes, the seed has another shape. Host only.""",
    types={"T": (float16, float32, float64), "Tseed": INDEX, "output_dtype": INDEX},
    infer=_infer_draws,
    host=_host_draws,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(1,),
    defaults={"output_dtype": int64},
)

OPS: tuple[OpDef, ...] = (
    STATELESS_UNIFORM,
    STATELESS_NORMAL,
    STATELESS_TRUNCATED,
    STATELESS_UNIFORM_INT,
    STATELESS_MULTINOMIAL,
)


def _vector(shape: TensorLike) -> Any:
    return shape if is_tensor_like(shape) else np.asarray(shape, np.int32).reshape(-1)


def _integers(seed: TensorLike) -> Any:
    return seed if is_tensor_like(seed) else np.asarray(seed, np.int64)


def stateless_uniform(
    shape: TensorLike,
    seed: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Returns uniformly distributed numbers in [minval, maxval) that depend on shape and seed alone.

    seed: two integers. dtype: a float, or int32 or int64, which need `maxval`. Raises `InvalidArgumentError` for
    integers without it.
    """
    kind = as_dtype(dtype)
    graph = graph_of((shape, seed, minval, maxval))
    with graph.as_default(), graph.name_scope(name or "stateless_random_uniform"):
        if kind.is_integer:
            if maxval is None:
                raise InvalidArgumentError(f"stateless_uniform: Must specify maxval for integer dtype {kind.name}")
            limits = (graph.to_tensor(v, kind) for v in (minval, maxval))
            return STATELESS_UNIFORM_INT(_vector(shape), _integers(seed), *limits)
        low = graph.to_tensor(minval, kind)
        span = graph.to_tensor(1 if maxval is None else maxval, kind) - low
        return ADD(MUL(STATELESS_UNIFORM(_vector(shape), _integers(seed), dtype=kind), span), low)


def _scaled(
    op: OpDef, shape: TensorLike, seed: TensorLike, mean: TensorLike, stddev: TensorLike, dtype: DTypeLike, name: str
) -> Tensor:
    kind = as_dtype(dtype)
    graph = graph_of((shape, seed, mean, stddev))
    with graph.as_default(), graph.name_scope(name):
        numbers = op(_vector(shape), _integers(seed), dtype=kind)
        return ADD(MUL(numbers, graph.to_tensor(stddev, kind)), graph.to_tensor(mean, kind))


def stateless_normal(
    shape: TensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Any:
    """Returns normally distributed numbers that depend on shape and seed, two integers, alone. dtype: a float."""
    return _scaled(STATELESS_NORMAL, shape, seed, mean, stddev, dtype, name or "stateless_random_normal")


def stateless_truncated_normal(
    shape: TensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Any:
    """Returns normally distributed numbers within two deviations that depend on shape and seed alone.

    seed: two integers. dtype: a float.
    """
    return _scaled(STATELESS_TRUNCATED, shape, seed, mean, stddev, dtype, name or "stateless_truncated_normal")


def stateless_multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    output_dtype: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Returns classes (batch, num_samples) drawn by `logits` (batch, classes): see the op StatelessMultinomial."""
    kind = as_dtype(output_dtype)
    return STATELESS_MULTINOMIAL(logits, num_samples, _integers(seed), output_dtype=kind, name=name)


def stateless_categorical(
    logits: TensorLike, num_samples: TensorLike, seed: TensorLike, dtype: DTypeLike = int64, name: str | None = None
) -> Any:
    """Returns classes (batch, num_samples) drawn by `logits` (batch, classes): see the op StatelessMultinomial."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name)


API: dict[str, Any] = {
    f"random.{function.__name__}": function
    for function in (
        stateless_uniform,
        stateless_normal,
        stateless_truncated_normal,
        stateless_multinomial,
        stateless_categorical,
    )
}
