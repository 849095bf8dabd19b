"""Values and definitions: a specialised cluster in the form that fusion works on.

A `Value` is a dense array that may get memory. A `Definition` says how it is computed, as an expression of the element
at the loop variables i0, i1, ... Invariant: each computed value has one definition, and so has each version of a
variable after the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from tfnb.caches import remembered
from tfnb.ir import scalar as s
from tfnb.ir.kernelcall import KernelCall, KernelSite, Product, TensorInfo
from tfnb.ir.scalar import Expr, make
from tfnb.types import DType, bool_, float32, int32, int64, uint8

__all__ = [
    "LONG_FROM",
    "CallDef",
    "CopyDef",
    "Definition",
    "Lowered",
    "PointwiseDef",
    "ReduceDef",
    "Value",
    "View",
    "accumulator",
    "compute_dtype",
    "element",
    "literal",
    "loads_of",
    "size_of",
    "local",
    "param",
    "uniform_value",
]

Number = bool | int | float | np.generic
LONG_FROM = 2**31 - 64  # the number of elements from which on sizes and indices are long


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A dense array.

    `kind` is input, const or variable (number `index`), computed, or none for what is not in memory; `version` counts
    the writes of a variable.
    """

    number: int
    info: TensorInfo
    kind: str
    index: int = 0
    version: int = 0

    @property
    def memory(self) -> object:
        """The identity of the value's memory, which all versions of a variable share."""
        return ("variable", self.index) if self.kind == "variable" else self

    def __repr__(self) -> str:
        tail = f".{self.version}" if self.kind == "variable" else ""
        return f"<{self.kind} {self.number}{tail} {self.info.dtype.name}{self.info.shape}>"


@dataclass(frozen=True, slots=True)
class View:
    """The elements of `value` under another shape of the same size."""

    value: Value
    shape: tuple[int, ...]

    @property
    def info(self) -> TensorInfo:
        """The dtype and the shape of the view."""
        return TensorInfo(self.value.info.dtype, self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class PointwiseDef:
    """An elementwise definition: each element of `values[k]` is `bodies[k]`; all have the shape of the domain."""

    position: int
    nodes: tuple[int, ...]
    label: str
    values: tuple[Value, ...]
    bodies: tuple[Expr, ...]
    pinned: bool = False  # it must have memory of its own, because it is a snapshot

    @property
    def domain(self) -> tuple[int, ...]:
        """The shape over which the bodies are computed."""
        return self.values[0].info.shape


def accumulator(combine: str, dtype: DType, length: int) -> DType:
    """Returns the dtype of an accumulator of `length` elements of `dtype`; an index type for argmax and argmin."""
    if not combine.startswith("arg"):
        return dtype
    return int64 if length >= LONG_FROM else int32


@dataclass(frozen=True, slots=True, eq=False)
class ReduceDef:
    """A reduction: `body` is combined over `axes` of `domain`, and `values[0]` is `finish` of the result.

    `combine` is the name of a reduction of `ReduceSpec`. `finish` is an expression of `arg(0)`, whose dtype is that of
    the accumulator.
    """

    position: int
    nodes: tuple[int, ...]
    label: str
    values: tuple[Value, ...]
    domain: tuple[int, ...]
    axes: tuple[int, ...]
    combine: str
    body: Expr
    finish: Expr

    @property
    def accumulator(self) -> DType:
        """The dtype of the result before `finish`."""
        return accumulator(self.combine, self.body.dtype, prod(self.domain[a] for a in self.axes))


@dataclass(frozen=True, slots=True, eq=False)
class CallDef:
    """Launches of library kernels by an op.

    `ins` are the op's inputs, `outs` its outputs, and `values` all values that it computes, which are its outputs and
    the variables that it writes. With `takes_formulas`, the recipe answers for sizes that are formulas.
    """

    position: int
    nodes: tuple[int, ...]
    label: str
    values: tuple[Value, ...]
    ins: tuple[View, ...]
    outs: tuple[Value, ...]
    site: KernelSite
    recipe: Callable[[KernelSite], Sequence[KernelCall]]
    epilogue: bool
    bias: View | None = None
    takes_formulas: bool = False
    product: Product | None = None

    @property
    def reads(self) -> tuple[Value, ...]:
        """The values that must be in memory before: the inputs, and the bias that is added at the store."""
        return tuple(v.value for v in (*self.ins, *([] if self.bias is None else [self.bias])))


@dataclass(frozen=True, slots=True, eq=False)
class CopyDef:
    """The copy of `source` into the cluster output number `output`."""

    position: int
    nodes: tuple[int, ...]
    label: str
    source: View
    output: int
    values: tuple[Value, ...] = ()


Definition = PointwiseDef | ReduceDef | CallDef | CopyDef


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A lowered cluster: `definitions` in an order of data flow; `outputs[i]` is the view that is cluster output i.

    `behind[p]` is the bit set of positions whose nodes write variables and are ordered before the node at position p;
    `writers` maps (variable, version) to the position of the node that writes it.
    """

    definitions: Sequence[Definition]
    outputs: tuple[View, ...]
    consts: Sequence[np.ndarray]
    behind: Sequence[int]
    writers: Mapping[tuple[int, int], int]
    versions: Sequence[Value] = field(default_factory=list)  # the last version of each variable


def compute_dtype(dtype: DType) -> DType:
    """Returns the dtype in which elements of a dtype are computed: 16-bit floats are for storage only."""
    return float32 if dtype.is_floating and dtype.size == 2 else dtype


def element(view: View, idx: Sequence[Expr]) -> Expr:
    """Returns the element of a view at an index tuple."""
    return make("load", tuple(idx), view.value.info.dtype, view)


def local(name: object, dtype: DType) -> Expr:
    """Returns a value that the kernel holds in a local, such as the result of a reduction of the same row."""
    return make("local", (), dtype, name)


def param(value: float, dtype: DType) -> Expr:
    """Returns a number that kernels get as an argument, so that their text does not change with it."""
    return make("param", (), dtype, value)


def literal(value: Number, dtype: DType) -> Expr:
    """Returns a constant; 16-bit floats are rounded first."""
    if dtype is uint8 or not dtype.is_bool:
        return (
            s.const(value, dtype)
            if dtype.size != 2 or not dtype.is_floating
            else s.cast(s.const(float(value), float32), dtype)
        )
    return s.const(bool(value), bool_)


def uniform_value(array: np.ndarray) -> np.generic | None:
    """Returns the value that all elements have; None if the elements differ or if there are none."""
    if array.size == 0:
        return None
    first = array.flat[0]
    if array.size == 1:
        return first
    sample = array.reshape(-1)[:64]
    return first if bool((sample == first).all()) and bool((array == first).all()) else None


def loads_of(e: Expr) -> tuple[Expr, ...]:
    """Returns the loads in an expression, each once; those in an index come first.

    The expression keeps them, so that they are determined by parts where one expression is built from others.
    """
    if e.loads is None:
        loads: dict[Expr, None] = {}
        for x in s.walk(e, known=_has_loads):
            if x.loads is not None:
                loads.update(dict.fromkeys(x.loads))
            elif x.op == "load":
                loads[x] = None
        if e.op == "load":  # an expression that keeps itself would live until the garbage collector runs
            return tuple(loads)
        e.loads = tuple(loads)
    return e.loads


def _has_loads(e: Expr) -> bool:
    return e.loads is not None


@remembered("sizes of expressions", 8192)
def size_of(*roots: Expr) -> int:
    """Returns the number of distinct expressions that `roots` consist of."""
    return len(s.walk(*roots))
