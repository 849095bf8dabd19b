"""Loop nests: the loops of a kernel, in which neighbouring dimensions are merged.

Two dimensions become one loop if every access steps through them evenly. Index tuples of loads become linear positions.
Invariant: the merged nest visits the same elements in the same row-major order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tfnb.codegen.fusion.indexing import Affine, Indexing, index_vars
from tfnb.codegen.fusion.values import LONG_FROM
from tfnb.ir import scalar as s
from tfnb.ir.scalar import Expr, make, substitute, walk
from tfnb.types import DType, int32, int64

__all__ = ["Loop", "Nest", "make_nest"]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop variable, its extent, and whether the kernel reduces over it."""

    name: str
    extent: int
    reduced: bool

    @property
    def size(self) -> str:
        """The name of the extent in kernels."""
        return f"n{self.name[1:]}"

    def var(self, dtype: DType) -> Expr:
        """Returns the loop variable as an expression."""
        return s.index(self.name, dtype)


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops from the outermost to the innermost, and the expressions over them, whose loads are at linear positions.

    `at` is the linear position of the current element, `kept_at` its position in an array of the dimensions that are
    not reduced. `dense` says that the elements lie in row-major order without gaps.
    """

    loops: tuple[Loop, ...]
    exprs: tuple[Expr, ...]
    at: Expr
    kept_at: Expr
    dtype: DType
    dense: bool = True

    def strides(self) -> dict[str, str]:
        """Returns the names of the strides of `at` by loop: s0 for i0.

        A stride that is the extent of the next loop has the name of that extent.
        """
        names = {n.name: f"s{n.name[1:]}" for n in self.loops}
        if self.dense and len(self.loops) > 1:
            names[self.loops[-2].name] = self.loops[-1].size
        return names

    def kept_strides(self) -> dict[str, str]:
        """Returns the names of the strides of `kept_at` by loop."""
        loops = [n for n in self.loops if not n.reduced]
        names = {n.name: f"kept_s{n.name[1:]}" for n in loops}
        if len(loops) > 1:
            names[loops[-2].name] = loops[-1].size
        return names

    @property
    def indexing(self) -> Indexing:
        """A simplifier of index expressions that knows the extents of these loops."""
        return Indexing({n.name: n.extent for n in self.loops}, self.dtype)


def make_nest(
    domain: Sequence[int], axes: Iterable[int], exprs: Sequence[Expr], limit: int, at: Expr | None = None
) -> Nest:
    """Returns the nest over `domain`, whose dimensions `axes` are reduced.

    `at` is the position of the current element, if it is not that of row-major order. `limit` is the number of elements
    of the largest array: from 2**31 - 64 on indices are long.
    """
    axes = frozenset(axes)
    dtype = int64 if limit >= LONG_FROM else int32
    ix = Indexing({f"i{d}": n for d, n in enumerate(domain)}, dtype)
    idx = index_vars(len(domain), dtype)
    if dtype is int64:
        int_vars = index_vars(len(domain))
        long_of_int = dict(zip(int_vars, idx, strict=True))
        exprs = [substitute(e, long_of_int) for e in exprs]
        at = None if at is None else substitute(at, long_of_int)
    dense = at is None
    at = ix.linear(idx, domain) if at is None else ix.build(ix.affine(at))
    kept_dims = [d for d in range(len(domain)) if d not in axes]
    kept_at = ix.linear([idx[d] for d in kept_dims], [domain[d] for d in kept_dims])
    flat = [_linear_loads(e, ix) for e in exprs]
    runs = _merge(domain, axes, _forms([*flat, at, kept_at], ix), idx)
    nest = _rename(domain, axes, runs, idx, flat, at, kept_at, dtype)
    return nest if dense else replace(nest, dense=False)


def _linear_loads(root: Expr, ix: Indexing) -> Expr:
    rebuilt: dict[Expr, Expr] = {}
    for e in walk(root):
        args = tuple(rebuilt[a] for a in e.args)
        if e.op == "load":
            rebuilt[e] = make("load", (ix.linear(args, e.value.shape),), e.dtype, e.value.value)
        else:
            rebuilt[e] = s.rebuild(e, args)
    return rebuilt[root]


def _forms(roots: Sequence[Expr], ix: Indexing) -> list[Affine]:
    """Returns the affine forms of all maximal index expressions."""
    forms: dict[Expr, Affine] = {}
    stack, visited = list(roots), set(roots)
    while stack:
        e = stack.pop()
        inner = e.args
        if e.op == "load":
            form = forms.setdefault(e.args[0], ix.affine(e.args[0]))
            inner = tuple(a for t in form.terms for a in t.args)
        elif e.dtype in (int32, int64) and ix.pure(e):
            forms.setdefault(e, ix.affine(e))
            continue
        unvisited = [a for a in inner if a not in visited]
        visited.update(unvisited)
        stack.extend(unvisited)
    return list(forms.values())


def _merge(domain: Sequence[int], axes: frozenset[int], forms: list[Affine], idx: Sequence[Expr]) -> list[list[int]]:
    """Runs of dimensions, each of which becomes one loop."""
    pinned = {v for f in forms for t in f.terms if t.op != "index" for v in walk(t) if v.op == "index"}
    runs: list[list[int]] = []
    for d in range(len(domain)):
        last = runs[-1][-1] if runs else None
        if (
            last is not None
            and (last in axes) == (d in axes)
            and not {idx[last], idx[d]} & pinned
            and all(f.terms.get(idx[last], 0) == f.terms.get(idx[d], 0) * domain[d] for f in forms)
        ):
            runs[-1].append(d)
        else:
            runs.append([d])
    return runs


def _rename(
    domain: Sequence[int],
    axes: frozenset[int],
    runs: list[list[int]],
    idx: Sequence[Expr],
    exprs: Sequence[Expr],
    at: Expr,
    kept_at: Expr,
    dtype: DType,
) -> Nest:
    loops = []
    table: dict[Expr, Expr] = {}
    for k, run in enumerate(runs):
        extent = 1
        for d in run:
            extent *= domain[d]
            table[idx[d]] = s.const(0, dtype)
        loops.append(Loop(f"i{k}", extent, run[0] in axes))
        table[idx[run[-1]]] = s.index(f"i{k}", dtype)
    ix = Indexing({n.name: n.extent for n in loops}, dtype)
    renamed = [ix.simplify(substitute(e, table)) for e in (*exprs, at, kept_at)]
    return Nest(tuple(loops), tuple(renamed[:-2]), renamed[-2], renamed[-1], dtype)
