"""Optimizer updates of later TensorFlow 1.x: AdaMax, AMSGrad, dual averaging, signs, and second forms of earlier rules.

Each rule is one elementwise expression, for all of a variable or for its rows, as in `updates.py`. Invariant: rules and
defaults are those of TensorFlow. Two operations exist there on resource variables alone (`OURS`).
"""

from __future__ import annotations

from typing import Any

from tfnb.ir import scalar as s
from tfnb.ir.opdef import OpDef
from tfnb.ir.scalar import Expr
from tfnb.ops.state.variables import LockAttrs
from tfnb.ops.training.sparse_updates import sparse_op
from tfnb.ops.training.updates import NesterovAttrs, SlotAttrs, apply_op, lr_power_of

__all__ = ["OPS"]


def _ada_max(
    a: LockAttrs,
    var: Expr,
    m: Expr,
    v: Expr,
    beta1_power: Expr,
    lr: Expr,
    beta1: Expr,
    beta2: Expr,
    epsilon: Expr,
    grad: Expr,
) -> tuple[Expr, ...]:
    m = m + (grad - m) * (1 - beta1)
    v = s.maximum(v * beta2, s.abs_(grad))
    return var - lr / (1 - beta1_power) * (m / (v + epsilon)), m, v


def _amsgrad(
    a: LockAttrs,
    var: Expr,
    m: Expr,
    v: Expr,
    vhat: Expr,
    beta1_power: Expr,
    beta2_power: Expr,
    lr: Expr,
    beta1: Expr,
    beta2: Expr,
    epsilon: Expr,
    grad: Expr,
) -> tuple[Expr, ...]:
    alpha = lr * s.sqrt(1 - beta2_power) / (1 - beta1_power)
    m = m + (grad - m) * (1 - beta1)
    v = v + (grad * grad - v) * (1 - beta2)
    vhat = s.maximum(vhat, v)
    return var - m * alpha / (s.sqrt(vhat) + epsilon), m, v, vhat


def _adagrad_v2(a: SlotAttrs, var: Expr, accum: Expr, lr: Expr, epsilon: Expr, grad: Expr) -> tuple[Expr, ...]:
    if a.update_slots:
        accum = accum + grad * grad
    return var - grad * lr / (s.sqrt(accum) + epsilon), accum


def _adagrad_da(
    a: LockAttrs, var: Expr, sums: Expr, squares: Expr, grad: Expr, lr: Expr, l1: Expr, l2: Expr, global_step: Expr
) -> tuple[Expr, ...]:
    step = s.cast(global_step, var.dtype)
    sums, squares = sums + grad, squares + grad * grad
    size = s.where(l1 > 0, s.maximum(s.abs_(sums) - l1 * step, 0), s.abs_(sums))
    return -s.sign(sums) * size * lr / (s.sqrt(squares) + l2 * step * lr), sums, squares


def _signs(m: Expr, grad: Expr, beta: Expr, sign_decay: Expr) -> tuple[Expr, Expr]:
    """The new average of gradients, and whether it agrees with the gradient: 1, 0 or -1, times the decay."""
    m = m * beta + grad * (1 - beta)
    return m, sign_decay * (s.sign(grad) * s.sign(m))


def _add_sign(
    a: LockAttrs, var: Expr, m: Expr, lr: Expr, alpha: Expr, sign_decay: Expr, beta: Expr, grad: Expr
) -> tuple[Expr, ...]:
    m, agreement = _signs(m, grad, beta, sign_decay)
    return var - lr * (alpha + agreement) * grad, m


def _power_sign(
    a: LockAttrs, var: Expr, m: Expr, lr: Expr, logbase: Expr, sign_decay: Expr, beta: Expr, grad: Expr
) -> tuple[Expr, ...]:
    m, agreement = _signs(m, grad, beta, sign_decay)
    return var - lr * s.exp(logbase * agreement) * grad, m


def _keras_momentum(a: NesterovAttrs, var: Expr, accum: Expr, lr: Expr, grad: Expr, momentum: Expr) -> tuple[Expr, ...]:
    accum = accum * momentum - grad * lr
    return var + (accum * momentum - grad * lr if a.use_nesterov else accum), accum


def _ftrl_v2(
    a: LockAttrs,
    var: Expr,
    accum: Expr,
    linear: Expr,
    grad: Expr,
    lr: Expr,
    l1: Expr,
    l2: Expr,
    l2_shrinkage: Expr,
    lr_power: Expr,
) -> tuple[Expr, ...]:
    new_accum = accum + grad * grad
    new, old = lr_power_of(new_accum, lr_power), lr_power_of(accum, lr_power)
    linear = linear + (grad + l2_shrinkage * var * 2) - (new - old) / lr * var
    pull = s.minimum(s.maximum(linear, -l1), l1) - linear
    return s.where(s.abs_(linear) > l1, pull / (new / lr + l2 * 2), 0), new_accum, linear


_DUAL = "gradient_accumulator gradient_squared_accumulator"

OPS: tuple[OpDef, ...] = (
    apply_op(
        "ApplyAdaMax",
        "m v",
        "beta1_power lr beta1 beta2 epsilon grad",
        _ada_max,
        "m = beta1 * m + (1 - beta1) * grad; v = max(beta2 * v, |grad|);\n"
        "var -= lr / (1 - beta1_power) * m / (v + epsilon).",
    ),
    apply_op(
        "ApplyAdamWithAmsgrad",
        "m v vhat",
        "beta1_power beta2_power lr beta1 beta2 epsilon grad",
        _amsgrad,
        "As ApplyAdam, with vhat = max(vhat, v) in place of v in the step.",
    ),
    apply_op(
        "ApplyAdagradV2",
        "accum",
        "lr epsilon grad",
        _adagrad_v2,
        "accum += grad^2; var -= lr * grad / (sqrt(accum) + epsilon).\n\n"
        "With `update_slots` false, accum is not updated.",
        SlotAttrs,
    ),
    apply_op(
        "ApplyAdagradDA",
        _DUAL,
        "grad lr l1 l2 global_step",
        _adagrad_da,
        "Dual averaging: sums += grad; squares += grad^2; where l1 > 0, the sums are pulled to zero by l1 * step;\n"
        "var = -lr * sums / (sqrt(squares) + l2 * step * lr).",
    ),
    apply_op(
        "ApplyAddSign",
        "m",
        "lr alpha sign_decay beta grad",
        _add_sign,
        "m = beta * m + (1 - beta) * grad; var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad.",
    ),
    apply_op(
        "ApplyPowerSign",
        "m",
        "lr logbase sign_decay beta grad",
        _power_sign,
        "m = beta * m + (1 - beta) * grad; var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad.",
    ),
    apply_op(
        "ApplyKerasMomentum",
        "accum",
        "lr grad momentum",
        _keras_momentum,
        "accum = momentum * accum - lr * grad; var += accum.\n\n"
        "With `use_nesterov`, var += momentum * accum - lr * grad.",
        NesterovAttrs,
    ),
    apply_op(
        "ApplyFtrlV2",
        "accum linear",
        "grad lr l1 l2 l2_shrinkage lr_power",
        _ftrl_v2,
        "As ApplyFtrl, with grad + 2 * l2_shrinkage * var in place of grad in the update of linear.",
    ),
    sparse_op(
        "SparseApplyAdagradV2",
        "accum",
        "lr epsilon grad indices",
        _adagrad_v2,
        "sparse_adagrad_v2",
        "ApplyAdagradV2",
        SlotAttrs,
    ),
    sparse_op(
        "SparseApplyAdagradDA",
        _DUAL,
        "grad indices lr l1 l2 global_step",
        _adagrad_da,
        "sparse_adagrad_da",
        "ApplyAdagradDA",
    ),
    sparse_op(
        "SparseApplyKerasMomentum",
        "accum",
        "lr grad indices momentum",
        _keras_momentum,
        "sparse_keras_momentum",
        "ApplyKerasMomentum",
        NesterovAttrs,
    ),
    sparse_op(
        "SparseApplyFtrlV2",
        "accum linear",
        "grad indices lr l1 l2 l2_shrinkage lr_power",
        _ftrl_v2,
        "sparse_ftrl_v2",
        "ApplyFtrlV2",
    ),
)
API: dict[str, Any] = {}
