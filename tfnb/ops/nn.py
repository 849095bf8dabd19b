"""Small pieces of networks: bias, dropout, moments, normalisation, local response (white paper, Table 1).

Invariant: everything but `BiasAdd` and `LRN` is written with other ops, so gradients and fusion come for free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.const import constant_value
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef, ReduceSpec
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import merged, unchanged
from tfnb.ir.tensor import is_tensor_like
from tfnb.ops.activations import RELU
from tfnb.ops.compare import EQUAL
from tfnb.ops.concat import concat
from tfnb.ops.constants import zeros_like
from tfnb.ops.convert import cast_to
from tfnb.ops.losses import scope
from tfnb.ops.math_binary import MAXIMUM, MUL
from tfnb.ops.math_unary import FLOOR, RSQRT
from tfnb.ops.matmul import MAT_MUL
from tfnb.ops.random_functions import random_uniform
from tfnb.ops.reduce import MEAN
from tfnb.ops.reduce_sum import SUM
from tfnb.ops.shaping import RESHAPE, STOP_GRADIENT, shape_of, squeeze
from tfnb.types import FLOATS, NUMBERS, Shape, float32

__all__ = ["API", "BIAS_ADD", "BIAS_ADD_GRAD", "LRN", "LRN_GRAD", "OPS", "dropout", "moments"]


@dataclass(frozen=True, slots=True)
class FormatAttrs:
    """`data_format`: the channels are the last dimension ("NHWC") or the second ("NCHW")."""

    data_format: str = "NHWC"

    def __post_init__(self) -> None:
        if self.data_format not in ("NHWC", "NCHW"):
            raise InvalidArgumentError(
                f'data_format must be "NHWC" or "NCHW", got {self.data_format!r}'
            )


def _channel_axis(a: FormatAttrs, rank: int) -> int:
    return 1 if a.data_format == "NCHW" and rank > 1 else rank - 1


def _infer_bias_add(c: Infer) -> Shape:
    x, bias = c.shapes
    if bias.ndims not in (None, 1):
        raise ShapeError(f"BiasAdd: the bias must be a vector, got shape {bias}")
    if x.dims is None:
        return x
    if len(x.dims) < 2:
        raise ShapeError(f"BiasAdd: the value must have at least 2 dimensions, got shape {x}")
    axis = _channel_axis(c.attrs, len(x.dims))
    size = None if bias.dims is None else bias.dims[0]
    if size is not None and x.dims[axis] not in (None, size):
        raise ShapeError(
            f"BiasAdd: the value has {x.dims[axis]} channels (shape {x}), the bias {size}"
        )
    return Shape(tuple(size if i == axis and d is None else d for i, d in enumerate(x.dims)))


def _bias_like(a: FormatAttrs, bias: Any, rank: int) -> Any:
    """The bias, shaped so that it broadcasts against a value of that rank."""
    axis = _channel_axis(a, rank)
    return (
        bias
        if axis == rank - 1
        else RESHAPE(bias, np.asarray([-1] + [1] * (rank - 1 - axis), np.int32))
    )


def _host_bias_add(call: HostCall, x: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return x + bias.reshape((-1,) + (1,) * (x.ndim - 1 - _channel_axis(call.attrs, x.ndim)))


def _expand_bias_add(op: Any, x: Any, bias: Any) -> Any:
    if op.attrs.data_format == "NHWC":
        return x + bias
    if x.shape.ndims is None:
        raise ShapeError("BiasAdd with NCHW needs a value of known rank", op)
    return x + _bias_like(op.attrs, bias, x.shape.ndims)


def _summed_axes(a: FormatAttrs, rank: int) -> tuple[int, ...]:
    return tuple(i for i in range(rank) if i != _channel_axis(a, rank))


def _infer_bias_grad(c: Infer) -> Shape:
    x = c.shapes[0]
    if x.dims is not None and len(x.dims) < 2:
        raise ShapeError(f"BiasAddGrad: needed at least 2 dimensions, got shape {x}")
    return (
        Shape((None,)) if x.dims is None else Shape((x.dims[_channel_axis(c.attrs, len(x.dims))],))
    )


def _host_bias_grad(call: HostCall, g: np.ndarray) -> np.ndarray:
    wide = np.float32 if g.dtype.itemsize == 2 and g.dtype.kind not in "iu" else g.dtype
    return np.asarray(g.sum(axis=_summed_axes(call.attrs, g.ndim), dtype=wide)).astype(g.dtype)


def _grad_bias_grad(op: Any, g: Any) -> Any:
    return BIAS_ADD(zeros_like(op.x), g, data_format=op.attrs.data_format)


BIAS_ADD = OpDef(
    "BiasAdd",
    "value: T, bias: T",
    "output: T",
    """Adds a vector to the channels of a tensor.

    value: a number type, rank at least 2. bias: a vector as long as value's last dimension, or its second for
    `data_format="NCHW"`. output: dtype and shape of value. Errors: the sizes differ.""",
    types={"T": NUMBERS},
    attrs=FormatAttrs,
    infer=_infer_bias_add,
    host=_host_bias_add,
    expand=_expand_bias_add,
    grad=lambda op, dy: (dy, BIAS_ADD_GRAD(dy, data_format=op.attrs.data_format)),
)

BIAS_ADD_GRAD = OpDef(
    "BiasAddGrad",
    "out_backprop: T",
    "output: T",
    """The gradient of BiasAdd for the bias: the sum over all dimensions but the channels.

    out_backprop: a number type, rank at least 2. output: a vector of the size of the channels.""",
    types={"T": NUMBERS},
    attrs=FormatAttrs,
    infer=_infer_bias_grad,
    host=_host_bias_grad,
    reduce=lambda site: ReduceSpec("sum", _summed_axes(site.attrs, len(site.inputs[0].shape))),
    grad=_grad_bias_grad,
)


@dataclass(frozen=True, slots=True)
class WindowAttrs:
    """`radius`: how many neighbours on each side count."""

    radius: int = 5


@dataclass(frozen=True, slots=True)
class LrnAttrs:
    """`depth_radius`: how many channels on each side count; `bias`, `alpha`, `beta`: the formula's numbers."""

    depth_radius: int = 5
    bias: float = 1.0
    alpha: float = 1.0
    beta: float = 0.5


def _host_window_sum(call: HostCall, x: np.ndarray) -> np.ndarray:
    return _window_sum(x, call.attrs.radius)


def _window_sum(x: np.ndarray, radius: int) -> np.ndarray:
    out = np.zeros_like(x)
    n = x.shape[-1]
    for d in range(-min(radius, n - 1), min(radius, n - 1) + 1):
        out[..., max(-d, 0) : n - max(d, 0)] += x[..., max(d, 0) : n - max(-d, 0)]
    return out


def _lower_window_sum(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    n = site.inputs[0].shape[-1]
    radius = min(site.attrs.radius, n - 1)
    total = site.load(0, idx)
    for d in (*range(-radius, 0), *range(1, radius + 1)):
        i = idx[-1] + d
        inside = i >= 0 if d < 0 else i < n
        clamped = s.maximum(i, 0) if d < 0 else s.minimum(i, n - 1)
        total = total + s.where(inside, site.load(0, (*idx[:-1], clamped)), 0)
    return total


WINDOW_SUM = OpDef(
    "WindowSum",
    "x: T",
    "y: T",
    """The sum of each element and its `radius` neighbours on both sides along the last dimension.

    Part of LRN as devices compute it. x: a float type, rank at least 1. y: the same dtype and shape.""",
    types={"T": FLOATS},
    attrs=WindowAttrs,
    infer=unchanged,
    host=_host_window_sum,
    lower=_lower_window_sum,
    grad=lambda op, dy: WINDOW_SUM(dy, radius=op.attrs.radius),
)


def _infer_lrn(c: Infer) -> Shape:
    for i in range(len(c.shapes)):
        if c.shapes[i].ndims not in (None, 4):
            raise ShapeError(f"{c.op_name}: input {i} must have rank 4, got shape {c.shapes[i]}")
    return merged(c, *range(len(c.shapes)))


def _norm(a: LrnAttrs, x: Any) -> Any:
    return a.bias + a.alpha * WINDOW_SUM(x * x, radius=a.depth_radius)


def _host_lrn(call: HostCall, x: np.ndarray) -> np.ndarray:
    a = call.attrs
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    return np.asarray(
        wide * (a.bias + a.alpha * _window_sum(wide * wide, a.depth_radius)) ** -a.beta
    ).astype(x.dtype)


def _host_lrn_grad(call: HostCall, g: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    a = call.attrs
    dy, wide = (v.astype(np.float32) if v.dtype.itemsize == 2 else v for v in (g, x))
    norm = a.bias + a.alpha * _window_sum(wide * wide, a.depth_radius)
    pulled = _window_sum(dy * wide * norm ** (-a.beta - 1), a.depth_radius)
    return np.asarray(dy * norm**-a.beta - 2 * a.alpha * a.beta * wide * pulled).astype(x.dtype)


def _lrn_grad(a: LrnAttrs, dy: Any, x: Any) -> Any:
    norm = _norm(a, x)
    pulled = WINDOW_SUM(dy * x * norm ** (-a.beta - 1), radius=a.depth_radius)
    return dy * norm**-a.beta - (2 * a.alpha * a.beta) * x * pulled


def _grad_lrn(op: Any, dy: Any) -> Any:
    a = op.attrs
    return LRN_GRAD(
        dy, op.x, op.y, depth_radius=a.depth_radius, bias=a.bias, alpha=a.alpha, beta=a.beta
    )


def _grad_lrn_grad(op: Any, g: Any) -> Any:
    """The derivative of LRNGrad by its parts: dy is linear in it; x by the product rule."""
    a = op.attrs
    dy, x, _ = op.inputs
    norm = _norm(a, x)
    p0, p1, p2 = (norm ** (-a.beta - k) for k in range(3))
    k = 2 * a.alpha * a.beta

    def near(v: Any) -> Any:
        return WINDOW_SUM(v, radius=a.depth_radius)

    through_dy = g * p0 - k * p1 * x * near(g * x)
    # L = sum g dy p0 - k sum g x near(dy x p1); d norm / d x = 2 alpha near(. x)
    own = near(g * x)
    dnorm = -a.beta * g * dy * p1 + k * (a.beta + 1) * own * dy * x * p2
    through_x = -k * g * near(dy * x * p1) - k * own * dy * p1 + 2 * a.alpha * x * near(dnorm)
    return through_dy, through_x, None


LRN = OpDef(
    "LRN",
    "input: T",
    "output: T",
    """Local response normalisation across channels.

    output = input / (bias + alpha * sum of input^2 over the channels at most depth_radius away)^beta. input: a float
    type,
    shape (batch, height, width, channels). output: the same dtype and shape. Errors: the rank is not 4.""",
    types={"T": FLOATS},
    attrs=LrnAttrs,
    infer=_infer_lrn,
    host=_host_lrn,
    expand=lambda op, x: x * _norm(op.attrs, x) ** -op.attrs.beta,
    grad=_grad_lrn,
    api="nn.local_response_normalization nn.lrn",
)

LRN_GRAD = OpDef(
    "LRNGrad",
    "input_grads: T, input_image: T, output_image: T",
    "output: T",
    """The gradient of LRN, from the output's gradient, the input and the output; all of one shape.""",
    types={"T": FLOATS},
    attrs=LrnAttrs,
    infer=_infer_lrn,
    host=_host_lrn_grad,
    expand=lambda op, dy, x, y: _lrn_grad(op.attrs, dy, x),
    grad=_grad_lrn_grad,
)


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Any:
    """Adds the vector `bias` to the channels of `value`: the last dimension, or the second for "NCHW".

    value: a number type, rank at least 2. Raises `ShapeError` when the sizes differ.
    """
    if data_format not in (None, "NHWC", "NCHW"):  # 0.x: (value, bias, name)
        data_format, name = None, data_format
    return BIAS_ADD(value, bias, data_format=data_format or "NHWC", name=name)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """matmul(x, weights) + biases for x: (batch, in), weights: (in, out), biases: (out,)."""
    with scope(name, "xw_plus_b", x, weights, biases):
        return BIAS_ADD(MAT_MUL(x, weights), biases)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """max(matmul(x, weights) + biases, 0); shapes as `xw_plus_b`'s."""
    with scope(name, "relu_layer", x, weights, biases):
        return RELU(BIAS_ADD(MAT_MUL(x, weights), biases))


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Any:
    """relu(features) and relu(-features), joined along `axis`, which becomes twice as long."""
    with scope(name, "CRelu", features):
        x = graph_of((features,)).to_tensor(features)
        return RELU(concat([x, -x], axis))


def zero_fraction(value: Any, name: str | None = None) -> Any:
    """The share of the elements of `value` that are zero: a float32 scalar, NaN for no elements."""
    with scope(name, "zero_fraction", value):
        x = graph_of((value,)).to_tensor(value)
        zeros = cast_to(EQUAL(x, x.dtype.np.type(0)), float32)
        return MEAN(RESHAPE(zeros, np.asarray([-1], np.int32)), np.int32(0))


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Any:
    """Keeps each element with probability `keep_prob` (1 - `rate`), divided by it, and makes the others zero.

    x: a float type, any shape. keep_prob: a number in (0, 1] or a scalar tensor. noise_shape: elements that share an
    entry
    of it (where it is 1) are kept or dropped together. Raises `InvalidArgumentError` for a probability outside
    (0, 1], or when neither or both of keep_prob and rate are given.
    """
    if (keep_prob is None) == (rate is None):
        raise InvalidArgumentError("dropout takes one of keep_prob and rate")
    keep = 1.0 - rate if keep_prob is None else keep_prob
    if not is_tensor_like(keep) and not 0 < keep <= 1:
        raise InvalidArgumentError(f"dropout: keep_prob must be in (0, 1], got {keep!r}")
    with scope(name, "dropout", x, keep):
        value = graph_of((x, keep)).to_tensor(x)
        if not value.dtype.is_floating:
            raise InvalidArgumentError(f"dropout takes floats, got {value.dtype.name}")
        if is_tensor_like(keep):
            keep = graph_of((x, keep)).to_tensor(keep, value.dtype)
        known = constant_value(keep) if is_tensor_like(keep) else np.asarray(keep)
        if known is not None and known == 1:
            return value
        dims = shape_of(value) if noise_shape is None else _noise_shape(value, noise_shape)
        kept = FLOOR(keep + random_uniform(dims, seed=seed, dtype=value.dtype))
        found = value / keep * kept
        found.set_shape(value.shape)
        return found


def _noise_shape(value: Any, noise_shape: Any) -> Any:
    """The shape of the noise; None in a list stands for `value`'s dimension."""
    if (
        not isinstance(noise_shape, (list, tuple))
        or value.shape.dims is None
        or len(noise_shape) != value.shape.ndims
    ):
        return noise_shape
    return [
        (d if d is not None else shape_of(value)[i]) if n is None else n
        for i, (n, d) in enumerate(zip(noise_shape, value.shape.dims, strict=True))
    ]


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: Any = None,
    keepdims: Any = None,
) -> tuple[Any, Any]:
    """Mean and variance of `x` along `axes`, in the dtype of x.

    x: a float type. axes: a list of integers. `keepdims` (0.x: `keep_dims`): reduced axes stay with size 1. `shift` is
    taken for TensorFlow's sake; the mean is always subtracted before squaring. Raises `InvalidArgumentError` for an
    axis out of range.
    """
    if isinstance(shift, str):  # 0.6: (x, axes, name)
        name = shift
    keep = bool(keepdims if keep_dims is None else keep_dims)
    with scope(name, "moments", x):
        value = graph_of((x,)).to_tensor(x)
        wide = cast_to(value, float32) if value.dtype.size == 2 else value
        indices = np.asarray(axes, np.int32)
        mean = MEAN(wide, indices, keep_dims=True, name="mean")
        away = wide - STOP_GRADIENT(mean)
        variance = MEAN(away * away, indices, keep_dims=True, name="variance")
        if not keep:
            gone = [int(a) for a in indices.reshape(-1)]
            mean, variance = (squeeze(t, gone) if gone else t for t in (mean, variance))
        return cast_to(mean, value.dtype), cast_to(variance, value.dtype)


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Any:
    """(x - mean) / sqrt(variance + variance_epsilon) * scale + offset, broadcasting.

    offset and scale may be None. The result has the dtype and shape of `x`.
    """
    with scope(name, "batchnorm", x, mean, variance, scale, offset):
        inv = RSQRT(graph_of((x, variance)).to_tensor(variance) + variance_epsilon)
        if scale is not None:
            inv = inv * scale
        shift = -mean * inv if offset is None else offset - mean * inv
        return x * inv + shift


def batch_norm_with_global_normalization(
    t: Any = None, m: Any = None, v: Any = None, beta: Any = None, gamma: Any = None, variance_epsilon: Any = None,
    scale_after_normalization: bool = True, name: str | None = None, input: Any = None, mean: Any = None,
    variance: Any = None,
) -> Any:  # fmt: skip
    """Batch normalisation as TensorFlow 0.6 spelled it: `batch_normalization(t, m, v, beta, gamma, variance_epsilon)`.

    `gamma` counts only if `scale_after_normalization`.
    """
    x, centre, spread = (
        input if t is None else t,
        mean if m is None else m,
        variance if v is None else v,
    )
    scale = gamma if scale_after_normalization else None
    return batch_normalization(x, centre, spread, beta, scale, variance_epsilon, name)


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Any:
    """x / sqrt(max(sum(x^2), epsilon)) along `axis` (0.x: `dim`), an integer or a list of them."""
    along = dim if axis is None else axis
    if along is None:
        raise InvalidArgumentError("l2_normalize needs an axis")
    with scope(name, "l2_normalize", x):
        value = graph_of((x,)).to_tensor(x)
        squares = SUM(MUL(value, value), np.asarray(along, np.int32), keep_dims=True)
        return value * RSQRT(MAXIMUM(squares, epsilon))


OPS: tuple[OpDef, ...] = (BIAS_ADD, BIAS_ADD_GRAD, WINDOW_SUM, LRN, LRN_GRAD)
API: dict[str, Any] = {
    "nn.bias_add": bias_add,
    "nn.xw_plus_b": xw_plus_b,
    "nn.relu_layer": relu_layer,
    "nn.crelu": crelu,
    "nn.zero_fraction": zero_fraction,
    "nn.dropout": dropout,
    "nn.moments": moments,
    "nn.batch_normalization": batch_normalization,
    "nn.batch_norm_with_global_normalization": batch_norm_with_global_normalization,
    "nn.l2_normalize": l2_normalize,
}
