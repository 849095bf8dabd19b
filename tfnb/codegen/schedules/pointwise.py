"""Pointwise kernels: one pass over the domain computes every output element from elements of the inputs.

The innermost loop is vectorised; an iteration of the outer ones is a row. Invariant: each output element is written
once, after all operands of its vector have been read, so an output may use the memory of an input.
"""

from __future__ import annotations

from dataclasses import replace

from tfnb.codegen.fusion.cuts import Region, Segment, split_segments
from tfnb.codegen.fusion.group import Group
from tfnb.codegen.fusion.inline import cost
from tfnb.codegen.fusion.nest import Loop, Nest, make_nest
from tfnb.codegen.opencl_c.clexpr import INNER, Printer
from tfnb.codegen.opencl_c.ctypes import vector_lanes
from tfnb.codegen.opencl_c.emission import Generated, Geometry, assemble, geometry
from tfnb.codegen.opencl_c.kerneltext import KernelText
from tfnb.codegen.opencl_c.tree import Block, Declare, If, Range, Return, live_lanes, vector_loop
from tfnb.codegen.program import DeviceFacts
from tfnb.codegen.schedules.body import (
    Body,
    Stored,
    dtypes_of,
    extent,
    kernel_for,
    row_variables,
    split_loops,
    touched,
)
from tfnb.sizes import AnySize, largest, plain, same, smallest, typical

__all__ = ["biggest", "emit_pointwise", "nest_of", "stores_of"]


def stores_of(group: Group, needed: frozenset[object]) -> list[Stored]:
    """Returns the values that the members write over the whole domain, with their expressions."""
    return [
        (v, e)
        for m, es, full in zip(group.members, group.exprs, group.full, strict=True)
        if full and not m.reduces
        for v, e in zip(m.values, es, strict=True)
        if v in needed
    ]


def biggest(group: Group) -> int:
    """Returns the number of elements of the group's largest array."""
    values = [v for m in group.members for v in m.values] + list(group.reads)
    size = 1
    for n in group.domain:
        size *= n
    return largest(size, *(v.info.size for v in values))


def nest_of(region: Region) -> tuple[Nest, list[Stored]]:
    """Returns the merged nest of a region, and its stores over it."""
    nest = make_nest(region.domain, (), [e for _, e in region.stores], region.limit, region.at)
    return nest, [(v, e) for (v, _), e in zip(region.stores, nest.exprs, strict=True)]


def emit_pointwise(nest: Nest, stores: list[Stored], facts: DeviceFacts) -> Generated:
    """Returns the kernel of a pointwise group over a region of its domain."""
    kernel = kernel_for(nest, stores)
    kinds = dtypes_of([e for _, e in stores]) | {v.info.dtype for v, _ in stores}
    lanes = vector_lanes(kinds, facts) if nest.loops else 1
    outer, inner = split_loops(nest.loops)
    size = extent(nest.loops)
    work = size * max(1, sum(cost(e) for _, e in stores) // 4)
    shape = geometry(facts, -(-size // lanes), work)
    touched_bytes = touched([e for _, e in stores], {v for v, _ in stores}, size)
    if not nest.loops:
        return replace(_emit_scalar(kernel, nest, stores), touched=touched_bytes)
    levels: dict[object, int] = {n.name: 1 for n in outer}
    body = Body(kernel, nest, levels | {inner.name: INNER}, lanes)
    segments = split_segments(nest, inner, stores)
    is_flat = not outer and len(segments) == 1
    loop = (
        _flat(body, inner, stores)
        if is_flat
        else _rows(body, outer, inner, _blocks_of_row(outer, inner, lanes, shape, facts), segments)
    )
    return replace(assemble(kernel, [*body.top, loop], shape, body.aligned(stores)), touched=touched_bytes)


def _flat(body: Body, inner: Loop, stores: list[Stored]) -> Range:
    """Returns the statements for a nest of one loop; each vector is a task."""
    body.printer.count(e for _, e in stores)
    body.open_inner()
    body.store(stores)
    i, lanes = inner.name, body.lanes
    statements = [live_lanes(i, f"{i}_end", lanes), *body.inner]
    return Range(body.kernel.index_type, i, body.kernel.extent(inner), lanes, statements)


def _blocks_of_row(outer: tuple[Loop, ...], inner: Loop, lanes: int, shape: Geometry, facts: DeviceFacts) -> AnySize:
    """Returns the number of blocks into which a row is divided.

    A row is a task if there are many rows. On a GPU each vector is one, so that neighbouring work-items access
    neighbouring memory.
    """
    if facts.kind == "gpu":
        return -(-inner.extent // lanes)
    blocks = largest(1, smallest(-(-2 * shape.items // extent(outer)), -(-inner.extent // (16 * lanes))))
    # If there may be one, the kernel must be one for all shapes of a class.
    return 1 if not plain(blocks) and typical(blocks) == 1 else blocks


def _rows(body: Body, outer: tuple[Loop, ...], inner: Loop, blocks: AnySize, segments: list[Segment]) -> Range:
    """Returns the statements for a nest of several loops, whose tasks are `blocks` blocks of each row."""
    kernel, kind = body.kernel, body.kernel.index_type
    rows = extent(outer)
    block = -(-inner.extent // blocks)
    has_blocks = not same(blocks, 1)
    block = -(-block // body.lanes) * body.lanes if has_blocks else block
    n = kernel.extent(inner)
    tasks = kernel.size(rows * blocks, "n_tasks")
    body.row.extend(row_variables(kernel, outer, "row") if outer else [])
    loops = [statement for k, segment in enumerate(segments) for statement in _segment(body, inner, segment, k)]
    row, begin, end = "task", "0", n
    if has_blocks:
        n_blocks, per = kernel.size(blocks, "n_blocks"), kernel.size(block, "n_block")
        row, begin, end = f"task / {n_blocks}", f"task % {n_blocks} * {per}", f"min({n}, begin + {per})"
    statements = [
        Declare(kind, "row", row),
        *body.row,
        Declare(kind, "begin", begin),
        Declare(kind, "end", end),
        *loops,
    ]
    return Range(kind, "task", tasks, 1, statements)


def _segment(body: Body, inner: Loop, segment: Segment, k: int) -> Block:
    """Returns the loop over segment number `k` of the innermost dimension, which ends at cut number `k`."""
    kernel, kind = body.kernel, body.kernel.index_type
    body.printer.indexing = segment.indexing
    body.printer.count(e for _, e in segment.stores)
    body.open_inner()
    body.store(segment.stores)
    begin, end = "begin", "end"
    if segment.begin:
        cut = kernel.size(segment.begin, "n_cut", ("cut", k - 1))
        begin = f"max(begin, {cut})"
    declarations: Block = []
    if segment.end < inner.extent:
        end, cut = kernel.fresh("end"), kernel.size(segment.end, "n_cut", ("cut", k))
        declarations.append(Declare(kind, end, f"min(end, {cut})"))
    return [*declarations, vector_loop(kind, inner.name, begin, end, body.lanes, body.inner)]


def _emit_scalar(kernel: KernelText, nest: Nest, stores: list[Stored]) -> Generated:
    """Returns the kernel of a group of scalars: one work-item without a loop."""
    block: Block = [If("ITEM", [Return()])]
    printer = Printer(kernel, nest, {}, 1)
    printer.open(0, block)
    printer.count(e for _, e in stores)
    terms = [printer.term(e) for _, e in stores]
    at = printer.position(nest.at, 0, "out")
    for (value, _), text in zip(stores, terms, strict=True):
        block.append(kernel.write(kernel.pointer(value), at, text, value.info.dtype))
    return assemble(kernel, block, Geometry(1, 1))
