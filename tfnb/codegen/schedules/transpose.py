"""Transposing kernels: pointwise work in which some operand is read across its rows.

If a load is contiguous along another loop than the innermost one, square tiles are loaded along the rows of the source
and transposed in registers. The rest of the work is then done row by row. Invariant: every cache line of the source is
read once per tile, not once per element.
"""

from __future__ import annotations

from tfnb.codegen.fusion.inline import cost
from tfnb.codegen.fusion.nest import Loop, Nest
from tfnb.codegen.opencl_c.clexpr import INNER
from tfnb.codegen.opencl_c.ctypes import register_type, vector_lanes
from tfnb.codegen.opencl_c.emission import Generated, assemble, geometry
from tfnb.codegen.opencl_c.tree import Assign, Block, Call, Declare, For, Range, live_lanes, vector_loop
from tfnb.codegen.program import DeviceFacts
from tfnb.codegen.schedules.body import (
    Body,
    Stored,
    dtypes_of,
    extent,
    kernel_for,
    row_variables,
    split_loops,
)
from tfnb.ir.scalar import Expr, walk
from tfnb.sizes import typical

__all__ = ["emit_transpose"]

SMALL = 1024  # elements: for smaller domains a gather is as fast


def emit_transpose(nest: Nest, stores: list[Stored], facts: DeviceFacts) -> Generated | None:
    """Returns the tiled kernel of a region of which some operand is read across its rows; None for other regions."""
    across = _across(nest, [e for _, e in stores])
    if across is None or typical(extent(nest.loops)) < SMALL:
        return None
    row, loads = across
    kinds = dtypes_of([e for _, e in stores]) | {v.info.dtype for v, _ in stores}
    return _Tiled(nest, stores, row, loads, vector_lanes(kinds, facts)).emit(facts)


def _across(nest: Nest, exprs: list[Expr]) -> tuple[Loop, list[Expr]] | None:
    """Returns the outer loop along which some loads are contiguous, and these loads; None if there is no such loop."""
    if len(nest.loops) < 2 or typical(nest.loops[-1].extent) < 4:
        return None
    ix, inner = nest.indexing, nest.loops[-1].name
    rows: set[str] = set()
    loads = []
    for e in walk(*exprs):
        if e.op != "load":
            continue
        terms = ix.affine(e.args[0]).terms
        if any(t.op != "index" for t in terms):
            continue
        steps = {str(t.value): c for t, c in terms.items()}
        if abs(steps.get(inner, 0)) < 2:
            continue
        unit = [name for name, c in steps.items() if c == 1]
        if len(unit) != 1 or steps[inner] < 0:
            return None
        rows.add(unit[0])
        loads.append(e)
    if len(rows) != 1:
        return None
    row = next(n for n in nest.loops if n.name in rows)
    return (row, loads) if typical(row.extent) >= 4 else None


class _Tiled:
    """One kernel over tiles of `row` and the innermost loop."""

    def __init__(self, nest: Nest, stores: list[Stored], row: Loop, loads: list[Expr], lanes: int) -> None:
        self.nest, self.stores, self.row, self.loads, self.lanes = nest, stores, row, loads, lanes
        self.kernel = kernel_for(nest, stores)
        outer, self.inner = split_loops(nest.loops)
        self.others = tuple(n for n in outer if n is not row)
        levels: dict[object, int] = {n.name: 1 for n in self.others}
        levels |= {row.name: 2, self.inner.name: INNER}
        self.body = Body(self.kernel, nest, levels, lanes)
        self.body.printer.count(e for _, e in stores)
        self.middle: Block = []
        self.body.printer.open(2, self.middle)

    def emit(self, facts: DeviceFacts) -> Generated:
        kernel, lanes, i, t = self.kernel, self.lanes, self.inner.name, self.row.name
        kind = kernel.index_type
        inner = self.body.open_inner()
        tiles = [statement for k, e in enumerate(self.loads) for statement in self._tile(k, e)]
        self.body.store(self.stores)
        blocks = -(-self.row.extent // lanes)
        n, rows = kernel.extent(self.inner), kernel.extent(self.row)
        tasks, n_blocks = extent(self.others) * blocks, kernel.size(blocks, "n_blocks")
        head = row_variables(kernel, self.others, "row") if self.others else []
        each_row = For("int", "k", "0", "rows", "1", [Declare(kind, t, "first + k"), *self.middle, *inner])
        task = "task"
        place: Block = []
        work: Block = [vector_loop(kind, i, "0", n, lanes, [*tiles, each_row])]
        if facts.kind == "gpu":  # a task is one tile, so that neighbouring work-items access neighbouring memory
            columns = -(-self.inner.extent // lanes)
            tasks, n_columns = tasks * columns, kernel.size(columns, "n_columns")
            task, place = "block", [Declare(kind, "block", f"task / {n_columns}")]
            work = [Declare(kind, i, f"task % {n_columns} * {lanes}"), live_lanes(i, n, lanes), *tiles, each_row]
        statements = [
            *place,
            Declare(kind, "row", f"{task} / {n_blocks}"),
            *head,
            Declare(kind, "first", f"{task} % {n_blocks} * {lanes}"),
            Declare("int", "rows", f"LIVE({rows} - first, {lanes})"),
            *self.body.row,
            *work,
        ]
        loop = Range(kind, "task", kernel.size(tasks, "n_tasks"), 1, statements)
        operations = extent(self.nest.loops) * max(1, sum(cost(e) for _, e in self.stores) // 4)
        return assemble(kernel, [*self.body.top, loop], geometry(facts, tasks, operations))

    def _tile(self, k: int, load: Expr) -> Block:
        """Statements that load a tile and transpose it. The rows of the transposed tile are the values of the load."""
        kernel, lanes, name = self.kernel, self.lanes, f"tile{k}"
        form = self.nest.indexing.affine(load.args[0])
        pointer, parts = kernel.pointer(load.value), []
        for atom, c in form.terms.items():
            at = str(atom.value)
            if at == self.row.name:
                parts.append("first")
                continue
            if at == self.inner.name:
                at = f"min({at} + r, {kernel.extent(self.inner)} - 1)"
            parts.append(at if c == 1 else f"{at} * {self.body.printer.stride(pointer, atom, c, {})}")
        if form.const:
            parts.append(kernel.size(form.const, f"{pointer}_offset"))
        kind = register_type(load.dtype)
        read = kernel.read_vector(pointer, " + ".join(parts), load.dtype, lanes)
        kernel.need("fused/transpose.clh", kind, lanes)
        value = kernel.fresh("x")
        self.body.inner.append(Declare(f"{kind}{lanes}", value, f"{name}[k]"))
        self.body.printer.names[INNER][load] = value
        return [
            Declare(f"{kind}{lanes}", name, length=lanes),
            For("int", "r", "0", str(lanes), "1", [Assign(f"{name}[r]", read)]),
            Call("transpose", (name,)),
        ]
