"""Activation functions and their gradients (white paper, section 2, "neural net building blocks").

Each function is one scalar expression of `x`, from which host, device and fused code are derived. Each has a Grad op,
which needs only the values that the derivative depends on. Invariant: a Grad op is itself differentiable, so second
derivatives exist.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.ir import scalar as s
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import merged, unchanged
from tfnb.ir.tensor import Tensor
from tfnb.types import FLOATS, REALS, Shape, float32

__all__ = ["API", "ELU", "LEAKY_RELU", "OPS", "RELU", "RELU6", "SELU", "SOFTPLUS", "SOFTSIGN"]

SELU_SCALE = 1.0507009873554805
SELU_SCALE_ALPHA = 1.7580993408473768


@record
class LeakyReluAttrs:
    """`alpha`: the slope for negative inputs; as all float attributes of a GraphDef it is a 32-bit float."""

    alpha: float = 0.2

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", float(np.float32(self.alpha)))


def _same(c: Infer) -> Shape:
    return merged(c, 0, 1)


def _relu_grad(op: Operation, dy: Tensor) -> Tensor:
    return RELU_GRAD(dy, op.y)


def _relu_grad_grad(op: Operation, g: Tensor) -> tuple[Tensor, None]:
    return RELU_GRAD(g, op.inputs[1]), None


RELU: OpDef[Tensor] = OpDef(
    "Relu",
    "features: T",
    "activations: T",
    "max(features, 0), elementwise.\n\nThe output has the shape and dtype of `features` (a real number type).",
    types={"T": REALS},
    infer=unchanged,
    scalar=lambda a, x: s.maximum(x, 0),
    grad=_relu_grad,
    api="nn.relu",
)

RELU_GRAD: OpDef[Tensor] = OpDef(
    "ReluGrad",
    "gradients: T, features: T",
    "backprops: T",
    "The gradient of Relu: `gradients` where `features` > 0, else 0.\n\n"
    "`features` may be the input or the output of Relu; all shapes are equal.",
    types={"T": REALS},
    infer=_same,
    scalar=lambda a, g, x: s.where(x > 0, g, 0),
    grad=_relu_grad_grad,
)

RELU6: OpDef[Tensor] = OpDef(
    "Relu6",
    "features: T",
    "activations: T",
    "min(max(features, 0), 6), elementwise.",
    types={"T": REALS},
    infer=unchanged,
    scalar=lambda a, x: s.minimum(s.maximum(x, 0), 6),
    grad=lambda op, dy: RELU6_GRAD(dy, op.y),
    api="nn.relu6",
)

RELU6_GRAD: OpDef[Tensor] = OpDef(
    "Relu6Grad",
    "gradients: T, features: T",
    "backprops: T",
    "The gradient of Relu6: `gradients` where 0 < `features` < 6, else 0.",
    types={"T": REALS},
    infer=_same,
    scalar=lambda a, g, x: s.where(s.and_(x > 0, x < 6), g, 0),
    grad=lambda op, g: (RELU6_GRAD(g, op.inputs[1]), None),
)


def _elu_grad_grad(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    dy, y = op.inputs
    return ELU_GRAD(g, y), RELU_GRAD(g * dy, -y)


ELU: OpDef[Tensor] = OpDef(
    "Elu",
    "features: T",
    "activations: T",
    "exp(features) - 1 where `features` < 0, else `features`: the exponential linear unit.",
    types={"T": FLOATS},
    infer=unchanged,
    scalar=lambda a, x: s.where(x < 0, s.expm1(s.minimum(x, 0)), x),
    grad=lambda op, dy: ELU_GRAD(dy, op.y),
    api="nn.elu",
)

ELU_GRAD: OpDef[Tensor] = OpDef(
    "EluGrad",
    "gradients: T, outputs: T",
    "backprops: T",
    "The gradient of Elu computed from its outputs: gradients * (outputs + 1) where `outputs` < 0, else `gradients`.",
    types={"T": FLOATS},
    infer=_same,
    scalar=lambda a, g, y: s.where(y < 0, g * (y + 1), g),
    grad=_elu_grad_grad,
)


def _selu(a: Tensor, x: Expr) -> Expr:
    return s.where(x < 0, s.expm1(s.minimum(x, 0)) * SELU_SCALE_ALPHA, x * SELU_SCALE)


def _lower_selu_grad(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    """The slope on the left is y plus the limit of -y, in the dtype of y: only so is the slope 0 at the limit."""
    g, y = site.load(0, idx), site.load(1, idx)
    return s.where(y < 0, g * (y + SELU_SCALE_ALPHA), g * SELU_SCALE)


def _host_selu_grad(call: HostCall, g: np.ndarray, y: np.ndarray) -> np.ndarray:
    limit, scale = (y.dtype.type(constant) for constant in (SELU_SCALE_ALPHA, SELU_SCALE))
    with np.errstate(all="ignore"):
        return np.where(y < 0, g * (y + limit), g * scale)


def _selu_grad_grad(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    dy, y = op.inputs
    return SELU_GRAD(g, y), RELU_GRAD(g * dy, -y)


SELU: OpDef[Tensor] = OpDef(
    "Selu",
    "features: T",
    "activations: T",
    "scale * alpha * (exp(features) - 1) where `features` < 0, else scale * features.\n\n"
    "With scale = 1.0507009873554805 and alpha = 1.6732632423543772, mean 0 and variance 1 are preserved from layer"
    " to layer (self-normalising networks).",
    types={"T": FLOATS},
    infer=unchanged,
    scalar=_selu,
    grad=lambda op, dy: SELU_GRAD(dy, op.y),
    api="nn.selu",
)

SELU_GRAD: OpDef[Tensor] = OpDef(
    "SeluGrad",
    "gradients: T, outputs: T",
    "backprops: T",
    "The gradient of Selu computed from its outputs.",
    types={"T": FLOATS},
    infer=_same,
    host=_host_selu_grad,
    lower=_lower_selu_grad,
    grad=_selu_grad_grad,
)


def _softplus(a: Tensor, x: Expr) -> Expr:
    return s.maximum(x, 0) + s.log1p(s.exp(-s.abs_(x)))


def _softplus_grad_grad(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    dy, x = op.inputs
    product = SOFTPLUS_GRAD(g, x)
    return product, dy * SOFTPLUS_GRAD(product, -x)


SOFTPLUS: OpDef[Tensor] = OpDef(
    "Softplus",
    "features: T",
    "activations: T",
    "log(1 + exp(features)), elementwise, computed without overflow for large inputs.",
    types={"T": FLOATS},
    infer=unchanged,
    scalar=_softplus,
    grad=lambda op, dy: SOFTPLUS_GRAD(dy, op.x),
    api="nn.softplus",
)

SOFTPLUS_GRAD: OpDef[Tensor] = OpDef(
    "SoftplusGrad",
    "gradients: T, features: T",
    "backprops: T",
    "The gradient of Softplus: gradients * sigmoid(features).",
    types={"T": FLOATS},
    infer=_same,
    scalar=lambda a, g, x: g * s.sigmoid(x),
    grad=_softplus_grad_grad,
)


def _softsign_grad(a: Tensor, g: Expr, x: Expr) -> Expr:
    d = s.abs_(x) + 1
    return g / (d * d)


def _softsign_grad_grad(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    """Computes d/dx (1 + |x|)^-2 = -2 sign(x) (1 + |x|)^-3; the variable `size` lacks the factor -2 sign(x)."""
    dy, x = op.inputs
    product = SOFTSIGN_GRAD(g, x)
    size = SOFTSIGN_GRAD(product * dy, x) * (abs(x) + 1.0)
    return product, (RELU_GRAD(size, -x) - RELU_GRAD(size, x)) * 2.0


SOFTSIGN: OpDef[Tensor] = OpDef(
    "Softsign",
    "features: T",
    "activations: T",
    "features / (1 + |features|), elementwise.",
    types={"T": FLOATS},
    infer=unchanged,
    scalar=lambda a, x: x / (s.abs_(x) + 1),
    grad=lambda op, dy: SOFTSIGN_GRAD(dy, op.x),
    api="nn.softsign",
)

SOFTSIGN_GRAD: OpDef[Tensor] = OpDef(
    "SoftsignGrad",
    "gradients: T, features: T",
    "backprops: T",
    "The gradient of Softsign: gradients / (1 + |features|)^2.",
    types={"T": FLOATS},
    infer=_same,
    scalar=_softsign_grad,
    grad=_softsign_grad_grad,
)

LEAKY_RELU: OpDef[Tensor] = OpDef(
    "LeakyRelu",
    "features: T",
    "activations: T",
    "`features` where `features` > 0, else alpha * features.",
    types={"T": FLOATS},
    defaults={"T": float32},
    attrs=LeakyReluAttrs,
    infer=unchanged,
    scalar=lambda a, x: s.where(x > 0, x, x * a.alpha),
    grad=lambda op, dy: LEAKY_RELU_GRAD(dy, op.x, alpha=op.attrs.alpha),
    api="nn.leaky_relu",
)

LEAKY_RELU_GRAD: OpDef[Tensor] = OpDef(
    "LeakyReluGrad",
    "gradients: T, features: T",
    "backprops: T",
    "The gradient of LeakyRelu: `gradients` where `features` > 0, else alpha * gradients.",
    types={"T": FLOATS},
    attrs=LeakyReluAttrs,
    infer=_same,
    scalar=lambda a, g, x: s.where(x > 0, g, g * a.alpha),
    grad=lambda op, g: (LEAKY_RELU_GRAD(g, op.inputs[1], alpha=op.attrs.alpha), None),
)

OPS: tuple[OpDef, ...] = (
    RELU,
    RELU_GRAD,
    RELU6,
    RELU6_GRAD,
    ELU,
    ELU_GRAD,
    SELU,
    SELU_GRAD,
    SOFTPLUS,
    SOFTPLUS_GRAD,
    SOFTSIGN,
    SOFTSIGN_GRAD,
    LEAKY_RELU,
    LEAKY_RELU_GRAD,
)
API: dict[str, Any] = {}
