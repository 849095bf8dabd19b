"""Small ops of late TensorFlow 1.x: buckets, Euclidean norms, conjugate transposes, scaled Bessel functions.

Invariant: each op is the composition of ops, or the function of SciPy, that its documentation names.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, GradFn, GradientMissing, HostCall, Infer, NotDifferentiable, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import unchanged
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE, grad_transpose
from tfnb.ops.math.binary import DIV_NO_NAN
from tfnb.ops.math.complex_numbers import CONJ
from tfnb.ops.math.reduce_sum import SUM, ReductionAttrs, host_axes, infer_reduction, spread
from tfnb.ops.math.unary import SIGN, SQRT, SQUARE
from tfnb.types import ALL, FLOATS, INDEX, Shape, float16, float32, float64, int32, int64

__all__ = ["API", "OPS"]


@record
class BucketAttrs:
    """`boundaries`: the limits between the buckets, in ascending order."""

    boundaries: tuple[float, ...] = ()


def _bucket(attrs: BucketAttrs, x: Expr) -> Expr:
    bucket = s.const(0, int32)
    for b in attrs.boundaries:
        real = x if x.dtype.is_floating else s.cast(x, float64)
        below = s.lt(real, s.const(float(np.float32(b)), real.dtype))  # false for NaN, which goes to the last bucket
        bucket = bucket + s.where(below, s.const(0, int32), s.const(1, int32))
    return bucket + s.cast(x, int32) * 0 if not attrs.boundaries else bucket


def _infer_buckets(c: Infer) -> Shape:
    limits = c.attrs.boundaries
    if any(a > b for a, b in zip(limits, limits[1:], strict=False)):
        raise InvalidArgumentError(f"{c.op_name}: Expected sorted boundaries, got {list(limits)}")
    return unchanged(c)


BUCKETIZE: OpDef[Tensor] = OpDef(
    "Bucketize",
    "input: T",
    "output: int32",
    """The number of `boundaries` that are not above each element; of NaN all.

    input: int32, int64, float32 or float64, any shape. output: its shape. Errors: the boundaries are not in order.""",
    types={"T": (int32, int64, float32, float64)},
    attrs=BucketAttrs,
    infer=_infer_buckets,
    scalar=_bucket,
    grad=NOT_DIFFERENTIABLE,
)


def _norm_host(call: HostCall, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    wide_x = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    return np.sqrt(np.sum(np.square(wide_x), axis=host_axes(x, axes), keepdims=call.attrs.keep_dims)).astype(x.dtype)


def _norm_grad(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    x = op.inputs[0]
    return DIV_NO_NAN(x * spread(op, dy), spread(op, op.y)), None


EUCLIDEAN_NORM: OpDef[Tensor] = OpDef(
    "EuclideanNorm",
    "input: T, reduction_indices: Tidx",
    "output: T",
    """The square root of the sum of squares along axes.

    input: a float type. reduction_indices: axes, negative ones from the end. output: the shape without them, or with
    size 1 there if `keep_dims`. Errors: an axis out of range.""",
    types={"T": FLOATS, "Tidx": INDEX},
    defaults={"Tidx": int32},
    attrs=ReductionAttrs,
    infer=infer_reduction,
    host=_norm_host,
    expand=lambda op, x, axes: SQRT(SUM(SQUARE(x), axes, keep_dims=op.attrs.keep_dims)),
    grad=_norm_grad,
    shape_inputs=(1,),
)


def _conjugated(x: Tensor) -> Tensor:
    return CONJ(x) if x.dtype.is_complex else x


def _boosted_shapes(c: Infer) -> tuple[Shape, ...]:
    return c.shapes[: c.types["num_features"]]


def _boosted_buckets(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    half = len(inputs) // 2
    places = zip(inputs[:half], inputs[half:], strict=True)
    return tuple(np.minimum(np.searchsorted(b, x), max(len(b) - 1, 0)).astype(np.int32) for x, b in places)


BOOSTED_TREES_BUCKETIZE: OpDef[list[Tensor]] = OpDef(
    "BoostedTreesBucketize",
    "float_values: num_features*float32, bucket_boundaries: num_features*float32",
    "buckets: num_features*int32",
    """The bucket of each value of each feature: the number of boundaries below it, but at most the last one's place.

    float_values: a vector for each feature. bucket_boundaries: as many sorted vectors. Runs on the host.""",
    infer=_boosted_shapes,
    host=_boosted_buckets,
    grad=NOT_DIFFERENTIABLE,
)
CONJUGATE_TRANSPOSE: OpDef[Tensor] = OpDef(
    "ConjugateTranspose",
    "x: T, perm: Tperm",
    "y: T",
    """`Transpose`, and of complex numbers the conjugate.

    x: any dtype. perm: an integer vector, a permutation of x's axes. Errors: it is none.""",
    types={"T": ALL, "Tperm": INDEX},
    defaults={"Tperm": int32},
    infer=TRANSPOSE.infer,
    host=lambda call, x, perm: (
        np.conj(TRANSPOSE.host(call, x, perm))  # type: ignore[misc]
        if x.dtype.kind == "c"
        else TRANSPOSE.host(call, x, perm)  # type: ignore[misc]
    ),
    expand=lambda op, x, perm: _conjugated(TRANSPOSE(x, perm)),
    grad=lambda op, dy: (_conjugated(grad_transpose(op, dy)[0]), None),
    shape_inputs=(1,),
)


def _bessel(order: int, grad: GradFn | NotDifferentiable | GradientMissing | None) -> OpDef:
    def run(call: HostCall, x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):  # a signalling NaN becomes a quiet one
            values = getattr(import_module("scipy.special"), f"i{order}e")(x.astype(np.float64))
            return np.asarray(values).astype(x.dtype)

    return OpDef(
        f"BesselI{order}e",
        "x: T",
        "y: T",
        f"""exp(-|x|) I(x), I the modified Bessel function of the first kind of order {order}, elementwise.

        x: a float type of 16, 32 or 64 bits, any shape. y: dtype and shape of x. Runs on the host.""",
        types={"T": (float32, float64, float16)},
        infer=unchanged,
        host=run,
        grad=grad,
        api=f"math.bessel_i{order}e",
    )


def _grad_i1e(op: Operation, dy: Tensor) -> Tensor:
    """The derivative I1' is I0 - I1 / x, whose limit at 0 is 1/2."""
    x = op.x
    slope = BESSEL_I0E(x) - op.y * SIGN(x) - DIV_NO_NAN(op.y, x)
    at_zero = 1.0 - SQUARE(SIGN(x))
    return dy * (slope - 0.5 * at_zero)


BESSEL_I0E: OpDef[Tensor] = _bessel(0, lambda op, dy: dy * (BESSEL_I1E(op.x) - SIGN(op.x) * op.y))
BESSEL_I1E: OpDef[Tensor] = _bessel(1, _grad_i1e)


def bucketize(input: TensorLike, boundaries: Sequence[float], name: str | None = None) -> Tensor:
    """Returns the number (int32) of the bucket between the ascending `boundaries` in which each element lies.

    input: int32, int64, float32 or float64, any shape, which the result has too. An element x lies in bucket k if k
    boundaries are <= x; NaN lies in the last bucket.
    """
    return BUCKETIZE(input, boundaries=tuple(float(b) for b in boundaries), name=name)


OPS: tuple[OpDef, ...] = (
    BOOSTED_TREES_BUCKETIZE,
    BUCKETIZE,
    EUCLIDEAN_NORM,
    CONJUGATE_TRANSPOSE,
    BESSEL_I0E,
    BESSEL_I1E,
)
API: dict[str, Any] = {"contrib.layers.bucketize": bucketize}
