"""Softmax and the cross entropies of classification (white paper, Table 1; OSDI'16, section 4.2).

The ops are compositions of reductions and elementwise ops, which the compiler fuses. The largest logit is subtracted
first, so that exp does not overflow. Invariant: a loss and its gradient are two outputs of one op.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.bounds import Bound
from tfnb.ir.const import constant_value
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import merged, with_rank
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import FILL, ONES_LIKE, ZEROS_LIKE
from tfnb.ops.array.shape_ops import EXPAND_DIMS
from tfnb.ops.math.reduce import MAX
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.unary import EXP, LOG
from tfnb.types import FLOATS, INDEX, Shape, int64

__all__ = [
    "LABEL_TERM",
    "LOG_SOFTMAX",
    "OPS",
    "SOFTMAX",
    "SOFTMAX_CROSS_ENTROPY",
    "SPARSE_SOFTMAX_CROSS_ENTROPY",
]

LAST = np.asarray([-1], np.int32)


def _rows(c: Infer) -> Shape:
    if c.shapes[0].ndims == 0:
        raise ShapeError(f"{c.op_name}: the logits must have at least one dimension, got a scalar")
    return c.shapes[0]


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def _log_softmax(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        shifted = x - x.max(axis=-1, keepdims=True, initial=-np.inf)
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def _softmax(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
        return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _sum_last(x: Tensor) -> Tensor:
    return SUM(x, LAST, keep_dims=True)


def _expand_softmax(op: Operation, x: Tensor) -> Any:
    e = EXP(x - MAX(x, LAST, keep_dims=True))
    return e / _sum_last(e)


def _expand_log_softmax(op: Operation, x: Tensor) -> Tensor:
    shifted = x - MAX(x, LAST, keep_dims=True)
    return shifted - LOG(_sum_last(EXP(shifted)))


SOFTMAX: OpDef[Tensor] = OpDef(
    "Softmax",
    "logits: T",
    "softmax: T",
    """exp(logits) / sum of exp(logits) along the last dimension.

    logits: a float type, rank at least 1. softmax: the same dtype and shape; each row sums to 1. Errors: a scalar.""",
    types={"T": FLOATS},
    infer=_rows,
    host=lambda call, x: _softmax(_wide(x)).astype(x.dtype, copy=False),
    expand=_expand_softmax,
    grad=lambda op, dy: (dy - _sum_last(dy * op.y)) * op.y,
)

LOG_SOFTMAX: OpDef[Tensor] = OpDef(
    "LogSoftmax",
    "logits: T",
    "logsoftmax: T",
    """logits - log(sum of exp(logits)) along the last dimension: the logarithm of Softmax, without underflow.

    logits: a float type, rank at least 1. logsoftmax: the same dtype and shape. Errors: a scalar.""",
    types={"T": FLOATS},
    infer=_rows,
    host=lambda call, x: _log_softmax(_wide(x)).astype(x.dtype, copy=False),
    expand=_expand_log_softmax,
    grad=lambda op, dy: dy - _sum_last(dy) * EXP(op.y),
)


def _infer_dense(c: Infer) -> tuple[Shape, Shape]:
    rows = merged(c, 0, 1)
    if rows.ndims not in (None, 2):
        raise ShapeError(
            f"{c.op_name}: Shape must be rank 2 but is rank {rows.ndims}: features and labels have shape {rows}"
        )
    rows = rows.merge_with(Shape((None, None)))
    return Shape(tuple(rows.as_list()[:1])), rows


def _host_dense(call: HostCall, logits: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, targets = _wide(logits), _wide(labels)
    with np.errstate(all="ignore"):
        loss = -(targets * _log_softmax(x)).sum(axis=-1)
        return loss.astype(logits.dtype), (_softmax(x) - targets).astype(logits.dtype)


def _expand_dense(op: Operation, logits: Tensor, labels: Tensor) -> Any:
    shifted = logits - MAX(logits, LAST, keep_dims=True)
    e = EXP(shifted)
    total = _sum_last(e)
    return SUM(labels * (LOG(total) - shifted), LAST), e / total - labels


def _is_zero(t: Tensor) -> bool:
    """Returns whether the gradient is None, or is known to be zero when the graph is built."""
    if t is None:
        return True
    if t.op.opdef is FILL:
        return _is_zero(t.op.inputs[1])
    value = constant_value(t)
    return t.op.opdef is ZEROS_LIKE or (value is not None and not value.any())


def _sum_of(*parts: Tensor | None) -> Any:
    """The sum of the gradients that are not None; None when all of them are None."""
    total = None
    for part in parts:
        total = part if total is None else total if part is None else total + part
    return total


def _grad_logits(op: Operation, dloss: Tensor, dbackprop: Tensor) -> Any:
    by_loss = None if _is_zero(dloss) else EXPAND_DIMS(dloss, -1) * op.outputs[1]
    if _is_zero(dbackprop):
        return by_loss
    p = SOFTMAX(op.x)
    return _sum_of(by_loss, (dbackprop - _sum_last(dbackprop * p)) * p)


def _grad_dense(op: Operation, dloss: Tensor, dbackprop: Tensor) -> Any:
    by_loss = None if _is_zero(dloss) else EXPAND_DIMS(-dloss, -1) * LOG_SOFTMAX(op.x)
    return _grad_logits(op, dloss, dbackprop), _sum_of(by_loss, None if _is_zero(dbackprop) else -dbackprop)


SOFTMAX_CROSS_ENTROPY: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "SoftmaxCrossEntropyWithLogits",
    "features: T, labels: T",
    "loss: T, backprop: T",
    """The cross entropy between rows of probabilities `labels` and softmax(features), and its gradient.

    loss[i] = -sum over j of labels[i, j] * log_softmax(features)[i, j]; backprop = softmax(features) - labels.
    features, labels: a float type, shape (batch, classes); the rows of labels should sum to 1. loss: shape (batch,).
    backprop: shape (batch, classes). Errors: the shapes differ or are not of rank 2.""",
    types={"T": FLOATS},
    infer=_infer_dense,
    host=_host_dense,
    expand=_expand_dense,
    grad=_grad_dense,
)


def _infer_label_term(c: Infer) -> Shape:
    if c.shapes[1].ndims not in (1, None):
        raise ShapeError(f"{c.op_name}: Shape must be rank 1: labels must be 1-D, but got shape {c.shapes[1]}")
    x, labels = with_rank(c, 0, 2), with_rank(c, 1, 1)
    rows = Shape(tuple(x.as_list()[:1]))
    if not rows.is_compatible_with(labels):
        raise ShapeError(f"{c.op_name}: {x} has another number of rows than the labels, {labels}")
    return Shape((rows.merge_with(labels).as_list()[0], x.as_list()[1]))


def _check_labels(call: HostCall, labels: np.ndarray, classes: int) -> None:
    bad = (labels < 0) | (labels >= classes)
    if bad.any():
        raise InvalidArgumentError(
            f"Received a label value of {int(labels[bad][0])} which is outside the valid range of [0, {classes})",
            call.op,
        )


def _check_vector(call: HostCall, labels: np.ndarray) -> None:
    if labels.ndim != 1:
        raise InvalidArgumentError(f"labels must be 1-D, but got shape {labels.shape}", call.op)


def _host_label_term(call: HostCall, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    _check_vector(call, labels)
    inside = ((labels >= 0) & (labels < x.shape[1]))[:, None]
    is_label = np.arange(x.shape[1]) == labels[:, None]
    return np.where(inside, np.where(is_label, x, 0), np.nan).astype(x.dtype)


def _lower_label_term(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    i, j = idx
    label = site.load(1, (i,))
    x = site.load(0, (i, j))
    inside = s.and_(label >= 0, label < site.inputs[0].shape[1])
    term = s.where(s.eq(label, s.cast(j, label.dtype)), x, 0)
    return s.where(inside, term, s.const(float("nan"), x.dtype))


LABEL_TERM: OpDef[Tensor] = OpDef(
    "LabelTerm",
    "values: T, labels: Tlabels",
    "output: T",
    """values[i, j] where j is labels[i], 0 elsewhere; a row whose label is not a column number becomes NaN.

    Devices compute SparseSoftmaxCrossEntropyWithLogits by means of this op. values: shape (batch, classes). labels:
    shape (batch,). output: shape (batch, classes).""",
    types={"T": FLOATS, "Tlabels": INDEX},
    infer=_infer_label_term,
    host=_host_label_term,
    lower=_lower_label_term,
    bounds=lambda c: [Bound(1, c.shapes[0].known()[-1], what="label")],
    grad=lambda op, dy: (LABEL_TERM(dy, op.inputs[1]), None),
)


def _infer_sparse(c: Infer) -> tuple[Shape, Shape]:
    rows = _infer_label_term(c)
    return Shape(tuple(rows.as_list()[:1])), rows


def _host_sparse(call: HostCall, logits: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x = _wide(logits)
    _check_vector(call, labels)
    if labels.size:
        _check_labels(call, labels, x.shape[1])
    rows = np.arange(labels.size)
    backprop = _softmax(x)
    backprop[rows, labels] -= 1
    loss = -_log_softmax(x)[rows, labels]
    return loss.astype(logits.dtype), backprop.astype(logits.dtype)


def _expand_sparse(op: Operation, logits: Tensor, labels: Tensor) -> Any:
    shifted = logits - MAX(logits, LAST, keep_dims=True)
    e = EXP(shifted)
    total = _sum_last(e)
    loss = SUM(LABEL_TERM(LOG(total) - shifted, labels), LAST)
    return loss, e / total - LABEL_TERM(ONES_LIKE(e), labels)


SPARSE_SOFTMAX_CROSS_ENTROPY: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "SparseSoftmaxCrossEntropyWithLogits",
    "features: T, labels: Tlabels",
    "loss: T, backprop: T",
    """SoftmaxCrossEntropyWithLogits for labels that are class numbers.

    loss[i] = -log_softmax(features)[i, labels[i]]; backprop = softmax(features) - one_hot(labels).
    features: a float type, shape (batch, classes). labels: int32 or int64, shape (batch,), each in [0, classes). loss:
    shape (batch,). backprop: shape (batch, classes). Errors: the shapes do not match, or a label is out of range
    (a device gives NaN for a label that it computed itself).""",
    types={"T": FLOATS, "Tlabels": INDEX},
    defaults={"Tlabels": int64},
    infer=_infer_sparse,
    host=_host_sparse,
    expand=_expand_sparse,
    grad=lambda op, dloss, dbackprop: (_grad_logits(op, dloss, dbackprop), None),
)

OPS: tuple[OpDef, ...] = (
    SOFTMAX,
    LOG_SOFTMAX,
    SOFTMAX_CROSS_ENTROPY,
    LABEL_TERM,
    SPARSE_SOFTMAX_CROSS_ENTROPY,
)
API: dict[str, Any] = {}
