"""Bijectors of vectors and matrices: affine maps, permutations, triangles, orders, softmax.

Invariant: an event is the last dimension, or the last two, and all other dimensions are a batch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfnb.client.graph.default_graph import control_dependencies
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.constants import constant, convert_to_tensor, ones_like, zeros_like
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import EXPAND_DIMS, IDENTITY, RESHAPE, rank
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.shape_ops import size as size_op
from tfnb.ops.array.sort_roll_reverse import sort
from tfnb.ops.array.transpose_pad_tile import INVERT_PERMUTATION
from tfnb.ops.linalg.band_part import MATRIX_BAND_PART
from tfnb.ops.linalg.bands_tridiagonal import matrix_set_diag
from tfnb.ops.linalg.decompositions import cholesky, matrix_solve, matrix_triangular_solve, slogdet
from tfnb.ops.linalg.diag import MATRIX_DIAG, MATRIX_DIAG_PART
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL
from tfnb.ops.math.reduce_functions import reduce_all, reduce_logsumexp, reduce_prod, reduce_sum
from tfnb.ops.math.scan import cumsum
from tfnb.ops.math.unary import EXP, LOG, SQRT, absolute
from tfnb.ops.nn.activations import SOFTPLUS
from tfnb.ops.nn.losses import softmax
from tfnb.types import Shape, as_shape, float32, int32
from tfnb.v1.bijectors.bijector import Bijector, Chain
from tfnb.v1.bijectors.scalar import AffineScalar, Softplus
from tfnb.v1.distributions.distribution import tensors_of
from tfnb.v1.distributions.matrix_forms import fill_triangular, fill_triangular_inverse, triangle_solve

__all__ = [
    "Affine",
    "AffineLinearOperator",
    "CholeskyOuterProduct",
    "FillTriangular",
    "MatrixInverseTriL",
    "Ordered",
    "Permute",
    "Reshape",
    "ScaleTriL",
    "SoftmaxCentered",
    "TransformDiagonal",
]


def _check_rank(name: str, event_ndims: int, supported: int) -> None:
    """Raises `UnimplementedError` unless `event_ndims`, which TensorFlow took until 1.5, is the rank that is there."""
    if event_ndims != supported:
        raise UnimplementedError(f"{name}: event_ndims={event_ndims}; events have rank {supported} here")


class AffineLinearOperator(Bijector):
    """The function y = scale x + shift of vectors, whose `scale` has the methods of `tf.linalg.LinearOperator`.

    Those are matvec, solvevec and log_abs_determinant. A shift or scale that is None is left out. event_ndims: 1, as
    TensorFlow had it until 1.5. Raises `UnimplementedError` for another number.
    """

    def __init__(
        self,
        shift: TensorLike | None = None,
        scale: Any = None,
        validate_args: bool = False,
        name: str = "affine_linear_operator",
        event_ndims: int = 1,
    ) -> None:
        _check_rank(name, event_ndims, 1)
        self.shift, self.scale = tensors_of(name, None, shift=shift)[0], scale
        dtype = self.shift.dtype if self.shift is not None else getattr(scale, "dtype", None)
        super().__init__([t for t in (self.shift,) if t is not None], True, validate_args, dtype, 1, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        y = x if self.scale is None else self.scale.matvec(x)
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: Tensor) -> Tensor:
        x = y if self.shift is None else y - self.shift
        return x if self.scale is None else self.scale.solvevec(x)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, x.dtype) if self.scale is None else self.scale.log_abs_determinant()


class _Triangle:
    """A lower triangular matrix [..., n, n] as a linear operator."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix, self.dtype = matrix, matrix.dtype

    def matvec(self, x: Tensor) -> Tensor:
        """Returns the product with the vectors x."""
        return reduce_sum(self.matrix * x[..., None, :], -1)

    def solvevec(self, y: Tensor) -> Tensor:
        """Returns the vectors whose product is y."""
        return triangle_solve(self.matrix, y)

    def log_abs_determinant(self) -> Tensor:
        """Returns log |det|."""
        return reduce_sum(LOG(absolute(MATRIX_DIAG_PART(self.matrix))), -1)


class _Diagonal:
    """A diagonal matrix of the vector [..., n] as a linear operator."""

    def __init__(self, diag: Tensor) -> None:
        self.diag, self.dtype = diag, diag.dtype

    def matvec(self, x: Tensor) -> Tensor:
        """Returns the product with the vectors x."""
        return self.diag * x

    def solvevec(self, y: Tensor) -> Tensor:
        """Returns the vectors whose product is y."""
        return y / self.diag

    def log_abs_determinant(self) -> Tensor:
        """Returns log |det|."""
        return reduce_sum(LOG(absolute(self.diag)), -1)


class _Full:
    """A matrix [..., n, n] as a linear operator."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix, self.dtype = matrix, matrix.dtype

    def matvec(self, x: Tensor) -> Tensor:
        """Returns the product with the vectors x."""
        return reduce_sum(self.matrix * x[..., None, :], -1)

    def solvevec(self, y: Tensor) -> Tensor:
        """Returns the vectors whose product is y."""
        full = self.matrix + zeros_like(y[..., None])
        return matrix_solve(full, y[..., None] + zeros_like(full[..., :1]))[..., 0]

    def log_abs_determinant(self) -> Tensor:
        """Returns log |det|."""
        return slogdet(self.matrix)[1]


class _Multiple:
    """A multiple of the identity as a linear operator on vectors of a length that their tensors tell."""

    def __init__(self, factor: Tensor) -> None:
        self.factor, self.dtype = factor, factor.dtype

    def matvec(self, x: Tensor) -> Tensor:
        """Returns the product with the vectors x."""
        return self.factor[..., None] * x

    def solvevec(self, y: Tensor) -> Tensor:
        """Returns the vectors whose product is y."""
        return y / self.factor[..., None]


class Affine(AffineLinearOperator):
    """The function y = scale x + shift of vectors.

    The scale is the sum of a multiple of the identity, a diagonal, a lower triangular matrix, and a product V D V^T of
    `scale_perturb_factor` V [..., n, r] and `scale_perturb_diag` D [..., r], by default the identity; what is None is
    left out. Without any of them it is the identity.
    """

    def __init__(
        self,
        shift: TensorLike | None = None,
        scale_identity_multiplier: TensorLike | None = None,
        scale_diag: TensorLike | None = None,
        scale_tril: TensorLike | None = None,
        scale_perturb_factor: TensorLike | None = None,
        scale_perturb_diag: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "affine",
        event_ndims: int = 1,
    ) -> None:
        multiple, diag, tril, factor, inner = tensors_of(
            name,
            None,
            a=scale_identity_multiplier,
            b=scale_diag,
            c=scale_tril,
            d=scale_perturb_factor,
            e=scale_perturb_diag,
        )
        self._multiple = multiple if diag is None and tril is None and factor is None else None
        super().__init__(shift, _scale_of(multiple, diag, tril, factor, inner), validate_args, name, event_ndims)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        if self._multiple is None:
            return super()._forward_log_det_jacobian(x)
        return LOG(absolute(self._multiple)) * cast(shape_op(x)[-1], x.dtype)


def _scale_of(
    multiple: Tensor | None, diag: Tensor | None, tril: Tensor | None, factor: Tensor | None, inner: Tensor | None
) -> Any:
    """Returns the operator of the sum of these matrices, or None where there are none."""
    if factor is None and tril is None:
        if diag is None:
            return None if multiple is None else _Multiple(multiple)
        return _Diagonal(diag if multiple is None else diag + multiple[..., None])
    total: Any = None if tril is None else MATRIX_BAND_PART(tril, np.int64(-1), np.int64(0))
    if factor is not None:
        right = factor if inner is None else factor * inner[..., None, :]
        product = matmul(right, factor, transpose_b=True)
        total = product if total is None else total + product
    if diag is None and tril is None and multiple is None:
        diag = ones_like(total[..., 0])
    if diag is not None:
        total = total + MATRIX_DIAG(diag)
    if multiple is not None:
        total = total + MATRIX_DIAG(multiple[..., None] * ones_like(total[..., 0]))
    return _Triangle(total) if factor is None else _Full(total)


class Permute(Bijector):
    """The elements of vectors in another order: y[i] = x[permutation[i]]."""

    def __init__(self, permutation: TensorLike, validate_args: bool = False, name: str | None = None) -> None:
        self.permutation = cast(convert_to_tensor(permutation), int32)
        if validate_args:
            n = size_op(self.permutation)
            whole = reduce_all(EQUAL(sort(self.permutation), range_op(n)))
            with control_dependencies(
                [assert_that(whole, ["Permutation over `d` must contain exactly one of each of 0..d-1"])]
            ):
                self.permutation = IDENTITY(self.permutation)
        super().__init__([self.permutation], True, validate_args, None, 1, name=name or "permute")

    def _forward(self, x: Tensor) -> Tensor:
        return gather(x, self.permutation, axis=-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return gather(y, INVERT_PERMUTATION(self.permutation), axis=-1)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, x.dtype)


class Reshape(Bijector):
    """Events of the shape `event_shape_in` in the shape `event_shape_out`; -1 stands for one dimension that follows."""

    def __init__(
        self,
        event_shape_out: TensorLike,
        event_shape_in: TensorLike = (-1,),
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._out, self._in = (
            tuple(int(n) for n in np.asarray(s).reshape(-1)) for s in (event_shape_out, event_shape_in)
        )
        for shape in (self._out, self._in):
            if shape.count(-1) > 1 or any(n < -1 for n in shape):
                raise InvalidArgumentError(f"Reshape: the shape {shape}; needed sizes, of which one may be -1")
        super().__init__(None, True, validate_args, None, len(self._in), len(self._out), name or "reshape")

    def _forward(self, x: Tensor) -> Tensor:
        return self._changed(x, self._in, self._out)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._changed(y, self._out, self._in)

    def _changed(self, value: Tensor, old: tuple[int, ...], new: tuple[int, ...]) -> Tensor:
        ndims = value.shape.ndims
        batch = shape_op(value)[: ndims - len(old)] if ndims is not None else shape_op(value)[: rank(value) - len(old)]
        result = RESHAPE(value, concat([batch, self._sizes(shape_op(value), old, new)], 0))
        result.set_shape(self._static(value.shape, old, new))
        return result

    @staticmethod
    def _sizes(shape: Tensor, old: tuple[int, ...], new: tuple[int, ...]) -> Tensor:
        if -1 not in new:
            return constant(list(new), int32)
        total = reduce_prod(shape[-len(old) :]) if old else constant(1, int32)
        known = math.prod(n for n in new if n != -1)
        return stack([total // known if n == -1 else constant(n, int32) for n in new])

    @staticmethod
    def _static(shape: Shape, old: tuple[int, ...], new: tuple[int, ...]) -> Shape:
        if shape.ndims is None:
            return shape
        batch, event = shape.as_list()[: shape.ndims - len(old)], shape.as_list()[shape.ndims - len(old) :]
        known = math.prod(n for n in new if n != -1)
        rest = None if None in event else math.prod(n or 0 for n in event) // max(known, 1)
        return as_shape([*batch, *(rest if n == -1 else n for n in new)])

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, x.dtype)

    def _forward_event_shape(self, shape: Shape) -> Shape:
        return self._static(shape, self._in, self._out)

    def _inverse_event_shape(self, shape: Shape) -> Shape:
        return self._static(shape, self._out, self._in)

    def _forward_event_shape_tensor(self, shape: Any) -> Tensor:
        return self._sizes(shape, self._in, self._out)

    def _inverse_event_shape_tensor(self, shape: Any) -> Tensor:
        return self._sizes(shape, self._out, self._in)


class Ordered(Bijector):
    """From rising vectors to vectors of all numbers: y[0] = x[0], y[i] = log(x[i] - x[i - 1])."""

    def __init__(self, validate_args: bool = False, name: str = "ordered") -> None:
        super().__init__(None, False, validate_args, None, 1, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        if self.validate_args:
            with control_dependencies(
                [
                    assert_that(
                        reduce_all(x[..., 1:] > x[..., :-1]),
                        ["Forward transformation input must be strictly increasing."],
                    )
                ]
            ):
                x = IDENTITY(x)
        return concat([x[..., :1], LOG(x[..., 1:] - x[..., :-1])], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return cumsum(concat([y[..., :1], EXP(y[..., 1:])], -1), -1)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return reduce_sum(y[..., 1:], -1)


class SoftmaxCentered(Bijector):
    """From vectors of n numbers to probabilities of n + 1 classes, the softmax of the vectors with a 0 at the end."""

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered", event_ndims: int = 1) -> None:
        _check_rank(name, event_ndims, 1)
        super().__init__(None, False, validate_args, None, 1, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return softmax(concat([x, zeros_like(x[..., :1])], -1))

    def _inverse(self, y: Tensor) -> Tensor:
        logs = LOG(y)
        return logs[..., :-1] - logs[..., -1:]

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -reduce_sum(LOG(y), -1)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        n = cast(shape_op(x)[-1] + 1, x.dtype)
        return reduce_sum(x, -1) - n * SOFTPLUS(reduce_logsumexp(x, -1))

    def _forward_event_shape(self, shape: Shape) -> Shape:
        return self._grown(shape, 1)

    def _inverse_event_shape(self, shape: Shape) -> Shape:
        return self._grown(shape, -1)

    @staticmethod
    def _grown(shape: Shape, by: int) -> Shape:
        dims = shape.as_list() if shape.ndims else [None]
        return as_shape([*dims[:-1], None if dims[-1] is None else dims[-1] + by])

    def _forward_event_shape_tensor(self, shape: Any) -> Tensor:
        return concat([shape[:-1], shape[-1:] + 1], 0)

    def _inverse_event_shape_tensor(self, shape: Any) -> Tensor:
        return concat([shape[:-1], shape[-1:] - 1], 0)


class FillTriangular(Bijector):
    """Triangular matrices of vectors; see `tf.contrib.distributions.fill_triangular`. upper: which triangle."""

    def __init__(self, upper: bool = False, validate_args: bool = False, name: str = "fill_triangular") -> None:
        self._upper = upper
        super().__init__(None, True, validate_args, None, 1, 2, name)

    def _forward(self, x: Tensor) -> Tensor:
        return fill_triangular(x, self._upper)

    def _inverse(self, y: Tensor) -> Tensor:
        return fill_triangular_inverse(y, self._upper)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return zeros_like(x[..., 0])

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return zeros_like(y[..., 0, 0])

    def _forward_event_shape(self, shape: Shape) -> Shape:
        dims = shape.as_list()
        n = None if dims[-1] is None else (math.isqrt(8 * dims[-1] + 1) - 1) // 2
        return as_shape([*dims[:-1], n, n])

    def _inverse_event_shape(self, shape: Shape) -> Shape:
        dims = shape.as_list()
        return as_shape([*dims[:-2], None if dims[-1] is None else dims[-1] * (dims[-1] + 1) // 2])

    def _forward_event_shape_tensor(self, shape: Any) -> Tensor:
        n = cast((SQRT(cast(8 * shape[-1] + 1, float32)) - 1.0) / 2.0 + 0.5, int32)
        return concat([shape[:-1], stack([n, n])], 0)

    def _inverse_event_shape_tensor(self, shape: Any) -> Tensor:
        n = shape[-1]
        return concat([shape[:-2], EXPAND_DIMS(n * (n + 1) // 2, 0)], 0)


class TransformDiagonal(Bijector):
    """Matrices whose diagonals are transformed by `diag_bijector`."""

    def __init__(self, diag_bijector: Bijector, validate_args: bool = False, name: str = "transform_diagonal") -> None:
        self._inner = diag_bijector
        super().__init__(
            diag_bijector.graph_parents, diag_bijector.is_constant_jacobian, validate_args, None, 2, name=name
        )

    def _forward(self, x: Tensor) -> Tensor:
        return matrix_set_diag(x, self._inner.forward(MATRIX_DIAG_PART(x)))

    def _inverse(self, y: Tensor) -> Tensor:
        return matrix_set_diag(y, self._inner.inverse(MATRIX_DIAG_PART(y)))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return self._inner.forward_log_det_jacobian(MATRIX_DIAG_PART(x), 1)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return self._inner.inverse_log_det_jacobian(MATRIX_DIAG_PART(y), 1)


class ScaleTriL(Chain):
    """Lower triangular matrices with a positive diagonal from vectors: fill_triangular, `diag_bijector`, `diag_shift`.

    diag_bijector: by default softplus. diag_shift: is added to the diagonal, or None.
    """

    def __init__(
        self,
        diag_bijector: Bijector | None = None,
        diag_shift: float | None = 1e-5,
        validate_args: bool = False,
        name: str = "scale_tril",
    ) -> None:
        own = diag_bijector or Softplus(validate_args=validate_args)
        if diag_shift is not None:
            own = Chain([AffineScalar(shift=diag_shift), own])
        super().__init__([TransformDiagonal(own), FillTriangular()], validate_args, name)


class CholeskyOuterProduct(Bijector):
    """The function Y = X X^T of lower triangular matrices with a positive diagonal."""

    def __init__(self, validate_args: bool = False, name: str = "cholesky_outer_product", event_ndims: int = 2) -> None:
        _check_rank(name, event_ndims, 2)
        super().__init__(None, False, validate_args, None, 2, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return matmul(x, x, transpose_b=True)

    def _inverse(self, y: Tensor) -> Tensor:
        return cholesky(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        diag = MATRIX_DIAG_PART(x)
        n = shape_op(diag)[-1]
        powers = cast(n - range_op(n), x.dtype)
        return cast(n, x.dtype) * math.log(2.0) + reduce_sum(powers * LOG(diag), -1)


class MatrixInverseTriL(Bijector):
    """The inverses of lower triangular matrices."""

    def __init__(self, validate_args: bool = False, name: str = "matrix_inverse_tril") -> None:
        super().__init__(None, False, validate_args, None, 2, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return matrix_triangular_solve(x, MATRIX_DIAG(ones_like(x[..., 0])), lower=True)

    _inverse = _forward

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        n = cast(shape_op(x)[-1], x.dtype)
        return -(n + 1.0) * reduce_sum(LOG(absolute(MATRIX_DIAG_PART(x))), -1)
