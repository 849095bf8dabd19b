"""Three-dimensional convolution and its gradients.

The kernels take volumes of shape (batch, depth, height, width, channels) and filters (depth, height, width, in, out).
Invariant: the three ops are each other's gradients, so derivatives of any order exist.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.ir.opdef import HostCall, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.conv_pool.conv import check_grad_shape, infer_conv, infer_filter_grad, infer_input_grad
from tfnb.ops.conv_pool.conv3d_recipes import (
    conv3d_backprop_filter_calls,
    conv3d_backprop_input_calls,
    conv3d_calls,
)
from tfnb.ops.conv_pool.conv_reference import (
    Axis,
    conv2d_backprop_filter_host,
    conv2d_backprop_input_host,
    conv2d_host,
)
from tfnb.ops.conv_pool.windows import ImageArgs, attrs_of, pads, settle
from tfnb.types import FLOATS, INDEX, Shape, int32

__all__ = ["CONV3D", "CONV3D_BACKPROP_FILTER_V2", "CONV3D_BACKPROP_INPUT_V2", "OPS", "Conv3DAttrs"]


@record
class Conv3DAttrs:
    """`strides`, `dilations`: one number per dimension in the order of `data_format`, 1 for batch and channels."""

    strides: tuple[int, ...] = (1, 1, 1, 1, 1)
    padding: str = "VALID"
    data_format: str = "NDHWC"
    dilations: tuple[int, ...] = (1, 1, 1, 1, 1)

    def __post_init__(self) -> None:
        settle(self, 5)


VOLUME, INPUT_GRAD, FILTER_GRAD = (
    ImageArgs((0,), rank=5),
    ImageArgs((2,), sizes=(0,), rank=5),
    ImageArgs((0, 2), returns_image=False, rank=5),
)


def _depth(a: Conv3DAttrs, limit: int, size: int) -> Axis:
    return Axis.of(limit, size, a.strides[1], a.dilations[1], pads(a)[0])


def _how(a: Conv3DAttrs) -> tuple[Any, ...]:
    """The strides, padding and dilations within a plane."""
    return (1, *a.strides[2:]), a.padding, (1, *a.dilations[2:])


def _planes(x: np.ndarray, az: Axis) -> list[tuple[slice, np.ndarray]]:
    """For each tap: the windows for which it is inside the volume, and the planes (n, windows, h, w, c) it reads."""
    planes = []
    for t in range(az.size):
        at = np.arange(az.count) * az.stride + t * az.dilation - az.before
        inside = np.nonzero((at >= 0) & (at < az.limit))[0]
        if inside.size:
            windows = slice(int(inside[0]), int(inside[-1]) + 1)
            first = int(at[inside[0]])
            planes.append((windows, x[:, first : int(at[inside[-1]]) + 1 : az.stride]))
        else:
            planes.append((slice(0, 0), x[:, :0]))
    return planes


def _flat(x: np.ndarray) -> np.ndarray:
    return x.reshape(-1, *x.shape[2:])


@VOLUME.host
def _host(call: HostCall, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    az = _depth(call.attrs, x.shape[1], w.shape[0])
    shape = _output_shape(x, w, call.attrs, az)
    out = np.zeros(shape, x.dtype)
    if not out.size:
        return out
    for tap, (windows, planes) in zip(w, _planes(x, az), strict=True):
        if planes.size:
            part = conv2d_host(_flat(planes), tap, *_how(call.attrs))
            out[:, windows] += part.reshape(x.shape[0], -1, *shape[2:])
    return out


def _output_shape(x: np.ndarray, w: np.ndarray, a: Conv3DAttrs, az: Axis) -> tuple[int, ...]:
    """The shape of the output for an input and a filter."""
    ay, ax = (Axis.of(x.shape[i], w.shape[i - 1], a.strides[i], a.dilations[i], a.padding) for i in (2, 3))
    return (x.shape[0], az.count, ay.count, ax.count, w.shape[4])


@INPUT_GRAD.host
def _host_input_grad(call: HostCall, sizes: np.ndarray, w: np.ndarray, dy: np.ndarray) -> np.ndarray:
    x_shape, w_shape = Shape(sizes.tolist()), Shape(w.shape)
    check_grad_shape(call.op, "Conv3DBackpropInput", call.attrs, x_shape, w_shape, Shape(dy.shape))
    dx = np.zeros(tuple(int(d) for d in sizes), dy.dtype)
    if not dy.size or not dx.size:
        return dx
    for tap, (windows, target) in zip(w, _planes(dx, _depth(call.attrs, dx.shape[1], w.shape[0])), strict=True):
        if target.size:
            grads = _flat(dy[:, windows])
            flat = (len(grads), *dx.shape[2:])
            part = conv2d_backprop_input_host(flat, tap, grads, *_how(call.attrs))
            target += part.reshape(target.shape)
    return dx


@FILTER_GRAD.host
def _host_filter_grad(call: HostCall, x: np.ndarray, sizes: np.ndarray, dy: np.ndarray) -> np.ndarray:
    check_grad_shape(
        call.op, "Conv3DBackpropFilter", call.attrs, Shape(x.shape), Shape(sizes.tolist()), Shape(dy.shape)
    )
    dw = np.zeros(tuple(int(d) for d in sizes), x.dtype)
    if not dy.size or not x.size:
        return dw
    planes = _planes(x, _depth(call.attrs, x.shape[1], dw.shape[0]))
    for t, (windows, volume) in enumerate(planes):
        if volume.size:
            grads = _flat(dy[:, windows])
            dw[t] = conv2d_backprop_filter_host(_flat(volume), dw.shape[1:], grads, *_how(call.attrs))
    return dw


def _grad(op: Operation, dy: Tensor) -> tuple[Tensor, Tensor]:
    x, w = op.inputs
    attrs = attrs_of(op.attrs)
    return (
        CONV3D_BACKPROP_INPUT_V2(shape_of(x), w, dy, **attrs),
        CONV3D_BACKPROP_FILTER_V2(x, shape_of(w), dy, **attrs),
    )


def _grad_input_grad(op: Operation, g: Tensor) -> tuple[None, Tensor, Tensor]:
    _, w, dy = op.inputs
    attrs = attrs_of(op.attrs)
    return None, CONV3D_BACKPROP_FILTER_V2(g, shape_of(w), dy, **attrs), CONV3D(g, w, **attrs)


def _grad_filter_grad(op: Operation, g: Tensor) -> tuple[Tensor, None, Tensor]:
    x, _, dy = op.inputs
    attrs = attrs_of(op.attrs)
    return CONV3D_BACKPROP_INPUT_V2(shape_of(x), g, dy, **attrs), None, CONV3D(x, g, **attrs)


CONV3D: OpDef[Tensor] = OpDef(
    "Conv3D",
    "input: T, filter: T",
    "output: T",
    """Cross-correlation of volumes with filters: Conv2D with one more dimension.

    input: shape (batch, depth, height, width, in), or channels second for "NCDHW". filter: (fd, fh, fw, in, out).
    output: (batch, planes, rows, columns, out), where each size follows from the rule of Conv2D. Errors: the numbers
    of channels differ, or a rank is not 5.""",
    types={"T": FLOATS},
    attrs=Conv3DAttrs,
    infer=VOLUME.infer(infer_conv),
    host=_host,
    opencl=conv3d_calls,
    expand=VOLUME.expand,
    grad=_grad,
    epilogue=True,
)

CONV3D_BACKPROP_INPUT_V2: OpDef[Tensor] = OpDef(
    "Conv3DBackpropInputV2",
    "input_sizes: Tshape, filter: T, out_backprop: T",
    "output: T",
    """The gradient of Conv3D with respect to its input, also known as transposed convolution.

    input_sizes: the 5 dimensions of the input. filter: (fd, fh, fw, in, out). out_backprop: the gradient of Conv3D's
    output. output: shape input_sizes. Errors: an input of these sizes would not give out_backprop's shape.""",
    types={"T": FLOATS, "Tshape": INDEX},
    defaults={"Tshape": int32},
    attrs=Conv3DAttrs,
    infer=INPUT_GRAD.infer(infer_input_grad),
    host=_host_input_grad,
    opencl=conv3d_backprop_input_calls,
    expand=INPUT_GRAD.expand,
    grad=_grad_input_grad,
    shape_inputs=(0,),
)

CONV3D_BACKPROP_FILTER_V2: OpDef[Tensor] = OpDef(
    "Conv3DBackpropFilterV2",
    "input: T, filter_sizes: int32, out_backprop: T",
    "output: T",
    """The gradient of Conv3D with respect to its filter.

    input: (batch, depth, height, width, in). filter_sizes: the 5 dimensions of the filter. out_backprop: the gradient
    of Conv3D's output. output: shape filter_sizes. Errors: a filter of these sizes would not give out_backprop's
    shape.""",
    types={"T": FLOATS},
    attrs=Conv3DAttrs,
    infer=FILTER_GRAD.infer(infer_filter_grad),
    host=_host_filter_grad,
    opencl=conv3d_backprop_filter_calls,
    expand=FILTER_GRAD.expand,
    grad=_grad_filter_grad,
    shape_inputs=(1,),
)

OPS: tuple[OpDef, ...] = (CONV3D, CONV3D_BACKPROP_INPUT_V2, CONV3D_BACKPROP_FILTER_V2)
