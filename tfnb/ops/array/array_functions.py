"""Array functions composed of ops of the catalogue, and the aliases in `tf.math`, `tf.manip` and `tf.sparse`.

Invariant: each function is the composition that its docstring states, so its parts provide its gradient and kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.opdef import OpDef
from tfnb.ir.shapes import normalize_axis
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.concat import CONCAT, stack
from tfnb.ops.array.constants import ONES_LIKE, RANGE, ZEROS_LIKE, range_
from tfnb.ops.array.gather import GATHER, GATHER_V2
from tfnb.ops.array.gather_nd import SCATTER_ND
from tfnb.ops.array.searchsorted import UPPER_BOUND
from tfnb.ops.array.select_broadcast import SELECT_V2
from tfnb.ops.array.shape_ops import EXPAND_DIMS, IDENTITY, RESHAPE, SHAPE
from tfnb.ops.array.where_partition import WHERE
from tfnb.ops.linalg.diag import MATRIX_DIAG_PART
from tfnb.ops.logging.assertions import assert_less, assert_non_negative
from tfnb.ops.math.binary import MUL
from tfnb.ops.math.cast import cast, cast_to
from tfnb.ops.math.compare import EQUAL, SELECT
from tfnb.ops.math.reduce import MAX
from tfnb.ops.math.reduce_functions import API as REDUCTIONS
from tfnb.ops.math.reduce_sum import BROADCAST_TO, SUM, all_axes
from tfnb.ops.math.scan import CUMSUM
from tfnb.ops.math.unary import LGAMMA, SQRT, SQUARE
from tfnb.ops.nn.activations import SOFTPLUS
from tfnb.types import DTypeLike, as_dtype, complex64, complex128, float32, int32, int64

__all__ = ["API", "OPS", "with_aliases"]

_FLAT = np.asarray([-1], np.int32)
_LAST = np.asarray([-1], np.int32)


def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    batch_shape: TensorLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Any:
    """Returns matrices with ones on the main diagonal and zeros elsewhere.

    num_rows, num_columns: integers or integer scalars; num_columns is num_rows by default. batch_shape: an integer
    vector, by default empty. The result has `dtype` and shape batch_shape + (num_rows, num_columns).
    """
    graph = graph_of((num_rows, num_columns, batch_shape))
    with graph.as_default(), graph.name_scope(name or "eye"):
        rows = range_(num_rows)
        columns = rows if num_columns is None else range_(num_columns)
        matrix = cast_to(EQUAL(EXPAND_DIMS(rows, np.int32(1)), columns), as_dtype(dtype))
        if batch_shape is None:
            return matrix
        batch = graph.to_tensor(batch_shape, None if hasattr(batch_shape, "dtype") else int32)
        return BROADCAST_TO(matrix, CONCAT(np.int32(0), [cast_to(batch, int32), SHAPE(matrix, out_type=int32)]))


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the sum of the main diagonal of each matrix.

    x: a number type, shape (..., m, n). The result has the dtype of x and shape (...).
    """
    return SUM(MATRIX_DIAG_PART(graph_of((x,)).to_tensor(x)), _LAST, name=name)


@overload
def scalar_mul(  # type: ignore[overload-overlap]  # indexed slices can be used as a tensor, and stay what they are
    scalar: TensorLike, x: IndexedSlices, name: str | None = None
) -> IndexedSlices: ...
@overload
def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Tensor: ...
def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Tensor | IndexedSlices:
    """Multiplies a tensor or indexed slices by a scalar.

    scalar: a number, or a scalar tensor of the dtype of x. The result has the dtype and shape of x, and is
    `IndexedSlices` where x is. Raises `ShapeError` when the first factor is not a scalar.
    """
    if isinstance(x, IndexedSlices):
        return IndexedSlices(scalar_mul(scalar, x.values, name), x.indices, x.dense_shape)
    t = graph_of((x, scalar)).to_tensor(x)
    factor = t.graph.to_tensor(scalar, None if is_tensor_like(scalar) else t.dtype)
    if factor.shape.ndims not in (0, None):
        raise ShapeError(f"scalar_mul: the factor must be a scalar, got shape {factor.shape}")
    return MUL(factor, t, name=name)


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the logarithm of the sigmoid, -softplus(-x), elementwise, with the dtype and shape of x."""
    return -SOFTPLUS(-graph_of((x,)).to_tensor(x), name=name)


def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """Gathers rows within each element of a batch: output[b..., i, ...] = params[b..., indices[b..., i], ...].

    params: any dtype, with k batch dimensions. indices: integers of known rank k + 1. The result has the dtype of
    params and shape indices.shape + params.shape[k + 1:]. Raises `ShapeError` when the rank of indices is unknown or 0.
    """
    graph = graph_of((params, indices))
    with graph.as_default(), graph.name_scope(name or "BatchGather"):
        x, at = graph.to_tensor(params), graph.to_tensor(indices)
        if at.shape.ndims is None or at.shape.ndims < 1:
            raise ShapeError(f"batch_gather: indices need a known rank >= 1, got shape {at.shape}")
        k = at.shape.ndims - 1
        if k == 0:
            return GATHER(x, at)
        sizes, at_sizes = SHAPE(x, out_type=int32), SHAPE(at, out_type=int32)
        rows = RESHAPE(x, CONCAT(np.int32(0), [_FLAT, sizes[k + 1 :]]))
        flat = RESHAPE(at, stack([np.int32(-1), at_sizes[k]]))
        start = RANGE(np.int32(0), SHAPE(flat, out_type=int32)[0], np.int32(1)) * sizes[k]
        number = cast_to(flat, int32) + EXPAND_DIMS(start, np.int32(1))
        return RESHAPE(GATHER(rows, number), CONCAT(np.int32(0), [at_sizes, sizes[k + 1 :]]))


def _vectors(*pair: Tensor) -> list[Any]:
    """Returns both flattened. Raises `ShapeError` if one has a further dimension at the end that is not 1."""
    ranks = [t.shape.ndims for t in pair]
    for t, own, other in zip(pair, ranks, reversed(ranks), strict=True):
        if own is not None and other is not None and own == other + 1 and t.shape.as_list()[-1] not in (1, None):
            raise ShapeError(f"Can not squeeze dim[{other}], expected a dimension of 1, got {t.shape.as_list()[-1]}")
    return [RESHAPE(t, _FLAT) for t in pair]


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
    weights: TensorLike | None = None,
) -> Tensor:
    """Counts how often each label occurs with each prediction: shape (num_classes, num_classes), rows are labels.

    labels, predictions: vectors of class numbers; one may have a further dimension of 1. num_classes: by
    default one more than the largest class number.
    weights: a vector of one weight per pair, 1 by default. Errors: a class number is negative or not below
    num_classes.
    """
    graph = graph_of((labels, predictions, weights))
    with graph.as_default(), graph.name_scope(name or "confusion_matrix"):
        pair = _vectors(cast(labels, int64), cast(predictions, int64))
        for k, argument in enumerate(("labels", "predictions")):
            checks = [assert_non_negative(pair[k], message=f"`{argument}` contains negative values")]
            if num_classes is not None:
                size = cast(num_classes, int64)
                checks.append(assert_less(pair[k], size, message=f"`{argument}` out of bound"))
            with graph.control_dependencies([c for c in checks if c is not None]):
                pair[k] = IDENTITY(pair[k])
        indices = stack(pair, axis=1)
        if num_classes is None:
            size = MAX(indices, all_axes(indices)) + 1
        else:
            size = cast(num_classes, int64)
        kind = as_dtype(dtype)
        counts = cast_to(ONES_LIKE(pair[0]), kind) if weights is None else cast(weights, kind)
        return SCATTER_ND(indices, counts, stack([size, size]))


def repeat(input: TensorLike, repeats: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """Repeats each element along `axis`; without an axis the input is flattened first.

    input: any dtype, of known rank. repeats: an integer, or a vector of one integer per element along the axis. The
    size of the result along the axis is the sum of the repeats. Raises `ShapeError` when the rank is unknown.
    """
    graph = graph_of((input, repeats))
    with graph.as_default(), graph.name_scope(name or "repeat"):
        x = graph.to_tensor(input)
        if axis is None:
            x, axis = RESHAPE(x, _FLAT), 0
        if x.shape.ndims is None:
            raise ShapeError("repeat: the rank must be known")
        a = normalize_axis(axis, x.shape.ndims, "repeat: axis")
        size = SHAPE(x, out_type=int32)[a : a + 1]
        times = BROADCAST_TO(RESHAPE(cast(repeats, int32), _FLAT), size)
        ends = CUMSUM(times, np.int32(0))
        places = EXPAND_DIMS(RANGE(np.int32(0), SUM(times, np.asarray([0], np.int32)), np.int32(1)), np.int32(0))
        rows = UPPER_BOUND(EXPAND_DIMS(ends, np.int32(0)), places, out_type=int32)
        return GATHER_V2(x, RESHAPE(rows, _FLAT), np.int32(a))


def where_v2(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Selects elements of x where the condition is true and of y elsewhere; all three broadcast together.

    Without x and y the result holds the indices of the true elements, int64 of shape (count, rank). Raises an error
    when only one of x and y is given.
    """
    if (x is None) != (y is None):
        raise InvalidArgumentError("where_v2 takes both x and y, or neither")
    return WHERE(condition, name=name) if x is None else SELECT_V2(condition, x, y, name=name)


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the logarithm of the beta function of each row: the sum of lgamma(x) less lgamma of the sum of x.

    x: a float type; rows lie along the last dimension. The result has the dtype of x, and its shape without that
    dimension.
    """
    t = graph_of((x,)).to_tensor(x)
    with t.graph.as_default(), t.graph.name_scope(name or "lbeta"):
        return SUM(LGAMMA(t), _LAST) - LGAMMA(SUM(t, _LAST))


def polyval(coeffs: Sequence[TensorLike], x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the value of a polynomial at x, computed by Horner's scheme.

    coeffs: a list of numbers or tensors, which begins with the coefficient of the highest power; each is converted to
    the dtype of x and broadcasts to its shape. The result has the dtype and shape of x.
    """
    graph = graph_of((x, coeffs))
    with graph.as_default(), graph.name_scope(name or "polyval"):
        t = graph.to_tensor(x)
        total = ZEROS_LIKE(t)
        for c in coeffs:
            total = graph.to_tensor(c, t.dtype) + total * t
        return total


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns 1 / x elementwise, or 0 where x is 0, with the dtype and shape of x.

    x: a float or complex type, any shape.
    """
    t = graph_of((x,)).to_tensor(x)
    with t.graph.as_default(), t.graph.name_scope(name or "reciprocal_no_nan"):
        zero = EQUAL(t, ZEROS_LIKE(t))
        return SELECT(zero, ZEROS_LIKE(t), ONES_LIKE(t) / SELECT(zero, ONES_LIKE(t), t))


def reduce_variance(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Returns the variance along `axis`, which is the mean of the squared differences from the mean.

    input_tensor: a float type. axis: an integer, a list of integers or an integer tensor; None means all axes.
    keepdims: the reduced dimensions stay with size 1. The result has the dtype of the input.
    """
    mean = REDUCTIONS["reduce_mean"]
    t = graph_of((input_tensor,)).to_tensor(input_tensor)
    with t.graph.as_default(), t.graph.name_scope(name or "reduce_variance"):
        return mean(SQUARE(t - mean(t, axis, keepdims=True)), axis, keepdims=keepdims)


def reduce_std(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the standard deviation along `axis`, which is the square root of `reduce_variance`.

    The arguments and the dtype and shape of the result are those of `reduce_variance`.
    """
    return SQRT(reduce_variance(input_tensor, axis, keepdims), name=name)


def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the Euclidean norm along `axis`, which is the square root of the sum of the squares.

    The arguments and the dtype and shape of the result are those of `reduce_variance`.
    """
    t = graph_of((input_tensor,)).to_tensor(input_tensor)
    return SQRT(REDUCTIONS["reduce_sum"](SQUARE(t), axis, keepdims=keepdims), name=name)


def to_complex64(x: TensorLike, name: str | None = None) -> Any:
    """Converts the tensor `x`, of any number type, to complex64. The shape is unchanged."""
    return cast(x, complex64, name)


def to_complex128(x: TensorLike, name: str | None = None) -> Any:
    """Converts the tensor `x`, of any number type, to complex128. The shape is unchanged."""
    return cast(x, complex128, name)


OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = {
    "eye": eye,
    "trace": trace,
    "scalar_mul": scalar_mul,
    "log_sigmoid": log_sigmoid,
    "batch_gather": batch_gather,
    "confusion_matrix": confusion_matrix,
    "contrib.metrics.confusion_matrix": confusion_matrix,
    "repeat": repeat,
    "where_v2": where_v2,
    "lbeta": lbeta,
    "to_complex64": to_complex64,
    "to_complex128": to_complex128,
    "is_tensor": is_tensor_like,
    "contrib.framework.is_tensor": is_tensor_like,
    "math.polyval": polyval,
    "math.reciprocal_no_nan": reciprocal_no_nan,
    "math.reduce_variance": reduce_variance,
    "math.reduce_std": reduce_std,
    "math.reduce_euclidean_norm": reduce_euclidean_norm,
    "linalg.eye": eye,
    "linalg.trace": trace,
}

_MATH = (
    "abs accumulate_n acos acosh add add_n argmax argmin asin asinh atan atan2 atanh ceil "
    "confusion_matrix cos cosh count_nonzero cumprod cumsum digamma divide equal erf erfc exp expm1 "
    "floor floordiv floormod greater greater_equal invert_permutation is_finite is_inf is_nan "
    "is_non_decreasing is_strictly_increasing lbeta less less_equal lgamma log log1p log_sigmoid "
    "logical_and logical_not logical_or logical_xor maximum minimum mod multiply negative not_equal "
    "polygamma pow reciprocal reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean "
    "reduce_min reduce_prod reduce_sum rint round rsqrt scalar_mul segment_max segment_mean "
    "segment_min segment_prod segment_sum sigmoid sign sin sinh sqrt square squared_difference "
    "subtract tan tanh truediv unsorted_segment_max unsorted_segment_mean unsorted_segment_min "
    "unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum zeta"
).split()
_NN_MATH = "l2_normalize log_softmax softmax softplus softsign in_top_k top_k zero_fraction".split()
_RENAMED = {
    "reverse_v2": "reverse",
    "manip.reverse": "reverse",
    "manip.reshape": "reshape",
    "manip.scatter_nd": "scatter_nd",
    "manip.tile": "tile",
    "manip.batch_to_space_nd": "batch_to_space_nd",
    "manip.space_to_batch_nd": "space_to_batch_nd",
    "math.divide_no_nan": "div_no_nan",
    "math.ceil": "ceil",
    "linalg.tensor_diag": "diag",
    "linalg.tensor_diag_part": "diag_part",
    "linalg.matrix_transpose": "matrix_transpose",
    "linalg.matmul": "matmul",
    "linalg.norm": "norm",
    "linalg.tensordot": "tensordot",
    "linalg.l2_normalize": "nn.l2_normalize",
    "linalg.global_norm": "global_norm",
    "sparse.placeholder": "sparse_placeholder",
    "sparse.sparse_dense_matmul": "sparse_tensor_dense_matmul",
    "sparse.segment_sum": "sparse_segment_sum",
    "sparse.segment_mean": "sparse_segment_mean",
    "sparse.segment_sqrt_n": "sparse_segment_sqrt_n",
    "tensor_scatter_nd_max": "tensor_scatter_max",
    "tensor_scatter_nd_min": "tensor_scatter_min",
}


def with_aliases(api: Mapping[str, Any]) -> dict[str, Any]:
    """`api` plus the aliases that TensorFlow 1.x gives its functions; names that `api` already has are kept."""
    second = {f"math.{n}": n for n in _MATH} | {f"math.{n}": f"nn.{n}" for n in _NN_MATH} | _RENAMED
    return {name: api[first] for name, first in second.items() if first in api} | dict(api)
