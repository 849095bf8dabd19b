"""Assignment to a slice: `variable[1:3, ...].assign(value)` (white paper, Table 1, array operations).

Invariant: elements outside the slice keep their values; a value whose shape differs from the slice is rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import SupportsTensor, Tensor, TensorLike
from tfnb.ops.array.constants import ONES_LIKE, ZEROS_LIKE
from tfnb.ops.array.shape_ops import SHAPE
from tfnb.ops.array.strided_slice import (
    MASKS,
    STRIDED_SLICE,
    STRIDED_SLICE_GRAD,
    IndexKey,
    StridedSliceAttrs,
    assignment_key,
    entries,
    getitem,
    slice_parts,
    strided_shape,
)
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import SELECT
from tfnb.ops.state.variables import ASSIGN
from tfnb.types import ALL, INDEX, Shape, bool_, int32

__all__ = ["API", "OPS", "VariableSlice", "strided_slice", "variable_slice"]


def _dims(shape: Shape) -> tuple[int | None, ...]:
    return shape.sizes or ()


def _assigned(c: Infer) -> Shape:
    expected = strided_shape(c)
    if not expected.is_compatible_with(c.shapes[4]) and not (0 in _dims(expected) and 0 in _dims(c.shapes[4])):
        raise InvalidArgumentError(
            f"{c.op_name}: a slice of shape {expected} cannot take a value of shape {c.shapes[4]}"
        )
    return c.shapes[0]


def _host_assign(
    call: HostCall,
    ref: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    strides: np.ndarray,
    value: np.ndarray,
) -> np.ndarray:
    parts = entries(ref.shape, begin.tolist(), end.tolist(), strides.tolist(), call.attrs)
    if value.shape != tuple(e.length for e in parts if not e.shrink):
        if value.size == 0 and any(e.length == 0 for e in parts):
            return ref  # nothing is assigned, whatever the empty shapes are
        raise InvalidArgumentError(f"a value of shape {value.shape} for another slice of shape {ref.shape}", call.op)
    out = ref.copy()
    out[slice_parts(parts)] = value.reshape([e.length for e in parts if e.axis is not None])
    return out


def _masks(attrs: StridedSliceAttrs) -> dict[str, Any]:
    return {name: getattr(attrs, name) for name in MASKS}


def _changed(op: Operation, x: Tensor, begin: Tensor, end: Tensor, strides: Tensor, value: Tensor) -> Tensor:
    """The elements of `value` inside the slice, and those of `x` elsewhere."""
    if 0 in _dims(value.shape):
        return x
    shape = SHAPE(x, out_type=begin.dtype)
    masks = _masks(op.attrs)
    reached = STRIDED_SLICE_GRAD(shape, begin, end, strides, cast_to(ONES_LIKE(value), int32), **masks)
    spread = STRIDED_SLICE_GRAD(shape, begin, end, strides, value, **masks)
    return SELECT(cast_to(reached, bool_), spread, x)


def _expand_assign(op: Operation, ref: Tensor, *rest: Tensor) -> Tensor | None:
    return None if ref.dtype.is_string else ASSIGN(ref, _changed(op, ref, *rest))


_DOC = """{what} in which the slice `x[begin:end:strides]` is replaced by `value`.

    {first}: any dtype. begin, end, strides and the masks: those of `StridedSlice`. value: that dtype, the
    shape of the slice. output: {output}. Errors: the value has another shape, or a single index is out of range."""

STRIDED_SLICE_ASSIGN: OpDef[Tensor] = OpDef(
    "StridedSliceAssign",
    inputs="ref: Ref(T), begin: Index, end: Index, strides: Index, value: T",
    outputs="output_ref: Ref(T)",
    types={"T": ALL, "Index": INDEX},
    attrs=StridedSliceAttrs,
    doc=_DOC.format(what="The variable `ref`", first="ref", output="the reference"),
    infer=_assigned,
    host=_host_assign,
    expand=_expand_assign,
    grad=GRADIENT_MISSING,
    shape_inputs=(1, 2, 3),
    writes=(0,),
)


def _expand_update(op: Operation, x: Tensor, *rest: Tensor) -> Any:
    return None if x.dtype.is_string else _changed(op, x, *rest)


def _grad_update(op: Operation, dy: Tensor) -> tuple[Tensor, None, None, None, Tensor]:
    index, value = op.inputs[1:4], op.inputs[4]
    masks = _masks(op.attrs)
    d_tensor = TENSOR_STRIDED_SLICE_UPDATE(dy, *index, ZEROS_LIKE(value), **masks)
    return d_tensor, None, None, None, STRIDED_SLICE(dy, *index, **masks)


TENSOR_STRIDED_SLICE_UPDATE: OpDef[Tensor] = OpDef(
    "TensorStridedSliceUpdate",
    inputs="input: T, begin: Index, end: Index, strides: Index, value: T",
    outputs="output: T",
    types={"T": ALL, "Index": INDEX},
    attrs=StridedSliceAttrs,
    doc=_DOC.format(what="A copy of `input`", first="input", output="shape of input"),
    infer=_assigned,
    host=_host_assign,
    expand=_expand_update,
    grad=_grad_update,
    shape_inputs=(1, 2, 3),
)


class VariableSlice(Tensor):
    """A slice of a variable: a tensor with its value, whose method `assign` writes to the variable."""

    __slots__ = ("_place", "_ref")

    def __init__(
        self, tensor: Tensor, ref: Tensor | SupportsTensor, place: Callable[[], tuple[Any, dict[str, int]]]
    ) -> None:
        super().__init__(tensor.graph, tensor.op, tensor.index)
        self._ref, self._place = ref, place

    def assign(self, value: TensorLike, name: str | None = None) -> Tensor:
        """Sets the slice and returns the variable's reference. Errors: the value's shape differs from the slice."""
        index, masks = self._place()
        return STRIDED_SLICE_ASSIGN(self._ref, *index, value, name=name, **masks)


def variable_slice(value: Tensor, ref: Tensor, key: IndexKey) -> VariableSlice:
    """`value[key]`, where `value` is the value of the variable `ref`."""
    return VariableSlice(getitem(value, key), ref, lambda: assignment_key(value, key))


def strided_slice(
    input_: TensorLike,
    begin: Any,
    end: TensorLike,
    strides: TensorLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Tensor | SupportsTensor | None = None,
    name: str | None = None,
) -> Tensor:
    """`input_[begin:end:strides]` with the masks of `StridedSlice`; strides are 1 by default.

    var: the variable whose value `input_` is; if given, the result can be assigned to. Raises the errors of
    `StridedSlice`.
    """
    if strides is None:
        size = begin.shape.known()[0] if hasattr(begin, "shape") else len(begin)
        strides = np.ones(size, np.int32)
    names = MASKS
    values = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    masks = dict(zip(names, values, strict=True))
    result = STRIDED_SLICE(input_, begin, end, strides, name=name, **masks)
    return result if var is None else VariableSlice(result, var, lambda: ((begin, end, strides), masks))


OPS: tuple[OpDef, ...] = (STRIDED_SLICE_ASSIGN, TENSOR_STRIDED_SLICE_UPDATE)
API: dict[str, Any] = {"strided_slice": strided_slice}
