"""Row kernels: reductions over the innermost dimensions, and the work on the same rows before and after them.

A row is processed in phases: a phase computes the reductions whose operands are known, and stores the values that do
not wait for a reduction any more. Results of reductions stay in registers. Softmax is such a kernel. Invariant: a
phase reads only results of reductions that an earlier phase has finished.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tfnb.codegen.fusion.group import Group, row_splits
from tfnb.codegen.fusion.inline import cost
from tfnb.codegen.fusion.nest import Loop, Nest, make_nest
from tfnb.codegen.fusion.values import ReduceDef
from tfnb.codegen.opencl_c.clexpr import INNER
from tfnb.codegen.opencl_c.ctypes import register_type, vector_lanes
from tfnb.codegen.opencl_c.emission import Generated, Geometry, assemble, geometry
from tfnb.codegen.opencl_c.kerneltext import KernelText
from tfnb.codegen.opencl_c.tree import Block, Declare, For, If, Range, Statement, Store, vector_loop
from tfnb.codegen.program import DeviceFacts
from tfnb.codegen.schedules.body import Body, Stored, dtypes_of, extent, kernel_for, row_variables, touched
from tfnb.codegen.schedules.combine import Combine
from tfnb.codegen.schedules.pointwise import biggest
from tfnb.ir.scalar import Expr, walk
from tfnb.sizes import AnySize, largest, plain, smallest
from tfnb.types import int32

__all__ = ["Plan", "Reduction", "emit_rows", "needed_plan"]

BLOCK = 8192  # the number of elements that are added up before their sum is added to the total
# On a GPU, the work-items that share a row, those that share a row of LONG_ROW elements or more, and the groups of a
# compute unit.
TEAM, LARGE_TEAM, LONG_ROW, GROUPS_OF_A_UNIT = 32, 256, 4096, 16
KEEP_COST = 12  # an expression of this cost or more is kept in scratch memory if two phases use it


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction of a group: `name` is the name of its local, `body` an expression over the loops of the nest."""

    name: int
    combine: Combine
    body: Expr
    level: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A reducing group over its nest: reductions, stores over the whole domain with their levels, stores per row."""

    nest: Nest
    reductions: tuple[Reduction, ...]
    full: tuple[tuple[int, Stored], ...]
    kept: tuple[Stored, ...]
    lanes: int

    @property
    def kept_loops(self) -> tuple[Loop, ...]:
        """The loops over dimensions that stay."""
        return tuple(n for n in self.nest.loops if not n.reduced)

    @property
    def reduced_loops(self) -> tuple[Loop, ...]:
        """The loops over dimensions that are reduced."""
        return tuple(n for n in self.nest.loops if n.reduced)

    @property
    def stores(self) -> tuple[Stored, ...]:
        """All stores of the group, those over the whole domain first."""
        return (*(st for _, st in self.full), *self.kept)


def make_plan(group: Group, facts: DeviceFacts) -> Plan:
    """Returns the group's expressions over its merged nest, as reductions and stores."""
    flat = [e for member_exprs in group.exprs for e in member_exprs]
    nest = make_nest(group.domain, group.axes or (), flat, biggest(group))
    exprs = iter(nest.exprs)
    reductions, full_stores, kept_stores = [], [], []
    for m, member_exprs, is_full, level in zip(group.members, group.exprs, group.full, group.levels, strict=True):
        if isinstance(m.definition, ReduceDef):
            d = m.definition
            combine = Combine(d.combine, d.body.dtype, d.accumulator)
            reductions.append(Reduction(d.values[0].number, combine, next(exprs), level))
            finish = group.results[d.values[0]][0]
            kept_stores.append((d.values[0], finish))
            continue
        for v, _ in zip(m.values, member_exprs, strict=True):
            (full_stores.append((level, (v, next(exprs)))) if is_full else kept_stores.append((v, next(exprs))))
    kinds = (
        dtypes_of([r.body for r in reductions] + [e for _, (_, e) in full_stores])
        | {st for r in reductions for st in r.combine.states}
        | {v.info.dtype for _, (v, _) in full_stores}
    )
    return Plan(nest, tuple(reductions), tuple(full_stores), tuple(kept_stores), vector_lanes(kinds, facts))


def needed_plan(group: Group, needed: frozenset[object], facts: DeviceFacts) -> Plan:
    """Returns the plan that stores only the values in `needed`."""
    plan = make_plan(group, facts)
    full_stores = tuple((lv, st) for lv, st in plan.full if st[0] in needed)
    kept_stores = tuple(st for st in plan.kept if st[0] in needed)
    return Plan(plan.nest, plan.reductions, full_stores, kept_stores, plan.lanes)


def emit_rows(group: Group, facts: DeviceFacts, needed: frozenset[object]) -> list[Generated]:
    """Returns the kernel of a row group, or two when rows are split: partial results, then the rest."""
    plan = needed_plan(group, needed, facts)
    splits = row_splits(group.domain, group.axes or (), facts)
    rows = extent(plan.kept_loops)
    element_cost = sum(cost(r.body) + 1 for r in plan.reductions) + sum(cost(e) for _, (_, e) in plan.full)
    work = rows * extent(plan.reduced_loops) * max(1, element_cost // 4)
    team = _team(extent(plan.reduced_loops), facts)
    shape = geometry(facts, rows * splits, work) if team == 1 else _team_geometry(rows * splits, team, facts)
    if splits == 1:
        exprs = [r.body for r in plan.reductions] + [e for _, e in plan.stores]
        written_values = {v for v, _ in plan.stores}
        touched_bytes = touched(exprs, written_values, rows * extent(plan.reduced_loops))
        return [replace(_whole(plan, shape, team), touched=touched_bytes)]
    join = Geometry(1, 1) if team == 1 else _team_geometry(rows, TEAM, facts)
    return [_partial(plan, shape, splits, team), _combined(plan, splits, rows, join)]


def _team(length: AnySize, facts: DeviceFacts) -> int:
    """Returns the number of work-items that share a row of `length` elements: a power of 2."""
    if facts.kind != "gpu" or length <= 2 * TEAM:
        return 1
    return TEAM if length < LONG_ROW else LARGE_TEAM


def _team_geometry(tasks: AnySize, team: int, facts: DeviceFacts) -> Geometry:
    """Returns the geometry for tasks that a group of work-items does together."""
    return Geometry(largest(1, smallest(tasks, GROUPS_OF_A_UNIT * facts.units)), team)


class _Rows(Body):
    """The body of a row kernel: `row` holds the statements of a row in order, loops included."""

    def __init__(self, plan: Plan, kernel: KernelText, team: int = 1) -> None:
        self.team = team
        levels: dict[object, int] = {n.name: 1 for n in plan.kept_loops}
        levels |= {n.name: 2 for n in plan.reduced_loops[:-1]}
        levels[plan.reduced_loops[-1].name] = INNER
        levels |= {r.name: 1 for r in plan.reductions}
        roots = [r.body for r in plan.reductions] + [e for _, (_, e) in plan.full] + [e for _, e in plan.kept]
        super().__init__(kernel, plan.nest, levels, plan.lanes)
        self.printer.count(roots)
        self.plan = plan
        self.outer, self.last = plan.reduced_loops[:-1], plan.reduced_loops[-1]
        self.middle: Block = []
        if team > 1:
            self.top.append(Declare("int", "team", "get_local_id(0)"))
        self.kept_scratch: dict[Expr, str] = {}
        self.states: dict[int, tuple[str, ...]] = {}

    def phase(self, level: int, keep: dict[Expr, str], bounds: tuple[str, str] | None = None) -> None:
        """The loop of one phase, then its results."""
        reductions = [r for r in self.plan.reductions if r.level == level]
        stores = [st for lv, st in self.plan.full if lv == level]
        if not reductions and not stores:
            return
        self.middle = []
        self.printer.open(2, self.middle)
        self.open_inner()
        for e, pointer in self.kept_scratch.items():
            self._reload(e, pointer)
        accs = {r: self._accumulators(r) for r in reductions}
        has_float_sums = any(r.combine.dtype.is_floating and r.combine.name in ("sum", "prod") for r in reductions)
        length = extent(self.plan.reduced_loops)
        blocked = has_float_sums and (not plain(length) or length > BLOCK)
        parts = {r: tuple(f"{a}_block" for a in acc) if blocked else acc for r, acc in accs.items()}
        for r in reductions:
            self._update(r, parts[r])
        if stores:
            self.store(stores)
        for e, pointer in keep.items():
            self._keep(e, pointer)
        self.row.append(self._loops(accs, parts, blocked, bounds))
        for r in reductions:
            lines, states = r.combine.across(self.kernel, accs[r], self.lanes)
            self.row.extend(lines)
            states = self.joined(r, states)
            self.states[r.name] = states
            if bounds is None:
                self.finish(r, states)

    def joined(self, r: Reduction, states: tuple[str, ...]) -> tuple[str, ...]:
        """Combines the states of the work-items that share a row; returns the names of the results."""
        if self.team == 1:
            return states
        room, statements, results = r.combine.team(self.kernel, states, self.team)
        self.top.extend(room)
        self.row.extend(statements)
        return results

    def once(self, statements: Block) -> None:
        """Appends statements that one of the work-items that share a row runs."""
        self.row.extend(statements if self.team == 1 else [If("team == 0", statements)])

    def tasks(self, name: str, count: str) -> Statement:
        """Returns the loop over all tasks, each of which runs the statements in `row`."""
        if self.team == 1:
            return Range(self.kernel.index_type, name, count, 1, self.row)
        return For(self.kernel.index_type, name, "get_group_id(0)", count, "get_num_groups(0)", self.row)

    def finish(self, r: Reduction, states: tuple[str, ...]) -> None:
        """Makes the result of a reduction known to the expressions that wait for it."""
        if r.combine.arg:
            self.row.append(r.combine.shown(states[1]))
        self.printer.locals[r.name] = r.combine.outcome(states)

    def _accumulators(self, r: Reduction) -> tuple[str, ...]:
        names = tuple(self.kernel.fresh(name) for name in r.combine.names)
        self.row.extend(self._declared(r, names))
        return names

    def _declared(self, r: Reduction, names: tuple[str, ...]) -> Block:
        return [
            Declare(f"{register_type(d)}{self.lanes}", n, r.combine.neutral(k, True))
            for k, (n, d) in enumerate(zip(names, r.combine.states, strict=True))
        ]

    def _update(self, r: Reduction, acc: tuple[str, ...]) -> None:
        x = self.kernel.fresh("value")
        text = r.combine.masked(self.printer.broadcast(r.body), self.lanes)
        self.inner.append(Declare(f"{register_type(r.combine.dtype)}{self.lanes}", x, text))
        states: tuple[str, ...] = (x,)
        if r.combine.arg:
            index = self.kernel.lane_index(self.last.name, self.lanes)
            is_narrow = self.kernel.wide and r.combine.result is int32
            states = (x, f"convert_int{self.lanes}({index})" if is_narrow else index)
        self.inner.extend(r.combine.update(self.kernel, acc, states, self.lanes))

    def _keep(self, e: Expr, pointer: str) -> None:
        at, kind = self._scratch_at(), register_type(e.dtype)
        self.inner.append(Store(pointer, at, self.printer.broadcast(e), kind, self.lanes))
        self.kept_scratch[e] = pointer

    def _reload(self, e: Expr, pointer: str) -> None:
        name = self.kernel.fresh("x")
        vector = f"LOAD({register_type(e.dtype)}, {self.lanes}, {pointer} + {self._scratch_at()})"
        self.inner.append(Declare(self.printer.typename(e.dtype, True), name, vector))
        self.printer.names[INNER][e] = name

    def _scratch_at(self) -> str:
        if not self.outer:
            return self.last.name
        padded = -(-self.last.extent // self.lanes) * self.lanes
        return f"q * {self.kernel.size(padded, 'n_padded')} + {self.last.name}"

    def _loops(
        self,
        accs: dict[Reduction, tuple[str, ...]],
        parts: dict[Reduction, tuple[str, ...]],
        blocked: bool,
        bounds: tuple[str, str] | None,
    ) -> For:
        """Returns the loops over the reduced dimensions; `bounds` are those of the outermost one if rows are split."""
        kernel, kind, lanes, i = self.kernel, self.kernel.index_type, self.lanes, self.last.name
        n = kernel.extent(self.last)
        begin, end = bounds if bounds and not self.outer else ("0", n)
        block_start = [node for r in accs for node in self._declared(r, parts[r])] if blocked else []
        join = (
            [node for r, acc in accs.items() for node in r.combine.update(kernel, acc, parts[r], lanes)]
            if blocked
            else []
        )
        long_rows = blocked and (not self.outer or not plain(self.last.extent) or self.last.extent > BLOCK)
        if long_rows:
            block = kernel.size(BLOCK, "n_block")
            stop = Declare(kind, "stop", f"min({end}, block + {block})")
            inner = self._vectors(i, "block", "stop")
            loop = For(kind, "block", begin, end, block, [*block_start, stop, inner, *join])
        else:
            loop = self._vectors(i, begin, end)
        if not self.outer:
            return loop
        total = kernel.size(extent(self.outer), "n_outer")
        begin, end = bounds or ("0", total)
        head = row_variables(kernel, self.outer, "q")
        row = [*head, *self.middle, loop]
        if not blocked or long_rows:
            return For(kind, "q", begin, end, "1", row)
        rows = kernel.size(max(1, BLOCK // self.last.extent), "n_block")
        block_rows = For(kind, "q", "block", f"min({end}, block + {rows})", "1", row)
        return For(kind, "block", begin, end, rows, [*block_start, block_rows, *join])

    def _vectors(self, name: str, begin: str, end: str) -> For:
        """Returns the loop over the vectors of a row, or over those of one of the work-items that share it."""
        loop = vector_loop(self.kernel.index_type, name, begin, end, self.lanes, self.inner)
        if self.team > 1:
            loop.begin = f"{begin} + team * {self.lanes}" if begin != "0" else f"team * {self.lanes}"
            loop.step = str(self.team * self.lanes)
        return loop

    def store_kept(self) -> None:
        """Writes the values of which a row has one."""
        at = self.printer.position(self.nest.kept_at, 1, "out")
        terms = [self.printer.term(e, 1) for _, e in self.plan.kept]
        pairs = zip(self.plan.kept, terms, strict=True)
        self.once([self.kernel.write(self.kernel.pointer(v), at, text, v.info.dtype) for (v, _), text in pairs])


def _shared(plan: Plan) -> dict[int, list[Expr]]:
    """Returns costly expressions that a later phase needs again, by the phase that computes them first."""
    inner = plan.reduced_loops[-1].name
    levels = sorted({r.level for r in plan.reductions} | {lv for lv, _ in plan.full})
    roots = {
        lv: [r.body for r in plan.reductions if r.level == lv] + [e for n, (_, e) in plan.full if n == lv]
        for lv in levels
    }
    first: dict[Expr, int] = {}
    shared: dict[int, list[Expr]] = {}
    for lv in levels:
        stack, seen = list(roots[lv]), set()
        while stack:
            e = stack.pop()
            if e in seen:
                continue
            seen.add(e)
            is_varying = any(x.op == "index" and x.value == inner for x in walk(e))
            if e in first and is_varying and cost(e) >= KEEP_COST and e.op != "load":
                if e not in shared.setdefault(first[e], []):
                    shared[first[e]].append(e)
                continue
            stack.extend(e.args)
        for e in walk(*roots[lv]):
            first.setdefault(e, lv)
    return shared


def _whole(plan: Plan, shape: Geometry, team: int) -> Generated:
    kernel = kernel_for(plan.nest, plan.stores)
    body = _Rows(plan, kernel, team)
    item, items = ("ITEM", shape.items) if team == 1 else ("get_group_id(0)", shape.groups)
    body.row.extend(row_variables(kernel, plan.kept_loops, "row") if plan.kept_loops else [])
    shared = _shared(plan)
    padded = -(-body.last.extent // plan.lanes) * plan.lanes * extent(body.outer)
    count = 0
    for level in range(max([r.level for r in plan.reductions] + [lv for lv, _ in plan.full]) + 1):
        keep: dict[Expr, str] = {}
        for e in shared.get(level, []):
            kind = register_type(e.dtype)
            base = kernel.scratch("kept", count, kind, padded * items)
            row_address = f"{base} + {item} * {kernel.size(padded, 'n_kept')}"
            body.top.append(Declare(f"__global {kind} *", f"{base}_row", row_address))
            keep[e] = f"{base}_row"
            count += 1
        body.phase(level, keep)
    body.store_kept()
    loop = body.tasks("row", kernel.size(extent(plan.kept_loops), "n_rows"))
    has_one_phase = len({r.level for r in plan.reductions} | {lv for lv, _ in plan.full}) == 1
    aligned = (
        body.aligned([st for _, st in plan.full])
        if has_one_phase and plan.full and not plan.reductions
        else frozenset()
    )
    return assemble(kernel, [*body.top, loop], shape, aligned)


@dataclass(frozen=True, slots=True)
class _Part:
    """An array in scratch memory that holds a state of a reduction for each part of each row."""

    pointer: str
    ctype: str


def _parts_of(plan: Plan, kernel: KernelText, elements: int) -> dict[Reduction, list[_Part]]:
    """Returns the scratch memory by which the two kernels of split rows pass partial results."""
    parts: dict[Reduction, list[_Part]] = {}
    for k, r in enumerate(plan.reductions):
        kinds = [register_type(d) for d in r.combine.states]
        parts[r] = [_Part(kernel.scratch("parts", (k, j), c, elements), c) for j, c in enumerate(kinds)]
    return parts


def _partial(plan: Plan, shape: Geometry, splits: int, team: int) -> Generated:
    """Returns the kernel in which each task reduces one part of one row."""
    kernel = kernel_for(plan.nest, (st for _, st in plan.full))
    body = _Rows(plan, kernel, team)
    rows = extent(plan.kept_loops)
    n_splits = kernel.size(splits, "n_splits")
    extent_split = extent(body.outer) if body.outer else body.last.extent
    size = -(-extent_split // splits)
    if not body.outer:
        size = -(-size // plan.lanes) * plan.lanes
    n_part = kernel.size(size, "n_part")
    total = kernel.size(extent_split, "n_outer") if body.outer else kernel.extent(body.last)
    kind = kernel.index_type
    body.row.append(Declare(kind, "row", f"task / {n_splits}"))
    body.row.append(Declare(kind, "begin", f"task % {n_splits} * {n_part}"))
    body.row.append(Declare(kind, "end", f"min({total}, begin + {n_part})"))
    body.row.extend(row_variables(kernel, plan.kept_loops, "row") if plan.kept_loops else [])
    body.phase(0, {}, ("begin", "end"))
    for r, parts in _parts_of(plan, kernel, rows * splits).items():
        pairs = zip(parts, body.states[r.name], strict=True)
        body.once([Store(part.pointer, "task", state, part.ctype) for part, state in pairs])
    loop = body.tasks("task", kernel.size(rows * splits, "n_tasks"))
    return assemble(kernel, [*body.top, loop], shape)


def _combined(plan: Plan, splits: int, rows: int, shape: Geometry) -> Generated:
    """Returns the kernel that combines the parts of each row and does the work on the results."""
    kernel = kernel_for(plan.nest, plan.kept)
    body = _Rows(plan, kernel, shape.local)
    body.row.extend(row_variables(kernel, plan.kept_loops, "row") if plan.kept_loops else [])
    n_splits = kernel.size(splits, "n_splits")
    for r, parts in _parts_of(plan, kernel, rows * splits).items():
        acc, names = (tuple(kernel.fresh(name) for name in r.combine.names) for _ in range(2))
        body.row.extend(
            Declare(p.ctype, a, r.combine.neutral(k)) for k, (a, p) in enumerate(zip(acc, parts, strict=True))
        )
        loads: Block = [
            Declare(p.ctype, x, f"{p.pointer}[row * {n_splits} + part]") for x, p in zip(names, parts, strict=True)
        ]
        update = r.combine.update(kernel, acc, names, 1)
        begin = "0" if body.team == 1 else "team"
        body.row.append(For("int", "part", begin, n_splits, str(body.team), [*loads, *update]))
        body.finish(r, body.joined(r, acc))
    body.store_kept()
    loop = body.tasks("row", kernel.size(rows, "n_rows"))
    return assemble(kernel, [*body.top, loop], shape)
