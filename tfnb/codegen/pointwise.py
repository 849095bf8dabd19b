"""Pointwise kernels: every output element from elements of the inputs, one pass over the domain.

The innermost loop is vectorised, the outer ones are walked as rows. Invariant: each output element is written
once, after everything of its vector was read, so an output may lie where an input lay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tfnb.codegen.clexpr import INNER, Printer
from tfnb.codegen.ctypes import vector_lanes
from tfnb.codegen.emission import Generated, assemble, geometry, indent
from tfnb.codegen.group import Group
from tfnb.codegen.inline import cost
from tfnb.codegen.kerneltext import KernelText
from tfnb.codegen.nest import Loop, Nest, make_nest
from tfnb.codegen.pieces import Region
from tfnb.codegen.program import DeviceFacts
from tfnb.codegen.segments import Segment, split_segments
from tfnb.codegen.values import Value
from tfnb.ir import scalar as s
from tfnb.ir.scalar import Expr, walk

__all__ = [
    "Store", "biggest", "dtypes_of", "emit_pointwise", "extent", "nest_of", "row_variables", "split_loops",
    "stores_of",
]  # fmt: skip

Store = tuple[Value, Expr]


def stores_of(group: Group, needed: frozenset[object]) -> list[Store]:
    """What the members write over the whole domain."""
    return [
        (v, e)
        for m, es, full in zip(group.members, group.exprs, group.full, strict=True)
        if full and not m.reduces
        for v, e in zip(m.values, es, strict=True)
        if v in needed
    ]


def dtypes_of(exprs: list[Expr]) -> set[object]:
    """The dtypes of what is loaded or computed per element; index arithmetic does not count."""
    found = set()
    for e in walk(*exprs):
        if e.op not in ("index", "const", "local") and not (e.dtype.is_integer and e.args and _index_only(e)):
            found.add(e.dtype)
    return found


def _index_only(e: Expr) -> bool:
    return e.op != "load" and all(x.op in ("index", "const") or x.args for x in walk(e)) and not any(
        x.op in ("load", "local", "rng") for x in walk(e)
    )


def biggest(group: Group) -> int:
    """The largest number of elements any array of the group has."""
    values = [v for m in group.members for v in m.values] + list(group.reads)
    size = 1
    for n in group.domain:
        size *= n
    return max([size, *(v.info.size for v in values)])


def extent(loops: Iterable[Loop]) -> int:
    """The number of iterations of nested loops."""
    n = 1
    for loop in loops:
        n *= loop.extent
    return n


def split_loops(loops: tuple[Loop, ...]) -> tuple[tuple[Loop, ...], Loop]:
    """The outer loops and the innermost one, which always exists."""
    return (loops[:-1], loops[-1]) if loops else ((), Loop("i0", 1, False))


def row_variables(kernel: KernelText, loops: tuple[Loop, ...], row: str) -> list[str]:
    """Statements that make the variables of `loops` from their joint number `row`."""
    if len(loops) == 1:
        return [f"int {loops[0].name} = {row};"] if not kernel.wide else [f"long {loops[0].name} = {row};"]
    kind, lines, rest = "long" if kernel.wide else "int", [], row
    for k, loop in reversed(list(enumerate(loops))):
        if k == 0:
            lines.append(f"{kind} {loop.name} = {rest};")
        else:
            n = kernel.size(loop.extent)
            lines.append(f"{kind} {loop.name} = {rest} % {n};")
            name = f"{row}_{k}"
            lines.append(f"{kind} {name} = {rest} / {n};")
            rest = name
    return lines


def nest_of(region: Region) -> tuple[Nest, list[Store]]:
    """The merged nest of a region, and its stores over it."""
    nest = make_nest(region.domain, (), [e for _, e in region.stores], region.limit, region.at)
    return nest, [(v, e) for (v, _), e in zip(region.stores, nest.exprs, strict=True)]


def emit_pointwise(nest: Nest, stores: list[Store], facts: DeviceFacts) -> Generated:
    """The kernel of a pointwise group over a region of its domain."""
    kernel = KernelText(wide=nest.dtype is s.int64)
    lanes = 1 if not nest.loops else vector_lanes(dtypes_of([e for _, e in stores]) | {v.info.dtype for v, _ in stores})
    outer, inner = split_loops(nest.loops)
    size = extent(nest.loops)
    work = size * max(1, sum(cost(e) for _, e in stores) // 4)
    shape = geometry(facts, -(-size // lanes), work)
    touched = _touched(stores, size)
    if not nest.loops:
        return replace(_emit_scalar(kernel, nest, stores, shape), touched=touched)
    body = Body(kernel, nest, {n.name: 1 for n in outer} | {inner.name: INNER}, lanes, stores)
    segments = split_segments(nest, inner, stores)
    flat = not outer and len(segments) == 1
    lines = _flat(body, inner) if flat else _rows(body, outer, inner, shape.items, segments)
    return replace(assemble(kernel, [*body.top, *lines], shape, body.aligned(stores)), touched=touched)


def _touched(stores: list[Store], size: int) -> dict[Value, int]:
    """Bytes that `size` iterations can read of what is larger: rows by number, out of a table."""
    loads = Counter(x.value for x in walk(*[e for _, e in stores]) if x.op == "load")
    read = {v: n * size * v.info.dtype.size for v, n in loads.items()}
    written = {v for v, _ in stores}
    return {v: n for v, n in read.items() if n < v.info.nbytes and v not in written}


class Body:
    """The printer of a nest with its scopes: `top` (once), `row` (per row) and `inner` (per vector)."""

    def __init__(
        self, kernel: KernelText, nest: Nest, levels: dict[object, int], lanes: int, stores: list[Store]
    ) -> None:
        self.kernel, self.nest, self.lanes = kernel, nest, lanes
        self.printer = Printer(kernel, nest.indexing, levels, lanes)
        self.top: list[str] = []
        self.row: list[str] = []
        self.inner: list[str] = []
        self.printer.open(0, self.top)
        self.printer.open(1, self.row)
        self.printer.inner = split_loops(nest.loops)[1].name
        self.stores = stores

    def open_inner(self) -> list[str]:
        self.inner = []
        self.printer.open(INNER, self.inner)
        return self.inner

    def store(self, stores: list[Store]) -> None:
        """Computes all values, then writes them."""
        terms = [self.printer.broadcast(e) for _, e in stores]
        at = self.printer.position(self.nest.at, INNER, raw=True)
        for (value, _), text in zip(stores, terms, strict=True):
            pointer = self.kernel.pointer(value, written=True)
            self.inner.append(self.kernel.write(pointer, at, text, value.info.dtype, self.lanes, "live"))

    def aligned(self, stores: list[Store]) -> frozenset[Value]:
        """Values read only at the element that is written."""
        at: dict[Value, bool] = {}
        for load in (x for _, e in stores for x in walk(e) if x.op == "load"):
            at[load.value] = at.get(load.value, True) and load.args[0] is self.nest.at
        return frozenset(v for v, same in at.items() if same)


def _flat(body: Body, inner: Loop) -> list[str]:
    body.printer.count(e for _, e in body.stores)
    body.open_inner()
    body.store(body.stores)
    n, i, kind = body.kernel.size(inner.extent), inner.name, "long" if body.kernel.wide else "int"
    return [
        f"RANGE({kind}, {i}, {n}, {body.lanes}) {{",
        f"    int live = LIVE({i}_end - {i}, {body.lanes});",
        *indent(body.inner),
        "}",
    ]


def _rows(body: Body, outer: tuple[Loop, ...], inner: Loop, items: int, segments: list[Segment]) -> list[str]:
    """Rows are tasks; where rows are few, so are their blocks."""
    kernel, kind = body.kernel, "long" if body.kernel.wide else "int"
    rows = extent(outer)
    blocks = 1 if rows >= 2 * items else min(-(-2 * items // rows), -(-inner.extent // (16 * body.lanes)))
    block = -(-inner.extent // blocks)
    block = -(-block // body.lanes) * body.lanes if blocks > 1 else block
    n, per = kernel.size(inner.extent), kernel.size(block)
    tasks = kernel.size(rows * blocks)
    body.row.extend(row_variables(kernel, outer, "row") if outer else [])
    loops = [line for segment in segments for line in _segment(body, inner, segment)]
    head = [f"{kind} row = task / {kernel.size(blocks)};"] if blocks > 1 else [f"{kind} row = task;"]
    start = f"task % {kernel.size(blocks)} * {per}" if blocks > 1 else "0"
    end = f"min({n}, begin + {per})" if blocks > 1 else n
    return [
        f"RANGE({kind}, task, {tasks}, 1) {{",
        *indent([*head, *body.row]),
        f"    {kind} begin = {start};",
        f"    {kind} end = {end};",
        *indent(loops),
        "}",
    ]


def _segment(body: Body, inner: Loop, segment: Segment) -> list[str]:
    """The loop over one segment of the innermost dimension."""
    kernel, kind, i, lanes = body.kernel, "long" if body.kernel.wide else "int", inner.name, body.lanes
    body.printer.indexing = segment.indexing
    body.printer.count(e for _, e in segment.stores)
    body.open_inner()
    body.store(segment.stores)
    begin = f"max(begin, {kernel.size(segment.begin)})" if segment.begin else "begin"
    end, lines = "end", []
    if segment.end < inner.extent:
        end = kernel.fresh()
        lines.append(f"{kind} {end} = min(end, {kernel.size(segment.end)});")
    return [
        *lines,
        f"for ({kind} {i} = {begin}; {i} < {end}; {i} += {lanes}) {{",
        f"    int live = LIVE({end} - {i}, {lanes});",
        *indent(body.inner),
        "}",
    ]


def _emit_scalar(kernel: KernelText, nest: Nest, stores: list[Store], shape: object) -> Generated:
    """A kernel of scalars: one work-item, no loop."""
    printer = Printer(kernel, nest.indexing, {}, 1)
    lines: list[str] = []
    printer.open(0, lines)
    printer.count(e for _, e in stores)
    terms = [printer.term(e) for _, e in stores]
    at = printer.position(nest.at, 0)
    for (value, _), text in zip(stores, terms, strict=True):
        lines.append(kernel.write(kernel.pointer(value, True), at, text, value.info.dtype, 1, ""))
    head = ["if (get_global_id(0))", "    return;"]
    return assemble(kernel, [*head, *lines], geometry(DeviceFacts(), 1, 1))
