"""Optimizer updates: one in-place op per variable (OSDI'16, section 4.1; white paper, Table 1 "training").

Each rule is one elementwise expression of the variable, its slots and the gradient; hyperparameters are scalar inputs.
The sparse forms of these rules are in `sparse_updates.py`. Invariant: rules and defaults are those of TensorFlow, so
an optimizer written for TensorFlow takes the same steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfnb.errors import ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import GRADIENT_MISSING, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import merged
from tfnb.ir.tensor import Tensor
from tfnb.ops.state.variables import LockAttrs
from tfnb.types import FLOATS, Shape, scalar

__all__ = [
    "APPLY_ADADELTA",
    "APPLY_ADAGRAD",
    "APPLY_ADAM",
    "APPLY_CENTERED_RMS_PROP",
    "APPLY_FTRL",
    "APPLY_GRADIENT_DESCENT",
    "APPLY_MOMENTUM",
    "APPLY_PROXIMAL_ADAGRAD",
    "APPLY_PROXIMAL_GRADIENT_DESCENT",
    "APPLY_RMS_PROP",
    "OPS",
    "NesterovAttrs",
    "SlotAttrs",
    "adadelta",
    "adagrad",
    "apply_op",
    "centered_rms_prop",
    "check_scalars",
    "ftrl",
    "kind_of",
    "lr_power_of",
    "momentum",
    "proximal_adagrad",
    "proximal_gradient_descent",
    "rms_prop",
]

Rule = Callable[..., Any]


@record
class NesterovAttrs:
    """`use_nesterov`: use Nesterov's form of momentum."""

    use_locking: bool = False
    use_nesterov: bool = False


@record
class SlotAttrs:
    """`update_slots`: update the accumulator instead of only reading it."""

    use_locking: bool = False
    update_slots: bool = True


def check_scalars(c: Infer, inputs: tuple[int, ...]) -> None:
    """Raises `ShapeError` unless these inputs (hyperparameters) are scalars."""
    for i in inputs:
        if not c.shapes[i].is_compatible_with(scalar):
            raise ShapeError(f"{c.op_name}: input {i} must be a scalar, got shape {c.shapes[i]}")


def kind_of(name: str) -> str:
    """Returns the type of a hyperparameter in a signature."""
    return "int64" if name == "global_step" else "T"


def gradient_descent(a: LockAttrs, var: Expr, alpha: Expr, delta: Expr) -> Expr:
    """The rule of ApplyGradientDescent; returns the new value of var."""
    return var - alpha * delta


def momentum(a: NesterovAttrs, var: Expr, accum: Expr, lr: Expr, grad: Expr, rate: Expr) -> tuple[Expr, ...]:
    """The rule of ApplyMomentum; returns the new values of var and accum."""
    accum = accum * rate + grad
    if a.use_nesterov:
        return var - (grad * lr + accum * rate * lr), accum
    return var - accum * lr, accum


def adagrad(a: SlotAttrs, var: Expr, accum: Expr, lr: Expr, grad: Expr) -> tuple[Expr, ...]:
    """The rule of ApplyAdagrad; returns the new values of var and accum."""
    if a.update_slots:
        accum = accum + grad * grad
    return var - grad * lr * s.rsqrt(accum), accum


def adadelta(
    a: LockAttrs,
    var: Expr,
    accum: Expr,
    accum_update: Expr,
    lr: Expr,
    rho: Expr,
    epsilon: Expr,
    grad: Expr,
) -> tuple[Expr, ...]:
    """The rule of ApplyAdadelta; returns the new values of var, accum and accum_update."""
    accum = accum * rho + grad * grad * (1 - rho)
    update = s.sqrt(accum_update + epsilon) * s.rsqrt(accum + epsilon) * grad
    return var - update * lr, accum, accum_update * rho + update * update * (1 - rho)


def rms_prop(
    a: LockAttrs,
    var: Expr,
    ms: Expr,
    mom: Expr,
    lr: Expr,
    rho: Expr,
    rate: Expr,
    epsilon: Expr,
    grad: Expr,
) -> tuple[Expr, ...]:
    """The rule of ApplyRMSProp; returns the new values of var, ms and mom."""
    ms = ms + (grad * grad - ms) * (1 - rho)
    mom = mom * rate + grad * lr * s.rsqrt(ms + epsilon)
    return var - mom, ms, mom


def centered_rms_prop(
    a: LockAttrs,
    var: Expr,
    mg: Expr,
    ms: Expr,
    mom: Expr,
    lr: Expr,
    rho: Expr,
    rate: Expr,
    epsilon: Expr,
    grad: Expr,
) -> tuple[Expr, ...]:
    """The rule of ApplyCenteredRMSProp; returns the new values of var, mg, ms and mom."""
    ms = ms + (grad * grad - ms) * (1 - rho)
    mg = mg + (grad - mg) * (1 - rho)
    mom = mom * rate + grad * lr * s.rsqrt(ms - mg * mg + epsilon)
    return var - mom, mg, ms, mom


def adam(
    a: NesterovAttrs,
    var: Expr,
    m: Expr,
    v: Expr,
    beta1_power: Expr,
    beta2_power: Expr,
    lr: Expr,
    beta1: Expr,
    beta2: Expr,
    epsilon: Expr,
    grad: Expr,
) -> tuple[Expr, ...]:
    """The rule of ApplyAdam; returns the new values of var, m and v."""
    alpha = lr * s.sqrt(1 - beta2_power) / (1 - beta1_power)
    m = m + (grad - m) * (1 - beta1)
    v = v + (grad * grad - v) * (1 - beta2)
    step = grad * (1 - beta1) + beta1 * m if a.use_nesterov else m
    return var - step * alpha / (s.sqrt(v) + epsilon), m, v


def ftrl(
    a: LockAttrs,
    var: Expr,
    accum: Expr,
    linear: Expr,
    grad: Expr,
    lr: Expr,
    l1: Expr,
    l2: Expr,
    lr_power: Expr,
) -> tuple[Expr, ...]:
    """The rule of ApplyFtrl; returns the new values of var, accum and linear."""
    new_accum = accum + grad * grad
    new, old = lr_power_of(new_accum, lr_power), lr_power_of(accum, lr_power)
    linear = linear + grad - (new - old) / lr * var
    pull = s.minimum(s.maximum(linear, -l1), l1) - linear
    return s.where(s.abs_(linear) > l1, pull / (new / lr + l2 * 2), 0), new_accum, linear


def lr_power_of(x: Expr, lr_power: Expr) -> Expr:
    """Returns x ^ -lr_power; for the usual exponent -0.5 by a square root."""
    return s.where(s.eq(lr_power, -0.5), s.sqrt(x), s.pow_(x, -lr_power))


def _shrink(x: Expr, rate: Expr, l1: Expr, l2: Expr) -> Expr:
    """The v that minimises l1 |v| + l2/2 v^2 + |v - x|^2 / (2 rate)."""
    return s.sign(x) * s.maximum(s.abs_(x) - rate * l1, 0) / (rate * l2 + 1)


def proximal_gradient_descent(a: LockAttrs, var: Expr, alpha: Expr, l1: Expr, l2: Expr, delta: Expr) -> Expr:
    """The rule of ApplyProximalGradientDescent; returns the new value of var."""
    return _shrink(var - alpha * delta, alpha, l1, l2)


def proximal_adagrad(
    a: LockAttrs, var: Expr, accum: Expr, lr: Expr, l1: Expr, l2: Expr, grad: Expr
) -> tuple[Expr, ...]:
    """The rule of ApplyProximalAdagrad; returns the new values of var and accum."""
    accum = accum + grad * grad
    rate = lr * s.rsqrt(accum)
    return _shrink(var - grad * rate, rate, l1, l2), accum


def apply_op(
    name: str,
    slots: str,
    hyper: str,
    rule: Rule,
    doc: str,
    attrs: type = LockAttrs,
    grad: str = "grad",
) -> OpDef[Tensor]:
    """The op `name(var, slots..., then `hyper` in TensorFlow's order)`; `hyper` also contains the gradient's name.

    A hyperparameter `global_step` is an int64.
    """
    refs = ("var", *slots.split())
    rest = hyper.split()
    inputs = ", ".join([f"{n}: Ref(T)" for n in refs] + [f"{n}: {kind_of(n)}" for n in rest])
    order = (*range(len(refs)), len(refs) + rest.index(grad))
    scalars = tuple(len(refs) + i for i, n in enumerate(rest) if n != grad)

    def infer(c: Infer) -> Shape:
        check_scalars(c, scalars)
        return merged(c, *order)

    return OpDef(
        name,
        inputs,
        "out: Ref(T)",
        doc
        + f"\n\nvar, {', '.join([*refs[1:], grad])}: the same shape; other inputs are scalars. Returns the reference.",
        types={"T": FLOATS},
        attrs=attrs,
        infer=infer,
        scalar=rule,
        grad=GRADIENT_MISSING,
        writes=tuple(range(len(refs))),
    )


APPLY_GRADIENT_DESCENT = apply_op(
    "ApplyGradientDescent",
    "",
    "alpha delta",
    gradient_descent,
    "var -= alpha * delta.",
    grad="delta",
)
APPLY_MOMENTUM = apply_op(
    "ApplyMomentum",
    "accum",
    "lr grad momentum",
    momentum,
    "accum = momentum * accum + grad; var -= lr * accum.\n\n"
    "With `use_nesterov`, var -= lr * grad + lr * momentum * accum.",
    NesterovAttrs,
)
APPLY_ADAGRAD = apply_op(
    "ApplyAdagrad",
    "accum",
    "lr grad",
    adagrad,
    "accum += grad^2; var -= lr * grad / sqrt(accum).\n\nWith `update_slots` false, accum is not updated.",
    SlotAttrs,
)
APPLY_ADADELTA = apply_op(
    "ApplyAdadelta",
    "accum accum_update",
    "lr rho epsilon grad",
    adadelta,
    "accum = rho * accum + (1 - rho) * grad^2; update = sqrt((accum_update + epsilon) / (accum + epsilon)) * grad;\n"
    "accum_update = rho * accum_update + (1 - rho) * update^2; var -= lr * update.",
)
APPLY_RMS_PROP = apply_op(
    "ApplyRMSProp",
    "ms mom",
    "lr rho momentum epsilon grad",
    rms_prop,
    "ms = rho * ms + (1 - rho) * grad^2; mom = momentum * mom + lr * grad / sqrt(ms + epsilon); var -= mom.",
)
APPLY_CENTERED_RMS_PROP = apply_op(
    "ApplyCenteredRMSProp",
    "mg ms mom",
    "lr rho momentum epsilon grad",
    centered_rms_prop,
    "As ApplyRMSProp, with the variance ms - mg^2 in place of ms, where mg = rho * mg + (1 - rho) * grad.",
)
APPLY_ADAM = apply_op(
    "ApplyAdam",
    "m v",
    "beta1_power beta2_power lr beta1 beta2 epsilon grad",
    adam,
    "m = beta1 * m + (1 - beta1) * grad; v = beta2 * v + (1 - beta2) * grad^2;\n"
    "var -= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon).\n\n"
    "With `use_nesterov`, beta1 * m + (1 - beta1) * grad replaces m in the step.",
    NesterovAttrs,
)
APPLY_FTRL = apply_op(
    "ApplyFtrl",
    "accum linear",
    "grad lr l1 l2 lr_power",
    ftrl,
    "new = accum + grad^2; linear += grad - (new^-lr_power - accum^-lr_power) / lr * var;\n"
    "var = (sign(linear) * l1 - linear) / (new^-lr_power / lr + 2 * l2) where |linear| > l1, else 0; accum = new.",
)
APPLY_PROXIMAL_GRADIENT_DESCENT = apply_op(
    "ApplyProximalGradientDescent",
    "",
    "alpha l1 l2 delta",
    proximal_gradient_descent,
    "x = var - alpha * delta; var = sign(x) * max(|x| - alpha * l1, 0) / (1 + alpha * l2).",
    grad="delta",
)
APPLY_PROXIMAL_ADAGRAD = apply_op(
    "ApplyProximalAdagrad",
    "accum",
    "lr l1 l2 grad",
    proximal_adagrad,
    "accum += grad^2; rate = lr / sqrt(accum); x = var - rate * grad;\n"
    "var = sign(x) * max(|x| - rate * l1, 0) / (1 + rate * l2).",
)

OPS: tuple[OpDef, ...] = (
    APPLY_GRADIENT_DESCENT,
    APPLY_MOMENTUM,
    APPLY_ADAGRAD,
    APPLY_ADADELTA,
    APPLY_RMS_PROP,
    APPLY_CENTERED_RMS_PROP,
    APPLY_ADAM,
    APPLY_FTRL,
    APPLY_PROXIMAL_GRADIENT_DESCENT,
    APPLY_PROXIMAL_ADAGRAD,
)
API: dict[str, Any] = {}
