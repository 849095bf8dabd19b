"""Distributions of matrices: Wishart's, of sums of outer products of normal vectors.

Invariant: a draw is symmetric and positive definite, or its Cholesky factor where that is asked for.
"""

from __future__ import annotations

import math

import numpy as np

from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import constant, zeros_like
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.linalg.band_part import MATRIX_BAND_PART
from tfnb.ops.linalg.bands_tridiagonal import matrix_set_diag
from tfnb.ops.linalg.decompositions import cholesky, matrix_triangular_solve
from tfnb.ops.linalg.diag import MATRIX_DIAG_PART
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import DIGAMMA, LGAMMA, LOG, SQRT, SQUARE, absolute
from tfnb.ops.random.functions import random_normal
from tfnb.ops.random.gamma_poisson import random_gamma
from tfnb.types import Shape
from tfnb.v1.distributions.checks import positive
from tfnb.v1.distributions.distribution import FULLY_REPARAMETERIZED, Distribution, Draw, tensors_of, where_defined

__all__ = ["WishartCholesky", "WishartFull"]


class WishartCholesky(Distribution):
    """Wishart distributions of `df` degrees of freedom and the scale S = L L^T of the lower triangular `scale` L.

    cholesky_input_output_matrices: whether draws and values are Cholesky factors, not the matrices themselves.
    """

    def __init__(
        self,
        df: TensorLike,
        scale: TensorLike,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartCholesky",
    ) -> None:
        parameters = dict(locals())
        degrees, tril = tensors_of(name, None, df=df, scale=scale)
        self._tril = MATRIX_BAND_PART(tril, np.int64(-1), np.int64(0))
        self.df, self.cholesky_input_output_matrices = positive(degrees, validate_args), cholesky_input_output_matrices
        n = self._tril.shape.sizes[-1] if self._tril.shape.sizes else None
        if n is None:
            raise InvalidArgumentError("Wishart: the size of the scale must be known")
        self.dimension = n
        super().__init__(
            self._tril.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self.df, self._tril],
            name,
        )

    def scale(self) -> Tensor:
        """Returns the scale S: [..., n, n]."""
        return matmul(self._tril, self._tril, transpose_b=True)

    @property
    def event_shape(self) -> Shape:
        """The shape of a matrix."""
        return self._tril.shape[-2:]

    def _event(self) -> Tensor:
        return shape_op(self._tril)[-2:]

    def _batch(self) -> Tensor:
        return self.df + self._tril[..., 0, 0]

    def _df(self) -> Tensor:
        return self.df + zeros_like(self._batch())

    def _sample(self, draw: Draw) -> Tensor:
        # Bartlett's decomposition: chi numbers on the diagonal, normal ones below it.
        second = None if draw.seed is None else draw.seed + 1
        normal = random_normal(draw.full, dtype=self.dtype, seed=draw.seed)
        shapes = 0.5 * (self._df()[..., None] - constant(np.arange(self.dimension), self.dtype))
        chi = SQRT(2.0 * random_gamma(draw.shape, shapes, dtype=self.dtype, seed=second))
        factor = matrix_set_diag(MATRIX_BAND_PART(normal, np.int64(-1), np.int64(0)), chi)
        product = matmul(self._tril + zeros_like(factor), factor)
        return product if self.cholesky_input_output_matrices else matmul(product, product, transpose_b=True)

    def _log_multigamma(self, a: Tensor) -> Tensor:
        parts = a[..., None] - constant(np.arange(self.dimension) / 2.0, self.dtype)
        return 0.25 * self.dimension * (self.dimension - 1) * math.log(math.pi) + reduce_sum(LGAMMA(parts), -1)

    def _log_det_tril(self) -> Tensor:
        return reduce_sum(LOG(absolute(MATRIX_DIAG_PART(self._tril))), -1)

    def _log_prob(self, x: Tensor) -> Tensor:
        root = x if self.cholesky_input_output_matrices else cholesky(x)
        full = self._tril + zeros_like(root)
        z = matrix_triangular_solve(full, root + zeros_like(full), lower=True)
        trace = reduce_sum(SQUARE(z), [-2, -1])
        log_det = reduce_sum(LOG(MATRIX_DIAG_PART(root)), -1)
        df, n = self._df(), float(self.dimension)
        norm = df * self._log_det_tril() + 0.5 * df * n * math.log(2.0) + self._log_multigamma(0.5 * df)
        return (df - n - 1.0) * log_det - 0.5 * trace - norm

    def _mean(self) -> Tensor:
        if self.cholesky_input_output_matrices:
            return SQRT(self._df())[..., None, None] * self._tril
        return self._df()[..., None, None] * self.scale()

    def _variance(self) -> Tensor:
        scale = SQRT(self._df())[..., None, None] * self.scale()
        diag = MATRIX_DIAG_PART(scale)
        return (
            SQUARE(scale) + diag[..., :, None] * diag[..., None, :]
            if not self.cholesky_input_output_matrices
            else SQRT(SQUARE(scale))
        )

    def _mode(self) -> Tensor:
        factor = self._df() - float(self.dimension) - 1.0
        mode = factor[..., None, None] * self.scale()
        return where_defined(
            self,
            mode + factor[..., None, None] >= mode,
            mode,
            "the mode of a Wishart distribution needs df >= dimension + 1",
        )

    def mean_log_det(self, name: str = "mean_log_det") -> Tensor:
        """Returns the mean of log det."""
        with name_scope(name):
            parts = 0.5 * self._df()[..., None] - constant(np.arange(self.dimension) / 2.0, self.dtype)
            return reduce_sum(DIGAMMA(parts), -1) + self.dimension * math.log(2.0) + 2.0 * self._log_det_tril()


class WishartFull(WishartCholesky):
    """Wishart distributions of `df` degrees of freedom and the symmetric, positive definite `scale`.

    cholesky_input_output_matrices: see `WishartCholesky`.
    """

    def __init__(
        self,
        df: TensorLike,
        scale: TensorLike,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartFull",
    ) -> None:
        root = cholesky(tensors_of(name, None, scale=scale)[0])
        super().__init__(df, root, cholesky_input_output_matrices, validate_args, allow_nan_stats, name)
        self.parameters = {**self.parameters, "scale": scale}
