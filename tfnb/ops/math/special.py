"""Special functions such as gamma and beta (on the host, by SciPy), and products that are 0 where one factor is 0.

Invariant: outside its domain a function is NaN; an op has a gradient wherever TensorFlow's has one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import (
    GRADIENT_MISSING,
    NOT_DIFFERENTIABLE,
    GradFn,
    GradientMissing,
    HostCall,
    Infer,
    NotDifferentiable,
    OpDef,
)
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import broadcast, merged, unchanged
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import NOT_EQUAL
from tfnb.ops.math.reduce_sum import unbroadcast
from tfnb.ops.math.unary import DIGAMMA, EXP, LGAMMA, LOG, LOG1P, SQUARE
from tfnb.types import COMPLEX, DEVICE_FLOATS, FLOATS, REALS, DType, Shape, float32, float64, unknown_shape

__all__ = ["IGAMMA", "IGAMMAC", "OPS", "RANDOM_GAMMA_GRAD"]


def _both(fn: Callable[..., tuple[Any, Any]]) -> Callable[[Any, Any], Any]:
    """Makes a gradient function from `fn`, which returns both gradients in the broadcast shape."""
    return lambda op, dy: unbroadcast(op.inputs[0], op.inputs[1], *fn(op, dy, *op.inputs))


def _binary(
    name: str,
    formula: str,
    fn: Callable[[Expr, Expr], Expr],
    grad: GradFn | NotDifferentiable | GradientMissing | None,
    api: str,
    types: tuple[DType, ...] = (*FLOATS, *COMPLEX),
) -> OpDef:
    return OpDef(
        name,
        inputs="x: T, y: T",
        outputs="z: T",
        types={"T": types},
        doc=f"""Elementwise z = {formula}, broadcasting.

        x, y: the same float or complex type; their shapes must broadcast together. z: that dtype, the broadcast
        shape.""",
        infer=broadcast,
        scalar=lambda attrs, x, y: fn(x, y),
        grad=grad,
        api=api,
    )


def _unless_zero(x: Expr, value: Expr) -> Expr:
    zero = s.const(0, x.dtype)
    return s.where(s.eq(x, zero), zero, value)


def _present(x: Tensor) -> Any:
    return cast_to(NOT_EQUAL(x, ZEROS_LIKE(x)), x.dtype)


XDIVY: OpDef[Tensor] = _binary(
    "Xdivy",
    "x / y, but 0 where x is 0",
    lambda x, y: _unless_zero(x, s.div(x, y)),
    _both(lambda op, dy, x, y: (XDIVY(_present(x), y) * dy, XDIVY(-x, SQUARE(y)) * dy)),
    "xdivy math.xdivy",
)
XLOGY: OpDef[Tensor] = _binary(
    "Xlogy",
    "x log y, but 0 where x is 0",
    lambda x, y: _unless_zero(x, x * s.log(y)),
    _both(lambda op, dy, x, y: (XLOGY(_present(x), y) * dy, XDIVY(x, y) * dy)),
    "xlogy math.xlogy",
)
XLOG1PY: OpDef[Tensor] = _binary(
    "Xlog1py",
    "x log(1 + y), but 0 where x is 0",
    lambda x, y: _unless_zero(x, x * s.log1p(y)),
    _both(lambda op, dy, x, y: (XLOG1PY(_present(x), y) * dy, XDIVY(x, y + 1.0) * dy)),
    "math.xlog1py",
    FLOATS,
)
MUL_NO_NAN: OpDef[Tensor] = _binary(
    "MulNoNan",
    "x y, but 0 where y is 0, also for x infinite or NaN",
    lambda x, y: _unless_zero(y, x * y),
    _both(lambda op, dy, x, y: (MUL_NO_NAN(dy, y), MUL_NO_NAN(x, dy))),
    "math.multiply_no_nan",
)


def _unary(name: str, formula: str, fn: Callable[[Expr], Expr], slope: Callable[[Any], Any], api: str) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs="x: T",
        outputs="y: T",
        types={"T": FLOATS},
        doc=f"""Elementwise y = {formula}.

        x: a float type, any shape. y: dtype and shape of x.""",
        infer=unchanged,
        scalar=lambda attrs, x: fn(x),
        grad=lambda op, dy: dy * slope(op.y),
        api=api,
    )


ERFINV = _unary(
    "Erfinv",
    "the number whose error function is x",
    s.erfinv,
    lambda y: 0.5 * math.sqrt(math.pi) * EXP(SQUARE(y)),
    "math.erfinv erfinv",
)
# Coefficients of the rational functions that Moshier's Cephes library has for the inverse of the normal distribution
# function, highest power first: above and below the line, in (p - 1/2)^2, and in 1 / sqrt(-2 log p) from 1/8 and less.
_MIDDLE = (
    (-59.9633501014107895267, 98.0010754185999661536, -56.6762857469070293439, 13.9312609387279679503,
     -1.23916583867381258016),
    (1.0, 1.95448858338141759834, 4.67627912898881538453, 86.3602421390890590575, -225.462687854119370527,
     200.260212380060660359, -82.0372256168333339912, 15.9056225126211695515, -1.18331621121330003142),
)  # fmt: skip
_NEAR = (
    (4.05544892305962419923, 31.5251094599893866154, 57.1628192246421288162, 44.0805073893200834700,
     14.6849561928858024014, 2.18663306850790267539, -0.140256079171354495875, -0.0350424626827848203418,
     -0.000857456785154685413611),
    (1.0, 15.7799883256466749731, 45.3907635128879210584, 41.3172038254672030440, 15.0425385692907503408,
     2.50464946208309415979, -0.142182922854787788574, -0.0380806407691578277194, -0.000933259480895457427372),
)  # fmt: skip
_FAR = (
    (3.23774891776946035970, 6.91522889068984211695, 3.93881025292474443415, 1.33303460815807542389,
     0.201485389549179081538, 0.0123716634817820021358, 0.000301581553508235416007, 2.65806974686737550832e-6,
     6.23974539184983293730e-9),
    (1.0, 6.02427039364742014255, 3.67983563856160859403, 1.37702099489081330271, 0.216236993594496635890,
     0.0134204006088543189037, 0.000328014464682127739104, 2.89247864745380683936e-6, 6.79019408009981274425e-9),
)  # fmt: skip


def _rational(x: Expr, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Expr:
    above, below = (functools.reduce(lambda total, c: total * x + c, k[2:], x * k[0] + k[1]) for k in coefficients)
    return above / below


def _ndtri(x: Expr) -> Expr:
    if x.dtype == float32:  # its parts are subtracted from each other, which costs floats two digits
        wide = s.cast(x, float64)
        return s.cast(_mirrored(wide, _lower_quantile(s.minimum(wide, 1.0 - wide))), float32)
    p = s.minimum(x, 1.0 - x)
    y = _lower_quantile(p)
    # One step of Newton's method for y / sqrt(2), with the difference from 1/2 where that is the smaller number. What
    # is left of the difference, times 2^60, is not subnormal.
    t = y * math.sqrt(0.5)
    over = s.where(p > 0.25, s.erf(t) * 2.0**59 - (p - 0.5) * 2.0**60, s.erfc(-t) * 2.0**59 - p * 2.0**60)
    better = (t - over / s.exp(-t * t) * (math.sqrt(math.pi) * 2.0**-60)) * math.sqrt(2.0)
    return _mirrored(x, s.where(p > 0.0, better, y))


def _mirrored(x: Expr, below: Expr) -> Expr:
    return s.where(x > 0.5, -below, below)


def _lower_quantile(p: Expr) -> Expr:
    """The number below which a normal variable is with chance p <= 1/2, to 7 units in the last place of a double."""
    y = p - 0.5
    middle = y + y * y * y * _rational(y * y, _MIDDLE)
    z = s.sqrt(s.log(p) * -2.0)
    inverse = 1.0 / z
    part = s.where(z < 8.0, _rational(inverse, _NEAR), _rational(inverse, _FAR))
    tail = s.log(z) / z - z + part * inverse
    return s.where(p > math.exp(-2.0), middle * math.sqrt(2 * math.pi), s.where(p > 0.0, tail, s.log(p)))


NDTRI = _unary(
    "Ndtri",
    "the number below which a normal variable is with chance x",
    _ndtri,
    lambda y: math.sqrt(2 * math.pi) * EXP(0.5 * SQUARE(y)),
    "math.ndtri ndtri",
)


@record
class ToleranceAttrs:
    """`tolerance`: the largest difference that still counts as equal."""

    tolerance: float = 1e-05


def _near(attrs: ToleranceAttrs, x: Expr, y: Expr) -> Expr:
    """|x - y| <= tolerance; unsigned numbers are subtracted without wrapping around."""
    gap = s.maximum(x, y) - s.minimum(x, y)
    if not x.dtype.is_floating:
        return s.le(s.cast(gap, float32), attrs.tolerance)
    return s.le(s.abs_(x - y), attrs.tolerance)


APPROXIMATE_EQUAL: OpDef[Tensor] = OpDef(
    "ApproximateEqual",
    inputs="x: T, y: T",
    outputs="z: bool",
    types={"T": REALS},
    attrs=ToleranceAttrs,
    doc="""Elementwise |x - y| <= tolerance.

    x, y: the same number type and shape, without broadcasting. z: bool, that shape. Errors: the shapes differ.""",
    infer=lambda c: merged(c, 0, 1),
    scalar=_near,
    grad=NOT_DIFFERENTIABLE,
    api="approximate_equal",
)

# the incomplete gamma and beta functions


def _scipy(name: str) -> Callable[..., np.ndarray]:
    def kernel(call: HostCall, *xs: np.ndarray) -> np.ndarray:
        dtype = xs[0].dtype
        wide_xs = [x.astype(np.float64) for x in xs]  # SciPy's float32 versions are less accurate
        return np.asarray(getattr(import_module("scipy.special"), name)(*wide_xs)).astype(dtype)

    return kernel


def _host_slope(call: HostCall, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Computes d P(a, x) / d a by the series P = x^a e^-x sum x^n / gamma(a + n + 1), term by term."""
    special = import_module("scipy.special")
    a64, x64 = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    valid = (a64 > 0) & (x64 > 0) & np.isfinite(x64)
    p, q = np.where(valid, a64, 1.0), np.where(valid, x64, 1.0)
    term, harmonic = 1.0 / p, 1.0 / p
    total, slope = term.copy(), -term * harmonic
    for n in range(1, int(q.max(initial=0.0) * 1.5) + 400 if q.size else 0):
        term = term * q / (p + n)
        harmonic = harmonic + 1.0 / (p + n)
        total += term
        step = term * harmonic
        slope -= step
        if (step <= 1e-17 * np.abs(slope)).all():
            break
    factor = np.exp(p * np.log(q) - q - special.gammaln(p))
    derivative = factor * (total * (np.log(q) - special.digamma(p)) + slope)
    derivative = np.where(valid, derivative, np.where(np.isnan(a64 + x64) | (a64 <= 0), np.nan, 0.0))
    return derivative.astype(a.dtype)


def _gamma(
    name: str,
    formula: str,
    host: Callable[..., Any],
    grad: GradFn | NotDifferentiable | GradientMissing | None,
    api: str,
    types: tuple[DType, ...] = DEVICE_FLOATS,
) -> OpDef:
    return OpDef(
        name,
        inputs="a: T, x: T",
        outputs="z: T",
        types={"T": types},
        doc=f"""Elementwise z = {formula}.

        a, x: the same float type, a > 0, x >= 0; their shapes must broadcast together. z: that dtype, the broadcast
        shape. Runs on the host.""",
        infer=broadcast,
        host=host,
        grad=grad,
        api=api,
    )


def _grads_gamma(sign: float) -> Callable[..., tuple[Any, Any]]:
    def grads(op: Operation, dy: Tensor, a: Tensor, x: Tensor) -> tuple[Any, Any]:
        density = EXP(-x + (a - 1.0) * LOG(x) - LGAMMA(a))
        return sign * IGAMMA_GRAD_A(a, x) * dy, sign * density * dy

    return grads


IGAMMA: OpDef[Tensor] = _gamma(
    "Igamma",
    "the lower regularised incomplete gamma function P(a, x)",
    _scipy("gammainc"),
    _both(_grads_gamma(1.0)),
    "igamma math.igamma",
)
IGAMMAC: OpDef[Tensor] = _gamma(
    "Igammac",
    "the upper regularised incomplete gamma function Q(a, x) = 1 - P(a, x)",
    _scipy("gammaincc"),
    _both(_grads_gamma(-1.0)),
    "igammac math.igammac",
)


def _grads_slope(op: Operation, dy: Tensor, a: Tensor, x: Tensor) -> tuple[Any, Any]:
    """The gradient by x is in closed form; that by a, which has none, is a central difference (seven digits)."""
    density = EXP(-x + (a - 1.0) * LOG(x) - LGAMMA(a))
    a64, x64 = cast_to(a, float64), cast_to(x, float64)
    step = a64 * 1e-4
    curve = (IGAMMA_GRAD_A(a64 + step, x64) - IGAMMA_GRAD_A(a64 - step, x64)) / (2.0 * step)
    return cast_to(curve, a.dtype) * dy, density * (LOG(x) - DIGAMMA(a)) * dy


IGAMMA_GRAD_A: OpDef[Tensor] = _gamma(
    "IgammaGradA", "the derivative of P(a, x) by a", _host_slope, _both(_grads_slope), ""
)


def _host_sample_slope(call: HostCall, alpha: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Computes d sample / d alpha by the implicit function theorem.

    P(alpha, sample) stays constant when alpha changes.
    """
    special = import_module("scipy.special")
    a, x = alpha.astype(np.float64), sample.astype(np.float64)
    with np.errstate(all="ignore"):
        density = np.exp((a - 1.0) * np.log(x) - x - special.gammaln(a))
        return (-_host_slope(call, a, x) / density).astype(alpha.dtype)


RANDOM_GAMMA_GRAD: OpDef[Tensor] = OpDef(
    "RandomGammaGrad",
    inputs="alpha: T, sample: T",
    outputs="output: T",
    types={"T": DEVICE_FLOATS},
    doc="""The derivative of a gamma sample with respect to its parameter alpha, elementwise.

    alpha, sample: the same float type, positive; their shapes must broadcast together. output: the broadcast shape.
    Runs on the host.""",
    infer=broadcast,
    host=_host_sample_slope,
    grad=GRADIENT_MISSING,
    api="random_gamma_grad",
)


def _grad_beta(op: Operation, dy: Tensor) -> Any:
    """Returns the gradient with respect to x only, as TensorFlow does."""
    a, b, x = op.inputs
    log_beta = LGAMMA(a) + LGAMMA(b) - LGAMMA(a + b)
    density = EXP((b - 1.0) * LOG1P(-x) + (a - 1.0) * LOG(x) - log_beta)
    return None, None, unbroadcast(density, x, None, density * dy)[1]


def _alike_or_scalars(c: Infer) -> Shape:
    shape = unknown_shape
    for operand in c.shapes:
        if operand.ndims == 0:
            continue
        if not shape.is_compatible_with(operand):
            raise ShapeError(
                f"{c.op_name}: Shapes must be equal rank, or those of scalars, but are {shape} and {operand}"
                if shape.ndims != operand.ndims
                else f"{c.op_name}: Dimensions must be equal, or those of scalars: shapes {shape} and {operand}"
            )
        shape = shape.merge_with(operand)
    return Shape(()) if all(operand.ndims == 0 for operand in c.shapes) else shape


def _host_betainc(call: HostCall, a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    shapes = {operand.shape for operand in (a, b, x) if operand.ndim}
    if len(shapes) > 1:
        raise InvalidArgumentError(
            f"Shapes of a, b and x are inconsistent: {a.shape}, {b.shape} and {x.shape}; needed are scalars and one "
            "other shape",
            call.op,
        )
    return _regularized_beta(call, a, b, x)


_regularized_beta = _scipy("betainc")

BETAINC: OpDef[Tensor] = OpDef(
    "Betainc",
    inputs="a: T, b: T, x: T",
    outputs="z: T",
    types={"T": DEVICE_FLOATS},
    doc="""The regularised incomplete beta function I_x(a, b), elementwise.

    a, b > 0, x in [0, 1]: float32 or float64; each is a scalar or has the common shape. z: that shape. Errors: the
    shapes differ. Runs on the host.""",
    infer=_alike_or_scalars,
    host=_host_betainc,
    grad=_grad_beta,
    api="betainc math.betainc",
)

OPS: tuple[OpDef, ...] = (
    XDIVY,
    XLOGY,
    XLOG1PY,
    MUL_NO_NAN,
    ERFINV,
    NDTRI,
    APPROXIMATE_EQUAL,
    IGAMMA,
    IGAMMAC,
    IGAMMA_GRAD_A,
    RANDOM_GAMMA_GRAD,
    BETAINC,
)
API: dict[str, Any] = {}
