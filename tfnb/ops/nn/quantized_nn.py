"""Eight-bit inference: products, convolution, pooling and activations of quantised tensors (OSDI'16, section 5).

Invariant: as in TensorFlow, sums of products are exact in 32-bit integers and wrap around; all ops run on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.conv_pool.conv import infer_conv
from tfnb.ops.conv_pool.conv_reference import conv2d_host, max_pool_host
from tfnb.ops.conv_pool.pool import pooled
from tfnb.ops.linalg.matmul import MatMulAttrs
from tfnb.ops.nn.quantize import (
    from_float,
    level,
    limits,
    quantized_op,
    range_of,
    scalars,
    to_float,
    unclamped,
    with_range,
)
from tfnb.types import INDEX, QUANTIZED, DType, DTypeLike, Shape, qint32, quint8, scalar

__all__ = ["API", "OPS", "QUANTIZED_MAX_POOL", "clipped", "product_range", "wrapped"]


@record
class WindowAttrs:
    """`strides`, `dilations`: (1, rows, columns, 1); `padding`: "SAME" or "VALID"."""

    strides: Sequence[int]
    padding: str
    dilations: Sequence[int] = (1, 1, 1, 1)

    def __post_init__(self) -> None:
        for name in ("strides", "dilations"):
            object.__setattr__(self, name, tuple(int(v) for v in getattr(self, name)))


@record
class PoolAttrs:
    """`ksize`, `strides`: (1, rows, columns, 1); `padding`: "SAME" or "VALID"."""

    ksize: Sequence[int]
    strides: Sequence[int]
    padding: str

    def __post_init__(self) -> None:
        for name in ("ksize", "strides"):
            object.__setattr__(self, name, tuple(int(v) for v in getattr(self, name)))


def product_range(call: HostCall, names: str, ranges: Sequence[np.ndarray]) -> tuple[int, int, list[np.ndarray]]:
    """Returns (the integers that represent zero in the two operands, the range of the sums of their products)."""
    (type_a, type_b), out = (call.types[n] for n in names.split()[:2]), call.types[names.split()[2]]
    a, b = range_of(call, *ranges[:2]), range_of(call, *ranges[2:])
    step = level(*a, type_a) * level(*b, type_b)
    zeros = [0 if r[0] == r[1] else int(unclamped(0.0, *r, t)) for r, t in ((a, type_a), (b, type_b))]
    lowest, highest = limits(out)
    return zeros[0], zeros[1], scalars(step * lowest, step * highest)


def _host_matmul(call: HostCall, a: np.ndarray, b: np.ndarray, *ranges: np.ndarray) -> Any:
    attrs = call.attrs
    zero_a, zero_b, out_range = product_range(call, "T1 T2 Toutput", ranges)
    x = a.T if attrs.transpose_a else a
    y = b.T if attrs.transpose_b else b
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        raise InvalidArgumentError(f"QuantizedMatMul: shapes {a.shape} and {b.shape} cannot be multiplied", call.op)
    # float64 represents sums of 8-bit products exactly, and BLAS is fast for it
    total = (x.astype(np.float64) - zero_a) @ (y.astype(np.float64) - zero_b)
    return wrapped(total, call.types["Toutput"]), *out_range


def wrapped(total: np.ndarray, dtype: DType) -> np.ndarray:
    """Returns whole numbers as integers of `dtype`, which wrap around."""
    return np.asarray(total.astype(np.int64).astype(dtype.np))


def _matmul_shape(c: Infer) -> tuple[Shape, Shape, Shape]:
    a, b = with_rank(c, 0, 2).sizes or (None, None), with_rank(c, 1, 2).sizes or (None, None)
    rows, inner = a[::-1] if c.attrs.transpose_a else a
    depth, columns = b[::-1] if c.attrs.transpose_b else b
    if inner is not None and depth is not None and inner != depth:
        raise ShapeError(f"QuantizedMatMul: {inner} columns cannot meet {depth} rows")
    return Shape((rows, columns)), scalar, scalar


QUANTIZED_MAT_MUL: OpDef[tuple[Tensor, Tensor, Tensor]] = quantized_op(
    "QuantizedMatMul",
    "a: T1, b: T2, min_a: float32, max_a: float32, min_b: float32, max_b: float32",
    "out: Toutput, min_out: float32, max_out: float32",
    "The product of quantised matrices, in 32-bit integers.\n\na: (m, k), b: (k, n), or their transposes; each has a "
    "range. out: (m, n) and its range. Errors: the shapes do not match, or a range is empty.",
    _host_matmul,
    _matmul_shape,
    types={"T1": QUANTIZED, "T2": QUANTIZED, "Toutput": (qint32,), "Tactivation": QUANTIZED},
    defaults={"Toutput": qint32, "Tactivation": quint8},
    attrs=MatMulAttrs,
)


def _host_conv(call: HostCall, x: np.ndarray, w: np.ndarray, *ranges: np.ndarray) -> Any:
    a = call.attrs
    zero_x, zero_w, out_range = product_range(call, "Tinput Tfilter out_type", ranges)
    total = conv2d_host(
        x.astype(np.float64) - zero_x,
        w.astype(np.float64) - zero_w,
        a.strides,
        a.padding,
        a.dilations,
    )
    return wrapped(total, call.types["out_type"]), *out_range


def _conv_shapes(c: Infer) -> tuple[Shape, Shape, Shape]:
    return infer_conv(c), scalar, scalar


def _pool_shapes(c: Infer) -> tuple[Shape, Shape, Shape]:
    return pooled(c.attrs, with_rank(c, 0, 4)), scalar, scalar


QUANTIZED_CONV2D: OpDef[tuple[Tensor, Tensor, Tensor]] = quantized_op(
    "QuantizedConv2D",
    "input: Tinput, filter: Tfilter, min_input: float32, max_input: float32, min_filter: float32, max_filter: float32",
    "output: out_type, min_output: float32, max_output: float32",
    "The convolution of quantised images, in 32-bit integers; the padding is zero.\n\n"
    "input: (n, height, width, in). filter: (rows, columns, in, out). "
    "output: (n, rows, columns, out) and its range. Errors: a range is empty.",
    _host_conv,
    _conv_shapes,
    types={"Tinput": QUANTIZED, "Tfilter": QUANTIZED, "out_type": (qint32,)},
    defaults={"out_type": qint32},
    attrs=WindowAttrs,
    dynamic=True,
)


def clipped(top: float | None) -> Any:
    """Returns the host kernel that clips quantised values at zero, and at `top` unless it is None."""

    def host(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
        ends, dtype = range_of(call, low, high), call.types["Tinput"]
        result = np.maximum(x, from_float(0.0, *ends, dtype))
        if top is not None:
            result = np.minimum(result, from_float(top, *ends, dtype))
        return result.astype(call.types["out_type"].np), *scalars(*ends)

    return host


def _relu(name: str, top: float | None, doc: str) -> OpDef[tuple[Tensor, Tensor, Tensor]]:
    return quantized_op(
        name,
        "features: Tinput, min_features: float32, max_features: float32",
        "activations: out_type, min_activations: float32, max_activations: float32",
        f"{doc} of quantised values.\n\nfeatures: any shape, with its range. activations: the same shape and range.",
        clipped(top),
        with_range,
        types={"Tinput": (quint8, qint32), "out_type": (quint8, qint32)},
        defaults={"out_type": quint8},
    )


QUANTIZED_RELU = _relu("QuantizedRelu", None, "max(x, 0)")
QUANTIZED_RELU6 = _relu("QuantizedRelu6", 6.0, "min(max(x, 0), 6)")


def _host_bias(call: HostCall, x: np.ndarray, bias: np.ndarray, *ranges: np.ndarray) -> Any:
    a, b, out_type = range_of(call, *ranges[:2]), range_of(call, *ranges[2:]), call.types["out_type"]
    if bias.ndim != 1 or x.ndim < 1 or x.shape[-1] != bias.size:
        raise InvalidArgumentError(f"QuantizedBiasAdd: the bias {bias.shape} does not fit {x.shape}", call.op)
    edge = float(np.float32(max(abs(v) for v in (*a, *b)))) * (1 << 17)
    edge = edge if edge else 1.0
    parts = [
        from_float(to_float(v, *ends, t), -edge, edge, out_type).astype(np.int64)
        for v, ends, t in ((x, a, call.types["T1"]), (bias, b, call.types["T2"]))
    ]
    return (parts[0] + parts[1]).astype(out_type.np), *scalars(-edge, edge)


QUANTIZED_BIAS_ADD: OpDef[tuple[Tensor, Tensor, Tensor]] = quantized_op(
    "QuantizedBiasAdd",
    "input: T1, bias: T2, min_input: float32, max_input: float32, min_bias: float32, max_bias: float32",
    "output: out_type, min_out: float32, max_out: float32",
    "Adds a vector to the last dimension of quantised values.\n\ninput: any shape. bias: a vector. Each has a range. "
    "output: input's shape in 32 bits, in a range wide enough for the sums. Errors: the sizes differ.",
    _host_bias,
    with_range,
    types={"T1": (quint8,), "T2": (quint8,), "out_type": (qint32,)},
)


def _host_pool(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
    a = call.attrs
    pooled = max_pool_host(x.astype(np.float64), a.ksize, a.strides, a.padding)
    return pooled.astype(x.dtype), *scalars(*range_of(call, low, high))


QUANTIZED_MAX_POOL: OpDef[tuple[Tensor, Tensor, Tensor]] = quantized_op(
    "QuantizedMaxPool",
    "input: T, min_input: float32, max_input: float32",
    "output: T, min_output: float32, max_output: float32",
    "The largest value of each window of quantised images.\n\ninput: (n, height, width, channels), with its range. "
    "output: (n, rows, columns, channels), in the same range.",
    _host_pool,
    _pool_shapes,
    types={"T": QUANTIZED},
    attrs=PoolAttrs,
    dynamic=True,
)


def _reshaped(c: Infer) -> tuple[Shape, Shape, Shape]:
    shape, total = c.as_shape(1), c.shapes[0].num_elements()
    if shape.sizes is None or shape.is_fully_defined() or total is None:
        return shape, scalar, scalar
    rest = int(np.prod([d for d in shape.sizes if d is not None], dtype=np.int64))
    free = total // rest if rest and shape.sizes.count(None) == 1 else None
    return Shape(tuple(free if d is None else d for d in shape.sizes)), scalar, scalar


def _host_reshape(
    call: HostCall, x: np.ndarray, shape: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if (shape < -1).any():
        raise InvalidArgumentError(f"QuantizedReshape: {shape.tolist()} is not a shape", call.op)
    try:
        return x.reshape([int(d) for d in shape]), low, high
    except ValueError as e:
        raise InvalidArgumentError(f"QuantizedReshape: {e}", call.op) from None


QUANTIZED_RESHAPE: OpDef[tuple[Tensor, Tensor, Tensor]] = quantized_op(
    "QuantizedReshape",
    "tensor: T, shape: Tshape, input_min: float32, input_max: float32",
    "output: T, output_min: float32, output_max: float32",
    "Reshapes quantised values.\n\ntensor: any shape, with its range. shape: a vector; one entry may be -1, which is "
    "computed. output: that shape, the same range. Errors: the numbers of elements differ.",
    _host_reshape,
    _reshaped,
    types={"T": QUANTIZED, "Tshape": INDEX},
    shape_inputs=(1,),
)


def quantized_conv2d(
    input: TensorLike,
    filter: TensorLike,
    min_input: TensorLike,
    max_input: TensorLike,
    min_filter: TensorLike,
    max_filter: TensorLike,
    strides: Sequence[int],
    padding: str,
    out_type: DTypeLike = qint32,
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The convolution of quantised images, in 32-bit integers, with its range; see the op QuantizedConv2D.

    input: (n, height, width, in). filter: (rows, columns, in, out). The ranges are floats, each below its end. strides,
    dilations: (1, rows, columns, 1). padding: "SAME" or "VALID". Raises `InvalidArgumentError` for other arguments.
    """
    ranges = (min_input, max_input, min_filter, max_filter)
    options = {"strides": strides, "padding": padding, "dilations": dilations}
    return QUANTIZED_CONV2D(input, filter, *ranges, out_type=out_type, name=name, **options)


API: dict[str, Any] = {"nn.quantized_conv2d": quantized_conv2d}
OPS: tuple[OpDef, ...] = (
    QUANTIZED_MAT_MUL,
    QUANTIZED_CONV2D,
    QUANTIZED_RELU,
    QUANTIZED_RELU6,
    QUANTIZED_BIAS_ADD,
    QUANTIZED_MAX_POOL,
    QUANTIZED_RESHAPE,
)
