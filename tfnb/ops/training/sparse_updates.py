"""Sparse optimizer updates, which change only the rows of a variable that a step has read (OSDI'16, section 4.2).

The rule of each op is the dense rule of `updates.py`, applied to the rows at `indices`, in their order. Invariant:
all other rows of the variable and of its slots keep their values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir.bounds import Bound
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, OpDef
from tfnb.ir.record import Attrs
from tfnb.ir.scalar import arg
from tfnb.ir.scalar.host import evaluate
from tfnb.ir.shapes import merged
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.where_partition import distinct
from tfnb.ops.state.scatter import check_indices, rows_shape
from tfnb.ops.state.scatter_recipes import sparse_apply_calls
from tfnb.ops.state.variables import LockAttrs
from tfnb.ops.training import updates
from tfnb.ops.training.updates import NesterovAttrs, SlotAttrs, check_scalars
from tfnb.types import FLOATS, INDEX, Shape, as_dtype, float32

__all__ = [
    "OPS",
    "SPARSE_APPLY_ADADELTA",
    "SPARSE_APPLY_ADAGRAD",
    "SPARSE_APPLY_CENTERED_RMS_PROP",
    "SPARSE_APPLY_FTRL",
    "SPARSE_APPLY_MOMENTUM",
    "SPARSE_APPLY_PROXIMAL_ADAGRAD",
    "SPARSE_APPLY_PROXIMAL_GRADIENT_DESCENT",
    "SPARSE_APPLY_RMS_PROP",
    "SUMMED_ROWS",
    "sparse_op",
]


def _rule_on_rows(rule: Callable[..., Any], attrs: Attrs, arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The new values of some rows of the references by the rule, in the references' dtype."""
    dtype = as_dtype(arrays[0].dtype)
    wide = dtype if dtype.size > 2 else float32
    result = rule(attrs, *(arg(i, wide) for i in range(len(arrays))))
    exprs = result if isinstance(result, tuple) else (result,)
    return tuple(evaluate(e, lambda leaf: arrays[leaf.value].astype(wide.np)).astype(dtype.np) for e in exprs)


def _host(rule: Callable[..., Any], refs: int, grad: int, indices: int) -> Callable[..., Any]:
    """The host kernel; it updates all rows at once, or one after the other when an index occurs twice."""

    def kernel(call: HostCall, *inputs: np.ndarray) -> Any:
        at = inputs[indices]
        check_indices(call, at, inputs[0].shape[0])
        new_values = [np.array(x) for x in inputs[:refs]]
        blocks = [slice(None)] if np.unique(at).size == at.size else [slice(i, i + 1) for i in range(at.size)]
        for block in blocks:
            rows = at[block]
            arrays = [x[rows] for x in new_values]
            arrays += [inputs[i][block] if i == grad else inputs[i] for i in range(refs, len(inputs)) if i != indices]
            for target, value in zip(new_values, _rule_on_rows(rule, call.attrs, arrays), strict=True):
                target[rows] = value
        return tuple(new_values) if refs > 1 else new_values[0]

    return kernel


def sparse_op(
    name: str,
    slots: str,
    rest: str,
    rule: Callable[..., Any],
    entry: str,
    dense: str,
    attrs: type = LockAttrs,
) -> OpDef[Tensor]:
    """The op `name(var, slots..., rest...)`; `rest` lists "grad", "indices" and scalar hyperparameters in any order."""
    refs = ["var", *slots.split()]
    names = [*refs, *rest.split()]
    grad, indices = names.index("grad"), names.index("indices")
    scalars = tuple(i for i in range(len(refs), len(names)) if i not in (grad, indices))
    kinds = [
        "Ref(T)" if i < len(refs) else "Tindices" if i == indices else updates.kind_of(n) for i, n in enumerate(names)
    ]

    def infer(c: Infer) -> Shape:
        check_scalars(c, scalars)
        shape = merged(c, *range(len(refs)))
        if c.shapes[indices].ndims not in (None, 1):
            raise ShapeError(f"{name}: indices must be a vector, got shape {c.shapes[indices]}")
        return rows_shape(c, shape, indices, grad)

    return OpDef(
        name,
        ", ".join(f"{n}: {k}" for n, k in zip(names, kinds, strict=True)),
        "out: Ref(T)",
        f"{dense} for the rows of {', '.join(refs)} at `indices`; other rows do not change.\n\n"
        f"{', '.join(refs)}: shape (rows, ...). indices: a vector of row numbers, shape (n,); a row that occurs twice "
        "is updated twice. grad: shape (n, ...). The other inputs are scalars. Returns the reference to `var`.\n"
        "Errors: an index is outside [0, rows); a device skips an index that it computed itself.",
        types={"T": FLOATS, "Tindices": INDEX},
        attrs=attrs,
        infer=infer,
        host=_host(rule, len(refs), grad, indices),
        opencl=partial(sparse_apply_calls, entry=entry, grad=grad, indices=indices),
        bounds=lambda c: [Bound(indices, c.shapes[0].known()[0])],
        grad=GRADIENT_MISSING,
        writes=tuple(range(len(refs))),
    )


def _host_summed(call: HostCall, *inputs: np.ndarray, op: OpDef, grad: int, indices: int) -> Any:
    values, at = inputs[grad], inputs[indices]
    first, place = distinct(at)
    wide = values.dtype if values.dtype.itemsize > 2 else np.dtype(np.float32)
    sums = np.zeros((first.size, *values.shape[1:]), wide)
    np.add.at(sums, place, values)
    arrays = list(inputs)
    arrays[grad], arrays[indices] = sums, at[first]
    assert op.host is not None
    return op.host(call, *arrays)


def _summed(op: OpDef) -> OpDef:
    """Returns the op that updates each row once, with the sum of all its gradients."""
    names = [a.name for a in op.input_args]
    grad, indices = names.index("grad"), names.index("indices")
    assert isinstance(op.opencl, partial)
    return replace(
        op,
        name=f"{op.name}Summed",
        doc=op.doc.replace("a row that occurs twice is updated twice", "the gradients of a row that occurs twice are")
        .replace("are. grad", "are summed first, in their order. grad")
        .strip(),
        host=partial(_host_summed, op=op, grad=grad, indices=indices),
        opencl=partial(op.opencl, summed=True),
    )


SPARSE_APPLY_MOMENTUM = sparse_op(
    "SparseApplyMomentum",
    "accum",
    "lr grad indices momentum",
    updates.momentum,
    "sparse_momentum",
    "ApplyMomentum",
    NesterovAttrs,
)
SPARSE_APPLY_ADAGRAD = sparse_op(
    "SparseApplyAdagrad",
    "accum",
    "lr grad indices",
    updates.adagrad,
    "sparse_adagrad",
    "ApplyAdagrad",
    SlotAttrs,
)
SPARSE_APPLY_ADADELTA = sparse_op(
    "SparseApplyAdadelta",
    "accum accum_update",
    "lr rho epsilon grad indices",
    updates.adadelta,
    "sparse_adadelta",
    "ApplyAdadelta",
)
SPARSE_APPLY_RMS_PROP = sparse_op(
    "SparseApplyRMSProp",
    "ms mom",
    "lr rho momentum epsilon grad indices",
    updates.rms_prop,
    "sparse_rms_prop",
    "ApplyRMSProp",
)
SPARSE_APPLY_CENTERED_RMS_PROP = sparse_op(
    "SparseApplyCenteredRMSProp",
    "mg ms mom",
    "lr rho momentum epsilon grad indices",
    updates.centered_rms_prop,
    "sparse_centered_rms_prop",
    "ApplyCenteredRMSProp",
)
SPARSE_APPLY_FTRL = sparse_op(
    "SparseApplyFtrl",
    "accum linear",
    "grad indices lr l1 l2 lr_power",
    updates.ftrl,
    "sparse_ftrl",
    "ApplyFtrl",
)
SPARSE_APPLY_PROXIMAL_GRADIENT_DESCENT = sparse_op(
    "SparseApplyProximalGradientDescent",
    "",
    "alpha l1 l2 grad indices",
    updates.proximal_gradient_descent,
    "sparse_proximal_gradient_descent",
    "ApplyProximalGradientDescent",
)
SPARSE_APPLY_PROXIMAL_ADAGRAD = sparse_op(
    "SparseApplyProximalAdagrad",
    "accum",
    "lr l1 l2 grad indices",
    updates.proximal_adagrad,
    "sparse_proximal_adagrad",
    "ApplyProximalAdagrad",
)

_OPS = (
    SPARSE_APPLY_MOMENTUM,
    SPARSE_APPLY_ADAGRAD,
    SPARSE_APPLY_ADADELTA,
    SPARSE_APPLY_RMS_PROP,
    SPARSE_APPLY_CENTERED_RMS_PROP,
    SPARSE_APPLY_FTRL,
    SPARSE_APPLY_PROXIMAL_GRADIENT_DESCENT,
    SPARSE_APPLY_PROXIMAL_ADAGRAD,
)
SUMMED_ROWS = {op: _summed(op) for op in _OPS}

OPS: tuple[OpDef, ...] = (*_OPS, *SUMMED_ROWS.values())
API: dict[str, Any] = {}
