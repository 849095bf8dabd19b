"""Early forms of neural-network ops that occur in TensorFlow's graphs, with inputs in place of later attributes.

Invariant: each is composed of the current op, so values and gradients are those of that op.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.conv_pool.conv3d import (
    CONV3D,
    CONV3D_BACKPROP_FILTER_V2,
    CONV3D_BACKPROP_INPUT_V2,
    Conv3DAttrs,
)
from tfnb.ops.conv_pool.windows import attrs_of, settle
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.unary import RSQRT
from tfnb.ops.nn.bias_dropout_moments import BIAS_ADD, BIAS_ADD_GRAD, FormatAttrs
from tfnb.types import DEVICE_FLOATS, FLOATS, NUMBERS, Shape

__all__ = ["OPS"]


@record
class VolumeAttrs:
    """`strides`, `dilations`: one number per dimension, 1 for batch and channels; `padding`: "SAME" or "VALID"."""

    strides: tuple[int, ...] = (1, 1, 1, 1, 1)
    padding: str = "VALID"
    dilations: tuple[int, ...] = (1, 1, 1, 1, 1)

    def __post_init__(self) -> None:
        settle(self, 5)


def _volume_grad(which: int) -> tuple[Any, Any, Any]:
    """The shape function, host kernel and expansion of a gradient that has the shape of input number `which`."""
    op = CONV3D_BACKPROP_FILTER_V2 if which else CONV3D_BACKPROP_INPUT_V2
    assert op.infer is not None and op.host is not None
    rule, kernel = op.infer, op.host

    def attrs(a: VolumeAttrs) -> Conv3DAttrs:
        return Conv3DAttrs(a.strides, a.padding, dilations=a.dilations)

    def infer(c: Infer) -> Shape:
        volume = with_rank(c, which, 5)
        shape: Shape = rule(replace(c, attrs=attrs(c.attrs), as_shape=lambda _: volume))
        return shape

    def host(call: HostCall, x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> Any:
        sizes = np.asarray((x, w)[which].shape, np.int32)
        inputs = (x, sizes, dy) if which else (sizes, w, dy)
        return kernel(replace(call, attrs=attrs(call.attrs)), *inputs)

    def expand(node: Operation, x: Tensor, w: Tensor, dy: Tensor) -> Tensor:
        inputs = (x, shape_of(w), dy) if which else (shape_of(x), w, dy)
        return op(*inputs, **attrs_of(attrs(node.attrs)))

    return infer, host, expand


def _grad_input_grad(op: Operation, g: Tensor) -> tuple[None, Tensor, Tensor]:
    _, w, dy = op.inputs
    conv_attrs = attrs_of(op.attrs)
    return None, CONV3D_BACKPROP_FILTER_V2(g, shape_of(w), dy, **conv_attrs), CONV3D(g, w, **conv_attrs)


def _grad_filter_grad(op: Operation, g: Tensor) -> tuple[Tensor, None, Tensor]:
    x, _, dy = op.inputs
    conv_attrs = attrs_of(op.attrs)
    return CONV3D_BACKPROP_INPUT_V2(shape_of(x), g, dy, **conv_attrs), None, CONV3D(x, g, **conv_attrs)


_INPUT_GRAD, _FILTER_GRAD = _volume_grad(0), _volume_grad(1)

CONV3D_BACKPROP_INPUT: OpDef[Tensor] = OpDef(
    "Conv3DBackpropInput",
    "input: T, filter: T, out_backprop: T",
    "output: T",
    """Conv3DBackpropInputV2, with a tensor `input` of which only the shape is used.

    input, output: shape (batch, depth, height, width, in). filter: (fd, fh, fw, in, out). out_backprop: the gradient of
    the output of Conv3D. Errors: the shapes do not match.""",
    types={"T": FLOATS},
    attrs=VolumeAttrs,
    infer=_INPUT_GRAD[0],
    host=_INPUT_GRAD[1],
    expand=_INPUT_GRAD[2],
    grad=_grad_input_grad,
)

CONV3D_BACKPROP_FILTER: OpDef[Tensor] = OpDef(
    "Conv3DBackpropFilter",
    "input: T, filter: T, out_backprop: T",
    "output: T",
    """Conv3DBackpropFilterV2, with a tensor `filter` of which only the shape is used.

    input: shape (batch, depth, height, width, in). filter, output: (fd, fh, fw, in, out). out_backprop: the gradient of
    the output of Conv3D. Errors: the shapes do not match.""",
    types={"T": FLOATS},
    attrs=VolumeAttrs,
    infer=_FILTER_GRAD[0],
    host=_FILTER_GRAD[1],
    expand=_FILTER_GRAD[2],
    grad=_grad_filter_grad,
)


def _infer_bias_add(c: Infer) -> Shape:
    assert BIAS_ADD.infer is not None
    shape: Shape = BIAS_ADD.infer(replace(c, attrs=FormatAttrs()))
    return shape


BIAS_ADD_V1: OpDef[Tensor] = OpDef(
    "BiasAddV1",
    "value: T, bias: T",
    "output: T",
    """Adds a vector to the last dimension of a tensor: the BiasAdd of TensorFlow 0.6.

    value: a number type, rank at least 2. bias: a vector as long as the last dimension of value. output: dtype and
    shape of value. Errors: the sizes differ.""",
    types={"T": NUMBERS},
    infer=_infer_bias_add,
    host=lambda call, x, bias: x + bias,
    expand=lambda op, x, bias: BIAS_ADD(x, bias),
    grad=lambda op, dy: (dy, BIAS_ADD_GRAD(dy)),
)


@record
class GlobalNormGradAttrs:
    """`variance_epsilon`: added to the variance; `scale_after_normalization`: multiply by gamma."""

    variance_epsilon: float = 0.001
    scale_after_normalization: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance_epsilon", float(np.float32(self.variance_epsilon)))


def _infer_global_grad(c: Infer) -> tuple[Shape, ...]:
    t = with_rank(c, 0, 4).merge_with(with_rank(c, 4, 4))
    channels = Shape(tuple(t.as_list()[3:]))
    for i in (1, 2, 3):
        try:
            channels = channels.merge_with(with_rank(c, i, 1))
        except ShapeError:
            raise ShapeError(f"{c.op_name}: input {i} has shape {c.shapes[i]}, the images {t}") from None
    return t, channels, channels, channels, channels


def _host_global_grad(
    call: HostCall, t: np.ndarray, m: np.ndarray, v: np.ndarray, gamma: np.ndarray, dy: np.ndarray
) -> tuple[np.ndarray, ...]:
    inv = 1 / np.sqrt(v + v.dtype.type(call.attrs.variance_epsilon))
    has_scale = call.attrs.scale_after_normalization
    slope = inv * gamma if has_scale else inv
    by_beta, by_unit = dy.sum((0, 1, 2)), (dy * (t - m)).sum((0, 1, 2)) * inv
    by_gamma = by_unit if has_scale else np.zeros_like(by_unit)
    grads = (dy * slope, -by_beta * slope, -0.5 * by_unit * slope * inv, by_beta, by_gamma)
    return tuple(x.astype(t.dtype) for x in grads)


def _expand_global_grad(
    op: Operation, t: Tensor, m: Tensor, v: Tensor, gamma: Tensor, dy: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    axes = np.asarray([0, 1, 2], np.int32)
    inv = RSQRT(v + op.attrs.variance_epsilon)
    has_scale = op.attrs.scale_after_normalization
    slope = inv * gamma if has_scale else inv
    by_beta, by_unit = SUM(dy, axes), SUM(dy * (t - m), axes) * inv
    by_gamma = by_unit if has_scale else 0.0 * by_beta
    return dy * slope, -by_beta * slope, -0.5 * by_unit * slope * inv, by_beta, by_gamma


GLOBAL_NORM_GRAD: OpDef[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]] = OpDef(
    "BatchNormWithGlobalNormalizationGrad",
    "t: T, m: T, v: T, gamma: T, backprop: T",
    "dx: T, dm: T, dv: T, db: T, dg: T",
    """The gradients of BatchNormWithGlobalNormalization with respect to t, m, v, beta and gamma.

    t, backprop, dx: shape (batch, height, width, channels). m, v, gamma and the other outputs: shape (channels,). With
    inv = 1 / sqrt(v + variance_epsilon): dx = backprop * inv * gamma, db = sum(backprop), dg = sum(backprop * (t - m))
    * inv, dm = -db * inv * gamma, dv = -dg * gamma * inv^2 / 2. Errors: t has another rank, or a vector has another
    length.""",
    types={"T": DEVICE_FLOATS},
    attrs=GlobalNormGradAttrs,
    infer=_infer_global_grad,
    host=_host_global_grad,
    expand=_expand_global_grad,
    grad=GRADIENT_MISSING,
)

OPS: tuple[OpDef, ...] = (
    CONV3D_BACKPROP_INPUT,
    CONV3D_BACKPROP_FILTER,
    BIAS_ADD_V1,
    GLOBAL_NORM_GRAD,
)
