"""Inlining: each pointwise definition is either substituted into its consumers or given memory.

A value is inlined when that costs no more than storing it: one use, or few cheap operations. Invariant: an inlined
expression is evaluated before any write to a variable it reads; the remaining definitions load only values that
have memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tfnb.caches import remembered
from tfnb.codegen.fusion.indexing import Indexing, index_vars
from tfnb.codegen.fusion.pieces import regions_of
from tfnb.codegen.fusion.values import (
    CallDef,
    CopyDef,
    Definition,
    Lowered,
    PointwiseDef,
    ReduceDef,
    Value,
    View,
    element,
    loads_of,
    size_of,
)
from tfnb.codegen.whynot import WhyNot
from tfnb.ir.kernelcall import TensorInfo
from tfnb.ir.scalar import PRIMITIVES, SLOW, Expr, const, substitute, walk
from tfnb.sizes import same, typical

__all__ = ["cost", "inline", "squeeze"]

CHEAP = 6  # the largest cost for which computing a value again is cheaper than storing and loading it
MAX_NODES = 400  # in one expression: larger ones compile slowly and do not fit the registers
# Deeper expressions exceed the depth of calls that Python and compilers allow where they are printed and parsed.
MAX_DEPTH = 100
MAX_LOADS = 16
MAX_OPERANDS = 32  # of one kernel: every device has room for 128 pointers
# The costs of operations that are not primitives; those without an entry cost 1.
_COSTS = {"const": 0, "index": 0, "local": 0, "arg": 0, "philox": SLOW}


@remembered("costs of expressions", 8192)
def cost(e: Expr) -> int:
    """Returns the approximate cost of an expression, in cheap operations."""
    return sum(p.cost if (p := PRIMITIVES.get(x.op)) else _COSTS.get(x.op, 1) for x in walk(e))


def inline(lowered: Lowered, fuse: bool = True) -> tuple[list[Definition], list[WhyNot]]:
    """Returns the definitions that get memory, with the others substituted into them, and the reasons for the memory.

    Without `fuse` all of them get memory, because a compiler may round a whole expression differently from its parts.
    """
    inliner = _Inliner(lowered, fuse)
    for d in lowered.definitions:
        inliner.visit(d)
    return inliner.roots, inliner.reasons


def bodies_of(d: Definition) -> tuple[Expr, ...]:
    """Returns the expressions of a definition; none for calls of library kernels and copies."""
    if isinstance(d, PointwiseDef):
        return d.bodies
    return (d.body,) if isinstance(d, ReduceDef) else ()


class _Inliner:
    def __init__(self, lowered: Lowered, fuse: bool) -> None:
        self.lowered, self.fuse = lowered, fuse
        self.roots: list[Definition] = []
        self.reasons: list[WhyNot] = []
        self.inlined: dict[Value, Expr] = {}
        self.parts = 0
        self.uses: dict[Value, list[tuple[Definition, list[Expr]]]] = {}
        self.needed: set[Value] = {v.value for v in lowered.outputs}
        for d in reversed(lowered.definitions):  # a value that only unused definitions read is unused, too
            if isinstance(d, (CallDef, CopyDef)) or self._is_used(d):
                self._count(d)

    def _is_used(self, d: Definition) -> bool:
        return any(v in self.needed or v in self.uses or v.kind == "variable" for v in d.values)

    def _count(self, d: Definition) -> None:
        if isinstance(d, CallDef):
            self.needed.update(d.reads)
        elif isinstance(d, CopyDef):
            self.needed.add(d.source.value)
        loads_by_value: dict[Value, list[Expr]] = {}
        for load in dict.fromkeys(x for b in bodies_of(d) for x in loads_of(b)):
            loads_by_value.setdefault(load.value.value, []).append(load)
        for value, loads in loads_by_value.items():
            self.uses.setdefault(value, []).insert(0, (d, loads))

    def visit(self, d: Definition) -> None:
        if isinstance(d, (CallDef, CopyDef)):
            self.roots.append(d)
            return
        ix = Indexing({f"i{k}": n for k, n in enumerate(d.domain)})
        bodies = tuple(ix.simplify(self._expanded(b, ix)) for b in bodies_of(d))
        if not self._is_used(d):
            return
        bodies = tuple(self._narrowed(d, b) for b in bodies)
        if isinstance(d, PointwiseDef):
            d = replace(d, bodies=bodies)
            reason = self._why_not(d, ix)
            if reason is None:
                self.inlined[d.values[0]] = bodies[0]
                return
            self.reasons.append(WhyNot("inlining", d.label, reason))
        else:
            d = replace(d, body=bodies[0])
        self.roots.append(d)

    def _narrowed(self, d: PointwiseDef | ReduceDef, body: Expr) -> Expr:
        """Returns the body, which afterwards reads at most as many operands as a kernel may have.

        If it reads more, parts of it become definitions of their own.
        """
        while len({x.value.value for x in loads_of(body)}) > MAX_OPERANDS:
            if len(regions_of(d.domain, [(d.values[0], body)], 1)) > 1:
                break  # the domain is cut into pieces that read few operands each
            part = _part(body)
            if part is None:
                break
            self.parts += 1
            value = Value(-self.parts, TensorInfo(part.dtype, d.domain), "computed")
            self.roots.append(PointwiseDef(d.position, d.nodes, d.label, (value,), (part,), True))
            self.needed.add(value)
            body = substitute(body, {part: element(View(value, d.domain), index_vars(len(d.domain)))})
        return body

    def _expanded(self, body: Expr, ix: Indexing) -> Expr:
        table: dict[Expr, Expr] = {}
        for load in loads_of(body):  # operands first, because an index may itself load an inlined value
            args = tuple(substitute(a, table) for a in load.args)
            inner = self.inlined.get(load.value.value)
            if inner is not None:
                table[load] = at_index(inner, load.value, args, ix)
            elif args != load.args:
                table[load] = substitute(load, {a: b for a, b in zip(load.args, args, strict=True)})
        return substitute(body, table)

    def _why_not(self, d: PointwiseDef, ix: Indexing) -> str | None:
        """Returns the reason why the definition gets memory; None if it is inlined."""
        value, body = d.values[0], d.bodies[0]
        if d.pinned or len(d.values) > 1 or value.kind == "variable" or value in self.needed:
            return "its value is needed in memory"
        if not self.fuse:
            return "optimization is off"
        uses = self.uses[value]
        nodes, loads = size_of(body), len(loads_of(body))
        if nodes > MAX_NODES or loads > MAX_LOADS:
            return f"its expression has {nodes} nodes and {loads} loads"
        if body.depth > MAX_DEPTH:
            return f"its expression is {body.depth} operations deep"
        for consumer, _ in uses:
            reason = self._too_late(d, consumer, ix)
            if reason is not None:
                return reason
        body_cost = cost(body)
        if body_cost <= CHEAP and loads <= 2 or value.info.size == 1:
            return None
        total = sum(len(loads_of_value) for _, loads_of_value in uses)
        if total > 1:
            return f"it is used {total} times and costs {body_cost}"
        consumer, loads_of_value = uses[0]
        size = 1
        for n in consumer.domain:  # type: ignore[union-attr]
            size *= n
        if typical(size) > typical(value.info.size) and not _hoistable(loads_of_value[0], consumer):
            return f"it would be computed {typical(size) // max(typical(value.info.size), 1)} times"
        return None

    def _too_late(self, d: PointwiseDef, consumer: Definition, ix: Indexing) -> str | None:
        """Returns the reason if a variable that `d` reads may already be written when the consumer runs; else None."""
        idx = index_vars(len(d.domain))
        for load in loads_of(d.bodies[0]):
            v = load.value.value
            if v.kind != "variable":
                continue
            writer = self.lowered.writers.get((v.index, v.version + 1))
            if writer is None:
                continue
            if self.lowered.behind[consumer.position] >> writer & 1:
                return "a variable it reads is written before its value is used"
            if writer == consumer.position:
                same_element = ix.linear(load.args, load.value.shape) is ix.linear(idx, d.domain)
                is_canonical = all(
                    _canonical(u, consumer) for c, us in self.uses[d.values[0]] if c is consumer for u in us
                )
                if not (same_element and is_canonical and same(d.values[0].info.size, v.info.size)):
                    return "it reads other elements of the variable that its consumer writes"
        return None


def _part(body: Expr) -> Expr | None:
    """Returns the largest part that reads at most `MAX_OPERANDS` operands, if it reads more than one."""
    reads: dict[Expr, frozenset[Value]] = {}
    best: Expr | None = None
    for e in walk(body):
        loaded = frozenset({e.value.value}) if e.op == "load" else frozenset()
        reads[e] = loaded.union(*(reads[a] for a in e.args))
        most_reads = 1 if best is None else len(reads[best])
        if most_reads < len(reads[e]) <= MAX_OPERANDS and not e.dtype.is_bool:
            best = e
    return best


def _canonical(load: Expr, consumer: Definition) -> bool:
    domain = consumer.domain  # type: ignore[union-attr]
    ix = Indexing({f"i{k}": n for k, n in enumerate(domain)})
    return ix.linear(load.args, load.value.shape) is ix.linear(index_vars(len(domain)), domain)


def _hoistable(load: Expr, consumer: Definition) -> bool:
    """Returns whether the loaded element is the same for all iterations of the innermost loop."""
    rank = len(consumer.domain)  # type: ignore[union-attr]
    last = f"i{rank - 1}"
    return not any(x.op == "load" or x.op == "index" and x.value == last for a in load.args for x in walk(a))


def at_index(body: Expr, view: View, args: Sequence[Expr], ix: Indexing) -> Expr:
    """Returns the body of a value's definition at the index tuple `args` of one of its views."""
    shape = view.value.info.shape
    if view.shape != shape:
        args = ix.unravel(ix.linear(args, view.shape), shape)
    return substitute(body, dict(zip(index_vars(len(shape)), args, strict=True)))


def squeeze(d: PointwiseDef | ReduceDef) -> tuple[tuple[int, ...], tuple[Expr, ...], tuple[int, ...]]:
    """Returns the domain, the bodies and the reduced axes of a definition without the dimensions of extent 1."""
    dims = [k for k, n in enumerate(d.domain) if n != 1]
    new_vars = index_vars(len(dims))
    old_vars = index_vars(len(d.domain))
    table = {i: const(0, i.dtype) for i in old_vars} | {old_vars[k]: i for k, i in zip(dims, new_vars, strict=True)}
    domain = tuple(d.domain[k] for k in dims)
    axes = tuple(dims.index(a) for a in d.axes if a in dims) if isinstance(d, ReduceDef) else ()
    return domain, tuple(substitute(b, table) for b in bodies_of(d)), axes
