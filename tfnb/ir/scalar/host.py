"""Scalar expressions evaluated by NumPy: the host reference of every elementwise op.

Invariant: what the code generator prints for an expression has the value computed here, up to rounding.
Division by zero of integers gives 0 on both sides (TensorFlow raises; a kernel cannot).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from tfnb.caches import remembered
from tfnb.ir.opdef import HostCall, OpDef
from tfnb.ir.scalar.expression import Expr, arg, walk
from tfnb.ir.scalar.host_philox import philox_4x32
from tfnb.types import DType, as_dtype, float32

__all__ = ["elementary", "evaluate", "host_kernel", "scalar_exprs"]

_Array = Any


def _int_div(a: _Array, b: _Array) -> _Array:
    """C's division: towards zero; 0 for a zero divisor."""
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    q = np.floor_divide(a, safe)
    if a.dtype.kind == "i":
        q = q + ((q * safe != a) & ((a < 0) != (b < 0)))
    return np.where(b == 0, 0, q).astype(a.dtype)


def _div(a: _Array, b: _Array) -> _Array:
    return a / b if a.dtype.kind in "fc" else _int_div(a, b)


def _floordiv(a: _Array, b: _Array) -> _Array:
    if a.dtype.kind == "f":
        return np.floor(a / b)
    return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b)))


def _floormod(a: _Array, b: _Array) -> _Array:
    if a.dtype.kind == "f":
        r = np.fmod(a, b)
        return np.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)
    return np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b)))


def _truncmod(a: _Array, b: _Array) -> _Array:
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b)))


def _pow(a: _Array, b: _Array) -> _Array:
    if a.dtype.kind in "iu":
        return np.where(
            b < 0, np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0)), np.power(a, np.maximum(b, 0))
        )
    return np.power(a, b)


def _special(name: str) -> Callable[[_Array], _Array]:
    """A function of scipy.special, imported when first called: it takes longer to import than all of tfnb."""
    return lambda x: getattr(import_module("scipy.special"), name)(x)


def _lgamma(x: _Array) -> _Array:
    found = _special("gammaln")(x)
    return np.where(np.isneginf(x), np.abs(found), found)  # infinite on both sides, as in C


def _digamma(x: _Array) -> _Array:
    return np.where(x == 0, x.dtype.type(np.nan), _special("digamma")(x))  # a pole like the others


def _sigmoid(x: _Array) -> _Array:
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "recip": lambda x: 1 / x,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _special("erf"),
    "erfc": _special("erfc"),
    "erfinv": _special("erfinv"),
    "lgamma": _lgamma,
    "conj": np.conjugate,
    "digamma": _digamma,
    "floor": np.floor,
    "ceil": np.ceil,
    "rint": np.rint,
    "sign": np.sign,
    "not": np.logical_not,
    "bitnot": np.invert,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _div,
    "floordiv": _floordiv,
    "floormod": _floormod,
    "truncmod": _truncmod,
    "pow": _pow,
    "max": np.maximum,
    "min": np.minimum,
    "atan2": np.arctan2,
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def elementary(op: str) -> Callable[..., Any]:
    """The NumPy function of an operation of `ir/scalar/expression.py`."""
    return _FUNCTIONS[op]


def _cast(x: _Array, dtype: DType) -> _Array:
    return x != 0 if dtype.is_bool else x.astype(dtype.np)


def evaluate(root: Expr, leaf: Callable[[Expr], Any]) -> np.ndarray:
    """The value of an expression; `leaf(e)` gives the arrays of `arg`, `index`, `load` and `rng` nodes."""
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
            else:
                v = _FUNCTIONS[e.op](*xs)
            if e.dtype.is_string:  # a single one is bytes, whose last zero bytes NumPy would lose
                values[e] = np.asarray(v, object)
            else:
                values[e] = np.asarray(v).astype(e.dtype.np, copy=False)
    return values[root]


@remembered("scalar expressions of ops", 4096)
def _cached_exprs(opdef: OpDef, attrs: object, dtypes: tuple[DType, ...]) -> tuple[Expr, ...]:
    out = opdef.scalar(attrs, *(arg(i, d) for i, d in enumerate(dtypes)))  # type: ignore[misc]
    return out if isinstance(out, tuple) else (out,)


def scalar_exprs(opdef: OpDef, attrs: object, dtypes: tuple[DType, ...]) -> tuple[Expr, ...]:
    """The expressions of an elementwise op over `arg` leaves.

    16-bit floats are storage only: the expression then works on float32 between casts.
    """
    wide = tuple(float32 if d.is_floating and d.size == 2 else d for d in dtypes)
    return _cached_exprs(opdef, attrs, wide)


def _run_scalar(opdef: OpDef, call: HostCall, arrays: tuple[np.ndarray, ...]) -> Any:
    dtypes = tuple(as_dtype(a.dtype) for a in arrays)
    exprs = scalar_exprs(opdef, call.attrs, dtypes)
    outs = tuple(evaluate(e, lambda leaf: arrays[leaf.value].astype(leaf.dtype.np, copy=False)) for e in exprs)
    if not opdef.writes:  # back to the storage type
        outs = tuple(
            o if o.dtype == s.dtype.np else o.astype(s.dtype.np) for o, s in zip(outs, call.outputs, strict=True)
        )
    return outs if len(outs) > 1 else outs[0]


def host_kernel(opdef: OpDef) -> Callable[..., Any] | None:
    """The host kernel of an op: its own, or the evaluation of its scalar expression; None without either."""
    if opdef.host is not None:
        return opdef.host
    if opdef.scalar is not None:
        return lambda call, *arrays: _run_scalar(opdef, call, arrays)
    return None
