"""Quantised values multiplied, averaged and clipped (OSDI'16, section 5).

Invariant: as in TensorFlow, the arithmetic is that of integers, and each result has the range that its integers stand
for; all ops run on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.shapes import broadcast
from tfnb.ir.tensor import Tensor
from tfnb.ops.nn.quantize import limits, quantized_op, range_of, scalars, with_range
from tfnb.ops.nn.quantized_nn import QUANTIZED_MAX_POOL, PoolAttrs, clipped, product_range, wrapped
from tfnb.types import QUANTIZED, Shape, qint32, quint8, scalar

__all__ = ["API", "OPS"]


def _host_relu_x(call: HostCall, x: np.ndarray, top: np.ndarray, *ends: np.ndarray) -> Any:
    return clipped(float(top.reshape(())))(call, x, *ends)


QUANTIZED_RELU_X: OpDef[tuple[Tensor, Tensor, Tensor]] = quantized_op(
    "QuantizedReluX",
    "features: Tinput, max_value: float32, min_features: float32, max_features: float32",
    "activations: out_type, min_activations: float32, max_activations: float32",
    "min(max(x, 0), max_value) of quantised values.\n\nfeatures: any shape, with its range. max_value: a scalar. "
    "activations: the same shape and range.",
    _host_relu_x,
    lambda c: (c.shapes[0], scalar, scalar),
    types={"Tinput": (quint8, qint32), "out_type": (quint8, qint32)},
    defaults={"out_type": quint8},
)


def _broadcast(c: Infer) -> tuple[Shape, Shape, Shape]:
    shape: Shape = broadcast(Infer(c.op_name, c.shapes[:2], c.dtypes[:2], c.attrs, c.types, c.value, c.as_shape))
    return shape, scalar, scalar


def _host_mul(call: HostCall, x: np.ndarray, y: np.ndarray, *ranges: np.ndarray) -> Any:
    zero_x, zero_y, out_range = product_range(call, "T1 T2 Toutput", ranges)
    total = (x.astype(np.float64) - zero_x) * (y.astype(np.float64) - zero_y)
    return wrapped(total, call.types["Toutput"]), *out_range


_PAIR = "x: T1, y: T2, min_x: float32, max_x: float32, min_y: float32, max_y: float32"
_PAIR_DOC = "x, y: shapes that broadcast, each with its range. z: the common shape in 32 bits, with its range."
_PAIR_TYPES = {"T1": (quint8,), "T2": (quint8,), "Toutput": (qint32,)}

QUANTIZED_MUL: OpDef[tuple[Tensor, Tensor, Tensor]] = quantized_op(
    "QuantizedMul",
    _PAIR,
    "z: Toutput, min_z: float32, max_z: float32",
    f"The product of quantised values, elementwise.\n\n{_PAIR_DOC}",
    _host_mul,
    _broadcast,
    types=_PAIR_TYPES,
    defaults={"Toutput": qint32},
)


def _host_avg(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
    a: PoolAttrs = call.attrs
    (_, kh, kw, _), (_, sh, sw, _) = a.ksize, a.strides
    height, width = x.shape[1:3]
    same = a.padding == "SAME"
    rows = -(-height // sh) if same else -(-(height - kh + 1) // sh)
    columns = -(-width // sw) if same else -(-(width - kw + 1) // sw)
    top = max(0, (rows - 1) * sh + kh - height) // 2 if same else 0
    left = max(0, (columns - 1) * sw + kw - width) // 2 if same else 0
    out = np.zeros((x.shape[0], max(0, rows), max(0, columns), x.shape[3]), np.int64)
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            h, w = i * sh - top, j * sw - left
            window = x[:, max(h, 0) : h + kh, max(w, 0) : w + kw].astype(np.int64)
            count = window.shape[1] * window.shape[2]
            total = window.sum((1, 2))
            out[:, i, j] = np.sign(total) * (np.abs(total) // max(1, count))
    return np.clip(out, *limits(call.types["T"])).astype(x.dtype), *scalars(*range_of(call, low, high))


QUANTIZED_AVG_POOL: OpDef[tuple[Tensor, Tensor, Tensor]] = quantized_op(
    "QuantizedAvgPool",
    "input: T, min_input: float32, max_input: float32",
    "output: T, min_output: float32, max_output: float32",
    "The average of each window of quantised images, rounded towards zero.\n\ninput: (n, height, width, channels), in "
    "its range. output: (n, rows, columns, channels), in the same range.",
    _host_avg,
    QUANTIZED_MAX_POOL.infer or with_range,
    types={"T": QUANTIZED},
    attrs=PoolAttrs,
    dynamic=True,
)

OPS: tuple[OpDef, ...] = (QUANTIZED_RELU_X, QUANTIZED_MUL, QUANTIZED_AVG_POOL)
API: dict[str, Any] = {}
