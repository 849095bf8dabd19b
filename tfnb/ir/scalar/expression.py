"""Scalar expressions: the arithmetic of one element of a tensor, hash-consed and pure.

An elementwise op is written once as an expression. The host evaluates the expression with NumPy (`host.py`); the code
generator prints it as OpenCL C, and fuses neighbouring ops by substituting one expression into another.
Invariant: expressions are acyclic, immutable and unique: equal expressions are the same object.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tfnb.errors import InternalError
from tfnb.sizes import AnySize, Size
from tfnb.types import DType, float32, int32, int64, uint32

__all__ = [
    "PRIMITIVES",
    "Binary",
    "CForm",
    "Expr",
    "Library",
    "Primitive",
    "Unary",
    "arg",
    "bitcast",
    "cast",
    "const",
    "index",
    "load",
    "make",
    "philox",
    "position",
    "rebuild",
    "rng",
    "substitute",
    "walk",
    "where",
    "wrapped",
]


class Expr:
    """One node: the operation `op`, its operands `args`, the `dtype` of its value, and a `value` of the node's own.

    `op` is the name of a primitive (`PRIMITIVES`) or one of these:

    - `const`: `value` is the constant, a number of Python or NumPy, or bytes.
    - `arg`: an element of the op's input number `value`.
    - `index`: the loop variable of the name `value`, an int32 or int64.
    - `load`: an element of the array `value`; the operands are its index.
    - `rng`: a word of the state of a random node; `value` is the pair (node, number of the word, 0 to 3).
    - `philox`: a random word; the operands are key0, key1, counter0 and counter1, `value` is the word's number.
    - `cast`, `bitcast`: the operand as another dtype, by value or by its bits.
    - `where`: the operands are a condition, the value where it is true, and the value where it is false.

    Code generation has further ones of its own (`codegen/fusion/values.py`). `depth` is the number of nodes on the
    longest path from this node to one without operands. `loads` is what `codegen` has determined to be the loads in
    the expression, or None.
    """

    __slots__ = ("__weakref__", "args", "depth", "dtype", "loads", "op", "value")

    op: str
    args: tuple[Expr, ...]
    depth: int
    dtype: DType
    loads: tuple[Expr, ...] | None
    value: Any

    def __repr__(self) -> str:
        if self.op in ("const", "arg", "index"):
            return f"{self.op}({self.value})"
        tail = "" if self.value is None else f" {self.value}"
        return f"{self.op}{tail}({', '.join(map(repr, self.args))})"

    def __add__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["add"], self, other)

    def __radd__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["add"], other, self)

    def __sub__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["sub"], self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["sub"], other, self)

    def __mul__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["mul"], self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["mul"], other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["div"], self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["div"], other, self)

    def __floordiv__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["floordiv"], self, other)

    def __mod__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["floormod"], self, other)

    def __neg__(self) -> Expr:
        return make("neg", (self,), self.dtype)

    def __lt__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["lt"], self, other)

    def __le__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["le"], self, other)

    def __gt__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["gt"], self, other)

    def __ge__(self, other: Operand) -> Expr:
        return _binary(PRIMITIVES["ge"], self, other)

    def __bool__(self) -> bool:
        raise InternalError(f"the expression {self!r} has no truth value; use scalar.where")


@dataclass(frozen=True, slots=True)
class Library:
    """A file of `kernels_cl` with the function `t_NAME`, for each type and width that it is compiled for."""

    file: str


Operand = Expr | complex | np.generic | Size
"""What an expression is made of: an expression, or a number that becomes a constant of the other operand's dtype."""

CForm = str | Library
"""What OpenCL C writes: a text with {0} and {1} for the operands, or a call of a library's function."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Primitive:
    """An operation on scalars: its value by NumPy, its text in OpenCL C and in Python, and its cost.

    This is all that evaluation and code generation need, so that a primitive is added by one line of `primitives.py`.
    """

    operands: ClassVar[int]

    name: str = field(kw_only=False)
    host: Callable[..., np.ndarray] = field(kw_only=False)
    """Computes the value of arrays, which NumPy broadcasts."""
    result: DType | None = None
    """The dtype of the value; None stands for that of the operands."""
    commutes: bool = False
    """Whether the operands may be exchanged, so that a constant always stands right."""
    cost: int = 1
    """About how many additions the primitive takes."""

    infix: str = ""
    """The operator of OpenCL C, if there is one for elements of all types."""
    floats: CForm | None = None
    """The form of OpenCL C for floats."""
    integers: CForm | None = None
    """The form for integers and bools."""
    doubles: CForm | None = None
    """The form for float64, where it is not that of other floats."""
    vectors: CForm | None = None
    """The form for vectors whose lanes have at most 32 bits, where it is not that of one element."""
    by_constant: Mapping[float | None, str] = field(default_factory=dict)
    """The texts for floats whose second operand is a constant: by its value, and under None for all others but NaN."""
    unsigned: str = ""
    """The operator with which integers that may leave their type are computed as unsigned ones, which wrap."""

    python: str = ""
    """The text of Python, with {0} and {1} for the operands. Without one, loops over scalars call `host`."""

    repeats: bool = field(init=False)
    """Whether a text names an operand twice. What is expensive then becomes a local first."""

    def __post_init__(self) -> None:
        if self.name in PRIMITIVES:
            raise InternalError(f"there are two primitives of the name {self.name!r}")
        PRIMITIVES[self.name] = self
        texts = (self.floats, self.integers, self.doubles, self.vectors, *self.by_constant.values())
        repeats = any(isinstance(t, str) and max(t.count("{0}"), t.count("{1}")) > 1 for t in texts)
        object.__setattr__(self, "repeats", repeats)


class Unary(Primitive):
    """A primitive with one operand; a call makes the expression."""

    __slots__ = ()
    operands = 1

    def __call__(self, x: Expr) -> Expr:
        return make(self.name, (x,), self.result or x.dtype)


class Binary(Primitive):
    """A primitive with two operands, one of which may be a number; a call makes the expression."""

    __slots__ = ()
    operands = 2

    def __call__(self, a: Operand, b: Operand) -> Expr:
        return _binary(self, a, b)


PRIMITIVES: dict[str, Primitive] = {}
"""All primitives by name: `primitives.py` makes them, and each enters itself."""


_UNIQUE: weakref.WeakValueDictionary[Any, Expr] = weakref.WeakValueDictionary()


def make(op: str, args: tuple[Expr, ...] = (), dtype: DType = float32, value: object | None = None) -> Expr:
    """Returns the unique expression with these parts."""
    # Equal keys must mean equal constants: repr distinguishes 0.0 from -0.0 and 1 from True, and makes NaNs equal. A
    # size is equal to the same formula only.
    key = (op, args, dtype, repr(value) if op == "const" and not isinstance(value, Size) else value)
    expr = _UNIQUE.get(key)
    if expr is None:
        expr = Expr()
        expr.op, expr.args, expr.dtype, expr.value, expr.loads = op, args, dtype, value, None
        expr.depth = 1 + max([a.depth for a in args]) if args else 1
        expr = _UNIQUE.setdefault(key, expr)
    return expr


def const(value: complex | np.generic | bytes | Size, dtype: DType) -> Expr:
    """Returns the constant `value`, converted to `dtype`; the value of a string is bytes."""
    if isinstance(value, Size):
        return _size(value, dtype)
    return make("const", (), dtype, dtype.np.type(value).item() if not dtype.is_string else value)


def _size(value: Size, dtype: DType) -> Expr:
    """Returns the constant of a size: a number of type `dtype`, which kernels get as an argument."""
    if dtype not in (int32, int64):
        return cast(_size(value, int32 if value <= int32.max else int64), dtype)
    return make("const", (), dtype, value) if dtype.min <= value <= dtype.max else const(int(value), dtype)


def wrapped(value: AnySize, dtype: DType) -> Expr:
    """Returns the constant of the signed integer type `dtype` that `value` becomes when it wraps."""
    if isinstance(value, Size) and dtype.min <= value <= dtype.max:
        return const(value, dtype)
    return const((value - dtype.min) % (1 << 8 * dtype.size) + dtype.min, dtype)


def arg(i: int, dtype: DType) -> Expr:
    """Returns the element of the op's input number `i`."""
    return make("arg", (), dtype, i)


def index(name: str, dtype: DType = int32) -> Expr:
    """Returns the loop variable `name`."""
    return make("index", (), dtype, name)


def load(buffer: object, linear: Expr, dtype: DType) -> Expr:
    """Returns the element of `buffer` at the linear index."""
    return make("load", (linear,), dtype, buffer)


def _binary(primitive: Primitive, a: Operand, b: Operand) -> Expr:
    """Returns the expression of a primitive with two operands, one of which may be a number."""
    op = primitive.name
    if not isinstance(a, Expr):
        if not isinstance(b, Expr):
            raise InternalError(f"scalar {op} of the numbers {a!r} and {b!r}; one operand must be an expression")
        a = const(a, _holding(a, b.dtype))
    elif not isinstance(b, Expr):
        b = const(b, _holding(b, a.dtype))
    if a.dtype is not b.dtype:
        if a.dtype in (int32, int64) and b.dtype in (
            int32,
            int64,
        ):  # in index arithmetic the narrower operand becomes an int64
            a, b = cast(a, int64), cast(b, int64)
        else:
            raise InternalError(f"scalar {op} of {a.dtype.name} and {b.dtype.name}")
    if primitive.commutes and a.op == "const" and b.op != "const":
        a, b = b, a  # constants are on the right, so that equal sums are one expression
    folded = _fold_index(op, a, b)
    if folded is not None:
        return folded
    return make(op, (a, b), primitive.result or a.dtype)


def _holding(number: complex | np.generic | Size, dtype: DType) -> DType:
    """Returns the dtype of a number beside an operand of type `dtype`: int64 for int32, if the number needs it.

    Such a number is a position in an array of 2**31 elements or more, where the loop variables are longs as well.
    """
    is_large = dtype is int32 and isinstance(number, (int, np.integer, Size)) and not int32.min <= number <= int32.max
    return int64 if is_large else dtype


def _fold_index(op: str, a: Expr, b: Expr) -> Expr | None:
    """Returns the simpler form of an integer expression, or None; this keeps index arithmetic small."""
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
    """Converts a value as C does: floats are truncated to integers, and a bool says whether the value is not 0."""
    if x.dtype is dtype:
        return x
    if x.op == "const" and x.dtype in (int32, int64) and dtype in (int32, int64):
        return const(x.value, dtype)
    return make("cast", (x,), dtype)


def position(x: Expr, size: int) -> Expr:
    """Returns the integer `x` as an index into `size` elements: an int32, or an int64 if the indices need one."""
    return cast(x, int32 if size <= 2**31 - 1 else int64)


def bitcast(x: Expr, dtype: DType) -> Expr:
    """Returns the same bits as another type of the same size."""
    return x if x.dtype is dtype else make("bitcast", (x,), dtype)


def where(condition: Expr, a: Operand, b: Operand) -> Expr:
    """Selects `a` where the condition, a bool, is true, and `b` elsewhere; `a` or `b` may be a number."""
    if not isinstance(a, Expr):
        if not isinstance(b, Expr):
            raise InternalError(f"scalar where of the numbers {a!r} and {b!r}; one operand must be an expression")
        a = const(a, b.dtype)
    elif not isinstance(b, Expr):
        b = const(b, a.dtype)
    return make("where", (condition, a, b), a.dtype)


def rng(node: int, word: int) -> Expr:
    """Returns a word of the runtime state of a random node, uint32: key0, key1, the number of the call, or 0."""
    return make("rng", (), uint32, (node, word))


def philox(key0: Expr, key1: Expr, ctr0: Expr, ctr1: Expr, word: int) -> Expr:
    """Returns word `word` (0 to 3) of Philox-4x32-10 at the counter (ctr0, ctr1, 0, 0); all are uint32."""
    return make("philox", (key0, key1, ctr0, ctr1), uint32, word)


def walk(*roots: Expr, known: Callable[[Expr], bool] | None = None) -> list[Expr]:
    """Returns all expressions that are reachable from `roots`, each once, and operands before their users.

    An expression for which `known` is true is returned, but what is reachable only through it is not.
    """
    order: list[Expr] = []
    seen: set[Expr] = set()
    stack: list[Expr | None] = list(reversed(roots))  # after None comes an expression whose operands have been returned
    while stack:
        e = stack.pop()
        if e is None:
            order.append(stack.pop())  # type: ignore[arg-type]
        elif e not in seen:
            seen.add(e)
            if not e.args or (known is not None and known(e)):
                order.append(e)
            else:
                stack += (e, None)
                stack += e.args[::-1]
    return order


def rebuild(e: Expr, args: tuple[Expr, ...]) -> Expr:
    """Returns `e` with other operands; index arithmetic is simplified again."""
    if args == e.args:
        return e
    primitive = PRIMITIVES.get(e.op)
    if primitive is not None and primitive.operands == 2:
        return _binary(primitive, args[0], args[1])
    if e.op == "cast":
        return cast(args[0], e.dtype)
    return make(e.op, args, e.dtype, e.value)


def substitute(root: Expr, table: dict[Expr, Expr]) -> Expr:
    """Returns `root`, in which every key of `table` is replaced by its value."""
    replacements: dict[Expr, Expr] = dict(table)
    for e in walk(root, known=table.__contains__):
        if e not in replacements:
            replacements[e] = rebuild(e, tuple(replacements[a] for a in e.args))
    return replacements[root]
