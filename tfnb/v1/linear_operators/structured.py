"""Operators of matrices whose rows are shifted: circulant ones of one to three dimensions, and Toeplitz matrices.

Invariant: a circulant matrix is F^-1 S F, of the Fourier transform F and its spectrum S, so all is done by transforms.
"""

from __future__ import annotations

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.operation import Operation
from tfnb.ir.shapes import broadcast_shapes
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.array_functions import eye
from tfnb.ops.array.batch_functions import gather
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor, ones, range_
from tfnb.ops.array.select_broadcast import broadcast_dynamic_shape
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE, shape
from tfnb.ops.array.tile_reverse_mirror import reverse
from tfnb.ops.linalg.band_part import matrix_transpose
from tfnb.ops.linalg.matrix_functions import adjoint_of
from tfnb.ops.logging.assertions import API as ASSERTIONS
from tfnb.ops.logging.assertions import assert_less
from tfnb.ops.math.cast import cast
from tfnb.ops.math.complex_numbers import conj, imag, real
from tfnb.ops.math.fft import API as TRANSFORMS
from tfnb.ops.math.reduce_functions import reduce_mean, reduce_prod, reduce_sum
from tfnb.ops.math.reduce_sum import BROADCAST_TO
from tfnb.ops.math.unary import LOG, RECIPROCAL, absolute
from tfnb.types import DTypeLike, Shape, as_dtype, complex64, complex128, float64
from tfnb.v1.linear_operators.operator import LinearOperator
from tfnb.v1.linear_operators.simple import not_zero

__all__ = [
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorToeplitz",
]


class _Circulant(LinearOperator):
    """A circulant operator whose `spectrum` has the shape (batch..., block...), a block of one to three dimensions."""

    depth = 1

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        given = convert_to_tensor(spectrum, name="spectrum")
        if given.shape.ndims is not None and given.shape.ndims < self.depth:
            raise InvalidArgumentError(f"Argument spectrum must have at least {self.depth} dimensions. Found: {given}")
        if not is_square:
            raise InvalidArgumentError("A [[nested] block] circulant operator is always square.")
        if not given.dtype.is_complex:
            if is_self_adjoint is False:
                raise InvalidArgumentError("A real spectrum always corresponds to a self-adjoint operator.")
            is_self_adjoint = True
        wide = given.dtype in (float64, complex128)
        self._spectrum = cast(given, complex128 if wide else complex64)
        dtype = as_dtype(input_output_dtype)
        super().__init__(dtype, [given], is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    @property
    def spectrum(self) -> Tensor:
        """The spectrum."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """The number of dimensions of a block."""
        return self.depth

    @property
    def block_shape(self) -> Shape:
        """The static shape of a block."""
        dims = self._spectrum.shape.sizes
        return Shape((None,) * self.depth) if dims is None else Shape(dims[-self.depth :])

    def block_shape_tensor(self) -> Tensor:
        """Returns the shape of a block, an int32 vector."""
        return shape(self._spectrum)[-self.depth :]

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """Returns the first column as a block: the inverse transform of the spectrum."""
        with self._name_scope(name):
            return cast(self._transform(self._spectrum, "ifft"), self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Operation:
        """Returns an operation that fails in a step in which the matrix is not real."""
        with self._name_scope(name):
            kernel = self._transform(self._spectrum, "ifft")
            eps = np.finfo(self._spectrum.dtype.real_dtype.np).eps * 100
            parts = absolute(imag(kernel))
            return assert_less(parts, np.asarray(eps, parts.dtype.np), message="Spectrum was not Hermitian")

    def _transform(self, x: Tensor, kind: str) -> Tensor:
        return TRANSFORMS[kind + ("" if self.depth == 1 else f"{self.depth}d")](x)

    def _size(self) -> Tensor:
        return reduce_prod(self.block_shape_tensor(), 0)

    def _shape(self) -> Shape:
        dims = self._spectrum.shape.sizes
        if dims is None:
            return Shape(None)
        block = dims[-self.depth :]
        n = None if None in block else int(np.prod([d for d in block if d is not None]))
        return Shape((*dims[: -self.depth], n, n))

    def _shape_tensor(self) -> Tensor:
        n = EXPAND_DIMS(self._size(), np.int32(0))
        return concat([shape(self._spectrum)[: -self.depth], n, n], 0)

    def _filtered(self, x: Tensor, factors: Tensor) -> Tensor:
        """Multiplies the transform of the columns of x by the spectrum's `factors`."""
        rows = cast(matrix_transpose(x), self._spectrum.dtype)
        sizes = shape(rows)
        blocks = RESHAPE(rows, concat([sizes[:-1], self.block_shape_tensor()], 0))
        spread = EXPAND_DIMS(factors, np.int32(-1 - self.depth))
        product = self._transform(self._transform(blocks, "fft") * spread, "ifft")
        batch = shape(product)[: -self.depth]
        return cast(matrix_transpose(RESHAPE(product, concat([batch, sizes[-1:]], 0))), self.dtype)

    def _matmul(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        factors = conj(self._spectrum) if adjoint else self._spectrum
        return self._filtered(adjoint_of(x) if adjoint_arg else x, factors)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._filtered(rhs, RECIPROCAL(conj(self._spectrum) if adjoint else self._spectrum))

    def _to_dense(self) -> Tensor:
        return self._matmul(eye(self._size(), dtype=self.dtype), False, False)

    def _axes(self) -> list[int]:
        return list(range(-self.depth, 0))

    def _determinant(self) -> Tensor:
        return cast(reduce_prod(self._spectrum, self._axes()), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return cast(reduce_sum(LOG(absolute(self._spectrum)), self._axes()), self.dtype.real_dtype)

    def _diag_part(self) -> Tensor:
        mean = cast(reduce_mean(self._spectrum, self._axes()), self.dtype)
        return EXPAND_DIMS(mean, np.int32(-1)) * ones(EXPAND_DIMS(self._size(), np.int32(0)), dtype=self.dtype)

    def _same(self, spectrum: Tensor) -> LinearOperator:
        hints = (self.is_non_singular, self.is_self_adjoint, self.is_positive_definite)
        return type(self)(spectrum, self.dtype, *hints)

    def _adjoint(self) -> LinearOperator:
        return self._same(conj(self._spectrum))

    def _inverse(self) -> LinearOperator:
        return self._same(RECIPROCAL(self._spectrum))

    def _assert_non_singular(self) -> Operation:
        return not_zero(absolute(self._spectrum), "Singular operator:  Spectrum contained zero values.")

    def _assert_positive_definite(self) -> Operation:
        return ASSERTIONS["assert_positive"](
            real(self._spectrum), message="Real parts of spectrum were not all positive."
        )


class LinearOperatorCirculant(_Circulant):
    """The operator of a circulant matrix: each column is the one before, shifted by one.

    spectrum: the Fourier transform of the first column, shape (batch..., n). input_output_dtype: that of what it is
    multiplied by.
    """


class LinearOperatorCirculant2D(_Circulant):
    """The operator of a block circulant matrix, whose blocks are circulant.

    spectrum: the two-dimensional Fourier transform of the kernel, shape (batch..., n, m). input_output_dtype: that of
    what it is multiplied by.
    """

    depth = 2


class LinearOperatorCirculant3D(_Circulant):
    """The operator of a circulant matrix of blocks that are as of `LinearOperatorCirculant2D`.

    spectrum: the three-dimensional Fourier transform of the kernel, shape (batch..., n, m, k). input_output_dtype:
    that of what it is multiplied by.
    """

    depth = 3


class LinearOperatorToeplitz(LinearOperator):
    """The operator of a matrix with equal elements along each diagonal.

    col, row: the first column and the first row, shape (batch..., n); their first elements are equal, and that of
    `col` counts.
    """

    def __init__(
        self,
        col: TensorLike,
        row: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        self._col, self._row = convert_to_tensor(col, name="col"), convert_to_tensor(row, name="row")
        if is_square is False:
            raise InvalidArgumentError("Only square Toeplitz operators currently supported.")
        for tensor in (self._col, self._row):
            if tensor.shape.ndims == 0:
                raise InvalidArgumentError("Argument must have at least 1 dimension: col and row")
        parents = [self._col, self._row]
        super().__init__(self._col.dtype, parents, is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    @property
    def col(self) -> Tensor:
        """The first column."""
        return self._col

    @property
    def row(self) -> Tensor:
        """The first row."""
        return self._row

    def _shape(self) -> Shape:
        both = broadcast_shapes(self._col.shape, self._row.shape)
        return Shape(None) if both.sizes is None else Shape((*both.sizes, both.sizes[-1]))

    def _shape_tensor(self) -> Tensor:
        sizes = broadcast_dynamic_shape(shape(self._col), shape(self._row))
        return concat([sizes, sizes[-1:]], 0)

    def _to_dense(self) -> Tensor:
        sizes = broadcast_dynamic_shape(shape(self._col), shape(self._row))
        col, row = BROADCAST_TO(self._col, sizes), BROADCAST_TO(self._row, sizes)
        diagonals = concat([reverse(row[..., 1:], [-1]), col], -1)
        n = sizes[-1]
        numbers = range_(n)
        at = EXPAND_DIMS(numbers, np.int32(1)) - EXPAND_DIMS(numbers, np.int32(0)) + n - 1
        return gather(diagonals, at, axis=-1)

    def _diag_part(self) -> Tensor:
        return self._col[..., :1] * ones(shape(self._to_dense())[:-1], dtype=self.dtype)
