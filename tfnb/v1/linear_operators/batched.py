"""The functions of linear algebra whose batches broadcast, which libraries take from TensorFlow's linear operators.

Invariant: each gives what the function without broadcasting gives for matrices that were broadcast before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor, zeros_like
from tfnb.ops.array.shape_ops import shape
from tfnb.ops.linalg.decompositions import cholesky_solve, matrix_solve, matrix_triangular_solve
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.logging.assertions import API as ASSERTIONS
from tfnb.ops.logging.assertions import assert_less
from tfnb.ops.math.complex_numbers import imag
from tfnb.ops.math.unary import absolute
from tfnb.types import int32
from tfnb.v1.linear_operators.api import (
    LinearOperator,
    LinearOperatorDiag,
    LinearOperatorFullMatrix,
    LinearOperatorIdentity,
    LinearOperatorLowerTriangular,
    LinearOperatorScaledIdentity,
)
from tfnb.v1.linear_operators.operator import same_batch

__all__ = [
    "add_operators",
    "assert_compatible_matrix_dimensions",
    "assert_is_batch_matrix",
    "assert_no_entries_with_modulus_zero",
    "assert_zero_imag_part",
    "broadcast_matrix_batch_dims",
    "cholesky_solve_with_broadcast",
    "matmul_with_broadcast",
    "matrix_solve_with_broadcast",
    "matrix_triangular_solve_with_broadcast",
    "shape_tensor",
]


def assert_is_batch_matrix(tensor: Tensor) -> None:
    """Raises `InvalidArgumentError` if `tensor` is known to have fewer than two dimensions."""
    if tensor.shape.ndims is not None and tensor.shape.ndims < 2:
        raise InvalidArgumentError(f"Expected [batch] matrix to have at least two dimensions.  Found: {tensor}")


def assert_compatible_matrix_dimensions(operator: LinearOperator, x: Tensor) -> Operation:
    """Returns an operation that fails in a step in which `x` has not as many rows as `operator` has columns."""
    message = "Dimensions are not compatible.  shape[-2] of argument to be the same as this operator"
    return ASSERTIONS["assert_equal"](shape(x)[-2], operator.domain_dimension_tensor(), message=message)


def assert_zero_imag_part(x: TensorLike, message: str | None = None, name: str = "assert_zero_imag_part") -> Operation:
    """Returns an operation that fails in a step in which an element of `x` is not real."""
    with name_scope(name):
        tensor = convert_to_tensor(x)
        part = imag(tensor) if tensor.dtype.is_complex else zeros_like(tensor)
        return ASSERTIONS["assert_equal"](zeros_like(part), part, message=message)


def assert_no_entries_with_modulus_zero(
    x: TensorLike, message: str | None = None, name: str = "assert_no_entries_with_modulus_zero"
) -> Operation:
    """Returns an operation that fails in a step in which an element of `x` is zero."""
    with name_scope(name):
        sizes = absolute(convert_to_tensor(x))
        return assert_less(zeros_like(sizes), sizes, message=message)


def shape_tensor(shape: TensorLike, name: str | None = None) -> Tensor:
    """Returns `shape` as a tensor; that of a scalar, which has no element, is int32."""
    empty = isinstance(shape, (tuple, list)) and not shape
    return convert_to_tensor(shape, dtype=int32 if empty else None, name=name)


def broadcast_matrix_batch_dims(batch_matrices: Sequence[TensorLike], name: str | None = None) -> list[Any]:
    """Returns the matrices, broadcast to one batch. Raises `InvalidArgumentError` for fewer than two dimensions."""
    with name_scope(name or "broadcast_matrix_batch_dims"):
        matrices = [convert_to_tensor(m) for m in batch_matrices]
        for matrix in matrices:
            assert_is_batch_matrix(matrix)
        if len(matrices) < 2:
            return matrices
        widest = reduce(lambda wide, matrix: same_batch(wide, matrix)[0], matrices)
        return [same_batch(matrix, widest)[0] for matrix in matrices]


def _broadcast(
    function: Callable[..., Any], name: str, first: TensorLike, second: TensorLike, **options: bool
) -> Tensor:
    with name_scope(name):
        a = convert_to_tensor(first)
        return function(*broadcast_matrix_batch_dims([a, convert_to_tensor(second, dtype=a.dtype)]), **options)


def matmul_with_broadcast(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns a @ b. a: shape (batch..., n, m), b: (batch..., m, k), or the transposes of that."""
    options = {
        "transpose_a": transpose_a,
        "transpose_b": transpose_b,
        "adjoint_a": adjoint_a,
        "adjoint_b": adjoint_b,
        "a_is_sparse": a_is_sparse,
        "b_is_sparse": b_is_sparse,
    }
    return _broadcast(matmul, name or "MatMulWithBroadcast", a, b, **options)


def cholesky_solve_with_broadcast(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Returns x of L L^H x = rhs. chol: L, shape (batch..., n, n). rhs: shape (batch..., n, k)."""
    return _broadcast(cholesky_solve, name or "CholeskySolveWithBroadcast", chol, rhs)


def matrix_solve_with_broadcast(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Returns x of A x = rhs, or with `adjoint` of A^H x = rhs. matrix: A, shape (batch..., n, n)."""
    return _broadcast(matrix_solve, name or "MatrixSolveWithBroadcast", matrix, rhs, adjoint=adjoint)


def matrix_triangular_solve_with_broadcast(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Returns x of A x = rhs for a triangle A, or with `adjoint` of A^H x = rhs; `lower`: the lower triangle is read.

    matrix: shape (batch..., n, n). rhs: shape (batch..., n, k).
    """
    function, options = matrix_triangular_solve, {"lower": lower, "adjoint": adjoint}
    return _broadcast(function, name or "MatrixTriangularSolve", matrix, rhs, **options)


def add_operators(
    operators: Sequence[LinearOperator],
    operator_name: str | None = None,
    addition_tiers: object = None,
    name: str | None = None,
) -> list[LinearOperator]:
    """Returns a list of one operator, the sum of `operators`: diagonal or triangular if all of them are, else full.

    addition_tiers: has no effect, there is one kind of addition.
    """
    if len(operators) < 2:
        return list(operators)
    kinds = [_kind(o) for o in operators]
    with name_scope(name or "add_operators"):
        if kinds.count("diagonal") == len(kinds):
            return [LinearOperatorDiag(reduce(add, [o.diag_part() for o in operators]), name=operator_name or "Add")]
        total = reduce(add, [o.to_dense() for o in operators])
        made = LinearOperatorFullMatrix if "full" in kinds else LinearOperatorLowerTriangular
        return [made(total, name=operator_name or "Add")]


def _kind(operator: LinearOperator) -> str:
    if isinstance(operator, (LinearOperatorDiag, LinearOperatorIdentity, LinearOperatorScaledIdentity)):
        return "diagonal"
    return "triangular" if isinstance(operator, LinearOperatorLowerTriangular) else "full"
