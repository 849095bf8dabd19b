"""Small parts of networks: bias, dropout, moments and normalisation (white paper, Table 1).

Invariant: every function except `bias_add` is composed of other ops, which provide its gradient and its fusion.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_value
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, OpDef, ReduceSpec
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import zeros_like
from tfnb.ops.array.shape_ops import RESHAPE, STOP_GRADIENT, shape_of, squeeze
from tfnb.ops.linalg.matmul import MAT_MUL
from tfnb.ops.math.binary import MAXIMUM, MUL
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import EQUAL
from tfnb.ops.math.reduce import MEAN
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.unary import FLOOR, RSQRT
from tfnb.ops.nn.activations import RELU
from tfnb.ops.nn.losses import scope
from tfnb.ops.random.functions import random_uniform
from tfnb.types import NUMBERS, Shape, float32, int32

__all__ = ["API", "BIAS_ADD", "BIAS_ADD_GRAD", "OPS", "dropout", "moments"]


@record
class FormatAttrs:
    """`data_format`: the channels are the last dimension ("NHWC") or the second one ("NCHW")."""

    data_format: str = "NHWC"

    def __post_init__(self) -> None:
        if self.data_format not in ("NHWC", "NCHW"):
            raise InvalidArgumentError(f'data_format must be "NHWC" or "NCHW", got {self.data_format!r}')


def _channel_axis(a: FormatAttrs, rank: int) -> int:
    return 1 if a.data_format == "NCHW" and rank > 1 else rank - 1


def _infer_bias_add(c: Infer) -> Shape:
    x, bias = c.shapes
    if bias.ndims not in (None, 1):
        raise ShapeError(f"BiasAdd: the bias must be a vector, got shape {bias}")
    if x.sizes is None:
        return x
    if len(x.sizes) < 2:
        raise ShapeError(f"BiasAdd: the value must have at least 2 dimensions, got shape {x}")
    axis = _channel_axis(c.attrs, len(x.sizes))
    size = None if bias.sizes is None else bias.sizes[0]
    if size is not None and x.sizes[axis] not in (None, size):
        raise ShapeError(f"BiasAdd: the value has {x.sizes[axis]} channels (shape {x}), the bias {size}")
    return Shape(tuple(size if i == axis and d is None else d for i, d in enumerate(x.sizes)))


def _bias_like(a: FormatAttrs, bias: Tensor, rank: int) -> Tensor:
    """The bias, reshaped so that it broadcasts to a value of the given rank."""
    axis = _channel_axis(a, rank)
    return bias if axis == rank - 1 else RESHAPE(bias, np.asarray([-1] + [1] * (rank - 1 - axis), np.int32))


def _host_bias_add(call: HostCall, x: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return x + bias.reshape((-1,) + (1,) * (x.ndim - 1 - _channel_axis(call.attrs, x.ndim)))


def _expand_bias_add(op: Operation, x: Tensor, bias: Tensor) -> Any:
    if op.attrs.data_format == "NHWC":
        return x + bias
    if x.shape.ndims is None:
        raise ShapeError("BiasAdd with NCHW needs a value of known rank", op)
    return x + _bias_like(op.attrs, bias, x.shape.ndims)


def _summed_axes(a: FormatAttrs, rank: int) -> tuple[int, ...]:
    return tuple(i for i in range(rank) if i != _channel_axis(a, rank))


def _infer_bias_grad(c: Infer) -> Shape:
    x = c.shapes[0]
    if x.sizes is not None and len(x.sizes) < 2:
        raise ShapeError(f"BiasAddGrad: needed at least 2 dimensions, got shape {x}")
    return Shape((None,)) if x.sizes is None else Shape((x.sizes[_channel_axis(c.attrs, len(x.sizes))],))


def _host_bias_grad(call: HostCall, g: np.ndarray) -> np.ndarray:
    wide_dtype = np.float32 if g.dtype.itemsize == 2 and g.dtype.kind not in "iu" else g.dtype
    return np.asarray(g.sum(axis=_summed_axes(call.attrs, g.ndim), dtype=wide_dtype)).astype(g.dtype)


def _grad_bias_grad(op: Operation, g: Tensor) -> Tensor:
    return BIAS_ADD(zeros_like(op.x), g, data_format=op.attrs.data_format)


BIAS_ADD: OpDef[Tensor] = OpDef(
    "BiasAdd",
    "value: T, bias: T",
    "output: T",
    """Adds a vector to the channels of a tensor.

    value: a number type, rank at least 2. bias: a vector as long as the last dimension of value, or its second one for
    `data_format="NCHW"`. output: dtype and shape of value. Errors: the sizes differ.""",
    types={"T": NUMBERS},
    attrs=FormatAttrs,
    infer=_infer_bias_add,
    host=_host_bias_add,
    expand=_expand_bias_add,
    grad=lambda op, dy: (dy, BIAS_ADD_GRAD(dy, data_format=op.attrs.data_format)),
)

BIAS_ADD_GRAD: OpDef[Tensor] = OpDef(
    "BiasAddGrad",
    "out_backprop: T",
    "output: T",
    """The gradient of BiasAdd with respect to the bias: the sum over all dimensions except the channels.

    out_backprop: a number type, rank at least 2. output: a vector with one element per channel.""",
    types={"T": NUMBERS},
    attrs=FormatAttrs,
    infer=_infer_bias_grad,
    host=_host_bias_grad,
    reduce=lambda site: ReduceSpec("sum", _summed_axes(site.attrs, len(site.inputs[0].shape))),
    grad=_grad_bias_grad,
)


def bias_add(value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None) -> Tensor:
    """Adds the vector `bias` to the channels of `value`.

    value: a number type, rank at least 2; its channels are the last dimension, or the second one for "NCHW". bias: one
    element per channel, of the same dtype. Raises `ShapeError` when the sizes differ.
    """
    if data_format not in (None, "NHWC", "NCHW"):  # 0.x: (value, bias, name)
        data_format, name = None, data_format
    return BIAS_ADD(value, bias, data_format=data_format or "NHWC", name=name)


def xw_plus_b(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """Returns matmul(x, weights) + biases.

    x: (batch, in). weights: (in, out). biases: (out,). All have the same number type. The result: (batch, out).
    """
    with scope(name, "xw_plus_b", x, weights, biases):
        return BIAS_ADD(MAT_MUL(x, weights), biases)


def relu_layer(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """Returns max(matmul(x, weights) + biases, 0); the arguments and the result's shape are those of `xw_plus_b`."""
    with scope(name, "relu_layer", x, weights, biases):
        return RELU(BIAS_ADD(MAT_MUL(x, weights), biases))


def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Tensor:
    """Joins relu(features) and relu(-features) along `axis`, whose size doubles.

    features: a number type, any shape. The result has their dtype.
    """
    with scope(name, "CRelu", features):
        x = graph_of((features,)).to_tensor(features)
        return RELU(concat([x, -x], axis))


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Returns the fraction of the elements of `value` that are zero, as a float32 scalar.

    The result is NaN when there are no elements.
    """
    with scope(name, "zero_fraction", value):
        x = graph_of((value,)).to_tensor(value)
        zeros = cast_to(EQUAL(x, x.dtype.np.type(0)), float32)
        return MEAN(RESHAPE(zeros, np.asarray([-1], np.int32)), np.int32(0))


def dropout(
    x: TensorLike,
    keep_prob: Any = None,
    noise_shape: TensorLike | None = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Any:
    """Keeps each element with probability `keep_prob` = 1 - `rate` and divides it by `keep_prob`; others become zero.

    x: a float type, any shape. keep_prob: a number in (0, 1] or a scalar tensor. noise_shape: a shape that broadcasts
    to x; the elements along a dimension of size 1 are kept or dropped together. Raises `InvalidArgumentError` for a
    probability outside (0, 1], or when neither or both of keep_prob and rate are given.
    """
    if (keep_prob is None) == (rate is None):
        raise InvalidArgumentError("dropout takes one of keep_prob and rate")
    keep = 1.0 - rate if keep_prob is None else keep_prob
    if is_tensor_like(keep):
        if not keep.shape.is_compatible_with(()):
            raise ShapeError(f"dropout: keep_prob must be a scalar, got shape {keep.shape}")
    elif np.ndim(keep) or not 0 < keep <= 1:
        raise InvalidArgumentError(f"dropout: keep_prob must be a scalar in (0, 1], got {keep!r}")
    with scope(name, "dropout", x, keep):
        value = graph_of((x, keep)).to_tensor(x)
        if not value.dtype.is_floating:
            raise InvalidArgumentError(f"dropout takes floats, got {value.dtype.name}")
        if is_tensor_like(keep):
            keep = graph_of((x, keep)).to_tensor(keep, value.dtype)
        static_keep = constant_value(keep) if is_tensor_like(keep) else np.asarray(keep)
        if static_keep is not None and static_keep == 1:
            return value
        dims = shape_of(value) if noise_shape is None else _noise_shape(value, noise_shape)
        mask = FLOOR(keep + random_uniform(dims, seed=seed, dtype=value.dtype))
        result = value / keep * mask
        result.set_shape(value.shape)
        return result


def _noise_shape(value: Tensor, noise_shape: TensorLike | None) -> Any:
    """The shape of the noise; None in a list means the dimension of `value`."""
    if not isinstance(noise_shape, (list, tuple)) or value.shape.sizes is None or len(noise_shape) != value.shape.ndims:
        return noise_shape
    return [
        (d if d is not None else shape_of(value)[i]) if n is None else n
        for i, (n, d) in enumerate(zip(noise_shape, value.shape.sizes, strict=True))
    ]


def moments(
    x: TensorLike,
    axes: TensorLike,
    shift: TensorLike | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Returns the mean and variance of `x` along `axes`, in the dtype of x.

    x: a float type. axes: a list of integers. `keepdims` (0.x: `keep_dims`): keep reduced axes with size 1. `shift` is
    accepted for compatibility with TensorFlow; the mean is always subtracted before squaring. Raises
    `InvalidArgumentError` for an axis out of range.
    """
    if isinstance(shift, str):  # 0.6: (x, axes, name)
        name = shift
    keep = bool(keepdims if keep_dims is None else keep_dims)
    with scope(name, "moments", x):
        value = graph_of((x,)).to_tensor(x)
        wide_x = cast_to(value, float32) if value.dtype.size == 2 else value
        indices = np.asarray(axes, np.int32)
        mean = MEAN(wide_x, indices, keep_dims=True, name="mean")
        deviation = wide_x - STOP_GRADIENT(mean)
        variance = MEAN(deviation * deviation, indices, keep_dims=True, name="variance")
        if not keep:
            reduced = [int(a) for a in indices.reshape(-1)]
            mean, variance = (squeeze(t, reduced) if reduced else t for t in (mean, variance))
        return cast_to(mean, value.dtype), cast_to(variance, value.dtype)


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: TensorLike | None,
    variance_epsilon: TensorLike,
    name: str | None = None,
) -> Any:
    """Returns (x - mean) / sqrt(variance + variance_epsilon) * scale + offset, with broadcasting.

    offset and scale may be None. The result has the dtype and shape of `x`; the statistics may have another dtype.
    """
    with scope(name, "batchnorm", x, mean, variance, scale, offset):
        graph = graph_of((x, variance))
        inputs = graph.to_tensor(x)
        inv = RSQRT(graph.to_tensor(variance) + variance_epsilon)
        if scale is not None:
            inv = inv * scale
        shift = -mean * inv if offset is None else offset - mean * inv
        return inputs * cast_to(inv, inputs.dtype) + cast_to(shift, inputs.dtype)


def batch_norm_with_global_normalization(
    t: TensorLike | None = None,
    m: TensorLike | None = None,
    v: TensorLike | None = None,
    beta: TensorLike | None = None,
    gamma: TensorLike | None = None,
    variance_epsilon: Any = None,
    scale_after_normalization: bool = True,
    name: str | None = None,
    input: TensorLike | None = None,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
) -> Any:
    """Batch normalisation as in TensorFlow 0.6: `batch_normalization(t, m, v, beta, gamma, variance_epsilon)`.

    `gamma` is used only if `scale_after_normalization`.
    """
    x, centre, spread = (
        input if t is None else t,
        mean if m is None else m,
        variance if v is None else v,
    )
    scale = gamma if scale_after_normalization else None
    return batch_normalization(x, centre, spread, beta, scale, variance_epsilon, name)


def l2_normalize(
    x: TensorLike,
    axis: TensorLike | None = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Any:
    """Returns x / sqrt(max(sum(x^2), epsilon)) along `axis`, with the dtype and shape of x.

    x: a float type. axis (0.x: `dim`): an integer or a list of integers, along which the squares are summed.
    """
    axes = dim if axis is None else axis
    if axes is None:
        raise InvalidArgumentError("l2_normalize needs an axis")
    with scope(name, "l2_normalize", x):
        value = graph_of((x,)).to_tensor(x)
        squares = SUM(MUL(value, value), value.graph.to_tensor(axes, int32), keep_dims=True)
        return value * RSQRT(MAXIMUM(squares, epsilon))


OPS: tuple[OpDef, ...] = (BIAS_ADD, BIAS_ADD_GRAD)
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
