"""Eight-bit inference: floats as small integers with a range, and the ops between them (FEATURES O7).

A quantised tensor is three: integers, and the floats that its lowest and highest integer stand for. Invariant: the
arithmetic is TensorFlow's, whose steps a trained graph depends on; all run on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.shapes import with_rank
from tfnb.ops.host_conv import conv2d_host, max_pool_host
from tfnb.types import (
    INDEX,
    QUANTIZED,
    DType,
    Shape,
    float32,
    qint32,
    quint8,
    scalar,
)

__all__ = ["API", "OPS", "from_float", "to_float"]

_MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")


@dataclass(frozen=True, slots=True)
class QuantizeAttrs:
    """`mode`: MIN_COMBINED, MIN_FIRST or SCALED (around zero); `round_mode`: of SCALED; `narrow_range`: the lowest
    integer is not used; `axis`: -1, one range for all; `ensure_minimum_range`: how wide the range is at least."""

    mode: str = "MIN_COMBINED"
    round_mode: str = "HALF_AWAY_FROM_ZERO"
    narrow_range: bool = False
    axis: int = -1
    ensure_minimum_range: float = 0.01

    def __post_init__(self) -> None:
        _check(self.mode, self.axis)
        if self.round_mode not in ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"):
            raise InvalidArgumentError(f"unknown round_mode {self.round_mode!r}")
        if self.round_mode == "HALF_TO_EVEN" and self.mode != "SCALED":
            raise InvalidArgumentError("round_mode HALF_TO_EVEN is for the mode SCALED")


@dataclass(frozen=True, slots=True)
class DequantizeAttrs:
    """`mode`, `narrow_range`, `axis`: as the values were quantised."""

    mode: str = "MIN_COMBINED"
    narrow_range: bool = False
    axis: int = -1

    def __post_init__(self) -> None:
        _check(self.mode, self.axis)


def _check(mode: str, axis: int) -> None:
    if mode not in _MODES:
        raise InvalidArgumentError(f"mode must be one of {_MODES}, got {mode!r}")
    if axis != -1:
        raise InvalidArgumentError(f"axis must be -1 (one range for the whole tensor), got {axis}")


@dataclass(frozen=True, slots=True)
class MatMulAttrs:
    """`transpose_a`, `transpose_b`: the matrices are transposed first."""

    transpose_a: bool = False
    transpose_b: bool = False


@dataclass(frozen=True, slots=True)
class WindowAttrs:
    """`strides`, `dilations`: (1, rows, columns, 1); `padding`: "SAME" or "VALID"."""

    strides: Sequence[int]
    padding: str
    dilations: Sequence[int] = (1, 1, 1, 1)

    def __post_init__(self) -> None:
        for name in ("strides", "dilations"):
            object.__setattr__(self, name, tuple(int(v) for v in getattr(self, name)))


@dataclass(frozen=True, slots=True)
class PoolAttrs:
    """`ksize`, `strides`: (1, rows, columns, 1); `padding`: "SAME" or "VALID"."""

    ksize: Sequence[int]
    strides: Sequence[int]
    padding: str

    def __post_init__(self) -> None:
        for name in ("ksize", "strides"):
            object.__setattr__(self, name, tuple(int(v) for v in getattr(self, name)))


def _limits(dtype: DType) -> tuple[int, int]:
    info = np.iinfo(dtype.np)
    return int(info.min), int(info.max)


def _away(x: np.ndarray) -> np.ndarray:
    """Rounded, halves away from zero."""
    return np.asarray(np.sign(x) * np.floor(np.abs(x) + 0.5))


def _scale(low: float, high: float, dtype: DType) -> tuple[float, int]:
    """(integers per unit, lowest integer), with a step more than the range has, as TensorFlow's `MIN_FIRST`."""
    least, most = _limits(dtype)
    steps = most - least + 1
    width = (float(high) - float(low)) * (steps / (steps - 1))
    return steps / width if width else 0.0, least


def _unclamped(x: Any, low: float, high: float, dtype: DType) -> np.ndarray:
    scale, least = _scale(low, high, dtype)
    return np.asarray(_away(np.asarray(x) * scale) - _away(np.asarray(low * scale)) + least)


def from_float(x: Any, low: float, high: float, dtype: DType) -> np.ndarray:
    """Floats as integers of `dtype` that stand for the range [low, high], clipped to it."""
    if low == high:
        return np.zeros(np.shape(x), dtype.np)
    found = np.clip(_unclamped(x, low, high, dtype), *_limits(dtype))
    return np.asarray(found, dtype.np)


def to_float(x: Any, low: float, high: float, dtype: DType) -> np.ndarray:
    """What integers that stand for [low, high] mean, float64."""
    if low == high:
        return np.full(np.shape(x), low)
    scale, least = _scale(low, high, dtype)
    step = float(np.float32(1 / scale))  # TensorFlow rounds the range's start by a float32 step
    start = float(_away(np.asarray(low / step))) * step
    return np.asarray(start + (np.asarray(x, np.float64) - least) / scale)


def _pair(call: HostCall, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    if low.size != 1 or high.size != 1:
        raise InvalidArgumentError(
            f"{call.op.type}: a range is two scalars, got shapes {low.shape} and {high.shape}",
            call.op,
        )
    a, b = float(low.reshape(())), float(high.reshape(()))
    if not (np.isfinite(a) and np.isfinite(b) and a <= b):
        raise InvalidArgumentError(f"{call.op.type}: [{a}, {b}] is no range", call.op)
    return a, b


def _scalars(*numbers: float) -> list[np.ndarray]:
    return [np.asarray(n, np.float32) for n in numbers]


def _host_quantize(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
    a, dtype = call.attrs, call.types["T"]
    first, last = _pair(call, low, high)
    margin = max(1.0, abs(first), abs(last)) * np.float32(a.ensure_minimum_range)
    first = min(0.0, first)
    last = max(0.0, max(last, first + margin))
    least, most = _limits(dtype)
    clean = np.where(np.isnan(x), np.float32(0), x)
    if a.mode == "MIN_FIRST":
        return from_float(clean, first, last, dtype), *_scalars(first, last)
    if a.mode == "SCALED":
        least = least + 1 if a.narrow_range and least < 0 else least
        scales = [m / edge for m, edge in ((least, first), (most, last)) if m * edge > 0]
        scale = np.float32(min(scales, default=1.0))
        first, last = least / float(scale), most / float(scale)
        scaled = np.clip(clean, np.float32(first), np.float32(last)) * scale
        whole = np.rint(scaled) if a.round_mode == "HALF_TO_EVEN" else _away(scaled)
    else:
        scale = np.float32(np.float32(most - least) / np.float32(last - first))
        middle = np.float32((most - least + 1) // 2 if least < 0 else 0)
        inside = np.clip(clean, np.float32(first), np.float32(last))
        whole = _away((inside - np.float32(first)) * scale - middle)
    whole = np.clip(whole.astype(np.float64), least, most)
    return whole.astype(dtype.np), *_scalars(first, last)


def _with_range(c: Infer) -> tuple[Shape, Shape, Shape]:
    return c.shapes[0], scalar, scalar


def _op(
    name: str, inputs: str, outputs: str, doc: str, host: Any, infer: Any, **more: Any
) -> OpDef:
    return OpDef(
        name,
        inputs,
        outputs,
        doc + " Runs on the host.",
        infer=infer,
        host=host,
        grad=NOT_DIFFERENTIABLE,
        **more,
    )


QUANTIZE_V2 = _op(
    "QuantizeV2",
    "input: float32, min_range: float32, max_range: float32",
    "output: T, output_min: float32, output_max: float32",
    "Floats as integers that stand for a range.\n\ninput: float32, any shape. min_range, max_range: scalars; values "
    "outside are clipped, and zero is always inside. output: input's shape; output_min, output_max: the range taken. "
    "Errors: no range.",
    _host_quantize,
    _with_range,
    types={"T": QUANTIZED},
    attrs=QuantizeAttrs,
)


def _host_dequantize(
    call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    dtype, mode = call.types["T"], call.attrs.mode
    first, last = _pair(call, low, high)
    least, most = _limits(dtype)
    if mode == "MIN_FIRST":
        step = (last - first) / (most - least)
        start = float(_away(np.asarray(first / step))) * step if step else first
        return np.asarray(start + (x.astype(np.float64) - least) * step, np.float32)
    if mode == "SCALED":
        least = least + 1 if call.attrs.narrow_range and least < 0 else least
        scale = max(first / least if least else 0.0, last / most)
        return np.asarray(x.astype(np.float64) * scale, np.float32)
    middle = (most - least + 1) // 2 if least < 0 else 0
    scale = np.float32(last - first) / np.float32(most - least)
    return np.asarray((x.astype(np.float64) + middle) * scale + first, np.float32)


DEQUANTIZE = _op(
    "Dequantize",
    "input: T, min_range: float32, max_range: float32",
    "output: dtype",
    "What quantised integers stand for.\n\ninput: any shape. min_range, max_range: scalars, its range. "
    "output: float32, input's shape. Errors: no range.",
    _host_dequantize,
    lambda c: c.shapes[0],
    types={"T": QUANTIZED, "dtype": (float32,)},
    defaults={"dtype": float32},
    attrs=DequantizeAttrs,
)


def _level(low: float, high: float, dtype: DType) -> float:
    """What one step of the integers stands for."""
    least, most = _limits(dtype)
    return (high - low) / (most - least)


def _product(
    call: HostCall, names: str, ranges: Sequence[np.ndarray]
) -> tuple[int, int, list[np.ndarray]]:
    """(the integers that are zero of both operands, the range of their products' sums)."""
    (one, two), out = (call.types[n] for n in names.split()[:2]), call.types[names.split()[2]]
    a, b = _pair(call, *ranges[:2]), _pair(call, *ranges[2:])
    step = _level(*a, one) * _level(*b, two)
    zeros = [0 if r[0] == r[1] else int(_unclamped(0.0, *r, t)) for r, t in ((a, one), (b, two))]
    least, most = _limits(out)
    return zeros[0], zeros[1], _scalars(step * least, step * most)


def _host_matmul(call: HostCall, a: np.ndarray, b: np.ndarray, *ranges: np.ndarray) -> Any:
    attrs = call.attrs
    zero_a, zero_b, found = _product(call, "T1 T2 Toutput", ranges)
    x = a.T if attrs.transpose_a else a
    y = b.T if attrs.transpose_b else b
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        raise InvalidArgumentError(
            f"QuantizedMatMul: shapes {a.shape} and {b.shape} cannot be multiplied", call.op
        )
    # float64 holds sums of 8-bit products exactly, and is what BLAS is fast at
    total = (x.astype(np.float64) - zero_a) @ (y.astype(np.float64) - zero_b)
    return _wrapped(total, call.types["Toutput"]), *found


def _wrapped(total: np.ndarray, dtype: DType) -> np.ndarray:
    return np.asarray(total.astype(np.int64).astype(dtype.np))


def _matmul_shape(c: Infer) -> tuple[Shape, Shape, Shape]:
    a, b = with_rank(c, 0, 2).dims or (None, None), with_rank(c, 1, 2).dims or (None, None)
    rows, inner = a[::-1] if c.attrs.transpose_a else a
    other, columns = b[::-1] if c.attrs.transpose_b else b
    if inner is not None and other is not None and inner != other:
        raise ShapeError(f"QuantizedMatMul: {inner} columns cannot meet {other} rows")
    return Shape((rows, columns)), scalar, scalar


QUANTIZED_MAT_MUL = _op(
    "QuantizedMatMul",
    "a: T1, b: T2, min_a: float32, max_a: float32, min_b: float32, max_b: float32",
    "out: Toutput, min_out: float32, max_out: float32",
    "The product of quantised matrices, in 32-bit integers.\n\na: (m, k), b: (k, n), or their transposes; with a range "
    "each. out: (m, n) and its range. Errors: shapes that do not fit, no range.",
    _host_matmul,
    _matmul_shape,
    types={"T1": QUANTIZED, "T2": QUANTIZED, "Toutput": (qint32,), "Tactivation": QUANTIZED},
    defaults={"Toutput": qint32, "Tactivation": quint8},
    attrs=MatMulAttrs,
)


def _host_conv(call: HostCall, x: np.ndarray, w: np.ndarray, *ranges: np.ndarray) -> Any:
    a = call.attrs
    zero_x, zero_w, found = _product(call, "Tinput Tfilter out_type", ranges)
    total = conv2d_host(
        x.astype(np.float64) - zero_x,
        w.astype(np.float64) - zero_w,
        a.strides,
        a.padding,
        a.dilations,
    )
    return _wrapped(total, call.types["out_type"]), *found


def _ranked_first(rank: int) -> Any:
    def infer(c: Infer) -> tuple[Shape, Shape, Shape]:
        n = (with_rank(c, 0, rank).dims or (None,))[0]
        return Shape((n, None, None, _last(c))), scalar, scalar

    return infer


def _last(c: Infer) -> int | None:
    dims = c.shapes[1].dims if c.op_name == "QuantizedConv2D" else c.shapes[0].dims
    return dims[-1] if dims else None


QUANTIZED_CONV2D = _op(
    "QuantizedConv2D",
    "input: Tinput, filter: Tfilter, min_input: float32, max_input: float32, min_filter: float32, max_filter: float32",
    "output: out_type, min_output: float32, max_output: float32",
    "The convolution of quantised images, in 32-bit integers; what is outside is zero.\n\n"
    "input: (n, height, width, in). filter: (rows, columns, in, out). "
    "output: (n, rows, columns, out) and its range. Errors: no range.",
    _host_conv,
    _ranked_first(4),
    types={"Tinput": QUANTIZED, "Tfilter": QUANTIZED, "out_type": (qint32,)},
    defaults={"out_type": qint32},
    attrs=WindowAttrs,
    dynamic=True,
)


def _used(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """The range of the values that are there, zero included."""
    dtype, own = call.types["Tinput"], _pair(call, low, high)
    if not x.size:
        return 0.0, 0.0
    ends = np.array([x.min(), x.max()])
    first, last = (float(np.float32(v)) for v in to_float(ends, *own, dtype))
    return min(0.0, first), last


def _requantized(
    x: np.ndarray, own: tuple[float, float], into: DType, low: float, high: float, dtype: DType
) -> np.ndarray:
    if (dtype, into) == (qint32, quint8) and high > low:
        return _fixed_point(x, own, low, high)
    return from_float(np.float32(to_float(x, *own, dtype)), low, high, into)


def _fixed_point(x: np.ndarray, own: tuple[float, float], low: float, high: float) -> np.ndarray:
    """32 to 8 bits in integer arithmetic with 16 bits of fraction, as TensorFlow does."""
    f = np.float32  # in the precision that TensorFlow has the constants in
    first, last = f(own[0]), f(own[1])
    width, span = float(last - first), float(f(high) - f(low))
    factor = int(255.0 * (1 << 16) * width / span)
    middle = int(f((first + last) / f(2)) * f(255.0 / span) * f(1 << 16))
    shift = middle - int(_away(np.asarray(low * 255.0 / span * (1 << 16))))
    found = (x.astype(np.int64) * factor >> 32) + shift + (1 << 15) >> 16
    return np.asarray(np.clip(found, 0, 255), np.uint8)


def _host_requantize(call: HostCall, x: np.ndarray, *ranges: np.ndarray) -> Any:
    own, wanted = _pair(call, *ranges[:2]), _pair(call, *ranges[2:])
    found = _requantized(x, own, call.types["out_type"], *wanted, call.types["Tinput"])
    return found, *_scalars(*wanted)


REQUANTIZE = _op(
    "Requantize",
    "input: Tinput, input_min: float32, input_max: float32, requested_output_min: float32,"
    " requested_output_max: float32",
    "output: out_type, output_min: float32, output_max: float32",
    "Quantised values in another dtype and range.\n\ninput: any shape, with its range. output: the same shape, of "
    "`out_type`, in the requested range. Errors: no range.",
    _host_requantize,
    _with_range,
    types={"Tinput": QUANTIZED, "out_type": QUANTIZED},
)

REQUANTIZATION_RANGE = _op(
    "RequantizationRange",
    "input: Tinput, input_min: float32, input_max: float32",
    "output_min: float32, output_max: float32",
    "The range of the values that are there, zero included.\n\ninput: any shape, with its range. Outputs: scalars.",
    lambda call, *inputs: tuple(_scalars(*_used(call, *inputs))),
    lambda c: (scalar, scalar),
    types={"Tinput": QUANTIZED},
)


def _host_shrink(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
    wanted = _used(call, x, low, high)
    found = _requantized(
        x, _pair(call, low, high), call.types["out_type"], *wanted, call.types["Tinput"]
    )
    return found, *_scalars(*wanted)


QUANTIZE_DOWN = _op(
    "QuantizeDownAndShrinkRange",
    "input: Tinput, input_min: float32, input_max: float32",
    "output: out_type, output_min: float32, output_max: float32",
    "Quantised values in a smaller dtype, in the range of those that are there.\n\ninput: any shape, with its range. "
    "output: the same shape, of `out_type`.",
    _host_shrink,
    _with_range,
    types={"Tinput": QUANTIZED, "out_type": QUANTIZED},
)


def _clipped(top: float | None) -> Any:
    def host(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
        own, dtype = _pair(call, low, high), call.types["Tinput"]
        found = np.maximum(x, from_float(0.0, *own, dtype))
        if top is not None:
            found = np.minimum(found, from_float(top, *own, dtype))
        return found.astype(call.types["out_type"].np), *_scalars(*own)

    return host


def _relu(name: str, top: float | None, doc: str) -> OpDef:
    return _op(
        name,
        "features: Tinput, min_features: float32, max_features: float32",
        "activations: out_type, min_activations: float32, max_activations: float32",
        f"{doc} of quantised values.\n\nfeatures: any shape, with its range. activations: alike, in the same range.",
        _clipped(top),
        _with_range,
        types={"Tinput": (quint8, qint32), "out_type": (quint8, qint32)},
        defaults={"out_type": quint8},
    )


QUANTIZED_RELU = _relu("QuantizedRelu", None, "max(x, 0)")
QUANTIZED_RELU6 = _relu("QuantizedRelu6", 6.0, "min(max(x, 0), 6)")


def _host_bias(call: HostCall, x: np.ndarray, bias: np.ndarray, *ranges: np.ndarray) -> Any:
    a, b, into = _pair(call, *ranges[:2]), _pair(call, *ranges[2:]), call.types["out_type"]
    if bias.ndim != 1 or x.ndim < 1 or x.shape[-1] != bias.size:
        raise InvalidArgumentError(
            f"QuantizedBiasAdd: the bias {bias.shape} does not fit {x.shape}", call.op
        )
    edge = float(np.float32(max(abs(v) for v in (*a, *b)))) * (1 << 17)
    edge = edge if edge else 1.0
    parts = [
        from_float(to_float(v, *own, t), -edge, edge, into).astype(np.int64)
        for v, own, t in ((x, a, call.types["T1"]), (bias, b, call.types["T2"]))
    ]
    return (parts[0] + parts[1]).astype(into.np), *_scalars(-edge, edge)


QUANTIZED_BIAS_ADD = _op(
    "QuantizedBiasAdd",
    "input: T1, bias: T2, min_input: float32, max_input: float32, min_bias: float32, max_bias: float32",
    "output: out_type, min_out: float32, max_out: float32",
    "A vector added to the last dimension of quantised values.\n\ninput: any shape, bias: a vector, with a range each. "
    "output: input's shape in 32 bits, in a range wide enough for sums. Errors: the sizes differ.",
    _host_bias,
    _with_range,
    types={"T1": (quint8,), "T2": (quint8,), "out_type": (qint32,)},
)


def _host_pool(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
    a = call.attrs
    found = max_pool_host(x.astype(np.float64), a.ksize, a.strides, a.padding)
    return found.astype(x.dtype), *_scalars(*_pair(call, low, high))


QUANTIZED_MAX_POOL = _op(
    "QuantizedMaxPool",
    "input: T, min_input: float32, max_input: float32",
    "output: T, min_output: float32, max_output: float32",
    "The greatest value of each window of quantised images.\n\ninput: (n, height, width, channels), with its range. "
    "output: (n, rows, columns, channels), in the same range.",
    _host_pool,
    _ranked_first(4),
    types={"T": QUANTIZED},
    attrs=PoolAttrs,
    dynamic=True,
)


def _reshaped(c: Infer) -> tuple[Shape, Shape, Shape]:
    known, total = c.as_shape(1), c.shapes[0].num_elements()
    if known.dims is None or known.is_fully_defined() or total is None:
        return known, scalar, scalar
    rest = int(np.prod([d for d in known.dims if d is not None], dtype=np.int64))
    free = total // rest if rest and known.dims.count(None) == 1 else None
    return Shape(tuple(free if d is None else d for d in known.dims)), scalar, scalar


def _host_reshape(call: HostCall, x: np.ndarray, shape: np.ndarray, low: Any, high: Any) -> Any:
    if (shape < -1).any():
        raise InvalidArgumentError(f"QuantizedReshape: {shape.tolist()} is not a shape", call.op)
    try:
        return x.reshape([int(d) for d in shape]), low, high
    except ValueError as e:
        raise InvalidArgumentError(f"QuantizedReshape: {e}", call.op) from None


QUANTIZED_RESHAPE = _op(
    "QuantizedReshape",
    "tensor: T, shape: Tshape, input_min: float32, input_max: float32",
    "output: T, output_min: float32, output_max: float32",
    "Quantised values in another shape.\n\ntensor: any shape, with its range. shape: a vector; one -1 takes what is "
    "left. output: that shape, the same range. Errors: the numbers of elements differ.",
    _host_reshape,
    _reshaped,
    types={"T": QUANTIZED, "Tshape": INDEX},
    shape_inputs=(1,),
)


def quantize_v2(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    ensure_minimum_range: float = 0.01,
) -> list[Any]:
    """[output, output_min, output_max]: floats as integers of the dtype `T` that stand for a range; see QuantizeV2."""
    how = {"round_mode": round_mode, "narrow_range": narrow_range}
    minimum = {"ensure_minimum_range": ensure_minimum_range}
    made = QUANTIZE_V2(input, min_range, max_range, T=T, mode=mode, name=name, **how, **minimum)
    return list(made)


def dequantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    narrow_range: bool = False,
) -> Any:
    """What quantised integers stand for, float32."""
    how = {"mode": mode, "narrow_range": narrow_range}
    return DEQUANTIZE(input, min_range, max_range, dtype=float32, name=name, **how)


OPS: tuple[OpDef, ...] = (
    QUANTIZE_V2,
    DEQUANTIZE,
    QUANTIZED_MAT_MUL,
    QUANTIZED_CONV2D,
    REQUANTIZE,
    REQUANTIZATION_RANGE,
    QUANTIZE_DOWN,
    QUANTIZED_RELU,
    QUANTIZED_RELU6,
    QUANTIZED_BIAS_ADD,
    QUANTIZED_MAX_POOL,
    QUANTIZED_RESHAPE,
)
API: dict[str, Any] = {
    "quantize_v2": quantize_v2,
    "quantize": quantize_v2,
    "quantization.quantize": quantize_v2,
    "dequantize": dequantize,
    "quantization.dequantize": dequantize,
}
