"""Sums of products over the iterations of a loop: the gradient of a matrix by which every iteration multiplies.

White paper, section 4.1. The device adds each product to the sum in place. A product of few rows would read and write
the whole sum for little work, so few rows are collected over several iterations. Invariant: fewer than `_ENOUGH` rows
are pending; except for rounding, the result is the sum of all iterations' products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.kernelcall import KernelCall, KernelSite, TensorInfo
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.linalg.matmul import MatMulAttrs
from tfnb.ops.linalg.matmul_recipes import matmul_calls
from tfnb.ops.state.handles import make_handle, resource_of
from tfnb.types import DType, Shape, float32, float64, scalar, unknown_shape

__all__ = ["API", "LOOP_PRODUCTS", "LOOP_PRODUCTS_ADD", "LOOP_PRODUCTS_SUM", "OPS"]

_ENOUGH = 32  # the number of rows from which a product is added to the sum
_ALONE = 16  # the number of rows from which collecting, which needs a copy, does not pay


@record
class SumAttrs:
    """`shape`: the static shape of the sum."""

    shape: Shape = unknown_shape


class _Products:
    """The sum of left^T @ right over iterations. All products of a loop run on the device of the first one."""

    def __init__(self) -> None:
        self._left: list[Any] = []
        self._right: list[Any] = []
        self._rows = 0
        self._tools: Any = None
        self._sum: Any = None  # a runtime value that holds the sum

    def add(self, left: object, right: object, tools: Any) -> None:
        rows, product_rows = tools.shape(left), tools.shape(right)
        if len(rows) != 2 or len(product_rows) != 2 or rows[0] != product_rows[0]:
            raise InvalidArgumentError(f"needed two matrices of as many rows, got the shapes {rows} and {product_rows}")
        if rows[0]:
            self._tools = self._tools or tools
            self._left.append(left)
            self._right.append(right)
            self._rows += rows[0]
        if self._rows >= _ENOUGH or rows[0] >= _ALONE:
            self._multiply()

    def _multiply(self) -> None:
        tools = self._tools
        pair = [parts[0] if len(parts) == 1 else tools.concat(parts) for parts in (self._left, self._right)]
        self._sum = tools.update(_first_calls if self._sum is None else _more_calls, pair, self._sum)
        self._left, self._right, self._rows = [], [], 0

    def sum(self, shape: tuple[int, ...], dtype: DType) -> Any:
        if self._rows:
            self._multiply()
        return np.zeros(shape, dtype.np) if self._sum is None else self._sum.tensor


def _site(infos: Sequence[TensorInfo], units: int, kind: str) -> KernelSite:
    left, right = infos
    total = TensorInfo(left.dtype, (left.shape[1], right.shape[1]))
    return KernelSite("MatMul", (left, right), (total,), MatMulAttrs(transpose_a=True), {}, units, kind)


def _first_calls(infos: Sequence[TensorInfo], units: int, kind: str) -> tuple[KernelSite, tuple[KernelCall, ...]]:
    site = _site(infos, units, kind)
    return site, matmul_calls(site)


def _more_calls(infos: Sequence[TensorInfo], units: int, kind: str) -> tuple[KernelSite, tuple[KernelCall, ...]]:
    site = _site(infos, units, kind)
    return site, matmul_calls(site, add=True)


def _add(call: HostCall, handle: np.ndarray, flow: np.ndarray, left: object, right: object) -> tuple[Any]:
    resource_of(handle, _Products, call.op).add(left, right, call.tools)
    return (flow,)


def _sum(call: HostCall, handle: np.ndarray, flow: np.ndarray, shape: np.ndarray) -> tuple[Any]:
    dims = tuple(int(n) for n in call.tools.host(shape))
    return (resource_of(handle, _Products, call.op).sum(dims, call.types["T"]),)


def _sum_shape(c: Infer) -> Shape:
    shape: Shape = c.attrs.shape
    return shape


def _raw(
    name: str, inputs: str, outputs: str, doc: str, host: Callable[..., Any], infer: Callable[[Infer], Any], **rest: Any
) -> OpDef[Tensor]:
    return OpDef(
        name, inputs, outputs, doc, host=host, infer=infer, grad=GRADIENT_MISSING, stateful=True, raw=True, **rest
    )


_TYPES = {"T": (float32, float64)}

LOOP_PRODUCTS = _raw(
    "LoopProducts",
    "",
    "handle: resource",
    "Creates a sum of products for one run of a loop.\n\nhandle: a scalar. Host only.",
    lambda call: (make_handle(_Products()),),
    lambda c: scalar,
)
LOOP_PRODUCTS_ADD = _raw(
    "LoopProductsAdd",
    "handle: resource, flow_in: float32, left: T, right: T",
    "flow_out: float32",
    "Adds left^T right to the sum on the device; a product of few rows is added later, together with those of other"
    " iterations.\n\nleft: [n, k]; right: [n, m], float32 "
    "or float64; flow_in, flow_out: a scalar that orders the additions. Errors: InvalidArgumentError for other shapes.",
    _add,
    lambda c: scalar,
    types=_TYPES,
)
LOOP_PRODUCTS_SUM = _raw(
    "LoopProductsSum",
    "handle: resource, flow_in: float32, shape: int32",
    "sum: T",
    "The sum of all products, or zeros of `shape`, [k, m], if there were none. Host only.",
    _sum,
    _sum_shape,
    types=_TYPES,
    attrs=SumAttrs,
)

OPS: tuple[OpDef, ...] = (LOOP_PRODUCTS, LOOP_PRODUCTS_ADD, LOOP_PRODUCTS_SUM)
API: dict[str, Any] = {}
