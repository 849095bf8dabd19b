"""Fake quantisation: training with the rounding errors of 8-bit inference.

Values are clipped to a range and rounded to one of its 2**num_bits steps, but remain floats; gradients pass where
values were not clipped. The range is shifted slightly ("nudged") so that zero is a step. Invariant: host, device and
gradient compute the nudged range by the same function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import merged, unchanged
from tfnb.ir.tensor import Tensor
from tfnb.ops.math.binary import MAXIMUM, MINIMUM
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import GREATER, GREATER_EQUAL, LESS, LESS_EQUAL
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import FLOOR
from tfnb.types import Shape, float32

__all__ = ["API", "OPS"]


@record
class VarsAttrs:
    """`num_bits`: 2 to 16, for 2**num_bits steps; `narrow_range`: the lowest step is not used."""

    num_bits: int = 8
    narrow_range: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.num_bits <= 16:
            raise InvalidArgumentError(f"num_bits must be in [2, 16], got {self.num_bits}")


@record
class ArgsAttrs:
    """`min`, `max`: the range; `num_bits`: 2 to 16; `narrow_range`: the lowest step is not used."""

    min: float = -6.0
    max: float = 6.0
    num_bits: int = 8
    narrow_range: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.num_bits <= 16:
            raise InvalidArgumentError(f"num_bits must be in [2, 16], got {self.num_bits}")
        if not self.min < self.max:
            raise InvalidArgumentError(f"min must be below max, got {self.min} and {self.max}")


class _Arrays:
    """The functions that `_nudged` needs, on NumPy arrays."""

    floor, maximum, minimum = np.floor, np.maximum, np.minimum


class _Tensors:
    """The functions that `_nudged` needs, as ops of the graph."""

    floor, maximum, minimum = FLOOR, MAXIMUM, MINIMUM


def _nudged(low: Any, high: Any, attrs: VarsAttrs | ArgsAttrs, m: Any) -> tuple[Any, Any, Any]:
    """Returns (lowest value, highest value, step) of the range after it is shifted so that zero is a step."""
    first, last = float(attrs.narrow_range), float(2**attrs.num_bits - 1)
    step = (high - low) / (last - first)
    zero = m.minimum(m.maximum(m.floor(low / step * -1.0 + (first + 0.5)), first), last)
    return (zero - first) * -1.0 * step, (zero - last) * -1.0 * step, step


def _constants(attrs: ArgsAttrs) -> tuple[float, float, float]:
    low, high = np.float32(attrs.min), np.float32(attrs.max)
    first, last = np.float32(attrs.narrow_range), np.float32(2**attrs.num_bits - 1)
    step = (high - low) / (last - first)
    zero = np.clip(np.floor(-low / step + (first + np.float32(0.5))), first, last)
    return float((first - zero) * step), float((last - zero) * step), float(step)


def _rounded(x: Any, low: Any, high: Any, step: Any, m: Any) -> Any:
    inverse = 1.0 / step
    zero = m.floor(low * -1.0 * inverse + 0.5)
    clipped = m.minimum(m.maximum(x, low), high)
    return (m.floor((clipped - low) * inverse + 0.5) - zero) * step


def _scalar_args(attrs: ArgsAttrs, x: Expr) -> Expr:
    low, high, step = (s.const(v, float32) for v in _constants(attrs))
    result: Expr = _rounded(x, low, high, step, s)
    return result


def _scalar_vars(attrs: VarsAttrs, x: Expr, low: Expr, high: Expr) -> Expr:
    result: Expr = _rounded(x, *_nudged(low, high, attrs, s), s)
    return result


def _scalar_args_gradient(attrs: ArgsAttrs, g: Expr, x: Expr) -> Expr:
    low, high, _ = (s.const(v, float32) for v in _constants(attrs))
    return s.where(s.and_(x >= low, x <= high), g, 0.0)


def _args_gradient(op: Operation, dy: Tensor) -> Tensor:
    a = op.attrs
    return ARGS_GRADIENT(dy, op.x, min=a.min, max=a.max, num_bits=a.num_bits, narrow_range=a.narrow_range)


_DOC = "inputs: float32, any shape. outputs: the same shape, floats that are multiples of the step."

FAKE_QUANT_ARGS: OpDef[Tensor] = OpDef(
    "FakeQuantWithMinMaxArgs",
    "inputs: float32",
    "outputs: float32",
    f"Clips values to a fixed range and rounds them to its steps.\n\n{_DOC}",
    attrs=ArgsAttrs,
    infer=unchanged,
    scalar=_scalar_args,
    grad=_args_gradient,
    api="fake_quant_with_min_max_args quantization.fake_quant_with_min_max_args",
)

ARGS_GRADIENT: OpDef[Tensor] = OpDef(
    "FakeQuantWithMinMaxArgsGradient",
    "gradients: float32, inputs: float32",
    "backprops: float32",
    "The gradient of FakeQuantWithMinMaxArgs: `gradients` where `inputs` are inside the range, else 0.\n\n"
    "All inputs and the output have the same shape.",
    attrs=ArgsAttrs,
    infer=lambda c: merged(c, 0, 1),
    scalar=_scalar_args_gradient,
    grad=NOT_DIFFERENTIABLE,
    api="fake_quant_with_min_max_args_gradient quantization.fake_quant_with_min_max_args_gradient",
)


def _check_range(c: Infer, first: int, vector: bool) -> None:
    for i in (first, first + 1):
        if c.shapes[i].ndims not in (None, int(vector)):
            form = "a vector" if vector else "a scalar"
            raise ShapeError(f"{c.op_name}: input {i}, a range, must be {form}, got {c.shapes[i]}")
        x, range_shape = c.shapes[first - 1], c.shapes[i]
        if vector and x.sizes and range_shape.sizes and not Shape(x.sizes[-1:]).is_compatible_with(range_shape):
            raise ShapeError(f"{c.op_name}: {range_shape} ranges do not fit inputs of shape {x}")


def _infer_vars(vector: bool) -> Any:
    def infer(c: Infer) -> Shape:
        _check_range(c, 1, vector)
        return c.shapes[0]

    return infer


def _infer_gradient(vector: bool) -> Any:
    def infer(c: Infer) -> tuple[Shape, Shape, Shape]:
        _check_range(c, 2, vector)
        return merged(c, 0, 1), c.shapes[2], c.shapes[3]

    return infer


def _summed(rank: int, vector: bool) -> tuple[int, ...]:
    return tuple(range(rank - 1)) if vector else tuple(range(rank))


def _host_gradient(vector: bool) -> Any:
    def host(call: HostCall, g: np.ndarray, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, ...]:
        lowest, highest, _ = _nudged(low, high, call.attrs, _Arrays)
        axes = _summed(x.ndim, vector)
        below = np.where(x < lowest, g, 0).sum(axis=axes, dtype=np.float32)
        above = np.where(x > highest, g, 0).sum(axis=axes, dtype=np.float32)
        dx = np.where((x >= lowest) & (x <= highest), g, 0).astype(np.float32)
        return dx, np.asarray(below, np.float32), np.asarray(above, np.float32)

    return host


def _expand_gradient(vector: bool) -> Any:
    def expand(op: Operation, g: Tensor, x: Tensor, low: Tensor, high: Tensor) -> Any:
        lowest, highest, _ = _nudged(low, high, op.attrs, _Tensors)

        def masked(where: Tensor) -> Any:
            return g * cast_to(where, float32)

        dx = masked(GREATER_EQUAL(x, lowest)) * cast_to(LESS_EQUAL(x, highest), float32)
        below, above = masked(LESS(x, lowest)), masked(GREATER(x, highest))
        if not vector:
            return dx, reduce_sum(below), reduce_sum(above)
        if x.shape.ndims is None:
            raise ShapeError(f"{op.type} needs inputs of known rank", op)
        axes = list(_summed(x.shape.ndims, vector))
        return dx, reduce_sum(below, axes), reduce_sum(above, axes)

    return expand


def _vars_pair(name: str, vector: bool, api: str) -> tuple[OpDef[Tensor], OpDef[tuple[Tensor, Tensor, Tensor]]]:
    """The op and its gradient, with one range for all values or one range per channel."""
    ranges = "a vector, one for each last dimension" if vector else "a scalar"

    def grad(op: Operation, dy: Tensor) -> Any:
        a = op.attrs
        grads = backward(dy, *op.inputs, num_bits=a.num_bits, narrow_range=a.narrow_range)
        return tuple(grads)

    backward = OpDef(
        f"{name}Gradient",
        "gradients: float32, inputs: float32, min: float32, max: float32",
        "backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32",
        f"""The gradient of {name}: `gradients` pass where `inputs` are inside the range. Those of inputs below the
    range are summed for min, those of inputs above it for max.

    gradients, inputs: the same shape. min, max: {ranges}. Outputs: the shapes of inputs, min and max.""",
        attrs=VarsAttrs,
        infer=_infer_gradient(vector),
        host=_host_gradient(vector),
        expand=_expand_gradient(vector),
        grad=NOT_DIFFERENTIABLE,
        api=f"{api}_gradient quantization.{api}_gradient",
    )
    forward = OpDef(
        name,
        "inputs: float32, min: float32, max: float32",
        "outputs: float32",
        f"""Clips values to a range and rounds them to its steps; the range is an input that can be trained.

    min, max: {ranges}. {_DOC}""",
        attrs=VarsAttrs,
        infer=_infer_vars(vector),
        scalar=_scalar_vars,
        grad=grad,
        api=f"{api} quantization.{api}",
    )
    return forward, backward


FAKE_QUANT_VARS, VARS_GRADIENT = _vars_pair("FakeQuantWithMinMaxVars", False, "fake_quant_with_min_max_vars")
FAKE_QUANT_CHANNELS, CHANNELS_GRADIENT = _vars_pair(
    "FakeQuantWithMinMaxVarsPerChannel", True, "fake_quant_with_min_max_vars_per_channel"
)

OPS: tuple[OpDef, ...] = (
    FAKE_QUANT_ARGS,
    ARGS_GRADIENT,
    FAKE_QUANT_VARS,
    VARS_GRADIENT,
    FAKE_QUANT_CHANNELS,
    CHANNELS_GRADIENT,
)
API: dict[str, Any] = {}
