"""Bodies of generated kernels, for all schedules: the printer of a nest with its scopes, and its loop variables.

Invariant: a body computes all values of a vector before it writes any of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from tfnb.codegen.fusion.nest import Loop, Nest
from tfnb.codegen.fusion.values import Value
from tfnb.codegen.opencl_c.clexpr import INNER, Printer
from tfnb.codegen.opencl_c.kerneltext import KernelText
from tfnb.codegen.opencl_c.tree import Block, Declare
from tfnb.ir.scalar import Expr, walk
from tfnb.sizes import AnySize, smallest, typical
from tfnb.types import DType, int64

__all__ = ["Body", "Stored", "dtypes_of", "extent", "kernel_for", "row_variables", "split_loops", "touched"]

Stored = tuple[Value, Expr]  # an array, and the expression of its elements


def kernel_for(nest: Nest, stores: Iterable[Stored]) -> KernelText:
    """Returns a new kernel over a nest, which will write the arrays of `stores`."""
    return KernelText(nest.dtype is int64, frozenset(v.memory for v, _ in stores))


class Body:
    """The printer of a nest and its scopes, run once (`top`), for each row (`row`) and for each vector (`inner`)."""

    def __init__(self, kernel: KernelText, nest: Nest, levels: dict[object, int], lanes: int) -> None:
        self.kernel, self.nest, self.lanes = kernel, nest, lanes
        self.printer = Printer(kernel, nest, levels, lanes)
        self.top: Block = []
        self.row: Block = []
        self.inner: Block = []
        self.printer.open(0, self.top)
        self.printer.open(1, self.row)
        self.printer.inner = split_loops(nest.loops)[1].name

    def open_inner(self) -> Block:
        """Begins a new body of the innermost loop."""
        self.inner = []
        self.printer.open(INNER, self.inner)
        return self.inner

    def store(self, stores: list[Stored], position: Expr | None = None) -> None:
        """Computes all values, then writes them, at the position of the nest or at the given one."""
        texts = [self.printer.broadcast(e) for _, e in stores]
        at = self.printer.position(self.nest.at if position is None else position, INNER, "out", raw=True)
        for (value, _), value_text in zip(stores, texts, strict=True):
            pointer = self.kernel.pointer(value)
            self.inner.append(self.kernel.write(pointer, at, value_text, value.info.dtype, self.lanes, "live"))

    def aligned(self, stores: list[Stored]) -> frozenset[Value]:
        """Returns the values that are read only at the element that is written."""
        aligned_by_value: dict[Value, bool] = {}
        for load in (x for _, e in stores for x in walk(e) if x.op == "load"):
            aligned_by_value[load.value] = aligned_by_value.get(load.value, True) and load.args[0] is self.nest.at
        return frozenset(v for v, is_aligned in aligned_by_value.items() if is_aligned)


def dtypes_of(exprs: list[Expr]) -> set[DType]:
    """Returns the dtypes of the values that are loaded or computed for each element, except in index arithmetic."""
    dtypes = set()
    for e in walk(*exprs):
        if e.op not in ("index", "const", "local") and not (e.dtype.is_integer and e.args and _index_only(e)):
            dtypes.add(e.dtype)
    return dtypes


def _index_only(e: Expr) -> bool:
    return (
        e.op != "load"
        and all(x.op in ("index", "const") or x.args for x in walk(e))
        and not any(x.op in ("load", "local", "rng") for x in walk(e))
    )


def extent(loops: Iterable[Loop]) -> int:
    """Returns the number of iterations of nested loops."""
    n = 1
    for loop in loops:
        n *= loop.extent
    return n


def touched(exprs: Iterable[Expr], written_values: Collection[Value], size: AnySize) -> dict[Value, AnySize]:
    """Returns the most bytes that `size` iterations can read of larger arrays, as rows of a table by their numbers."""
    loads = Counter(x.value for x in walk(*exprs) if x.op == "load")
    nbytes = {v: n * size * v.info.dtype.size for v, n in loads.items()}
    return {
        v: smallest(n, v.info.nbytes)
        for v, n in nbytes.items()
        if typical(n) < typical(v.info.nbytes) and v not in written_values
    }


def split_loops(loops: tuple[Loop, ...]) -> tuple[tuple[Loop, ...], Loop]:
    """Returns the outer loops and the innermost one; a nest without loops has one of a single iteration."""
    return (loops[:-1], loops[-1]) if loops else ((), Loop("i0", 1, False))


def row_variables(kernel: KernelText, loops: tuple[Loop, ...], row: str) -> Block:
    """Declarations of the variables of `loops`, computed from the number `row` of the iteration of all of them."""
    kind, rest = kernel.index_type, row
    lines: Block = []
    for k, loop in reversed(list(enumerate(loops))):
        if k == 0:
            lines.append(Declare(kind, loop.name, rest))
        else:
            n = kernel.extent(loop)
            lines.append(Declare(kind, loop.name, f"{rest} % {n}"))
            rest, quotient = f"{row}_{k}", rest
            lines.append(Declare(kind, rest, f"{quotient} / {n}"))
    return lines
