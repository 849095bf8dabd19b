"""Bounds of a cluster's inputs: the range in which their numbers must lie (white paper, section 3: checks of inputs).

An op declares the bounds of its inputs. They are followed back to the inputs of the cluster, through ops that pass
numbers on unchanged, and through `where(i < 0, i + size, i)`, by which an index counts from the end. Invariant: a
number is out of the bounds of the cluster's input exactly if it makes a number out of the bounds of the op.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tfnb.codegen.fusion.indexing import Index, index_vars
from tfnb.codegen.fusion.specialize import Specialized, infer_context
from tfnb.errors import InvalidArgumentError
from tfnb.ir import scalar as s
from tfnb.ir.bounds import Bound, Check, outside
from tfnb.ir.opdef import LowerSite
from tfnb.ir.scalar import Expr, arg, const, substitute
from tfnb.ir.scalar.host import scalar_exprs
from tfnb.ir.step_graph.cluster import Cluster
from tfnb.ir.step_graph.graph import Edge, Node
from tfnb.sizes import Size

__all__ = ["checks_of"]

_DEPTH = 6  # the largest number of nodes between an op and the input through which a bound is followed


def checks_of(cluster: Cluster, specialized: Specialized) -> tuple[Check, ...]:
    """Returns the checks of the cluster's inputs.

    Raises `InvalidArgumentError` if a number that is already known is out of bounds.
    """
    search = _Search(specialized, cluster.by_id(), {e: i for i, e in enumerate(cluster.inputs)})
    checks: dict[tuple[object, ...], Check] = {}
    for node in cluster.nodes:
        if node.opdef.bounds is None:
            continue
        for bound in node.opdef.bounds(infer_context(specialized, node)):
            source, origin_bound = search.source(node.inputs[bound.input], bound)
            if source in specialized.values:
                offender = outside(specialized.values[source], origin_bound)
                if offender is not None:
                    raise InvalidArgumentError(origin_bound.message(node.type, offender), node)
            elif source in search.places:
                place = search.places[source]
                checks.setdefault((place, origin_bound.low, origin_bound.high), Check(place, origin_bound, node.id))
    return tuple(checks.values())


class _Unknown(Exception):
    """The numbers are computed in a way through which a bound cannot be followed back."""


@dataclass(frozen=True, slots=True)
class _Search:
    specialized: Specialized
    nodes: Mapping[int, Node]
    places: dict[Edge, int]

    def source(self, edge: Edge, bound: Bound) -> tuple[Edge, Bound]:
        """Returns the edge from which the numbers of `edge` come unchanged, and their bound there."""
        for _ in range(_DEPTH):
            node = self.nodes.get(edge.id)
            if node is None or edge in self.places or edge in self.specialized.values:
                break
            if edge in self.specialized.variable_of:  # the numbers are state, as numbers that a kernel computes
                break
            if node.opdef.alias is not None:
                edge = node.inputs[node.opdef.alias]
                continue
            leaves: dict[Edge, Expr] = {}
            try:
                formula = self._element(edge, index_vars(len(self.specialized.infos[edge].shape)), leaves, _DEPTH)
            except _Unknown:
                break
            input_bound = _before(formula, bound) if len(leaves) == 1 else None
            if input_bound is None:
                break
            edge, bound = next(iter(leaves)), input_bound
        return edge, bound

    def _element(self, edge: Edge, idx: Sequence[Expr], leaves: dict[Edge, Expr], depth: int) -> Expr:
        """Returns an element of `edge` as a formula over the elements of the edges in `leaves` at the same position."""
        info, value, node = self.specialized.infos.get(edge), self.specialized.values.get(edge), self.nodes.get(edge.id)
        if info is None or len(info.shape) not in (0, len(idx)):
            raise _Unknown
        if value is not None and value.size == 1:
            return const(value.item(), info.dtype)
        if edge in self.places or node is None or node.opdef.alias is not None or depth == 0:
            return leaves.setdefault(edge, arg(len(leaves), info.dtype))
        inputs = self.specialized.inputs[node.id]
        if node.opdef.scalar is not None:
            operands = [self._element(e, idx, leaves, depth - 1) for e in node.inputs]
            formulas = scalar_exprs(node.opdef, node.attrs, tuple(i.dtype for i in inputs))
            return substitute(formulas[edge.port], {arg(i, x.dtype): x for i, x in enumerate(operands)})
        if node.opdef.lower is None or node.opdef.bounds is not None or node.opdef.stateful:
            raise _Unknown

        def load(i: int, at: Sequence[Index]) -> Expr:
            if at and tuple(at) != tuple(idx):
                raise _Unknown
            return self._element(node.inputs[i], idx, leaves, depth - 1)

        site = LowerSite(
            inputs,
            self.specialized.outputs[node.id],
            node.attrs,
            node.types,
            lambda i: self.specialized.values.get(node.inputs[i]),
            load,
            _no_random,
        )
        return node.opdef.lower(site, tuple(idx), edge.port)


def _no_random(word: int) -> Expr:
    raise _Unknown


def _before(formula: Expr, bound: Bound) -> Bound | None:
    """Returns the bound of x = arg(0) that follows from the bound of `formula`, an expression of x.

    Returns None if no bound of x is known to follow.
    """
    x = next((e for e in s.walk(formula) if e.op == "arg"), None)
    if x is None or not x.dtype.is_integer:
        return None
    if formula is x:
        return bound
    if formula.op == "cast":
        inner, outer_dtype = formula.args[0], formula.dtype
        inner_dtype = inner.dtype
        is_widening = (
            outer_dtype.is_integer
            and inner_dtype.is_integer
            and outer_dtype.min <= inner_dtype.min
            and outer_dtype.max >= inner_dtype.max
        )
        return _before(inner, bound) if is_widening else None
    size = bound.high
    if formula.op == "where" and bound.low == 0 and isinstance(size, (int, Size)):
        inner = formula.args[2]
        if formula is s.where(s.lt(inner, 0), s.add(inner, size), inner):
            return _before(inner, replace(bound, low=-size))
    return None
