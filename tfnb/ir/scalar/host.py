"""Evaluation of scalar expressions by NumPy: the host kernel of every elementwise op.

Invariant: the generated OpenCL code of an expression computes the same value, up to rounding; subnormal numbers count
as zero in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.caches import remembered
from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.scalar.expression import PRIMITIVES, Expr, arg, walk
from tfnb.ir.scalar.host_functions import flushed
from tfnb.ir.scalar.host_philox import philox_4x32
from tfnb.ir.shapes import broadcast
from tfnb.types import DType, Shape, as_dtype, bracketed, float32

__all__ = ["evaluate", "host_kernel", "scalar_exprs"]

_Array = Any


def _cast(x: _Array, dtype: DType) -> _Array:
    return x != 0 if dtype.is_bool else x.astype(dtype.np)


# What hands on an operand, or changes its sign only, keeps its bits.
_KEEPS_BITS = frozenset(("neg", "abs", "max", "min"))


def evaluate(root: Expr, leaf: Callable[[Expr], Any]) -> np.ndarray:
    """Computes the value of an expression; `leaf(e)` returns the array of an `arg`, `index`, `load` or `rng` node."""
    values: dict[Expr, Any] = {}
    with np.errstate(all="ignore"):
        for e in walk(root):
            xs = [values[a] for a in e.args]
            if e.op == "const":
                v: Any = np.asarray(e.value, e.dtype.np)
            elif e.op == "cast":
                v = _cast(xs[0], e.dtype)
            elif e.op == "bitcast":
                v = np.ascontiguousarray(xs[0]).view(e.dtype.np).reshape(np.shape(xs[0]))
            elif e.op == "where":
                v = np.where(xs[0], xs[1], xs[2])
            elif e.op == "philox":
                v = philox_4x32(*xs)[e.value]
            elif e.op in ("arg", "index", "load", "rng"):
                v = leaf(e)
            elif e.op in _KEEPS_BITS:
                v = PRIMITIVES[e.op].host(*xs)
            else:
                v = flushed(np.asarray(PRIMITIVES[e.op].host(*map(flushed, xs))))
            if e.dtype.is_string:  # an array of dtype object keeps zero bytes at the end of a text
                values[e] = np.asarray(v, object)
            else:
                values[e] = np.asarray(v).astype(e.dtype.np, copy=False)
    return values[root]


@remembered("scalar expressions of ops", 4096)
def _cached_exprs(opdef: OpDef, attrs: object, dtypes: tuple[DType, ...]) -> tuple[Expr, ...]:
    out = opdef.scalar(attrs, *(arg(i, d) for i, d in enumerate(dtypes)))  # type: ignore[misc]
    return out if isinstance(out, tuple) else (out,)


def scalar_exprs(opdef: OpDef, attrs: object, dtypes: tuple[DType, ...]) -> tuple[Expr, ...]:
    """Returns the expressions of an elementwise op over `arg` leaves.

    16-bit floats are for storage only: for them the expressions work on float32.
    """
    compute_dtypes = tuple(float32 if d.is_floating and d.size == 2 else d for d in dtypes)
    return _cached_exprs(opdef, attrs, compute_dtypes)


def _check_shapes(opdef: OpDef, call: HostCall, arrays: tuple[np.ndarray, ...]) -> None:
    """Raises `ShapeError` for shapes that NumPy would broadcast, but the op refuses."""
    if opdef.infer is None or opdef.infer is broadcast or len({a.shape for a in arrays}) < 2:
        return
    dtypes, shapes = tuple(as_dtype(a.dtype) for a in arrays), tuple(Shape(a.shape) for a in arrays)
    opdef.infer(
        Infer(
            opdef.name,
            shapes,
            dtypes,
            call.attrs,
            call.types,
            lambda i: arrays[i],
            lambda i: Shape(tuple(arrays[i].tolist())),
        )
    )


def _run_scalar(opdef: OpDef, call: HostCall, arrays: tuple[np.ndarray, ...]) -> np.ndarray | tuple[np.ndarray, ...]:
    _check_shapes(opdef, call, arrays)
    dtypes = tuple(as_dtype(a.dtype) for a in arrays)
    exprs = scalar_exprs(opdef, call.attrs, dtypes)
    try:
        outs = tuple(evaluate(e, lambda leaf: arrays[leaf.value].astype(leaf.dtype.np, copy=False)) for e in exprs)
    except ValueError as e:
        if "broadcast" not in str(e):
            raise
        shapes = " vs. ".join(bracketed(a.shape) for a in arrays)
        raise InvalidArgumentError(f"Incompatible shapes: {shapes}: {e}", call.op) from None
    if not opdef.writes:  # back to the storage type
        with np.errstate(all="ignore"):
            outs = tuple(
                o if o.dtype == s.dtype.np else o.astype(s.dtype.np) for o, s in zip(outs, call.outputs, strict=True)
            )
    return outs if len(outs) > 1 else outs[0]


def host_kernel(opdef: OpDef) -> Callable[..., Any] | None:
    """Returns the host kernel of an op: its own, or the evaluation of its scalar expression; None without either."""
    if opdef.host is not None:
        return opdef.host
    if opdef.scalar is not None:
        return lambda call, *arrays: _run_scalar(opdef, call, arrays)
    return None
