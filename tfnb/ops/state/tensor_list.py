"""Lists of tensors as values of variant tensors, by which TensorFlow's control flow v2 represents tensor arrays.

Each operation is defined with its shape function and gradient; `tensor_list_kernels` has the kernels. All run on the
host. Invariant: an operation never changes the list that it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.ir.opdef import NOT_DIFFERENTIABLE, Infer, NotDifferentiable, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import scalar_shape
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.array.gather import UNSORTED_SEGMENT_SUM
from tfnb.ops.array.shape_ops import SHAPE
from tfnb.ops.state import tensor_list_kernels as kernels
from tfnb.ops.state.tensor_list_kernels import list_of, shape_of_sizes
from tfnb.types import ANY, INDEX, Shape, int32, scalar, unknown_shape

__all__ = ["API", "OPS"]


@record
class StackAttrs:
    """`num_elements` is the number of elements that the list must have; -1 allows any number."""

    num_elements: int = -1


@record
class SetAttrs:
    """`resize_if_index_out_of_bounds`: an index beyond the end lengthens the list instead of raising an error."""

    resize_if_index_out_of_bounds: bool = False


def _static(c: Infer, i: int) -> Shape:
    """The static shape that input i, a vector of sizes, describes."""
    value = c.value(i)
    return c.as_shape(i) if value is None and c.shapes[i].ndims == 1 else _known(value)


def _known(value: Tensor) -> Shape:
    return unknown_shape if value is None else shape_of_sizes(value)


def _size(t: Tensor) -> Tensor:
    return SHAPE(t, out_type=int32)


def _like(op: Operation, handle: Tensor) -> Tensor:
    """An empty list with the dtype and element shape of `handle`: the gradient of a list that nothing else reads."""
    dtype = op.types["element_dtype"]
    return EMPTY(ELEMENT_SHAPE(handle, shape_type=int32), -1, element_dtype=dtype)


def _blank(op: Operation, handle: Tensor) -> Tensor:
    """A list with as many elements as `handle`, all of them zero."""
    shape = ELEMENT_SHAPE(handle, shape_type=int32)
    return RESERVE(shape, LENGTH(handle), element_dtype=op.types["element_dtype"])


def _grad_push(op: Operation, dlist: Tensor) -> tuple[Any, Any]:
    rest, item = POP(dlist, _size(op.inputs[1]), element_dtype=op.types["element_dtype"])
    return rest, item


def _grad_pop(op: Operation, dlist: Tensor, ditem: Tensor) -> tuple[Any, None]:
    return PUSH(_like(op, op.outputs[0]) if dlist is None else dlist, ditem), None


def _grad_stack(op: Operation, dy: Tensor) -> tuple[Any, None]:
    return FROM_TENSOR(dy, _size(dy)[1:]), None


def _grad_from_tensor(op: Operation, dlist: Tensor) -> tuple[Any, None]:
    return STACK(dlist, _size(op.inputs[0])[1:], element_dtype=op.types["element_dtype"]), None


def _grad_get(op: Operation, ditem: Tensor) -> tuple[Any, None, None]:
    return SET(_blank(op, op.inputs[0]), op.inputs[1], ditem), None, None


def _grad_set(op: Operation, dlist: Tensor) -> tuple[Any, None, Any]:
    _, index, item = op.inputs
    ditem = GET(dlist, index, _size(item), element_dtype=op.types["element_dtype"])
    return SET(dlist, index, ZEROS_LIKE(item)), None, ditem


def _grad_resize(op: Operation, dlist: Tensor) -> tuple[Any, None]:
    return RESIZE(dlist, LENGTH(op.inputs[0])), None


def _grad_gather(op: Operation, dy: Tensor) -> tuple[Any, None, None]:
    """Scatters the gradient back; the gradients of an element that was gathered twice are summed."""
    parts = UNSORTED_SEGMENT_SUM(dy, op.inputs[1], LENGTH(op.inputs[0]))
    return FROM_TENSOR(parts, _size(dy)[1:]), None, None


def _grad_scatter(op: Operation, dlist: Tensor) -> tuple[Any, ...]:
    tensor, indices = op.inputs[:2]
    d_tensor = GATHER(dlist, indices, _size(tensor)[1:], element_dtype=op.types["element_dtype"])
    return (d_tensor, *(None,) * (len(op.inputs) - 1))


def _grad_scatter_into(op: Operation, dlist: Tensor) -> tuple[Any, Any, None]:
    _, tensor, indices = op.inputs
    dtensor = GATHER(dlist, indices, _size(tensor)[1:], element_dtype=op.types["element_dtype"])
    return SCATTER_INTO(dlist, ZEROS_LIKE(tensor), indices), dtensor, None


def _grad_concat(op: Operation, dy: Tensor, _: Tensor) -> tuple[Any, None, None]:
    return SPLIT(dy, ELEMENT_SHAPE(op.inputs[0], shape_type=int32), op.outputs[1]), None, None


def _grad_split(op: Operation, dlist: Tensor) -> tuple[Any, None, None]:
    dtype, (tensor, sizes, lengths) = op.types["element_dtype"], op.inputs
    d_tensor = CONCAT(dlist, sizes, lengths, element_dtype=dtype)[0]
    d_tensor.set_shape(tensor.shape)
    return d_tensor, None, None


def _op(
    name: str,
    inputs: str,
    outputs: str,
    doc: str,
    infer: Callable[[Infer], Any],
    host: Callable[..., Any],
    grad: Callable[..., Any] | NotDifferentiable,
    attrs: type | None = None,
    shape_type: str = "",
    dtype: bool = True,
) -> OpDef:
    types: dict[str, Any] = {"element_dtype": ANY} if dtype else {}
    if shape_type:
        types[shape_type] = INDEX
    keywords: dict[str, Any] = {} if attrs is None else {"attrs": attrs}
    if shape_type == "Tshape":
        keywords["defaults"] = {"Tshape": int32}
    text = f"{doc}\n\nHost only. A list is a variant scalar; `element_shape` holds -1 for a size that is not known."
    return OpDef(
        name,
        inputs,
        outputs,
        text,
        types=types,
        infer=infer,
        host=host,
        grad=grad,
        stateful=True,
        raw=True,
        **keywords,
    )


EMPTY: OpDef[Tensor] = _op(
    "EmptyTensorList",
    "element_shape: shape_type, max_num_elements: int32",
    "handle: variant",
    "An empty list that may hold up to `max_num_elements` elements (-1: any number).",
    scalar_shape,
    kernels.empty,
    NOT_DIFFERENTIABLE,
    shape_type="shape_type",
)
RESERVE: OpDef[Tensor] = _op(
    "TensorListReserve",
    "element_shape: shape_type, num_elements: int32",
    "handle: variant",
    "A list of `num_elements` elements that are not set. Errors: a negative number of elements.",
    scalar_shape,
    kernels.reserve,
    NOT_DIFFERENTIABLE,
    shape_type="shape_type",
)
PUSH: OpDef[Tensor] = _op(
    "TensorListPushBack",
    "input_handle: variant, tensor: element_dtype",
    "output_handle: variant",
    "The list with `tensor` appended. Errors: the list is full, or the shape does not fit.",
    scalar_shape,
    kernels.push,
    _grad_push,
)
POP: OpDef[tuple[Tensor, Tensor]] = _op(
    "TensorListPopBack",
    "input_handle: variant, element_shape: int32",
    "output_handle: variant, tensor: element_dtype",
    "The list without its last element, and that element. Errors: the list is empty.",
    lambda c: (scalar, _static(c, 1)),
    kernels.pop,
    _grad_pop,
)


def _stack_shape(c: Infer) -> Shape:
    count = c.attrs.num_elements
    rest = _static(c, 1).sizes
    return unknown_shape if rest is None else Shape((None if count < 0 else count, *rest))


def _gather_shape(c: Infer) -> Shape:
    rest, indices = _static(c, 2).sizes, c.shapes[1].sizes
    return unknown_shape if rest is None or indices is None else Shape((*indices, *rest))


STACK: OpDef[Tensor] = _op(
    "TensorListStack",
    "input_handle: variant, element_shape: int32",
    "tensor: element_dtype",
    "All elements along a new first axis; zeros for those that are not set. Errors: their shapes differ.",
    _stack_shape,
    kernels.stack,
    _grad_stack,
    attrs=StackAttrs,
)
FROM_TENSOR: OpDef[Tensor] = _op(
    "TensorListFromTensor",
    "tensor: element_dtype, element_shape: shape_type",
    "output_handle: variant",
    "The list of the parts of `tensor` along its first axis. Errors: a scalar, or `element_shape` does not fit.",
    scalar_shape,
    kernels.from_tensor,
    _grad_from_tensor,
    shape_type="shape_type",
)
ELEMENT_SHAPE: OpDef[Tensor] = OpDef(
    "TensorListElementShape",
    "input_handle: variant",
    "element_shape: shape_type",
    "The static shape of the elements: their sizes, -1 for an unknown one; a scalar -1 for an unknown rank.",
    types={"shape_type": INDEX},
    infer=lambda c: unknown_shape,
    host=kernels.element_shape,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
LENGTH: OpDef[Tensor] = OpDef(
    "TensorListLength",
    "input_handle: variant",
    "length: int32",
    "The number of elements of the list, a scalar.",
    infer=scalar_shape,
    host=lambda call, handle: np.asarray(len(list_of(handle)), np.int32),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
GET: OpDef[Tensor] = _op(
    "TensorListGetItem",
    "input_handle: variant, index: int32, element_shape: Tshape",
    "item: element_dtype",
    "The element at `index`; zeros if it is not set. Errors: no such element.",
    lambda c: _static(c, 2),
    kernels.get_item,
    _grad_get,
    shape_type="Tshape",
)
SET: OpDef[Tensor] = _op(
    "TensorListSetItem",
    "input_handle: variant, index: int32, item: element_dtype",
    "output_handle: variant",
    "The list with `item` at `index`. Errors: the index is out of range, or the shape does not fit.",
    scalar_shape,
    kernels.set_item,
    _grad_set,
    attrs=SetAttrs,
)
RESIZE: OpDef[Tensor] = _op(
    "TensorListResize",
    "input_handle: variant, size: int32",
    "output_handle: variant",
    "The list shortened to `size` elements, or lengthened by elements that are not set.",
    scalar_shape,
    kernels.resize,
    _grad_resize,
    dtype=False,
)
GATHER: OpDef[Tensor] = _op(
    "TensorListGather",
    "input_handle: variant, indices: int32, element_shape: int32",
    "values: element_dtype",
    "The elements at `indices`, stacked along a new first axis. Errors: no such element.",
    _gather_shape,
    kernels.gather,
    _grad_gather,
)
SCATTER: OpDef[Tensor] = _op(
    "TensorListScatterV2",
    "tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32",
    "output_handle: variant",
    "A list of `num_elements` (-1: as many as needed) with row i of `tensor` at `indices[i]`.",
    scalar_shape,
    kernels.scatter,
    _grad_scatter,
    shape_type="shape_type",
)
SCATTER_V1: OpDef[Tensor] = _op(
    "TensorListScatter",
    "tensor: element_dtype, indices: int32, element_shape: shape_type",
    "output_handle: variant",
    "A list with row i of `tensor` at `indices[i]`.",
    scalar_shape,
    kernels.scatter,
    _grad_scatter,
    shape_type="shape_type",
)
SCATTER_INTO: OpDef[Tensor] = _op(
    "TensorListScatterIntoExistingList",
    "input_handle: variant, tensor: element_dtype, indices: int32",
    "output_handle: variant",
    "The list with row i of `tensor` at `indices[i]`; it is lengthened if needed.",
    scalar_shape,
    lambda call, handle, tensor, indices: kernels.scatter_into(call, handle, tensor, indices),
    _grad_scatter_into,
)
CONCAT: OpDef[tuple[Tensor, Tensor]] = _op(
    "TensorListConcatV2",
    "input_handle: variant, element_shape: shape_type, leading_dims: int64",
    "tensor: element_dtype, lengths: int64",
    "All elements joined along their first axis, and the length of each. `leading_dims` has the lengths of those that"
    " are not set.",
    lambda c: (unknown_shape, Shape((None,))),
    kernels.concat,
    _grad_concat,
    shape_type="shape_type",
)
SPLIT: OpDef[Tensor] = _op(
    "TensorListSplit",
    "tensor: element_dtype, element_shape: shape_type, lengths: int64",
    "output_handle: variant",
    "The list of pieces of `tensor` with these lengths along its first axis. Errors: their sum is not its length.",
    scalar_shape,
    kernels.split,
    _grad_split,
    shape_type="shape_type",
)

OPS: tuple[OpDef, ...] = (
    EMPTY,
    RESERVE,
    PUSH,
    POP,
    STACK,
    FROM_TENSOR,
    ELEMENT_SHAPE,
    LENGTH,
    GET,
    SET,
    RESIZE,
    GATHER,
    SCATTER,
    SCATTER_V1,
    SCATTER_INTO,
    CONCAT,
    SPLIT,
)
API: dict[str, Any] = {}
