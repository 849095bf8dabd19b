"""Placeholders: tensors whose values a step must, or may, feed (white paper, section 4.2).

Invariant: a placeholder has no value of its own; using one that is not fed raises an error before the step runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir.default import get_default_graph
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, Infer, Kind, OpDef
from tfnb.ir.record import record
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.types import ANY, DTypeLike, Shape, as_dtype, as_shape, int64, unknown_shape

__all__ = ["API", "OPS", "PLACEHOLDER", "PLACEHOLDER_WITH_DEFAULT"]


@record
class PlaceholderAttrs:
    """`shape`: the static shape; dimensions may be unknown."""

    shape: Shape = unknown_shape


PLACEHOLDER: OpDef[Tensor] = OpDef(
    "Placeholder",
    outputs="output: dtype",
    types={"dtype": ANY},
    attrs=PlaceholderAttrs,
    doc="A value that must be fed to every step that needs it.",
    infer=lambda c: c.attrs.shape,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    kind=Kind.PLACEHOLDER,
)


def _with_default(c: Infer) -> Shape:
    if not c.attrs.shape.is_compatible_with(c.shapes[0]):
        raise ShapeError(f"PlaceholderWithDefault: default of shape {c.shapes[0]}, shape {c.attrs.shape}")
    return c.attrs.shape


PLACEHOLDER_WITH_DEFAULT: OpDef[Tensor] = OpDef(
    "PlaceholderWithDefault",
    inputs="input: dtype",
    outputs="output: dtype",
    types={"dtype": ANY},
    attrs=PlaceholderAttrs,
    doc="The value of the input, unless the step feeds another value of a compatible shape.",
    infer=_with_default,
    grad=lambda op, dy: dy,
    host=lambda call, x: x,
    alias=0,
    # in a step that feeds nothing, the default value also determines the dimensions that are unknown
    expand=lambda op, x: None if op.attrs.shape.is_fully_defined() else IDENTITY(x),
    stateful=True,  # a step may feed another value, so the default must not be folded into the nodes that read it
)


def placeholder(dtype: DTypeLike, shape: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Returns a tensor whose value must be fed.

    dtype: the dtype of the fed values. shape: the static shape; None leaves the whole shape open, and None as a
    dimension (for example the batch) leaves that dimension open.
    """
    return PLACEHOLDER(shape=as_shape(shape), dtype=as_dtype(dtype), name=name, graph=get_default_graph())


def placeholder_with_default(input: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor with the value of `input` unless another value is fed.

    Raises `ShapeError` when `input` does not match `shape`.
    """
    return PLACEHOLDER_WITH_DEFAULT(input, shape=as_shape(shape), name=name)


def sparse_placeholder(dtype: DTypeLike, shape: TensorLike | None = None, name: str | None = None) -> SparseTensor:
    """A sparse tensor whose value must be fed: a `SparseTensorValue`, or a tuple (indices, values, dense shape), of
    which the shape may be left out if it is known.

    shape: the static dense shape, in which dimensions may be None; or a tensor; or None, which leaves the whole shape
    open.
    """
    static = None if isinstance(shape, Tensor) or shape is None else as_shape(shape)
    rank = shape.shape.sizes[0] if isinstance(shape, Tensor) and shape.shape.sizes else None
    rank = rank if static is None else static.ndims
    default_graph = get_default_graph()
    with default_graph.name_scope(name or "SparsePlaceholder"):
        if isinstance(shape, Tensor):
            size = placeholder_with_default(shape, shape.shape, name="shape")
        elif static is None or static.sizes is None:
            size = placeholder(int64, [None], name="shape")
        elif None not in static.sizes:
            size = default_graph.constant(np.asarray(static.sizes, np.int64), name="shape")
        else:
            default = np.asarray([-1 if d is None else d for d in static.sizes], np.int64)
            size = placeholder_with_default(default, default.shape, name="shape")
        values = placeholder(dtype, [None], name="values")
        sparse = SparseTensor(placeholder(int64, [None, rank], name="indices"), values, size)
    if static is not None:
        sparse.set_shape(static)
    return sparse


OPS = (PLACEHOLDER, PLACEHOLDER_WITH_DEFAULT)
API: dict[str, Any] = {
    "placeholder": placeholder,
    "placeholder_with_default": placeholder_with_default,
    "sparse_placeholder": sparse_placeholder,
}
