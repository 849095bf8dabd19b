"""Elementwise functions of one tensor (white paper, Table 1, element-wise operations).

Each op has one scalar expression, from which its host code, OpenCL code and fused code are derived. Invariant: the
result has the input's shape, and is NaN exactly where the function is not defined.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from tfnb.ir import scalar as s
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, GradFn, GradientMissing, NotDifferentiable, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import broadcast, merged, unchanged
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.math.complex_numbers import complex_abs, conj, holomorphic
from tfnb.ops.math.reduce_sum import unbroadcast
from tfnb.types import COMPLEX, FLOATS, NUMBERS, REALS, SIGNED_INTS, DType, float32, float64

__all__ = ["API", "OPS", "SIGN", "SQUARE", "absolute"]

_SIGNED = (*FLOATS, *SIGNED_INTS)
_SIGNED_OR_COMPLEX = (*_SIGNED, *COMPLEX)
_SMOOTH = (*FLOATS, *COMPLEX)
_TYPE_WORDS = {
    FLOATS: "a float type",
    _SMOOTH: "a float or complex type",
    NUMBERS: "any number type",
    REALS: "any real number type",
    _SIGNED: "a signed number type",
    _SIGNED_OR_COMPLEX: "a signed or complex number type",
}


def _unary(
    name: str,
    formula: str,
    fn: Callable[[Expr], Expr],
    grad: GradFn | NotDifferentiable | GradientMissing | None,
    api: str,
    types: tuple[DType, ...] = FLOATS,
    note: str = "",
    whole: bool = False,
    keeps_zero: bool = False,
) -> OpDef[Tensor]:
    """Defines the op. whole: `grad` takes complex conjugates itself, so it is not wrapped by `holomorphic`."""
    tail = f" {note}" if note else ""
    return OpDef(
        name,
        inputs="x: T",
        outputs="y: T",
        types={"T": types},
        doc=f"""Elementwise y = {formula}.{tail}

        x: {_TYPE_WORDS[types]}, any shape. y: dtype and shape of x.""",
        infer=unchanged,
        scalar=lambda attrs, x: fn(x),
        grad=holomorphic(grad) if callable(grad) and not whole else grad,
        keeps_zero=keeps_zero,
        api=api,
    )


def _predicate(name: str, what: str, fn: Callable[[Expr], Expr], api: str) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs="x: T",
        outputs="y: bool",
        types={"T": FLOATS},
        doc=f"""Tests each element: is it {what}?

        x: a float type, any shape. y: bool, the shape of x.""",
        infer=unchanged,
        scalar=lambda attrs, x: fn(x),
        grad=NOT_DIFFERENTIABLE,
        api=api,
    )


def _grad_op(
    name: str, formula: str, fn: Callable[[Expr, Expr], Expr], grad: GradFn, whole: bool = False
) -> OpDef[Tensor]:
    """Defines the op that computes a function's gradient from the function's value y.

    It is one node, so that it can be fused and merged with equal nodes.
    """
    return OpDef(
        name,
        inputs="y: T, dy: T",
        outputs="z: T",
        types={"T": _SMOOTH},
        doc=f"""The gradient of {name.removesuffix("Grad")} computed from its value: z = {formula}, elementwise.

        y, dy: the same float or complex type and the same shape. z: their dtype and shape.""",
        infer=lambda c: merged(c, 0, 1),
        scalar=lambda attrs, y, dy: fn(s.conj(y) if whole else y, dy),
        grad=grad if whole else holomorphic(grad),
    )


def _unless_zero(dy: Expr, z: Expr) -> Expr:
    """z where dy is not 0, else 0: the gradient at a pole of the function is not NaN if it is masked out."""
    return s.where(s.eq(dy, 0.0), dy, z)


def _grad_inv_grad(op: Operation, g: Tensor) -> Any:
    y, dy = op.inputs
    return conj(g) * (-2.0 * dy * conj(y)), op.opdef(conj(y), g)


def _grad_sqrt_grad(op: Operation, g: Tensor) -> Any:
    share = g / op.inputs[0]
    return -conj(share) * op.y, 0.5 * share


def _grad_rsqrt_grad(op: Operation, g: Tensor) -> Any:
    y, dy = conj(op.inputs[0]), op.inputs[1]
    return conj(g) * (-1.5 * dy * y * y), RSQRT_GRAD(y, g)


def _inverse_grad(y: Expr, dy: Expr) -> Expr:
    return _unless_zero(dy, -(dy * y * y))


RECIPROCAL_GRAD = _grad_op("ReciprocalGrad", "-dy conj(y)^2", _inverse_grad, _grad_inv_grad, whole=True)
INV_GRAD = _grad_op("InvGrad", "-dy conj(y)^2", _inverse_grad, _grad_inv_grad, whole=True)
SQRT_GRAD = _grad_op(
    "SqrtGrad",
    "dy / (2 conj(y))",
    lambda y, dy: _unless_zero(dy, s.div(s.mul(dy, 0.5), y)),
    _grad_sqrt_grad,
    whole=True,
)
RSQRT_GRAD: OpDef[Tensor] = _grad_op(
    "RsqrtGrad",
    "-dy conj(y)^3 / 2",
    lambda y, dy: _unless_zero(dy, s.mul(dy, -0.5) * (y * y * y)),
    _grad_rsqrt_grad,
    whole=True,
)
TANH_GRAD: OpDef[Tensor] = _grad_op(
    "TanhGrad",
    "dy (1 - y^2)",
    lambda y, dy: dy * s.sub(1.0, y * y),
    lambda op, g: (g * (-2.0 * op.inputs[1] * op.inputs[0]), TANH_GRAD(op.inputs[0], g)),
)
SIGMOID_GRAD: OpDef[Tensor] = _grad_op(
    "SigmoidGrad",
    "dy y (1 - y)",
    lambda y, dy: dy * y * s.sub(1.0, y),
    lambda op, g: (g * op.inputs[1] * (1.0 - 2.0 * op.inputs[0]), SIGMOID_GRAD(op.inputs[0], g)),
)

ABS = _unary("Abs", "|x|", s.abs_, lambda op, dy: dy * SIGN(op.x), "", _SIGNED)
NEG = _unary("Neg", "-x", s.neg, lambda op, dy: -dy, "neg negative", NUMBERS, keeps_zero=True)
SIGN: OpDef[Tensor] = _unary(
    "Sign",
    "-1, 0 or 1 as x is negative, zero or positive; x / |x| for complex numbers",
    s.sign,
    lambda op, dy: ZEROS_LIKE(op.x),
    "sign",
    _SIGNED_OR_COMPLEX,
    "NaN stays NaN.",
    keeps_zero=True,
)
RECIPROCAL = _unary(
    "Reciprocal",
    "1 / x",
    s.recip,
    lambda op, dy: RECIPROCAL_GRAD(op.y, dy),
    "reciprocal",
    types=_SMOOTH,
    whole=True,
)
INV = _unary("Inv", "1 / x", s.recip, lambda op, dy: INV_GRAD(op.y, dy), "inv", types=_SMOOTH, whole=True)
SQUARE = _unary("Square", "x^2", lambda x: x * x, lambda op, dy: dy * (2.0 * op.x), "square", NUMBERS, keeps_zero=True)
SQRT = _unary(
    "Sqrt",
    "the square root of x",
    s.sqrt,
    lambda op, dy: SQRT_GRAD(op.y, dy),
    "sqrt",
    types=_SMOOTH,
    whole=True,
    keeps_zero=True,
)
RSQRT = _unary("Rsqrt", "1 / sqrt(x)", s.rsqrt, lambda op, dy: RSQRT_GRAD(op.y, dy), "rsqrt", types=_SMOOTH, whole=True)
EXP = _unary("Exp", "e^x", s.exp, lambda op, dy: dy * op.y, "exp", _SMOOTH)
EXPM1 = _unary(
    "Expm1",
    "e^x - 1",
    s.expm1,
    lambda op, dy: dy * EXP(op.x),
    "expm1",
    note="Exact for small x, too.",
    types=_SMOOTH,
)
LOG = _unary("Log", "the natural logarithm of x", s.log, lambda op, dy: dy * RECIPROCAL(op.x), "log", _SMOOTH)
LOG1P = _unary(
    "Log1p",
    "ln(1 + x)",
    s.log1p,
    lambda op, dy: dy * RECIPROCAL(1.0 + op.x),
    "log1p",
    note="Exact for small x, too.",
    types=_SMOOTH,
)
SIN = _unary("Sin", "sin x", s.sin, lambda op, dy: dy * COS(op.x), "sin", types=_SMOOTH)
COS: OpDef[Tensor] = _unary("Cos", "cos x", s.cos, lambda op, dy: -dy * SIN(op.x), "cos", types=_SMOOTH)
TAN = _unary("Tan", "tan x", s.tan, lambda op, dy: dy * SQUARE(RECIPROCAL(COS(op.x))), "tan", types=_SMOOTH)
ASIN = _unary("Asin", "arcsin x", s.asin, lambda op, dy: dy * RSQRT(1.0 - SQUARE(op.x)), "asin")
ACOS = _unary("Acos", "arccos x", s.acos, lambda op, dy: -dy * RSQRT(1.0 - SQUARE(op.x)), "acos")
ATAN = _unary("Atan", "arctan x", s.atan, lambda op, dy: dy * RECIPROCAL(1.0 + SQUARE(op.x)), "atan")
SINH = _unary("Sinh", "sinh x", s.sinh, lambda op, dy: dy * COSH(op.x), "sinh", types=_SMOOTH)
COSH: OpDef[Tensor] = _unary("Cosh", "cosh x", s.cosh, lambda op, dy: dy * SINH(op.x), "cosh", types=_SMOOTH)
ASINH = _unary("Asinh", "arsinh x", s.asinh, lambda op, dy: dy / COSH(op.y), "asinh", _SMOOTH)
ACOSH = _unary("Acosh", "arcosh x", s.acosh, lambda op, dy: dy / SINH(op.y), "acosh", _SMOOTH)
ATANH = _unary("Atanh", "artanh x", s.atanh, lambda op, dy: dy * RECIPROCAL(1.0 - SQUARE(op.x)), "atanh", _SMOOTH)
TANH = _unary(
    "Tanh", "tanh x", s.tanh, lambda op, dy: TANH_GRAD(op.y, dy), "tanh nn.tanh", types=_SMOOTH, keeps_zero=True
)
SIGMOID = _unary(
    "Sigmoid",
    "1 / (1 + e^-x)",
    s.sigmoid,
    lambda op, dy: SIGMOID_GRAD(op.y, dy),
    "sigmoid nn.sigmoid",
    types=_SMOOTH,
)
_ERF_SLOPE = 2.0 / math.sqrt(math.pi)
ERF = _unary(
    "Erf",
    "the error function of x",
    s.erf,
    lambda op, dy: dy * (_ERF_SLOPE * EXP(-SQUARE(op.x))),
    "erf",
    keeps_zero=True,
)
ERFC = _unary(
    "Erfc",
    "1 - erf(x)",
    s.erfc,
    lambda op, dy: dy * (-_ERF_SLOPE * EXP(-SQUARE(op.x))),
    "erfc",
    note="Exact for large x, too.",
)
LGAMMA = _unary("Lgamma", "ln |gamma(x)|", s.lgamma, lambda op, dy: dy * DIGAMMA(op.x), "lgamma")
DIGAMMA: OpDef[Tensor] = _unary(
    "Digamma",
    "the derivative of lgamma at x",
    s.digamma,
    lambda op, dy: dy * POLYGAMMA(op.x.dtype.np.type(1), op.x),
    "digamma",
)
FLOOR = _unary("Floor", "the largest integer <= x", s.floor, NOT_DIFFERENTIABLE, "floor")
CEIL = _unary("Ceil", "the smallest integer >= x", s.ceil, NOT_DIFFERENTIABLE, "ceil")
RINT = _unary("Rint", "the nearest integer", s.rint, NOT_DIFFERENTIABLE, "rint", note="Halves go to even.")
ROUND = _unary(
    "Round",
    "the nearest integer",
    lambda x: s.rint(x) if x.dtype.is_floating else x,
    NOT_DIFFERENTIABLE,
    "round",
    REALS,
    "Halves go to even; integers stay.",
)
IS_NAN = _predicate("IsNan", "not a number", s.isnan, "is_nan")
IS_INF = _predicate("IsInf", "infinite", s.isinf, "is_inf")
IS_FINITE = _predicate("IsFinite", "finite", s.isfinite, "is_finite")


def _zeta(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Hurwitz's zeta function; SciPy's adds the terms of a negative q one by one, which never ends for a large one.

    Below 0 the terms with q + n < 0 are those of two zeta functions of positive numbers, but for their signs.
    """
    zeta = import_module("scipy.special").zeta
    x, q = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(q, np.float64))
    below = (q < 0) & (x == np.floor(x))
    found = np.asarray(zeta(x, np.where(below, 1, q)))
    if below.any():
        with np.errstate(invalid="ignore"):  # minus infinity has no fraction
            s, size = x[below], -q[below]
            part = size - np.floor(size)
            negative = (zeta(s, part) - zeta(s, size + 1)) * np.where(s % 2 == 0, 1, -1)
            found[below] = np.where(part == 0, np.inf, zeta(s, 1 - part) + negative)
    return found


def _host_zeta(call: np.ndarray, x: np.ndarray, q: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return _zeta(x, q).astype(x.dtype)


def _host_polygamma(call: np.ndarray, a: np.ndarray, x: np.ndarray) -> Any:
    special = import_module("scipy.special")
    order = np.where((a >= 0) & (a == np.floor(a)), a, np.nan).astype(np.float64)
    with np.errstate(all="ignore"):
        sign = np.where(order % 2 == 0, -1, 1)
        above = sign * special.gamma(order + 1) * _zeta(order + 1, x)
        return np.where(order == 0, special.psi(x), above).astype(x.dtype)


def _grad_second(op: Operation, value: Tensor, g: Tensor) -> Any:
    """The gradient by the second input, of a function that has no derivative by its first input."""
    x, y = op.inputs
    return None, unbroadcast(x, y, None, g * value)[1]


ZETA: OpDef[Tensor] = OpDef(
    "Zeta",
    inputs="x: T, q: T",
    outputs="z: T",
    types={"T": (float32, float64)},
    doc="""Hurwitz's zeta function, elementwise: z = sum over n >= 0 of (q + n)^-x, for x > 1 and q > 0.

    x, q: float32 or float64; their shapes must broadcast together. z: the broadcast shape. Runs on the host.""",
    infer=broadcast,
    host=_host_zeta,
    grad=lambda op, g: _grad_second(op, -op.inputs[0] * ZETA(op.inputs[0] + 1.0, op.inputs[1]), g),
    api="zeta",
)

POLYGAMMA: OpDef[Tensor] = OpDef(
    "Polygamma",
    inputs="a: T, x: T",
    outputs="z: T",
    types={"T": (float32, float64)},
    doc="""The a-th derivative of digamma at x, elementwise; a is a whole number >= 0.

    a, x: float32 or float64; their shapes must broadcast together. z: the broadcast shape. Runs on the host.""",
    infer=broadcast,
    host=_host_polygamma,
    grad=lambda op, g: _grad_second(op, POLYGAMMA(op.inputs[0] + 1.0, op.inputs[1]), g),
    api="polygamma",
)


def absolute(x: TensorLike | SparseTensor, name: str | None = None) -> Any:
    """Returns |x| elementwise, with the dtype of x, or for complex numbers with the dtype of their parts.

    x: a tensor or a sparse tensor; the result is of the same kind.
    """
    if isinstance(x, SparseTensor):
        return x.with_values(absolute(x.values, name))
    x = graph_of([x]).to_tensor(x)
    return complex_abs(x, name) if x.dtype.is_complex else ABS(x, name=name)


OPS: tuple[OpDef, ...] = (
    RECIPROCAL_GRAD,
    INV_GRAD,
    SQRT_GRAD,
    RSQRT_GRAD,
    TANH_GRAD,
    SIGMOID_GRAD,
    ABS,
    NEG,
    SIGN,
    RECIPROCAL,
    INV,
    SQUARE,
    SQRT,
    RSQRT,
    EXP,
    EXPM1,
    LOG,
    LOG1P,
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    ATAN,
    SINH,
    COSH,
    ASINH,
    ACOSH,
    ATANH,
    TANH,
    SIGMOID,
    ERF,
    ERFC,
    LGAMMA,
    DIGAMMA,
    FLOOR,
    CEIL,
    RINT,
    ROUND,
    IS_NAN,
    IS_INF,
    IS_FINITE,
    ZETA,
    POLYGAMMA,
)
API: dict[str, Any] = {"abs": absolute, "math.abs": absolute}
