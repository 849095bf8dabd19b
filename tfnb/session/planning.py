"""Planning: a clustered graph becomes a plan of numbered nodes for the scheduler, and a kernel for each of them.

Every cluster, host node and control-flow primitive becomes one plan node. Variables are not edges of a plan; kernels
find them by name. Invariant: payload i is the kernel of plan node i, and contains the constants that a host node reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from tfnb.devices.interface import Device
from tfnb.errors import InternalError
from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.graph import Edge, Graph, Node
from tfnb.passes.cluster import Clustered, root_variable
from tfnb.passes.counters import is_scalar
from tfnb.runtime.async_op import AsyncOpKernel
from tfnb.runtime.cluster_kernel import ClusterKernel, Compiler
from tfnb.runtime.constant_kernel import ConstantKernel
from tfnb.runtime.kernels import HostKernel
from tfnb.runtime.loops.scalars import ScalarKernel
from tfnb.runtime.plan import Plan, PlanKind, PlanNode, build_plan
from tfnb.runtime.resources import ResourceManager
from tfnb.runtime.transfer import RecvKernel, SendKernel

__all__ = ["Planner"]

_PRIMITIVES = {
    kind: PlanKind[kind.name]
    for kind in (
        Kind.NO_OP,
        Kind.SWITCH,
        Kind.MERGE,
        Kind.ENTER,
        Kind.EXIT,
        Kind.NEXT_ITERATION,
        Kind.LOOP_COND,
        Kind.CONTROL_TRIGGER,
    )
}
_TRANSFERS = {Kind.SEND: PlanKind.SEND, Kind.RECV: PlanKind.RECV}


class Planner:
    """Numbers the parts of a clustered graph and creates their kernels."""

    def __init__(
        self,
        clustered: Clustered,
        devices: Mapping[str, Device],
        resources: ResourceManager,
        compile_program: Compiler,
    ) -> None:
        self.clustered = clustered
        self.graph: Graph = clustered.graph
        self.devices = devices
        self.resources = resources
        self.compile_program = compile_program
        self.outputs = {  # the first cluster that outputs an edge, and the number of the output
            e: (c, n)
            for c, cluster in reversed(list(enumerate(clustered.clusters)))
            for n, e in enumerate(cluster.outputs)
        }
        self.place: dict[int, int] = {}  # the plan node of each node id, except members of clusters
        self.nodes: list[PlanNode | None] = []
        self.payloads: list[object] = []

    def build(self) -> tuple[Plan, tuple[Any, ...]]:
        """The plan, and the kernel of each plan node (None for nodes without one). Raises `InternalError`."""
        self._number()
        for e in self.graph.feeds:
            self._set(self.place[e.id], PlanNode(PlanKind.FEED, name=self.graph.nodes[e.id].name), None)
        for c in range(len(self.clustered.clusters)):
            self._cluster(c)
        for i in self.clustered.singles:
            self._single(self.graph.nodes[i])
        for i in self._constants():
            node = self.graph.nodes[i]
            control = self._control(node.control)
            self._set(self.place[i], PlanNode(PlanKind.HOST, 1, (), control, node.name), ConstantKernel(node))
        fetches = tuple(self._source(e) for e in self.graph.fetches)
        plan_nodes = [n for n in self.nodes if n is not None]
        if len(plan_nodes) != len(self.nodes):
            raise InternalError("a part of the graph got no place in the plan")
        return build_plan(plan_nodes, fetches), tuple(self.payloads)

    def _number(self) -> None:
        n = 0
        for e in self.graph.feeds:
            self.place[e.id] = n
            n += 1
        self.first_cluster = n
        n += len(self.clustered.clusters)
        for i in (*self.clustered.singles, *self._constants()):
            self.place[i] = n
            n += 1
        self.nodes = [None] * n
        self.payloads = [None] * n

    def _constants(self) -> list[int]:
        """The ids of the constants that are fetched or are inputs of control-flow primitives."""
        ids = {e.id for e in self.graph.fetches}
        for i in self.clustered.singles:
            node = self.graph.nodes[i]
            if node.opdef.kind in _PRIMITIVES:
                ids.update(e.id for e in node.inputs)
        return [i for i in sorted(ids) if self.graph.nodes[i].opdef.kind is Kind.CONST]

    def _set(self, place: int, node: PlanNode, payload: object) -> None:
        self.nodes[place] = node
        self.payloads[place] = payload

    def _cluster(self, c: int) -> None:
        cluster = self.clustered.clusters[c]
        inputs = tuple(self._source(e) for e in cluster.inputs)
        control = self._control(self.clustered.waits[c], besides=self.first_cluster + c)
        plan_node = PlanNode(PlanKind.CLUSTER, len(cluster.outputs), inputs, control, cluster.name)
        kernel = ClusterKernel(cluster, self.devices[cluster.device], self.compile_program, self.resources)
        self._set(self.first_cluster + c, plan_node, kernel)

    def _single(self, node: Node) -> None:
        place = self.place[node.id]
        control = self._control(node.control)
        kind = _PRIMITIVES.get(node.opdef.kind)
        if kind is not None:
            self._set(place, self._primitive(node, kind, control), None)
            return
        constants: dict[int, np.ndarray] = {}
        variables: dict[int, Node] = {}
        inputs: list[tuple[int, int]] = []
        for n, e in enumerate(node.inputs):
            source = self.graph.nodes[e.id]
            if self.graph.spec(e).ref:
                variables[n] = self.graph.nodes[root_variable(self.graph, e)]
                if source.opdef.kind is not Kind.VARIABLE:
                    control = tuple(dict.fromkeys((*control, self._source_node(e.id))))
            elif source.opdef.kind is Kind.CONST:
                constants[n] = source.attrs.value
                control = tuple(dict.fromkeys((*control, *self._control(source.control))))
            else:
                inputs.append(self._source(e))
        if node.opdef.kind in _TRANSFERS:
            self._transfer(node, tuple(inputs), control, constants)
            return
        device = self.devices.get(node.device) or next(iter(self.devices.values()))
        asynchronous = node.opdef.kind is Kind.ASYNC
        if node.id in self.clustered.counters and is_scalar(self.graph, node):
            dtypes = [self.graph.spec(e).dtype for e in node.inputs]
            scalars = ScalarKernel(node, dtypes, constants)
            self._set(place, PlanNode(PlanKind.HOST, len(node.specs), tuple(inputs), control, node.name), scalars)
            return
        kernel_class = AsyncOpKernel if asynchronous else HostKernel
        kernel = kernel_class(
            node, self.resources, device, variables, constants, node.opdef.blocking, self._only_readers(node)
        )
        plan_kind = PlanKind.ASYNC if asynchronous else PlanKind.HOST
        self._set(place, PlanNode(plan_kind, len(node.specs), tuple(inputs), control, node.name), kernel)

    def _only_readers(self, node: Node) -> frozenset[int]:
        """The inputs of a node with a function of the user's that are new in each run and that nothing else reads."""
        if not node.opdef.calls_user:
            return frozenset()
        consumers, fetches, nodes = self.graph.consumers, self.graph.fetches, self.graph.nodes
        return frozenset(
            n
            for n, e in enumerate(node.inputs)
            if (e.id in self.clustered.member or nodes[e.id].opdef.calls_user)
            and not self.graph.spec(e).ref
            and len(consumers.get(e, ())) == 1
            and node.inputs.count(e) == 1
            and e not in fetches
            and e not in self.graph.feeds
        )

    def _transfer(
        self, node: Node, inputs: tuple[tuple[int, int], ...], control: tuple[int, ...], constants: dict[int, Any]
    ) -> None:
        kernel: SendKernel | RecvKernel
        if node.opdef.kind is Kind.SEND:
            kernel = SendKernel(node, constants.get(0))
        else:
            readers = self.graph.consumers.get(Edge(node.id, 0), ())
            computed = any(r in self.clustered.member for r in readers)
            kernel = RecvKernel(node, self.devices[node.device] if computed else None)
        plan_node = PlanNode(_TRANSFERS[node.opdef.kind], len(node.specs), inputs, control, node.name)
        self._set(self.place[node.id], plan_node, kernel)

    def _primitive(self, node: Node, kind: PlanKind, control: tuple[int, ...]) -> PlanNode:
        inputs = tuple(self._source(e) for e in node.inputs)
        extra: dict[str, Any] = {}
        if kind is PlanKind.ENTER:
            extra = {
                "frame": node.attrs.frame_name,
                "is_constant": node.attrs.is_constant or node.attrs.frame_name not in self._repeated,
                "parallel_iterations": node.attrs.parallel_iterations,
            }
        return PlanNode(kind, len(node.specs), inputs, control, node.name, **extra)

    @cached_property
    def _repeated(self) -> set[str]:
        """The frames that have more than one iteration. In the others, values that enter are there all the time."""
        inside, nodes = self.graph.frames.inside, self.graph.nodes.values()
        return {inside[n.id][-1] for n in nodes if n.opdef.kind is Kind.NEXT_ITERATION and inside[n.id]}

    def _source_node(self, i: int) -> int:
        c = self.clustered.member.get(i)
        return self.place[i] if c is None else self.first_cluster + c

    def _source(self, e: Edge) -> tuple[int, int]:
        """The plan node and the number of its output that carry an edge."""
        c = self.clustered.member.get(e.id)
        if c is None and e.id in self.place:
            return self.place[e.id], e.port
        if e not in self.outputs:
            raise InternalError(f"nothing computes output {e.port}", self.graph.nodes[e.id])
        cluster, number = self.outputs[e]
        return self.first_cluster + cluster, number

    def _control(self, ids: tuple[int, ...], besides: int = -1) -> tuple[int, ...]:
        """The plan nodes for which control inputs wait, except `besides`. A constant or variable has no plan node here
        and is replaced by its own control inputs."""
        places: dict[int, None] = {}
        stack = list(ids)
        seen: set[int] = set()
        while stack:
            i = stack.pop()
            if i in seen:
                continue
            seen.add(i)
            node = self.graph.nodes[i]
            if node.opdef.kind in (Kind.CONST, Kind.VARIABLE):  # even a constant with a kernel
                stack.extend(node.control)
            elif i in self.clustered.member or i in self.place:
                place = self._source_node(i)
                if place != besides:
                    places[place] = None
        return tuple(places)
