"""Column kernels: reductions over outer dimensions while the innermost is kept.

Lanes are columns. Few columns are summed up in registers, many in scratch memory while the rows stream by; work is
split by rows, and a second kernel joins the parts and does what is done per column. Invariant: sums of a column
never depend on the number of lanes.
"""

from __future__ import annotations

from dataclasses import dataclass

from tfnb.codegen.clexpr import INNER
from tfnb.codegen.ctypes import register_type
from tfnb.codegen.emission import Generated, Geometry, assemble, geometry, indent
from tfnb.codegen.group import Group
from tfnb.codegen.inline import cost
from tfnb.codegen.kerneltext import KernelText
from tfnb.codegen.pointwise import Body, extent, row_variables
from tfnb.codegen.program import DeviceFacts
from tfnb.codegen.rows import Plan, Reduction, needed_plan

__all__ = ["emit_columns"]

BLOCK = 256  # rows that add up one after the other before their sums join the others
NARROW = 4  # up to so many vectors of columns are summed up in registers


@dataclass(frozen=True, slots=True)
class _Shape:
    """`batch` outer kept elements x `blocks` of columns x `splits` of the rows are the tasks."""

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


def _shape(plan: Plan, items: int) -> _Shape:
    batch, rows, columns = extent(plan.kept_loops[:-1]), extent(plan.reduced_loops), plan.kept_loops[-1].extent
    blocks = min(2 * items, columns // 2048) if columns >= 8192 and batch < 2 * items else 1
    blocks = max(1, blocks)
    block = -(-(-(-columns // blocks)) // plan.lanes) * plan.lanes if blocks > 1 else columns
    blocks = -(-columns // block)
    tasks = batch * blocks
    splits = min(items, rows // 16) if items > 1 and tasks < items else 1
    splits = max(1, splits)
    per = max(1, -(-rows // splits))
    splits = max(1, -(-rows // per))
    return _Shape(batch, blocks, splits, rows, columns, block, per, -(-columns // plan.lanes) * plan.lanes)


def emit_columns(group: Group, facts: DeviceFacts, needed: frozenset[object]) -> list[Generated]:
    """The kernel of a column group, or two when its rows are split."""
    plan = needed_plan(group, needed)
    price = sum(cost(r.body) + 1 for r in plan.reductions) + sum(cost(e) for _, (_, e) in plan.full)
    size = extent(plan.nest.loops)
    items = 256 if facts.kind == "gpu" else geometry(facts, size, size * max(1, price // 4)).groups
    shape = _shape(plan, items)
    local = Geometry(max(1, min(shape.tasks, items)), 1)
    if shape.splits == 1:
        return [_single(plan, shape, local)]
    return [_parts(plan, shape, local), _join(plan, shape)]


class _Main(Body):
    """The pass over the rows."""

    def __init__(self, plan: Plan, kernel: KernelText, shape: _Shape) -> None:
        inner = plan.kept_loops[-1]
        levels: dict[object, int] = {n.name: 1 for n in plan.kept_loops[:-1]}
        levels |= {n.name: 2 for n in plan.reduced_loops}
        levels[inner.name] = INNER
        roots = [r.body for r in plan.reductions] + [e for _, (_, e) in plan.full]
        super().__init__(kernel, plan.nest, levels, plan.lanes, [(None, e) for e in roots])  # type: ignore[list-item]
        self.printer.count(roots)
        self.plan, self.shape, self.last = plan, shape, inner
        self.kind = "long" if kernel.wide else "int"
        self.middle: list[str] = []
        self.printer.open(2, self.middle)
        self.open_inner()
        if inner is not plan.nest.loops[-1]:
            raise AssertionError("a column kernel keeps its innermost dimension")

    def narrow(self) -> bool:
        return self.shape.block <= NARROW * self.lanes

    def accumulators(self) -> list[tuple[Reduction, int, str, str]]:
        """(reduction, state number, C type, name) of every accumulator."""
        out = []
        for r in self.plan.reductions:
            for k, d in enumerate(r.combine.states):
                out.append((r, k, register_type(d), f"a{len(out)}"))
        return out

    def operands(self, r: Reduction) -> tuple[str, ...]:
        x = self.kernel.fresh()
        kind = f"{register_type(r.combine.dtype)}{self.lanes}"
        self.inner.append(f"{kind} {x} = {self.printer.broadcast(r.body)};")
        return (x, f"({register_type(r.combine.result)}{self.lanes})(q)") if r.combine.arg else (x,)

    def blocked(self) -> bool:
        sums = any(r.combine.dtype.is_floating and r.combine.name in ("sum", "prod") for r in self.plan.reductions)
        return sums and self.shape.per > BLOCK

    def head(self) -> list[str]:
        """The variables of a task: batch element, columns, rows."""
        kernel, shape, kind = self.kernel, self.shape, self.kind
        rest, total = "task", kernel.size(shape.rows)
        lines = [f"{kind} q_begin = 0;", f"{kind} q_end = {total};"]
        if shape.splits > 1:
            n, per = kernel.size(shape.splits), kernel.size(shape.per)
            lines = [
                f"{kind} q_begin = {rest} % {n} * {per};",
                f"{kind} q_end = min({total}, q_begin + {per});",
                f"{kind} rest = {rest} / {n};",
            ]
            rest = "rest"
        columns = kernel.size(shape.columns)
        begin, end, row = "0", columns, rest
        if shape.blocks > 1:
            n, per = kernel.size(shape.blocks), kernel.size(shape.block)
            begin, end, row = f"{rest} % {n} * {per}", f"min({columns}, begin + {per})", f"{rest} / {n}"
        lines += [f"{kind} begin = {begin};", f"{kind} end = {end};", f"{kind} row = {row};"]
        if len(self.plan.kept_loops) > 1:
            lines.extend(row_variables(kernel, self.plan.kept_loops[:-1], "row"))
        return lines


def _accumulate(main: _Main) -> None:
    """Fills `main.inner` with the body of the innermost loop."""
    states: dict[int, list[str]] = {}
    for r, _, _, name in main.accumulators():
        states.setdefault(r.name, []).append(name)
    wide = not main.narrow()
    target = "blk" if main.blocked() else "tot"
    for r in main.plan.reductions:
        x = main.operands(r)
        names = tuple(states[r.name])
        if wide:
            for n, d in zip(names, r.combine.states, strict=True):
                kind = f"{register_type(d)}{main.lanes}"
                main.inner.append(f"{kind} {n} = vload{main.lanes}(0, {n}_{target} + {main.last.name});")
        main.inner.extend(r.combine.update(main.kernel, names, x, main.lanes))
        if wide:
            main.inner.extend(f"vstore{main.lanes}({n}, 0, {n}_{target} + {main.last.name});" for n in names)
    stores = [st for _, st in main.plan.full]
    if stores:
        main.store(stores)


def _row_loop(main: _Main, inner: list[str], begin: str, end: str) -> list[str]:
    head = row_variables(main.kernel, main.plan.reduced_loops, "q")
    return [f"for ({main.kind} q = {begin}; q < {end}; ++q) {{", *indent([*head, *main.middle, *inner]), "}"]


def _column_loop(main: _Main, inner: list[str]) -> list[str]:
    i, lanes = main.last.name, main.lanes
    return [
        f"for ({main.kind} {i} = begin; {i} < end; {i} += {lanes}) {{",
        f"    int live = LIVE(end - {i}, {lanes});",
        *indent(inner), "}",
    ]  # fmt: skip


def _narrow(main: _Main, after: list[str]) -> list[str]:
    """Columns outside, rows inside, sums in registers; `after` uses the sums of one vector of columns."""
    lanes, accs = main.lanes, main.accumulators()
    declare = [f"{c}{lanes} {n} = {r.combine.neutral(k, True)};" for r, k, c, n in accs]
    if not main.blocked():
        return _column_loop(main, [*declare, *_row_loop(main, main.inner, "q_begin", "q_end"), *after])
    totals = [f"{c}{lanes} {n}_tot = {r.combine.neutral(k, True)};" for r, k, c, n in accs]
    join = _joined(main, [(n, f"{n}_tot") for *_, n in accs])
    back = [f"{n} = {n}_tot;" for *_, n in accs]
    block = main.kernel.size(BLOCK)
    outer = [f"{c}{lanes} {n};" for _, _, c, n in accs]
    reset = [f"{n} = {r.combine.neutral(k, True)};" for r, k, _, n in accs]
    loop = [
        f"for ({main.kind} block = q_begin; block < q_end; block += {block}) {{",
        *indent(reset),
        f"    {main.kind} stop = min(q_end, block + {block});",
        *indent([*_row_loop(main, main.inner, "block", "stop"), *join]),
        "}",
    ]
    return _column_loop(main, [*totals, *outer, *loop, *back, *after])


def _joined(main: _Main, pairs: list[tuple[str, str]]) -> list[str]:
    """Combines the first of each pair of accumulators into the second."""
    table = dict(pairs)
    out = []
    for r in main.plan.reductions:
        names = tuple(n for q, _, _, n in main.accumulators() if q is r)
        out.extend(r.combine.update(main.kernel, tuple(table[n] for n in names), names, main.lanes))
    return out


def _wide(main: _Main, pointers: list[str]) -> list[str]:
    """Rows outside, columns inside, sums in scratch memory at `pointers`."""
    lanes, accs, i = main.lanes, main.accumulators(), main.last.name
    lines = [f"__global {c} *{n}_tot = {p};" for (_, _, c, n), p in zip(accs, pointers, strict=True)]
    clear = [f"vstore{lanes}(({c}{lanes})({r.combine.neutral(k, True)}), 0, {n}_tot + {i});" for r, k, c, n in accs]
    lines.extend(_column_loop(main, clear))
    rows = _column_loop(main, main.inner)
    if not main.blocked():
        return [*lines, *_row_loop(main, rows, "q_begin", "q_end")]
    padded = main.shape.padded
    for j, (_, _, c, n) in enumerate(accs):
        base = main.kernel.scratch(200 + j, c, padded * main.shape.tasks * _bytes(c))
        lines.append(f"__global {c} *{n}_blk = {base} + task * {main.kernel.size(padded)};")
    reset = [s.replace("_tot +", "_blk +") for s in clear]
    load = [
        f"{c}{lanes} {n}{t} = vload{lanes}(0, {n}_{s} + {i});"
        for _, _, c, n in accs for t, s in (("", "blk"), ("t", "tot"))
    ]  # fmt: skip
    join = _joined(main, [(n, f"{n}t") for *_, n in accs])
    put = [f"vstore{lanes}({n}t, 0, {n}_tot + {i});" for *_, n in accs]
    block = main.kernel.size(BLOCK)
    return [
        *lines,
        f"for ({main.kind} block = q_begin; block < q_end; block += {block}) {{",
        *indent(_column_loop(main, reset)),
        f"    {main.kind} stop = min(q_end, block + {block});",
        *indent(_row_loop(main, rows, "block", "stop")),
        *indent(_column_loop(main, [*load, *join, *put])),
        "}",
    ]


def _bytes(ctype: str) -> int:
    return 8 if ctype in ("double", "long", "ulong") else 4


class _Final(Body):
    """What is done per column once its sums are there."""

    def __init__(self, plan: Plan, kernel: KernelText) -> None:
        levels: dict[object, int] = {n.name: 1 for n in plan.kept_loops[:-1]}
        levels[plan.kept_loops[-1].name] = INNER
        levels |= {r.name: INNER for r in plan.reductions}
        super().__init__(kernel, plan.nest, levels, plan.lanes, list(plan.kept))
        self.printer.count(e for _, e in plan.kept)
        self.plan = plan
        self.open_inner()

    def finish(self, accs: dict[int, tuple[str, ...]]) -> list[str]:
        """Statements that store the results, given the names of the accumulators by reduction."""
        for r in self.plan.reductions:
            states = accs[r.name]
            if r.combine.arg:
                self.inner.append(r.combine.shown(states[1], self.lanes))
            self.printer.locals[r.name] = r.combine.outcome(states)
        terms = [self.printer.broadcast(e) for _, e in self.plan.kept]
        at = self.printer.position(self.nest.kept_at, INNER, raw=True)
        for (v, _), text in zip(self.plan.kept, terms, strict=True):
            pointer = self.kernel.pointer(v, written=True)
            self.inner.append(self.kernel.write(pointer, at, text, v.info.dtype, self.lanes, "live"))
        return self.inner


def _names(main: _Main) -> dict[int, tuple[str, ...]]:
    out: dict[int, tuple[str, ...]] = {}
    for r, _, _, n in main.accumulators():
        out[r.name] = (*out.get(r.name, ()), n)
    return out


def _single(plan: Plan, shape: _Shape, geo: Geometry) -> Generated:
    kernel = plan.kernel
    main = _Main(plan, kernel, shape)
    head = main.head()
    _accumulate(main)
    final = _Final(plan, kernel)
    if main.narrow():
        after = final.finish(_names(main))
        lines = [*final.row, *_narrow(main, after)]
    else:
        padded, accs = shape.padded, main.accumulators()
        pointers = [
            f"{kernel.scratch(100 + j, c, padded * shape.tasks * _bytes(c))} + task * {kernel.size(padded)}"
            for j, (_, _, c, _) in enumerate(accs)
        ]
        lines = _wide(main, pointers)
        i, lanes = main.last.name, main.lanes
        load = [f"{c}{lanes} {n} = vload{lanes}(0, {n}_tot + {i});" for _, _, c, n in accs]
        lines += [*final.row, *_column_loop(main, [*load, *final.finish(_names(main))])]
    top = [*main.top, *final.top]
    body = [f"RANGE({main.kind}, task, {kernel.size(shape.tasks)}, 1) {{", *indent([*head, *main.row, *lines]), "}"]
    return assemble(kernel, [*top, *body], geo)


def _parts(plan: Plan, shape: _Shape, geo: Geometry) -> Generated:
    kernel = plan.kernel
    main = _Main(plan, kernel, shape)
    head = main.head()
    _accumulate(main)
    padded, accs = shape.padded, main.accumulators()
    pointers = []
    for j, (_, _, c, _) in enumerate(accs):
        base = kernel.scratch(100 + j, c, padded * shape.tasks * _bytes(c))
        pointers.append(f"{base} + task * {kernel.size(padded)}")
    if main.narrow():
        i, lanes = main.last.name, main.lanes
        after = [f"vstore{lanes}({n}, 0, {p} + {i});" for (*_, n), p in zip(accs, pointers, strict=True)]
        lines = _narrow(main, after)
    else:
        lines = _wide(main, pointers)
    body = [f"RANGE({main.kind}, task, {kernel.size(shape.tasks)}, 1) {{", *indent([*head, *main.row, *lines]), "}"]
    return assemble(kernel, [*main.top, *body], geo)


def _join(plan: Plan, shape: _Shape) -> Generated:
    """One task per batch element and block of columns: adds the parts, then works on the sums."""
    kernel = plan.kernel
    main = _Main(plan, kernel, shape)  # for its names only
    final = _Final(plan, kernel)
    kind, lanes, i = main.kind, plan.lanes, main.last.name
    padded, many = kernel.size(shape.padded), kernel.size(shape.splits)
    accs = main.accumulators()
    declare, parts = [], []
    for j, (r, k, c, n) in enumerate(accs):
        base = kernel.scratch(100 + j, c, shape.padded * shape.tasks * _bytes(c))
        declare.append(f"{c}{lanes} {n} = {r.combine.neutral(k, True)};")
        parts.append(f"{c}{lanes} {n}x = vload{lanes}(0, {base} + (task * {many} + part) * {padded} + {i});")
    table = {n: f"{n}x" for *_, n in accs}
    update: list[str] = []
    for r in plan.reductions:
        names = tuple(n for q, _, _, n in accs if q is r)
        update.extend(r.combine.update(kernel, names, tuple(table[n] for n in names), lanes))
    loop = [f"for (int part = 0; part < {many}; ++part) {{", *indent([*parts, *update]), "}"]
    after = final.finish(_names(main))
    single = _Shape(shape.batch, shape.blocks, 1, shape.rows, shape.columns, shape.block, shape.rows, shape.padded)
    main.shape = single
    head = main.head()
    lines = [*final.row, *_column_loop(main, [*declare, *loop, *after])]
    body = [f"RANGE({kind}, task, {kernel.size(single.tasks)}, 1) {{", *indent([*head, *lines]), "}"]
    return assemble(kernel, [*final.top, *body], Geometry(1, 1))

