"""Sums of products over the iterations of a loop: the gradient of a matrix that every iteration multiplies by.

White paper, section 4.1. A product of few rows is slow to make by itself, and the rows of a long loop are many to keep:
so rows are kept until they are worth a product. Invariant: what is kept has never more rows than `_ENOUGH` and those of
one iteration; the sum is that of adding up the iterations' products, but for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ops.handles import make_handle, resource_of
from tfnb.types import DType, Shape, float32, float64, scalar, unknown_shape

__all__ = ["API", "LOOP_PRODUCTS", "LOOP_PRODUCTS_ADD", "LOOP_PRODUCTS_SUM", "OPS"]

_ENOUGH = 512  # rows


@dataclass(frozen=True, slots=True)
class SumAttrs:
    """`shape`: the static shape of the sum."""

    shape: Shape = unknown_shape


class _Products:
    """left^T @ right, summed over iterations."""

    def __init__(self) -> None:
        self._left: list[Any] = []
        self._right: list[Any] = []
        self._rows = 0
        self._total: Any = None

    def add(self, left: Any, right: Any, tools: Any) -> None:
        rows, more = tools.shape(left), tools.shape(right)
        if len(rows) != 2 or len(more) != 2 or rows[0] != more[0]:
            raise InvalidArgumentError(f"needed two matrices of as many rows, got the shapes {rows} and {more}")
        if rows[0]:
            self._left.append(left)
            self._right.append(right)
            self._rows += rows[0]
        if self._rows >= _ENOUGH:
            self._multiply(tools)

    def _multiply(self, tools: Any) -> None:
        self._total = tools.add_product(self._total, self._left, self._right)
        self._left, self._right, self._rows = [], [], 0

    def sum(self, shape: tuple[int, ...], dtype: DType, tools: Any) -> Any:
        if self._rows:
            self._multiply(tools)
        return np.zeros(shape, dtype.np) if self._total is None else self._total


def _add(call: HostCall, handle: Any, flow: Any, left: Any, right: Any) -> tuple[Any]:
    resource_of(handle, _Products, call.op).add(left, right, call.tools)
    return (flow,)


def _sum(call: HostCall, handle: Any, flow: Any, shape: Any) -> tuple[Any]:
    wanted = tuple(int(n) for n in call.tools.host(shape))
    return (resource_of(handle, _Products, call.op).sum(wanted, call.types["T"], call.tools),)


def _sum_shape(c: Infer) -> Shape:
    found: Shape = c.attrs.shape
    return found


def _raw(name: str, inputs: str, outputs: str, doc: str, host: Any, infer: Any, **rest: Any) -> OpDef:
    return OpDef(
        name, inputs, outputs, doc, host=host, infer=infer, grad=NOT_DIFFERENTIABLE, stateful=True, raw=True, **rest
    )


_TYPES = {"T": (float32, float64)}

LOOP_PRODUCTS = _raw(
    "LoopProducts", "", "handle: resource",
    "A new sum of products for one run of a loop.\n\nhandle: a scalar. Host only.",
    lambda call: (make_handle(_Products()),), lambda c: scalar,
)  # fmt: skip
LOOP_PRODUCTS_ADD = _raw(
    "LoopProductsAdd", "handle: resource, flow_in: float32, left: T, right: T", "flow_out: float32",
    "Adds left^T right to the sum, at once or with what other iterations add.\n\nleft: [n, k]; right: [n, m], float32 "
    "or float64; flow_in, flow_out: a scalar that orders the additions. Errors: InvalidArgumentError for other shapes. "
    "Host only.",
    _add, lambda c: scalar, types=_TYPES,
)  # fmt: skip
LOOP_PRODUCTS_SUM = _raw(
    "LoopProductsSum", "handle: resource, flow_in: float32, shape: int32", "sum: T",
    "The sum of all that was added; zeros of `shape`, [k, m], when that was nothing. Host only.",
    _sum, _sum_shape, types=_TYPES, attrs=SumAttrs,
)  # fmt: skip

OPS: tuple[OpDef, ...] = (LOOP_PRODUCTS, LOOP_PRODUCTS_ADD, LOOP_PRODUCTS_SUM)
API: dict[str, Any] = {}
