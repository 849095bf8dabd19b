"""Shapes as tensors, and changes of a tensor's shape (white paper, section 2; Table 1, array operations).

The values of `Shape`, `Size` and `Rank` are known as soon as the input's shape is, so a compiled step holds them as
constants. `Reshape` and similar ops are views of their input's memory. Invariant: no op of this module computes on
elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, NotFoundError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import normalize_axis, scalar_shape, unchanged, with_rank
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.math.cast import cast
from tfnb.sizes import integer
from tfnb.types import (
    ALL,
    ALL_AND_QUANTIZED,
    ANY,
    INDEX,
    QUANTIZED,
    DType,
    DTypeLike,
    Shape,
    as_dtype,
    bracketed,
    int32,
    unknown_shape,
)
from tfnb.upcalls import upcall

__all__ = [
    "API",
    "BROADCAST_GRADIENT_ARGS",
    "EXPAND_DIMS",
    "IDENTITY",
    "OPS",
    "RANK",
    "RESHAPE",
    "SHAPE",
    "SIZE",
    "SQUEEZE",
    "STOP_GRADIENT",
    "constant_lookup",
    "identity",
    "reshape_like",
    "shape_of",
    "size_of",
]


def constant_lookup(values: Sequence[int], i: Expr, dtype: DType) -> Expr:
    """`values[i]` as an expression, for the short vectors that describe shapes."""
    element = s.const(values[-1] if len(values) else 0, dtype)
    for k in reversed(range(len(values) - 1)):
        element = s.where(s.eq(i, k), s.const(values[k], dtype), element)
    return element


def _element_count(shape: Sequence[int]) -> int:
    return prod(map(integer, shape))


def _output_dtype(call: HostCall) -> Any:
    return call.outputs[0].dtype.np


SHAPE: OpDef[Tensor] = OpDef(
    "Shape",
    inputs="input: T",
    outputs="output: out_type",
    types={"T": ALL_AND_QUANTIZED, "out_type": INDEX},
    doc="""The shape of a tensor, as an integer vector.

    input: any dtype, any shape. output: int32 or int64 (`out_type`), shape (rank of input,).""",
    infer=lambda c: Shape((c.shapes[0].ndims,)),
    partial=lambda c: c.shapes[0],
    host=lambda call, x: np.asarray(x.shape, _output_dtype(call)),
    lower=lambda site, idx, port: constant_lookup(site.inputs[0].shape, idx[0], site.outputs[0].dtype),
    grad=NOT_DIFFERENTIABLE,
    shape_only=True,
    defaults={"out_type": int32},
)

SIZE: OpDef[Tensor] = OpDef(
    "Size",
    inputs="input: T",
    outputs="output: out_type",
    types={"T": ALL_AND_QUANTIZED, "out_type": INDEX},
    doc="""The number of elements of a tensor.

    input: any dtype, any shape. output: a scalar, int32 or int64 (`out_type`).""",
    infer=scalar_shape,
    partial=lambda c: None if c.shapes[0].num_elements() is None else Shape((c.shapes[0].num_elements(),)),
    host=lambda call, x: np.asarray(x.size, _output_dtype(call)),
    lower=lambda site, idx, port: s.const(_element_count(site.inputs[0].shape), site.outputs[0].dtype),
    grad=NOT_DIFFERENTIABLE,
    shape_only=True,
    defaults={"out_type": int32},
)

RANK: OpDef[Tensor] = OpDef(
    "Rank",
    inputs="input: T",
    outputs="output: int32",
    types={"T": ALL_AND_QUANTIZED},
    doc="""The number of dimensions of a tensor.

    input: any dtype, any shape. output: an int32 scalar.""",
    infer=scalar_shape,
    partial=lambda c: None if c.shapes[0].ndims is None else Shape((c.shapes[0].ndims,)),
    host=lambda call, x: np.asarray(x.ndim, np.int32),
    lower=lambda site, idx, port: s.const(len(site.inputs[0].shape), int32),
    grad=NOT_DIFFERENTIABLE,
    shape_only=True,
)


def shape_of(x: Tensor) -> Tensor | np.ndarray:
    """Returns the shape of tensor `x`: a NumPy vector when it is known statically, else `Shape(x)`."""
    if x.shape.is_fully_defined():
        return np.asarray(x.shape.known(), np.int32)
    return SHAPE(x, out_type=int32)


def size_of(x: Tensor) -> Any:
    """Returns the number of elements of tensor `x`: an int when it is known statically, else `Size(x)`."""
    n = x.shape.num_elements()
    return SIZE(x, out_type=int32) if n is None else n


def _reshaped(c: Infer) -> Shape:
    with_rank(c, 1, 1, "sizes input must be 1-D")
    x, target, value = c.shapes[0], c.as_shape(1), c.value(1)
    if value is not None and ((value < -1).any() or (value == -1).sum() > 1):
        raise InvalidArgumentError(f"Reshape: {value.tolist()} is not a shape; at most one dimension may be -1")
    if target.sizes is None:
        return unknown_shape
    n = x.num_elements()
    free = [i for i, d in enumerate(target.sizes) if d is None]
    rest = _element_count([d for d in target.sizes if d is not None])
    if not free:
        if n is not None and n != rest:
            raise ShapeError(
                f"Reshape: Cannot reshape a tensor with {n} elements to shape {bracketed(target.sizes)} ({rest} "
                f"elements): Input to reshape is a tensor with {n} values, but the requested shape has {rest}. Its "
                f"shape is {x}"
            )
        return target
    if n is None or len(free) > 1:
        return target
    if rest == 0:
        if value is None:
            return target
        if n:
            raise ShapeError(
                f"Reshape: Cannot reshape a tensor with {n} elements to shape {bracketed(target.sizes)} (0 elements): "
                f"Input to reshape is a tensor with {n} values, but the requested shape has 0"
            )
        return Shape(_filled(x.known(), value.tolist()))
    if n % rest:
        raise ShapeError(
            f"Reshape: Dimension size must be evenly divisible by {rest} but is {n}: {x} does not fill {target}"
        )
    return Shape(tuple(n // rest if d is None else d for d in target.sizes))


def _filled(sizes: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """Returns the shape `wanted` of an array without elements with a size for its -1, as TensorFlow finds it.

    That of the elements which there would be without the dimensions of 0, here and there.
    """
    there = _element_count([d for d in sizes if d or 0 not in wanted])
    rest = _element_count([d for d in wanted if d > 0])
    return tuple(there // rest if d < 0 else d for d in wanted)


def _host_reshape(call: HostCall, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    try:
        sizes = tuple(shape.tolist())
        return x.reshape(_filled(x.shape, sizes) if -1 in sizes and not x.size else sizes)
    except ValueError:
        raise InvalidArgumentError(
            f"Reshape: a tensor of shape {x.shape} cannot take the shape {shape.tolist()}", call.op
        ) from None


def reshape_like(value: Tensor, x: Tensor) -> Any:
    """`value` reshaped to the shape of tensor `x`."""
    if value.shape.is_fully_defined() and value.shape == x.shape:
        return value
    dims = x.shape.sizes
    if dims is not None and list(dims).count(None) == 1 and 0 not in dims:
        return RESHAPE(value, np.asarray([-1 if d is None else d for d in dims], np.int32))
    return RESHAPE(value, shape_of(x))


RESHAPE: OpDef[Tensor] = OpDef(
    "Reshape",
    inputs="tensor: T, shape: Tshape",
    outputs="output: T",
    types={"T": (*ALL, *QUANTIZED), "Tshape": INDEX},
    defaults={"Tshape": int32},
    doc="""The same elements, in row-major order, in another shape.

    tensor: any dtype, any shape. shape: an integer vector; one entry may be -1, which is computed from the number of
    elements. output: dtype of tensor, shape `shape`. Errors: the numbers of elements differ.""",
    infer=_reshaped,
    host=_host_reshape,
    grad=lambda op, dy: (reshape_like(dy, op.x), None),
    alias=0,
    shape_inputs=(1,),
    partial=lambda c: c.as_shape(0) if c.dtypes[0].is_integer and c.as_shape(1).ndims == 1 else None,
    api="reshape",
)


def _expanded(c: Infer) -> Shape:
    x, axis = c.shapes[0], c.value(1)
    if x.sizes is None:
        return unknown_shape
    if axis is None:
        return Shape((None,) * (len(x.sizes) + 1))
    i = normalize_axis(int(axis.reshape(())), len(x.sizes) + 1, f"{c.op_name}: dim")
    return Shape((*x.sizes[:i], 1, *x.sizes[i:]))


EXPAND_DIMS: OpDef[Tensor] = OpDef(
    "ExpandDims",
    inputs="input: T, dim: Tdim",
    outputs="output: T",
    types={"T": ALL_AND_QUANTIZED, "Tdim": INDEX},
    defaults={"Tdim": int32},
    doc="""Inserts a dimension of size 1 at position `dim`.

    input: any dtype, rank n. dim: an integer scalar in [-n-1, n]; a negative one counts from the end. output: rank
    n+1. Errors: dim is out of range.""",
    infer=_expanded,
    host=lambda call, x, dim: np.expand_dims(x, normalize_axis(int(dim.reshape(())), x.ndim + 1, "dim")),
    grad=lambda op, dy: (reshape_like(dy, op.x), None),
    alias=0,
    shape_inputs=(1,),
    partial=lambda c: Shape((integer(c.value(0)),)) if _small_count(c) else None,
)


def _small_count(c: Infer) -> bool:
    """Returns whether input 0 is a known integer scalar that could be a dimension."""
    return c.dtypes[0].is_integer and c.shapes[0].ndims == 0 and c.value(0) is not None and c.value(0) >= 0


@record
class SqueezeAttrs:
    """`squeeze_dims`: the axes to remove; an empty list means every axis of size 1."""

    squeeze_dims: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        dims = self.squeeze_dims
        flat = (dims,) if isinstance(dims, (int, np.integer)) else tuple(dims or ())
        object.__setattr__(self, "squeeze_dims", tuple(int(d) for d in flat))


def _squeezed(c: Infer) -> Shape:
    x, squeezed = c.shapes[0], c.attrs.squeeze_dims
    if x.sizes is None:
        return unknown_shape
    if not squeezed:
        return unknown_shape if None in x.sizes else Shape(tuple(d for d in x.sizes if d != 1))
    dropped = {normalize_axis(a, len(x.sizes), "Squeeze: axis") for a in squeezed}
    for a in dropped:
        if x.sizes[a] not in (1, None):
            raise ShapeError(f"Squeeze: dimension {a} of shape {x} is not 1")
    return Shape(tuple(d for i, d in enumerate(x.sizes) if i not in dropped))


def _host_squeeze(call: HostCall, x: np.ndarray) -> np.ndarray:
    squeezed = call.attrs.squeeze_dims
    dropped = (
        {normalize_axis(a, x.ndim) for a in squeezed} if squeezed else {i for i, d in enumerate(x.shape) if d == 1}
    )
    not_single = [a for a in dropped if x.shape[a] != 1]
    if not_single:
        raise InvalidArgumentError(f"Squeeze: dimension {not_single[0]} of shape {x.shape} is not 1", call.op)
    return x.reshape(tuple(d for i, d in enumerate(x.shape) if i not in dropped))


SQUEEZE: OpDef[Tensor] = OpDef(
    "Squeeze",
    inputs="input: T",
    outputs="output: T",
    types={"T": ALL_AND_QUANTIZED},
    attrs=SqueezeAttrs,
    doc="""Removes dimensions of size 1.

    input: any dtype, any shape. `squeeze_dims`: the axes to remove, all of size 1 (negative: counted from the end);
    an empty list means every axis of size 1. Errors: a given axis is not of size 1 or is out of range.""",
    infer=_squeezed,
    host=_host_squeeze,
    grad=lambda op, dy: reshape_like(dy, op.x),
    alias=0,
)

IDENTITY: OpDef[Tensor] = OpDef(
    "Identity",
    inputs="input: T",
    outputs="output: T",
    types={"T": ANY},
    doc="""Returns the input as a new tensor.

    input: any dtype, any shape. The op gives a value a name, or delays it until control dependencies have run.""",
    infer=unchanged,
    host=lambda call, x: x,
    grad=lambda op, dy: dy,
    alias=0,
    partial=lambda c: c.as_shape(0) if c.dtypes[0].is_integer and c.shapes[0].ndims == 1 else None,
    api="identity",
)

STOP_GRADIENT: OpDef[Tensor] = OpDef(
    "StopGradient",
    inputs="input: T",
    outputs="output: T",
    types={"T": ALL_AND_QUANTIZED},
    doc="""Returns the input; `tf.gradients` treats it as a constant.

    input: any dtype, any shape.""",
    infer=unchanged,
    host=lambda call, x: x,
    grad=lambda op, dy: None,
    alias=0,
    api="stop_gradient",
)


@record
class PreventGradientAttrs:
    """`message`: the text of the error."""

    message: str = ""


def _no_gradient_allowed(op: Operation, dy: Tensor) -> Any:
    raise NotFoundError(f"Gradient explicitly disabled: none is taken through {op.name}: {op.attrs.message}", op)


PREVENT_GRADIENT: OpDef[Tensor] = OpDef(
    "PreventGradient",
    inputs="input: T",
    outputs="output: T",
    types={"T": ALL_AND_QUANTIZED},
    attrs=PreventGradientAttrs,
    doc="""Returns the input; requesting a gradient through it is an error.

    input: any dtype, any shape. Errors: `InvalidArgumentError` with `message` when a gradient is built.""",
    infer=unchanged,
    host=lambda call, x: x,
    grad=_no_gradient_allowed,
    alias=0,
    api="prevent_gradient",
)


def reduced_axes(a: Sequence[int], b: Sequence[int]) -> tuple[list[int], list[int]]:
    """For shapes `a` and `b`, the axes of the broadcast result along which each has size 1 or no dimension.

    As in TensorFlow, both lists are empty for equal shapes.
    """
    if list(a) == list(b):
        return [], []
    n = max(len(a), len(b))
    left, right = [1] * (n - len(a)) + list(a), [1] * (n - len(b)) + list(b)
    if any(x != y and 1 not in (x, y) for x, y in zip(left, right, strict=True)):
        raise InvalidArgumentError(f"shapes {tuple(a)} and {tuple(b)} cannot be broadcast together")
    return [i for i in range(n) if left[i] == 1], [i for i in range(n) if right[i] == 1]


def _host_gradient_args(call: HostCall, s0: np.ndarray, s1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = reduced_axes(s0.tolist(), s1.tolist())
    return np.asarray(first, s0.dtype), np.asarray(second, s0.dtype)


def _gradient_args_shapes(c: Infer) -> tuple[Shape, Shape]:
    a, b = c.value(0), c.value(1)
    if a is None or b is None:
        return Shape((None,)), Shape((None,))
    first, second = reduced_axes(a.tolist(), b.tolist())
    return Shape((len(first),)), Shape((len(second),))


def _lower_gradient_args(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    axes = reduced_axes(site.value(0).tolist(), site.value(1).tolist())[port]
    return constant_lookup(axes, idx[0], site.outputs[port].dtype)


BROADCAST_GRADIENT_ARGS: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "BroadcastGradientArgs",
    inputs="s0: T, s1: T",
    outputs="r0: T, r1: T",
    types={"T": INDEX},
    doc="""The axes over which the gradients of two operands that were broadcast together must be summed.

    s0, s1: integer vectors, the operands' shapes. r0, r1: integer vectors of axes of the broadcast shape, including
    those where both operands have size 1; empty for equal shapes. Errors: the shapes cannot be broadcast
    together.""",
    infer=_gradient_args_shapes,
    host=_host_gradient_args,
    lower=_lower_gradient_args,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(0, 1),
)


def _as_tensor(value: TensorLike) -> Any:
    return graph_of((value,)).to_tensor(value)


def _fitting(value: Any, out_type: DTypeLike, what: str) -> np.ndarray:
    dtype = as_dtype(out_type)
    found = np.asarray(value, np.int64)
    if dtype is int32 and found.max(initial=0) >= 2**31:
        raise InvalidArgumentError(f"the {what} {value} does not fit into int32; use out_type=tf.int64")
    return found.astype(dtype.np)


def shape(input: TensorLike, name: str | None = None, out_type: DTypeLike = int32) -> Any:
    """Returns the shape of a tensor as an integer vector of `out_type` (int32 or int64).

    The result is a constant when the shape is known statically.
    """
    if isinstance(input, (SparseTensor, SparseTensorValue)):
        return cast(SparseTensor.from_value(input).dense_shape, out_type, name or "Shape")
    x = _as_tensor(input)
    if x.shape.is_fully_defined():
        return x.graph.constant(_fitting(x.shape.known(), out_type, "shape"), name or "Shape")
    return SHAPE(x, out_type=out_type, name=name)


def size(input: TensorLike, name: str | None = None, out_type: DTypeLike = int32) -> Any:
    """Returns the number of elements of a tensor as a scalar of `out_type` (int32 or int64).

    The result is a constant when the number is known statically.
    """
    if isinstance(input, (SparseTensor, SparseTensorValue)):
        sparse = SparseTensor.from_value(input)
        if not sparse.shape.is_fully_defined():
            return cast(upcall("product", sparse.dense_shape), out_type, name)
        return sparse.graph.constant(_fitting(sparse.shape.num_elements(), out_type, "size"), name or "Size")
    x = _as_tensor(input)
    if x.shape.is_fully_defined():
        return x.graph.constant(_fitting(x.shape.num_elements(), out_type, "size"), name or "Size")
    return SIZE(x, out_type=out_type, name=name)


def rank(input: TensorLike, name: str | None = None) -> Any:
    """Returns the number of dimensions of a tensor as an int32 scalar; a constant when it is known statically."""
    if isinstance(input, (SparseTensor, SparseTensorValue)):
        return size(SparseTensor.from_value(input).dense_shape, name or "Rank")
    x = _as_tensor(input)
    if x.shape.ndims is not None:
        return x.graph.constant(np.asarray(x.shape.ndims, np.int32), name or "Rank")
    return RANK(x, name=name)


def expand_dims(
    input: TensorLike, axis: TensorLike | None = None, name: str | None = None, dim: TensorLike | None = None
) -> Tensor:
    """Inserts a dimension of size 1 into the shape of `input` at position `axis` (in 0.x `dim`).

    A negative position counts from the end.

    Errors: neither or both of axis and dim are given, or the position is out of range.
    """
    if (axis is None) == (dim is None):
        raise InvalidArgumentError("expand_dims takes one position: axis (or dim, its older name)")
    return EXPAND_DIMS(input, dim if axis is None else axis, name=name)


def squeeze(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    squeeze_dims: int | Sequence[int] | None = None,
) -> Tensor:
    """Removes dimensions of size 1 from the shape of `input`: those in `axis` (in 0.x `squeeze_dims`), or all of them.

    Errors: a given axis is not of size 1.
    """
    axes = squeeze_dims if axis is None else axis
    return SQUEEZE(input, squeeze_dims=() if axes is None else axes, name=name)


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the input as a new tensor."""
    return IDENTITY(input, name=name)


OPS: tuple[OpDef, ...] = (
    SHAPE,
    SIZE,
    RANK,
    RESHAPE,
    EXPAND_DIMS,
    SQUEEZE,
    IDENTITY,
    STOP_GRADIENT,
    PREVENT_GRADIENT,
    BROADCAST_GRADIENT_ARGS,
)
API: dict[str, Any] = {
    "shape": shape,
    "size": size,
    "rank": rank,
    "expand_dims": expand_dims,
    "squeeze": squeeze,
}
