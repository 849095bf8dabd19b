"""Conversion of floats to small integers with a range, back to floats, and between ranges (OSDI'16, section 5).

A quantised tensor consists of three: the integers, and the floats that the lowest and the highest integer represent.
The ops that compute with them are in `quantized_nn.py`. Invariant: the arithmetic is exactly TensorFlow's, since a
trained graph depends on its rounding steps; all ops run on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import (
    QUANTIZED,
    DType,
    DTypeLike,
    Shape,
    float32,
    qint32,
    quint8,
    scalar,
)

__all__ = [
    "API",
    "OPS",
    "from_float",
    "level",
    "limits",
    "quantized_op",
    "range_of",
    "scalars",
    "to_float",
    "unclamped",
    "with_range",
]

_MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")


@record
class QuantizeAttrs:
    """`mode`: MIN_COMBINED, MIN_FIRST or SCALED (symmetric around zero); `round_mode`: the rounding of SCALED;
    `narrow_range`: the lowest integer is not used; `axis`: -1, one range for the whole tensor; `ensure_minimum_range`:
    the least width of the range."""

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


@record
class DequantizeAttrs:
    """`mode`, `narrow_range`, `axis`: those with which the values were quantised."""

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


def limits(dtype: DType) -> tuple[int, int]:
    """Returns the smallest and the largest integer of a quantised dtype."""
    info = np.iinfo(dtype.np)
    return int(info.min), int(info.max)


def _away(x: np.ndarray) -> np.ndarray:
    """x rounded to the nearest integer, halves away from zero."""
    return np.asarray(np.sign(x) * np.floor(np.abs(x) + 0.5))


def _scale(low: float, high: float, dtype: DType) -> tuple[float, int]:
    """Returns (integers per unit, lowest integer).

    As in TensorFlow's `MIN_FIRST`, the scale is that of one step more than the range has.
    """
    lowest, highest = limits(dtype)
    steps = highest - lowest + 1
    width = (float(high) - float(low)) * (steps / (steps - 1))
    return steps / width if width else 0.0, lowest


def unclamped(x: np.ndarray | np.generic | float, low: float, high: float, dtype: DType) -> np.ndarray:
    """Quantises floats as `from_float`, without clipping to the range."""
    scale, lowest = _scale(low, high, dtype)
    return np.asarray(_away(np.asarray(x) * scale) - _away(np.asarray(low * scale)) + lowest)


def from_float(x: np.ndarray | np.generic | float, low: float, high: float, dtype: DType) -> np.ndarray:
    """Quantises floats: clips them to [low, high] and maps that range to the integers of `dtype`."""
    if low == high:
        return np.zeros(np.shape(x), dtype.np)
    quantized = np.clip(unclamped(x, low, high, dtype), *limits(dtype))
    return np.asarray(quantized, dtype.np)


def to_float(x: ArrayLike, low: float, high: float, dtype: DType) -> np.ndarray:
    """Dequantises integers that represent the range [low, high], to float64."""
    if low == high:
        return np.full(np.shape(x), low)
    scale, lowest = _scale(low, high, dtype)
    step = float(np.float32(1 / scale))  # TensorFlow rounds the start of the range by a step in float32
    start = float(_away(np.asarray(low / step))) * step
    return np.asarray(start + (np.asarray(x, np.float64) - lowest) / scale)


def range_of(call: HostCall, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """Returns the range as two floats. Raises `InvalidArgumentError` unless both are finite scalars and low <= high."""
    if low.size != 1 or high.size != 1:
        raise InvalidArgumentError(
            f"{call.op.type}: a range is two scalars, got shapes {low.shape} and {high.shape}",
            call.op,
        )
    a, b = float(low.reshape(())), float(high.reshape(()))
    if not (np.isfinite(a) and np.isfinite(b) and a <= b):
        raise InvalidArgumentError(f"{call.op.type}: [{a}, {b}] is no range", call.op)
    return a, b


def scalars(*numbers: float) -> list[np.ndarray]:
    """Returns the numbers as float32 scalars, the form of range outputs."""
    return [np.asarray(n, np.float32) for n in numbers]


def _host_quantize(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
    a, dtype = call.attrs, call.types["T"]
    first, last = range_of(call, low, high)
    margin = max(1.0, abs(first), abs(last)) * np.float32(a.ensure_minimum_range)
    first = min(0.0, first)
    last = max(0.0, max(last, first + margin))
    lowest, highest = limits(dtype)
    without_nan = np.where(np.isnan(x), np.float32(0), x)
    if a.mode == "MIN_FIRST":
        return from_float(without_nan, first, last, dtype), *scalars(first, last)
    if a.mode == "SCALED":
        lowest += a.narrow_range
        scales = [m / edge for m, edge in ((lowest, first), (highest, last)) if m * edge > 0]
        scale = np.float32(min(scales, default=1.0))
        first, last = lowest / float(scale), highest / float(scale)
        scaled = np.clip(without_nan, np.float32(first), np.float32(last)) * scale
        whole = np.rint(scaled) if a.round_mode == "HALF_TO_EVEN" else _away(scaled)
    else:
        scale = np.float32(np.float32(highest - lowest) / np.float32(last - first))
        middle = np.float32((highest - lowest + 1) // 2 if lowest < 0 else 0)
        clipped = np.clip(without_nan, np.float32(first), np.float32(last))
        whole = _away((clipped - np.float32(first)) * scale - middle)
    whole = np.clip(whole.astype(np.float64), lowest, highest)
    return whole.astype(dtype.np), *scalars(first, last)


def with_range(c: Infer) -> tuple[Shape, Shape, Shape]:
    """Returns the static output shapes of an op with the shape of input 0 and a range."""
    return c.shapes[0], scalar, scalar


def quantized_op(
    name: str, inputs: str, outputs: str, doc: str, host: Callable[..., Any], infer: Callable[[Infer], Any], **more: Any
) -> OpDef:
    """Defines an op that runs on the host and whose gradient is not implemented."""
    return OpDef(
        name,
        inputs,
        outputs,
        doc + " Runs on the host.",
        infer=infer,
        host=host,
        grad=GRADIENT_MISSING,
        **more,
    )


QUANTIZE_V2: OpDef[tuple[Tensor, Tensor, Tensor]] = quantized_op(
    "QuantizeV2",
    "input: float32, min_range: float32, max_range: float32",
    "output: T, output_min: float32, output_max: float32",
    "Quantises floats to integers that represent a range.\n\ninput: float32, any shape. min_range, max_range: scalars; "
    "values outside are clipped, and the range is extended to include zero. output: input's shape; output_min, "
    "output_max: the range that was used. Errors: the range is empty.",
    _host_quantize,
    with_range,
    types={"T": QUANTIZED},
    attrs=QuantizeAttrs,
)


def _host_dequantize(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    dtype, mode = call.types["T"], call.attrs.mode
    first, last = range_of(call, low, high)
    lowest, highest = limits(dtype)
    if mode == "MIN_FIRST":
        step = (last - first) / (highest - lowest)
        start = float(_away(np.asarray(first / step))) * step if step else first
        return np.asarray(start + (x.astype(np.float64) - lowest) * step, np.float32)
    if mode == "SCALED":
        scale = last / highest
        if lowest < 0:
            scale = max(first / (lowest + call.attrs.narrow_range), scale)
        return np.asarray(x.astype(np.float64) * scale, np.float32)
    middle = (highest - lowest + 1) // 2 if lowest < 0 else 0
    scale = np.float32(last - first) / np.float32(highest - lowest)
    return np.asarray((x.astype(np.float64) + middle) * scale + first, np.float32)


DEQUANTIZE: OpDef[Tensor] = quantized_op(
    "Dequantize",
    "input: T, min_range: float32, max_range: float32",
    "output: dtype",
    "Dequantises integers to floats.\n\ninput: any shape. min_range, max_range: scalars, the range of input. "
    "output: float32, input's shape. Errors: the range is empty.",
    _host_dequantize,
    lambda c: c.shapes[0],
    types={"T": QUANTIZED, "dtype": (float32,)},
    defaults={"dtype": float32},
    attrs=DequantizeAttrs,
)


def level(low: float, high: float, dtype: DType) -> float:
    """Returns the difference between the floats that two consecutive integers represent."""
    lowest, highest = limits(dtype)
    return (high - low) / (highest - lowest)


def _used(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """The range of the values that occur, extended to include zero."""
    dtype, input_range = call.types["Tinput"], range_of(call, low, high)
    if not x.size:
        return 0.0, 0.0
    ends = np.array([x.min(), x.max()])
    first, last = (float(np.float32(v)) for v in to_float(ends, *input_range, dtype))
    return min(0.0, first), last


def _requantized(
    x: np.ndarray, own: tuple[float, float], into: DType, low: float, high: float, dtype: DType
) -> np.ndarray:
    if (dtype, into) == (qint32, quint8) and high > low:
        return _fixed_point(x, own, low, high)
    return from_float(np.float32(to_float(x, *own, dtype)), low, high, into)


def _fixed_point(x: np.ndarray, own: tuple[float, float], low: float, high: float) -> np.ndarray:
    """Converts 32 to 8 bits in integer arithmetic with 16 fractional bits, as TensorFlow does."""
    f = np.float32  # the precision of the constants in TensorFlow
    first, last = f(own[0]), f(own[1])
    width, span = float(last - first), float(f(high) - f(low))
    factor = int(255.0 * (1 << 16) * width / span)
    middle = int(f((first + last) / f(2)) * f(255.0 / span) * f(1 << 16))
    shift = middle - int(_away(np.asarray(low * 255.0 / span * (1 << 16))))
    pixels = (x.astype(np.int64) * factor >> 32) + shift + (1 << 15) >> 16
    return np.asarray(np.clip(pixels, 0, 255), np.uint8)


def _host_requantize(call: HostCall, x: np.ndarray, *ranges: np.ndarray) -> Any:
    source_range, target_range = range_of(call, *ranges[:2]), range_of(call, *ranges[2:])
    if target_range[0] > 0:
        raise InvalidArgumentError(
            f"Requantize: requested_output_min must be at most 0, got {target_range[0]}", call.op
        )
    quantized = _requantized(x, source_range, call.types["out_type"], *target_range, call.types["Tinput"])
    return quantized, *scalars(*target_range)


REQUANTIZE: OpDef[tuple[Tensor, Tensor, Tensor]] = quantized_op(
    "Requantize",
    "input: Tinput, input_min: float32, input_max: float32, requested_output_min: float32,"
    " requested_output_max: float32",
    "output: out_type, output_min: float32, output_max: float32",
    "Converts quantised values to another dtype and range.\n\ninput: any shape, with its range. output: that shape, "
    "of `out_type`, in the requested range. Errors: a range is empty, or the requested one is above 0.",
    _host_requantize,
    with_range,
    types={"Tinput": QUANTIZED, "out_type": QUANTIZED},
)

REQUANTIZATION_RANGE: OpDef[tuple[Tensor, Tensor]] = quantized_op(
    "RequantizationRange",
    "input: Tinput, input_min: float32, input_max: float32",
    "output_min: float32, output_max: float32",
    "The range of the values that occur, zero included.\n\ninput: any shape, with its range. Outputs: scalars.",
    lambda call, *inputs: tuple(scalars(*_used(call, *inputs))),
    lambda c: (scalar, scalar),
    types={"Tinput": QUANTIZED},
)


def _host_shrink(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
    used_range = _used(call, x, low, high)
    quantized = _requantized(x, range_of(call, low, high), call.types["out_type"], *used_range, call.types["Tinput"])
    return quantized, *scalars(*used_range)


QUANTIZE_DOWN: OpDef[tuple[Tensor, Tensor, Tensor]] = quantized_op(
    "QuantizeDownAndShrinkRange",
    "input: Tinput, input_min: float32, input_max: float32",
    "output: out_type, output_min: float32, output_max: float32",
    "Converts quantised values to a smaller dtype, in the range of the values that occur.\n\ninput: any shape, with its"
    " range. output: the same shape, of `out_type`.",
    _host_shrink,
    with_range,
    types={"Tinput": QUANTIZED, "out_type": QUANTIZED},
)


def quantize_v2(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: DTypeLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    ensure_minimum_range: float = 0.01,
) -> tuple[Tensor, Tensor, Tensor]:
    """Quantises floats to integers of dtype `T`. Returns (output, output_min, output_max); see the op QuantizeV2."""
    options = {"round_mode": round_mode, "narrow_range": narrow_range}
    minimum = {"ensure_minimum_range": ensure_minimum_range}
    outputs = QUANTIZE_V2(input, min_range, max_range, T=T, mode=mode, name=name, **options, **minimum)
    return outputs


def dequantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    narrow_range: bool = False,
) -> Tensor:
    """Converts quantised integers to float32; see the op Dequantize.

    input: quantised integers, any shape. min_range, max_range: the floats that the lowest and the highest integer
    represent. mode, narrow_range: those with which the values were quantised.
    """
    options = {"mode": mode, "narrow_range": narrow_range}
    return DEQUANTIZE(input, min_range, max_range, dtype=float32, name=name, **options)


OPS: tuple[OpDef, ...] = (
    QUANTIZE_V2,
    DEQUANTIZE,
    REQUANTIZE,
    REQUANTIZATION_RANGE,
    QUANTIZE_DOWN,
)
API: dict[str, Any] = {
    "quantize_v2": quantize_v2,
    "quantize": quantize_v2,
    "quantization.quantize": quantize_v2,
    "dequantize": dequantize,
    "quantization.dequantize": dequantize,
}
