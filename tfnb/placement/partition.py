"""Partition: one graph per device, with a Send and a Recv wherever an edge crosses (white paper, section 3.2.2).

Constants and fed values are copied into each partition that reads them. A control edge between devices becomes the
transfer of a dummy tensor. Invariant: a tensor is sent to a device by one Send and one Recv, however many nodes read it
there, and every node of the placed graph is in exactly one partition, that of its device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from tfnb.ir.const import CONST
from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.graph import Edge, Graph, Node, Path
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.control_flow.send_recv import RECV, SEND, TransferAttrs
from tfnb.placement.loops import ControlLoops, copy_invariants, find_loops
from tfnb.types import TensorSpec, float32, int32, scalar

__all__ = ["Partition", "localize", "partition"]

_EVERYWHERE = (Kind.CONST, Kind.PLACEHOLDER)
_WITHOUT_STEP = (*_EVERYWHERE, Kind.VARIABLE)  # waiting for such a node means waiting for its control inputs


@dataclass(frozen=True, eq=False)
class Partition:
    """The part of a step that one device runs.

    `graph.feeds[i]` is the step's feed number `feeds[i]`, and `graph.fetches[i]` its fetch number `fetches[i]`.
    """

    device: str
    graph: Graph
    feeds: tuple[int, ...]
    fetches: tuple[int, ...]


def localize(graph: Graph) -> Graph:
    """Prepares a placed graph for partitioning: variables are read on their own device, and each device that needs a
    loop invariant has a copy of its Enter."""
    return _read_on_own_device(copy_invariants(graph))


def _read_on_own_device(graph: Graph) -> Graph:
    """Adds a read on a variable's device for each reader on another device, which then receives the value."""
    readers_by_edge: dict[Edge, list[int]] = {}
    for node in graph.nodes.values():
        for e in node.inputs:
            if graph.spec(e).ref and graph.nodes[e.id].device != node.device:
                readers_by_edge.setdefault(e, []).append(node.id)
    if not readers_by_edge:
        return graph
    nodes = dict(graph.nodes)
    next_id = max(nodes) + 1
    for e, readers in readers_by_edge.items():
        source = nodes[e.id]
        spec = replace(source.specs[e.port], ref=False)
        for r in readers:
            # Each reader has a read of its own, with the reader's frame and its position among reads and writes.
            other_inputs = (i.id for i in nodes[r].inputs if i != e and nodes[i.id].opdef.kind not in _WITHOUT_STEP)
            control = tuple(dict.fromkeys((*nodes[r].control, *other_inputs)))
            nodes[next_id] = Node(
                next_id,
                f"{source.name}/read#{next_id}",
                IDENTITY,
                (e,),
                control,
                IDENTITY.attrs(),
                {"T": spec.dtype},
                (spec,),
                source.device,
                source.origin,
            )
            nodes[r] = replace(nodes[r], inputs=tuple(Edge(next_id, 0) if i == e else i for i in nodes[r].inputs))
            next_id += 1
    return Graph(nodes, graph.fetches, graph.targets, graph.feeds, graph.info)


def partition(graph: Graph, truncate: bool = False) -> tuple[Partition, ...]:
    """Splits a localized graph by the devices of its nodes; the device of the first fetch or target comes first.

    With `truncate`, float32 tensors cross as their upper 16 bits (white paper, section 5.5).
    """
    return _Splitter(graph, truncate).split()


class _Part:
    """A partition that is being built."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.nodes: dict[int, Node] = {}
        self.recvs: list[tuple[int, Path]] = []  # the id of each Recv, and the path of its frame


class _Splitter:
    def __init__(self, graph: Graph, truncate: bool) -> None:
        self.graph = graph
        self.truncate = truncate
        self.frames = graph.frames
        self.next_id = max(graph.nodes, default=0) + 1
        self.parts: dict[str, _Part] = {}
        self.loops: dict[str, ControlLoops] = {}
        self._arrived: dict[tuple[str, Edge | int], Edge] = {}

    def split(self) -> tuple[Partition, ...]:
        graph = self.graph
        requested_devices = [graph.nodes[i].device for i in (*(e.id for e in graph.fetches), *graph.targets)]
        device_of = {n.id: n.device for n in graph.nodes.values() if n.opdef.kind not in _EVERYWHERE}
        loops = find_loops(graph)
        for device in dict.fromkeys((*requested_devices, *device_of.values())):
            self.parts[device] = _Part(device)
            self.loops[device] = ControlLoops(graph, loops, device, self._adder(device), self._bringer(device))
        for i in device_of:
            self._take(graph.nodes[i], self.parts[device_of[i]])
        for i in dict.fromkeys((*(e.id for e in graph.fetches), *graph.targets)):
            if i not in device_of:
                self._copy(i, self.parts[graph.nodes[i].device])
        self._drive_loops()
        return tuple(self._freeze(p) for p in self.parts.values())

    def _freeze(self, part: _Part) -> Partition:
        graph = self.graph
        fetches = tuple(k for k, e in enumerate(graph.fetches) if graph.nodes[e.id].device == part.device)
        feeds = tuple(k for k, e in enumerate(graph.feeds) if e.id in part.nodes)
        subgraph = Graph(
            part.nodes,
            tuple(graph.fetches[k] for k in fetches),
            tuple(t for t in graph.targets if graph.nodes[t].device == part.device),
            tuple(graph.feeds[k] for k in feeds),
            graph.info,
        )
        return Partition(part.device, subgraph, feeds, fetches)

    # ---- nodes -----------------------------------------------------------------------------

    def _take(self, node: Node, part: _Part) -> None:
        """Adds a node of the graph to its partition, with inputs of the same partition."""
        inputs = tuple(self._local(e, part) for e in node.inputs)
        part.nodes[node.id] = replace(node, inputs=inputs, control=self._control(node, part))

    def _local(self, e: Edge, part: _Part) -> Edge:
        """Returns the edge of the partition that carries a value."""
        source = self.graph.nodes[e.id]
        if source.opdef.kind in _EVERYWHERE:
            self._copy(e.id, part)
            return e
        if source.device == part.device:
            return e
        arrival = self._arrived.get((part.device, e))
        return arrival if arrival is not None else self._transfer(e, part)

    def _copy(self, i: int, part: _Part) -> None:
        if i not in part.nodes:
            node = self.graph.nodes[i]
            part.nodes[i] = node  # before its control inputs, which may lead back to this node
            part.nodes[i] = replace(node, device=part.device, control=self._control(node, part))

    def _control(self, node: Node, part: _Part) -> tuple[int, ...]:
        node_ids: dict[int, None] = {}
        for c in self._steps_behind(node.control):
            if self.graph.nodes[c].device == part.device:
                node_ids[c] = None
            else:
                node_ids[self._news(c, part)] = None
        return tuple(node_ids)

    def _steps_behind(self, control: tuple[int, ...]) -> Iterator[int]:
        """Yields the nodes that must have run before a node with these control inputs.

        Constants, variables and feeds, which do not run, are replaced by their own control inputs.
        """
        stack, seen = list(reversed(control)), set()
        while stack:
            c = stack.pop()
            if c in seen:
                continue
            seen.add(c)
            node = self.graph.nodes[c]
            if node.opdef.kind in _WITHOUT_STEP:
                stack.extend(reversed(node.control))
            else:
                yield c

    # ---- edges that cross ------------------------------------------------------------------

    def _transfer(self, e: Edge, part: _Part) -> Edge:
        """Adds the Send of a value to the partition of its device and the Recv to `part`; returns the Recv's edge."""
        source = self.graph.nodes[e.id]
        spec = replace(source.specs[e.port], ref=False)
        name = f"{source.name}:{e.port}"
        recv = self._pair(source, e, name, spec, part)
        arrival = self._arrived[part.device, e] = Edge(recv, 0)
        return arrival

    def _news(self, i: int, part: _Part) -> int:
        """Returns the id of a node of `part` that runs after node `i` of another partition.

        The node is dead when node `i` is dead.
        """
        source = self.graph.nodes[i]
        arrival = self._arrived.get((part.device, i))
        if arrival is None and source.opdef.kind is not Kind.SWITCH:  # one of its outputs is dead
            ports = range(len(source.specs))
            arrivals = (self._arrived.get((part.device, Edge(i, p))) for p in ports)
            arrival = next((c for c in arrivals if c is not None), None)
        if arrival is None:
            sender = self.parts[source.device]
            token = Node(
                self._id(),
                f"^{source.name}",
                CONST,
                (),
                (i,),
                CONST.attrs(value=np.zeros((), np.int32)),
                {"dtype": int32},
                (TensorSpec(int32, scalar),),
                sender.device,
                source.origin,
            )
            sender.nodes[token.id] = token
            recv = self._pair(source, Edge(token.id, 0), token.name, token.specs[0], part)
            arrival = self._arrived[part.device, i] = Edge(recv, 0)
        return arrival.id

    def _pair(self, source: Node, e: Edge, name: str, spec: TensorSpec, part: _Part) -> int:
        sender = self.parts[source.device]
        truncate = self.truncate and spec.dtype is float32
        attrs = TransferAttrs(name, sender.device, part.device, truncate, spec.shape)
        source_name, target_name = (p.device.rpartition("device:")[2] for p in (sender, part))
        send = Node(
            self._id(),
            f"{name}->{target_name}",
            SEND,
            (e,),
            (),
            attrs,
            {"T": spec.dtype},
            (),
            sender.device,
            source.origin,
        )
        recv = Node(
            self._id(),
            f"{name}<-{source_name}",
            RECV,
            (),
            (),
            attrs,
            {"tensor_type": spec.dtype},
            (spec,),
            part.device,
            source.origin,
        )
        sender.nodes[send.id] = send
        part.nodes[recv.id] = recv
        part.recvs.append((recv.id, self.frames.outside[source.id]))
        return recv.id

    # ---- loops -----------------------------------------------------------------------------

    def _drive_loops(self) -> None:
        """Adds a control loop to each partition that contains a part of a loop.

        The control loop triggers the Recvs that the partition has inside the loop.
        """
        devices_by_path: dict[Path, dict[str, None]] = {}
        for node in self.graph.nodes.values():
            if node.opdef.kind in _EVERYWHERE:
                continue
            for path in (self.frames.inside[node.id], self.frames.outside[node.id]):
                for n in range(1, len(path) + 1):
                    devices_by_path.setdefault(path[:n], {})[node.device] = None
        for path in sorted(devices_by_path, key=len):
            if len(devices_by_path[path]) > 1:
                for device in devices_by_path[path]:
                    self.loops[device].trigger(path)
        for part in self.parts.values():
            for i, path in part.recvs:  # including those of conditions, which the control loops have added
                if path:
                    trigger = self.loops[part.device].trigger(path)
                    part.nodes[i] = replace(part.nodes[i], control=(trigger,))

    def _adder(self, device: str) -> Callable[[Node], int]:
        def add(node: Node) -> int:
            i = self._id() if node.id < 0 else node.id
            self.parts[device].nodes[i] = replace(node, id=i)
            return i

        return add

    def _bringer(self, device: str) -> Callable[[Edge], Edge]:
        return lambda e: self._local(e, self.parts[device])

    def _id(self) -> int:
        i, self.next_id = self.next_id, self.next_id + 1
        return i
