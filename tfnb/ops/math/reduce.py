"""Reductions: product, minimum, maximum, mean, logical and/or, and positions of the smallest or largest element.

`Sum` is in `reduce_sum`. Invariant: the axes are input 1 (`dimension` of ArgMax and ArgMin). A reduction over no
elements gives the neutral element, and a mean over no elements is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import (
    NOT_DIFFERENTIABLE,
    GradFn,
    GradientMissing,
    HostCall,
    Infer,
    LowerSite,
    NotDifferentiable,
    OpDef,
    ReduceSpec,
)
from tfnb.ir.operation import Operation
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import normalize_axis, scalar_shape
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ONES_LIKE, ZEROS_LIKE
from tfnb.ops.array.shape_ops import shape_of, size_of
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import EQUAL, SELECT
from tfnb.ops.math.complex_numbers import holomorphic
from tfnb.ops.math.reduce_sum import (
    BROADCAST_TO,
    SUM,
    ReductionAttrs,
    host_axes,
    infer_reduction,
    reduced_count,
    spec_of,
    spread,
    static_axes,
)
from tfnb.ops.math.scan import CUMPROD
from tfnb.sizes import largest
from tfnb.types import FLOATS, INDEX, NUMBERS, REALS, DType, Shape, int32, int64, unknown_shape

__all__ = ["ALL_OF", "ANY_OF", "ARG_MAX", "ARG_MIN", "L2_LOSS", "MAX", "MEAN", "MIN", "OPS", "PROD"]

_REDUCTION_DOC = """{what}

    input: {types}. reduction_indices: a scalar or vector of axes (negative: counted from the end). output: dtype of
    input; its shape without those axes, or with size 1 there if `keep_dims`. The result over no elements is {empty}.
    Errors: an axis is out of range or appears twice."""


def _reduction(
    name: str,
    what: str,
    empty: str,
    host: Callable[..., Any],
    grad: GradFn | NotDifferentiable | GradientMissing | None,
    types: tuple[DType, ...],
    combine: str,
) -> OpDef[Tensor]:
    text = _REDUCTION_DOC.format(what=what, types="any real number type" if types else "bool", empty=empty)
    return OpDef(
        name,
        inputs=f"input: {'T' if types else 'bool'}, reduction_indices: Tidx",
        outputs=f"output: {'T' if types else 'bool'}",
        types={"T": types, "Tidx": INDEX} if types else {"Tidx": INDEX},
        defaults={"Tidx": int32},
        attrs=ReductionAttrs,
        doc=text,
        infer=infer_reduction,
        host=host,
        reduce=lambda site: spec_of(combine, site),
        grad=grad,
        shape_inputs=(1,),
    )


def _limit(dtype: DType, highest: bool) -> Any:
    if dtype.is_floating:
        return dtype.np.type(np.inf if highest else -np.inf)
    return dtype.max if highest else dtype.min


def _host_extreme(fn: Callable[..., Any], highest_first: bool) -> Callable[..., Any]:
    def kernel(call: HostCall, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
        start = _limit(call.outputs[0].dtype, highest_first)
        wide_x = x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
        extremes = fn(
            wide_x,
            axis=host_axes(x, axes),
            keepdims=call.attrs.keep_dims,
            initial=wide_x.dtype.type(start),
        )
        return np.asarray(extremes).astype(x.dtype)

    return kernel


def _grad_extreme(op: Operation, dy: Tensor) -> Any:
    x, axes = op.inputs
    is_extreme = cast_to(EQUAL(x, spread(op, op.y)), x.dtype)  # equal extremes share the gradient
    count = SUM(is_extreme, axes, keep_dims=True)
    return is_extreme / count * spread(op, dy), None


MAX = _reduction(
    "Max",
    "The largest element along some axes; NaN if there is one.",
    "the type's lowest number",
    _host_extreme(np.max, False),
    _grad_extreme,
    REALS,
    "max",
)
MIN = _reduction(
    "Min",
    "The smallest element along some axes; NaN if there is one.",
    "the type's largest number",
    _host_extreme(np.min, True),
    _grad_extreme,
    REALS,
    "min",
)


def _host_prod(call: HostCall, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    wide_dtype = np.float32 if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x.dtype
    with np.errstate(all="ignore"):
        total = np.prod(x, axis=host_axes(x, axes), keepdims=call.attrs.keep_dims, dtype=wide_dtype)
        return np.asarray(total).astype(x.dtype)


def _grad_prod(op: Operation, dy: Tensor) -> Any:
    """Multiplies the gradient by the product of the other elements.

    The product is computed axis by axis, so that it is right where elements are zero.
    """
    x, g = op.x, spread(op, dy)
    axes = static_axes(op)
    if axes is None:
        return _others(x, op.inputs[1]) * g, None
    if not axes:
        return g, None
    partial = [x]
    for a in axes[:-1]:
        partial.append(PROD(partial[-1], np.asarray([a], np.int32), keep_dims=True))
    for z, a in reversed(list(zip(partial, axes, strict=True))):
        product_of_others = CUMPROD(z, np.int32(a), exclusive=True) * CUMPROD(
            z, np.int32(a), exclusive=True, reverse=True
        )
        g = product_of_others * g
    return g, None


def _others(x: Tensor, axes: TensorLike) -> Any:
    """For each element, the product of the other elements along `axes`.

    The product of all nonzero elements is divided by the element, and zeros are counted instead of multiplied.
    """
    zero = EQUAL(x, ZEROS_LIKE(x))
    nonzero = SELECT(zero, ONES_LIKE(x), x)
    is_zero = cast_to(zero, x.dtype)
    no_other_zero = cast_to(EQUAL(SUM(is_zero, axes, keep_dims=True), is_zero), x.dtype)
    return PROD(nonzero, axes, keep_dims=True) / nonzero * no_other_zero


PROD = _reduction(
    "Prod",
    "The product of the elements along some axes.",
    "1",
    _host_prod,
    holomorphic(_grad_prod),
    NUMBERS,
    "prod",
)


def _host_mean(call: HostCall, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    reduced = host_axes(x, axes)
    count = int(np.prod([x.shape[a] for a in reduced], dtype=np.int64))
    wide_dtype = np.float32 if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x.dtype
    with np.errstate(all="ignore"):
        total = np.asarray(np.sum(x, axis=reduced, keepdims=call.attrs.keep_dims, dtype=wide_dtype))
    if x.dtype.kind in "iu":
        quotient = np.abs(total.astype(object)) // max(count, 1) * np.sign(total.astype(object))
        return np.asarray(quotient).astype(x.dtype)
    if x.dtype.kind == "c" and not count:
        return total  # 0 for integers, as in TensorFlow; NaN for floats
    with np.errstate(all="ignore"):
        return np.asarray(total / np.asarray(count, wide_dtype)).astype(x.dtype)


def _mean_spec(site: LowerSite) -> ReduceSpec:
    spec = spec_of("sum", site)
    dims = site.inputs[0].shape
    count = prod(dims[a] for a in spec.axes)

    def finish(e: Expr) -> Expr:
        if e.dtype.is_floating:
            return s.div(e, s.const(count, e.dtype))
        return s.cast(s.div(s.cast(e, int64), s.const(largest(count, 1), int64)), e.dtype)

    return spec_of("sum", site, finish=finish)


def _grad_mean(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    x = op.x
    count = reduced_count(op)
    if count is not None:
        share = dy / x.dtype.np.type(count)
    else:
        share = dy / _as(x.dtype, x, size_of(x), size_of(op.y))
    return BROADCAST_TO(spread(op, share), shape_of(x)), None


def _as(dtype: DType, x: Tensor, size: Tensor, outputs: int | Tensor) -> Any:
    """size / outputs as a scalar of `dtype`; each of the two is a number or a tensor."""
    ratio = size // outputs
    return ratio if isinstance(ratio, int) else cast_to(ratio, dtype)


MEAN: OpDef[Tensor] = OpDef(
    "Mean",
    inputs="input: T, reduction_indices: Tidx",
    outputs="output: T",
    types={"T": NUMBERS, "Tidx": INDEX},
    defaults={"Tidx": int32},
    attrs=ReductionAttrs,
    doc=_REDUCTION_DOC.format(
        what="The mean of the elements along some axes; for integers the quotient is truncated.",
        types="any number type",
        empty="NaN (0 for integers)",
    ),
    infer=infer_reduction,
    host=_host_mean,
    reduce=_mean_spec,
    grad=_grad_mean,
    shape_inputs=(1,),
)


def _host_logic(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda call, x, axes: np.asarray(fn(x, axis=host_axes(x, axes), keepdims=call.attrs.keep_dims))


ALL_OF = _reduction(
    "All",
    "Are all elements along some axes true?",
    "True",
    _host_logic(np.all),
    NOT_DIFFERENTIABLE,
    (),
    "all",
)
ANY_OF = _reduction(
    "Any",
    "Is any element along some axes true?",
    "False",
    _host_logic(np.any),
    NOT_DIFFERENTIABLE,
    (),
    "any",
)


def _arg_shape(c: Infer) -> Shape:
    x, axis = c.shapes[0], c.value(1)
    if x.sizes is None:
        return unknown_shape
    if axis is None:
        return Shape((None,) * (len(x.sizes) - 1))
    a = normalize_axis(int(axis.reshape(())), len(x.sizes), f"{c.op_name}: dimension")
    if x.sizes[a] == 0:
        raise InvalidArgumentError(f"{c.op_name}: Reduction axis {a} is empty in shape {x.as_list()}")
    return Shape(tuple(d for i, d in enumerate(x.sizes) if i != a))


def _host_arg(fn: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(call: HostCall, x: np.ndarray, axis: np.ndarray) -> np.ndarray:
        a = normalize_axis(int(axis.reshape(())), x.ndim)
        if x.shape[a] == 0:
            raise InvalidArgumentError(f"Reduction axis {a} is empty in shape {list(x.shape)}", call.op)
        return np.asarray(fn(x, axis=a)).astype(call.outputs[0].dtype.np)

    return kernel


def _arg(name: str, what: str, fn: Callable[..., Any], combine: str) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs="input: T, dimension: Tidx",
        outputs="output: output_type",
        types={"T": REALS, "Tidx": INDEX, "output_type": (int64, int32)},
        doc=f"""The position of the {what} element along one axis; among equal elements, that of the first.

        input: any real number type. dimension: an integer scalar (negative: counted from the end). output:
        `output_type` (int64 or int32), the shape of input without that axis. Errors: the axis is out of range or has
        no elements.""",
        infer=_arg_shape,
        host=_host_arg(fn),
        reduce=lambda site: ReduceSpec(
            combine, (normalize_axis(int(site.value(1).reshape(())), len(site.inputs[0].shape)),)
        ),
        grad=NOT_DIFFERENTIABLE,
        shape_inputs=(1,),
        defaults={"output_type": int64, "Tidx": int32},
    )


ARG_MAX = _arg("ArgMax", "largest", np.argmax, "argmax")
ARG_MIN = _arg("ArgMin", "smallest", np.argmin, "argmin")


def _host_l2(call: HostCall, t: np.ndarray) -> np.ndarray:
    wide_t = t.astype(np.float32) if t.dtype.itemsize == 2 else t
    with np.errstate(all="ignore"):
        return np.asarray(np.sum(wide_t * wide_t) / wide_t.dtype.type(2)).astype(t.dtype)


L2_LOSS: OpDef[Tensor] = OpDef(
    "L2Loss",
    inputs="t: T",
    outputs="output: T",
    types={"T": FLOATS},
    doc="""Half the sum of the squares of all elements: sum(t ** 2) / 2.

    t: a float type, any shape. output: a scalar of that dtype.""",
    infer=scalar_shape,
    host=_host_l2,
    reduce=lambda site: ReduceSpec(
        "sum",
        tuple(range(len(site.inputs[0].shape))),
        False,
        lambda e: e * e,
        lambda e: s.mul(e, 0.5),
    ),
    grad=lambda op, dy: op.x * dy,
    api="nn.l2_loss",
)

OPS: tuple[OpDef, ...] = (PROD, MAX, MIN, MEAN, ALL_OF, ANY_OF, ARG_MAX, ARG_MIN, L2_LOSS)
