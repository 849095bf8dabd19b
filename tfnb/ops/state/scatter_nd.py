"""Updates of elements or slices, selected by index tuples, of a variable or a copy of a tensor (white paper, Table 1).

`ref[indices[i...]] = ref[indices[i...]] OP updates[i...]`, where an index tuple selects the first k dimensions.
Invariant: of several updates of one element, the last one replaces it, but all are added; elements whose index does not
occur keep their values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.kernelcall import I32, In, KernelCall, KernelSite, Temp
from tfnb.ir.opdef import (
    GRADIENT_MISSING,
    NOT_DIFFERENTIABLE,
    GradFn,
    GradientMissing,
    HostCall,
    Infer,
    NotDifferentiable,
    OpDef,
)
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import RANGE, ZEROS_LIKE
from tfnb.ops.array.gather import GATHER
from tfnb.ops.array.gather_nd import (
    GATHER_ND,
    SCATTER_ND,
    SCATTER_ROWS,
    check_updates,
    nd_bounds,
    row_numbers,
)
from tfnb.ops.array.shape_ops import RESHAPE, SHAPE, shape_of
from tfnb.ops.math.binary import MAXIMUM, MINIMUM, REAL_DIV
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import EQUAL, GREATER_EQUAL, SELECT
from tfnb.ops.math.segment import UNSORTED_SEGMENT_MAX, UNSORTED_SEGMENT_MIN
from tfnb.ops.state.scatter_recipes import scatter_calls
from tfnb.ops.state.variables import LockAttrs
from tfnb.types import ALL, INDEX, NUMBERS, REALS, DType, Shape, int32

__all__ = ["API", "OPS", "TENSOR_SCATTER_UPDATE"]

_FLAT = np.asarray([-1], np.int32)
_MOST = 8  # the largest number of dimensions in an index tuple on a device


def _infer(c: Infer) -> Shape:
    ref, indices, updates = c.shapes
    check_updates(c.op_name, indices, updates, ref)
    return ref


def _rows(call: HostCall, ref: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> Any:
    """Returns (a copy of ref as rows, the row number of each update, the updates as rows)."""
    check_updates(call.op.type, Shape(indices.shape), Shape(updates.shape), Shape(ref.shape))
    k = indices.shape[-1]
    flat = indices.reshape(math.prod(indices.shape[:-1]), k)
    sizes = np.asarray(ref.shape[:k], indices.dtype)
    bad = ((flat < 0) | (flat >= sizes)).any(1)
    if bad.any():
        raise InvalidArgumentError(f"the index {flat[bad][0].tolist()} is not inside shape {ref.shape}", call.op)
    at = np.zeros(len(flat), np.int64)
    for j in range(k):
        at = at * ref.shape[j] + flat[:, j]
    rest = ref.shape[k:]
    rows = math.prod(ref.shape[:k])
    return ref.reshape(rows, *rest).copy(), at, updates.reshape(len(flat), *rest)


def _replace(rows: np.ndarray, at: np.ndarray, updates: np.ndarray) -> None:
    last = {int(r): i for i, r in enumerate(at)}
    rows[list(last)] = updates[list(last.values())]


_CHANGES: dict[str, tuple[Any, str]] = {
    "Update": (_replace, "Replaces"),
    "Add": (np.add.at, "Adds `updates` to"),
    "Sub": (np.subtract.at, "Subtracts `updates` from"),
    "Max": (np.maximum.at, "Takes the larger of `updates` and"),
    "Min": (np.minimum.at, "Takes the smaller of `updates` and"),
}


def _host(change: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def kernel(call: HostCall, ref: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
        rows, at, new = _rows(call, ref, indices, updates)
        with np.errstate(all="ignore"):
            change(rows, at, new)
        return rows.reshape(ref.shape)

    return kernel


def _calls(site: KernelSite, entry: str) -> tuple[KernelCall, ...]:
    """Converts the index tuples to row numbers first; the rest is a scatter of rows."""
    ref, indices, updates = site.inputs
    k = indices.shape[-1]
    if k > _MOST:
        raise InvalidArgumentError(f"an index of {k} numbers; a device takes at most {_MOST}")
    count = indices.size // k if k else updates.size // max(ref.size, 1)
    if updates.size == 0 or ref.size == 0:
        return ()
    rows = Temp("rows", 4 * count)
    sizes = [I32(d) for d in (*ref.shape[:k], *(1,) * (_MOST - k))]
    defines = (("INDEX", indices.dtype.cl),)
    number = KernelCall("state/scatter.cl", "nd_rows", (In(1), rows, I32(count), I32(k), *sizes), defines=defines)
    return number, *scatter_calls(site, entry, rows, (math.prod(ref.shape[:k]), math.prod(ref.shape[k:]), count))


def _doc(does: str, what: str) -> str:
    return (
        f"{does} the elements or slices of {what} at `indices`.\n\n"
        "indices: integers, shape (..., k): each row selects the first k dimensions. updates: shape indices.shape[:-1] "
        "+ the remaining dimensions.\n"
        "Errors: the shapes do not match, or an index is outside (a device skips an index that it computed itself)."
    )


def _on_variable(name: str, types: tuple[DType, ...]) -> OpDef:
    change, description = _CHANGES[name]
    return OpDef(
        f"ScatterNd{name}",
        "ref: Ref(T), indices: Tindices, updates: T",
        "output_ref: Ref(T)",
        _doc(description, "the variable `ref`") + " Returns the reference.",
        types={"T": types, "Tindices": INDEX},
        attrs=LockAttrs,
        infer=_infer,
        host=_host(change),
        opencl=partial(_calls, entry=f"scatter_{name.lower()}"),
        bounds=nd_bounds,
        grad=GRADIENT_MISSING if name in ("Max", "Min") else NOT_DIFFERENTIABLE,
        writes=(0,),
    )


def _numbers(tensor: Any, indices: Tensor, updates: Tensor) -> tuple[Any, Any, Any] | None:
    """Returns (the row number of each update, the updates as rows, the tensor as rows).

    The result is None if a shape is not known statically.
    """
    dims, depth = tensor.shape.sizes, indices.shape.sizes
    if dims is None or None in dims or not depth or not depth[-1]:
        return None
    k = depth[-1]
    number = row_numbers(RESHAPE(indices, np.asarray([-1, k], np.int32)), dims[:k])
    count, width = math.prod(dims[:k]), math.prod(dims[k:])
    new = SCATTER_ROWS(indices, updates, np.asarray(dims, indices.dtype.np))
    return number, new, RESHAPE(tensor, np.asarray([count, width], np.int32))


def _expand_update(op: Operation, tensor: Any, indices: Tensor, updates: Tensor) -> Tensor | None:
    """Finds the last update of each row as the one with the largest number."""
    numbers = _numbers(tensor, indices, updates)
    if numbers is None or 0 in tensor.shape.sizes or updates.shape.num_elements() in (0, None):
        return None
    number, new, rows = numbers
    order = RANGE(np.int32(0), SHAPE(number, out_type=int32)[0], np.int32(1))
    last = UNSORTED_SEGMENT_MAX(order, number, np.int32(rows.shape.sizes[0]))
    replacements = GATHER(new, MAXIMUM(last, np.int32(0)))
    return RESHAPE(SELECT(GREATER_EQUAL(last, 0), replacements, rows), shape_of(tensor))


def _expand_sum(sign: int) -> Callable[..., Any]:
    def expand(op: Operation, tensor: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        total = SCATTER_ND(indices, updates, SHAPE(tensor, out_type=indices.dtype))
        return tensor + total if sign > 0 else tensor - total

    return expand


def _expand_extreme(segment: OpDef, pick: OpDef) -> Callable[..., Any]:
    def expand(op: Operation, tensor: Tensor, indices: Tensor, updates: Tensor) -> Tensor | None:
        numbers = _numbers(tensor, indices, updates)
        if numbers is None:
            return None
        number, new, rows = numbers
        best = segment(new, number, np.int32(rows.shape.sizes[0]))
        return RESHAPE(pick(rows, best), shape_of(tensor))

    return expand


def _grad_update(op: Operation, dy: Tensor) -> tuple[Tensor, None, Tensor]:
    _, indices, updates = op.inputs
    return TENSOR_SCATTER_UPDATE(dy, indices, ZEROS_LIKE(updates)), None, GATHER_ND(dy, indices)


def _grad_extreme(op: Operation, dy: Tensor) -> Any:
    """The tensor's element and all updates that equal the result get equal shares of the gradient."""
    tensor, indices, updates = op.inputs
    is_kept = cast_to(EQUAL(tensor, op.outputs[0]), dy.dtype)
    updates_kept = cast_to(EQUAL(updates, GATHER_ND(op.outputs[0], indices)), dy.dtype)
    share = REAL_DIV(dy, is_kept + SCATTER_ND(indices, updates_kept, SHAPE(tensor, out_type=indices.dtype)))
    return share * is_kept, None, GATHER_ND(share, indices) * updates_kept


def _on_tensor(
    name: str,
    key: str,
    types: tuple[DType, ...],
    expand: Callable[..., Any],
    grad: GradFn | NotDifferentiable | GradientMissing | None,
    first: str = "tensor",
) -> OpDef[Tensor]:
    change, description = _CHANGES[key]
    return OpDef(
        name,
        f"{first}: T, indices: Tindices, updates: T",
        "output: T",
        _doc(description, f"a copy of `{first}`"),
        types={"T": types, "Tindices": INDEX},
        infer=_infer,
        host=_host(change),
        expand=expand,
        grad=grad,
    )


TENSOR_SCATTER_UPDATE: OpDef[Tensor] = _on_tensor("TensorScatterUpdate", "Update", ALL, _expand_update, _grad_update)
TENSOR_SCATTER_ADD = _on_tensor(
    "TensorScatterAdd",
    "Add",
    NUMBERS,
    _expand_sum(1),
    lambda op, dy: (dy, None, GATHER_ND(dy, op.inputs[1])),
)
TENSOR_SCATTER_SUB = _on_tensor(
    "TensorScatterSub",
    "Sub",
    NUMBERS,
    _expand_sum(-1),
    lambda op, dy: (dy, None, -GATHER_ND(dy, op.inputs[1])),
)
TENSOR_SCATTER_MAX = _on_tensor(
    "TensorScatterMax", "Max", REALS, _expand_extreme(UNSORTED_SEGMENT_MAX, MAXIMUM), _grad_extreme
)
TENSOR_SCATTER_MIN = _on_tensor(
    "TensorScatterMin", "Min", REALS, _expand_extreme(UNSORTED_SEGMENT_MIN, MINIMUM), _grad_extreme
)
SCATTER_ND_NON_ALIASING_ADD = _on_tensor(
    "ScatterNdNonAliasingAdd",
    "Add",
    NUMBERS,
    _expand_sum(1),
    lambda op, dy: (dy, None, GATHER_ND(dy, op.inputs[1])),
    "input",
)
_TYPES = {"Update": ALL, "Add": NUMBERS, "Sub": NUMBERS}
ON_VARIABLES = tuple(_on_variable(name, _TYPES.get(name, REALS)) for name in _CHANGES)


def _function(op: OpDef, public: str) -> Callable[..., Any]:
    locked = op.name == "ScatterNdUpdate"

    def call(ref: Tensor, indices: Tensor, updates: Tensor, use_locking: bool = locked, name: str | None = None) -> Any:
        return op(ref, indices, updates, use_locking=use_locking, name=name)

    call.__doc__, call.__name__ = op.doc, public
    return call


OPS: tuple[OpDef, ...] = (
    *ON_VARIABLES,
    TENSOR_SCATTER_UPDATE,
    TENSOR_SCATTER_ADD,
    TENSOR_SCATTER_SUB,
    TENSOR_SCATTER_MAX,
    TENSOR_SCATTER_MIN,
    SCATTER_ND_NON_ALIASING_ADD,
)


def _copying(op: OpDef) -> Callable[..., Any]:
    def call(tensor: Tensor, indices: Tensor, updates: Tensor, name: str | None = None) -> Any:
        return op(tensor, indices, updates, name=name)

    call.__doc__ = op.doc
    return call


API: dict[str, Any] = {
    **{
        f"scatter_nd_{k.lower()}": _function(op, f"scatter_nd_{k.lower()}")
        for k, op in zip(_CHANGES, ON_VARIABLES, strict=True)
    },
    **{f"tensor_scatter_{op.name.removeprefix('TensorScatter').lower()}": _copying(op) for op in OPS[5:10]},
    "tensor_scatter_nd_update": _copying(TENSOR_SCATTER_UPDATE),
    "tensor_scatter_nd_add": _copying(TENSOR_SCATTER_ADD),
    "tensor_scatter_nd_sub": _copying(TENSOR_SCATTER_SUB),
    "scatter_nd_non_aliasing_add": _copying(SCATTER_ND_NON_ALIASING_ADD),
}
