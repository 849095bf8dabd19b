"""Placing a step's nodes on the devices of this process.

A node goes where its constraint says; state pins whatever refers to it; colocated nodes follow their anchor; the rest
goes to the default device. Invariant: every node of the result carries the full name of a device that exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tfnb.errors import InvalidArgumentError
from tfnb.ir.device_spec import DeviceSpec
from tfnb.ir.graph import Graph, Node
from tfnb.types import TensorSpec, resource, variant

__all__ = ["check_devices", "place"]


def place(graph: Graph, devices: Sequence[str], soft: bool = False) -> Graph:
    """`devices`: full names, the default first. Raises `InvalidArgumentError` naming node, wish and devices."""
    if len(devices) == 1 and not any(n.device for n in graph.nodes.values()):
        return _with_devices(graph, dict.fromkeys(graph.nodes, devices[0]))
    known = [(DeviceSpec.from_string(d), d) for d in devices]
    by_name = {n.name: n for n in graph.nodes.values()}
    chosen: dict[int, str] = {}
    for i in graph.order:
        node = graph.nodes[i]
        pinned = [chosen[e.id] for e in node.inputs if e.id in chosen and _is_state(graph.spec(e))]
        anchor = _anchor(node, by_name)
        if pinned:
            chosen[i] = pinned[0]
        elif anchor is not None and anchor.id in chosen:
            chosen[i] = chosen[anchor.id]
        else:
            chosen[i] = _choose(node, known, soft)
    return _with_devices(graph, chosen)


def _is_state(spec: TensorSpec) -> bool:
    """Does the edge stand for state, which whoever uses it must be beside?"""
    return spec.ref or spec.dtype in (resource, variant)


def check_devices(graph: Graph, devices: Sequence[str], soft: bool = False) -> None:
    """Raises `InvalidArgumentError` for a node that asks for a device there is not, also one that will be folded."""
    known = [(DeviceSpec.from_string(d), d) for d in devices]
    for node in graph.nodes.values():
        if node.device:
            _choose(node, known, soft)


def _anchor(node: Node, by_name: dict[str, Node]) -> Node | None:
    for c in node.colocation:
        found = by_name.get(c.removeprefix("loc:@"))
        if found is not None:
            return found
    return None


def _choose(node: Node, known: list[tuple[DeviceSpec, str]], soft: bool) -> str:
    if not node.device:
        return known[0][1]
    wish = DeviceSpec.from_string(node.device)
    for spec, name in known:
        if wish.matches(spec):
            return name
    if soft or not node.opdef.on_device:
        return known[0][1]
    raise InvalidArgumentError(
        f"cannot place the node on {node.device!r}: the devices are {[n for _, n in known]}; "
        "use ConfigProto(allow_soft_placement=True) to run it elsewhere",
        node,
    )


def _with_devices(graph: Graph, chosen: dict[int, str]) -> Graph:
    nodes = {i: n if n.device == chosen[i] else replace(n, device=chosen[i]) for i, n in graph.nodes.items()}
    return Graph(nodes, graph.fetches, graph.targets, graph.feeds, graph.info)
