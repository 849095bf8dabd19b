"""The k largest elements of each row, and membership of a class among them (white paper, Table 1, array operations).

Invariant: results are in descending order; among equal elements the one with the lower index comes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.kernelcall import I32, In, KernelCall, KernelSite, Out, Temp
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.constants import RANGE, ZEROS_LIKE
from tfnb.ops.array.gather import UNSORTED_SEGMENT_SUM
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.shape_ops import RESHAPE, SHAPE, shape_of
from tfnb.ops.array.where_partition import product
from tfnb.ops.kernel_dtypes import signed_defines
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import EQUAL, GREATER, LESS, LOGICAL_AND, SELECT
from tfnb.ops.math.reduce import ALL_OF, ANY_OF
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.unary import IS_FINITE
from tfnb.sizes import integer
from tfnb.types import INDEX, REALS, Shape, int32, unknown_shape

__all__ = ["API", "OPS", "TOP_K_V2", "top_k"]


@record
class TopKV2Attrs:
    """`sorted`: accepted for compatibility with TensorFlow; the result is always sorted."""

    sorted: bool = True


@record
class TopKAttrs:
    """`k`: the number of elements; `sorted`: accepted for compatibility, since the result is always sorted."""

    k: int
    sorted: bool = True


def _top_shapes(c: Infer, k: int | None) -> tuple[Shape, Shape]:
    x = c.shapes[0]
    if x.sizes is None:
        return unknown_shape, unknown_shape
    if k is not None and k < 0:
        raise ShapeError(f"{c.op_name}: Need k >= 0, got {k}")
    if not x.sizes or (k is not None and (k < 0 or (x.sizes[-1] is not None and k > x.sizes[-1]))):
        raise ShapeError(f"{c.op_name}: input must have last dimension >= k = {k}, got shape {x}")
    return (Shape((*x.sizes[:-1], k)),) * 2


def _host_top(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    if x.ndim == 0 or k > x.shape[-1]:
        raise InvalidArgumentError(f"needs a last dimension of at least k = {k}, got shape {x.shape}")
    keys = x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
    # descending; among equal elements the lower index comes first
    flipped = -keys if keys.dtype.kind == "f" else np.invert(keys)
    order = np.argsort(flipped, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


def _top_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    values = site.outputs[0]
    if values.size == 0:
        return ()
    x, k = site.inputs[0], values.shape[-1]
    rows = values.size // k
    groups = (max(1, min(4 * site.units, rows, x.size // 4096)), 1, 1)
    heaps = (Temp("keys", groups[0] * k * 8), Temp("places", groups[0] * k * 4))
    args = (In(0), Out(0), Out(1), *heaps, I32(rows), I32(x.shape[-1]), I32(k))
    return (KernelCall("array/top_k.cl", "top_k", args, groups, defines=signed_defines(x.dtype)),)


def _grad_top(op: Operation, dy: Tensor, d_indices: Tensor) -> Tensor | tuple[Tensor, None]:
    """Returns the gradient of each value to the index it came from, by a segment sum over (row, index)."""
    x, places = op.inputs[0], op.outputs[1]
    flat_shape = SHAPE(x, out_type=int32)
    last, width = flat_shape[-1], SHAPE(places, out_type=int32)[-1]
    rows = RESHAPE(places, PACK([product(flat_shape[:-1]), width]))
    starts = RANGE(np.int32(0), SHAPE(rows, out_type=int32)[0], np.int32(1)) * last
    number = RESHAPE(rows + RESHAPE(starts, np.asarray([-1, 1], np.int32)), np.asarray([-1], np.int32))
    total = UNSORTED_SEGMENT_SUM(RESHAPE(dy, np.asarray([-1], np.int32)), number, product(flat_shape))
    gradient = RESHAPE(total, shape_of(x))
    return gradient if len(op.inputs) == 1 else (gradient, None)


_TOP_DOC = """The k largest elements of each row, in descending order, and their indices.

    input: a real number type, rank >= 1; rows lie along the last dimension, whose size is at least k. {k} values:
    shape (..., k). indices: int32; among equal elements the lower index comes first. A NaN is smaller than every
    number. Errors: k is larger than a row."""

TOP_K_V2: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "TopKV2",
    inputs="input: T, k: int32",
    outputs="values: T, indices: int32",
    types={"T": REALS},
    attrs=TopKV2Attrs,
    doc=_TOP_DOC.format(k="k: an int32 scalar."),
    infer=lambda c: _top_shapes(c, None if c.value(1) is None else integer(c.value(1).reshape(()))),
    host=lambda call, x, k: _host_top(x, int(k.reshape(()))),
    opencl=_top_calls,
    grad=_grad_top,
    shape_inputs=(1,),
    defaults={"Tk": int32, "index_type": int32},
)

TOP_K: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "TopK",
    inputs="input: T",
    outputs="values: T, indices: int32",
    types={"T": REALS},
    attrs=TopKAttrs,
    doc=_TOP_DOC.format(k="k: an attribute."),
    infer=lambda c: _top_shapes(c, c.attrs.k),
    host=lambda call, x: _host_top(x, call.attrs.k),
    opencl=_top_calls,
    grad=_grad_top,
)


@record
class InTopKAttrs:
    """`k`: the number of largest predictions to compare with."""

    k: int


def _in_top_shape(c: Infer) -> Shape:
    predictions, targets = with_rank(c, 0, 2), with_rank(c, 1, 1)
    return Shape(predictions.sizes[:1]).merge_with(targets)  # type: ignore[index]


def _in_top(predictions: np.ndarray, targets: np.ndarray, k: int) -> np.ndarray:
    n = predictions.shape[1]
    valid = (targets >= 0) & (targets < n)
    if not n:
        return np.zeros(targets.shape, np.bool_)
    target_scores = np.take_along_axis(predictions, np.where(valid, targets, 0)[:, None], 1)
    better = (predictions > target_scores).sum(1)
    return valid & (better < k) & np.isfinite(predictions).all(1)


def _expand_in_top(op: Operation, predictions: Tensor, targets: Tensor) -> Any:
    return _in_top_mask(predictions, targets, np.int32(op.attrs.k))


def _in_top_mask(predictions: Tensor, targets: Tensor, k: Tensor) -> Tensor:
    n = SHAPE(predictions, out_type=int32)[1]
    hot = EQUAL(
        RESHAPE(targets, np.asarray([-1, 1], np.int32)),
        cast_to(RANGE(np.int32(0), n, np.int32(1)), targets.dtype),
    )
    target_scores = SUM(SELECT(hot, predictions, ZEROS_LIKE(predictions)), np.asarray([1], np.int32), keep_dims=True)
    better = SUM(cast_to(GREATER(predictions, target_scores), int32), np.asarray([1], np.int32))
    fine = ALL_OF(IS_FINITE(predictions), np.asarray([1], np.int32))
    valid = LOGICAL_AND(fine, ANY_OF(hot, np.asarray([1], np.int32)))
    return LOGICAL_AND(valid, LESS(better, k))


IN_TOP_K: OpDef[Tensor] = OpDef(
    "InTopK",
    inputs="predictions: float32, targets: T",
    outputs="precision: bool",
    types={"T": INDEX},
    defaults={"T": int32},
    attrs=InTopKAttrs,
    doc="""True where the target's prediction is among the k largest of its row; a tie with the k-th one counts.

    predictions: float32, shape (batch, classes). targets: integers, shape (batch,). precision: bool, shape
    (batch,); False where the target is out of range or a prediction is not finite.""",
    infer=_in_top_shape,
    host=lambda call, predictions, targets: _in_top(predictions, targets, call.attrs.k),
    expand=_expand_in_top,
    grad=NOT_DIFFERENTIABLE,
)


def _host_in_top_k(call: HostCall, predictions: np.ndarray, targets: np.ndarray, k: np.ndarray) -> np.ndarray:
    return _in_top(predictions, targets, int(k))


IN_TOP_K_V2: OpDef[Tensor] = OpDef(
    "InTopKV2",
    inputs="predictions: float32, targets: T, k: T",
    outputs="precision: bool",
    types={"T": INDEX},
    defaults={"T": int32},
    doc="""As `InTopK`, with k as a scalar input. Shapes, dtypes and errors are those of `InTopK`.""",
    infer=_in_top_shape,
    host=_host_in_top_k,
    expand=lambda op, predictions, targets, k: _in_top_mask(predictions, targets, cast_to(k, int32)),
    grad=NOT_DIFFERENTIABLE,
)


def in_top_k(
    predictions: TensorLike | None = None, targets: TensorLike | None = None, k: Any = None, name: str | None = None
) -> Tensor:
    """Returns for each row of `predictions` whether the class `targets` is among the k largest, a bool vector.

    predictions: float32 (batch, classes). targets: int32 or int64 (batch,). k: an integer, or an integer scalar tensor.
    False where the target is out of range or a prediction is not finite.
    """
    if is_tensor_like(k):
        return IN_TOP_K_V2(predictions, cast_to(graph_of((targets, k)).to_tensor(targets), k.dtype), k, name=name)
    return IN_TOP_K(predictions, targets, k=k, name=name)


def top_k(input: TensorLike, k: TensorLike = 1, sorted: bool = True, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns the k largest elements of each row (along the last dimension) in descending order, and their indices.

    input: a real number type, shape (..., n). Both results have shape (..., k); the values have the dtype of the input,
    the indices int32. `sorted` has no effect. Errors: k is larger than n.
    """
    return TOP_K_V2(input, k, sorted=sorted, name=name)


OPS: tuple[OpDef, ...] = (TOP_K_V2, TOP_K, IN_TOP_K, IN_TOP_K_V2)
API: dict[str, Any] = {"nn.top_k": top_k, "nn.in_top_k": in_top_k}
