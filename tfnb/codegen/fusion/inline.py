"""Inlining: each pointwise definition is either substituted into its consumers or given memory.

A value is inlined when that costs no more than storing it: one use, or few cheap operations. Invariant: an inlined
expression is evaluated before any write to a variable it reads; the remaining definitions load only values that
have memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tfnb.caches import remembered
from tfnb.codegen.fusion.cuts import regions_of
from tfnb.codegen.fusion.indexing import Indexing, index_vars
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
from tfnb.ir.scalar import PRIMITIVES, SLOW, Expr, const, rebuild, substitute, walk
from tfnb.sizes import same, typical

__all__ = ["cost", "inline", "squeeze"]

CHEAP = 6  # the largest cost for which computing a value again is cheaper than storing and loading it
MAX_NODES = 400  # in one expression: larger ones compile slowly and do not fit the registers
# Deeper expressions exceed the depth of calls that Python and compilers allow where they are printed and parsed.
MAX_DEPTH = 100
MAX_LOADS = 16
# A definition that is not inlined may be larger than those that are, which it may contain. Sums of many terms are cut.
_MAX_BODY_DEPTH = MAX_DEPTH + 50
_MAX_BODY_NODES = 4 * MAX_NODES
MAX_OPERANDS = 32  # of one kernel: every device has room for 128 pointers
# The costs of operations that are not primitives; those without an entry cost 1.
_COSTS = {"const": 0, "index": 0, "local": 0, "arg": 0, "philox": SLOW}


@remembered("costs of expressions", 8192)
def cost(e: Expr) -> int:
    """Returns the approximate cost of an expression, in cheap operations."""
    return sum(map(_cost, walk(e)))


def _cost(e: Expr) -> int:
    primitive = PRIMITIVES.get(e.op)
    return primitive.cost if primitive is not None else _COSTS.get(e.op, 1)


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
        self.indexing: dict[tuple[int, ...], Indexing] = {}
        self.sizes: dict[Expr, int] = {}  # limits of the number of nodes in the inlined expressions
        self.parts = 0
        self.uses: dict[Value, list[tuple[Definition, list[Expr]]]] = {}
        self.needed: set[Value] = {v.value for v in lowered.outputs}
        for d in reversed(lowered.definitions):  # a value that only unused definitions read is unused, too
            if isinstance(d, (CallDef, CopyDef)) or self._is_used(d):
                self._count(d)
        for consumers in self.uses.values():
            consumers.reverse()

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
            self.uses.setdefault(value, []).append((d, loads))

    def visit(self, d: Definition) -> None:
        if isinstance(d, (CallDef, CopyDef)):
            self.roots.append(d)
            return
        ix = self.indexing.get(d.domain)
        if ix is None:
            ix = self.indexing[d.domain] = Indexing({f"i{k}": n for k, n in enumerate(d.domain)})
        bodies = tuple(ix.simplify(self._expanded(b, ix)) for b in bodies_of(d))
        if not self._is_used(d):
            return
        bodies = tuple(self._narrowed(d, b) for b in bodies)
        if isinstance(d, PointwiseDef):
            d = replace(d, bodies=bodies)
            reason = self._why_not(d, ix)
            if reason is None:
                self.inlined[d.values[0]] = bodies[0]
                self.sizes[bodies[0]] = self._size(bodies[0])
                return
            self.reasons.append(WhyNot("inlining", d.label, reason))
        else:
            d = replace(d, body=bodies[0])
        self.roots.append(d)

    def _narrowed(self, d: PointwiseDef | ReduceDef, body: Expr) -> Expr:
        """Returns the body, which afterwards is no more than one kernel can compute.

        If it reads too many operands, is too deep or too large, as the sum of many terms may be, parts of it become
        definitions of their own: wherever the operands of an operation together are too much, the one that is most.
        """
        has_many = len({x.value.value for x in loads_of(body)}) > MAX_OPERANDS
        if not has_many and body.depth <= _MAX_BODY_DEPTH and self._size(body) <= _MAX_BODY_NODES:
            return body
        if has_many and len(regions_of(d.domain, [(d.values[0], body)], 1)) > 1:
            return body  # the domain is cut into pieces that read few operands each
        narrowed: dict[Expr, Expr] = {}
        stored: dict[Expr, Expr] = {}
        amounts: dict[Expr, _Amount] = {}
        for e in walk(body):
            args = [stored.get(narrowed[a], narrowed[a]) for a in e.args]
            while (excess := _Amount.of([amounts[a] for a in args]).excess()) is not None:
                large = [a for a in args if _is_computed(a, amounts[a]) and not a.dtype.is_bool]
                if not large:
                    break
                part = max(large, key=lambda a: amounts[a].measure(excess))
                stored[part] = load = self._stored(d, part)
                amounts[load] = _Amount(frozenset({load.value.value}), 1, load.depth)
                args = [load if a is part else a for a in args]
            narrowed[e] = new = rebuild(e, tuple(args))
            amounts[new] = _Amount.of([amounts[a] for a in args], new)
        return narrowed[body]

    def _stored(self, d: PointwiseDef | ReduceDef, part: Expr) -> Expr:
        """Makes a part of the definition's body a definition of its own, and returns the load of its value."""
        self.parts += 1
        value = Value(-self.parts, TensorInfo(part.dtype, d.domain), "computed")
        self.roots.append(PointwiseDef(d.position, d.nodes, d.label, (value,), (part,), True))
        self.needed.add(value)
        return element(View(value, d.domain), index_vars(len(d.domain)))

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
        loads = len(loads_of(body))
        if loads > MAX_LOADS or self._size(body) > MAX_NODES:
            return f"its expression has {size_of(body)} nodes and {loads} loads"
        if body.depth > MAX_DEPTH:
            return f"its expression is {body.depth} operations deep"
        for consumer, _ in uses:
            reason = self._too_late(d, consumer, ix)
            if reason is not None:
                return reason
        if loads <= 2 and _is_cheap(body) or value.info.size == 1:
            return None
        total = sum(len(loads_of_value) for _, loads_of_value in uses)
        if total > 1:
            return f"it is used {total} times and costs {cost(body)}"
        consumer, loads_of_value = uses[0]
        size = 1
        for n in consumer.domain:  # type: ignore[union-attr]
            size *= n
        if typical(size) > typical(value.info.size) and not _hoistable(loads_of_value[0], consumer):
            return f"it would be computed {typical(size) // max(typical(value.info.size), 1)} times"
        return None

    def _size(self, body: Expr) -> int:
        """Returns the number of nodes in the body, or a larger number that does not exceed the limit."""
        limit = self.sizes.get(body)
        if limit is None:
            limit = sum(self.sizes.get(e, 1) for e in walk(body, known=self.sizes.__contains__))
        return limit if limit <= MAX_NODES else size_of(body)

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


def _is_cheap(body: Expr) -> bool:
    """Returns whether the expression costs at most `CHEAP`."""
    total = 0
    seen: set[Expr] = set()
    stack = [body]
    while stack and total <= CHEAP:
        e = stack.pop()
        if e not in seen:
            seen.add(e)
            total += _cost(e)
            stack += e.args
    return total <= CHEAP


class _Amount(NamedTuple):
    """What an expression asks of a kernel: the values that it `reads`, at most how many nodes it has, and its depth."""

    reads: frozenset[Value]
    size: int
    depth: int

    @classmethod
    def of(cls, parts: Sequence[_Amount], user: Expr | None = None) -> _Amount:
        """Returns that of the expressions `parts` together, or that of `user`, whose operands they are."""
        own = [frozenset({user.value.value})] if user is not None and user.op == "load" else []
        reads = frozenset[Value]().union(*own, *(p.reads for p in parts))
        nodes = user is not None
        return cls(reads, sum(p.size for p in parts) + nodes, max((p.depth for p in parts), default=0) + nodes)

    def excess(self) -> str | None:
        """Returns what is more than one kernel can have, None if nothing is."""
        if len(self.reads) > MAX_OPERANDS:
            return "reads"
        if self.depth >= MAX_DEPTH:
            return "depth"
        return "size" if self.size > _MAX_BODY_NODES else None

    def measure(self, what: str) -> int:
        return len(self.reads) if what == "reads" else self.depth if what == "depth" else self.size


def _is_computed(e: Expr, amount: _Amount) -> bool:
    """Returns whether an expression is more than an element of a value, a constant or a variable of a loop."""
    return bool(e.args) and (e.op != "load" or len(amount.reads) > 1)


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
    table = {i: a for i, a in zip(index_vars(len(shape)), args, strict=True) if i is not a}
    return substitute(body, table) if table else body


def squeeze(d: PointwiseDef | ReduceDef) -> tuple[tuple[int, ...], tuple[Expr, ...], tuple[int, ...]]:
    """Returns the domain, the bodies and the reduced axes of a definition without the dimensions of extent 1."""
    dims = [k for k, n in enumerate(d.domain) if n != 1]
    new_vars = index_vars(len(dims))
    old_vars = index_vars(len(d.domain))
    table = {i: const(0, i.dtype) for i in old_vars} | {old_vars[k]: i for k, i in zip(dims, new_vars, strict=True)}
    domain = tuple(d.domain[k] for k in dims)
    axes = tuple(dims.index(a) for a in d.axes if a in dims) if isinstance(d, ReduceDef) else ()
    return domain, tuple(substitute(b, table) for b in bodies_of(d)), axes
