"""Grouping: the decision which definitions become one kernel.

Definitions over one domain that share data are computed in one loop nest: the outputs of an optimizer step, a
reduction with the work on its rows. Invariant: the groups form an acyclic graph under data flow and the order of
reads and writes of variables, and within a group every element is read where it is computed.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tfnb.codegen.fusion.indexing import Indexing, index_vars
from tfnb.codegen.fusion.inline import MAX_DEPTH, squeeze
from tfnb.codegen.fusion.nest import make_nest
from tfnb.codegen.fusion.values import (
    LONG_FROM,
    CallDef,
    CopyDef,
    Definition,
    Lowered,
    ReduceDef,
    Value,
    View,
    loads_of,
    local,
    size_of,
)
from tfnb.codegen.program import DeviceFacts
from tfnb.codegen.whynot import WhyNot
from tfnb.errors import InternalError
from tfnb.ir.kernelcall import Epilogue
from tfnb.ir.scalar import Expr, arg, substitute
from tfnb.sizes import largest, same, same_dims, typical

__all__ = ["Cyclic", "Group", "Member", "group", "is_large", "row_splits"]

MAX_POINTERS = 20
MAX_MEMBERS = 16
MAX_NODES = 800
MAX_SCALARS = 16  # groups of scalars that a scalar tries to join
MAX_REACHED = 1000  # groups that are visited to see whether one must run before another
LARGE = 1 << 17  # bytes


class Cyclic(InternalError):
    """The reads and writes of several variables wait for each other, so the groups cannot be ordered."""


@dataclass(slots=True, eq=False)
class Member:
    """A definition over the dimensions of its domain that have more than one element.

    `preds` are the indices of the members that must run before.
    """

    index: int
    definition: Definition
    domain: tuple[int, ...] = ()
    bodies: tuple[Expr, ...] = ()
    axes: tuple[int, ...] = ()
    reads: frozenset[Value] = frozenset()
    preds: set[int] = field(default_factory=set)

    @property
    def values(self) -> tuple[Value, ...]:
        """The values that the member computes."""
        return self.definition.values

    @property
    def reduces(self) -> bool:
        """Whether the member is a reduction."""
        return isinstance(self.definition, ReduceDef)


@dataclass(slots=True, eq=False)
class Group:
    """Members that are computed by one kernel, or by two if a reduction is split.

    `kind` is pointwise, row (the last dimension is reduced), column, call, copy, or product (a call whose result the
    other members take over tile by tile).

    `exprs[k]` are the bodies of `members[k]` over the group's loop variables. Values that the group itself computes are
    substituted, and results of its reductions are `local(value number)`. `full[k]` says that the member ranges over the
    whole domain, not only over the dimensions that are kept. `levels[k]` is the number of reductions, one after
    another, for which the member waits.
    """

    number: int
    kind: str
    domain: tuple[int, ...]
    axes: tuple[int, ...] | None = None
    members: list[Member] = field(default_factory=list)
    exprs: list[tuple[Expr, ...]] = field(default_factory=list)
    full: list[bool] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    results: dict[Value, tuple[Expr, int, bool]] = field(default_factory=dict)
    reads: set[Value] = field(default_factory=set)
    succs: set[int] = field(default_factory=set)

    @property
    def kept(self) -> tuple[int, ...]:
        """The dimensions of the domain that are not reduced."""
        return tuple(d for d in range(len(self.domain)) if d not in (self.axes or ()))

    @property
    def label(self) -> str:
        """The name of the group in traces and reasons, which is the label of its first member."""
        return self.members[0].definition.label


def group(
    roots: Sequence[Definition], lowered: Lowered, facts: DeviceFacts, fuse: bool = True
) -> tuple[list[Group], list[WhyNot]]:
    """Returns the groups in an order in which they can run, and a reason for each pair that was not joined.

    Raises `Cyclic` if the reads and writes of variables wait for each other.
    """
    members = [_member(k, d) for k, d in enumerate(roots)]
    _constrain(members)
    order = _sorted(members)
    grouping = _Grouping(members, lowered.outputs, facts, fuse)
    for k in order:
        grouping.place(members[k])
    return grouping.in_order(), grouping.reasons


def _member(index: int, d: Definition) -> Member:
    if isinstance(d, CallDef):
        return Member(index, d, reads=frozenset(d.reads))
    if isinstance(d, CopyDef):
        return Member(index, d, reads=frozenset({d.source.value}))
    domain, bodies, axes = squeeze(d)
    reads = {x.value.value for b in bodies for x in loads_of(b)}
    return Member(index, d, domain, bodies, axes, frozenset(reads))


def _constrain(members: list[Member]) -> None:
    """Adds the constraints of data flow: a version of a variable is read after its write and before the next write."""
    member_of = {v: m.index for m in members for v in m.values}
    writes: dict[tuple[int, int], int] = {}
    for m in members:
        for v in m.values:
            if v.kind == "variable":
                writes[(v.index, v.version)] = m.index
    for m in members:
        for v in m.reads:
            if v in member_of and member_of[v] != m.index:
                m.preds.add(member_of[v])
            if v.kind == "variable":
                next_write = writes.get((v.index, v.version + 1))
                if next_write is not None and next_write != m.index:
                    members[next_write].preds.add(m.index)
    for (variable, version), index in writes.items():
        previous_write = writes.get((variable, version - 1))
        if previous_write is not None:
            members[index].preds.add(previous_write)


def _sorted(members: list[Member]) -> list[int]:
    pending = [len(m.preds) for m in members]
    succs: list[list[int]] = [[] for _ in members]
    for m in members:
        for p in m.preds:
            succs[p].append(m.index)
    ready = [(m.definition.position, m.index) for m in members if not m.preds]
    heapq.heapify(ready)
    order = []
    while ready:
        _, k = heapq.heappop(ready)
        order.append(k)
        for j in succs[k]:
            pending[j] -= 1
            if not pending[j]:
                heapq.heappush(ready, (members[j].definition.position, j))
    if len(order) < len(members):
        raise Cyclic("reads and writes of variables wait for each other")
    return order


def row_splits(domain: Sequence[int], axes: Sequence[int], facts: DeviceFacts) -> int:
    """Returns the number of parts into which the reduction of one row is split so that all compute units have work."""
    rows = inner = 1
    for d, n in enumerate(domain):
        rows, inner = (rows, inner * n) if d in axes else (rows * n, inner)
    enough_parts = 4 * facts.units
    if facts.kind == "gpu":
        return min(-(-enough_parts // rows), -(-inner // 4096)) if rows < enough_parts and inner >= 16384 else 1
    # The order of the comparisons matters for formulas: each one that is not decided divides the shapes in two classes.
    return min(enough_parts, inner // 16384) if inner >= 32768 and rows < enough_parts and rows * inner >= 65536 else 1


class _Grouping:
    def __init__(self, members: list[Member], outputs: Sequence[View], facts: DeviceFacts, fuse: bool) -> None:
        self.members, self.facts, self.fuse = members, facts, fuse
        self.uses = Counter([v for m in members for v in m.reads] + [v.value for v in outputs])
        self.groups: list[Group] = []
        self.scalars: list[Group] = []
        self.home: dict[int, Group] = {}
        self.readers: dict[Value, list[Group]] = {}
        self.reasons: list[WhyNot] = []

    def place(self, m: Member) -> None:
        target = self._found(m) if self.fuse and m.bodies else None
        if target is None:
            kind = _kind(m)
            target = Group(len(self.groups), kind, m.domain, m.axes if m.reduces else None)
            self.groups.append(target)
            if kind == "pointwise" and not m.domain:
                self.scalars.append(target)
            joining = _joined(target, m, self.facts)
            if isinstance(joining, str):
                raise InternalError(f"{m.definition.label}: {joining}")
            _add(target, m, joining)
        self.home[m.index] = target
        for p in m.preds:
            if self.home[p] is not target:
                self.home[p].succs.add(target.number)
        for v in m.reads:
            self.readers.setdefault(v, []).append(target)

    def _found(self, m: Member) -> Group | None:
        """Finds a group that `m` can join, and adds `m` to it; None if there is no such group.

        Groups that compute a value that `m` reads are tried first, then groups that read the same values.
        """
        candidates: dict[Group, None] = {}
        for p in sorted(m.preds, reverse=True):
            if any(v in m.reads for v in self.members[p].values):
                candidates[self.home[p]] = None
        # In order of their numbers, not of hashes, so that the kernels are the same in every process.
        for v in sorted(m.reads, key=lambda v: v.number):
            if typical(v.info.size) > 1:
                candidates.update(dict.fromkeys(reversed(self.readers.get(v, [])[-8:])))
        if not m.domain:  # for scalars a launch costs more than the work
            latest = reversed(self.scalars[-MAX_SCALARS:])
            candidates.update(dict.fromkeys(g for g in latest if g.kind == "pointwise"))
        for g in candidates:
            if g.kind == "copy" or g.kind == "call" and not _is_product(g):
                continue
            joining = self._joined(g, m)
            if not isinstance(joining, str) and self._reaches(g, m):
                joining = "another kernel must run in between"
            if isinstance(joining, str):
                self.reasons.append(WhyNot("joining", f"{m.definition.label} and {g.label}", joining))
                continue
            if g.kind == "call":
                g.domain, g.results = m.domain, _taken_over(g)
            _add(g, m, joining)
            return g
        return None

    def _joined(self, g: Group, m: Member) -> _Joined | str:
        if g.kind not in ("call", "product"):
            return _joined(g, m, self.facts)
        readers = self.uses[g.members[0].values[0]]
        if readers != 1:
            return f"the product has {readers} readers"
        limit = _unfit(g.members[0], m)
        if limit is not None:
            return limit
        return _joined(replace(g, kind="product", domain=m.domain, results=_taken_over(g)), m, self.facts)

    def _reaches(self, g: Group, m: Member) -> bool:
        """Returns whether a path leads from `g` through another group to `m`, or may lead there."""
        goals = {self.home[p].number for p in m.preds} - {g.number}
        stack, visited = list(g.succs), set(g.succs)
        while stack:
            n = stack.pop()
            if n in goals or len(visited) > MAX_REACHED:
                return True
            unvisited = self.groups[n].succs - visited
            visited |= unvisited
            stack.extend(unvisited)
        return False

    def in_order(self) -> list[Group]:
        pending = {g.number: 0 for g in self.groups}
        for g in self.groups:
            for n in g.succs:
                pending[n] += 1
        first = {g.number: min(m.definition.position for m in g.members) for g in self.groups}
        ready: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])  # small groups, large ones
        for n, count in pending.items():
            if not count:
                ready[is_large(self.groups[n])].append((first[n], n))
        for heap in ready:
            heapq.heapify(heap)
        order = []
        take_large = False
        while any(ready):
            take_large = take_large if ready[take_large] else not take_large
            _, n = heapq.heappop(ready[take_large])
            order.append(self.groups[n])
            for s in self.groups[n].succs:
                pending[s] -= 1
                if not pending[s]:
                    heapq.heappush(ready[is_large(self.groups[s])], (first[s], s))
        if len(order) < len(self.groups):
            raise InternalError("the kernels of a cluster wait for each other")
        return order


def _is_product(g: Group) -> bool:
    d = g.members[0].definition
    return isinstance(d, CallDef) and d.product is not None and d.product.tiled and d.site.epilogue == Epilogue()


def _taken_over(g: Group) -> dict[Value, tuple[Expr, int, bool]]:
    """Returns the results of a call's group when its kernel works on the tiles of a product."""
    product = g.members[0].values[0]
    return {product: (local(product.number, product.info.dtype), 0, True), **g.results}


def _unfit(product: Member, m: Member) -> str | None:
    """Returns the reason why `m` cannot continue with the tiles of a product.

    Only updates of variables may: each kind of work is a kernel to compile, and updates are of few kinds, one for each
    optimizer.
    """
    result = product.values[0]
    if m.reduces or any(v.kind != "variable" or v.info.dtype is not result.info.dtype for v in m.values):
        return "what follows the product is no update of variables"
    if {v.index for v in m.values} & {v.index for v in product.reads if v.kind == "variable"}:
        return "the product reads a variable that is updated"
    limit = largest(*(v.info.size for v in (*m.values, *m.reads)))
    if not same(m.values[0].info.size, result.info.size) or len(make_nest(m.domain, (), m.bodies, limit).loops) != 1:
        return "it needs rows and columns"
    return "there are too many elements" if limit >= LONG_FROM else None


def is_large(g: Group) -> bool:
    """Returns whether the group accesses so many bytes that several cores share its work.

    A change between such a kernel and one of a single core takes time, so the groups are ordered to have few changes.
    The order must be one for all shapes of a class, so the typical sizes decide.
    """
    accessed = {*g.reads, *(v for m in g.members for v in m.values)}
    return sum(typical(v.info.nbytes) for v in accessed) > LARGE


def _kind(m: Member) -> str:
    if isinstance(m.definition, CallDef):
        return "call"
    if isinstance(m.definition, CopyDef):
        return "copy"
    if not m.reduces:
        return "pointwise"
    return "row" if len(m.domain) - 1 in m.axes else "column"


@dataclass(frozen=True, slots=True)
class _Joined:
    """A member as it is computed inside a group."""

    exprs: tuple[Expr, ...]
    full: bool
    level: int
    axes: tuple[int, ...] | None
    kind: str


def _joined(g: Group, m: Member, facts: DeviceFacts) -> _Joined | str:
    """Returns the form in which the loop nest of `g` can compute `m`, or the reason why it cannot."""
    if not m.bodies:
        return _Joined((), True, 0, None, g.kind)
    axes, kind = g.axes, g.kind
    if m.reduces:
        if not same_dims(m.domain, g.domain) or (axes is not None and axes != m.axes):
            return "they reduce different domains"
        axes, kind = m.axes, _kind(m)
    full = same_dims(m.domain, g.domain)
    kept_shape = tuple(n for d, n in enumerate(g.domain) if d not in (axes or ()))
    if not full and (axes is None or not same_dims(m.domain, kept_shape)):
        return f"their domains are {g.domain} and {m.domain}"
    if len(g.members) >= MAX_MEMBERS:
        return "the kernel has enough outputs"
    ix = Indexing({f"i{d}": n for d, n in enumerate(g.domain)})
    idx = index_vars(len(g.domain))
    row = tuple(idx[d] for d in range(len(g.domain)) if axes is not None and d not in axes)
    bodies = m.bodies
    if not full:
        kept_vars = dict(zip(index_vars(len(kept_shape)), row, strict=True))
        bodies = tuple(substitute(b, kept_vars) for b in m.bodies)
    resolution = _resolve(g, bodies, ix, idx, row, full or m.reduces)
    if isinstance(resolution, str):
        return resolution
    exprs, level = resolution
    limit = _limits(g, m, exprs, level, axes, kind, facts, full)
    return limit if limit is not None else _Joined(exprs, full, level, axes, kind)


def _resolve(
    g: Group, bodies: tuple[Expr, ...], ix: Indexing, mine: tuple[Expr, ...], row: tuple[Expr, ...], full: bool
) -> tuple[tuple[Expr, ...], int] | str:
    """Replaces loads of the group's own values in `bodies`; also returns the level of reductions for which they wait.

    If that is not possible, the result is the reason.
    """
    table: dict[Expr, Expr] = {}
    level = 0
    for load in dict.fromkeys(x for b in bodies for x in loads_of(b)):
        result = g.results.get(load.value.value)
        if result is None:
            continue
        expr, depth, is_full = result
        idx = mine if is_full else row
        shape = (
            tuple(g.domain[d] for d in range(len(g.domain)))
            if is_full
            else tuple(g.domain[int(str(i.value)[1:])] for i in row)
        )
        if is_full and not full:
            return "a value per row needs other elements than its own"
        if ix.linear(load.args, load.value.shape) is not ix.linear(idx, shape):
            return "it reads other elements than the ones computed beside it"
        table[load] = expr
        level = max(level, depth)
    return tuple(substitute(b, table) for b in bodies) if table else bodies, level


def _limits(
    g: Group,
    m: Member,
    exprs: tuple[Expr, ...],
    level: int,
    axes: tuple[int, ...] | None,
    kind: str,
    facts: DeviceFacts,
    full: bool,
) -> str | None:
    if not g.members:
        return None
    reads = {x.value.value for e in exprs for x in loads_of(e)}
    pointers = {(v.kind, v.index) if v.kind == "variable" else v for v in g.reads | reads}
    if len(pointers) + sum(len(x.values) for x in g.members) + len(m.values) > MAX_POINTERS:
        return "the kernel would have too many pointers"
    if sum(size_of(*e) for e in g.exprs) + size_of(*exprs) > MAX_NODES:
        return "the kernel would be too long"
    if any(e.depth > MAX_DEPTH for e in exprs):
        return "the kernel's expressions would be too deep"
    ranges_over_domain = full or m.reduces
    if level and ranges_over_domain and kind == "column":
        return "a column is known only after all rows were read"
    if level and ranges_over_domain and axes is not None and row_splits(g.domain, axes, facts) > 1:
        return "the reduction is split among work-groups"
    if kind == "column" and any(f and lv for f, lv in zip(g.full, g.levels, strict=True)):
        return "a column is known only after all rows were read"
    return _in_place(g, m, exprs, level, ranges_over_domain, axes)


def _in_place(
    g: Group, m: Member, exprs: tuple[Expr, ...], level: int, whole: bool, axes: tuple[int, ...] | None
) -> str | None:
    """Returns a reason if some element of a variable is read elsewhere, or in another phase, than it is written.

    The kernel writes variables in place, so such a read could get the old or the new element.
    """
    members = [*zip(g.members, g.exprs, g.levels, g.full, strict=True), (m, exprs, level, whole)]
    writes = {
        (v.index, v.version): (x.domain, depth, f)
        for x, _, depth, f in members
        for v in x.values
        if v.kind == "variable"
    }
    ix = Indexing({f"i{d}": n for d, n in enumerate(g.domain)})
    for _, member_exprs, depth, f in members:
        for load in (x for e in member_exprs for x in loads_of(e)):
            v = load.value.value
            if v.kind != "variable" or (v.index, v.version + 1) not in writes:
                continue
            domain, write_level, write_full = writes[(v.index, v.version + 1)]
            if write_full != f or (f and depth != write_level):
                return "a variable is read in another phase than it is written"
            own_idx = index_vars(len(g.domain))
            if not f:
                own_idx = tuple(i for d, i in enumerate(own_idx) if d not in (axes or ()))
            if ix.linear(load.args, load.value.shape) is not ix.linear(own_idx, domain):
                return "a variable is read elsewhere than it is written"
    return None


def _add(g: Group, m: Member, joined: _Joined) -> None:
    g.kind, g.axes = joined.kind, joined.axes
    g.members.append(m)
    g.exprs.append(joined.exprs)
    g.full.append(joined.full or m.reduces)
    g.levels.append(joined.level)
    g.reads |= {x.value.value for e in joined.exprs for x in loads_of(e)} if m.bodies else set(m.reads)
    if isinstance(m.definition, ReduceDef):
        d = m.definition
        result = local(d.values[0].number, d.accumulator)
        g.results[d.values[0]] = (substitute(d.finish, {arg(0, result.dtype): result}), joined.level + 1, False)
        return
    for v, e in zip(m.values, joined.exprs, strict=True) if m.bodies else ():
        g.results[v] = (e, joined.level, joined.full)
