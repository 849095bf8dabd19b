"""Functions that distributions and bijectors share: inverse softplus, triangles as vectors, matrices' diagonals.

Invariant: a function of matrices treats all leading dimensions as a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import constant, convert_to_tensor, ones_like, zeros_like
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.tile_reverse_mirror import pad, reverse
from tfnb.ops.array.where_partition import where
from tfnb.ops.linalg.band_part import MATRIX_BAND_PART
from tfnb.ops.linalg.bands_tridiagonal import matrix_set_diag
from tfnb.ops.linalg.decompositions import matrix_triangular_solve
from tfnb.ops.linalg.diag import MATRIX_DIAG, MATRIX_DIAG_PART
from tfnb.ops.math.cast import cast
from tfnb.ops.math.unary import EXPM1, LOG, SQRT
from tfnb.types import float64, int32

__all__ = [
    "fill_triangular",
    "fill_triangular_inverse",
    "matrix_diag_transform",
    "softplus_inverse",
    "triangle_solve",
    "tridiag",
]


def softplus_inverse(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns log(exp(x) - 1) of positive numbers, also where exp(x) is too large or too near to 1."""
    with name_scope(name or "softplus_inverse"):
        value = x if isinstance(x, Tensor) else convert_to_tensor(x)
        small = np.log(np.finfo(value.dtype.np).eps) + 2.0
        too_small, too_large = value < float(np.exp(small)), value > float(-small)
        inside = where(too_small, ones_like(value), where(too_large, ones_like(value), value))
        middle = inside + LOG(-EXPM1(-inside))
        return where(too_small, LOG(value), where(too_large, value, middle))


def _side(length: int) -> int:
    n = math.isqrt(2 * length)
    if n * (n + 1) // 2 != length:
        raise InvalidArgumentError(f"Input right-most shape ({length}) does not correspond to a triangular matrix.")
    return n


def fill_triangular(x: TensorLike, upper: bool = False, name: str | None = None) -> Tensor:
    """Returns lower (or `upper`) triangular matrices of vectors: [..., n (n + 1) / 2] to [..., n, n].

    The elements go clockwise around the matrix, as in TensorFlow. Another length is an `InvalidArgumentError`, in the
    step if it is unknown before.
    """
    with name_scope(name or "fill_triangular"):
        vector = convert_to_tensor(x)
        m = vector.shape.sizes[-1] if vector.shape.sizes else None
        n: Any = _side_in_step(shape_op(vector)[-1]) if m is None else _side(m)
        parts = [vector, reverse(vector[..., n:], [-1])] if upper else [vector[..., n:], reverse(vector, [-1])]
        square = RESHAPE(concat(parts, -1), concat([shape_op(vector)[:-1], [n, n]], 0))
        result = (
            MATRIX_BAND_PART(square, np.int64(0), np.int64(-1))
            if upper
            else MATRIX_BAND_PART(square, np.int64(-1), np.int64(0))
        )
        sides = [n, n] if m is not None else [None, None]
        result.set_shape(None if vector.shape.sizes is None else [*vector.shape.as_list()[:-1], *sides])
        return result


def _side_in_step(m: Tensor) -> Tensor:
    """Returns the side of a triangle of m elements. Another m makes matrices of another size, which is an error."""
    return cast(SQRT(0.25 + 2.0 * cast(m, float64)) - 0.5, int32)


def fill_triangular_inverse(x: TensorLike, upper: bool = False, name: str | None = None) -> Tensor:
    """Returns the vectors of which `fill_triangular` makes the matrices `x`: [..., n, n] to [..., n (n + 1) / 2]."""
    with name_scope(name or "fill_triangular_inverse"):
        matrix = convert_to_tensor(x)
        n = matrix.shape.sizes[-1] if matrix.shape.sizes else None
        if n is None:
            raise ShapeError("fill_triangular_inverse: the size of the matrix must be known")
        m = n * (n + 1) // 2
        places = np.zeros(m, np.int32)
        ids = np.arange(m)
        parts = [ids, ids[n:][::-1]] if upper else [ids[n:], ids[::-1]]
        square = np.concatenate(parts).reshape(n, n)
        kept = np.triu(np.ones((n, n), bool)) if upper else np.tril(np.ones((n, n), bool))
        places[square[kept]] = np.flatnonzero(kept.reshape(-1))
        flat = RESHAPE(matrix, concat([shape_op(matrix)[:-2], [n * n]], 0))
        return gather(flat, constant(places), axis=-1)


def matrix_diag_transform(
    matrix: TensorLike, transform: Callable[[Any], Any] | None = None, name: str | None = None
) -> Tensor:
    """Returns the matrices `matrix` [..., n, n] with `transform` of their diagonals instead of these."""
    with name_scope(name or "matrix_diag_transform"):
        value = convert_to_tensor(matrix)
        return value if transform is None else matrix_set_diag(value, transform(MATRIX_DIAG_PART(value)))


def tridiag(
    below: TensorLike | None = None,
    diag: TensorLike | None = None,
    above: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns matrices [..., n, n] with the diagonals `below` [..., n - 1], `diag` [..., n] and `above` [..., n - 1].

    Raises `InvalidArgumentError` without any of them.
    """
    with name_scope(name or "tridiag"):
        parts = []
        for values, padding in ((below, ((1, 0), (0, 1))), (diag, None), (above, ((0, 1), (1, 0)))):
            if values is None:
                continue
            matrix = MATRIX_DIAG(convert_to_tensor(values))
            if padding is not None:
                batch = [(0, 0)] * ((matrix.shape.ndims or 2) - 2)
                matrix = pad(matrix, np.array([*batch, *padding], np.int32))
            parts.append(matrix)
        if not parts:
            raise InvalidArgumentError("Must specify at least one of {below, diag, above}.")
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total


def triangle_solve(scale: Tensor, vectors: Tensor, adjoint: bool = False) -> Tensor:
    """Returns L^-1 v for lower triangular matrices [..., n, n] and vectors [..., n], whose batches broadcast."""
    wide = vectors[..., None]
    full = scale + zeros_like(wide)
    return matrix_triangular_solve(full, wide + zeros_like(full[..., :1]), lower=True, adjoint=adjoint)[..., 0]
