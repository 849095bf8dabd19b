"""Lowering: nodes become definitions of values over loop variables (white paper, section 5).

Elementwise ops, index functions and reductions become expressions; library ops keep their recipe; reshapes are
views. Variables have versions: a node sees the writes that are ordered before it, and no other. Invariant: a
definition's expressions name only values that an earlier definition writes, or no definition at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from tfnb.codegen.fusion.indexing import Index, index_vars
from tfnb.codegen.fusion.size_values import has_sizes, size_element
from tfnb.codegen.fusion.specialize import Specialized
from tfnb.codegen.fusion.values import (
    CallDef,
    CopyDef,
    Definition,
    Lowered,
    PointwiseDef,
    ReduceDef,
    Value,
    View,
    accumulator,
    compute_dtype,
    element,
    literal,
    param,
    uniform_value,
)
from tfnb.codegen.program import DeviceFacts
from tfnb.errors import FailedPreconditionError, InternalError, OpError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.kernelcall import KernelSite, TensorInfo
from tfnb.ir.opdef import Kind, LowerSite, ReduceSpec
from tfnb.ir.scalar import Expr, arg, substitute
from tfnb.ir.scalar.host import scalar_exprs
from tfnb.ir.step_graph.cluster import Cluster
from tfnb.ir.step_graph.graph import Edge, Node
from tfnb.types import DType, float32, int32, int64

__all__ = ["lower"]

MANY = 32  # the most parts that one expression joins or splits, as the text of a kernel grows with them

Element = Callable[[Sequence[Index]], Expr]


def lower(
    cluster: Cluster, specialized: Specialized, facts: DeviceFacts, snapshots: bool = False, optimize: bool = True
) -> Lowered:
    """Returns the definitions of a specialised cluster.

    `snapshots` makes every read of a variable that the cluster also writes go through a copy. This is needed only
    when unordered reads and writes of several variables wait for each other. Without `optimize` the kernels of a node
    do not depend on the other nodes of the cluster.
    """
    lowering = _Lowering(cluster, specialized, facts, snapshots, optimize)
    for position, node in enumerate(cluster.nodes):
        try:
            lowering.node(position, node)
        except OpError as e:
            raise e.with_op(node) from None
    return lowering.result()


class _Lowering:
    def __init__(
        self, cluster: Cluster, specialized: Specialized, facts: DeviceFacts, snapshots: bool, optimize: bool
    ) -> None:
        self.cluster, self.specialized, self.facts = cluster, specialized, facts
        self.snapshots, self.optimize = snapshots, optimize
        self.numbers = 0
        self.definitions: list[Definition] = []
        self.views: dict[Edge, View] = {}
        self.consts: list[np.ndarray] = []
        self.const_values: dict[Edge, Value] = {}
        self.copies: dict[Value, Value] = {}
        self.constants = {Edge(n.id, 0) for n in cluster.nodes if n.opdef.kind is Kind.CONST}
        self.slot_of = {v: i for i, v in enumerate(cluster.variables)}
        self.versions: list[list[Value]] = [[] for _ in cluster.variables]
        self.writers: dict[tuple[int, int], int] = {}
        self.written = {
            self.slot_of[specialized.variable_of[n.inputs[i]]] for n in cluster.nodes for i in n.opdef.writes
        }
        self.behind: list[int] = []
        self.used = {*cluster.outputs, *(e for n in cluster.nodes for e in n.inputs)}
        self.position = {n.id: p for p, n in enumerate(cluster.nodes)}
        for i, (e, info) in enumerate((e, specialized.infos[e]) for e in cluster.inputs):
            self.views[e] = View(self.value(info, "input", i), info.shape)

    def value(self, info: TensorInfo, kind: str = "computed", index: int = 0, version: int = 0) -> Value:
        self.numbers += 1
        return Value(self.numbers, info, kind, index, version)

    # nodes

    def node(self, position: int, node: Node) -> None:
        self._order(node)
        opdef = node.opdef
        if opdef.kind is Kind.VARIABLE:
            slot = self.slot_of[node.id]
            info = self.specialized.initial.get(node.id, self.specialized.variables.get(node.id))
            if info is not None:
                self.versions[slot].append(self.value(info, "variable", slot))
            return
        edges = [Edge(node.id, k) for k in range(len(node.specs))]
        if opdef.kind is not Kind.COMPUTE or (edges and all(e in self.specialized.values for e in edges)):
            return
        if opdef.opencl is not None and opdef.writes:
            self._call(position, node)
        elif opdef.writes:
            self._update(position, node)
        elif opdef.alias is not None:
            self._alias(position, node)
        elif opdef.scalar is not None:
            self._elementwise(position, node)
        elif opdef.reduce is not None:
            self._reduction(position, node)
        elif opdef.lower is not None and not (opdef.opencl is not None and self._has_many_parts(node)):
            self._index_function(position, node)
        elif opdef.opencl is not None:
            self._call(position, node)

    def _has_many_parts(self, node: Node) -> bool:
        """Returns whether the node joins many inputs, or most of its many outputs are used."""
        used_outputs = sum(Edge(node.id, k) in self.used for k in range(len(node.specs)))
        return len(node.inputs) > MANY or used_outputs > max(MANY, len(node.specs) // 2)

    def _order(self, node: Node) -> None:
        """Notes which of the nodes that write variables are ordered before the node."""
        predecessors = 0
        for i in (*(e.id for e in node.inputs), *node.control):
            p = self.position.get(i)
            if p is not None and p < len(self.behind):
                predecessors |= self.behind[p] | (1 << p if self.cluster.nodes[p].opdef.writes else 0)
        self.behind.append(predecessors)

    # the inputs of a node

    def _view(self, position: int, node: Node, i: int) -> View:
        """Returns the memory of input i."""
        e = node.inputs[i]
        if e in self.views:
            view = self.views[e]
        elif e in self.specialized.variable_of:
            view = self._variable(position, node, i)
        elif e in self.specialized.values:
            view = self._const(e)
        else:
            raise InternalError(f"input {i} has no value", node)
        return self._unwritten(position, node, i, view)

    def _variable(self, position: int, node: Node, i: int) -> View:
        slot = self.slot_of[self.specialized.variable_of[node.inputs[i]]]
        versions = self.versions[slot]
        if i in node.opdef.writes:
            value = versions[-1]
        else:
            value = versions[self._seen(slot, position)]
        return View(value, value.info.shape)

    def _seen(self, slot: int, position: int) -> int:
        """Returns the version of a variable that the node at `position` must see."""
        for value in reversed(self.versions[slot]):
            writer = self.writers.get((slot, value.version))
            if writer is not None and self.behind[position] >> writer & 1:
                return value.version
        return 0

    def _unwritten(self, position: int, node: Node, i: int, view: View) -> View:
        """Returns the view, or a view of a snapshot if the variable has been written in between."""
        value = view.value
        if value.kind != "variable" or i in node.opdef.writes:
            return view
        is_stale = self.behind[position] >> self.writers.get((value.index, value.version + 1), 1 << 30) & 1
        same_call = node.opdef.opencl is not None and any(
            self.slot_of[self.specialized.variable_of[node.inputs[w]]] == value.index for w in node.opdef.writes
        )
        if is_stale or same_call or (self.snapshots and value.index in self.written):
            return View(self.snapshot(value), view.shape)
        return view

    def snapshot(self, value: Value) -> Value:
        if value not in self.copies:
            position = self.writers.get((value.index, value.version), 0)
            copy = self.value(value.info)
            body = element(View(value, value.info.shape), index_vars(len(value.info.shape)))
            self.definitions.append(PointwiseDef(position, (), "snapshot", (copy,), (body,), True))
            self.copies[value] = copy
        return self.copies[value]

    def _const(self, e: Edge) -> View:
        value = self.const_values.get(e)
        if value is None:
            array = self.specialized.values[e]
            if has_sizes(array):
                return self._sizes(e, array)
            value = self.value(self.specialized.infos[e], "const", len(self.consts))
            self.consts.append(np.asarray(array, order="C"))
            self.const_values[e] = value
        return View(value, value.info.shape)

    def _sizes(self, e: Edge, array: np.ndarray) -> View:
        """Returns the memory of a value that has sizes, which a kernel writes."""
        info = self.specialized.infos[e]
        value = self.const_values[e] = self.value(info)
        body = size_element(array, index_vars(array.ndim), info.dtype)
        position = self.position.get(e.id, 0)
        self.definitions.append(PointwiseDef(position, (e.id,), "sizes", (value,), (body,), True))
        return View(value, value.info.shape)

    def _element(self, position: int, node: Node, i: int) -> Element:
        """Returns a function that makes the expression of an element of input i from its index tuple."""
        array = self.specialized.values.get(node.inputs[i])
        if array is not None and node.inputs[i] not in self.views and has_sizes(array):
            dtype = self.specialized.inputs[node.id][i].dtype
            return lambda idx: size_element(array, [_as_index(x) for x in idx], dtype)
        if array is not None and node.inputs[i] not in self.views:
            uniform = uniform_value(array)
            if uniform is not None:
                dtype = self.specialized.inputs[node.id][i].dtype
                is_derived = node.inputs[i] not in self.constants and dtype is float32 and uniform != 0
                constant = param(float(uniform), dtype) if is_derived else literal(uniform, dtype)
                return lambda idx: constant
        view = self._view(position, node, i)
        return lambda idx: element(view, tuple(_as_index(x) for x in idx))

    # the definitions of a node

    def _define(self, position: int, node: Node, k: int, body: Expr) -> None:
        if Edge(node.id, k) in self.views:  # the value is fed
            return
        info = self.specialized.outputs[node.id][k]
        value = self.value(info)
        self.views[Edge(node.id, k)] = View(value, info.shape)
        self.definitions.append(PointwiseDef(position, (node.id,), node.name, (value,), (_stored(body, info.dtype),)))

    def _scalar_bodies(self, position: int, node: Node, domain: tuple[int, ...]) -> list[Expr]:
        infos = self.specialized.inputs[node.id]
        exprs = scalar_exprs(node.opdef, node.attrs, tuple(i.dtype for i in infos))
        arg_numbers = {x.value for e in exprs for x in s.walk(e) if x.op == "arg"}
        idx = index_vars(len(domain))
        table: dict[Expr, Expr] = {}
        for i in sorted(arg_numbers):
            wide_dtype = compute_dtype(infos[i].dtype)
            shape = infos[i].shape
            element_idx = _broadcast(idx, shape, domain)
            table[arg(i, wide_dtype)] = s.cast(self._element(position, node, i)(element_idx), wide_dtype)
        return [substitute(e, table) for e in exprs]

    def _elementwise(self, position: int, node: Node) -> None:
        outputs = self.specialized.outputs[node.id]
        bodies = self._scalar_bodies(position, node, outputs[0].shape)
        for k, body in enumerate(bodies):
            self._define(position, node, k, body)

    def _update(self, position: int, node: Node) -> None:
        opdef = node.opdef
        slots = [self.slot_of[self.specialized.variable_of[node.inputs[i]]] for i in opdef.writes]
        ids = [self.cluster.variables[v] for v in slots]
        outputs = self.specialized.outputs[node.id]
        domain = outputs[0].shape if outputs else self.specialized.variables[ids[0]].shape
        bodies = self._scalar_bodies(position, node, domain)
        values = tuple(self._next_version(position, v, domain) for v in slots)
        stored_bodies = tuple(_stored(b, v.info.dtype) for b, v in zip(bodies, values, strict=True))
        self.definitions.append(PointwiseDef(position, (node.id,), node.name, values, stored_bodies))
        self._passed_on(node, values)

    def _next_version(self, position: int, slot: int, shape: tuple[int, ...]) -> Value:
        versions = self.versions[slot]
        current = versions[-1]
        if current.version and current.info.shape != shape:
            raise ShapeError(f"the variable is assigned shapes {current.info.shape} and {shape} in one step")
        value = self.value(TensorInfo(current.info.dtype, shape), "variable", slot, current.version + 1)
        versions.append(value)
        self.writers[(slot, value.version)] = position
        return value

    def _passed_on(self, node: Node, values: tuple[Value, ...]) -> None:
        """Makes the written value the output of an op that writes a variable and whose output is not a reference."""
        if node.specs and not node.specs[0].ref:
            self.views[Edge(node.id, 0)] = View(values[0], values[0].info.shape)

    def _alias(self, position: int, node: Node) -> None:
        e = Edge(node.id, 0)
        if e in self.specialized.variable_of or e in self.views:
            return
        view = self._view(position, node, node.opdef.alias or 0)
        self.views[e] = View(view.value, self.specialized.outputs[node.id][0].shape)

    def _site(self, position: int, node: Node) -> LowerSite:
        elements: dict[int, Element] = {}

        def load(i: int, idx: Sequence[Index]) -> Expr:
            if i not in elements:
                elements[i] = self._element(position, node, i)
            return elements[i](idx)

        return LowerSite(
            self.specialized.inputs[node.id],
            self.specialized.outputs[node.id],
            node.attrs,
            node.types,
            lambda i: self.specialized.values.get(node.inputs[i]),
            load,
            lambda word: s.rng(node.id, word),
        )

    def _index_function(self, position: int, node: Node) -> None:
        site = self._site(position, node)
        for k, info in enumerate(self.specialized.outputs[node.id]):
            body = node.opdef.lower(site, index_vars(len(info.shape)), k)  # type: ignore[misc]
            self._define(position, node, k, body)

    def _reduction(self, position: int, node: Node) -> None:
        site = self._site(position, node)
        spec: ReduceSpec = node.opdef.reduce(site)  # type: ignore[misc]
        domain, out = site.inputs[0].shape, site.outputs[0]
        x = site.load(0, index_vars(len(domain)))
        x = s.cast(x, compute_dtype(x.dtype))
        body = spec.map(x) if spec.map is not None else x
        accumulator_dtype = accumulator(spec.combine, body.dtype, prod(domain[a] for a in spec.axes))
        result = arg(0, accumulator_dtype)
        finish = _stored(spec.finish(result) if spec.finish is not None else result, out.dtype)
        counts = [x for x in s.walk(finish) if x.op == "const" and x.dtype is float32 and x.value != 0]
        finish = substitute(finish, {x: param(x.value, x.dtype) for x in counts})
        if all(domain[a] == 1 for a in spec.axes):
            one = s.const(0, int32) if spec.combine.startswith("arg") else body
            pointwise_body = _squeezed(substitute(finish, {result: one}), domain, spec, len(out.shape))
            self._define(position, node, 0, pointwise_body)
            return
        value = self.value(out)
        self.views.setdefault(Edge(node.id, 0), View(value, out.shape))
        self.definitions.append(
            ReduceDef(position, (node.id,), node.name, (value,), domain, spec.axes, spec.combine, body, finish)
        )

    def _pointed(self, position: int, node: Node, i: int) -> View:
        """Returns the memory of an input to which library kernels may point.

        A recipe takes the sizes in an input that fixes shapes from its site, so no kernel writes them into memory.
        """
        e = node.inputs[i]
        array = self.specialized.values.get(e) if i in node.opdef.shape_inputs and e not in self.views else None
        if array is None or not has_sizes(array):
            return self._view(position, node, i)
        info = self.specialized.infos[e]
        return View(self.value(info, "none"), info.shape)

    def _call(self, position: int, node: Node) -> None:
        opdef, outputs = node.opdef, self.specialized.outputs[node.id]
        if opdef.opencl is None:
            raise InternalError(f"{opdef.name} has no library kernel", node)
        ins = tuple(self._pointed(position, node, i) for i in range(len(node.inputs)))
        slots = [self.slot_of[self.specialized.variable_of[node.inputs[i]]] for i in opdef.writes]
        written_values = tuple(self._next_version(position, v, self.versions[v][-1].info.shape) for v in slots)
        outs = written_values[: len(outputs)] if written_values else tuple(self.value(o) for o in outputs)
        site = KernelSite(
            opdef.name,
            self.specialized.inputs[node.id],
            outputs,
            node.attrs,
            {i: self.specialized.values[e] for i, e in enumerate(node.inputs) if e in self.specialized.values},
            self.facts.units,
            self.facts.kind,
            updated=frozenset(
                i
                for i, v in enumerate(ins)
                if self.optimize and v.value.kind == "variable" and v.value.index in self.written
            ),
        )
        product = opdef.product(site) if opdef.product is not None else None
        self.definitions.append(
            CallDef(
                position,
                (node.id,),
                node.name,
                written_values or outs,
                ins,
                outs,
                site,
                opdef.opencl,
                opdef.epilogue,
                takes_formulas=opdef.takes_formulas,
                product=product,
            )
        )
        if written_values:
            self._passed_on(node, written_values)
        else:
            for k, value in enumerate(outs):
                self.views.setdefault(Edge(node.id, k), View(value, value.info.shape))

    # the outputs of the cluster

    def result(self) -> Lowered:
        outputs: list[View] = []
        computed: set[Value] = set()
        for k, e in enumerate(self.cluster.outputs):
            view = self._output(e)
            value = view.value
            if value.kind != "computed" or value in computed:
                position = self.position.get(e.id, len(self.behind) - 1)
                self.definitions.append(CopyDef(position, (e.id,), "copy", view, k))
            outputs.append(view)
            computed.add(value)
        last = [v[-1] for v in self.versions if v]
        return Lowered(self.definitions, tuple(outputs), self.consts, self.behind, self.writers, last)

    def _output(self, e: Edge) -> View:
        if e in self.views:
            return self.views[e]
        if e in self.specialized.variable_of:
            variable = self.specialized.variable_of[e]
            versions = self.versions[self.slot_of[variable]]
            if not versions:  # neither the graph nor a value says which shape it has
                raise FailedPreconditionError("the variable has no value", self.cluster.nodes[self.position[variable]])
            return View(versions[-1], versions[-1].info.shape)
        return self._const(e)


def _as_index(x: Index) -> Expr:
    return x if isinstance(x, Expr) else s.const(x, int32 if x <= int32.max else int64)


def _stored(e: Expr, dtype: DType) -> Expr:
    return s.cast(e, dtype)


def _broadcast(idx: Sequence[Expr], shape: tuple[int, ...], domain: tuple[int, ...]) -> list[Expr]:
    """Returns the index tuple into an array of `shape` that is broadcast to `domain`."""
    inner = idx[len(domain) - len(shape) :]
    return [s.const(0, int32) if n == 1 else i for i, n in zip(inner, shape, strict=True)]


def _squeezed(body: Expr, domain: tuple[int, ...], spec: ReduceSpec, rank: int) -> Expr:
    """Rewrites a body over `domain`, whose reduced axes have one element, in the loop variables of the output."""
    out = index_vars(rank)
    source = index_vars(len(domain))
    table: dict[Expr, Expr] = {}
    d_out = 0
    for d, i in enumerate(source):
        if d in spec.axes:
            table[i] = s.const(0, int32)
            d_out += spec.keepdims
        else:
            table[i] = out[d_out]
            d_out += 1
    return substitute(body, table)
