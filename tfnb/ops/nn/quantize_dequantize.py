"""Floats rounded to the steps of quantised values, and quantised tensors joined (OSDI'16, section 5).

Invariant: zero is a step, because the scale is that of the side of the range that needs the larger steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import unchanged
from tfnb.ir.tensor import Tensor
from tfnb.ops.nn.quantize import from_float, limits, quantized_op, scalars, to_float
from tfnb.types import DEVICE_FLOATS, QUANTIZED, Shape, scalar

__all__ = ["OPS", "QUANTIZED_CONCAT", "QUANTIZE_AND_DEQUANTIZE"]


def _check_bits(bits: int, op: Operation | None = None) -> None:
    if not 1 <= bits <= 62:
        raise InvalidArgumentError(f"num_bits must be in [1, 62], got {bits}", op)


@record
class FirstAttrs:
    """`signed_input`: the steps are signed; `num_bits`: 2**num_bits steps; `range_given`: `input_min` and `input_max`
    are the range, else it is that of the values."""

    signed_input: bool = True
    num_bits: int = 8
    range_given: bool = False
    input_min: float = 0.0
    input_max: float = 0.0

    def __post_init__(self) -> None:
        _check_bits(self.num_bits)


@record
class RoundAttrs:
    """As of QuantizeAndDequantize; `round_mode`: HALF_TO_EVEN or HALF_UP; `narrow_range`: without the lowest step."""

    signed_input: bool = True
    num_bits: int = 8
    range_given: bool = False
    round_mode: str = "HALF_TO_EVEN"
    narrow_range: bool = False

    def __post_init__(self) -> None:
        _check_bits(self.num_bits)
        if self.round_mode not in ("HALF_TO_EVEN", "HALF_UP"):
            raise InvalidArgumentError(f"round_mode must be HALF_TO_EVEN or HALF_UP, got {self.round_mode!r}")


@record
class ThirdAttrs:
    """`signed_input`, `range_given`, `narrow_range`: as of QuantizeAndDequantizeV2."""

    signed_input: bool = True
    range_given: bool = True
    narrow_range: bool = False


def _rounded(
    call: HostCall,
    x: np.ndarray,
    low: float | np.ndarray,
    high: float | np.ndarray,
    bits: int,
    narrow: bool = False,
    up: bool = False,
) -> np.ndarray:
    a, f = call.attrs, x.dtype.type
    if not x.size:
        return x.copy()
    first, last = (f(low), f(high)) if a.range_given else (x.min(), x.max())
    if a.range_given and first > last:
        raise InvalidArgumentError(f"Invalid range: input_min {first} > input_max {last}", call.op)
    lowest = -(1 << (bits - 1)) + narrow if a.signed_input else 0
    highest = (1 << (bits - 1)) - 1 if a.signed_input else (1 << bits) - 1
    with np.errstate(divide="ignore", over="ignore"):
        by_low = f(lowest) / first if lowest * first > 0 else np.finfo(x.dtype).max
        by_high = f(highest) / last if highest * last > 0 else np.finfo(x.dtype).max
        if by_low < by_high:
            scale, step = by_low, first / f(lowest)
            last = f(highest) * step
        else:
            scale, step = by_high, last / f(highest)
            first = f(lowest) * step
    inside = np.clip(x, first, last) if a.range_given else x
    scaled = inside * scale
    whole = np.floor(scaled + f(0.5)) if up else np.rint(scaled)
    return np.asarray(whole * step, x.dtype)


def _first(call: HostCall, x: np.ndarray) -> np.ndarray:
    a = call.attrs
    return _rounded(call, x, a.input_min, a.input_max, a.num_bits)


def _second(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    a = call.attrs
    return _rounded(call, x, low, high, a.num_bits, a.narrow_range, a.round_mode == "HALF_UP")


def _third(call: HostCall, x: np.ndarray, low: np.ndarray, high: np.ndarray, bits: np.ndarray) -> np.ndarray:
    _check_bits(int(bits), call.op)
    return _rounded(call, x, low, high, int(bits), call.attrs.narrow_range)


def _straight(op: Operation, dy: Tensor) -> Any:
    """Rounding has no useful derivative, so the gradient passes as if nothing was rounded."""
    return (dy, *(None,) * (len(op.inputs) - 1)) if len(op.inputs) > 1 else dy


_DOC = """Floats rounded to steps of a range, of which zero is one.

    input: float32 or float64, any shape, which output has too. {more}Errors: a range is empty."""
_RANGE = "input_min, input_max: scalars, the range if `range_given`. "


def _op(name: str, inputs: str, attrs: type, host: Callable[..., Any], more: str, **keywords: Any) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs,
        "output: T",
        _DOC.format(more=more),
        types={"T": DEVICE_FLOATS},
        attrs=attrs,
        infer=unchanged,
        host=host,
        grad=_straight,
        **keywords,
    )


QUANTIZE_AND_DEQUANTIZE_FIRST = _op("QuantizeAndDequantize", "input: T", FirstAttrs, _first, "")
QUANTIZE_AND_DEQUANTIZE = _op(
    "QuantizeAndDequantizeV2", "input: T, input_min: T, input_max: T", RoundAttrs, _second, _RANGE
)
QUANTIZE_AND_DEQUANTIZE_THIRD = _op(
    "QuantizeAndDequantizeV3",
    "input: T, input_min: T, input_max: T, num_bits: int32",
    ThirdAttrs,
    _third,
    _RANGE + "num_bits: a scalar. ",
)


def _joined_shape(c: Infer) -> tuple[Shape, Shape, Shape]:
    n = (len(c.shapes) - 1) // 3
    axis, shapes = c.value(0), c.shapes[1 : n + 1]
    rank = next((s.ndims for s in shapes if s.ndims is not None), None)
    if rank is None:
        return Shape(None), scalar, scalar
    dims: list[int | None] = [None] * rank
    for k in range(rank):
        sizes = [None if s.sizes is None else s.sizes[k] for s in shapes]
        known = [d for d in sizes if d is not None]
        if axis is None:
            continue
        if k == int(axis) % rank:
            dims[k] = None if None in sizes else sum(known)
        elif known:
            if len(set(known)) > 1:
                raise ShapeError(f"{c.op_name}: the shapes {[str(s) for s in shapes]} differ beside dimension {axis}")
            dims[k] = known[0]
    return Shape(tuple(dims)), scalar, scalar


def _common_range(lows: Sequence[float], highs: Sequence[float], signed: bool) -> tuple[float, float]:
    low, high = min(0.0, *lows), max(highs)
    if signed:
        high = max(-low, high)
        low = -high
    return low, high


def _join(call: HostCall, axis: np.ndarray, *rest: np.ndarray) -> Any:
    n, dtype = len(rest) // 3, call.types["T"]
    values, lows, highs = rest[:n], rest[n : 2 * n], rest[2 * n :]
    low, high = _common_range([float(x) for x in lows], [float(x) for x in highs], limits(dtype)[0] < 0)
    parts = []
    for x, a, b in zip(values, lows, highs, strict=True):
        same = (float(a), float(b)) == (low, high)
        parts.append(x if same else from_float(np.float32(to_float(x, float(a), float(b), dtype)), low, high, dtype))
    return np.concatenate(parts, int(axis)), *scalars(low, high)


QUANTIZED_CONCAT: OpDef[tuple[Tensor, Tensor, Tensor]] = quantized_op(
    "QuantizedConcat",
    "concat_dim: int32, values: N*T, input_mins: N*float32, input_maxes: N*float32",
    "output: T, output_min: float32, output_max: float32",
    "Quantised tensors joined along a dimension, in a range that has all of theirs and zero.\n\nconcat_dim: a scalar. "
    "values: at least one tensor; each has a range. Errors: the shapes differ elsewhere.",
    _join,
    _joined_shape,
    types={"T": QUANTIZED},
    shape_inputs=(0,),
)

OPS: tuple[OpDef, ...] = (
    QUANTIZE_AND_DEQUANTIZE_FIRST,
    QUANTIZE_AND_DEQUANTIZE,
    QUANTIZE_AND_DEQUANTIZE_THIRD,
    QUANTIZED_CONCAT,
)
