"""Conversion between element types (white paper, section 2: elements have one of a set of types).

Invariant: a conversion to integers truncates and wraps around as in C; a conversion to bool tests for "not zero".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.ir import scalar as s
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import unchanged
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import (
    COMPLEX,
    FIXED_SIZE,
    DType,
    DTypeLike,
    Shape,
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int32,
    int64,
    uint16,
    uint32,
    uint64,
)

__all__ = ["API", "CAST", "OPS", "alike_indices", "cast", "cast_to"]


@record
class CastAttrs:
    """`Truncate`: floats lose the bits that a smaller type cannot hold, instead of being rounded to the nearest one."""

    Truncate: bool = False


_MANTISSA = {float16: 10, bfloat16: 7, float32: 23, float64: 52, complex64: 23, complex128: 52}  # number of bits
_WORD = {float16: uint16, bfloat16: uint16, float32: uint32, float64: uint64}  # the unsigned type of the same size


def _excess(attrs: CastAttrs, have: DType, wanted: DType) -> int:
    """The number of low mantissa bits to cut off. As in TensorFlow, only float32 is truncated to bfloat16."""
    if not attrs.Truncate or (wanted is bfloat16 and have is not float32):
        return 0
    return max(_MANTISSA.get(have, 0) - _MANTISSA.get(wanted, 64), 0)


def _host_cast(call: HostCall, x: np.ndarray) -> np.ndarray:
    target_dtype = call.outputs[0].dtype
    if target_dtype.is_bool:
        return x != 0
    excess = _excess(call.attrs, as_dtype(x.dtype), target_dtype)
    with np.errstate(all="ignore"):
        if x.dtype.kind == "c" and not target_dtype.is_complex:
            x = x.real
        if excess:
            parts = np.ascontiguousarray(x).view(x.real.dtype)  # a complex number has two parts
            word = np.dtype(f"u{parts.itemsize}")
            cut = (parts.view(word) >> excess << excess).view(parts.dtype)
            x = np.where(np.isnan(parts), parts, cut).view(x.dtype).reshape(x.shape)
        return x.astype(target_dtype.np)


def _lower_cast(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    x, target_dtype = site.load(0, idx), site.outputs[0].dtype
    if excess := _excess(site.attrs, x.dtype, target_dtype):
        truncated = s.shl(s.shr(s.bitcast(x, _WORD[x.dtype]), excess), excess)
        x = s.where(s.isnan(x), x, s.bitcast(truncated, x.dtype))
    return s.cast(x, target_dtype)


def _cast_partial(c: Infer) -> Shape | None:
    return c.as_shape(0) if c.dtypes[0].is_integer and c.types["DstT"] in (int32, int64) else None


def _grad_cast(op: Operation, dy: Tensor) -> Tensor | None:
    if not all(d.is_floating or d in COMPLEX for d in (op.x.dtype, op.y.dtype)):
        return None
    return CAST(dy, DstT=op.x.dtype)


CAST: OpDef[Tensor] = OpDef(
    "Cast",
    inputs="x: SrcT",
    outputs="y: DstT",
    types={"SrcT": FIXED_SIZE, "DstT": FIXED_SIZE},
    attrs=CastAttrs,
    doc="""Converts the elements to another dtype.

    x: any number type or bool, any shape. y: dtype `DstT`, the shape of x. Floats become integers by dropping the
    fraction; the result is undefined when it is out of range. Numbers become bool by the test "not zero", and bool
    becomes 0 or 1. Floats are rounded to the nearest value of a smaller type, or truncated if `Truncate` is set.""",
    infer=unchanged,
    host=_host_cast,
    lower=_lower_cast,
    grad=_grad_cast,
    partial=_cast_partial,
)


def cast_to(x: Tensor, dtype: DType) -> Tensor:
    """Returns the tensor `x` converted to `dtype`; `x` itself when it already has that dtype."""
    return x if x.dtype is dtype else CAST(x, DstT=dtype)


def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Any:
    """Converts `x` (a tensor, a sparse tensor or a value) to `dtype`.

    A tensor that already has this dtype is returned unchanged.
    """
    if isinstance(x, SparseTensor):
        return x if x.dtype is as_dtype(dtype) else x.with_values(cast(x.values, dtype, name))
    t = graph_of((x,)).to_tensor(x)
    target_dtype = as_dtype(dtype)
    if t.dtype is target_dtype and not t.spec.ref:
        return t
    return CAST(t, DstT=target_dtype, name=name)


def _named(dtype: DType, old: str) -> Any:
    def convert(x: Tensor, name: str | None = None) -> Any:
        return cast(x, dtype, name or old)

    convert.__name__ = convert.__qualname__ = old
    convert.__doc__ = f"`tf.cast(x, tf.{dtype.name})`."
    return convert


OPS: tuple[OpDef, ...] = (CAST,)


def alike_indices(indices: Sequence[Any]) -> list[Any]:
    """Returns the indices as tensors of one dtype: int64 where some of them are int32 and others int64."""
    if len({t.dtype for t in indices}) == 1:
        return list(indices)
    return [cast_to(t, int64) for t in indices]


API: dict[str, Any] = {
    "cast": cast,
    "to_float": _named(float32, "to_float"),
    "to_double": _named(float64, "to_double"),
    "to_int32": _named(int32, "to_int32"),
    "to_int64": _named(int64, "to_int64"),
    "to_bfloat16": _named(bfloat16, "to_bfloat16"),
}
