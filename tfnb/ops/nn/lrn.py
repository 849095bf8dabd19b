"""Local response normalisation, and the sum over neighbouring channels on which it is based.

Invariant: neighbours before the first channel and after the last one count as zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir.kernelcall import I32, In, KernelCall, KernelSite, Out
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import merged, unchanged
from tfnb.ir.tensor import Tensor
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.unary import RSQRT, SQRT
from tfnb.types import DEVICE_FLOATS, FLOATS, Shape, float32

__all__ = ["LRN", "LRN_GRAD", "OPS", "WINDOW_SUM"]

_LONGEST_ROW = 4096 - 32  # the longest row that the kernel holds in local memory


@record
class WindowAttrs:
    """`radius`: the number of neighbours on each side."""

    radius: int = 5


@record
class LrnAttrs:
    """`depth_radius`: the number of channels on each side; `bias`, `alpha`, `beta`: the parameters of the formula."""

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


def _window_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    x = site.inputs[0]
    if x.size == 0:
        return ()
    c = x.shape[-1]
    radius = max(0, min(site.attrs.radius, c - 1))
    args = (In(0), Out(0), I32(x.size // c), I32(c), I32(radius))
    defines = (("T", x.dtype.cl),)
    if site.kind == "gpu" or c + 2 * radius > _LONGEST_ROW:
        items = -(-x.size // 64) if site.kind == "gpu" else 4 * site.units
        local = 64 if site.kind == "gpu" else 1
        call = "window_sum_naive", args, (min(items, 65535), 1, 1), (local, 1, 1), defines
        return (KernelCall("nn/window_sum.cl", *call),)
    groups = max(1, min(4 * site.units, x.size // 4096))
    return (KernelCall("nn/window_sum.cl", "window_sum", args, (groups, 1, 1), defines=defines),)


WINDOW_SUM: OpDef[Tensor] = OpDef(
    "WindowSum",
    "x: T",
    "y: T",
    """The sum of each element and its `radius` neighbours on both sides along the last dimension.

    Devices compute LRN by means of this op. x: float32 or float64, rank at least 1. y: the same dtype and shape.""",
    types={"T": DEVICE_FLOATS},
    attrs=WindowAttrs,
    infer=unchanged,
    host=_host_window_sum,
    opencl=_window_calls,
    grad=lambda op, dy: WINDOW_SUM(dy, radius=op.attrs.radius),
)


def _infer_lrn(c: Infer) -> Shape:
    for i in range(len(c.shapes)):
        if c.shapes[i].ndims not in (None, 4):
            raise ShapeError(f"{c.op_name}: input {i} must have rank 4, got shape {c.shapes[i]}")
    return merged(c, *range(len(c.shapes)))


def _near(v: Tensor, a: LrnAttrs) -> Any:
    """For each channel, the sum over the channel and its neighbours."""
    wide_v = v if v.dtype in DEVICE_FLOATS else cast_to(v, float32)
    return cast_to(WINDOW_SUM(wide_v, radius=a.depth_radius), v.dtype)


def _norm(a: LrnAttrs, x: Tensor) -> Any:
    return a.bias + a.alpha * _near(x * x, a)


def _power(norm: Tensor, beta: float) -> Any:
    """norm ** -beta; for common exponents by roots and divisions, which are faster than a power."""
    whole = int(beta) if beta > 0 else 0
    if whole > 2 or beta - whole not in (0.5, 0.75):
        return norm**-beta
    root = RSQRT(norm)
    result = root if beta - whole == 0.5 else root * SQRT(root)
    for _ in range(whole):
        result = result / norm
    return result


def _host_lrn(call: HostCall, x: np.ndarray) -> np.ndarray:
    a = call.attrs
    wide_x = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    return np.asarray(wide_x * (a.bias + a.alpha * _window_sum(wide_x * wide_x, a.depth_radius)) ** -a.beta).astype(
        x.dtype
    )


def _host_lrn_grad(call: HostCall, g: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    a = call.attrs
    dy, wide_x = (v.astype(np.float32) if v.dtype.itemsize == 2 else v for v in (g, x))
    norm = a.bias + a.alpha * _window_sum(wide_x * wide_x, a.depth_radius)
    neighbour_sum = _window_sum(dy * wide_x * norm ** (-a.beta - 1), a.depth_radius)
    return np.asarray(dy * norm**-a.beta - 2 * a.alpha * a.beta * wide_x * neighbour_sum).astype(x.dtype)


def _lrn_grad(a: LrnAttrs, dy: Tensor, x: Tensor) -> Any:
    norm = _norm(a, x)
    neighbour_sum = _near(dy * x * _power(norm, a.beta + 1), a)
    return dy * _power(norm, a.beta) - (2 * a.alpha * a.beta) * x * neighbour_sum


def _grad_lrn(op: Operation, dy: Tensor) -> Tensor:
    a = op.attrs
    return LRN_GRAD(dy, op.x, op.y, depth_radius=a.depth_radius, bias=a.bias, alpha=a.alpha, beta=a.beta)


def _grad_lrn_grad(op: Operation, g: Tensor) -> Any:
    """The gradients of LRNGrad: it is linear in dy; for x the product rule applies."""
    a = op.attrs
    dy, x, _ = op.inputs
    norm = _norm(a, x)
    p0, p1, p2 = (_power(norm, a.beta + k) for k in range(3))
    k = 2 * a.alpha * a.beta

    def near(v: Tensor) -> Any:
        return _near(v, a)

    through_dy = g * p0 - k * p1 * x * near(g * x)
    # L = sum g dy p0 - k sum g x near(dy x p1); d norm / d x = 2 alpha near(. x)
    near_gx = near(g * x)
    dnorm = -a.beta * g * dy * p1 + k * (a.beta + 1) * near_gx * dy * x * p2
    through_x = -k * g * near(dy * x * p1) - k * near_gx * dy * p1 + 2 * a.alpha * x * near(dnorm)
    return through_dy, through_x, None


LRN: OpDef[Tensor] = OpDef(
    "LRN",
    "input: T",
    "output: T",
    """Local response normalisation across channels.

    output = input / (bias + alpha * sum of input^2 over the channels at most depth_radius away)^beta. input: a float
    type, shape (batch, height, width, channels). output: the same dtype and shape. Errors: the rank is not 4.""",
    types={"T": FLOATS},
    defaults={"T": float32},
    attrs=LrnAttrs,
    infer=_infer_lrn,
    host=_host_lrn,
    expand=lambda op, x: x * _power(_norm(op.attrs, x), op.attrs.beta),
    grad=_grad_lrn,
    api="nn.local_response_normalization nn.lrn",
)

LRN_GRAD: OpDef[Tensor] = OpDef(
    "LRNGrad",
    "input_grads: T, input_image: T, output_image: T",
    "output: T",
    """The gradient of LRN, from the gradient of its output, its input and its output; all have the same shape.""",
    types={"T": FLOATS},
    attrs=LrnAttrs,
    infer=_infer_lrn,
    host=_host_lrn_grad,
    expand=lambda op, dy, x, y: _lrn_grad(op.attrs, dy, x),
    grad=_grad_lrn_grad,
)


OPS: tuple[OpDef, ...] = (WINDOW_SUM, LRN, LRN_GRAD)
