"""Cumulative sums and products along an axis.

Invariant: `exclusive` shifts the result by one element, so that it begins with the neutral element; `reverse`
accumulates from the end to the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.kernelcall import I32, In, KernelCall, KernelSite, Out
from tfnb.ir.opdef import HostCall, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import normalize_axis, unchanged
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.kernel_dtypes import element_defines
from tfnb.types import INDEX, NUMBERS, bracketed, int32

__all__ = ["API", "CUMPROD", "CUMSUM", "OPS"]


@record
class ScanAttrs:
    """`exclusive`: element i combines only the elements before it; `reverse`: accumulates from the end to the start."""

    exclusive: bool = False
    reverse: bool = False


def _axis_of(axis: np.ndarray, rank: int) -> int:
    """Returns the axis from 0 on. Raises `InvalidArgumentError` if it is no scalar or out of range."""
    if axis.ndim:
        raise InvalidArgumentError(f"ScanOp: axis must be a scalar, not {bracketed(axis.shape)}")
    if not -rank <= axis < rank:
        raise InvalidArgumentError(f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {axis}")
    return normalize_axis(int(axis), rank)


def _host_scan(
    call: HostCall, x: np.ndarray, axis: np.ndarray, accumulate: Callable[..., Any], neutral: int
) -> np.ndarray:
    a = _axis_of(axis, x.ndim)
    wide_dtype = np.float32 if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x.dtype
    v = np.flip(x, a) if call.attrs.reverse else x
    with np.errstate(all="ignore"):
        v = accumulate(v.astype(wide_dtype, copy=False), axis=a, dtype=wide_dtype)
    if call.attrs.exclusive and x.shape[a]:
        first = np.full_like(np.take(v, [0], a), neutral)
        v = np.concatenate([first, np.delete(v, -1, a)], a)
    v = np.flip(v, a) if call.attrs.reverse else v
    return np.ascontiguousarray(v).astype(x.dtype)


def _scan_calls(site: KernelSite, entry: str) -> tuple[KernelCall, ...]:
    x = site.inputs[0]
    if x.size == 0:
        return ()
    axis = _axis_of(site.values[1], len(x.shape))
    outer = int(np.prod(x.shape[:axis], dtype=np.int64))
    inner = int(np.prod(x.shape[axis + 1 :], dtype=np.int64))
    flags = int(site.attrs.exclusive) + 2 * int(site.attrs.reverse)
    sizes = I32(outer), I32(x.shape[axis]), I32(inner), I32(flags)
    groups = min(max(1, site.units), outer * inner)
    defines = element_defines(x.dtype)
    return (KernelCall("math/scan.cl", entry, (In(0), Out(0), *sizes), (groups, 1, 1), (1, 1, 1), defines),)


def _grad_cumsum(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    a = op.attrs
    return CUMSUM(dy, op.inputs[1], exclusive=a.exclusive, reverse=not a.reverse), None


def _grad_cumprod(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    x, axis = op.inputs
    a = op.attrs
    product = CUMPROD(x, axis, exclusive=a.exclusive, reverse=a.reverse)
    return CUMSUM(product * dy, axis, exclusive=a.exclusive, reverse=not a.reverse) / x, None


_DOC = """The cumulative {what} along one axis.

    x: any number type. axis: an integer scalar. out: dtype and shape of x. With `exclusive`, an element is the {what}
    of the elements before it ({neutral} for the first); with `reverse`, the {what} is taken from the end to the start.
    Errors: the axis is out of range."""

CUMSUM: OpDef[Tensor] = OpDef(
    "Cumsum",
    inputs="x: T, axis: Tidx",
    outputs="out: T",
    types={"T": NUMBERS, "Tidx": INDEX},
    defaults={"Tidx": int32},
    attrs=ScanAttrs,
    doc=_DOC.format(what="sum", neutral=0),
    infer=unchanged,
    host=lambda call, x, axis: _host_scan(call, x, axis, np.add.accumulate, 0),
    opencl=lambda site: _scan_calls(site, "cumsum"),
    grad=_grad_cumsum,
    shape_inputs=(1,),
)

CUMPROD: OpDef[Tensor] = OpDef(
    "Cumprod",
    inputs="x: T, axis: Tidx",
    outputs="out: T",
    types={"T": NUMBERS, "Tidx": INDEX},
    defaults={"Tidx": int32},
    attrs=ScanAttrs,
    doc=_DOC.format(what="product", neutral=1),
    infer=unchanged,
    host=lambda call, x, axis: _host_scan(call, x, axis, np.multiply.accumulate, 1),
    opencl=lambda site: _scan_calls(site, "cumprod"),
    grad=_grad_cumprod,
    shape_inputs=(1,),
)


def cumsum(
    x: TensorLike, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Returns the cumulative sum of x along `axis`, with the dtype and shape of x.

    exclusive: element i is the sum of the elements before it, without itself. reverse: sums from the end to the start.
    Errors: the axis is out of range.
    """
    return CUMSUM(x, axis, exclusive=exclusive, reverse=reverse, name=name)


def cumprod(
    x: TensorLike, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Returns the cumulative product of x along `axis`, with the dtype and shape of x.

    exclusive: element i is the product of the elements before it, without itself. reverse: from the end to the start.
    Errors: the axis is out of range.
    """
    return CUMPROD(x, axis, exclusive=exclusive, reverse=reverse, name=name)


OPS: tuple[OpDef, ...] = (CUMSUM, CUMPROD)
API: dict[str, Any] = {"cumsum": cumsum, "cumprod": cumprod}
