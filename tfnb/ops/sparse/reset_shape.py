"""Another shape for the same elements of a sparse tensor (`tf.sparse_reset_shape`).

Invariant: no element lies outside the new shape, since it is at least as large as the old one, or made of the indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import DTypeError, ShapeError
from tfnb.ir.const import constant_shape
from tfnb.ir.opdef import OpDef
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import IDENTITY, SHAPE
from tfnb.ops.logging.assertions import API as CHECKS
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.reduce import MAX
from tfnb.types import int64

__all__ = ["API", "OPS"]


def sparse_reset_shape(sp_input: SparseTensor | SparseTensorValue, new_shape: TensorLike | None = None) -> SparseTensor:
    """The elements of a sparse tensor in another shape, at the same indices.

    new_shape: integers, one for each dimension, none of which is less than that of `sp_input`; by default the smallest
    shape that contains all elements. Raises `DTypeError` if `sp_input` is not sparse, `ShapeError` where it is known
    that the shapes do not fit; else a step raises `InvalidArgumentError`.
    """
    if not isinstance(sp_input, (SparseTensor, SparseTensorValue)):
        raise DTypeError(f"sparse_reset_shape: Input must be a SparseTensor, got {type(sp_input).__name__}")
    x = SparseTensor.from_value(sp_input)
    graph = x.graph
    with graph.as_default(), graph.name_scope("SparseResetShape"):
        if new_shape is None:
            size = MAXIMUM(MAX(x.indices, np.int32(0)) + np.int64(1), np.int64(0))
        else:
            size = _checked(x, graph.to_tensor(new_shape, None if hasattr(new_shape, "dtype") else int64))
        result = SparseTensor(IDENTITY(x.indices), IDENTITY(x.values), size)
        result.set_shape(constant_shape(size))
        return result


def _checked(x: SparseTensor, new_shape: Tensor) -> Tensor:
    """`new_shape` as int64, after the checks that it has as many dimensions as `x`, and that none is less."""
    new_shape.shape.assert_has_rank(1)
    size = cast_to(new_shape, int64)
    old, new = x.shape, constant_shape(size)
    if None not in (old.ndims, new.ndims):
        if old.ndims != new.ndims:
            raise ShapeError(f"sparse_reset_shape: Shapes {old} and {new} must have the same rank")
        if any(a is not None and b is not None and a > b for a, b in zip(old.as_list(), new.as_list(), strict=True)):
            raise ShapeError(
                "sparse_reset_shape: Requested new_shape should have dimension sizes >= sp_input.shape. "
                f"Found new_shape {new}, sp_input.shape {old}"
            )
    same_rank = CHECKS["assert_equal"](*(SHAPE(s, out_type=int64) for s in (x.dense_shape, size)))
    with x.graph.control_dependencies([same_rank]):
        fits = CHECKS["assert_less_equal"](x.dense_shape, size)
    with x.graph.control_dependencies([fits]):
        return IDENTITY(size)


OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = {"sparse_reset_shape": sparse_reset_shape, "sparse.reset_shape": sparse_reset_shape}
