"""Column kernels: reductions over outer dimensions while the innermost is kept.

Each lane is a column. Few columns are added up in registers; many are added up in scratch memory, row by row. The work
is split by rows, and a second kernel adds the parts and does the work on each column. Invariant: the sum of a column
does not depend on the number of lanes.
"""

from __future__ import annotations

from dataclasses import dataclass

from tfnb.codegen.fusion.group import Group
from tfnb.codegen.fusion.inline import cost
from tfnb.codegen.opencl_c.clexpr import INNER
from tfnb.codegen.opencl_c.ctypes import register_type
from tfnb.codegen.opencl_c.emission import Generated, Geometry, assemble, geometry
from tfnb.codegen.opencl_c.kerneltext import KernelText
from tfnb.codegen.opencl_c.tree import Assign, Block, Declare, For, Range, Store, vector_loop
from tfnb.codegen.program import DeviceFacts
from tfnb.codegen.schedules.body import Body, extent, kernel_for, row_variables
from tfnb.codegen.schedules.rows import Plan, Reduction, needed_plan
from tfnb.sizes import derived, largest, plain, same, smallest, typical

__all__ = ["emit_columns"]

BLOCK = 256  # the number of rows that are added up before their sum is added to the total
NARROW = 4  # the most vectors of columns that are added up in registers


@dataclass(frozen=True, slots=True)
class _Shape:
    """The division of a column reduction into tasks: `batch` x `blocks` x `splits` of them.

    `batch` is the number of elements of the outer kept dimensions, `blocks` the number of blocks of `block` columns,
    `splits` the number of parts of `per` rows. `rows` and `columns` are the numbers of all rows and columns, and
    `padded` is `columns` rounded up to whole vectors.
    """

    batch: int
    blocks: int
    splits: int
    rows: int
    columns: int
    block: int
    per: int
    padded: int

    @property
    def tasks(self) -> int:
        return self.batch * self.blocks * self.splits


def _shape(plan: Plan, items: int, facts: DeviceFacts) -> _Shape:
    batch, rows, columns = extent(plan.kept_loops[:-1]), extent(plan.reduced_loops), plan.kept_loops[-1].extent
    blocks = 1
    if facts.kind == "gpu":  # a vector of columns is a block
        blocks = -(-columns // plan.lanes)
    elif not plain(columns) or columns >= 8192:
        blocks = derived(_blocks, items, columns, batch, lower=1)
    block = -(-(-(-columns // blocks)) // plan.lanes) * plan.lanes if not same(blocks, 1) else columns
    blocks = -(-columns // block)
    per = derived(_rows_of_part, items, rows, batch * blocks, lower=1)
    splits = 1 if same(per, rows) else derived(_quotient, rows, per, lower=1)
    return _Shape(batch, blocks, splits, rows, columns, block, per, -(-columns // plan.lanes) * plan.lanes)


def _blocks(items: int, columns: int, batch: int) -> int:
    """Returns the number of blocks of columns."""
    return max(1, min(2 * items, columns // 2048)) if columns >= 8192 and batch < 2 * items else 1


def _rows_of_part(items: int, rows: int, tasks: int) -> int:
    """Returns the number of rows that are added up by one task."""
    splits = max(1, min(items, rows // 16)) if tasks < items else 1
    return max(1, -(-rows // splits))


def _quotient(rows: int, per: int) -> int:
    """Returns the number of parts of `per` rows."""
    return max(1, -(-rows // per))


def emit_columns(group: Group, facts: DeviceFacts, needed: frozenset[object]) -> list[Generated]:
    """Returns the kernel of a column group, or two if its rows may be split."""
    plan = needed_plan(group, needed, facts)
    element_cost = sum(cost(r.body) + 1 for r in plan.reductions) + sum(cost(e) for _, (_, e) in plan.full)
    size = extent(plan.nest.loops)
    items = geometry(facts, size, size * max(1, element_cost // 4)).items
    shape = _shape(plan, items, facts)
    if facts.kind == "gpu":
        launch, join = geometry(facts, shape.tasks, 0), geometry(facts, shape.batch * shape.blocks, 0)
    else:
        launch, join = Geometry(largest(1, smallest(shape.tasks, items)), 1), Geometry(1, 1)
    if same(shape.splits, 1):
        return [_single(plan, shape, launch)]
    return [_parts(plan, shape, launch), _join(plan, shape, join)]


@dataclass(frozen=True, slots=True)
class _Accumulator:
    """The accumulator of state number `state` of a reduction; `name` is the local that holds a vector of it."""

    reduction: Reduction
    state: int
    name: str
    lanes: int

    @property
    def ctype(self) -> str:
        return register_type(self.reduction.combine.states[self.state])

    @property
    def vector(self) -> str:
        return f"{self.ctype}{self.lanes}"

    @property
    def neutral(self) -> str:
        return self.reduction.combine.neutral(self.state, True)

    @property
    def total(self) -> str:
        """The name of the sums of all rows: a pointer if there are many columns, a local if there are few."""
        return f"{self.name}_total"

    @property
    def block(self) -> str:
        """The pointer to the sums of a block of rows."""
        return f"{self.name}_block"

    def load(self, name: str, pointer: str, at: str) -> Declare:
        return Declare(self.vector, name, f"LOAD({self.ctype}, {self.lanes}, {pointer} + {at})")

    def store(self, value: str, pointer: str, at: str) -> Store:
        return Store(pointer, at, value, self.ctype, self.lanes)


def _accumulators(plan: Plan, kernel: KernelText) -> list[_Accumulator]:
    states = [(r, k, name) for r in plan.reductions for k, name in enumerate(r.combine.names)]
    return [_Accumulator(r, k, kernel.named(name, 0), plan.lanes) for r, k, name in states]


def _update(kernel: KernelText, accs: list[_Accumulator], into: list[str], values: list[str]) -> Block:
    """Combines the states in `values` into those in `into`, both by accumulator."""
    block: Block = []
    for r in dict.fromkeys(a.reduction for a in accs):
        indices = [j for j, a in enumerate(accs) if a.reduction is r]
        states = tuple(into[j] for j in indices), tuple(values[j] for j in indices)
        block.extend(r.combine.update(kernel, *states, accs[indices[0]].lanes))
    return block


class _Main(Body):
    """The body of the pass over the rows, which fills the accumulators."""

    def __init__(self, plan: Plan, kernel: KernelText, shape: _Shape) -> None:
        inner = plan.kept_loops[-1]
        levels: dict[object, int] = {n.name: 1 for n in plan.kept_loops[:-1]}
        levels |= {n.name: 2 for n in plan.reduced_loops}
        levels[inner.name] = INNER
        super().__init__(kernel, plan.nest, levels, plan.lanes)
        self.printer.count([r.body for r in plan.reductions] + [e for _, (_, e) in plan.full])
        self.plan, self.shape, self.last = plan, shape, inner
        self.accs = _accumulators(plan, kernel)
        self.middle: Block = []
        self.printer.open(2, self.middle)
        self.open_inner()
        if inner is not plan.nest.loops[-1]:
            raise AssertionError("a column kernel keeps its innermost dimension")

    def narrow(self) -> bool:
        return typical(self.shape.block) <= NARROW * self.lanes

    def blocked(self) -> bool:
        has_float_sums = any(
            r.combine.dtype.is_floating and r.combine.name in ("sum", "prod") for r in self.plan.reductions
        )
        return has_float_sums and (not plain(self.shape.per) or self.shape.per > BLOCK)

    def operands(self, r: Reduction) -> tuple[str, ...]:
        x = self.kernel.fresh("value")
        kind = f"{register_type(r.combine.dtype)}{self.lanes}"
        self.inner.append(Declare(kind, x, self.printer.broadcast(r.body)))
        return (x, f"({register_type(r.combine.result)}{self.lanes})(q)") if r.combine.arg else (x,)

    def accumulate(self) -> None:
        """Fills the body of the innermost loop."""
        is_wide = not self.narrow()
        for r in self.plan.reductions:
            operands = self.operands(r)
            accs = [a for a in self.accs if a.reduction is r]
            pointers = [a.block if self.blocked() else a.total for a in accs]
            if is_wide:
                self.inner.extend(a.load(a.name, p, self.last.name) for a, p in zip(accs, pointers, strict=True))
            self.inner.extend(r.combine.update(self.kernel, tuple(a.name for a in accs), operands, self.lanes))
            if is_wide:
                self.inner.extend(a.store(a.name, p, self.last.name) for a, p in zip(accs, pointers, strict=True))
        stores = [st for _, st in self.plan.full]
        if stores:
            self.store(stores)

    def row_loop(self, inner: Block, begin: str, end: str) -> For:
        """Returns the loop over the rows from `begin` to `end`."""
        head = row_variables(self.kernel, self.plan.reduced_loops, "q")
        return For(self.kernel.index_type, "q", begin, end, "1", [*head, *self.middle, *inner])

    def column_loop(self, inner: Block) -> For:
        """Returns the loop over the columns of the task."""
        return vector_loop(self.kernel.index_type, self.last.name, "begin", "end", self.lanes, inner)

    def narrow_columns(self, after: Block) -> For:
        """Columns outside, rows inside, sums in registers; `after` uses the sums of one vector of columns."""
        accs, kind = self.accs, self.kernel.index_type
        if not self.blocked():
            declare = [Declare(a.vector, a.name, a.neutral) for a in accs]
            return self.column_loop([*declare, self.row_loop(self.inner, "q_begin", "q_end"), *after])
        totals = [Declare(a.vector, a.total, a.neutral) for a in accs]
        outer = [Declare(a.vector, a.name) for a in accs]
        names = [a.name for a in accs]
        join = _update(self.kernel, accs, [a.total for a in accs], names)
        block = self.kernel.size(BLOCK, "n_block_rows")
        statements: Block = [
            *(Assign(a.name, a.neutral) for a in accs),
            Declare(kind, "stop", f"min(q_end, block + {block})"),
            self.row_loop(self.inner, "block", "stop"),
            *join,
        ]
        blocks = For(kind, "block", "q_begin", "q_end", block, statements)
        sums = [Assign(a.name, a.total) for a in accs]
        return self.column_loop([*totals, *outer, blocks, *sums, *after])

    def wide_columns(self, pointers: list[str]) -> Block:
        """Rows outside, columns inside, sums in scratch memory at `pointers`."""
        accs, i, kind, kernel = self.accs, self.last.name, self.kernel.index_type, self.kernel
        block: Block = [Declare(f"__global {a.ctype} *", a.total, p) for a, p in zip(accs, pointers, strict=True)]
        block.append(self.column_loop([a.store(f"({a.vector})({a.neutral})", a.total, i) for a in accs]))
        rows = self.column_loop(self.inner)
        if not self.blocked():
            return [*block, self.row_loop([rows], "q_begin", "q_end")]
        for a, p in zip(accs, self.scratch("block"), strict=True):
            block.append(Declare(f"__global {a.ctype} *", a.block, p))
        reset_blocks = [a.store(f"({a.vector})({a.neutral})", a.block, i) for a in accs]
        loads = [a.load(n, p, i) for a in accs for n, p in ((a.name, a.block), (f"{a.name}_before", a.total))]
        join = _update(kernel, accs, [f"{a.name}_before" for a in accs], [a.name for a in accs])
        store_totals = [a.store(f"{a.name}_before", a.total, i) for a in accs]
        step = kernel.size(BLOCK, "n_block_rows")
        statements: Block = [
            self.column_loop([*reset_blocks]),
            Declare(kind, "stop", f"min(q_end, block + {step})"),
            self.row_loop([rows], "block", "stop"),
            self.column_loop([*loads, *join, *store_totals]),
        ]
        return [*block, For(kind, "block", "q_begin", "q_end", step, statements)]

    def scratch(self, what: str) -> list[str]:
        """Returns for each accumulator the address at which its scratch memory for the task begins, as C text."""
        shape, padded = self.shape, self.kernel.size(self.shape.padded, "n_padded")
        elements = shape.padded * shape.batch * shape.splits
        bases = [self.kernel.scratch(what, j, a.ctype, elements) for j, a in enumerate(self.accs)]
        row = "row"
        if not same(shape.splits, 1):
            row = f"(row * {self.kernel.size(shape.splits, 'n_splits')} + part)"
        return [f"{base} + {row} * {padded}" for base in bases]

    def kernel_of(self, top: Block, statements: Block, geo: Geometry) -> Generated:
        """Returns the kernel whose tasks run `statements`; `top` runs once before them."""
        loop = Range(self.kernel.index_type, "task", self.kernel.size(self.shape.tasks, "n_tasks"), 1, statements)
        return assemble(self.kernel, [*top, loop], geo)


def _task_rows(kernel: KernelText, shape: _Shape) -> tuple[Block, str]:
    """Returns declarations of the rows of a task, and the C name of the number that determines its columns."""
    kind, total = kernel.index_type, kernel.size(shape.rows, "n_rows")
    if same(shape.splits, 1):
        return [Declare(kind, "q_begin", "0"), Declare(kind, "q_end", total)], "task"
    # Neighbouring tasks have neighbouring columns, which matters on a GPU.
    rest, per = kernel.size(shape.batch * shape.blocks, "n_rest"), kernel.size(shape.per, "n_part")
    return [
        Declare(kind, "part", f"task / {rest}"),
        Declare(kind, "q_begin", f"part * {per}"),
        Declare(kind, "q_end", f"min({total}, q_begin + {per})"),
        Declare(kind, "rest", f"task % {rest}"),
    ], "rest"


def _task_columns(kernel: KernelText, plan: Plan, shape: _Shape, task: str) -> Block:
    """Declarations of the columns and the batch element of a task."""
    kind, columns = kernel.index_type, kernel.extent(plan.kept_loops[-1])
    begin, end, row = "0", columns, task
    if not same(shape.blocks, 1):
        blocks, per = kernel.size(shape.blocks, "n_blocks"), kernel.size(shape.block, "n_block")
        begin, end, row = f"{task} % {blocks} * {per}", f"min({columns}, begin + {per})", f"{task} / {blocks}"
    bounds = [Declare(kind, "begin", begin), Declare(kind, "end", end), Declare(kind, "row", row)]
    outer = plan.kept_loops[:-1]
    return [*bounds, *(row_variables(kernel, outer, "row") if outer else [])]


def _head(kernel: KernelText, plan: Plan, shape: _Shape) -> Block:
    """Declarations of the variables of a task: its rows, its columns and its batch element."""
    rows, rest = _task_rows(kernel, shape)
    return [*rows, *_task_columns(kernel, plan, shape, rest)]


class _Final(Body):
    """The body of the work on each column, which begins when the sums of the column are complete."""

    def __init__(self, plan: Plan, kernel: KernelText) -> None:
        levels: dict[object, int] = {n.name: 1 for n in plan.kept_loops[:-1]}
        levels[plan.kept_loops[-1].name] = INNER
        levels |= {r.name: INNER for r in plan.reductions}
        super().__init__(kernel, plan.nest, levels, plan.lanes)
        self.printer.count(e for _, e in plan.kept)
        self.plan = plan
        self.open_inner()

    def finish(self, accs: list[_Accumulator]) -> Block:
        """Statements that store the results, given the accumulators."""
        for r in self.plan.reductions:
            states = tuple(a.name for a in accs if a.reduction is r)
            if r.combine.arg:
                self.inner.append(r.combine.shown(states[1], self.lanes))
            self.printer.locals[r.name] = r.combine.outcome(states)
        self.store(list(self.plan.kept), self.nest.kept_at)
        return self.inner


def _single(plan: Plan, shape: _Shape, geo: Geometry) -> Generated:
    kernel = kernel_for(plan.nest, plan.stores)
    main = _Main(plan, kernel, shape)
    head = _head(kernel, plan, shape)
    main.accumulate()
    final = _Final(plan, kernel)
    if main.narrow():
        stores = final.finish(main.accs)
        loops: Block = [*final.row, main.narrow_columns(stores)]
    else:
        loops = main.wide_columns(main.scratch("total"))
        loads = [a.load(a.name, a.total, main.last.name) for a in main.accs]
        stores = final.finish(main.accs)
        loops += [*final.row, main.column_loop([*loads, *stores])]
    return main.kernel_of([*main.top, *final.top], [*head, *main.row, *loops], geo)


def _parts(plan: Plan, shape: _Shape, geo: Geometry) -> Generated:
    """Returns the kernel in which each task adds up one part of the rows."""
    kernel = kernel_for(plan.nest, (st for _, st in plan.full))
    main = _Main(plan, kernel, shape)
    head = _head(kernel, plan, shape)
    main.accumulate()
    pointers = main.scratch("total")
    if main.narrow():
        stores = [a.store(a.name, p, main.last.name) for a, p in zip(main.accs, pointers, strict=True)]
        loops: Block = [main.narrow_columns([*stores])]
    else:
        loops = main.wide_columns(pointers)
    return main.kernel_of(main.top, [*head, *main.row, *loops], geo)


def _join(plan: Plan, shape: _Shape, geo: Geometry) -> Generated:
    """Returns the kernel that adds the parts and works on the sums.

    It has a task for each batch element and block of columns.
    """
    kernel = kernel_for(plan.nest, plan.kept)
    final, accs, i = _Final(plan, kernel), _accumulators(plan, kernel), plan.kept_loops[-1].name
    padded, splits = kernel.size(shape.padded, "n_padded"), kernel.size(shape.splits, "n_splits")
    declarations = [Declare(a.vector, a.name, a.neutral) for a in accs]
    parts = []
    for j, a in enumerate(accs):
        base = kernel.scratch("total", j, a.ctype, shape.padded * shape.batch * shape.splits)
        parts.append(a.load(f"{a.name}_part", base, f"(row * {splits} + part) * {padded} + {i}"))
    update = _update(kernel, accs, [a.name for a in accs], [f"{a.name}_part" for a in accs])
    loop = For("int", "part", "0", splits, "1", [*parts, *update])
    stores = final.finish(accs)
    head = _task_columns(kernel, plan, shape, "task")
    columns = vector_loop(kernel.index_type, i, "begin", "end", plan.lanes, [*declarations, loop, *stores])
    n = kernel.size(shape.batch * shape.blocks, "n_tasks")
    tasks = Range(kernel.index_type, "task", n, 1, [*head, *final.row, columns])
    return assemble(kernel, [*final.top, tasks], geo)
