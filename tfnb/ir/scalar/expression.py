"""Scalar expressions: the arithmetic of one element of a tensor, hash-consed and pure.

An elementwise op is written once with this module's functions; the host evaluates the expression with
NumPy (`host.py`), the code generator prints it as OpenCL C and fuses neighbours by substitution.
Invariant: expressions are acyclic, immutable and unique: equal expressions are the same object.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from tfnb.errors import InternalError
from tfnb.types import DType, bool_, float32, int32, int64, uint32

__all__ = [
    "BINARY",
    "COMPARE",
    "Expr",
    "PREDICATE",
    "UNARY",
    "abs_",
    "acos",
    "acosh",
    "add",
    "and_",
    "arg",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "binary",
    "bitand",
    "bitcast",
    "bitnot",
    "bitor",
    "bitxor",
    "cast",
    "ceil",
    "conj",
    "const",
    "cos",
    "cosh",
    "digamma",
    "div",
    "eq",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "floordiv",
    "floormod",
    "ge",
    "gt",
    "index",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "lgamma",
    "load",
    "log",
    "log1p",
    "lt",
    "make",
    "maximum",
    "minimum",
    "mul",
    "ne",
    "neg",
    "not_",
    "or_",
    "philox",
    "position",
    "pow_",
    "rebuild",
    "recip",
    "rint",
    "rng",
    "rsqrt",
    "shl",
    "shr",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "sub",
    "substitute",
    "tan",
    "tanh",
    "truncmod",
    "unary",
    "walk",
    "where",
    "wrapped",
]

# name -> arity. Result dtype is the operands' unless the op is in COMPARE/PREDICATE (bool).
_UNARY = (
    "neg abs exp expm1 log log1p sqrt rsqrt tanh sigmoid sin cos tan asin acos atan sinh cosh asinh acosh"
    " atanh erf erfc erfinv lgamma digamma floor ceil rint sign not bitnot recip conj"
)
UNARY = frozenset(_UNARY.split())
PREDICATE = frozenset(("isnan", "isinf", "isfinite"))
# div: true division (floats) or C division (ints); floordiv/floormod: rounding down; truncmod: C's remainder
_BINARY = "add sub mul div floordiv floormod truncmod pow max min atan2 and or xor bitand bitor bitxor shl shr"
BINARY = frozenset(_BINARY.split())
COMPARE = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))


class Expr:
    """One node: `op`, `args` (expressions), `dtype`, and `value` (constant, input number, index name, ...).

    ops: `const` (value: Python/NumPy scalar), `arg` (value: input number of the op),
    `index` (value: name of a loop variable, int32/int64), `load` (value: buffer key; args: (linear index,)),
    `rng` (value: (node id, word 0..3)), `philox` (args: key0, key1, ctr0, ctr1; value: word 0..3),
    `cast`, `bitcast`, `where` (condition, a, b), and the names in UNARY, PREDICATE, BINARY, COMPARE.
    """

    __slots__ = ("__weakref__", "args", "dtype", "op", "value")

    op: str
    args: tuple[Expr, ...]
    dtype: DType
    value: Any

    def __repr__(self) -> str:
        if self.op in ("const", "arg", "index"):
            return f"{self.op}({self.value})"
        tail = "" if self.value is None else f" {self.value}"
        return f"{self.op}{tail}({', '.join(map(repr, self.args))})"

    def __add__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("mul", other, self)

    def __truediv__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("div", other, self)

    def __floordiv__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("floordiv", self, other)

    def __mod__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("floormod", self, other)

    def __neg__(self) -> Expr:
        return unary("neg", self)

    def __lt__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("lt", self, other)

    def __le__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("le", self, other)

    def __gt__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("gt", self, other)

    def __ge__(self, other: Expr | complex | np.generic) -> Expr:
        return binary("ge", self, other)

    def __bool__(self) -> bool:
        raise InternalError(f"the expression {self!r} has no truth value; use scalar.where")


_UNIQUE: weakref.WeakValueDictionary[Any, Expr] = weakref.WeakValueDictionary()


def make(op: str, args: tuple[Expr, ...] = (), dtype: DType = float32, value: object | None = None) -> Expr:
    """The unique expression with these parts."""
    # repr keeps 0.0 and -0.0, 1 and True, and NaNs apart
    key = (op, args, dtype, repr(value) if op == "const" else value)
    found = _UNIQUE.get(key)
    if found is None:
        found = Expr()
        found.op, found.args, found.dtype, found.value = op, args, dtype, value
        found = _UNIQUE.setdefault(key, found)
    return found


def const(value: Any, dtype: DType) -> Expr:
    """A constant of `dtype`."""
    return make("const", (), dtype, dtype.np.type(value).item() if not dtype.is_string else value)


def wrapped(value: int, dtype: DType) -> Expr:
    """The constant of a signed integer type that `value` wraps to."""
    return const((value - dtype.min) % (1 << 8 * dtype.size) + dtype.min, dtype)


def arg(i: int, dtype: DType) -> Expr:
    """The element of the op's input `i`."""
    return make("arg", (), dtype, i)


def index(name: str, dtype: DType = int32) -> Expr:
    """A loop variable."""
    return make("index", (), dtype, name)


def load(buffer: Any, linear: Expr, dtype: DType) -> Expr:
    """The element of `buffer` at the linear index."""
    return make("load", (linear,), dtype, buffer)


def _wrap(x: Any, like: Expr) -> Expr:
    return x if isinstance(x, Expr) else const(x, like.dtype)


def unary(op: str, x: Expr) -> Expr:
    return make(op, (x,), bool_ if op in PREDICATE or op == "not" else x.dtype)


def binary(op: str, a: Any, b: Any) -> Expr:
    a = _wrap(a, b) if not isinstance(a, Expr) else a
    b = _wrap(b, a)
    if a.dtype is not b.dtype:
        if a.dtype in (int32, int64) and b.dtype in (int32, int64):  # index arithmetic widens
            a, b = cast(a, int64), cast(b, int64)
        else:
            raise InternalError(f"scalar {op} of {a.dtype.name} and {b.dtype.name}")
    if op in ("add", "mul", "max", "min", "and", "or") and a.op == "const" and b.op != "const":
        a, b = b, a  # constants stand right, so equal sums are one expression
    folded = _fold_index(op, a, b)
    if folded is not None:
        return folded
    return make(op, (a, b), bool_ if op in COMPARE or op in ("and", "or", "xor") else a.dtype)


def _fold_index(op: str, a: Expr, b: Expr) -> Expr | None:
    """Integer identities, so that index arithmetic stays small."""
    if a.dtype not in (int32, int64) or b.op != "const":
        return None
    v = b.value
    if a.op == "const" and op in ("add", "sub", "mul"):
        return wrapped({"add": a.value + v, "sub": a.value - v, "mul": a.value * v}[op], a.dtype)
    if a.op == "const" and op in ("floordiv", "floormod") and v > 0:
        return const(a.value // v if op == "floordiv" else a.value % v, a.dtype)
    if (op in ("add", "sub") and v == 0) or (op in ("mul", "floordiv") and v == 1):
        return a
    if (op == "mul" and v == 0) or (op == "floormod" and v == 1):
        return const(0, a.dtype)
    return None


def cast(x: Expr, dtype: DType) -> Expr:
    """Value conversion as C's (float to int truncates; to bool: != 0)."""
    if x.dtype is dtype:
        return x
    if x.op == "const" and x.dtype in (int32, int64) and dtype in (int32, int64):
        return const(x.value, dtype)
    return make("cast", (x,), dtype)


def position(x: Expr, size: int) -> Expr:
    """The integer `x` as an index into `size` elements: an int, or a long where an int does not hold all of them."""
    return cast(x, int32 if size <= 2**31 - 1 else int64)


def bitcast(x: Expr, dtype: DType) -> Expr:
    """The same bits as another type of the same size."""
    return x if x.dtype is dtype else make("bitcast", (x,), dtype)


def where(condition: Expr, a: Any, b: Any) -> Expr:
    a = a if isinstance(a, Expr) else const(a, b.dtype)
    return make("where", (condition, a, _wrap(b, a)), a.dtype)


def rng(node: Any, word: int) -> Expr:
    """Word 0..3 of the runtime state of a random node: key0, key1, call number, 0 (uint32)."""
    return make("rng", (), uint32, (node, word))


def philox(key0: Expr, key1: Expr, ctr0: Expr, ctr1: Expr, word: int) -> Expr:
    """Word 0..3 of Philox-4x32-10 at counter (ctr0, ctr1, 0, 0); all uint32."""
    return make("philox", (key0, key1, ctr0, ctr1), uint32, word)


def walk(*roots: Expr) -> list[Expr]:
    """All expressions reachable from `roots`, operands before users, each once."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        e, expanded = stack.pop()
        if expanded:
            order.append(e)
            continue
        if e in seen:
            continue
        seen.add(e)
        stack.append((e, True))
        stack.extend((a, False) for a in reversed(e.args) if a not in seen)
    return order


def rebuild(e: Expr, args: tuple[Expr, ...]) -> Expr:
    """`e` over other operands; index arithmetic is simplified on the way."""
    if args == e.args:
        return e
    if e.op in BINARY or e.op in COMPARE:
        return binary(e.op, args[0], args[1])
    if e.op == "cast":
        return cast(args[0], e.dtype)
    return make(e.op, args, e.dtype, e.value)


def substitute(root: Expr, table: dict[Expr, Expr]) -> Expr:
    """`root` with every key of `table` replaced by its value."""
    done: dict[Expr, Expr] = dict(table)
    for e in walk(root):
        if e not in done:
            done[e] = rebuild(e, tuple(done[a] for a in e.args))
    return done[root]


def _unary(name: str) -> Any:
    def f(x: Expr) -> Expr:
        return unary(name, x)

    f.__name__ = name
    f.__doc__ = f"The element's `{name}`."
    return f


def conj(x: Expr) -> Expr:
    """The complex conjugate; a real element as it is."""
    return unary("conj", x) if x.dtype.is_complex else x


neg, abs_, exp, expm1, log, log1p = map(_unary, ("neg", "abs", "exp", "expm1", "log", "log1p"))
sqrt, rsqrt, tanh, sigmoid, recip = map(_unary, ("sqrt", "rsqrt", "tanh", "sigmoid", "recip"))
sin, cos, tan, asin, acos, atan = map(_unary, ("sin", "cos", "tan", "asin", "acos", "atan"))
sinh, cosh, asinh, acosh, atanh = map(_unary, ("sinh", "cosh", "asinh", "acosh", "atanh"))
erf, erfc, erfinv, lgamma, digamma = map(_unary, ("erf", "erfc", "erfinv", "lgamma", "digamma"))
floor, ceil, rint, sign = map(_unary, ("floor", "ceil", "rint", "sign"))
isnan, isinf, isfinite = map(_unary, ("isnan", "isinf", "isfinite"))
not_, bitnot = map(_unary, ("not", "bitnot"))


def _binary(name: str) -> Any:
    def f(a: Expr | complex | np.generic, b: Expr | complex | np.generic) -> Expr:
        return binary(name, a, b)

    f.__name__ = name
    f.__doc__ = f"The elements' `{name}`; one operand may be a Python number."
    return f


add, sub, mul, div = map(_binary, ("add", "sub", "mul", "div"))
floordiv, floormod, truncmod, pow_ = map(_binary, ("floordiv", "floormod", "truncmod", "pow"))
maximum, minimum, atan2 = map(_binary, ("max", "min", "atan2"))
lt, le, gt, ge, eq, ne = map(_binary, ("lt", "le", "gt", "ge", "eq", "ne"))
and_, or_ = map(_binary, ("and", "or"))
bitand, bitor, bitxor, shl, shr = map(_binary, ("bitand", "bitor", "bitxor", "shl", "shr"))
